//! What a capture shows of a GPU: whose clock timed it, what was submitted together, and what could not run there.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use pellucid::capture::{self, Mode, Options};
use pellucid::{Array, Axes, Device, Dtype, device_info, gpu, new_stream, ops, with_device, with_stream};
use pellucid_trace::{Launch, Trace};

/// One capture at a time, as the library wants it.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    assert!(
        gpu::is_available(),
        "these tests need a GPU; Debian's mesa-vulkan-drivers is a software adapter"
    );
    ONE.lock()
}

/// Sums, products and a softmax, none of which is fused with the next.
fn work(rounds: usize) -> Array {
    let mut x = ops::full([64, 64], 0.5f32, Dtype::Float32);
    for _ in 0..rounds {
        x = ops::softmax(&ops::matmul(&x, &x), Axes::All, false);
    }
    x
}

fn captured(mode: Mode, run: impl FnOnce()) -> (Trace, Vec<Launch>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpu.pltrace");
    capture::start_with(&path, Options::default().mode(mode)).unwrap();
    run();
    capture::stop().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.problems().unwrap(), (Vec::new(), 0));
    let launches = trace.launches().unwrap().rows();
    (trace, launches)
}

#[test]
fn launches_are_timed_one_by_one_by_the_gpu_itself() {
    let _alone = alone();
    let (_, launches) =
        captured(Mode::Replay, || with_device(Device::gpu(), || work(20)).unwrap().eval().unwrap());
    assert_eq!(launches.len(), 41);
    let stamps = device_info(Device::gpu()).unwrap().features.iter().any(|f| f == "timestamp_query");
    let expected = if stamps { "gpu timestamp" } else { "gpu submission" };
    for launch in &launches {
        assert_eq!(&*launch.timed_by, expected, "{launch:?}");
        assert!(launch.end_ns > launch.start_ns, "{launch:?}");
        assert!(launch.source.is_some() && launch.grid.len() == 3, "{launch:?}");
    }
}

#[test]
fn a_timeline_does_not_keep_launches_from_being_submitted_together() {
    let _alone = alone();
    let run = || with_device(Device::gpu(), || work(50)).unwrap().eval().unwrap();
    run();
    let (_, launches) = captured(Mode::Timeline, run);
    assert_eq!(launches.len(), 101);
    assert!(launches.iter().all(|l| &*l.timed_by == "gpu submission"), "{launches:?}");
    // They follow one another without a gap where they were submitted together.
    let seamless = launches.windows(2).filter(|w| w[0].end_ns == w[1].start_ns).count();
    assert!(seamless >= 90, "{seamless} of 100");
}

#[test]
fn times_of_streams_fit_the_window_and_do_not_overlap() {
    let _alone = alone();
    for mode in [Mode::Timeline, Mode::Stats] {
        let streams: Vec<_> = (0..2)
            .map(|_| new_stream(Device::gpu()).unwrap())
            .chain([new_stream(Device::cpu()).unwrap()])
            .collect();
        let (trace, launches) = captured(mode, || {
            let results: Vec<_> = streams.iter().map(|&s| with_stream(s, || work(10))).collect();
            pellucid::eval(&results).unwrap();
        });
        let window = trace.manifest().window.duration_ns;
        let mut busy: HashMap<u32, i64> = HashMap::new();
        let mut last: HashMap<u32, i64> = HashMap::new();
        for launch in &launches {
            *busy.entry(launch.stream).or_default() += launch.end_ns - launch.start_ns;
            let end = last.insert(launch.stream, launch.end_ns).unwrap_or(0);
            assert!(launch.start_ns >= end, "{launch:?} begins before {end}");
        }
        assert_eq!(busy.len(), 3);
        assert!(busy.values().all(|&ns| ns <= window), "{busy:?} in a window of {window}");
    }
}

#[test]
fn what_a_gpu_cannot_do_is_marked_and_timed_by_the_host() {
    let _alone = alone();
    for mode in [Mode::Timeline, Mode::Replay] {
        let (trace, launches) = captured(mode, || {
            with_device(Device::gpu(), || {
                let x = ops::full([100], 0.25f32, Dtype::Float32);
                let wide = ops::sum(&ops::astype(&x, Dtype::Float64), Axes::All, false);
                assert_eq!(wide.item::<f64>().unwrap(), 25.0);
            })
            .unwrap();
        });
        let rows = trace.ops().unwrap().rows();
        let sum = rows.iter().find(|o| &*o.name == "sum").unwrap();
        assert!(sum.fallback && sum.error.is_none(), "{sum:?}");
        let launch = launches.iter().find(|l| Some(l.id) == sum.launch).unwrap();
        assert_eq!(&*launch.timed_by, "host clock");
    }
}
