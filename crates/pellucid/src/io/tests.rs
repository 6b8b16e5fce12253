//! Files: bytes of NumPy and MLX, round trips, damaged and hostile content, and writing without halves.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::array::{Dtype, Shape, fail};

/// A file with this content, in a folder that lives as long as the first value.
fn file(name: &str, content: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

fn load_bytes(content: &[u8]) -> Result<Loaded> {
    let (_folder, path) = file("file", content);
    load(path)
}

/// A `.npy` with this dictionary and content.
fn npy(version: u8, dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((dictionary.len() as u16).to_le_bytes()),
        _ => bytes.extend((dictionary.len() as u32).to_le_bytes()),
    }
    bytes.extend(dictionary.as_bytes());
    bytes.extend(content);
    bytes
}

fn safetensors_file(header: &str, content: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), content].concat()
}

fn refused(content: &[u8], why: &str) {
    match load_bytes(content) {
        Err(error @ Error::Format { .. }) => {
            let text = error.to_string();
            assert!(text.contains(why), "{text:?} does not say {why:?}");
        }
        other => panic!("expected a format error that says {why:?}, got {other:?}"),
    }
}

// ---- files of NumPy 2.4 and MLX 0.32, byte for byte

#[cfg(target_endian = "little")]
#[test]
fn saved_npy_files_are_the_bytes_numpy_writes() {
    let matrix = Array::from([[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    let number = Array::from(-3i64);
    let cases: [(&Array, &[u8]); 2] = [
        (&matrix, b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                          \n\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@"),
        (&number, b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (), }                                                              \n\xfd\xff\xff\xff\xff\xff\xff\xff"),
    ];
    for (array, bytes) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = save(folder.path().join("a"), array).unwrap();
        assert_eq!(fs::read(path).unwrap().escape_ascii().to_string(), bytes.escape_ascii().to_string());
    }
}

#[test]
fn npy_in_every_version_and_order_is_read() {
    let fortran = b"\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }                                                           \n\x00\x00\x03\x00\x01\x00\x04\x00\x02\x00\x05\x00";
    let a = load_bytes(fortran).unwrap().into_array().unwrap();
    assert_eq!((a.shape(), a.to_vec::<i16>().unwrap()), (&[2, 3][..], vec![0, 1, 2, 3, 4, 5]));
    assert!(a.is_available());

    let big_endian = b"\x93NUMPY\x01\x00v\x00{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }                                                            \n?\x80\x00\x00@\x00\x00\x00";
    let a = load_bytes(big_endian).unwrap().into_array().unwrap();
    assert_eq!(a.to_vec::<num_complex::Complex32>().unwrap(), [num_complex::Complex32::new(1.0, 2.0)]);

    let version3 = b"\x93NUMPY\x03\x00t\x00\x00\x00{'descr': '>u2', 'fortran_order': False, 'shape': (2,), }                                                          \n\x00\x01\x00\x02";
    assert_eq!(load_bytes(version3).unwrap().into_array().unwrap().to_vec::<u16>().unwrap(), [1, 2]);

    let version2 = npy(2, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", b"\x07\x00");
    let a = load_bytes(&version2).unwrap().into_array().unwrap();
    assert_eq!(a.to_bytes().unwrap(), [1, 0], "every byte but 0 is true, stored as 1");

    let python2 = npy(1, "{\"shape\": (1L, 2L), \"fortran_order\": False, \"descr\": \"<u1\"}", b"\x05\x06");
    assert_eq!(load_bytes(&python2).unwrap().into_array().unwrap().shape(), [1, 2]);

    let mlx = b"\x93NUMPY\x01\x00<\x00{'descr': '<V2', 'fortran_order': True, 'shape': (2, )}    \n\x80? @";
    let a = load_bytes(mlx).unwrap().into_array().unwrap();
    assert_eq!(a.to_vec::<half::bf16>().unwrap(), [1.0, 2.5].map(half::bf16::from_f32));
}

#[test]
fn npz_of_numpy_plain_and_compressed_is_read() {
    let plain = b"PK\x03\x04-\x00\x00\x00\x00\x00\x00\x00!\x00\x0b\xf9\xaa-\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00x.npy\x01\x00\x10\x00\x88\x00\x00\x00\x00\x00\x00\x00\x88\x00\x00\x00\x00\x00\x00\x00\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }                                                            \n\x01\x00\x00\x00\x02\x00\x00\x00PK\x01\x02-\x03-\x00\x00\x00\x00\x00\x00\x00!\x00\x0b\xf9\xaa-\x88\x00\x00\x00\x88\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00x.npyPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x003\x00\x00\x00\xbf\x00\x00\x00\x00\x00";
    assert_eq!(load_bytes(plain).unwrap().into_arrays().unwrap()["x"].to_vec::<i32>().unwrap(), [1, 2]);
    let deflated = b"PK\x03\x04-\x00\x00\x00\x08\x00\x00\x00!\x00\x8cc\xc82\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00x.npy\x01\x00\x10\x00\x90\x00\x00\x00\x00\x00\x00\x00G\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\x93f\xa2\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\n\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a&:\x9a:\n\xb5\n\x14\x00.\x064\x00\x00PK\x01\x02-\x03-\x00\x00\x00\x08\x00\x00\x00!\x00\x8cc\xc82G\x00\x00\x00\x90\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00x.npyPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x003\x00\x00\x00~\x00\x00\x00\x00\x00";
    assert_eq!(load_bytes(deflated).unwrap().into_arrays().unwrap()["x"].to_vec::<f32>().unwrap(), [0.0; 4]);
    let mut damaged = plain.to_vec();
    let at = damaged.windows(8).position(|w| w == b"\x01\x00\x00\x00\x02\x00\x00\x00").unwrap();
    damaged[at] = 9;
    refused(&damaged, "checksum");
}

#[test]
fn safetensors_of_mlx_without_notes_is_read() {
    let mlx = safetensors_file(
        r#"{"__metadata__":null,"a":{"data_offsets":[0,4],"dtype":"BF16","shape":[2]}}"#,
        b"\x80?\x00@",
    );
    let arrays = load_bytes(&mlx).unwrap().into_arrays().unwrap();
    assert_eq!(arrays["a"].to_vec::<half::bf16>().unwrap(), [1.0, 2.0].map(half::bf16::from_f32));
}

// ---- damaged and hostile files

#[test]
fn damaged_npy_files_are_refused_with_the_reason() {
    refused(b"", "not a .npy, .npz, .safetensors or .gguf file");
    refused(b"\x93NUMPY\x01\x00", "cut short");
    refused(&npy(4, "{}", b""), "version 4");
    refused(&npy(1, "{}", b""), "no 'descr'");
    refused(&npy(1, "nonsense", b""), "expected '{'");
    refused(&npy(1, "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", b""), "True or False");
    refused(&npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", b""), "size of an axis");
    refused(
        &npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", b""),
        "axis",
    );
    refused(&npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", b""), "the end");
    refused(&npy(1, "{'descr': '<c16', 'fortran_order': False, 'shape': (2,)}", b""), "save it as complex64");
    refused(&npy(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", b""), "Python objects");
    refused(&npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", b""), "structured");
    let short = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", &[0; 23]);
    refused(&short, "float32 of shape [2, 3] has 24 bytes, but only 23 follow");
}

#[test]
fn absurd_claims_are_refused_before_memory_is_asked_for() {
    refused(
        &npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4398046511104,)}", b""),
        "only 0 follow",
    );
    let overflow = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296)}";
    refused(&npy(1, overflow, b""), "does not fit");
    let zero = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296, 0)}";
    refused(&npy(1, zero, b""), "does not fit");
    let mut header = npy(2, "{}", b"");
    header[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    refused(&header, "the header has 4294967295 bytes, but only 2 follow");

    refused(&[&u64::MAX.to_le_bytes()[..], b"{"].concat(), "the header claims 18446744073709551615 bytes");
    let one = r#"{"a":{"data_offsets":[0,4398046511104],"dtype":"F32","shape":[1099511627776]}}"#;
    refused(&safetensors_file(one, b""), "0 follow the header");
    // With the header's length the last end would overflow 64 bits.
    let step = (1u64 << 60) + (1 << 56) + 1;
    let many: Vec<String> = (0..15)
        .map(|i| {
            format!(
                r#""{i}":{{"data_offsets":[{},{}],"dtype":"U8","shape":[{step}]}}"#,
                i * step,
                (i + 1) * step
            )
        })
        .collect();
    refused(&safetensors_file(&format!("{{{}}}", many.join(",")), b""), "follow the header");
}

#[test]
fn headers_longer_than_any_array_needs_are_refused_unread() {
    let spaces = " ".repeat(32 << 20);
    let member =
        npy(2, &format!("{{'descr': '|u1', 'fortran_order': False, 'shape': (1,), {spaces}}}"), b"\x05");
    let deflated = zip::write::SimpleFileOptions::default();
    refused(&zip_with(&[("a.npy", &member)], deflated), "no array needs more than 65535");
    // Four gigabytes that are nowhere on the disk.
    let (_folder, path) =
        file("sparse.npy", &[b"\x93NUMPY\x02\0", &4_000_000_000u32.to_le_bytes()[..]].concat());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5_000_000_000).unwrap();
    let error = load(&path).unwrap_err().to_string();
    assert!(error.contains("the header claims 4000000000 bytes"), "{error}");
}

#[test]
fn files_with_more_axes_than_arrays_have_are_refused() {
    let header =
        |axes: usize| format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({})}}", "1,".repeat(axes));
    let most = Shape::MAX_AXES;
    assert_eq!(load_bytes(&npy(1, &header(most), b"\x05")).unwrap().into_array().unwrap().ndim(), most);
    refused(&npy(1, &header(most + 1), b"\x05"), "more than 64 axes");
    refused(&npy(2, &header(5_000_000), b"\x05"), "the header claims");
    let ones = vec!["1"; 5_000_000].join(",");
    let many = format!(r#"{{"a":{{"data_offsets":[0,1],"dtype":"U8","shape":[{ones}]}}}}"#);
    refused(&safetensors_file(&many, &[0]), "64 at most");
}

#[test]
fn damaged_safetensors_files_are_refused_with_the_reason() {
    let overlap = r#"{"a":{"data_offsets":[0,4],"dtype":"U8","shape":[4]},"b":{"data_offsets":[2,6],"dtype":"U8","shape":[4]}}"#;
    refused(&safetensors_file(overlap, &[0; 6]), "offset");
    let gap = r#"{"a":{"data_offsets":[2,6],"dtype":"U8","shape":[4]}}"#;
    refused(&safetensors_file(gap, &[0; 6]), "offset");
    let long = r#"{"a":{"data_offsets":[0,4],"dtype":"U8","shape":[4]}}"#;
    refused(&safetensors_file(long, &[0; 9]), "the arrays have 4 bytes, but 9 follow the header");
    let other = r#"{"a":{"data_offsets":[0,4],"dtype":"F8_E4M3FNUZ","shape":[4]}}"#;
    refused(&safetensors_file(other, &[0; 4]), "F8_E4M3FNUZ");
    refused(&safetensors_file("{\"a\":[", b""), "damaged header");
}

/// A ZIP with these members, not compressed.
fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip_with(members, stored)
}

fn zip_with(members: &[(&str, &[u8])], options: zip::write::SimpleFileOptions) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn members_that_are_no_arrays_or_have_names_that_are_paths_are_refused() {
    let good = npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", b"\x05");
    let arrays = load_bytes(&zip_of(&[("layers/0.w.npy", &good)])).unwrap().into_arrays().unwrap();
    assert_eq!(arrays["layers/0.w"].item::<u8>().unwrap(), 5);
    for name in ["../a.npy", "a/../../b.npy", "/etc/a.npy", "a\\b.npy"] {
        refused(&zip_of(&[(name, &good)]), "name");
    }
    refused(&zip_of(&[("readme.txt", b"hello")]), "not a .npy array");
    refused(&zip_of(&[("a.npy", b"hello, this is text")]), "not a .npy array");
    refused(&zip_of(&[("a.npy", &[&good[..], b"!"].concat())]), "more bytes follow");
    refused(b"PK\x05\x06", "");
    assert!(load_bytes(&zip_of(&[])).unwrap().into_arrays().unwrap().is_empty());
    let a = Array::from([1]);
    for name in ["", "../a", "/a", "a\0"] {
        let folder = tempfile::tempdir().unwrap();
        let result = save_npz(folder.path().join("z"), [(name, &a)], false);
        assert!(matches!(result, Err(Error::Argument { .. })), "{name:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

// ---- writing

#[test]
fn the_extension_is_added_where_it_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let a = Array::from([1, 2]);
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(name(save(folder.path().join("a"), &a).unwrap()), "a.npy");
    assert_eq!(name(save(folder.path().join("a.npy"), &a).unwrap()), "a.npy");
    assert_eq!(name(save(folder.path().join("a.v2"), &a).unwrap()), "a.v2.npy");
    assert_eq!(name(save_npz(folder.path().join("a"), [("a", &a)], true).unwrap()), "a.npz");
    let none = BTreeMap::new();
    assert_eq!(name(save_safetensors(folder.path().join("a"), [("a", &a)], &none).unwrap()), "a.safetensors");
    for path in ["", "..", "/"] {
        assert!(matches!(save(path, &a), Err(Error::Argument { .. })), "{path:?}");
    }
}

#[test]
fn a_failed_save_leaves_the_old_file_and_nothing_else() {
    let (folder, path) = file("a.npy", b"old");
    let failed: Array = fail(Error::argument("test", "no luck"));
    assert_eq!(save(&path, &failed).unwrap_err().root().to_string(), "[test] no luck");
    let broken = file::write_file("save", &path, ".npy", |writer| {
        std::io::Write::write_all(writer, b"half")?;
        Err(std::io::ErrorKind::StorageFull.into())
    });
    assert!(matches!(broken, Err(Error::Io { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    fs::create_dir(folder.path().join("b.npy")).unwrap();
    assert!(save(folder.path().join("b.npy"), &Array::from([1])).is_err());
    assert!(matches!(save(folder.path().join("no/such/folder"), &Array::from([1])), Err(Error::Io { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    assert!(matches!(load(folder.path().join("nothing")), Err(Error::Io { .. })));
    assert!(matches!(load(folder.path()), Err(Error::Format { .. })));
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = file("a.npy", b"old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link.npy");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    save(&link, &Array::from([1u8])).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(load_npy(&path).unwrap().item::<u8>().unwrap(), 1);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_yet_is_followed_and_links_in_a_circle_are_an_error() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("far")).unwrap();
    symlink("second.npy", at("first.npy")).unwrap();
    symlink("far/new.npy", at("second.npy")).unwrap();
    save(at("first.npy"), &Array::from([7u8])).unwrap();
    assert!(fs::symlink_metadata(at("first.npy")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(at("second.npy")).unwrap().is_symlink());
    assert_eq!(load_npy(at("far/new.npy")).unwrap().item::<u8>().unwrap(), 7);
    symlink("b.npy", at("a.npy")).unwrap();
    symlink("a.npy", at("b.npy")).unwrap();
    assert!(matches!(save(at("a.npy"), &Array::from([7u8])), Err(Error::Io { .. })));
    assert!(fs::symlink_metadata(at("a.npy")).unwrap().is_symlink());
}

#[test]
fn what_a_library_writes_after_a_failure_is_no_second_failure() {
    use std::io::{Seek, SeekFrom, Write};
    let mut place = [0u8; 4];
    let mut writer = file::FailsOnce::new(std::io::Cursor::new(&mut place[..]));
    writer.write_all(b"abcd").unwrap();
    assert!(writer.write_all(b"e").is_err());
    writer.write_all(b"more").unwrap();
    assert_eq!(writer.seek(SeekFrom::Start(9)).unwrap(), 9);
    writer.flush().unwrap();
    assert_eq!(&place, b"abcd");
}

#[test]
fn names_must_differ_and_not_be_the_formats_own() {
    let folder = tempfile::tempdir().unwrap();
    let (a, none) = (Array::from([1]), BTreeMap::new());
    let twice = save_npz(folder.path().join("z"), [("a", &a), ("a", &a)], false);
    assert_eq!(twice.unwrap_err().to_string(), "[save_npz] the name \"a\" is given twice");
    assert!(save_safetensors(folder.path().join("z"), [("a", &a), ("a", &a)], &none).is_err());
    assert!(save_safetensors(folder.path().join("z"), [("__metadata__", &a)], &none).is_err());
}

// ---- any array, any damage

fn arrays() -> impl Strategy<Value = Array> {
    let shape = prop::collection::vec(0usize..5, 0..5);
    (prop::sample::select(Dtype::ALL.to_vec()), shape).prop_flat_map(|(dtype, shape)| {
        let shape = Shape::from(shape);
        let bytes = shape.elements() * dtype.size();
        let byte = if dtype == Dtype::Bool { 0..2u8 } else { 0..255u8 };
        prop::collection::vec(byte, bytes)
            .prop_map(move |bytes| Array::from_bytes("test", &bytes, shape.clone(), dtype).unwrap())
    })
}

fn same(a: &Array, b: &Array) -> bool {
    (a.shape(), a.dtype(), a.to_bytes().unwrap()) == (b.shape(), b.dtype(), b.to_bytes().unwrap())
}

/// A file of each kind, to be damaged.
fn samples() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (a, b) = (Array::from([[1.0f32, 2.0], [3.0, 4.0]]), Array::from([7i64, 8, 9]));
    let notes = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
    let paths = [
        save(at("a"), &a).unwrap(),
        save_npz(at("plain"), [("a", &a), ("b", &b)], false).unwrap(),
        save_npz(at("small"), [("a", &a), ("b", &b)], true).unwrap(),
        save_safetensors(at("a"), [("a", &a), ("b", &b)], &notes).unwrap(),
    ];
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_saved_is_loaded(first in arrays(), second in arrays(), compressed: bool) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        prop_assert!(same(&load_npy(save(at("a"), &first).unwrap()).unwrap(), &first));
        let named = Arrays::from([("first".to_owned(), first), ("näxt/2".to_owned(), second)]);
        let notes = BTreeMap::from([("format".to_owned(), "\"pt\"\n".to_owned())]);
        let zipped = load(save_npz(at("z"), &named, compressed).unwrap()).unwrap().into_arrays().unwrap();
        let (tensors, metadata) = load_safetensors(save_safetensors(at("s"), &named, &notes).unwrap()).unwrap();
        prop_assert_eq!(&metadata, &notes);
        for loaded in [zipped, tensors] {
            prop_assert_eq!(loaded.len(), named.len());
            for (name, array) in &loaded {
                prop_assert!(same(array, &named[name]));
            }
        }
    }
}

#[test]
fn damaged_files_give_an_array_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let samples = samples();
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..5);
    let config = ProptestConfig { cases: 2500, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&(0..samples.len(), damage), |(sample, damage)| {
            let mut bytes = samples[sample].clone();
            for (place, byte, kind) in damage {
                let at = place.index(bytes.len().max(1));
                match kind {
                    _ if bytes.is_empty() => {}
                    0 => bytes[at] = byte,
                    1 => bytes[at] ^= 1 << (byte % 8),
                    2 => bytes.insert(at, byte),
                    _ if byte < 64 => bytes.truncate(at),
                    _ => drop(bytes.remove(at)),
                }
            }
            fs::write(&path, &bytes).unwrap();
            let results = [
                load(&path).map(drop),
                load_npy(&path).map(drop),
                load_npz(&path).map(drop),
                load_safetensors(&path).map(drop),
            ];
            for error in results.into_iter().filter_map(Result::err) {
                prop_assert!(matches!(error, Error::Format { .. } | Error::Io { .. }), "{}", error);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn elements_are_read_when_they_are_needed_and_a_failing_read_belongs_to_its_array() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let arrays = [("a", Array::from([1.0f32, 2.0])), ("b", Array::from([3.0f32, 4.0]))];
    let file = save_safetensors(folder.path().join("x"), arrays, &BTreeMap::new())?;
    let (loaded, _) = load_safetensors(&file)?;
    let (first, second) = (loaded["a"].clone(), loaded["b"].clone());
    assert_eq!(first.to_vec::<f32>()?, [1.0, 2.0]);
    // Another file in the same place is not the one that was opened.
    save_safetensors(&file, [("b", Array::from([9.0f32, 9.0]))], &BTreeMap::new())?;
    assert_eq!(second.to_vec::<f32>()?, [3.0, 4.0]);
    // The file itself, cut short before it was read, fails the array that needs what is gone.
    let (loaded, _) = load_safetensors(&file)?;
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(20).unwrap();
    let error = loaded["b"].eval().unwrap_err().to_string();
    assert!(error.contains("changed before it was read"), "{error}");
    assert_eq!(first.to_vec::<f32>()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn eight_bit_floats_are_loaded_as_their_bytes() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let header = r#"{"w":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0x38, 0x7e, 0xff]);
    fs::write(&path, bytes).unwrap();
    let (arrays, _) = load_safetensors(&path)?;
    assert_eq!(arrays["w"].dtype(), Dtype::Uint8);
    assert_eq!(arrays["w"].to_vec::<u8>()?, [0x38, 0x7e, 0xff]);
    Ok(())
}
