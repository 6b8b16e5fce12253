//! Conversions that cannot return an error, under a memory limit that leaves no room. In a process of its own: the
//! limit holds for all arrays.

use pellucid::{Array, Error, io, memory};

#[test]
fn an_array_that_found_no_memory_carries_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = io::save(folder.path().join("a"), &Array::from([1u8; 100_000])).unwrap();
    memory::clear_cache();
    let before = memory::set_memory_limit(0, false);

    let arrays = [Array::from([[1.0f32; 300]; 300]), vec![2i64; 50_000].into(), (0..60_000u16).collect()];
    for array in &arrays {
        for _ in 0..2 {
            assert!(matches!(array.eval().unwrap_err().root(), Error::Memory { .. }));
        }
        assert!(array.to_string().starts_with("<[from_slice] cannot allocate"), "{array}");
    }
    assert_eq!(arrays[0].shape(), [300, 300]);
    assert!(matches!(
        Array::from_slice(&[0u8; 100_000], 100_000).check().unwrap_err().root(),
        Error::Memory { .. }
    ));
    let read = io::load_npy(&file).and_then(|array| array.eval());
    assert!(matches!(read.unwrap_err().root(), Error::Memory { .. }));

    memory::set_memory_limit(before, false);
    assert_eq!(io::load_npy(&file).unwrap().to_vec::<u8>().unwrap(), [1; 100_000]);
    assert!(arrays[0].eval().is_err(), "the error stays with the array");
}
