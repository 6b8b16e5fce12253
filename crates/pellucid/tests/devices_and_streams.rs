//! Every name of MLX's page on devices and streams. What depends on the environment or changes the process runs in a
//! process of its own.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;

use pellucid::{
    Array, Device, DeviceType, Dtype, Error, Stream, default_device, default_stream, device_count,
    device_info, is_available, new_stream, ops, random, set_default_device, set_default_stream, streams,
    synchronize, with_device, with_stream,
};

/// Tests that change or read a default of the process take turns.
static DEFAULTS: Mutex<()> = Mutex::new(());

fn cpu_stream() -> Stream {
    new_stream(Device::cpu()).unwrap()
}

#[test]
fn the_example_of_the_page_works() {
    let _turn = DEFAULTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = default_device();
    let a = with_device(Device::cpu(), || ops::ones([1024, 1024], Dtype::Float32)).unwrap();
    assert_eq!(a.stream().device(), Device::cpu());
    let s = new_stream(default_device()).unwrap();
    let normal = || random::normal([256, 256], Dtype::Float32, 0, 1, None);
    let b = with_stream(s, || ops::matmul(&normal(), &normal()));
    assert_eq!(b.stream(), s);
    pellucid::async_eval([&a, &b]);
    set_default_device(Device::cpu()).unwrap();
    synchronize(None).unwrap();
    synchronize(s).unwrap();
    assert!(b.is_available());
    assert_eq!(b.shape(), [256, 256]);
    // A sum of 256 products of normal numbers has the standard deviation 16.
    let deviation = ops::std(&b, pellucid::Axes::All, false, 0).item::<f32>().unwrap();
    assert!((14.0..18.0).contains(&deviation), "{deviation}");
    set_default_device(before).unwrap();
}

#[test]
fn devices_are_values() {
    assert_eq!(Device::cpu(), Device::new(DeviceType::Cpu, 0));
    assert_eq!(Device::gpu(), Device::from(DeviceType::Gpu));
    assert_ne!(Device::cpu(), Device::gpu());
    assert_eq!((Device::new(DeviceType::Gpu, 3).index(), Device::gpu().device_type()), (3, DeviceType::Gpu));
    assert_eq!(HashSet::from([Device::cpu(), Device::cpu(), Device::gpu()]).len(), 2);
}

#[test]
fn devices_and_streams_have_mlxs_texts() {
    assert_eq!(Device::cpu().to_string(), "Device(cpu, 0)");
    assert_eq!(Device::new(DeviceType::Gpu, 2).to_string(), "Device(gpu, 2)");
    assert_eq!(DeviceType::Gpu.to_string(), "gpu");
    let s = cpu_stream();
    assert_eq!(s.to_string(), format!("Stream(Device(cpu, 0), {})", s.index()));
    assert_eq!(format!("{s:?}"), s.to_string());
}

#[test]
fn a_label_names_a_stream() {
    let s = cpu_stream();
    assert_eq!(s.label(), format!("stream {}", s.index()));
    s.set_label("loader \"1\"\n→");
    assert_eq!(s.label(), "loader \"1\"\n→");
    s.set_label("");
    assert_eq!(s.label(), "");
    let elsewhere = thread::spawn(move || {
        s.set_label("from there");
        s.label()
    });
    assert_eq!((elsewhere.join().unwrap(), s.label()), ("from there".to_owned(), "from there".to_owned()));
}

#[test]
fn the_cpu_is_always_here_and_says_what_it_is() {
    assert!(is_available(Device::cpu()));
    assert_eq!(device_count(DeviceType::Cpu), 1);
    assert!(!is_available(Device::new(DeviceType::Cpu, 1)));
    assert_eq!(is_available(Device::gpu()), device_count(DeviceType::Gpu) > 0);
    let info = device_info(Device::cpu()).unwrap();
    assert_eq!(info.backend, "cpu");
    assert!(!info.device_name.is_empty() && info.memory_size > 1 << 20, "{info:?}");
}

#[test]
fn a_device_that_is_not_there_is_an_error_that_says_what_is() {
    let none = Device::new(DeviceType::Gpu, 999);
    let calls: [(&str, pellucid::Result<()>); 5] = [
        ("set_default_device", set_default_device(none)),
        ("new_stream", new_stream(none).map(drop)),
        ("default_stream", default_stream(none).map(drop)),
        ("device_info", device_info(none).map(drop)),
        ("default_stream", with_device(none, || unreachable!("it must not be called"))),
    ];
    for (function, result) in calls {
        match result.unwrap_err() {
            Error::Device { function: named, device, message } => {
                assert_eq!((named, device), (function, none));
                assert!(message.contains("Device::cpu()") || message.contains("0 to"), "{message}");
            }
            other => panic!("{other}"),
        }
    }
    assert!(is_available(default_device()), "the default stays as it was");
}

#[test]
fn each_stream_is_a_new_one_with_a_number_of_its_own() {
    let made: Vec<Stream> = (0..50).map(|_| cpu_stream()).collect();
    assert_eq!(made.iter().map(|s| s.index()).collect::<HashSet<_>>().len(), 50);
    assert_eq!(made.iter().collect::<HashSet<_>>().len(), 50);
    let all = streams();
    for s in made {
        assert_eq!(all[s.index()], s);
    }
}

#[test]
fn a_default_stream_is_made_once() {
    let _turn = DEFAULTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let first = default_stream(Device::cpu()).unwrap();
    let threads: Vec<_> = (0..8).map(|_| thread::spawn(|| default_stream(Device::cpu()).unwrap())).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first);
    }
}

#[test]
fn a_new_default_stream_holds_for_every_thread() {
    let _turn = DEFAULTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (before, s) = (default_stream(Device::cpu()).unwrap(), cpu_stream());
    set_default_stream(s).unwrap();
    let there = thread::spawn(|| default_stream(Device::cpu()).unwrap()).join().unwrap();
    let used = with_device(Device::cpu(), || ops::add(&Array::from([1]), 1)).unwrap().stream();
    set_default_stream(before).unwrap();
    assert_eq!((there, used), (s, s));
    assert_eq!(default_stream(Device::cpu()).unwrap(), before);
}

#[test]
fn operations_belong_to_the_innermost_scope() {
    let (one, two) = (cpu_stream(), cpu_stream());
    let made = || ops::add(&Array::from([1]), 1).stream();
    let outside = made();
    with_stream(one, || {
        assert_eq!(made(), one);
        let inner = with_stream(two, || (made(), default_stream(Device::cpu()).unwrap(), default_device()));
        assert_eq!(inner, (two, two, Device::cpu()));
        assert_eq!(made(), one);
        assert_eq!(
            with_device(Device::cpu(), made).unwrap(),
            one,
            "the stream of the scope is the device's default"
        );
    });
    assert_eq!(made(), outside);
}

#[test]
fn an_array_stays_on_the_stream_it_was_made_for() {
    let (one, two) = (cpu_stream(), cpu_stream());
    let a = with_stream(one, || ops::add(&Array::from([1]), 1));
    let b = with_stream(two, || a.eval().map(|()| ops::add(&a, 1))).unwrap();
    assert_eq!((a.stream(), b.stream()), (one, two));
    assert_eq!(b.item::<i32>().unwrap(), 3);
}

#[test]
fn scopes_belong_to_their_thread() {
    let _turn = DEFAULTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let s = cpu_stream();
    with_stream(s, || {
        let made = thread::spawn(|| ops::add(&Array::from([1]), 1).stream()).join().unwrap();
        assert_ne!(made, s);
    });
}

#[test]
fn a_scope_ends_when_its_function_panics_or_fails() {
    let (one, two) = (cpu_stream(), cpu_stream());
    let made = || ops::add(&Array::from([1]), 1).stream();
    with_stream(one, || {
        let result = catch_unwind(AssertUnwindSafe(|| with_stream(two, || panic!("inside"))));
        assert!(result.is_err());
        assert_eq!(made(), one);
        let failed = with_stream(two, || ops::reshape(&Array::from([1]), [2]));
        assert!(failed.check().is_err());
        assert_eq!(made(), one);
    });
}

#[test]
fn synchronize_waits_for_what_was_put_on_the_stream() {
    let s = cpu_stream();
    let a = with_stream(s, || {
        let mut a = ops::ones([300, 300], Dtype::Float32);
        for _ in 0..20 {
            a = ops::multiply(&ops::matmul(&a, &a), 1.0 / 300.0);
        }
        pellucid::async_eval([&a]);
        a
    });
    synchronize(s).unwrap();
    assert!(a.is_available());
    let corner = a.item_at::<f32>(&[0, 0]).unwrap();
    assert!((corner - 1.0).abs() < 1e-3, "{corner}");
    synchronize(cpu_stream()).unwrap();
}

#[test]
fn streams_meet_where_one_needs_the_other() {
    let (one, two) = (cpu_stream(), cpu_stream());
    let mut a = Array::from([1i64]);
    for i in 0..1000 {
        a = with_stream(if i % 2 == 0 { one } else { two }, || ops::add(&a, 1));
    }
    assert_eq!(a.item::<i64>().unwrap(), 1001);
}

/// Arrays and what they are made of may go to any thread.
const _: () = {
    const fn anywhere<T: Send + Sync + 'static>() {}
    anywhere::<Array>();
    anywhere::<Stream>();
    anywhere::<Device>();
    anywhere::<Error>();
    anywhere::<Dtype>();
    anywhere::<pellucid::op::Op>();
};

// ---- processes of their own

/// Runs the test of this name alone in a new process.
fn process(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env_remove("PELLUCID_DEVICE");
    command.envs(variables.iter().copied()).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

#[test]
#[ignore = "run by the tests below"]
fn shows_the_default_device() {
    println!("default: {}", default_device());
    let a = ops::add(&Array::from([1]), 1);
    println!("result: {} on {}", a.item::<i32>().unwrap(), a.stream().device());
}

/// Started by the tests below.
#[test]
#[ignore = "started by other tests"]
fn shows_its_threads() {
    let large = ops::full([2_000_000], 1.0f32, Dtype::Float32);
    ops::exp(&large).eval().unwrap();
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count());
    println!("threads: {}", if threads < 2000 { "few" } else { "many" });
}

#[test]
fn a_number_of_threads_outside_its_range_is_refused_aloud() {
    for wish in ["1000000", "0", "-3", "many"] {
        let shown = text(&process("shows_its_threads", &[("PELLUCID_THREADS", wish)]));
        assert!(shown.contains("threads: few"), "{wish}: {shown}");
        let said = format!("PELLUCID_THREADS={wish} is not a number from 1 to 1024");
        assert_eq!(shown.matches(&said).count(), 1, "{shown}");
    }
    let shown = text(&process("shows_its_threads", &[("PELLUCID_THREADS", "3")]));
    assert!(shown.contains("threads: few") && !shown.contains("pellucid:"), "{shown}");
}

#[test]
fn switches_are_on_or_off_and_anything_else_is_said_aloud() {
    let shown = text(&process("shows_the_default_device", &[("PELLUCID_FUSE", "sometimes")]));
    assert!(shown.contains("PELLUCID_FUSE=sometimes is neither 1 nor 0; ignored"), "{shown}");
    assert!(shown.contains("result: 2"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_desktop_looking_for_gpus_prints_nothing() {
    let shown = text(&process("shows_the_default_device", &[("PELLUCID_DEVICE", "")]));
    assert!(!shown.contains("XDG_RUNTIME_DIR"), "{shown}");
}

#[test]
fn the_environment_names_the_default_device() {
    let shown = text(&process("shows_the_default_device", &[("PELLUCID_DEVICE", "cpu")]));
    assert!(shown.contains("default: Device(cpu, 0)\n"), "{shown}");
    assert!(shown.contains("result: 2 on Device(cpu, 0)\n"), "{shown}");
    assert!(!shown.contains("pellucid:"), "nothing to complain about: {shown}");
}

#[test]
fn an_empty_variable_names_nothing() {
    let shown = text(&process("shows_the_default_device", &[("PELLUCID_DEVICE", "")]));
    assert!(shown.contains("result: 2 on") && !shown.contains("pellucid:"), "{shown}");
}

#[test]
fn a_gpu_that_is_asked_for_is_used_or_missed_aloud() {
    let shown = text(&process("shows_the_default_device", &[("PELLUCID_DEVICE", "gpu")]));
    if is_available(Device::gpu()) {
        assert!(shown.contains("default: Device(gpu, 0)\n"), "{shown}");
    } else {
        assert!(shown.contains("PELLUCID_DEVICE asks for Device(gpu, 0), which is not there"), "{shown}");
        assert!(shown.contains("default: Device(cpu, 0)\n"), "{shown}");
    }
}

#[test]
fn a_device_nobody_knows_is_named_aloud() {
    let shown = text(&process("shows_the_default_device", &[("PELLUCID_DEVICE", "tpu")]));
    assert!(shown.contains("PELLUCID_DEVICE=\"tpu\" is neither cpu nor gpu"), "{shown}");
    assert!(shown.contains("result: 2 on Device(cpu, 0)\n"), "{shown}");
}
