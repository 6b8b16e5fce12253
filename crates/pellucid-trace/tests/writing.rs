//! The writer under bad conditions: places it may not write to, too little room, a killed process, a full disk.
#![allow(clippy::unwrap_used, reason = "a test states what must hold")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pellucid_trace::{Error, Manifest, Memory, Mode, Options, Sync, Tensor, Trace, Writer, recover};
use support::{exercise, sample, synthetic};

fn wait(time_ns: i64) -> Sync {
    Sync { time_ns, waiter: -1, waited_for: 0, duration_ns: 1 }
}

#[test]
fn an_existing_file_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    std::fs::write(&path, "mine").unwrap();
    assert!(matches!(Writer::create(&path, Options::default()), Err(Error::Exists { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_missing_folder_is_named_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let parent = folder.path().join("not there");
    match Writer::create(parent.join("t.pltrace"), Options::default()) {
        Err(Error::ParentMissing { parent: named, .. }) => assert_eq!(named, parent),
        other => panic!("{:?}", other.err()),
    }
    assert!(!parent.exists());
}

#[test]
fn a_file_in_place_of_the_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(Writer::create(file.join("t.pltrace"), Options::default()), Err(Error::Io { .. })));
}

#[test]
fn finishing_twice_is_an_error_and_rows_after_the_end_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let writer = Writer::create(&path, Options::default()).unwrap();
    writer.finish(Manifest::default()).unwrap();
    writer.sync(wait(1));
    assert!(matches!(writer.finish(Manifest::default()), Err(Error::Finished { .. })));
    drop(writer);
    assert_eq!(Trace::open(&path).unwrap().sync().unwrap().len(), 0);
}

#[test]
fn a_dropped_writer_leaves_a_partial_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let outcome = std::panic::catch_unwind(|| {
        let writer = Writer::create(&path, Options::default()).unwrap();
        let mut draft = Manifest::default();
        draft.program.name = "victim".into();
        writer.draft(&draft);
        writer.sync(wait(1));
        std::panic::resume_unwind(Box::new("a panic of the program"));
    });
    assert!(outcome.is_err());
    let trace = Trace::open(&path).unwrap();
    assert!(trace.manifest().partial);
    assert_eq!(trace.manifest().program.name, "victim");
    assert_eq!(trace.sync().unwrap().len(), 1);
}

#[test]
fn a_cap_leaves_out_what_does_not_fit_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let options = Options { max_bytes: 200_000, chunk_rows: 64, ..Options::default() };
    let writer = Writer::create(&path, options).unwrap();
    let mut random = 1_u64;
    for i in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        writer.memory(Memory {
            time_ns: i,
            event: "allocate".into(),
            buffer: random,
            bytes: random >> 7,
            op: Some(random >> 3),
            device: "Device(cpu, 0)".into(),
            active: random >> 5,
            cache: 0,
            peak: 0,
        });
    }
    writer.tensor(Tensor { array: 1, dtype: "uint8", shape: vec![500_000], data: Box::new(noise(500_000)) });
    let mut manifest = Manifest::default();
    manifest.window.duration_ns = 20_000;
    let summary = writer.finish(manifest).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size <= 200_000, "{size} bytes");
    assert!(summary.truncated);
    assert_eq!((summary.seen.memory, summary.seen.tensors, summary.written.tensors), (20_000, 1, 0));
    let trace = Trace::open(&path).unwrap();
    assert!(trace.manifest().truncated);
    let rows = trace.memory().unwrap();
    assert!(rows.len() > 1_000 && (rows.len() as u64) == summary.written.memory);
    // What is there is the beginning, without holes.
    assert!(rows.iter().enumerate().all(|(i, row)| row.time_ns == i as i64));
    let lost = 20_000 - rows.len();
    let expected = [
        format!("{lost} memory events: the file would be larger than 200000 bytes"),
        "1 tensors of 500000 bytes: the file would be larger than 200000 bytes".into(),
    ];
    assert_eq!(trace.manifest().left_out, expected);
    trace.check().unwrap();
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..len).map(next).collect()
}

#[test]
fn recent_rows_reach_the_file_while_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let options = Options { flush_every: Duration::from_millis(20), ..Options::default() };
    let writer = Writer::create(&path, options).unwrap();
    writer.sync(wait(1));
    let deadline = Instant::now() + Duration::from_secs(30);
    while std::fs::metadata(&path).unwrap().len() == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let out = folder.path().join("saved.pltrace");
    assert_eq!(recover(&path, &out).unwrap().counts.sync, 1);
}

#[test]
fn many_threads_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    // A queue so short that producers wait for the writer all the time.
    let options =
        Options { queue_rows: 8, max_wait: Duration::from_secs(60), chunk_rows: 100, ..Options::default() };
    let writer = Writer::create(&path, options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let writer = &writer;
            scope.spawn(move || (0..2_500).for_each(|i| writer.sync(wait(thread * 10_000 + i))));
        }
    });
    assert!(!writer.finish(Manifest::default()).unwrap().truncated);
    let mut times: Vec<i64> =
        Trace::open(&path).unwrap().sync().unwrap().iter().map(|row| row.time_ns).collect();
    times.sort_unstable();
    let expected: Vec<i64> = (0..4).flat_map(|thread| (0..2_500).map(move |i| thread * 10_000 + i)).collect();
    assert_eq!(times, expected);
}

/// Data that holds the writer up.
struct Slow;

impl AsRef<[u8]> for Slow {
    fn as_ref(&self) -> &[u8] {
        std::thread::sleep(Duration::from_millis(300));
        &[0]
    }
}

#[test]
fn a_writer_far_behind_costs_one_wait_and_then_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let options = Options { queue_rows: 4, max_wait: Duration::from_millis(10), ..Options::default() };
    let writer = Writer::create(&path, options).unwrap();
    writer.tensor(Tensor { array: 1, dtype: "uint8", shape: vec![1], data: Box::new(Slow) });
    for i in 0..1_000 {
        writer.sync(wait(i));
    }
    let summary = writer.finish(Manifest::default()).unwrap();
    assert!(summary.truncated);
    assert!(summary.left_out[0].contains("the writer was more than 10ms behind"), "{:?}", summary.left_out);
    // One wait in vain per time that the queue is full, not one per row.
    assert!(summary.blocked < Duration::from_secs(2), "{:?}", summary.blocked);
    assert!(Trace::open(&path).unwrap().sync().unwrap().len() < 1_000);
}

// ---- in processes of their own

/// Runs one of the `child_` tests below in a process of its own.
fn child(name: &str, path: &Path, limit: Option<u32>) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match limit {
        None => Command::new(program),
        Some(blocks) => {
            // Beyond the limit writing fails, as on a full disk; the signal that comes with it is ignored.
            let mut shell = Command::new("bash");
            shell
                .arg("-c")
                .arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""))
                .arg("bash")
                .arg(program);
            shell
        }
    };
    command
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env("CHILD_TRACE", path)
        .stdout(Stdio::piped());
    command
}

fn child_path() -> PathBuf {
    std::env::var_os("CHILD_TRACE").expect("started by another test").into()
}

#[test]
#[ignore = "run by the tests below"]
fn child_writes_without_end() {
    let writer = Writer::create(child_path(), Options { chunk_rows: 512, ..Options::default() }).unwrap();
    let mut draft = Manifest::default();
    draft.machine.cpu = "known from the draft".into();
    writer.draft(&draft);
    loop {
        let _ = synthetic::Network::new(&writer).run(1_000);
    }
}

#[cfg(unix)]
#[test]
fn a_killed_process_leaves_everything_up_to_the_last_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("t.pltrace"), folder.path().join("saved.pltrace"));
    let mut process = child("child_writes_without_end", &path, None).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(&path).map_or(0, |data| data.len()) < 2_000_000 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(matches!(Trace::open(&path), Err(Error::CutShort { .. })));
    let recovered = recover(&path, &out).unwrap();
    assert!(recovered.counts.launches > 1_000, "{recovered:?}");
    assert!(recovered.lost <= 1, "{recovered:?}");
    let trace = Trace::open(&out).unwrap();
    assert!(trace.manifest().partial);
    assert_eq!(trace.manifest().counts, recovered.counts);
    assert_eq!(trace.manifest().streams.len(), 3);
    assert_eq!(trace.manifest().devices.len(), 2);
    // Rows are whole: every tensor has the hash of its figures.
    for stats in trace.stats().unwrap().iter().take(100) {
        assert_eq!(pellucid_trace::hash(&trace.tensor(stats.array).unwrap().data), stats.hash);
    }
    exercise(&out)
        .or_else(|error| if matches!(error, Error::TooManyToShow { .. }) { Ok(()) } else { Err(error) })
        .unwrap();
}

#[test]
#[ignore = "run by the tests below"]
fn child_fills_the_disk() {
    let writer = Writer::create(child_path(), Options { chunk_rows: 64, ..Options::default() }).unwrap();
    let manifest = synthetic::Network::new(&writer).run(2_000);
    match writer.finish(manifest) {
        Err(Error::Stopped { bytes, readable, source, .. }) => {
            println!("STOPPED {bytes} {readable} {source}")
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_by_finish_and_what_came_before_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("t.pltrace"), folder.path().join("saved.pltrace"));
    let output = child("child_fills_the_disk", &path, Some(300)).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("STOPPED"), "{text}");
    assert!(text.contains("File too large"), "{text}");
    // The table of contents may or may not have fitted; what is complete can be read either way.
    let trace = Trace::open(&path)
        .or_else(|_| recover(&path, &out).and_then(|saved| Trace::open(saved.path)))
        .unwrap();
    assert!(trace.manifest().truncated || trace.manifest().partial);
    assert!(trace.stats().unwrap().len() > 10);
}

#[test]
#[ignore = "run by the tests below"]
fn child_writes_many_launches() {
    let writer =
        Writer::create(child_path(), Options { mode: Mode::Timeline, ..Options::default() }).unwrap();
    let mut network = synthetic::Network::new(&writer);
    network.with_data = false;
    let manifest = network.run(200_000 * 3 / 16);
    let summary = writer.finish(manifest).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("LAUNCHES {} PEAK {} TRUNCATED {}", summary.written.launches, peak.trim(), summary.truncated);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_however_many_launches_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    let output = child("child_writes_many_launches", &path, None).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().skip_while(|word| *word != "LAUNCHES").collect();
    assert_eq!((words[1], words[6]), ("200000", "false"), "{text}");
    let peak: u64 = words[3].parse().unwrap();
    assert!(peak < 300_000, "{peak} kB");
    let trace = Trace::open(&path).unwrap();
    trace.check().unwrap();
    assert_eq!(trace.launches().unwrap().len(), 200_000);
}

#[test]
fn a_whole_file_is_recovered_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("t.pltrace"), folder.path().join("saved.pltrace"));
    let written = sample(&path, 6, Options { chunk_rows: 10, ..Options::default() }).written;
    let recovered = recover(&path, &out).unwrap();
    assert_eq!((recovered.counts, recovered.lost), (written, 0));
    let (a, b) = (Trace::open(&path).unwrap(), Trace::open(&out).unwrap());
    assert_eq!(a.ops().unwrap().rows(), b.ops().unwrap().rows());
    assert_eq!(a.manifest().regions, b.manifest().regions);
    assert!(matches!(recover(&path, &out), Err(Error::Exists { .. })));
}

#[test]
fn nothing_is_left_behind_when_there_is_nothing_to_recover() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("t.pltrace"), folder.path().join("saved.pltrace"));
    std::fs::write(&path, "no trace at all, just text").unwrap();
    assert!(matches!(recover(&path, &out), Err(Error::NotATrace { .. })));
    assert!(!out.exists());
}
