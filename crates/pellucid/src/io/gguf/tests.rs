use super::super::{Loaded, load};
use super::*;
use crate::error::Result;
use crate::{Dtype, ops};

#[test]
fn arrays_and_notes_come_back_as_they_were() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let arrays = [
        ("x", Array::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])),
        ("h", Array::from([half::f16::from_f32(0.5)])),
        ("i", Array::from([1i8, -2, 3])),
    ];
    let notes = Notes::from([
        ("name".to_owned(), Note::from("tiny")),
        ("list".to_owned(), Note::Texts(vec!["a".to_owned(), "bc".to_owned()])),
        ("numbers".to_owned(), Note::Array(Array::from([1i32, 2, 3]))),
        ("one".to_owned(), Note::Array(Array::from(2.5f32))),
        ("yes".to_owned(), Note::Array(Array::from(true))),
    ]);
    let file = save_gguf(folder.path().join("model"), arrays.iter().map(|(k, a)| (*k, a)), &notes)?;
    assert!(file.ends_with("model.gguf"));
    let (back, found) = load_gguf(&file)?;
    assert_eq!(back.len(), 3);
    for (name, array) in &arrays {
        assert_eq!(back[*name].shape(), array.shape());
        assert_eq!(back[*name].dtype(), array.dtype());
        assert_eq!(back[*name].to_bytes()?, array.to_bytes()?);
    }
    assert_eq!(format!("{found:?}").matches("Note").count(), format!("{notes:?}").matches("Note").count());
    assert!(matches!(&found["name"], Note::Text(text) if text == "tiny"));
    assert!(matches!(&found["list"], Note::Texts(texts) if texts.len() == 2 && texts[1] == "bc"));
    assert!(matches!(&found["numbers"], Note::Array(a) if a.to_vec::<i32>()? == [1, 2, 3]));
    assert!(matches!(&found["yes"], Note::Array(a) if a.ndim() == 0 && a.dtype() == Dtype::Bool));
    assert!(matches!(load(&file)?, Loaded::Gguf { .. }));
    Ok(())
}

/// A file with one array of blocks.
fn file_of(kind: u32, elements: u64, block: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(MAGIC);
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    let name = b"x.weight";
    bytes.extend((name.len() as u64).to_le_bytes());
    bytes.extend(name);
    bytes.extend(2u32.to_le_bytes());
    bytes.extend(elements.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend(block);
    bytes
}

#[test]
fn packed_blocks_stand_for_the_numbers_they_were_made_of() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    // Scale ½; numbers −8… in the order of the format.
    let mut block = half::f16::from_f32(0.5).to_le_bytes().to_vec();
    block.extend((0..16u8).map(|i| i | (15 - i) << 4));
    std::fs::write(&path, file_of(2, 32, &block)).unwrap();
    let (arrays, _) = load_gguf(&path)?;
    let packed = ops::Quantized {
        words: arrays["x.weight"].clone(),
        scales: arrays["x.scales"].clone(),
        biases: Some(arrays["x.biases"].clone()),
    };
    let back = ops::dequantize(&packed, ops::Packing::affine().group_size(32), None, Some(Dtype::Float32));
    let expected: Vec<f32> = (0..16).chain((0..16).rev()).map(|i| 0.5 * (i as f32 - 8.0)).collect();
    assert_eq!(back.to_vec::<f32>()?, expected);
    Ok(())
}

#[test]
fn every_kind_of_block_is_read_within_its_bytes() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    for (kind, elements, bytes) in [
        (2, 32, 18),
        (3, 32, 20),
        (6, 32, 22),
        (7, 32, 24),
        (8, 32, 34),
        (10, 256, 84),
        (11, 256, 110),
        (12, 256, 144),
        (13, 256, 176),
        (14, 256, 210),
    ] {
        let block: Vec<u8> = (0..bytes).map(|i| (i * 7 % 60) as u8).collect();
        std::fs::write(&path, file_of(kind, elements, &block)).unwrap();
        let (arrays, _) = load_gguf(&path)?;
        assert!(arrays["x.weight"].to_bytes().is_ok(), "type {kind}");
        // Cut short by a byte, it is an error.
        let mut short = file_of(kind, elements, &block);
        short.pop();
        std::fs::write(&path, short).unwrap();
        assert!(load_gguf(&path).is_err(), "type {kind}");
    }
    Ok(())
}

#[test]
fn hostile_files_are_errors_and_claim_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    let good = file_of(0, 2, &[0; 8]);
    for end in 0..good.len() {
        std::fs::write(&path, &good[..end]).unwrap();
        assert!(load_gguf(&path).is_err(), "cut at {end}");
    }
    for place in 4..good.len() - 8 {
        let mut bad = good.clone();
        bad[place] = 0xff;
        std::fs::write(&path, &bad).unwrap();
        // Whatever it says, it is an answer.
        let _ = load_gguf(&path);
    }
}
