//! Arrays on a graphics processor; a software one (llvmpipe) is enough. Without any, the tests say so and pass, unless
//! `CI=true`.

use pellucid::{Array, Device, Dtype, Error, Result, eval, ops};
use pellucid::{device_info, is_available, new_stream, synchronize, with_device, with_stream};

/// Runs a test if there is a GPU.
fn on_gpu(test: impl FnOnce() -> Result<()>) -> Result<()> {
    if is_available(Device::gpu()) {
        return with_device(Device::gpu(), test)?;
    }
    assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "no GPU; install mesa-vulkan-drivers");
    eprintln!("skipped: there is no GPU");
    Ok(())
}

#[test]
fn the_device_is_described() -> Result<()> {
    on_gpu(|| {
        let info = device_info(Device::gpu())?;
        assert!(!info.device_name.is_empty() && info.max_buffer_length > 0 && info.resource_limit > 0);
        assert!(["vulkan", "metal", "dx12"].contains(&info.backend.as_str()), "{info:?}");
        assert_ne!(info.device_type, "cpu");
        Ok(())
    })
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let missing = Device::new(pellucid::DeviceType::Gpu, 99);
    assert!(matches!(new_stream(missing), Err(Error::Device { .. })));
    assert!(matches!(device_info(missing), Err(Error::Device { .. })));
}

#[test]
fn elements_go_there_and_back() -> Result<()> {
    on_gpu(|| {
        let a = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [2, 2]);
        let b = ops::add(&a, &a);
        assert_eq!(b.to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
        let c = ops::multiply(&b, 0.5);
        assert_eq!(c.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
        // A CPU stream reads what the GPU made, and the other way round.
        let d = with_device(Device::cpu(), || ops::add(&c, 1.0))?;
        assert_eq!(ops::subtract(&d, &b).to_vec::<f32>()?, [0.0, -1.0, -2.0, -3.0]);
        Ok(())
    })
}

#[test]
fn narrow_types_are_packed() -> Result<()> {
    on_gpu(|| {
        for n in [1usize, 2, 3, 4, 5, 7, 255, 257, 1000] {
            let bytes: Vec<u8> = (0..n).map(|i| i as u8).collect();
            let a = Array::from_slice(&bytes, [n]);
            let wrapped: Vec<u8> =
                bytes.iter().map(|b| b.wrapping_mul(3).wrapping_add(b.wrapping_mul(*b))).collect();
            let sum = ops::add(&ops::multiply(&a, 3), &ops::multiply(&a, &a));
            assert_eq!(sum.to_vec::<u8>()?, wrapped, "n = {n}");
            let even = ops::equal(&ops::remainder(&a, 2), 0);
            let expected: Vec<bool> = bytes.iter().map(|b| b % 2 == 0).collect();
            assert_eq!(even.to_vec::<bool>()?, expected, "n = {n}");
            let shorts: Vec<i16> = (0..n).map(|i| i as i16 * -7).collect();
            let s = Array::from_slice(&shorts, [n]);
            assert_eq!(ops::abs(&s).to_vec::<i16>()?, shorts.iter().map(|v| v.abs()).collect::<Vec<_>>());
        }
        Ok(())
    })
}

#[test]
fn views_are_read_where_they_lie() -> Result<()> {
    on_gpu(|| {
        let a = ops::arange(0, 24, 1, Dtype::Float32);
        let a = ops::reshape(&a, [2, 3, 4]);
        let t = ops::transpose(&a, pellucid::Axes::from([2, 0, 1]));
        let sum = ops::add(&t, 1.0);
        let on_cpu = with_device(Device::cpu(), || {
            let a = ops::reshape(&ops::arange(0, 24, 1, Dtype::Float32), [2, 3, 4]);
            ops::add(&ops::transpose(&a, pellucid::Axes::from([2, 0, 1])), 1.0).to_vec::<f32>()
        })??;
        assert_eq!(sum.to_vec::<f32>()?, on_cpu);
        Ok(())
    })
}

#[test]
fn what_a_gpu_cannot_do_runs_on_the_cpu() -> Result<()> {
    on_gpu(|| {
        let a = Array::from([1.0f64, 2.0, 3.0]);
        let b = ops::sqrt(&ops::add(&a, 1.0));
        let c = ops::astype(&b, Dtype::Float32);
        let d = ops::multiply(&c, 2.0);
        let expected: Vec<f32> = [2.0f64, 3.0, 4.0].iter().map(|v| v.sqrt() as f32 * 2.0).collect();
        assert_eq!(d.to_vec::<f32>()?, expected);
        Ok(())
    })
}

#[test]
fn streams_of_both_devices_meet() -> Result<()> {
    on_gpu(|| {
        let (s1, s2) = (new_stream(Device::gpu())?, new_stream(Device::gpu())?);
        let cpu = new_stream(Device::cpu())?;
        let a = Array::from_slice(&vec![1.0f32; 10_000], [10_000]);
        let mut x = a.clone();
        for i in 0..30 {
            let stream = [s1, s2, cpu][i % 3];
            x = with_stream(stream, || ops::add(&ops::sqrt(&x), &a));
        }
        eval([&x])?;
        let mut expected = 1.0f32;
        (0..30).for_each(|_| expected = expected.sqrt() + 1.0);
        assert!(x.to_vec::<f32>()?.iter().all(|v| (v - expected).abs() < 1e-5));
        for stream in [s1, s2, cpu] {
            synchronize(stream)?;
        }
        Ok(())
    })
}

#[test]
fn an_index_out_of_range_fails_what_depends_on_it_and_nothing_else() -> Result<()> {
    on_gpu(|| {
        let x = ops::arange(0, 100, 1, Dtype::Float32);
        // Made on the GPU, so that the host cannot know the indices beforehand.
        let good = ops::astype(&ops::arange(0, 10, 1, Dtype::Float32), Dtype::Int32);
        let bad = ops::multiply(&good, 50);
        let (a, b) = (ops::take(&x, &good, 0), ops::take(&x, &bad, 0));
        let (c, d) = (ops::add(&a, 1.0), ops::add(&b, 1.0));
        let e = with_device(Device::cpu(), || ops::multiply(&d, 2.0))?;
        eval([&c])?;
        assert_eq!(c.to_vec::<f32>()?, (1..11).map(|v| v as f32).collect::<Vec<_>>());
        for array in [&b, &d, &e] {
            let error = array.eval().map(|()| String::new()).map_err(|e| e.root().clone());
            assert!(
                matches!(error, Err(Error::Index { function: "take", index: 100, axis: 0, size: 100 })),
                "{error:?}"
            );
        }
        assert_eq!(ops::add(&a, 2.0).to_vec::<f32>()?[9], 11.0);
        let last = ops::subtract(&good, 100);
        assert_eq!(ops::take(&x, &last, 0).to_vec::<f32>()?[3], 3.0);
        Ok(())
    })
}

/// Gives the device up in a process of its own, since there is no way back.
#[test]
fn a_lost_device_gives_typed_errors_and_the_cpu_goes_on() -> Result<()> {
    const CHILD: &str = "PELLUCID_TEST_LOSE_DEVICE";
    if std::env::var_os(CHILD).is_none() {
        let Ok(program) = std::env::current_exe() else { return Ok(()) };
        let child = std::process::Command::new(program)
            .args(["--exact", "a_lost_device_gives_typed_errors_and_the_cpu_goes_on", "--nocapture"])
            .env(CHILD, "1")
            .output();
        let output = child.expect("the test program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return Ok(());
    }
    on_gpu(|| {
        let a = Array::from_slice(&vec![1.0f32; 1000], [1000]);
        let before = ops::add(&a, 1.0);
        eval([&before])?;
        let pending = ops::multiply(&before, 2.0);
        pellucid::gpu::destroy(Device::gpu())?;
        let lost = |r: Result<()>| matches!(r.map_err(|e| e.root().clone()), Err(Error::Device { .. }));
        assert!(lost(pending.eval()), "{pending:?}");
        assert!(lost(pending.eval()), "the same error again");
        assert!(lost(before.to_vec::<f32>().map(drop)), "memory that is gone");
        assert!(lost(ops::add(&a, 3.0).eval()));
        let on_cpu = with_device(Device::cpu(), || ops::add(&a, 3.0))?;
        assert_eq!(on_cpu.to_vec::<f32>()?, vec![4.0; 1000]);
        Ok(())
    })
}
