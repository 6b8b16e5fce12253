//! Families of kernels with code paths of their own, compared with the CPU; none of them may fall back to it.

mod both_devices;

use both_devices::{made, numbers, on_cpu, same};
use pellucid::{Array, Device, Dtype, Result, is_available, ops, with_device};

const TYPES: [Dtype; 12] = [
    Dtype::Bool,
    Dtype::Uint8,
    Dtype::Uint16,
    Dtype::Uint32,
    Dtype::Uint64,
    Dtype::Int8,
    Dtype::Int16,
    Dtype::Int32,
    Dtype::Int64,
    Dtype::Float16,
    Dtype::Bfloat16,
    Dtype::Float32,
];

#[test]
fn sort_and_argsort_agree_with_the_cpu() -> Result<()> {
    let all: [&[usize]; 6] = [&[5], &[70_001], &[300, 3], &[3, 1025], &[3, 1000, 2], &[1]];
    for dtype in TYPES {
        // Kernels are written for each number of axes: three of them are tried with one type only.
        let shapes = if dtype == Dtype::Float32 { &all[..] } else { &all[..4] };
        for (seed, shape) in shapes.iter().enumerate() {
            let x = on_cpu(|| made(shape, dtype, seed as u64 + 1));
            for axis in 0..shape.len() as i64 {
                let what = format!("{dtype} {shape:?} axis {axis}");
                same(&format!("sort {what}"), std::slice::from_ref(&x), |x| ops::sort(&x[0], axis))?;
                same(&format!("argsort {what}"), std::slice::from_ref(&x), |x| ops::argsort(&x[0], axis))?;
            }
        }
    }
    Ok(())
}

#[test]
fn complex_numbers_sort_by_real_then_imaginary_part() -> Result<()> {
    let x = on_cpu(|| {
        let parts = made(&[3000, 2], Dtype::Float32, 9);
        ops::reshape(&ops::view(&parts, Dtype::Complex64), [3, 1000])
    });
    for axis in [0, 1] {
        same("sort", std::slice::from_ref(&x), |x| ops::sort(&x[0], axis))?;
        same("argsort", std::slice::from_ref(&x), |x| ops::argsort(&x[0], axis))?;
    }
    Ok(())
}

#[test]
fn views_are_sorted_where_they_lie() -> Result<()> {
    let x = on_cpu(|| made(&[40, 60], Dtype::Int16, 4));
    same("transposed and turned", &[x], |x| {
        let view = ops::flip(&ops::transpose(&x[0], None), 0);
        ops::add(&ops::sort(&view, 0), &ops::astype(&ops::argsort(&view, 1), Dtype::Int16))
    })
}

#[test]
fn the_last_of_several_values_for_one_place_wins() -> Result<()> {
    for dtype in TYPES {
        for (axis, index_shape) in [(0i64, [500usize, 7]), (1, [37, 400])] {
            let x = on_cpu(|| made(&[37, 7], dtype, 1));
            let size = [37.0, 7.0][axis as usize];
            let places: Vec<i32> = numbers(index_shape.iter().product(), 2)
                .iter()
                .map(|v| (v * size).floor().clamp(-size, size - 1.0) as i32)
                .collect();
            let places = Array::from_slice(&places, index_shape);
            let values = on_cpu(|| made(&index_shape, dtype, 3));
            same(&format!("{dtype} axis {axis}"), &[x, places, values], |x| {
                ops::put_along_axis(&x[0], &x[1], &x[2], axis)
            })?;
        }
    }
    Ok(())
}

#[test]
fn a_bad_place_to_put_is_an_error() -> Result<()> {
    if !is_available(Device::gpu()) {
        return Ok(());
    }
    with_device(Device::gpu(), || {
        let x = ops::zeros([4], Dtype::Float32);
        let places = ops::add(&ops::arange(0, 3, 1, Dtype::Int32), 2);
        let error = ops::put_along_axis(&x, &places, 1.0, 0).eval().map_err(|e| e.root().clone());
        assert!(
            matches!(
                error,
                Err(pellucid::Error::Index { function: "put_along_axis", index: 4, axis: 0, size: 4 })
            ),
            "{error:?}"
        );
        Ok(())
    })?
}

#[test]
fn forty_arrays_are_joined() -> Result<()> {
    for (dtype, axis) in [(Dtype::Uint8, 0), (Dtype::Float32, 1), (Dtype::Float16, 2)] {
        let inputs: Vec<Array> = (0..40)
            .map(|i| {
                let mut shape = [3, 4, 5];
                shape[axis as usize] = i % 4;
                on_cpu(|| made(&shape, dtype, i as u64))
            })
            .collect();
        same(&format!("{dtype}"), &inputs, |x| ops::concatenate(&x.iter().collect::<Vec<_>>(), axis))?;
    }
    Ok(())
}

#[test]
fn twelve_axes_are_no_obstacle() -> Result<()> {
    let x = on_cpu(|| made(&[2; 12], Dtype::Int32, 5));
    same("elementwise", std::slice::from_ref(&x), |x| ops::add(&ops::transpose(&x[0], None), &x[0]))?;
    same("sum", std::slice::from_ref(&x), |x| {
        ops::sum(&ops::transpose(&x[0], None), pellucid::Axes::from([0, 2, 4, 6, 8, 10]), false)
    })?;
    same("sort", std::slice::from_ref(&x), |x| ops::sort(&ops::transpose(&x[0], None), 5))?;
    same("no axes", &[x], |x| ops::sum(&x[0], pellucid::Axes::from([0i64; 0]), false))
}

#[test]
fn scans_products_and_softmax_agree_with_the_cpu() -> Result<()> {
    for (shape, axis) in [(vec![70_001], 0), (vec![3, 20_000], 1), (vec![5000, 3], 0), (vec![2, 40, 30], 1)] {
        for dtype in [Dtype::Int32, Dtype::Int8, Dtype::Uint16] {
            let x = on_cpu(|| made(&shape, dtype, 6));
            for (reverse, inclusive) in [(false, true), (true, false), (false, false)] {
                let what = format!("{dtype} {shape:?} reverse {reverse} inclusive {inclusive}");
                same(&format!("cumsum {what}"), std::slice::from_ref(&x), |x| {
                    ops::cumsum(&x[0], axis, reverse, inclusive)
                })?;
                same(&format!("cummax {what}"), std::slice::from_ref(&x), |x| {
                    ops::cummax(&x[0], axis, reverse, inclusive)
                })?;
            }
        }
    }
    // Sums of small integers are exact in every order.
    for (m, k, n) in [(1, 1, 1), (17, 9, 33), (64, 64, 64), (70, 130, 45), (3, 1000, 2)] {
        for dtype in [Dtype::Float32, Dtype::Complex64, Dtype::Float16] {
            let small = |shape: &[usize], seed| {
                let x = made(shape, Dtype::Int32, seed);
                ops::astype(&ops::remainder(&x, 2), dtype)
            };
            let (a, b) = (on_cpu(|| small(&[2, m, k], 7)), on_cpu(|| small(&[n, k], 8)));
            same(&format!("{dtype} {m}x{k}x{n}"), &[a, b], |x| {
                // Zeros of either sign are the same.
                ops::add(&ops::matmul(&x[0], &ops::transpose(&x[1], None)), 0.0)
            })?;
        }
    }
    for shape in [vec![5, 64], vec![3, 1000], vec![2, 4097], vec![2, 2, 300], vec![2, 9000]] {
        let x = on_cpu(|| ops::multiply(&made(&shape, Dtype::Int32, 11), 0.1));
        let close = |x: &[Array]| -> Array {
            let expected = on_cpu(|| ops::softmax(&x[0], -1, false));
            ops::all(
                &ops::less(&ops::abs(&ops::subtract(&ops::softmax(&x[0], -1, false), &expected)), 1e-6),
                None,
                false,
            )
        };
        same(&format!("softmax {shape:?}"), &[x], close)?;
    }
    Ok(())
}

/// Kernels that a software adapter does not take by itself, in a process of their own.
#[test]
fn kernels_for_hardware_agree_too() {
    let Ok(program) = std::env::current_exe() else { return };
    let test = "scans_products_and_softmax_agree_with_the_cpu";
    let child = std::process::Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env("PELLUCID_HARDWARE_KERNELS", "1")
        .output();
    let output = child.expect("the test program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
