//! Kernels written by the user: as nodes of a graph, on both devices, in a capture, and with mistakes in them.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pellucid::capture::{self, Mode, Options};
use pellucid::op::Op;
use pellucid::{Array, Axes, Device, Dtype, Error, Result, gpu, ops, with_device};
use pellucid_trace::Trace;

/// Sum and difference, each with its own shape and type.
fn sum_and_difference(name: &str) -> gpu::Kernel {
    gpu::Kernel::new(
        name,
        "let i = id.x;\nif (i >= arrayLength(&a)) { return; }\nsum[i] = a[i] + b[i];\ndifference[i] = i32(a[i] - b[i]);",
    )
    .input("a", Dtype::Float32)
    .input("b", Dtype::Float32)
    .output("sum", Dtype::Float32)
    .output("difference", Dtype::Int32)
    .on_host(|call| {
        let (a, b) = (call.input::<f32>(0)?.to_vec(), call.input::<f32>(1)?.to_vec());
        for (i, out) in call.output::<f32>(0)?.iter_mut().enumerate() {
            *out = a[i] + b[i];
        }
        for (i, out) in call.output::<i32>(1)?.iter_mut().enumerate() {
            *out = (a[i] - b[i]) as i32;
        }
        Ok(())
    })
}

#[test]
fn results_are_part_of_the_graph_on_both_devices() -> Result<()> {
    for device in [Device::cpu(), Device::gpu()] {
        with_device(device, || -> Result<()> {
            let a = ops::arange(0.0, 100.0, 1.0, Dtype::Float32);
            // Not row-major: the kernel gets a copy that is.
            let b = ops::flip(&ops::multiply(&a, 3.0), Axes::All);
            let results =
                sum_and_difference("both").call(&[&a, &b], [100, 1, 1], &[&[100][..], &[10, 10][..]]);
            let [sum, difference] = &results[..] else { panic!("{results:?}") };
            assert_eq!((sum.shape(), difference.shape()), (&[100][..], &[10, 10][..]));
            assert_eq!((sum.dtype(), difference.dtype()), (Dtype::Float32, Dtype::Int32));
            let total = ops::sum(&ops::add(sum, ops::reshape(difference, [100])), Axes::All, false);
            // The sum of 2a.
            assert_eq!(total.item::<f32>()?, 9900.0, "{device}");
            Ok(())
        })??;
    }
    Ok(())
}

#[test]
fn what_is_not_written_is_zero_and_indices_out_of_range_stay_inside() -> Result<()> {
    with_device(Device::gpu(), || {
        let x = Array::from([1.0f32; 8]);
        let kernel = gpu::Kernel::new("wild", "out[id.x * 100000u + 3u] = x[id.x + 77777u];")
            .input("x", Dtype::Float32)
            .output("out", Dtype::Float32)
            .workgroup_size([1, 1, 1]);
        let out = kernel.call(&[&x], [1, 1, 1], &[[8]]).remove(0).to_vec::<f32>()?;
        assert!(out.iter().enumerate().all(|(i, &v)| v == 0.0 || i == 3), "{out:?}");
        Ok(())
    })?
}

#[test]
fn shapes_are_known_to_the_text_and_narrow_types_work() -> Result<()> {
    with_device(Device::gpu(), || {
        let x = ops::reshape(&ops::arange(0.0, 6.0, 1.0, Dtype::Float16), [2, 3]);
        let kernel =
            gpu::Kernel::new("rows", "out[id.x] = weight(x[id.x]) + f16(x_shape[0] * 10u + x_shape[1]);")
                .header("fn weight(v: f16) -> f16 { return v * 2.0h; }")
                .input("x", Dtype::Float16)
                .output("out", Dtype::Float16)
                .workgroup_size([2, 1, 1]);
        let out = kernel.call(&[&x], [6, 1, 1], &[[6]]).remove(0);
        assert_eq!(ops::astype(&out, Dtype::Float32).to_vec::<f32>()?, [23.0, 25.0, 27.0, 29.0, 31.0, 33.0]);
        Ok(())
    })?
}

#[test]
fn mistakes_are_shown_with_line_and_mark() {
    let kernel = |body: &str| {
        let kernel = gpu::Kernel::new("k", body).input("x", Dtype::Float32).output("y", Dtype::Float32);
        kernel.check().unwrap_err().to_string()
    };
    let text = kernel("let i = id.x;\ny[i] = x[i] + oops;");
    assert!(text.contains("line 2, column 15") && text.contains("2 | y[i] = x[i] + oops;"), "{text}");
    assert!(text.lines().last().unwrap().ends_with("^^^^"), "{text}");
    let text = kernel("y[0] = 1i;");
    assert!(text.contains("line 1"), "{text}");
    let text = kernel("x[0] = 1.0;");
    assert!(text.contains("line 1") && text.contains("x[0] = 1.0;"), "an input is not written: {text}");
    let text = kernel("y[0] = ");
    assert!(text.contains("kernel \"k\" is not valid"), "{text}");
    let wrong = gpu::Kernel::new("h", "y[0] = f();").header("fn f() -> f32 {\n  return nothing;\n}");
    let text = wrong.output("y", Dtype::Float32).check().unwrap_err().to_string();
    assert!(text.contains("line 2, column 10 of its header"), "{text}");
}

#[test]
fn declarations_that_cannot_be_are_typed_errors() {
    let new = || gpu::Kernel::new("k", "y[0] = 1.0;");
    let argument = |kernel: gpu::Kernel| matches!(kernel.check(), Err(Error::Argument { .. }));
    assert!(argument(new()));
    assert!(argument(new().output("2y", Dtype::Float32)));
    assert!(argument(new().output("y", Dtype::Float32).output("y", Dtype::Float32)));
    assert!(argument(new().output("y", Dtype::Float32).workgroup_size([0, 1, 1])));
    assert!(argument(new().output("y", Dtype::Float32).workgroup_size([u32::MAX, 2, 1])));
    assert!(matches!(new().output("y", Dtype::Bfloat16).check(), Err(Error::Dtype { .. })));
    let good = new().output("y", Dtype::Float32);
    assert!(good.check().is_ok());
    let none: [&Array; 0] = [];
    assert!(good.call(&none, [u32::MAX, 1, 1], &[[1]])[0].check().is_err(), "too many workgroups");
    assert!(good.call(&none, [1, 1, 1], &[[1], [1]])[0].check().is_err(), "one output");
    assert!(good.call(&[&Array::from([1.0f32])], [1, 1, 1], &[[1]])[0].check().is_err(), "no input");
    let on_cpu = with_device(Device::cpu(), || good.call(&none, [1, 1, 1], &[[1]]).remove(0)).unwrap();
    let message = on_cpu.eval().unwrap_err().to_string();
    assert!(message.contains("has no version for the host"), "{message}");
}

#[test]
fn a_capture_holds_the_kernel_and_can_be_run_again() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("custom.pltrace");
    capture::start_with(&path, Options::default().mode(Mode::Full))?;
    let (a, b) = (Array::from([5.0f32, 6.0]), Array::from([1.0f32, 2.0]));
    let results = with_device(Device::gpu(), || {
        sum_and_difference("captured").call(&[&a, &b], [2, 1, 1], &[[2], [2]])
    })?;
    pellucid::eval(&results)?;
    capture::stop()?;
    let trace = Trace::open(&path).unwrap();
    assert_eq!(trace.problems().unwrap(), (Vec::new(), 0));
    let rows = trace.ops().unwrap().rows();
    let row = rows.iter().find(|row| &*row.name == "custom captured").unwrap();
    let launches = trace.launches().unwrap().rows();
    let launch = launches.iter().find(|l| Some(l.id) == row.launch).unwrap();
    assert_eq!(&*launch.kernel, "captured");
    assert!(trace.kernel(launch.source.as_deref().unwrap()).unwrap().contains("sum[i] = a[i] + b[i];"));
    let op: Op = serde_json::from_str(&row.op).unwrap();
    assert_eq!(row.outputs, results.iter().map(Array::id).collect::<Vec<_>>());
    assert_eq!(row.dtypes.iter().map(|d| &**d).collect::<Vec<_>>(), ["float32", "int32"]);
    let (sum, difference) = (trace.tensor(results[0].id()).unwrap(), trace.tensor(results[1].id()).unwrap());
    assert_eq!(sum.data, [6.0f32, 8.0].map(f32::to_le_bytes).concat());
    assert_eq!(difference.data, [4i32, 4].map(i32::to_le_bytes).concat());
    let again = with_device(Device::gpu(), || Array::apply_many(op, &[a, b]))?;
    assert_eq!(again[0].to_vec::<f32>()?, [6.0, 8.0]);
    assert_eq!(again[1].to_vec::<i32>()?, [4, 4]);
    Ok(())
}

#[test]
fn the_results_of_one_call_have_memory_of_their_own_on_both_devices() -> Result<()> {
    let (a, b) = (Array::from([5.0f32, 6.0]), Array::from([1.0f32, 2.0]));
    for device in [Device::cpu(), Device::gpu()] {
        let [sum, difference] = with_device(device, || {
            let kernel = sum_and_difference("apart");
            <[Array; 2]>::try_from(kernel.call(&[&a, &b], [2, 1, 1], &[[2], [2]])).unwrap()
        })?;
        difference.eval()?;
        assert!(sum.is_available(), "both are computed at once");
        assert_ne!(sum.buffer_size().map(|(id, _)| id), difference.buffer_size().map(|(id, _)| id));
        let [quotient, remainder] = with_device(device, || {
            let (q, r) = ops::divmod(&difference, Array::from([3, -3]));
            drop(difference);
            [q, r]
        })?;
        assert_eq!(remainder.to_vec::<i32>()?, [1, -2], "{device}");
        assert_eq!(quotient.to_vec::<i32>()?, [1, -2], "{device}");
        assert_eq!(sum.to_vec::<f32>()?, [6.0, 8.0], "{device}");
    }
    Ok(())
}

#[test]
fn an_output_or_input_without_elements_needs_no_version_for_the_host() -> Result<()> {
    with_device(Device::gpu(), || -> Result<()> {
        let copy = gpu::Kernel::new(
            "copies",
            "if (id.x < 3u) { y[id.x] = 2.0; }\nif (arrayLength(&x) > 9u) { z[0] = x[0]; }",
        )
        .input("x", Dtype::Float32)
        .output("y", Dtype::Float32)
        .output("z", Dtype::Float32);
        let nothing = ops::zeros([0], Dtype::Float32);
        let results = copy.call(&[&nothing], [3, 1, 1], &[&[3][..], &[0, 4][..]]);
        assert_eq!(results[0].to_vec::<f32>()?, [2.0; 3]);
        assert_eq!((results[1].shape(), results[1].to_vec::<f32>()?), (&[0, 4][..], vec![]));
        let only = gpu::Kernel::new("writes nothing", "y[id.x] = 1.0;").output("y", Dtype::Float32);
        assert!(only.call(&[], [5, 1, 1], &[[0]])[0].to_vec::<f32>()?.is_empty());
        Ok(())
    })?
}

#[test]
fn more_arrays_than_a_gpu_binds_are_told_with_the_numbers() -> Result<()> {
    with_device(Device::gpu(), || -> Result<()> {
        let names: Vec<String> = (0..300).map(|i| format!("x{i}")).collect();
        let many = names.iter().fold(gpu::Kernel::new("many", "y[0] = x7[0];"), |kernel, name| {
            kernel.input(name, Dtype::Float32)
        });
        let many = many.output("y", Dtype::Float32);
        let one = Array::from([1.0f32]);
        let result = many.call(&vec![&one; 300], [1, 1, 1], &[[1]]).remove(0);
        let message = result.eval().unwrap_err().to_string();
        for part in ["\"many\"", "300 inputs and 1 output", "can be bound", "on_host"] {
            assert!(message.contains(part), "{message}");
        }
        Ok(())
    })?
}

#[test]
fn variables_that_fit_no_gpu_are_refused_before_they_are_compiled() {
    let kernel = |count: u32| {
        let body = format!("var a: array<f32, {count}>;\na[id.x] = 1.0;\ny[id.x] = a[id.x + 1u];");
        gpu::Kernel::new("large", body).output("y", Dtype::Float32)
    };
    kernel(1024).check().unwrap();
    let message = kernel(100_000).check().unwrap_err().to_string();
    assert!(message.contains("400000 bytes for each invocation") && message.contains("32768"), "{message}");
    let private = gpu::Kernel::new("large", "p[id.x] = 1.0; y[0] = p[1];")
        .header("var<private> p: array<vec4<f32>, 1000000000>;")
        .output("y", Dtype::Float32);
    assert!(private.check().is_err());
}

#[test]
fn two_kernels_with_one_text_keep_their_own_versions_for_the_host() -> Result<()> {
    let filled = |value: f32| {
        // The order of the calls does not matter.
        gpu::Kernel::new("fills", "y[id.x] = 1.0;")
            .on_host(move |call| {
                call.output::<f32>(0)?.fill(value);
                Ok(())
            })
            .output("y", Dtype::Float32)
    };
    let (ones, twos, none) =
        (filled(1.0), filled(2.0), gpu::Kernel::new("fills", "y[id.x] = 1.0;").output("y", Dtype::Float32));
    with_device(Device::cpu(), || {
        let made = |kernel: &gpu::Kernel| kernel.call(&[], [2, 1, 1], [[2]]).remove(0);
        assert_eq!(made(&ones).to_vec::<f32>()?, [1.0; 2]);
        assert_eq!(made(&twos).to_vec::<f32>()?, [2.0; 2]);
        assert_eq!(made(&ones.clone()).to_vec::<f32>()?, [1.0; 2]);
        assert!(made(&none).eval().unwrap_err().to_string().contains("has no version for the host"));
        Ok(())
    })?
}

#[test]
fn a_panic_in_a_version_for_the_host_is_told_as_the_users() -> Result<()> {
    let kernel = gpu::Kernel::new("trips", "y[id.x] = 1.0;").output("y", Dtype::Float32).on_host(|call| {
        let nothing: [f32; 0] = [];
        call.output::<f32>(0)?[0] = nothing.iter().copied().reduce(f32::max).expect("a largest element");
        Ok(())
    });
    let y = with_device(Device::cpu(), || kernel.call(&[], [1, 1, 1], [[1]]).remove(0))?;
    let error = y.eval().unwrap_err();
    assert!(matches!(error.root(), Error::Argument { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("\"trips\"") && text.contains("a largest element"), "{text}");
    assert!(!text.contains("internal error"), "{text}");
    Ok(())
}

#[test]
fn outputs_have_as_many_axes_as_they_are_given() -> Result<()> {
    for device in [Device::cpu(), Device::gpu()] {
        with_device(device, || -> Result<()> {
            let (a, b) = (Array::from([1.0f32; 6]), Array::from([2.0f32; 6]));
            let shapes = ([2, 3], 6);
            let results = sum_and_difference("ranks").call(&[&a, &b], [6, 1, 1], shapes);
            assert_eq!((results[0].shape(), results[1].shape()), (&[2, 3][..], &[6][..]), "{device}");
            assert_eq!(results[0].to_vec::<f32>()?, [3.0; 6], "{device}");
            assert_eq!(results[1].to_vec::<i32>()?, [-1; 6], "{device}");
            Ok(())
        })??;
    }
    let one = Array::from([1.0f32]);
    let wrong = sum_and_difference("negative").call(&[&one, &one], [1, 1, 1], ([1], -1));
    assert!(wrong[0].check().unwrap_err().to_string().contains("must not be negative"));
    Ok(())
}
