//! Arrays without elements, in every function: a result of the right shape, or an error that says why not.

use pellucid::op::{BinaryOp, UnaryOp};
use pellucid::ops::{self, Index, Indexing, Operand, PadMode};
use pellucid::random::{self, Samples};
use pellucid::{Array, Axes, Dtype, Error, Shape, idx};

use crate::arguments::Arguments;
use crate::call::call;
use crate::conformance;

const SHAPES: [&[usize]; 4] = [&[0], &[0, 3], &[2, 0, 3], &[3, 2, 0]];

fn empty(shape: &[usize], dtype: Dtype) -> Array {
    ops::zeros(shape, dtype)
}

/// Every type and shape, and each of them backwards: a view whose strides lead nowhere.
fn each(mut f: impl FnMut(&Array)) {
    for dtype in Dtype::ALL {
        for shape in SHAPES {
            let a = empty(shape, dtype);
            f(&a);
            a.eval().unwrap();
            f(&ops::flip(&a, Axes::All));
        }
    }
}

/// A result that can be computed and has as many bytes as it should, or an error with a reason.
fn sound(what: &str, a: &Array, result: impl IntoIterator<Item = Array>) {
    for array in result {
        let Err(error) = array.check() else {
            let bytes = array.to_bytes().unwrap_or_else(|e| panic!("{what} of {a:?}: {e}"));
            assert_eq!(bytes.len(), array.nbytes(), "{what} of {a:?}");
            continue;
        };
        assert!(!matches!(error.root(), Error::Internal { .. }), "{what} of {a:?}: {error}");
        assert!(error.to_string().starts_with('['), "{what} of {a:?}: {error}");
    }
}

fn values(array: Array) -> Vec<f32> {
    ops::astype(&array, Dtype::Float32).to_vec().unwrap()
}

conformance! {
    fn every_function_of_one_array_keeps_the_shape() {
        let none = serde_json::Value::Null;
        each(|a| {
            for op in UnaryOp::ALL {
                match call(op.name(), std::slice::from_ref(a), &Arguments::new(&none)) {
                    Ok(results) => {
                        assert_eq!(results[0].shape(), a.shape(), "{}", op.name());
                        assert!(results[0].to_bytes().unwrap().is_empty());
                    }
                    Err(error) => assert!(matches!(error.root(), Error::Dtype { .. }), "{error}"),
                }
            }
        });
    }

    fn every_function_of_two_arrays_broadcasts() {
        let none = serde_json::Value::Null;
        each(|a| {
            let one = ops::ones([1], a.dtype());
            for op in BinaryOp::ALL {
                for pair in [[a.clone(), one.clone()], [one.clone(), a.clone()], [a.clone(), a.clone()]] {
                    match call(op.name(), &pair, &Arguments::new(&none)) {
                        Ok(results) => {
                            assert_eq!(results[0].shape(), a.shape(), "{}", op.name());
                            assert!(results[0].to_bytes().unwrap().is_empty());
                        }
                        Err(error) => assert!(matches!(error.root(), Error::Dtype { .. }), "{error}"),
                    }
                }
            }
        });
    }

    fn sums_of_nothing_are_neutral() {
        for dtype in Dtype::ALL {
            let a = empty(&[2, 0, 3], dtype);
            a.eval().unwrap();
            assert_eq!(values(ops::sum(&ops::flip(&a, Axes::All), 1, false)), [0.0; 6], "{dtype}");
            assert_eq!(values(ops::sum(&a, 1, false)), [0.0; 6], "{dtype}");
            assert_eq!(values(ops::prod(&a, 1, false)), [1.0; 6], "{dtype}");
            assert_eq!(values(ops::all(&a, 1, false)), [1.0; 6], "{dtype}");
            assert_eq!(values(ops::any(&a, 1, false)), [0.0; 6], "{dtype}");
            assert_eq!(values(ops::sum(&a, Axes::All, false)), [0.0], "{dtype}");
            assert_eq!(ops::sum(&a, 2, true).shape(), [2, 0, 1]);
            assert_eq!(values(ops::sum(&a, 0, false)), [0.0; 0], "{dtype}");
        }
        assert!(values(ops::mean(&empty(&[0], Dtype::Float32), Axes::All, false))[0].is_nan());
        let logarithm = ops::logsumexp(&empty(&[0], Dtype::Float32), Axes::All, false);
        assert!(matches!(logarithm.check().unwrap_err().root(), Error::Shape { .. }));
    }

    fn the_largest_of_nothing_does_not_exist() {
        for dtype in Dtype::ALL {
            let a = empty(&[2, 0, 3], dtype);
            for result in [ops::max(&a, 1, false), ops::min(&a, Axes::All, false), ops::argmax(&a, 1, false), ops::argmin(&a, None, false)] {
                assert!(matches!(result.check().unwrap_err().root(), Error::Shape { .. }));
            }
            // No position is asked for, so that nothing is missing.
            assert!(ops::max(&a, 2, false).to_bytes().unwrap().is_empty());
            assert_eq!(ops::max(&a, 0, false).shape(), [0, 3]);
        }
    }

    fn reductions_scans_and_order_are_sound() {
        each(|a| {
            for axis in [None, Some(0), Some(-1)] {
                let one = |what: &str, result: Array| sound(what, a, [result]);
                one("mean", ops::mean(a, axis, true));
                one("var", ops::var(a, axis, false, 0));
                one("std", ops::std(a, axis, false, 1));
                one("median", ops::median(a, axis, false));
                one("count_nonzero", ops::count_nonzero(a, axis, false));
                sound("minmax", a, <[Array; 2]>::from(ops::minmax(a, axis, false)));
                one("logsumexp", ops::logsumexp(a, axis, false));
                one("softmax", ops::softmax(a, axis, true));
                one("argmax", ops::argmax(a, axis, true));
                for (reverse, inclusive) in [(false, true), (true, false)] {
                    one("cumsum", ops::cumsum(a, axis, reverse, inclusive));
                    one("cumprod", ops::cumprod(a, axis, reverse, inclusive));
                    one("cummax", ops::cummax(a, axis, reverse, inclusive));
                    one("cummin", ops::cummin(a, axis, reverse, inclusive));
                    one("logcumsumexp", ops::logcumsumexp(a, axis, reverse, inclusive));
                }
                one("sort", ops::sort(a, axis));
                one("argsort", ops::argsort(a, axis));
                one("partition", ops::partition(a, 0, axis));
                one("argpartition", ops::argpartition(a, 0, axis));
                one("topk", ops::topk(a, 0, axis));
                one("topk", ops::topk(a, 1, axis));
            }
            sound("diff", a, [ops::diff(a, 1, -1)]);
            assert_eq!(ops::sort(a, -1).shape(), a.shape());
            assert_eq!(ops::cumsum(a, 0, false, true).shape(), a.shape());
        });
    }

    fn movements_keep_the_type_and_are_sound() {
        each(|a| {
            let one = |what: &str, result: Array| {
                if result.check().is_ok() {
                    assert_eq!(result.dtype(), a.dtype(), "{what}");
                }
                sound(what, a, [result]);
            };
            one("reshape", ops::reshape(a, [0, 5]));
            one("reshape", ops::reshape(a, [1]));
            one("flatten", ops::flatten(a, 0, -1));
            one("unflatten", ops::unflatten(a, 0, [1, -1]));
            one("transpose", a.T());
            one("matrix_transpose", ops::matrix_transpose(a));
            one("moveaxis", ops::moveaxis(a, 0, -1));
            one("squeeze", ops::squeeze(a, Axes::All));
            one("expand_dims", ops::expand_dims(a, [0, -1]));
            one("flip", ops::flip(a, Axes::All));
            one("contiguous", ops::contiguous(a));
            one("as_strided", ops::as_strided(a, [0, 2], None, 0));
            one("as_strided", ops::as_strided(a, [1], None, 0));
            one("concatenate", ops::concatenate(&[a, a], 0));
            one("concatenate", ops::concatenate(&[a, a], None));
            one("stack", ops::stack(&[a, a], 1));
            one("tile", ops::tile(a, [2, 2]));
            one("repeat", ops::repeat(a, 3, None));
            one("repeat", ops::repeat(a, 3, 0));
            one("roll", ops::roll(a, &[3], Axes::All));
            one("roll", ops::roll(a, &[-3], 0));
            for mode in [PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Symmetric] {
                one("pad", ops::pad(a, 1, mode, 1));
            }
            one("tril", ops::tril(a, 0));
            one("triu", ops::triu(a, -1));
            one("diag", ops::diag(a, 1));
            one("diagonal", ops::diagonal(a, 0, 0, -1));
            one("atleast_3d", ops::atleast_3d(a));
            one("zeros_like", ops::zeros_like(a));
            one("full_like", ops::full_like(a, 1, None));
            sound("trace", a, [ops::trace(a, 0, 0, -1, None)]);
            sound("split", a, ops::split(a, 3, -1));
            sound("split", a, ops::split(a, [1, 5], 0));
            sound("unstack", a, ops::unstack(a, 0));
            sound("meshgrid", a, ops::meshgrid(&[a, a], false, Indexing::Xy));
            sound("broadcast_arrays", a, ops::broadcast_arrays(&[a, &Array::from(1)]));
            for to in Dtype::ALL {
                assert!(ops::astype(a, to).to_bytes().unwrap().is_empty());
                sound("view", a, [ops::view(a, to)]);
            }
            assert_eq!(ops::tile(a, [2]).size(), 0);
            assert_eq!(a.rows().len(), a.shape()[0]);
            assert!(a.to_string().starts_with("array("));
            assert!(matches!(a.to_scalar(), Err(Error::Shape { .. })));
        });
    }

    fn joining_with_nothing_gives_the_other() {
        let (a, none) = (Array::from([[1, 2]]), empty(&[0, 2], Dtype::Int32));
        assert_eq!(ops::concatenate(&[&none, &a, &none], 0).to_vec::<i32>().unwrap(), [1, 2]);
        assert_eq!(ops::pad(&empty(&[0], Dtype::Int32), (1, 2), PadMode::Constant, 7).to_vec::<i32>().unwrap(), [7; 3]);
        assert!(matches!(ops::pad(&empty(&[0], Dtype::Int32), 1, PadMode::Edge, 0).check().unwrap_err().root(), Error::Shape { .. }));
    }

    fn selections_are_sound() {
        each(|a| {
            let one = |what: &str, result: Array| sound(what, a, [result]);
            let (nothing, zero) = (empty(&[0], Dtype::Int32), Array::from([0]));
            one("slice", a.index([Index::Ellipsis, Index::step(None, None, -1)]));
            one("new axis", a.index([Index::NewAxis, Index::Ellipsis, Index::NewAxis]));
            one("take", ops::take(a, &nothing, 0));
            one("take", ops::take(a, &nothing, None));
            one("index", a.index(idx![&nothing]));
            one("slice_update", ops::slice_update(a, 1, &idx![..]));
            one("slice_update", ops::slice_update(a, a, &[Index::Ellipsis]));
            one("slice_update", ops::slice_update(a, 1, &idx![&nothing]));
            one("where", ops::where_(&ops::astype(a, Dtype::Bool), a, 1));
            one("clip", ops::clip(a, 0, 1));
            one("nan_to_num", ops::nan_to_num(a, 0.0, None, None));
            one("isclose", ops::isclose(a, a, 0.0, 0.0, true));
            one("round", ops::round(a, 1));
            sound("divmod", a, <[Array; 2]>::from(ops::divmod(a, a)));
            let indices = ops::zeros_like(&ops::astype(a, Dtype::Int32));
            one("take_along_axis", ops::take_along_axis(a, &indices, 0));
            one("put_along_axis", ops::put_along_axis(a, &indices, 1, -1));
            assert!(ops::array_equal(a, a, false).item::<bool>().unwrap());
            assert!(ops::allclose(a, a, 0.0, 0.0, false).item::<bool>().unwrap());
            // An element is asked for where there is none.
            let from = ops::take(a, &zero, None).eval();
            assert!(matches!(from.unwrap_err().root(), Error::Index { .. } | Error::Shape { .. }));
        });
    }

    fn products_over_nothing_are_zero() {
        for dtype in [Dtype::Float16, Dtype::Bfloat16, Dtype::Float32, Dtype::Float64, Dtype::Complex64] {
            let (a, b) = (empty(&[2, 0], dtype), empty(&[0, 3], dtype));
            assert_eq!(values(ops::matmul(&a, &b)), [0.0; 6], "{dtype}");
            assert_eq!(ops::matmul(&b, &empty(&[3, 4], dtype)).shape(), [0, 4]);
            let ones = ops::ones([2, 3], dtype);
            assert_eq!(values(ops::addmm(&ones, &a, &b, 1.0, 2.0)), [2.0; 6], "{dtype}");
            assert_eq!(values(ops::inner(&empty(&[0], dtype), &empty(&[0], dtype))), [0.0]);
            assert_eq!(ops::outer(&empty(&[0], dtype), &ones).shape(), [0, 6]);
            assert_eq!(values(ops::tensordot(&a, &b, 1)), [0.0; 6]);
            assert_eq!(values(ops::vecdot(&empty(&[0], dtype), &empty(&[0], dtype), 0)), [0.0]);
            let refused = ops::kron(&a, &ones).check().unwrap_err().to_string();
            assert!(refused.contains("[kron] needs elements on each side"), "{refused}");
            let stacks = ops::matmul(&empty(&[0, 2, 3], dtype), &empty(&[3, 2], dtype));
            assert_eq!((stacks.shape(), stacks.to_bytes().unwrap().len()), (&[0, 2, 2][..], 0));
        }
    }

    fn creation_and_random_numbers_of_nothing() {
        let key = random::key(1);
        let zero = || Operand::from(0);
        for shape in SHAPES {
            let shape = || Shape::from(shape);
            let arrays = [
                random::bits(shape(), 4, Some(&key)),
                random::uniform(0, 1, shape(), Dtype::Float32, Some(&key)),
                random::normal(shape(), Dtype::Float16, zero(), 1, Some(&key)),
                random::normal(shape(), Dtype::Complex64, zero(), 1, Some(&key)),
                random::truncated_normal(-1.0, 1.0, Some(shape()), Dtype::Float32, Some(&key)),
                random::gumbel(shape(), Dtype::Float32, Some(&key)),
                random::laplace(shape(), Dtype::Float32, 0.0, 1.0, Some(&key)),
                random::bernoulli(0.5, Some(shape()), Some(&key)),
                random::randint(0, 5, shape(), Dtype::Int32, Some(&key)),
            ];
            for array in arrays {
                assert_eq!((array.shape(), array.to_bytes().unwrap().len()), (&*shape(), 0));
            }
        }
        assert_eq!(random::split(&key, 0).shape(), [0, 2]);
        assert!(random::permutation(0, Some(&key)).to_vec::<u32>().unwrap().is_empty());
        let chosen = random::categorical(&empty(&[0, 3], Dtype::Float32), -1, Samples::One, Some(&key));
        assert_eq!((chosen.shape(), chosen.to_bytes().unwrap().len()), (&[0][..], 0));
        for dtype in Dtype::ALL {
            assert!(ops::eye(0, 3, 0, dtype).to_bytes().unwrap().is_empty());
            assert!(ops::tri(3, 0, 0, dtype).to_bytes().unwrap().is_empty());
            assert!(ops::full([0, 2], 1, dtype).to_bytes().unwrap().is_empty());
        }
        assert!(ops::arange(0, 0, 1, None).to_vec::<i32>().unwrap().is_empty());
        assert!(ops::linspace(0.0, 1.0, 0, true, Dtype::Float32).to_vec::<f32>().unwrap().is_empty());
    }
}
