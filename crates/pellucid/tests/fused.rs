//! Fused operations, convolutions and packed products on every device: the values, what falls back, and what is refused.

use pellucid::fast::{self, Mask, Rope};
use pellucid::op::QuantMode;
use pellucid::ops::{self, Conv, Packing};
use pellucid::{Array, Device, Dtype, Result, eval, gpu, is_available, with_device};

/// Numbers from −1 to 1, made without the library.
fn array(shape: &[usize], seed: u64) -> Array {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    let values: Vec<f32> = (0..shape.iter().product()).map(&mut next).collect();
    Array::from_slice(&values, shape.to_vec())
}

fn on_cpu(make: impl FnOnce() -> Array) -> Array {
    with_device(Device::cpu(), make).expect("a CPU")
}

/// The GPU gives what the CPU gives, within rounding, and does it itself.
fn close(what: &str, inputs: &[Array], work: impl Fn(&[Array]) -> Array) -> Result<()> {
    if !is_available(Device::gpu()) {
        assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "no GPU; install mesa-vulkan-drivers");
        return Ok(());
    }
    eval(inputs)?;
    let on = |device: Device| -> Result<Vec<f32>> {
        let result = with_device(device, || work(inputs))?;
        eval([&result])?;
        with_device(Device::cpu(), || ops::astype(&result, Dtype::Float32).to_vec::<f32>())?
    };
    let (expected, found) = (on(Device::cpu())?, on(Device::gpu())?);
    assert_eq!(expected.len(), found.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() <= 1e-4 * (1.0 + b.abs()), "{what}: element {i} is {a}, not {b}");
    }
    let fell_back = gpu::fallbacks();
    assert!(fell_back.is_empty(), "{what}: {fell_back:?}");
    Ok(())
}

#[test]
fn the_gpu_computes_norms_rope_convolutions_and_packed_products_itself() -> Result<()> {
    let x = on_cpu(|| ops::swapaxes(&array(&[3, 40, 5], 1), 1, 2));
    let row = on_cpu(|| array(&[40], 2));
    close("layer_norm", &[x.clone(), row.clone()], |x| {
        fast::layer_norm(&x[0], Some(&x[1]), Some(&x[1]), 1e-5)
    })?;
    close("rms_norm", std::slice::from_ref(&x), |x| fast::rms_norm(&x[0], None, 1e-5))?;
    let q = on_cpu(|| array(&[2, 3, 4, 16], 3));
    for traditional in [false, true] {
        let rope = Rope::new(8).traditional(traditional).scale(0.5).offset(Array::from([3, 11]));
        close("rope", std::slice::from_ref(&q), |x| fast::rope(&x[0], &rope))?;
    }
    let image = on_cpu(|| array(&[2, 7, 6, 4], 4));
    for (groups, conv) in [
        (1, Conv::new().padding(1)),
        (2, Conv::new().stride(2).padding_pair([0, 1], [2, 0]).flip(true)),
        (4, Conv::new().dilation(2).input_dilation(2)),
    ] {
        let w = on_cpu(|| array(&[8, 3, 2, 4 / groups], 5));
        close("conv", &[image.clone(), w], |x| ops::conv2d(&x[0], &x[1], &conv.clone().groups(groups)))?;
    }
    let (w, x) = on_both(&[9, 256], &[3, 256]);
    for packing in packings() {
        let packed = on_cpu_packed(&w, packing);
        close("quantized_matmul", std::slice::from_ref(&x), |x| {
            ops::quantized_matmul(&x[0], &packed, true, packing)
        })?;
        close("dequantize", &[], |_| ops::dequantize(&packed, packing, None, Some(Dtype::Float32)))?;
    }
    Ok(())
}

fn on_both(a: &[usize], b: &[usize]) -> (Array, Array) {
    with_device(Device::cpu(), || (array(a, 6), array(b, 7))).expect("a CPU")
}

fn on_cpu_packed(w: &Array, packing: Packing) -> ops::Quantized {
    with_device(Device::cpu(), || ops::quantize(w, packing, None)).expect("a CPU")
}

fn packings() -> Vec<Packing> {
    let mut all: Vec<Packing> = [1, 2, 3, 4, 5, 6, 8].map(|bits| Packing::affine().bits(bits)).to_vec();
    all.extend([QuantMode::Mxfp4, QuantMode::Mxfp8, QuantMode::Nvfp4].map(Packing::new));
    all
}

#[test]
fn packed_products_agree_with_products_of_what_they_stand_for() -> Result<()> {
    let (w, x) = on_both(&[2, 6, 128], &[2, 3, 128]);
    for packing in packings() {
        let packed = ops::quantize(&w, packing, None);
        let numbers = ops::dequantize(&packed, packing, None, Some(Dtype::Float32));
        let expected = ops::matmul(&x, &ops::swapaxes(&numbers, -1, -2));
        let found = ops::quantized_matmul(&x, &packed, true, packing);
        assert!(ops::allclose(&found, &expected, 1e-4, 1e-4, false).item::<bool>()?, "{packing:?}");
        let chosen = ops::gather_qmm(&x, &packed, None, Some(&Array::from([1, 0])), true, packing, None);
        let swapped = ops::matmul(&x, &ops::swapaxes(&ops::flip(&numbers, 0), -1, -2));
        assert!(ops::allclose(&chosen, &swapped, 1e-4, 1e-4, false).item::<bool>()?, "{packing:?}");
    }
    Ok(())
}

#[test]
fn groups_of_sixteen_are_packed_whole_though_their_number_is_odd() -> Result<()> {
    let packing = Packing::new(QuantMode::Nvfp4);
    for width in [16, 48, 80] {
        let (w, x) = on_both(&[5, width], &[3, width]);
        let packed = ops::quantize(&w, packing, None);
        assert_eq!(packed.words.shape(), [5, width / 8]);
        let numbers = ops::dequantize(&packed, packing, None, Some(Dtype::Float32));
        assert!(ops::allclose(&numbers, &w, 0.0, 0.2, false).item::<bool>()?, "{width}");
        let expected = ops::matmul(&x, &ops::swapaxes(&numbers, -1, -2));
        let found = ops::quantized_matmul(&x, &packed, true, packing);
        assert!(ops::allclose(&found, &expected, 1e-4, 1e-4, false).item::<bool>()?, "{width}");
    }
    Ok(())
}

#[test]
fn packed_numbers_become_floating_ones_alone() {
    let packed = on_cpu_packed(&on_cpu(|| array(&[2, 64], 8)), Packing::affine());
    let wrong = ops::dequantize(&packed, Packing::affine(), None, Some(Dtype::Int32));
    let message = wrong.check().unwrap_err().to_string();
    assert!(message.contains("[dequantize]") && message.contains("int32"), "{message}");
}

#[test]
fn an_index_of_no_matrix_is_an_error_of_the_result() {
    let (w, x) = on_both(&[2, 6, 128], &[2, 3, 128]);
    let packed = ops::quantize(&w, Packing::affine(), None);
    let wrong = ops::gather_qmm(&x, &packed, None, Some(&Array::from([0, 2])), true, Packing::affine(), None);
    let message = wrong.eval().unwrap_err().to_string();
    assert!(message.contains("gather_qmm") && message.contains('2'), "{message}");
}

#[test]
fn attention_of_one_query_is_the_last_row_of_the_causal_one() -> Result<()> {
    let (q, kv) = on_both(&[1, 4, 6, 8], &[1, 2, 6, 8]);
    let all = fast::scaled_dot_product_attention(&q, &kv, &kv, 0.3, Mask::Causal, None);
    let last = ops::take(&q, &Array::from([5]), 2);
    let one = fast::scaled_dot_product_attention(&last, &kv, &kv, 0.3, Mask::None, None);
    let expected = ops::take(&all, &Array::from([5]), 2);
    assert!(ops::allclose(&one, &expected, 1e-5, 1e-6, false).item::<bool>()?);
    Ok(())
}

#[test]
fn wrong_calls_say_what_was_asked_and_what_is_possible() {
    let x = array(&[2, 4], 1);
    let refused: [(Array, &str); 6] = [
        (fast::layer_norm(&x, Some(&array(&[5], 1)), None, 1e-5), "weight must be float32 of shape [4]"),
        (fast::rope(&array(&[1, 2, 8], 1), &Rope::new(3)), "dims must be even"),
        (ops::conv1d(&array(&[1, 8, 4], 1), &array(&[2, 9, 4], 1), &Conv::new()), "spans 9 elements"),
        (ops::conv1d(&array(&[1, 8, 4], 1), &array(&[2, 3, 3], 1), &Conv::new()), "must be 4, not 3"),
        (ops::quantize(&x, Packing::affine().bits(7), None).words, "not groups of 64 and 7 bits"),
        (fast::cross_entropy(&x, &array(&[2], 1)), "targets must be integers"),
    ];
    for (array, text) in refused {
        let message = array.check().unwrap_err().to_string();
        assert!(message.contains(text), "{message}");
    }
}
