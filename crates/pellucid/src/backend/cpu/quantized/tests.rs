use super::super::testing::Tensor;
use super::*;

fn wave(shape: &[usize], dtype: Dtype) -> Tensor {
    Tensor::new(dtype, shape, (0..).map(|i: usize| (i as f64 * 0.37).sin() * (1.0 + (i % 11) as f64)))
}

fn specs() -> Vec<QuantSpec> {
    let affine = |bits, group| QuantSpec { mode: QuantMode::Affine, bits, group };
    let mut specs: Vec<_> =
        [1, 2, 3, 4, 5, 6, 8].iter().flat_map(|&b| [32, 64, 128].map(|g| affine(b, g))).collect();
    specs.push(QuantSpec { mode: QuantMode::Mxfp4, bits: 4, group: 32 });
    specs.push(QuantSpec { mode: QuantMode::Mxfp8, bits: 8, group: 32 });
    specs.push(QuantSpec { mode: QuantMode::Nvfp4, bits: 4, group: 16 });
    specs
}

/// Codes, scales and biases of a matrix.
fn packed(spec: &QuantSpec, w: &Tensor) -> (Tensor, Tensor, Option<Tensor>) {
    let (rows, len) = (w.shape[0], w.shape[1]);
    let affine = spec.mode == QuantMode::Affine;
    let kind = if affine { w.dtype } else { Dtype::Uint8 };
    let mut codes = Tensor::zeros(Dtype::Uint32, &[rows, len * spec.bits as usize / 32]);
    let mut scales = Tensor::zeros(kind, &[rows, len / spec.group]);
    let mut biases = Tensor::zeros(kind, &[rows, len / spec.group]);
    quantize(spec, QuantPart::Words, &[w.as_in()], &mut codes.as_out()).unwrap();
    quantize(spec, QuantPart::Scales, &[w.as_in()], &mut scales.as_out()).unwrap();
    if affine {
        quantize(spec, QuantPart::Biases, &[w.as_in()], &mut biases.as_out()).unwrap();
    }
    (codes, scales, affine.then_some(biases))
}

fn unpacked(spec: &QuantSpec, (w, s, b): &(Tensor, Tensor, Option<Tensor>), shape: &[usize]) -> Vec<f64> {
    let mut out = Tensor::zeros(Dtype::Float32, shape);
    let inputs: Vec<In> = [Some(w), Some(s), b.as_ref()].into_iter().flatten().map(Tensor::as_in).collect();
    dequantize(spec, &inputs, &mut out.as_out()).unwrap();
    out.values()
}

#[test]
fn what_is_packed_comes_back_within_half_a_step() {
    let w = wave(&[3, 256], Dtype::Float32);
    for spec in specs() {
        let back = unpacked(&spec, &packed(&spec, &w), &w.shape);
        let steps = if spec.mode == QuantMode::Affine { (1u32 << spec.bits) - 1 } else { 6 };
        for (x, y) in w.values().iter().zip(back) {
            assert!((x - y).abs() <= 22.0 / f64::from(steps), "{spec:?}: {x} became {y}");
        }
    }
}

#[test]
fn products_agree_with_products_of_the_numbers_they_stand_for() {
    for spec in specs() {
        for (m, n, k) in [(1usize, 7usize, 256usize), (3, 2, 128), (9, 70, 640), (1, 130, 1152)] {
            for transpose in [true, false] {
                let (rows, len) = if transpose { (n, k) } else { (k.min(100), n.next_multiple_of(128)) };
                let (n, k) = if transpose { (rows, len) } else { (len, rows) };
                let w = wave(&[rows, len], Dtype::Float32);
                let parts = packed(&spec, &w);
                let numbers = unpacked(&spec, &parts, &w.shape);
                let x = wave(&[k, m], Dtype::Float32).transposed(&[1, 0]);
                let mut out = Tensor::zeros(Dtype::Float32, &[m, n]);
                let all = [Some(&x), Some(&parts.0), Some(&parts.1), parts.2.as_ref()];
                let inputs: Vec<In> = all.into_iter().flatten().map(Tensor::as_in).collect();
                quantized_matmul(&spec, transpose, false, &inputs, &mut out.as_out()).unwrap();
                for (i, &y) in out.values().iter().enumerate() {
                    let (row, col) = (i / n, i % n);
                    let at = |j: usize| if transpose { numbers[col * k + j] } else { numbers[j * n + col] };
                    let terms = (0..k).map(|j| x.at(&[row, j]) * at(j));
                    let (sum, size) = terms.fold((0.0, 1.0), |(s, t), x| (s + x, t + x.abs()));
                    assert!((y - sum).abs() < 1e-5 * size, "{spec:?} {m}×{n}×{k}: {y} is not {sum}");
                }
            }
        }
    }
}
