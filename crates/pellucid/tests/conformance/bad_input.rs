//! Arguments that cannot be right: an error that says why, with the numbers in it. Nothing panics and nothing is lost.

use half::f16;
use pellucid::ops::{self, Contraction, Index, PadMode};
use pellucid::{Array, Axes, Device, DeviceType, Dtype, Error, Result, idx, random};

use crate::conformance;

/// Fails unless the message has all of these parts.
fn says(result: impl Outcome, parts: &[&str]) {
    let text = result.error().to_string();
    assert!(text.starts_with('['), "the function comes first: {text}");
    assert!(!text.contains("internal error"), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

/// What calls return: arrays that carry an error, or a result.
trait Outcome {
    fn error(self) -> Error;
}

impl<T: std::fmt::Debug> Outcome for Result<T> {
    fn error(self) -> Error {
        self.unwrap_err()
    }
}

impl Outcome for Array {
    fn error(self) -> Error {
        self.check().unwrap_err()
    }
}

impl Outcome for Vec<Array> {
    fn error(self) -> Error {
        self.iter().try_for_each(Array::check).unwrap_err()
    }
}

impl Outcome for (Array, Array) {
    fn error(self) -> Error {
        vec![self.0, self.1].error()
    }
}

fn zeros(shape: &[usize]) -> Array {
    ops::zeros(shape, Dtype::Float32)
}

conformance! {
    fn shapes_that_do_not_broadcast() {
        let (a, b) = (zeros(&[2, 3]), zeros(&[4]));
        says(ops::add(&a, &b), &["[add]", "[2, 3]", "[4]"]);
        says(ops::where_(&ops::ones([5], Dtype::Bool), &a, &b), &["[2, 3]"]);
        says(ops::broadcast_to(&a, [3, 2]), &["[broadcast_to]", "[2, 3]", "[3, 2]"]);
        says(ops::broadcast_to(&a, [3]), &["[2, 3]", "[3]"]);
        says(ops::broadcast_arrays(&[&a, &b]), &["[2, 3]", "[4]"]);
        says(ops::clip(&a, &b, None), &["[2, 3]", "[4]"]);
        says(ops::isclose(&a, &b, 0.0, 0.0, false), &["[2, 3]", "[4]"]);
    }

    fn shapes_that_do_not_fit_a_product() {
        says(ops::matmul(&zeros(&[2, 3]), &zeros(&[4, 5])), &["[matmul]", "3", "4", "[2, 3]", "[4, 5]"]);
        says(ops::matmul(&zeros(&[2, 2, 3]), &zeros(&[3, 3, 3])), &["[2]", "[3]"]);
        says(ops::matmul(&zeros(&[]), &zeros(&[2])), &["[matmul]", "[]"]);
        says(ops::addmm(&zeros(&[7]), &zeros(&[2, 3]), &zeros(&[3, 4]), 1.0, 1.0), &["[addmm]", "[7]"]);
        says(ops::inner(&zeros(&[2]), &zeros(&[3])), &["[inner]", "2", "3"]);
        says(ops::tensordot(&zeros(&[2, 3]), &zeros(&[2, 3]), 1), &["[tensordot]", "3", "2"]);
        says(ops::tensordot(&zeros(&[2]), &zeros(&[2]), 2), &["[tensordot]", "2"]);
        says(ops::tensordot(&zeros(&[2]), &zeros(&[2]), Contraction::Axes(vec![0], vec![])), &["[tensordot]"]);
        says(ops::vecdot(&zeros(&[2]), &zeros(&[3]), 0), &["2", "3"]);
    }

    fn shapes_that_do_not_hold_the_elements() {
        says(ops::reshape(&zeros(&[2, 3]), [4, 2]), &["[reshape]", "[2, 3]", "4, 2"]);
        says(ops::reshape(&zeros(&[2, 3]), [-1, 4]), &["[reshape]", "4"]);
        says(ops::reshape(&zeros(&[2, 3]), [-1, -1]), &["[reshape]", "-1"]);
        says(ops::reshape(&zeros(&[2, 3]), [-6]), &["[reshape]", "-6"]);
        says(ops::reshape(&zeros(&[0]), [-1, 0]), &["[reshape]"]);
        says(ops::unflatten(&zeros(&[6]), 0, [4, 2]), &["[unflatten]", "6"]);
        says(Array::from_slice(&[1, 2, 3], [2, 2]), &["[from_slice]", "3", "[2, 2]", "4"]);
        says(Array::from_vec(vec![1; 5], [2, 2]), &["5", "4"]);
        says(Array::try_from(vec![vec![1, 2], vec![3]]), &["2", "1"]);
        says(ops::concatenate(&[&zeros(&[2, 3]), &zeros(&[2, 4])], 0), &["[concatenate]", "[2, 3]", "[2, 4]", "axis 0"]);
        says(ops::concatenate(&[&zeros(&[2, 3]), &zeros(&[3])], 0), &["[2, 3]", "[3]"]);
        says(ops::stack(&[&zeros(&[2]), &zeros(&[3])], 0), &["[stack]", "[2]", "[3]"]);
        says(ops::split(&zeros(&[7]), 2, 0), &["[split]", "7", "2"]);
        says(ops::split(&zeros(&[7]), 0, 0), &["[split]", "0"]);
        says(ops::view(&ops::zeros([3], Dtype::Uint8), Dtype::Float32), &["[view]", "float32", "uint8"]);
        says(ops::slice_update(&zeros(&[4]), &zeros(&[3]), &idx![..2]), &["[slice_update]", "[2]", "[3]"]);
        says(ops::squeeze(&zeros(&[2, 1]), 0), &["[squeeze]", "2"]);
        says(ops::diag(&zeros(&[1, 1, 1]), 0), &["[diag]", "[1, 1, 1]"]);
        says(ops::tril(&zeros(&[3]), 0), &["[tril]", "[3]"]);
        says(ops::pad(&zeros(&[2]), 1, PadMode::Constant, &zeros(&[2])), &["[pad]", "[2]"]);
        says(ops::take_along_axis(&zeros(&[2, 3]), &Array::from([1]), 0), &["[take_along_axis]", "[1]", "[2, 3]"]);
    }

    fn axes_that_do_not_exist() {
        let a = zeros(&[2, 3]);
        says(ops::sum(&a, 2, false), &["[sum]", "axis 2", "2 dimensions"]);
        says(ops::sum(&a, -3, false), &["axis -3"]);
        says(ops::sum(&a, [0, 0], false), &["[sum]", "axis 0", "twice"]);
        says(ops::sum(&a, [0, -2], false), &["twice"]);
        says(ops::argmax(&a, 5, false), &["[argmax]", "axis 5"]);
        says(ops::softmax(&a, 2, false), &["[softmax]", "axis 2"]);
        says(ops::cumsum(&a, 2, false, true), &["[cumsum]", "axis 2"]);
        says(ops::sort(&a, -3), &["[sort]", "axis -3"]);
        says(ops::take(&a, &Array::from([0]), 2), &["[take]", "axis 2"]);
        says(ops::transpose(&a, Axes::from([0, 2])), &["[transpose]", "axis 2"]);
        says(ops::transpose(&a, Axes::from([0, 0])), &["[transpose]"]);
        says(ops::transpose(&a, Axes::from([0])), &["[transpose]"]);
        says(ops::swapaxes(&a, 0, 2), &["[swapaxes]", "axis 2"]);
        says(ops::moveaxis(&a, 2, 0), &["[moveaxis]", "axis 2"]);
        says(ops::expand_dims(&a, 4), &["[expand_dims]", "axis 4"]);
        says(ops::concatenate(&[&a], 2), &["[concatenate]", "axis 2"]);
        says(ops::stack(&[&a], 4), &["[stack]", "axis 4"]);
        says(ops::repeat(&a, 2, 2), &["[repeat]", "axis 2"]);
        says(ops::roll(&a, &[1], 2), &["[roll]", "axis 2"]);
        says(ops::flip(&a, i64::MIN), &["[flip]", "axis -9223372036854775808"]);
        says(ops::flatten(&a, 1, 0), &["[flatten]"]);
        says(ops::diagonal(&a, 0, 1, 1), &["[diagonal]"]);
        says(ops::diff(&a, 1, 2), &["[diff]", "axis 2"]);
        says(ops::var(&zeros(&[]), 0, false, 0), &["axis 0", "0 dimensions"]);
    }

    fn indices_that_are_not_there() {
        let a = zeros(&[2, 3]);
        says(a.get(2), &["index 2", "axis 0", "size 2"]);
        says(a.index(idx![.., -4]), &["index -4", "axis 1", "size 3"]);
        says(a.index(idx![0, 0, 0]), &["[index]", "3", "2"]);
        says(a.index([Index::Ellipsis, Index::Ellipsis]), &["[index]"]);
        says(a.index([Index::step(None, None, 0)]), &["[index]", "zero"]);
        says(a.get(i64::MIN), &["index -9223372036854775808"]);
        says(a.item_at::<f32>(&[1, 3]), &["index 3", "axis 1", "size 3"]);
        says(a.item_at::<f32>(&[1]), &["[item_at]", "1", "2"]);
        says(a.item::<f32>(), &["[item]", "6"]);
        says(ops::partition(&a, 3, 1), &["[partition]", "index 3", "axis 1", "size 3"]);
        says(ops::argpartition(&a, -4, 1), &["[argpartition]", "index -4"]);
        says(ops::topk(&a, 4, 1), &["[topk]", "4", "3"]);
        says(ops::as_strided(&a, [4], Some(&[2]), 0), &["[as_strided]", "6"]);
        says(ops::as_strided(&a, [2], Some(&[-1]), 0), &["[as_strided]", "-1"]);
        says(ops::as_strided(&a, [2], Some(&[isize::MAX]), 1), &["[as_strided]"]);
        says(ops::as_strided(&a, [2, 2], Some(&[1]), 0), &["[as_strided]", "2", "1"]);
        says(ops::slice_update(&a, 0, &idx![2]), &["index 2", "axis 0", "size 2"]);
    }

    fn slices_beyond_the_ends_are_cut_as_in_python() {
        let a = Array::from([0, 1, 2]);
        assert_eq!(a.index(idx![-100..100]).to_vec::<i32>().unwrap(), [0, 1, 2]);
        assert_eq!(a.index([Index::step(i64::MAX, i64::MIN, -1)]).to_vec::<i32>().unwrap(), [2, 1, 0]);
        assert_eq!(a.index([Index::step(None, None, i64::MIN)]).to_vec::<i32>().unwrap(), [2]);
        assert_eq!(a.index([Index::step(None, None, i64::MAX)]).to_vec::<i32>().unwrap(), [0]);
        assert_eq!(a.index(idx![3..]).shape(), [0]);
    }

    fn element_types_that_a_function_does_not_take() {
        let (f, c, b) = (zeros(&[2]), ops::zeros([2], Dtype::Complex64), Array::from([true]));
        says(ops::bitwise_and(&f, 1), &["[bitwise_and]", "float32"]);
        says(ops::left_shift(&f, &f), &["[left_shift]", "float32"]);
        says(ops::floor(&c), &["[floor]", "complex64"]);
        says(ops::erf(&c), &["[erf]", "complex64"]);
        says(ops::remainder(&c, &c), &["[remainder]", "complex64"]);
        says(ops::negative(&b), &["[negative]", "bool"]);
        says(ops::matmul(&Array::from([[1]]), &Array::from([[1]])), &["[matmul]", "int32"]);
        says(ops::take(&f, &f, 0), &["[take]", "float32"]);
        says(f.index(idx![&f]), &["float32"]);
        says(f.index(idx![&b]), &["bool"]);
        says(ops::take_along_axis(&f, &f, 0), &["float32"]);
        says(ops::arange(0, 3, 1, Dtype::Bool), &["[arange]", "bool"]);
        says(ops::nan_to_num(&c, 0.0, None, None), &["complex64"]);
        says(f.to_vec::<i32>(), &["[to_vec]", "float32", "int32"]);
        says(zeros(&[1]).item::<f64>(), &["[item]", "float32", "float64"]);
        says("float8".parse::<Dtype>(), &["float8", "float16"]);
        says(random::uniform(0, 1, [2], Dtype::Int32, None), &["[uniform]", "int32"]);
        says(random::randint(0, 1, [2], Dtype::Float32, None), &["[randint]", "float32"]);
        says(random::normal([2], Dtype::Bool, 0, 1, None), &["[normal]", "bool"]);
        says(random::bernoulli(&Array::from([1]), None, None), &["[bernoulli]", "int32"]);
        says(random::bits([2], 4, Some(&f)), &["[bits]", "float32"]);
        says(random::bits([2], 3, None), &["[bits]", "3"]);
        says(random::split(&Array::from([1u32, 2, 3]), 2), &["[3]"]);
        says(random::uniform(&zeros(&[3]), 1, [2], Dtype::Float32, None), &["[3]", "[2]"]);
        says(random::categorical(&zeros(&[2, 0]), -1, random::Samples::One, None), &["[2, 0]"]);
    }

    fn numbers_that_do_not_fit_their_type() {
        says(ops::add(&Array::from([1u8]), 256), &["[add]", "256", "uint8", "0 to 255"]);
        says(ops::add(&Array::from([1i8]), -129), &["-129", "int8"]);
        says(ops::full([2], 300, Dtype::Int8), &["[full]", "300"]);
        says(ops::pad(&Array::from([1u8]), 1, PadMode::Constant, -1), &["-1", "uint8"]);
        says(ops::round(&zeros(&[1]), 39), &["[round]", "39"]);
    }

    fn sizes_that_no_machine_has() {
        let huge = usize::MAX / 2;
        says(ops::zeros([huge, 3], Dtype::Float32), &["[zeros]"]);
        says(ops::zeros([usize::MAX], Dtype::Uint8), &["[zeros]", &usize::MAX.to_string()]);
        says(ops::full([1usize << 40, 1usize << 40], 1, None), &["[full]"]);
        says(ops::eye(huge, None, 0, Dtype::Float32), &["[eye]"]);
        says(ops::broadcast_to(&zeros(&[1]), [huge, huge]), &["[broadcast_to]"]);
        says(ops::tile(&zeros(&[2, 2]), [huge, huge]), &["[tile]"]);
        says(ops::repeat(&zeros(&[8]), huge, None), &["[repeat]"]);
        says(ops::pad(&zeros(&[2]), huge, PadMode::Constant, 0), &["[pad]"]);
        says(ops::pad(&zeros(&[2]), huge, PadMode::Reflect, 0), &["[pad]"]);
        says(ops::arange(0, i64::MAX, 1, None), &["[arange]"]);
        says(ops::linspace(0.0, 1.0, huge, true, Dtype::Float32), &[]);
        says(ops::diag(&zeros(&[2]), i64::MAX), &["[diag]"]);
        says(ops::outer(&ops::broadcast_to(&zeros(&[1]), [1usize << 40]), &ops::broadcast_to(&zeros(&[1]), [1usize << 40])), &[]);
        says(random::bits([huge], 4, None), &["[bits]"]);
        says(random::split(&random::key(0), huge), &[]);
        says(Array::from_slice::<u8>(&[], [huge, 4]), &["[from_slice]"]);
        assert_eq!(ops::zeros([0, usize::MAX], Dtype::Uint8).size(), 0);
    }

    fn memory_that_is_not_there() {
        let huge = ops::zeros([1usize << 50], Dtype::Float32);
        let copy = ops::add(&huge, 1);
        let text = copy.eval().unwrap_err().to_string();
        assert!(text.contains("cannot allocate 4503599627370496 bytes"), "{text}");
        assert!(matches!(copy.eval().unwrap_err().root(), Error::Memory { .. }));
        assert_eq!(ops::add(&Array::from([1]), 1).to_vec::<i32>().unwrap(), [2]);
    }

    fn ranges_that_do_not_end() {
        says(ops::arange(0, 1, 0, None), &["[arange]", "zero"]);
        says(ops::arange(0.0, f64::NAN, 1, None), &["[arange]", "NaN"]);
        says(ops::arange(0.0, f64::INFINITY, 1, None), &["[arange]", "inf"]);
        says(ops::arange(0.0, 1e300, 1e-300, None), &["[arange]"]);
    }

    fn lists_that_are_empty() {
        says(ops::concatenate(Vec::<Array>::new(), 0), &["[concatenate]"]);
        says(ops::stack(Vec::<Array>::new(), 0), &["[stack]"]);
        says(ops::clip(&zeros(&[1]), None, None), &["[clip]"]);
        says(ops::roll(&zeros(&[2, 2]), &[1, 2, 3], [0, 1]), &["[roll]", "3", "2"]);
        assert_eq!(ops::broadcast_arrays(Vec::<Array>::new()).len(), 0);
        assert_eq!(ops::meshgrid(Vec::<Array>::new(), false, ops::Indexing::Xy).len(), 0);
    }

    fn devices_that_are_not_there() {
        let none = Device::new(DeviceType::Cpu, 9);
        says(pellucid::with_device(none, || 1), &["Device(cpu, 9)"]);
        says(pellucid::new_stream(Device::new(DeviceType::Gpu, 99)), &["Device(gpu, 99)"]);
        says(pellucid::default_stream(none), &["Device(cpu, 9)", "0"]);
        says(pellucid::set_default_device(none), &["[set_default_device]", "Device(cpu, 9)"]);
        says(pellucid::device_info(none), &["[device_info]"]);
        assert!(!pellucid::is_available(none));
    }

    fn floats_that_do_not_fit_an_integer_become_the_nearest_that_does() {
        let a = Array::from([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e20, -1e20, -0.9, 3.99]);
        let cast = |dtype| ops::astype(&a, dtype);
        assert_eq!(cast(Dtype::Int32).to_vec::<i32>().unwrap(), [0, i32::MAX, i32::MIN, i32::MAX, i32::MIN, 0, 3]);
        assert_eq!(cast(Dtype::Int8).to_vec::<i8>().unwrap(), [0, 127, -128, 127, -128, 0, 3]);
        assert_eq!(cast(Dtype::Uint8).to_vec::<u8>().unwrap(), [0, 255, 0, 255, 0, 0, 3]);
        assert_eq!(cast(Dtype::Uint64).to_vec::<u64>().unwrap(), [0, u64::MAX, 0, u64::MAX, 0, 0, 3]);
        assert_eq!(cast(Dtype::Int64).to_vec::<i64>().unwrap(), [0, i64::MAX, i64::MIN, i64::MAX, i64::MIN, 0, 3]);
        assert_eq!(cast(Dtype::Bool).to_vec::<bool>().unwrap(), [true; 7]);
        let half = Array::from([f16::NAN, f16::INFINITY, f16::from_f32(-300.5)]);
        assert_eq!(ops::astype(&half, Dtype::Uint8).to_vec::<u8>().unwrap(), [0, 255, 0]);
        let double = Array::from([f64::NAN, 1e300]);
        assert_eq!(ops::astype(&double, Dtype::Int64).to_vec::<i64>().unwrap(), [0, i64::MAX]);
    }

    fn integer_division_by_zero_is_zero_and_leaves_the_dividend() {
        let (a, zero) = (Array::from([7, -7, i32::MIN]), Array::from([0, 0, -1]));
        assert_eq!(ops::floor_divide(&a, &zero).to_vec::<i32>().unwrap(), [0, 0, i32::MIN]);
        assert_eq!(ops::remainder(&a, &zero).to_vec::<i32>().unwrap(), [7, -7, 0]);
        assert_eq!(ops::divide(&a, &zero).to_vec::<f32>().unwrap()[0], f32::INFINITY);
    }

    fn negative_powers_and_wide_shifts_of_integers_have_a_value() {
        let a = Array::from([2, 1, -1, 0]);
        ops::power(&a, &Array::from([-1])).eval().unwrap();
        ops::left_shift(&a, &Array::from([32])).eval().unwrap();
        ops::right_shift(&a, &Array::from([-1])).eval().unwrap();
        assert_eq!(ops::power(&a, &Array::from([i32::MAX])).item_at::<i32>(&[2]).unwrap(), -1);
    }

    fn integers_far_apart_are_not_close() {
        let (low, high) = (Array::from([i8::MIN, i8::MIN, 0]), Array::from([i8::MAX, 1, -1]));
        let close = |rtol, atol| ops::isclose(&low, &high, rtol, atol, false).to_vec::<bool>().unwrap();
        assert_eq!(close(1e-5, 1e-8), [false; 3]);
        assert_eq!(close(0.0, 129.0), [false, true, true]);
        assert_eq!(close(0.0, 255.0), [true; 3]);
    }
}
