//! A build without the features `gpu` and `capture`: the same programs compile, and what is missing says so.
//!
//! `cargo test -p pellucid --no-default-features --test without_features`
#![cfg(not(any(feature = "gpu", feature = "capture")))]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pellucid::capture::{self, CaptureError, GraphExecutor, MetalCapture, Mode, Options};
use pellucid::prelude::*;
use pellucid::transform::{compile, grad};
use pellucid::{
    DeviceType, default_device, device_count, device_info, fft, gpu, linalg, metal, new_stream,
    set_default_device,
};

#[test]
fn arrays_work_on_the_cpu() {
    assert_eq!(default_device(), Device::cpu());
    let x = Array::arange(12).reshape((3, 4)).astype(Dtype::Float32);
    let y = x.matmul(&x.t()).softmax(-1).sum(0);
    assert!((y.sum(..).item::<f32>().unwrap() - 3.0).abs() < 1e-6);
    let slope = grad(|x: &Array| x.square().sum(..));
    assert_eq!(slope(&array![1.0, 2.0]).unwrap().to_vec::<f32>().unwrap(), [2.0, 4.0]);
    let twice = compile(|x: &Array| x + x);
    assert_eq!(twice.call(&array![1.5]).unwrap().to_vec::<f32>().unwrap(), [3.0]);
    let inverse = linalg::inv(&array![[2.0, 0.0], [0.0, 4.0]]);
    assert_eq!(inverse.to_vec::<f32>().unwrap(), [0.5, 0.0, 0.0, 0.25]);
    assert_eq!(
        fft::fft(&array![1.0, 1.0], None, -1, fft::Norm::Backward).abs().to_vec::<f32>().unwrap(),
        [2.0, 0.0]
    );
    let side = new_stream(Device::cpu()).unwrap();
    assert_eq!(with_stream(side, || array![1.0, 2.0].sum(..)).item::<f32>().unwrap(), 3.0);
}

#[test]
fn there_is_no_gpu_and_the_error_says_how_to_get_one() {
    assert_eq!(
        (device_count(DeviceType::Gpu), gpu::is_available(), metal::is_available()),
        (0, false, false)
    );
    let errors = [
        with_device(Device::gpu(), || ()).unwrap_err(),
        set_default_device(Device::gpu()).unwrap_err(),
        new_stream(Device::gpu()).unwrap_err(),
        device_info(Device::gpu()).unwrap_err(),
        gpu::kernel_sources(Device::gpu()).unwrap_err(),
        gpu::destroy(Device::gpu()).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Device { .. }), "{error}");
        assert!(error.to_string().contains("feature `gpu`"), "{error}");
    }
    assert!(gpu::fallbacks().is_empty());
    assert!(!gpu::validation_report().enabled);
}

#[test]
fn a_kernel_of_the_user_runs_its_version_for_the_host() {
    let double = gpu::Kernel::new("double", "y[id.x] = 2.0 * x[id.x];")
        .input("x", Dtype::Float32)
        .output("y", Dtype::Float32)
        .on_host(|call| {
            let doubled: Vec<f32> = call.input::<f32>(0)?.iter().map(|v| 2.0 * v).collect();
            call.output::<f32>(0)?.copy_from_slice(&doubled);
            Ok(())
        });
    let y = double.call(&[&array![1.0, 2.0]], [2, 1, 1], [2]).remove(0);
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 4.0]);
}

#[test]
fn captures_say_how_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no.pltrace");
    let errors = [
        capture::start(&path).unwrap_err(),
        capture::start_with(&path, Options::default().mode(Mode::Full)).unwrap_err(),
        capture::scope(&path, || ()).map(drop).unwrap_err(),
        capture::stop().map(drop).unwrap_err(),
        metal::start_capture(&path).unwrap_err(),
        metal::stop_capture().map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Capture { source: CaptureError::NotBuilt, .. }), "{error}");
        assert!(error.to_string().contains("feature `capture`"), "{error}");
    }
    assert!(!capture::is_capturing() && !path.exists());
    // What only marks a program stays silent.
    assert_eq!(capture::region("part", || 7), 7);
    assert!(MetalCapture::from_env(&Device::cpu()).is_none());
    let session = GraphExecutor::new(Device::cpu()).unwrap().begin().unwrap();
    array![1.0].exp().eval().unwrap();
    session.finish().unwrap();
    assert_eq!(capture::figures(&array![1.0, 3.0]).unwrap().mean, Some(2.0));
}
