//! Files changed at random: an error or an answer, never a panic, never much memory.
//! A program of its own, because it counts the panics of the whole process.
#![allow(clippy::unwrap_used, reason = "a test states what must hold")]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use pellucid_trace::{Options, recover};
use support::{exercise, members, pack, sample};
use zip::CompressionMethod::Stored;

/// A small generator, so that a failing case can be repeated from its number.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn mutate(data: &mut Vec<u8>, random: &mut Random) {
    const ODD: [u64; 8] =
        [0, 1, u64::MAX, i64::MAX as u64, i64::MIN as u64, u32::MAX as u64, i32::MAX as u64, 1 << 40];
    for _ in 0..=random.below(4) {
        let at = random.below(data.len());
        match random.below(7) {
            0 if !data.is_empty() => data[at] ^= 1 << random.below(8),
            1 if !data.is_empty() => data[at] = random.next() as u8,
            2 => data.truncate(at),
            3 => {
                let value = ODD[random.below(ODD.len())].to_le_bytes();
                let (at, width) = (at & !3, [4, 8][random.below(2)]);
                if let Some(place) = data.get_mut(at..at + width) {
                    place.copy_from_slice(&value[..width]);
                }
            }
            4 => {
                let end = (at + random.below(64)).min(data.len());
                let piece = data[at.min(end)..end].to_vec();
                let to = random.below(data.len());
                data.splice(to..to, piece);
            }
            5 => {
                let end = (at + random.below(64)).min(data.len());
                data.drain(at.min(end)..end);
            }
            _ if !data.is_empty() => {
                let other = random.below(data.len());
                data.swap(at, other);
            }
            _ => {}
        }
    }
}

fn case(number: u64, whole: &[u8], parts: &[(String, Vec<u8>)], path: &Path) {
    let mut random = Random(number);
    let bytes = if number.is_multiple_of(4) {
        let mut bytes = whole.to_vec();
        mutate(&mut bytes, &mut random);
        bytes
    } else {
        // Inside a member, with a correct checksum around it.
        let mut parts = parts.to_vec();
        let chosen = random.below(parts.len());
        mutate(&mut parts[chosen].1, &mut random);
        pack(&parts, Stored)
    };
    std::fs::write(path, bytes).unwrap();
    let _ = exercise(path);
    if number.is_multiple_of(8) {
        let out = path.with_extension("out");
        let _ = recover(path, &out).map(|_| exercise(&out));
        let _ = std::fs::remove_file(&out);
    }
}

/// `MUTATIONS=200000 cargo test --release -p pellucid-trace --test mutations` takes minutes.
#[test]
fn mutated_files_never_panic_and_take_little_memory() {
    let cases: u64 = std::env::var("MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500);
    let first: u64 = std::env::var("MUTATION_START").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pltrace");
    sample(&path, 4, Options { chunk_rows: 8, ..Options::default() });
    let whole = std::fs::read(&path).unwrap();
    // Tensors are plain bytes; two of them are enough.
    let mut parts = members(&path);
    let mut tensors = 0;
    parts.retain(|(name, _)| {
        tensors += usize::from(name.starts_with("tensors/"));
        !name.starts_with("tensors/") || tensors <= 2
    });
    // Not even a panic that is caught: it would print to the user's terminal.
    static PANICS: AtomicU64 = AtomicU64::new(0);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(info);
    }));
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (whole, parts, path) = (&whole, &parts, folder.path().join(format!("m{thread}.pltrace")));
            scope.spawn(move || {
                for number in (first + thread..first + cases).step_by(threads as usize) {
                    let outcome = std::panic::catch_unwind(|| case(number, whole, parts, &path));
                    assert!(
                        outcome.is_ok(),
                        "case {number}: repeat with MUTATION_START={number} MUTATIONS=1"
                    );
                }
            });
        }
    });
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        let peak: u64 = peak.unwrap_or(0);
        println!("{cases} mutated files; peak memory {peak} kB");
        assert!(peak < 600_000, "{peak} kB");
    }
}
