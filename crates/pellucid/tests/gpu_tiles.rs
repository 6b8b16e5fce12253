//! Kernels that a software adapter has of its own for large arrays, compared with the CPU. Numbers are small
//! integers, of which sums are exact in every order, so that both devices must give the same bits.

mod both_devices;

use both_devices::{made, on_cpu, same};
use pellucid::{Array, Device, Dtype, Result, idx, is_available, ops, random, with_device};

/// Integers from 0 to 4.
fn small(shape: &[usize], dtype: Dtype, seed: u64) -> Array {
    on_cpu(|| {
        let x = made(shape, Dtype::Int32, seed);
        ops::astype(&ops::remainder(&x, 5), dtype)
    })
}

#[test]
fn products_of_all_layouts() -> Result<()> {
    let sizes =
        [(256, 256, 256), (100, 132, 100), (261, 64, 260), (8, 4100, 32), (70, 323, 516), (64, 65, 66)];
    for (m, k, n) in sizes {
        for (dtype, turned) in [
            (Dtype::Float32, false),
            (Dtype::Float32, true),
            (Dtype::Float16, false),
            (Dtype::Bfloat16, true),
        ] {
            let (a, b) = if turned { ([k, m], [n, k]) } else { ([m, k], [k, n]) };
            let (a, b) = (small(&a, dtype, 1), small(&b, dtype, 2));
            let turn = |x: &Array| if turned { ops::transpose(x, None) } else { x.clone() };
            same(&format!("{dtype} {m}x{k}x{n} turned {turned}"), &[a, b], |x| {
                // Zeros of either sign are the same.
                ops::add(&ops::matmul(&turn(&x[0]), &turn(&x[1])), 0.0)
            })?;
        }
    }
    Ok(())
}

#[test]
fn products_in_batches() -> Result<()> {
    let shapes: [(&[usize], &[usize]); 6] = [
        (&[3, 100, 80], &[80, 64]),
        (&[2, 300, 80], &[2, 80, 520]),
        (&[5, 3, 40, 80], &[1, 80, 64]),
        (&[100, 80], &[3, 80, 64]),
        (&[2, 1, 70, 90], &[3, 90, 68]),
        (&[1, 3, 40, 300], &[2, 1, 300, 40]),
    ];
    for (a, b) in shapes {
        let inputs = [small(a, Dtype::Float32, 3), small(b, Dtype::Float32, 4)];
        same(&format!("{a:?} @ {b:?}"), &inputs, |x| ops::add(&ops::matmul(&x[0], &x[1]), 0.0))?;
    }
    let inputs = [small(&[2, 300, 100], Dtype::Float32, 3), small(&[2, 100, 64], Dtype::Float32, 4)];
    same("views", &inputs, |x| {
        let a = ops::flip(&x[0].index(idx![.., 3..203, 5..95]), 1);
        let b = ops::flip(&x[1].index(idx![.., 5..95, 8..60]), 2);
        ops::add(&ops::matmul(&a, &b), 0.0)
    })?;
    let odd = [on_cpu(|| made(&[100, 70], Dtype::Float32, 3)), on_cpu(|| made(&[70, 64], Dtype::Float32, 4))];
    same("numbers that are none", &odd, |x| {
        let product = ops::matmul(&x[0], &x[1]);
        ops::where_(&ops::isnan(&product), 7.0, &product)
    })?;
    let inputs = [
        small(&[512, 300], Dtype::Float32, 5),
        small(&[300, 256], Dtype::Float32, 6),
        small(&[256], Dtype::Float32, 7),
        small(&[512, 1], Dtype::Float32, 8),
    ];
    same("and what is added in place", &inputs, |x| {
        ops::multiply(&ops::add(&ops::matmul(&x[0], &x[1]), &x[2]), &x[3])
    })?;
    for c in [vec![100, 64], vec![64], vec![100, 1]] {
        let inputs = [
            small(&c, Dtype::Float32, 5),
            small(&[100, 300], Dtype::Float32, 6),
            small(&[300, 64], Dtype::Float32, 7),
        ];
        same(&format!("addmm {c:?}"), &inputs, |x| {
            ops::add(&ops::addmm(&x[0], &x[1], &x[2], 2.0, -3.0), 0.0)
        })?;
    }
    Ok(())
}

#[test]
fn elementwise_chains_of_many_elements() -> Result<()> {
    // Whole launches, some more vectors, some more elements; and parts that begin where a window may or may not.
    for n in [245_760, 245_784, 300_001] {
        for dtype in [Dtype::Float32, Dtype::Int32, Dtype::Uint32] {
            let inputs = [on_cpu(|| made(&[n], dtype, 1)), on_cpu(|| made(&[n], dtype, 2))];
            same(&format!("{dtype} {n}"), &inputs, |x| ops::multiply(&ops::add(&x[0], &x[1]), &x[0]))?;
            for start in [64, 8, 1] {
                same(&format!("{dtype} {n} from {start}"), &inputs, |x| {
                    let part = |x: &Array| x.index(idx![start..]);
                    ops::maximum(&part(&x[0]), &part(&x[1]))
                })?;
            }
            same(&format!("{dtype} {n} and a number"), &inputs, |x| {
                let one = x[1].index(idx![5..6]);
                ops::subtract(&ops::add(&x[0], &one), 7)
            })?;
        }
    }
    Ok(())
}

#[test]
fn rows_and_columns_are_repeated() -> Result<()> {
    for (rows, columns) in [(300, 1024), (1024, 264), (500, 300), (997, 130)] {
        let x = on_cpu(|| made(&[rows, columns], Dtype::Float32, 1));
        let row = on_cpu(|| made(&[columns], Dtype::Float32, 2));
        let column = on_cpu(|| made(&[rows, 1], Dtype::Float32, 3));
        let what = format!("{rows}x{columns}");
        same(&what, &[x, row, column], |x| ops::subtract(&ops::multiply(&x[0], &x[1]), &x[2]))?;
    }
    let x = on_cpu(|| made(&[20, 30, 512], Dtype::Int32, 4));
    let middle = on_cpu(|| made(&[30, 1], Dtype::Int32, 5));
    same("three axes", &[x, middle], |x| {
        let turned = ops::swapaxes(&x[0], 0, 1);
        ops::add(&ops::swapaxes(&ops::multiply(&turned, 3), 0, 1), &x[1])
    })?;
    Ok(())
}

#[test]
fn reductions_of_many_elements() -> Result<()> {
    let shapes: [&[usize]; 6] =
        [&[1 << 18], &[512, 512], &[1024, 64], &[96, 1024], &[65_536, 4], &[3, 100_000]];
    for shape in shapes {
        for dtype in [Dtype::Float32, Dtype::Int32, Dtype::Uint32] {
            let x = small(shape, dtype, 8);
            for axis in 0..shape.len() as i64 {
                let what = format!("{dtype} {shape:?} axis {axis}");
                same(&format!("sum {what}"), std::slice::from_ref(&x), |x| ops::sum(&x[0], axis, false))?;
                same(&format!("max {what}"), std::slice::from_ref(&x), |x| ops::max(&x[0], axis, false))?;
                same(&format!("any {what}"), std::slice::from_ref(&x), |x| ops::any(&x[0], axis, false))?;
            }
            same(&format!("sum {dtype} {shape:?}"), std::slice::from_ref(&x), |x| {
                ops::sum(&x[0], None, false)
            })?;
        }
    }
    // Some rows and columns hold what is no number.
    let x = on_cpu(|| {
        let few = |shape| ops::equal(&ops::remainder(&made(shape, Dtype::Int32, 9), 50), 0);
        let odd = ops::logical_and(&few(&[1024, 1]), &few(&[1, 256]));
        ops::where_(&odd, f32::NAN, &made(&[1024, 256], Dtype::Int32, 10))
    });
    for axis in [0, 1] {
        same("min", std::slice::from_ref(&x), |x| {
            let least = ops::min(&x[0], axis, false);
            ops::where_(&ops::isnan(&least), 1000.0, &least)
        })?;
    }
    let x = small(&[600, 512], Dtype::Float32, 11);
    same("of a part", std::slice::from_ref(&x), |x| ops::sum(&x[0].index(idx![88..]), 0, false))?;
    same("of a part", std::slice::from_ref(&x), |x| ops::sum(&x[0].index(idx![88..]), 1, false))?;
    // A long sum in one order would be 4e-5 off.
    let tenths = on_cpu(|| ops::full([3840, 64], 0.1, Dtype::Float32));
    same("long sums keep their digits", &[tenths], |x| {
        let off = ops::abs(&ops::subtract(&ops::sum(&x[0], 0, false), 384.0));
        ops::less(&off, 384.0 * 1e-5)
    })?;
    Ok(())
}

#[test]
fn transposed_matrices() -> Result<()> {
    for (rows, columns) in [(512, 256), (512, 640), (64, 1024), (2048, 64), (96, 512), (500, 100), (256, 192)]
    {
        for dtype in [Dtype::Float32, Dtype::Int32, Dtype::Float16] {
            let x = on_cpu(|| made(&[rows, columns], dtype, 10));
            let other = on_cpu(|| made(&[columns, rows], dtype, 11));
            let what = format!("{dtype} {rows}x{columns}");
            same(&what, std::slice::from_ref(&x), |x| ops::contiguous(&ops::transpose(&x[0], None)))?;
            same(&what, std::slice::from_ref(&x), |x| {
                let rest = ops::flatten(&x[0], 0, -1).index(idx![64..]);
                let rest = ops::reshape(&rest.index(idx![..(rows * columns / 2) as i64]), [-1, rows as i64]);
                ops::contiguous(&ops::transpose(&rest, None))
            })?;
            same(&what, &[x, other], |x| ops::maximum(&ops::transpose(&x[0], None), &x[1]))?;
        }
    }
    Ok(())
}

#[test]
fn rows_are_gathered() -> Result<()> {
    let (rows, width) = (500, 40);
    let x = on_cpu(|| made(&[rows, width], Dtype::Float32, 12));
    let indices = on_cpu(|| ops::remainder(&made(&[7, 90], Dtype::Int32, 13), 100));
    same("rows", &[x.clone(), indices.clone()], |x| ops::take(&x[0], &x[1], 0))?;
    same("of a part", &[x.clone(), indices], |x| {
        ops::take(&x[0].index(idx![.., 8..32]), &ops::subtract(&x[1], 300), 0)
    })?;
    let three = on_cpu(|| made(&[4, 30, 16], Dtype::Float32, 14));
    let few = on_cpu(|| Array::from([3, -1, 29]));
    same("of a middle axis", &[three, few], |x| ops::take(&x[0], &x[1], 1))?;
    if is_available(Device::gpu()) {
        let bad = on_cpu(|| Array::from([3, 500, 1]));
        let taken = with_device(Device::gpu(), || ops::take(&x, &bad, 0))?;
        let error = taken.eval().expect_err("500 is out of range");
        assert!(error.to_string().contains("500"), "{error}");
    }
    Ok(())
}

#[test]
fn random_bits_are_those_of_the_cpu() -> Result<()> {
    let keys = on_cpu(|| random::split(&random::key(7), 5));
    same("of one of many keys", std::slice::from_ref(&keys), |keys| {
        random::bits([4096], 4, Some(&keys[0].index(idx![3])))
    })?;
    let key = on_cpu(|| random::key(7));
    for (n, width) in [(1 << 16, 4), (48, 4), (1001, 4), (4096, 2), (33, 1)] {
        same(&format!("{n} of {width} bytes"), std::slice::from_ref(&key), |key| {
            random::bits([n], width, Some(&key[0]))
        })?;
    }
    Ok(())
}

/// The kernels for hardware give the same, in a process of their own.
#[test]
fn kernels_for_hardware_agree_too() {
    let program = std::env::current_exe().expect("the test program has a place");
    let child = std::process::Command::new(program)
        .args(["--skip", "kernels_for_hardware_agree_too", "--nocapture"])
        .env("PELLUCID_HARDWARE_KERNELS", "1")
        .output();
    let output = child.expect("the test program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
