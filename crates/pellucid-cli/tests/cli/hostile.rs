//! Files made to do harm: newer versions, bombs, names that lead outside, rows that contradict each other. Each is
//! refused with words that say why, exit code 2 and little memory.

use std::io::Write;
use std::path::Path;

use flate2::write::DeflateEncoder;
use flate2::{Compress, Compression, FlushCompress};
use pellucid::Array;

use crate::broken::refused;
use crate::fixture::{input, manifest, op, tensor};
use crate::{Folder, alone, fixture, said, text};

const HEAD: &str = r#"{"format":"pltrace","version":1}"#;

/// A member as the file tells of it, true or not.
struct Member {
    name: String,
    packed: Vec<u8>,
    size: u64,
    crc: u32,
}

impl Member {
    fn new(name: &str, content: &[u8]) -> Member {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        Member { name: name.to_owned(), packed, size: content.len() as u64, crc: crc32fast::hash(content) }
    }

    /// Gigabytes of zeros in a thousandth of that: a block that unpacks to a MiB, again and again.
    fn bomb(name: &str, mebibytes: u64) -> Member {
        let block = vec![0; 1 << 20];
        let piece = |flush| {
            let mut packed = Vec::with_capacity(64 << 10);
            Compress::new(Compression::best(), false).compress_vec(&block, &mut packed, flush).unwrap();
            packed
        };
        let mut packed = piece(FlushCompress::Full).repeat(mebibytes as usize - 1);
        packed.extend(piece(FlushCompress::Finish));
        let mut crc = crc32fast::Hasher::new();
        let one = crc32fast::hash(&block);
        (0..mebibytes).for_each(|_| crc.combine(&crc32fast::Hasher::new_with_initial_len(one, 1 << 20)));
        Member { name: name.to_owned(), packed, size: mebibytes << 20, crc: crc.finalize() }
    }

    fn header(&self, central: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(if central { *b"PK\x01\x02\x2d\x03" } else { *b"PK\x03\x04\x2d\x00" });
        if central {
            bytes.extend([45, 0]);
        }
        // No flags, deflate, 1980-01-01.
        bytes.extend([0, 0, 8, 0, 0, 0, 33, 0]);
        bytes.extend(self.crc.to_le_bytes());
        bytes.extend([0xff; 8]);
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend(20u16.to_le_bytes());
        bytes
    }

    fn sizes(&self) -> Vec<u8> {
        let mut bytes = vec![1, 0, 16, 0];
        bytes.extend(self.size.to_le_bytes());
        bytes.extend((self.packed.len() as u64).to_le_bytes());
        bytes
    }
}

/// A ZIP file of exactly these members.
fn write(path: &Path, members: &[Member]) {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        directory.extend(member.header(true));
        directory.extend([0; 10]);
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(member.name.as_bytes());
        directory.extend(member.sizes());
        file.extend(member.header(false));
        file.extend(member.name.as_bytes());
        file.extend(member.sizes());
        file.extend(&member.packed);
    }
    let start = file.len() as u32;
    file.extend(&directory);
    file.extend(*b"PK\x05\x06\0\0\0\0");
    (0..2).for_each(|_| file.extend((members.len() as u16).to_le_bytes()));
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    std::fs::write(path, file).unwrap();
}

/// Every command that reads one trace.
const COMMANDS: [&[&str]; 8] = [
    &["summary"],
    &["ops"],
    &["show", "1"],
    &["replay"],
    &["check"],
    &["export", "--format", "perfetto", "-o", "-"],
    &["export", "--format", "html", "-o", "-"],
    &["view", "--no-open"],
];

fn refused_by_all(path: &Path, words: &str) {
    for command in COMMANDS {
        let mut args = vec![command[0], text(path)];
        args.extend(&command[1..]);
        refused(&args, words);
    }
    refused(&["diff", text(path), text(path)], words);
}

/// Runs the command where it may have a gigabyte of addresses and no more.
#[cfg(target_os = "linux")]
fn confined(args: &[&str]) -> crate::Said {
    let limit = "ulimit -v 1048576; exec \"$@\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", limit, "sh", env!("CARGO_BIN_EXE_pellucid")]).args(args);
    said(shell.output().unwrap())
}

#[test]
fn a_file_of_these_members_is_a_trace() {
    let folder = Folder::new();
    let path = folder.path("plain.pltrace");
    write(&path, &[Member::new("manifest.json", HEAD.as_bytes()), Member::new("notes.txt", b"hello")]);
    crate::good(&["summary", text(&path)]);
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let folder = Folder::new();
    let path = folder.path("newer.pltrace");
    let manifest = r#"{"format":"pltrace","version":3,"counts":"in a new way"}"#;
    write(&path, &[Member::new("manifest.json", manifest.as_bytes())]);
    refused_by_all(&path, "the trace has version 3; this program reads up to version 2: use a newer one");
}

#[test]
fn names_that_lead_outside_or_come_twice_are_refused() {
    let folder = Folder::new();
    let path = folder.path("names.pltrace");
    let head = || Member::new("manifest.json", HEAD.as_bytes());
    for name in ["../../evil", "kernels/../../evil", "/etc/passwd", "C:\\evil", "kernels/./x", "a\u{1b}[2J"] {
        write(&path, &[head(), Member::new(name, b"x")]);
        refused_by_all(&path, "unsafe name");
    }
    write(&path, &[head(), Member::new("kernels/a.txt", b"one"), Member::new("kernels/a.txt", b"two")]);
    refused_by_all(&path, "two of its members have the same name");
    let other = r#"{"format":"pltrace","version":1,"truncated":true}"#;
    write(&path, &[head(), Member::new("manifest.json", other.as_bytes())]);
    refused_by_all(&path, "two of its members have the same name");
}

#[test]
#[cfg(target_os = "linux")]
fn bombs_are_refused_within_a_gigabyte() {
    let folder = Folder::new();
    let head = || Member::new("manifest.json", HEAD.as_bytes());
    let many = |each: &str| {
        let start = r#"{"format":"pltrace","version":1,"regions":["#;
        Member::new("manifest.json", format!("{start}{}{{}}]}}", each.repeat(20_000_000)).as_bytes())
    };
    let lie = Member { size: 1000, ..Member::bomb("ops/000000.arrow", 4 << 10) };
    let cases = [
        (
            "table",
            vec![head(), Member::bomb("ops/000000.arrow", 4 << 10)],
            "the table ops would take 4294967296",
        ),
        ("lie", vec![head(), lie], "ops/000000.arrow is damaged"),
        ("manifest", vec![Member::bomb("manifest.json", 4 << 10)], "manifest.json would take"),
        ("regions", vec![many("{},")], "manifest.json would take"),
        ("numbers", vec![many("0,")], "manifest.json would take"),
    ];
    for (name, members, words) in cases {
        let path = folder.path(&format!("{name}.pltrace"));
        write(&path, &members);
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size < 6 << 20, "{name}: {size} bytes");
        for command in [&["summary"][..], &["ops"], &["show", "1"], &["replay"], &["check"]] {
            let mut args = vec![command[0], text(&path)];
            args.extend(&command[1..]);
            let said = confined(&args);
            assert_eq!(said.code, 2, "{name} {command:?}: {}{}", said.out, said.err);
            assert!(said.err.contains(words), "{name} {command:?}: {}", said.err);
        }
        let saved = folder.path(&format!("{name}.saved"));
        let said = confined(&["recover", text(&path), "-o", text(&saved)]);
        assert!((0..=2).contains(&said.code), "{name}: {}{}", said.out, said.err);
        let _ = std::fs::remove_file(&saved);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_array_whose_elements_are_a_bomb_is_refused_by_its_shape() {
    let folder = Folder::new();
    let path = folder.path("array.pltrace");
    {
        let _alone = alone();
        let writer = pellucid_trace::Writer::create(&path, pellucid_trace::Options::default()).unwrap();
        writer.op(input(1, &[2]));
        writer.tensor(tensor(1, &Array::from([1.0f32, 2.0])));
        writer.op(op(2, "reshape", r#"{"reshape":{"shape":[2,1]}}"#, &[1], &[2, 1], None));
        writer.finish(manifest(1_000)).unwrap();
    }
    let mut zip = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
    let mut members = Vec::new();
    for i in 0..zip.len() {
        let mut file = zip.by_index(i).unwrap();
        let name = file.name().unwrap().into_owned();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut content).unwrap();
        members.push(match name.as_str() {
            "tensors/1.npy" => Member::bomb(&name, 4 << 10),
            _ => Member::new(&name, &content),
        });
    }
    write(&path, &members);
    let said = confined(&["summary", text(&path)]);
    assert_eq!(said.code, 0, "{}", said.err);
    let said = confined(&["show", text(&path), "1"]);
    assert_eq!(said.code, 0, "too large to print: {}", said.err);
    let said = confined(&["replay", text(&path), "--device", "cpu"]);
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert!(said.err.contains("tensors/1.npy holds 4.0 GiB, but array 1 has 8 B"), "{}", said.err);
}

#[test]
#[cfg(target_os = "linux")]
fn a_good_trace_is_read_in_the_same_confinement() {
    let folder = Folder::new();
    let path = folder.path("good.pltrace");
    fixture::write(&path, 0);
    for command in ["summary", "ops"] {
        let said = confined(&[command, text(&path)]);
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    }
    let said = confined(&["replay", text(&path), "--device", "cpu", "--check"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}
