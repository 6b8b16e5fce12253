//! Files of older versions are read: two that version 1 wrote are kept here, of the same work on a CPU and on a GPU.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::PathBuf;

use pellucid_trace::{Trace, analysis, export};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

#[test]
fn files_of_version_1_are_read_analysed_and_exported() {
    for (name, device) in
        [("version-1-cpu.pltrace", "Device(cpu, 0)"), ("version-1-gpu.pltrace", "Device(gpu, 0)")]
    {
        let trace = Trace::open(file(name)).unwrap();
        assert_eq!(trace.manifest().version, 1);
        assert_eq!(trace.problems().unwrap(), (Vec::new(), 0), "{name}");
        let launches = trace.launches().unwrap();
        assert!(launches.len() > 20 && launches.iter().all(|launch| launch.device == device));
        // What version 1 did not record is missing, not wrong.
        assert!(trace.dispatches().unwrap().is_empty());
        let ops = trace.ops().unwrap();
        assert!(ops.iter().all(|op| op.family.is_none() && op.fallback_reason.is_none()));
        assert!(
            ops.iter().any(|op| op.kind() == "matmul") && ops.iter().any(|op| op.kind() == "elementwise")
        );
        let analysis = analysis::analyse(&trace).unwrap();
        assert!(analysis.dispatches.is_empty() && analysis.totals.launch_ns > 0);
        let mut drawn = Vec::new();
        assert!(export::perfetto(&trace, &mut drawn).unwrap().slices > launches.len() as u64);
    }
}

#[test]
fn a_recovered_file_of_version_1_keeps_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved.pltrace");
    let recovered = pellucid_trace::recover(file("version-1-gpu.pltrace"), &saved).unwrap();
    let (old, new) = (Trace::open(file("version-1-gpu.pltrace")).unwrap(), Trace::open(&saved).unwrap());
    assert_eq!(recovered.counts.launches as usize, old.launches().unwrap().len());
    assert_eq!(new.ops().unwrap().rows(), old.ops().unwrap().rows());
}
