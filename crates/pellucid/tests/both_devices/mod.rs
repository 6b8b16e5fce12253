//! The same work on both devices, for tests that compare them bit for bit.

use pellucid::{Array, Device, Dtype, Result, eval, gpu, is_available, ops, with_device};

/// Numbers from -1 to 1 with many repetitions, made without the library.
pub fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| (next() * 500.0).round() / 500.0).collect()
}

pub fn made(shape: &[usize], dtype: Dtype, seed: u64) -> Array {
    let n = shape.iter().product();
    let scale = if dtype.is_inexact() { 3.0 } else { 120.0 };
    let shift = if dtype.is_unsigned_integer() { 120.0 } else { 0.0 };
    let mut values: Vec<f32> = numbers(n, seed).iter().map(|v| (v * scale + shift).round()).collect();
    if dtype.is_inexact() {
        let odd = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0];
        values.iter_mut().skip(3).step_by(7).zip(odd.iter().cycle()).for_each(|(v, &o)| *v = o);
    }
    ops::astype(&Array::from_slice(&values, shape.to_vec()), dtype)
}

/// The elements as bytes.
fn bits(a: &Array) -> Result<Vec<u8>> {
    ops::view(&ops::flatten(a, 0, -1), Dtype::Uint8).to_vec::<u8>()
}

/// Both devices give the same bits, and the GPU did it itself.
pub fn same(what: &str, inputs: &[Array], work: impl Fn(&[Array]) -> Array) -> Result<()> {
    if !is_available(Device::gpu()) {
        assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "no GPU; install mesa-vulkan-drivers");
        return Ok(());
    }
    eval(inputs)?;
    let on = |device: Device| -> Result<Array> {
        let result = with_device(device, || work(inputs))?;
        eval([&result])?;
        Ok(result)
    };
    let expected = with_device(Device::cpu(), || bits(&on(Device::cpu())?))??;
    let found = on(Device::gpu())?;
    let found = with_device(Device::cpu(), || bits(&found))??;
    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!((differs, found.len()), (None, expected.len()), "{what}: bytes differ");
    let fell_back = gpu::fallbacks();
    assert!(fell_back.is_empty(), "{what}: {fell_back:?}");
    Ok(())
}

pub fn on_cpu(make: impl FnOnce() -> Array) -> Array {
    with_device(Device::cpu(), make).expect("a CPU")
}
