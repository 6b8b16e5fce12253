//! Arrays larger than one binding of the GPU (128 MiB on llvmpipe): they are reached by windows, and nothing falls back
//! to the CPU.

use pellucid::{Array, Axes, Device, Dtype, Result, gpu, is_available, ops, with_device};

const ROWS: usize = 12_000;
const COLUMNS: usize = 12_500;
const COUNT: usize = ROWS * COLUMNS;

/// The element at a flat position.
fn byte(i: usize) -> u8 {
    (i.wrapping_mul(2_654_435_761) >> 13) as u8 & 0x7f
}

/// Runs a test on the GPU; nothing in this program may run on the CPU instead.
fn on_gpu(test: impl FnOnce() -> Result<()>) -> Result<()> {
    if !is_available(Device::gpu()) {
        assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "no GPU; install mesa-vulkan-drivers");
        return Ok(());
    }
    with_device(Device::gpu(), test)??;
    let fell_back = gpu::fallbacks();
    assert!(fell_back.is_empty(), "{fell_back:?}");
    Ok(())
}

fn bytes() -> Result<(Vec<u8>, Array)> {
    let host: Vec<u8> = (0..COUNT).map(byte).collect();
    let array = Array::from_slice(&host, [ROWS, COLUMNS]);
    Ok((host, array))
}

/// The first position where two lists differ.
fn first_difference<T: PartialEq>(found: &[T], expected: impl ExactSizeIterator<Item = T>) -> Option<usize> {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).position(|(a, b)| *a != b)
}

#[test]
fn elementwise_operations_and_copies_go_by_windows() -> Result<()> {
    on_gpu(|| {
        let (host, x) = bytes()?;
        let y = ops::add(&ops::multiply(&x, 3), 1).to_vec::<u8>()?;
        assert_eq!(first_difference(&y, host.iter().map(|b| b.wrapping_mul(3).wrapping_add(1))), None);
        let t = ops::add(&ops::transpose(&x, None), 1).to_vec::<u8>()?;
        let turned = (0..COUNT).map(|i| byte(i % ROWS * COLUMNS + i / ROWS) + 1);
        assert_eq!(first_difference(&t, turned), None);
        let copy = ops::contiguous(&ops::flip(&x, 1)).to_vec::<u8>()?;
        let mirrored = (0..COUNT).map(|i| byte(i / COLUMNS * COLUMNS + COLUMNS - 1 - i % COLUMNS));
        assert_eq!(first_difference(&copy, mirrored), None);
        Ok(())
    })
}

#[test]
fn reductions_go_by_pieces() -> Result<()> {
    on_gpu(|| {
        let (mut host, _) = bytes()?;
        let (highest, lowest) = (COUNT - 77, 140_000_000);
        host[highest] = 200;
        host[lowest] = 0;
        host.iter_mut().take(COUNT / 2).for_each(|b| *b |= 1);
        let x = Array::from_slice(&host, [ROWS, COLUMNS]);
        let total = host.iter().fold(0u32, |sum, &b| sum.wrapping_add(u32::from(b)));
        assert_eq!(ops::sum(&x, None, false).item::<u32>()?, total);
        assert_eq!(ops::max(&x, None, false).item::<u8>()?, 200);
        assert_eq!(ops::min(&x, None, false).item::<u8>()?, 0);
        assert_eq!(ops::argmax(&x, None, false).item::<u32>()? as usize, highest);
        let first_zero = host.iter().position(|&b| b == 0).expect("one was put there");
        assert_eq!(ops::argmin(&x, None, false).item::<u32>()? as usize, first_zero);
        assert!(!ops::all(&x, None, false).item::<bool>()?);
        assert!(ops::any(&x, None, false).item::<bool>()?);
        let mut columns = vec![0u32; COLUMNS];
        let mut rows = vec![0u32; ROWS];
        for (i, &b) in host.iter().enumerate() {
            columns[i % COLUMNS] += u32::from(b);
            rows[i / COLUMNS] += u32::from(b);
        }
        assert_eq!(ops::sum(&x, 0, false).to_vec::<u32>()?, columns);
        assert_eq!(ops::sum(&x, 1, false).to_vec::<u32>()?, rows);
        let turned = ops::transpose(&x, None);
        assert_eq!(ops::sum(&turned, 0, false).to_vec::<u32>()?, rows);
        let row = highest / COLUMNS;
        assert_eq!(ops::argmax(&x, 1, false).to_vec::<u32>()?[row] as usize, highest % COLUMNS);
        assert_eq!(ops::argmax(&x, 0, false).to_vec::<u32>()?[highest % COLUMNS] as usize, row);
        Ok(())
    })
}

#[test]
fn floats_are_reduced_by_pieces_too() -> Result<()> {
    on_gpu(|| {
        let x = ops::full([80_000, 1000], 2.0, Dtype::Float16);
        let log = ops::logsumexp(&x, Axes::from([0, 1]), false);
        let expected = 2.0 + 80_000_000f32.ln();
        let log = ops::astype(&log, Dtype::Float32).item::<f32>()?;
        assert!((log - expected).abs() < 0.02, "{log} instead of {expected}");
        let shares = ops::softmax(&x, 1, false);
        let shares = ops::astype(&ops::max(&shares, 0, false), Dtype::Float32).to_vec::<f32>()?;
        assert!(shares.iter().all(|s| (s - 0.001).abs() < 1e-5), "{:?}", &shares[..4]);
        let largest = ops::sum(&ops::astype(&x, Dtype::Float32), None, false).item::<f32>()?;
        assert_eq!(largest, 160_000_000.0);
        Ok(())
    })
}

#[test]
fn large_matrices_are_transposed() -> Result<()> {
    on_gpu(|| {
        let (rows, columns) = (20_480, 2048);
        let x = ops::reshape(&ops::arange(0, rows * columns, 1, Dtype::Int32), [rows, columns]);
        let turned = ops::contiguous(&ops::transpose(&x, None));
        let expected = (0..rows * columns).map(|i| i % rows * columns + i / rows);
        assert_eq!(first_difference(&turned.to_vec::<i32>()?, expected), None);
        Ok(())
    })
}

/// Software adapters end loops after 65,535 rounds, without a word.
#[test]
fn long_runs_are_followed_to_their_end() -> Result<()> {
    on_gpu(|| {
        let n = 20_000_000;
        let ones = ops::full([n], 1, Dtype::Int32);
        let running = ops::cumsum(&ones, 0, false, true).to_vec::<i32>()?;
        assert_eq!(first_difference(&running, 1..n as i32 + 1), None);
        let back = ops::cumsum(&ones, 0, true, false).to_vec::<i32>()?;
        assert_eq!(first_difference(&back, (0..n as i32).map(|i| n as i32 - 1 - i)), None);
        let two = ops::reshape(&ones, [10_000_000, 2]);
        let down = ops::cumsum(&two, 0, false, true).to_vec::<i32>()?;
        assert_eq!(first_difference(&down, (0..n as i32).map(|i| i / 2 + 1)), None);
        let rising = ops::arange(0, n as i64, 1, Dtype::Int32);
        assert_eq!(ops::argmax(&rising, None, false).item::<u32>()? as usize, n - 1);
        for (dtype, k) in [(Dtype::Float32, 1_000_003), (Dtype::Float16, 600_001), (Dtype::Complex64, 70_001)]
        {
            let row = ops::full([1, k], 0.0625, dtype);
            let column = ops::full([k, 1], 0.0625, dtype);
            let product = ops::real(&ops::astype(&ops::matmul(&row, &column), Dtype::Complex64));
            let (product, expected) = (product.item::<f32>()?, k as f32 / 256.0);
            assert!((product - expected).abs() <= expected * 1e-3, "{dtype}: {product}, not {expected}");
        }
        Ok(())
    })
}
