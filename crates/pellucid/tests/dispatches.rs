//! Every kernel that a GPU is given is a row of the capture, with what it was given.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use pellucid::capture::{self, Mode, Options};
use pellucid::{Array, Axes, Device, is_available, ops, with_device};
use pellucid_trace::{Dispatch, Trace};

fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
}

/// Captures what `f` evaluates on the GPU; `None` where there is none.
fn captured(mode: Mode, f: impl FnOnce()) -> Option<Trace> {
    if !is_available(Device::gpu()) {
        assert!(std::env::var_os("PELLUCID_REQUIRE_GPU").is_none(), "there is no GPU");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpu.pltrace");
    capture::start_with(&path, Options::default().mode(mode)).unwrap();
    with_device(Device::gpu(), f).unwrap();
    capture::stop().unwrap();
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.problems().unwrap(), (Vec::new(), 0));
    Some(trace)
}

/// The dispatches of each operation, by its name.
fn by_op(trace: &Trace) -> HashMap<String, Vec<Dispatch>> {
    let names: HashMap<u64, String> =
        trace.ops().unwrap().iter().map(|op| (op.id, op.name.to_owned())).collect();
    let mut found: HashMap<String, Vec<Dispatch>> = HashMap::new();
    for dispatch in trace.dispatches().unwrap().rows() {
        found.entry(names[&dispatch.op].clone()).or_default().push(dispatch);
    }
    found
}

fn work() {
    let x = Array::from((0..1_000_000u64).map(|i| (i * 7919 % 1_000_003) as f32).collect::<Vec<_>>());
    ops::sort(&x, 0).eval().unwrap();
    ops::cumsum(&x, 0, false, true).eval().unwrap();
    ops::sum(&x, Axes::All, false).eval().unwrap();
    let m = Array::from(vec![0.5f32; 512 * 512]).reshape([512, 512]);
    ops::matmul(&m, &m).eval().unwrap();
}

#[test]
fn every_dispatch_is_a_row_and_their_times_are_the_launches() {
    let _alone = alone();
    for mode in [Mode::Stats, Mode::Timeline] {
        let Some(trace) = captured(mode, work) else { return };
        let found = by_op(&trace);
        for op in ["sort", "cumsum"] {
            assert!(found[op].len() > 1, "{op}: {} dispatches", found[op].len());
        }
        assert!(!found["sum"].is_empty() && !found["matmul"].is_empty());
        assert_eq!(trace.manifest().counts.dispatches as usize, trace.dispatches().unwrap().len());
        let dispatches = trace.dispatches().unwrap().rows();
        for launch in trace.launches().unwrap().rows() {
            let own: Vec<_> = dispatches.iter().filter(|d| d.launch == launch.id).collect();
            if own.is_empty() {
                continue;
            }
            let sum: i64 = own.iter().map(|d| d.end_ns - d.start_ns).sum();
            assert_eq!(sum, launch.end_ns - launch.start_ns, "{mode:?}: {}", launch.kernel);
            assert_eq!((own[0].start_ns, own[own.len() - 1].end_ns), (launch.start_ns, launch.end_ns));
            assert_eq!(own[own.len() - 1].grid, launch.grid);
        }
    }
}

#[test]
fn a_dispatch_says_what_it_ran_on_what() {
    let _alone = alone();
    let a = Array::from([3.0f32, 1.0, 2.0].repeat(100_000));
    let Some(trace) = captured(Mode::Stats, || ops::sort(&a, 0).eval().unwrap()) else { return };
    let sort = &by_op(&trace)["sort"];
    let (first, last) = (&sort[0], &sort[sort.len() - 1]);
    let reads = |dispatch: &Dispatch, array: u64| {
        dispatch.arrays.iter().zip(&dispatch.roles).any(|(a, role)| *a == array && &**role == "input")
    };
    assert!(sort.iter().any(|dispatch| reads(dispatch, a.id())), "{first:?}");
    assert!(last.roles.iter().any(|role| &**role == "output"), "{last:?}");
    assert!(sort.iter().flat_map(|d| &d.roles).any(|role| &**role == "scratch"));
    for dispatch in sort {
        let text = trace.kernel(dispatch.source.as_deref().unwrap()).unwrap();
        let declared = format!("@workgroup_size({}", dispatch.workgroup[0]);
        assert!(text.contains(&declared), "{declared}");
        assert!(dispatch.grid.iter().all(|&n| n > 0) && dispatch.sizes.iter().all(|&n| n > 0));
        assert_eq!(dispatch.offsets.len(), dispatch.buffers.len());
    }
    assert!(sort.iter().any(|dispatch| !dispatch.constants.is_empty()));
}

#[test]
fn why_an_operation_fell_back_is_a_column() {
    let _alone = alone();
    let Some(trace) = captured(Mode::Stats, || {
        ops::exp(&Array::from([1.0f64, 2.0])).eval().unwrap();
        ops::exp(&Array::from([1.0f32, 2.0])).eval().unwrap();
    }) else {
        return;
    };
    let rows = trace.ops().unwrap().rows();
    let of = |dtype: &str| rows.iter().find(|op| &*op.name == "exp" && &*op.dtypes[0] == dtype).unwrap();
    assert!(of("float64").fallback && of("float64").fallback_reason.as_deref().unwrap().contains("float64"));
    assert!(!of("float32").fallback && of("float32").fallback_reason.is_none());
    assert!(by_op(&trace)["exp"].iter().all(|dispatch| dispatch.op == of("float32").id));
}
