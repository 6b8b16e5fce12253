use super::super::testing::Tensor;
use super::*;
use crate::array::Dtype;
use crate::op::Dims;

/// The definition: zeros put in by hand, every product summed.
fn reference(spec: &ConvSpec, x: &Tensor, w: &Tensor, out: &[usize]) -> Vec<f64> {
    let n = x.shape.len() - 2;
    let (inputs, outputs) = (x.shape[n + 1] / spec.groups, w.shape[0] / spec.groups);
    let value = |index: &Vec<usize>| {
        let group = index[n + 1] / outputs;
        let mut sum = 0.0;
        for tap in Tensor::positions(&w.shape[1..=n]) {
            let mut at = vec![index[0]];
            for axis in 0..n {
                let t = if spec.flip { w.shape[axis + 1] - 1 - tap[axis] } else { tap[axis] };
                let place = (index[axis + 1] * spec.stride[axis] + t * spec.kernel_dilation[axis]) as i64
                    - spec.low[axis];
                let dilation = spec.input_dilation[axis] as i64;
                if place < 0 || place % dilation != 0 || place / dilation >= x.shape[axis + 1] as i64 {
                    break;
                }
                at.push((place / dilation) as usize);
            }
            if at.len() < n + 1 {
                continue;
            }
            for c in 0..inputs {
                let mut from = at.clone();
                from.push(group * inputs + c);
                let mut weight = vec![index[n + 1]];
                weight.extend(&tap);
                weight.push(c);
                sum += x.at(&from) * w.at(&weight);
            }
        }
        sum
    };
    Tensor::positions(out).iter().map(value).collect()
}

fn check(spec: &ConvSpec, x: &Tensor, w: &Tensor) {
    let Ok((shape, _)) = spec.infer((&x.shape[..].into(), x.dtype), (&w.shape[..].into(), w.dtype)) else {
        return;
    };
    let mut out = Tensor::zeros(x.dtype, &shape);
    conv(spec, &x.as_in(), &w.as_in(), &mut out.as_out()).unwrap();
    let expected = reference(spec, x, w, &shape);
    for (i, (a, b)) in out.values().iter().zip(expected).enumerate() {
        assert!((a - b).abs() < 1e-9, "{spec:?} {:?} {:?}: element {i} is {a}, not {b}", x.shape, w.shape);
    }
}

#[test]
fn all_combinations_of_strides_paddings_dilations_groups_and_flips_agree_with_the_definition() {
    let cases: &[(&[usize], &[usize], usize)] = &[
        (&[2, 11, 4], &[6, 3, 4], 1),
        (&[2, 11, 4], &[6, 3, 2], 2),
        (&[2, 11, 6], &[6, 3, 1], 6),
        (&[1, 7, 6, 3], &[4, 3, 2, 3], 1),
        (&[2, 5, 7, 4], &[4, 2, 3, 1], 4),
        (&[1, 4, 5, 3, 2], &[2, 2, 3, 2, 2], 1),
    ];
    for &(x_shape, w_shape, groups) in cases {
        let n = x_shape.len() - 2;
        let x = Tensor::counting(Dtype::Float64, x_shape);
        let w = Tensor::counting(Dtype::Float64, w_shape);
        for (stride, kernel_dilation, input_dilation) in
            [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 1, 3), (3, 2, 2), (2, 1, 2)]
        {
            for (low, high) in [(0, 0), (1, 2), (3, 0), (-1, 1), (5, -2)] {
                for flip in [false, true] {
                    let each = |v: usize| Dims::from_elem(v, n);
                    let spec = ConvSpec {
                        stride: each(stride),
                        low: smallvec::SmallVec::from_elem(low, n),
                        high: smallvec::SmallVec::from_elem(high, n),
                        kernel_dilation: each(kernel_dilation),
                        input_dilation: each(input_dilation),
                        groups,
                        flip,
                    };
                    check(&spec, &x, &w);
                }
            }
        }
    }
}

#[test]
fn large_images_are_convolved_in_tiles_by_several_cores() {
    let x = Tensor::counting(Dtype::Float64, &[3, 40, 33, 8]).flipped(1);
    let each = |v: usize| Dims::from_elem(v, 2);
    let spec = ConvSpec {
        stride: each(1),
        low: smallvec::SmallVec::from_elem(1, 2),
        high: smallvec::SmallVec::from_elem(1, 2),
        kernel_dilation: each(1),
        input_dilation: each(1),
        groups: 1,
        flip: false,
    };
    // Every fourth output meets one tap, the others none.
    let sparse = ConvSpec { input_dilation: each(4), ..spec.clone() };
    check(&sparse, &x, &Tensor::counting(Dtype::Float64, &[3, 1, 1, 8]));
    parallel::with_cores(4, || {
        check(&spec, &x, &Tensor::counting(Dtype::Float64, &[16, 3, 3, 8]));
        let depthwise = ConvSpec { groups: 8, ..spec.clone() };
        check(&depthwise, &x, &Tensor::counting(Dtype::Float64, &[8, 3, 3, 1]));
    });
}
