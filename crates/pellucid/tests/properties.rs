//! Random input against a reference that is as simple as it can be: nested loops over positions, sums in `f64`.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Mutex;

use pellucid::ops::{self, Index};
use pellucid::{Array, Axes, Dtype, eval, set_fusion};
use proptest::prelude::*;

/// An array of the reference: every element in row-major order.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    shape: Vec<usize>,
    data: Vec<i32>,
}

/// Every position of a shape, in row-major order.
fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &size in shape {
        all = all.into_iter().flat_map(|p| (0..size).map(move |i| [p.clone(), vec![i]].concat())).collect();
    }
    all
}

impl Plain {
    fn counted(shape: &[usize]) -> Plain {
        Plain { shape: shape.to_vec(), data: (0..shape.iter().product::<usize>() as i32).collect() }
    }

    fn at(&self, position: &[usize]) -> i32 {
        let flat = position.iter().zip(&self.shape).fold(0, |flat, (&i, &size)| flat * size + i);
        self.data[flat]
    }

    /// The array of this shape whose element at a position is the one at the position that `from` gives.
    fn gather(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Plain {
        let data = positions(&shape).iter().map(|p| self.at(&from(p))).collect();
        Plain { shape, data }
    }

    fn array(&self) -> Array {
        Array::from_slice(&self.data, self.shape.clone())
    }
}

fn assert_same(array: &Array, plain: &Plain) {
    assert_eq!(array.shape(), plain.shape);
    assert_eq!(array.to_vec::<i32>().unwrap(), plain.data);
}

/// The shape two shapes broadcast to, one axis at a time from the end.
fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let size = |shape: &[usize], back: usize| shape.len().checked_sub(back).map_or(1, |i| shape[i]);
    (1..=a.len().max(b.len()))
        .rev()
        .map(|back| match (size(a, back), size(b, back)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// The element of a smaller array that stands at a position of the array it is broadcast to.
fn source(shape: &[usize], position: &[usize]) -> Vec<usize> {
    let own = &position[position.len() - shape.len()..];
    own.iter().zip(shape).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect()
}

fn shape(most_axes: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..5usize, 0..=most_axes)
}

/// Two shapes that often broadcast: axes of one, left out or kept.
fn shapes_of_a_pair() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    let axis = (1..5usize, 0..8u8);
    (prop::collection::vec(axis, 0..5), 0..4usize).prop_map(|(axes, left_out)| {
        let a = axes.iter().map(|&(size, kind)| if kind == 0 { 1 } else { size }).collect();
        let b = axes.iter().map(|&(size, kind)| match kind {
            1 | 2 => 1,
            3 => size + 1,
            4 if size > 3 => 0,
            _ => size,
        });
        (a, b.skip(left_out).collect())
    })
}

/// What Python's `range(*slice.indices(size))` lists.
fn sliced(start: Option<i64>, stop: Option<i64>, step: i64, size: usize) -> Vec<usize> {
    let size = size as i64;
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let place = |p: i64| (if p < 0 { p + size } else { p }).clamp(lowest, highest);
    let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let (mut at, end) = (start.map_or(first, place), stop.map_or(last, place));
    let mut list = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        list.push(at as usize);
        at += step;
    }
    list
}

/// One step of a chain of views.
#[derive(Clone, Debug)]
enum Step {
    Transpose(u64),
    Slice(u64, Option<i64>, Option<i64>, i64),
    Pick(u64, i64),
    NewAxis(u64),
    Broadcast(usize),
    Flat,
    Split(u64),
    Reverse(u64),
    Add,
}

fn step() -> impl Strategy<Value = Step> {
    let bound = || prop::option::of(-6..6i64);
    let stride = prop_oneof![1..4i64, -3..0i64];
    prop_oneof![
        any::<u64>().prop_map(Step::Transpose),
        (any::<u64>(), bound(), bound(), stride).prop_map(|(at, a, b, s)| Step::Slice(at, a, b, s)),
        (any::<u64>(), -4..4i64).prop_map(|(at, i)| Step::Pick(at, i)),
        any::<u64>().prop_map(Step::NewAxis),
        (1..4usize).prop_map(Step::Broadcast),
        Just(Step::Flat),
        any::<u64>().prop_map(Step::Split),
        any::<u64>().prop_map(Step::Reverse),
        Just(Step::Add),
    ]
}

/// The indices that leave all axes but one as they are.
fn along(axis: usize, index: Index) -> Vec<Index> {
    std::iter::repeat_n(Index::step(None, None, 1), axis).chain([index]).collect()
}

/// The step in both worlds; unchanged where it has nothing to work on.
fn take_step(array: &Array, plain: &Plain, step: &Step) -> (Array, Plain) {
    let shape = plain.shape.clone();
    let ndim = shape.len();
    let axis = |at: u64| (ndim > 0).then(|| (at % ndim as u64) as usize);
    let same = || (array.clone(), plain.clone());
    match *step {
        Step::Transpose(seed) => {
            let mut order: Vec<usize> = (0..ndim).collect();
            order.sort_by_key(|&i| (seed.wrapping_mul(i as u64 * 2 + 3)) >> 32);
            let axes: Vec<i64> = order.iter().map(|&i| i as i64).collect();
            let moved = ops::transpose(array, Axes::from(axes));
            let result = order.iter().map(|&i| shape[i]).collect();
            let back = |p: &[usize]| {
                let mut from = vec![0; ndim];
                order.iter().zip(p).for_each(|(&i, &at)| from[i] = at);
                from
            };
            (moved, plain.gather(result, back))
        }
        Step::Slice(at, start, stop, stride) => {
            let Some(axis) = axis(at) else { return same() };
            let list = sliced(start, stop, stride, shape[axis]);
            let part = array.index(along(axis, Index::step(start, stop, stride)));
            let mut result = shape.clone();
            result[axis] = list.len();
            let from = |p: &[usize]| {
                let mut from = p.to_vec();
                from[axis] = list[p[axis]];
                from
            };
            (part, plain.gather(result, from))
        }
        Step::Pick(at, i) => {
            let Some(axis) = axis(at) else { return same() };
            let size = shape[axis] as i64;
            let picked = array.index(along(axis, Index::Int(i)));
            if !(-size..size).contains(&i) {
                assert!(picked.check().is_err(), "index {i} of {size}");
                return same();
            }
            let mut result = shape.clone();
            result.remove(axis);
            let from = |p: &[usize]| {
                let mut from = p.to_vec();
                from.insert(axis, i.rem_euclid(size) as usize);
                from
            };
            (picked, plain.gather(result, from))
        }
        Step::NewAxis(at) => {
            let place = (at % (ndim as u64 + 1)) as usize;
            let mut result = shape.clone();
            result.insert(place, 1);
            (ops::expand_dims(array, place as i64), Plain { shape: result, data: plain.data.clone() })
        }
        Step::Broadcast(n) => {
            let result = [vec![n], shape.iter().map(|&d| if d == 1 { n } else { d }).collect()].concat();
            let wide = ops::broadcast_to(array, result.clone());
            (wide, plain.gather(result, |p| source(&shape, p)))
        }
        Step::Flat => {
            (ops::reshape(array, [-1]), Plain { shape: vec![plain.data.len()], data: plain.data.clone() })
        }
        Step::Split(at) => {
            let Some(axis) = axis(at).filter(|&axis| shape[axis] > 0 && shape[axis].is_multiple_of(2)) else {
                return same();
            };
            let mut result = shape.clone();
            result.splice(axis..=axis, [shape[axis] / 2, 2]);
            let sizes: Vec<i64> = result.iter().map(|&d| d as i64).collect();
            (ops::reshape(array, sizes), Plain { shape: result, data: plain.data.clone() })
        }
        Step::Reverse(at) => {
            let Some(axis) = axis(at) else { return same() };
            let from = |p: &[usize]| {
                let mut from = p.to_vec();
                from[axis] = shape[axis] - 1 - p[axis];
                from
            };
            (ops::flip(array, axis as i64), plain.gather(shape.clone(), from))
        }
        Step::Add => {
            let data = plain.data.iter().map(|v| v + 1).collect();
            (ops::add(array, 1), Plain { shape, data })
        }
    }
}

/// An elementwise expression: each entry is a function and the entries before it that it works on.
#[derive(Clone, Debug)]
struct Program(Vec<(u8, u16, u16)>);

fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec((0..20u8, any::<u16>(), any::<u16>()), 1..40).prop_map(Program)
}

/// Fusion is a setting of the process.
static FUSION: Mutex<()> = Mutex::new(());

fn build(program: &Program, inputs: &[Array]) -> Vec<Array> {
    let mut values = inputs.to_vec();
    for &(function, i, j) in &program.0 {
        let pick = |k: u16| values[k as usize % values.len()].clone();
        let (a, b) = (pick(i), pick(j));
        let made = match function {
            0 | 1 => ops::add(&a, &b),
            2 | 3 => ops::multiply(&a, &b),
            4 => ops::subtract(&a, &b),
            5 => ops::divide(&a, &b),
            6 => ops::maximum(&a, &b),
            7 => ops::minimum(&a, &b),
            8 => ops::exp(&a),
            9 => ops::tanh(&a),
            10 => ops::sigmoid(&a),
            11 => ops::abs(&a),
            12 => ops::sqrt(&a),
            13 => ops::where_(&ops::less(&a, &b), &a, &b),
            14 => ops::add(&a, 0.5),
            15 => ops::astype(&ops::astype(&a, Dtype::Float16), Dtype::Float32),
            16 => ops::astype(&ops::floor(&a), Dtype::Float32),
            17 => ops::log1p(&a),
            18 => ops::sin(&a),
            _ => ops::negative(&a),
        };
        values.push(made);
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn property_broadcasting_pairs_elements_as_nested_loops_do((a, b) in shapes_of_a_pair()) {
        let (left, right) = (Plain::counted(&a), Plain::counted(&b));
        let sum = ops::add(left.array(), right.array());
        let difference = ops::subtract(right.array(), left.array());
        match broadcast(&a, &b) {
            None => {
                prop_assert!(sum.check().is_err() && difference.check().is_err());
            }
            Some(whole) => {
                let pairs: Vec<(i32, i32)> = positions(&whole)
                    .iter()
                    .map(|p| (left.at(&source(&a, p)), right.at(&source(&b, p))))
                    .collect();
                let plain = |f: fn((i32, i32)) -> i32| Plain {
                    shape: whole.clone(),
                    data: pairs.iter().copied().map(f).collect(),
                };
                assert_same(&sum, &plain(|(x, y)| x + y));
                assert_same(&difference, &plain(|(x, y)| y - x));
                prop_assert_eq!(ops::broadcast_shapes(&[&a, &b]).unwrap().to_vec(), whole);
            }
        }
    }

    #[test]
    fn property_slices_select_what_python_selects(
        size in 0..7usize,
        start in prop::option::of(-9..9i64),
        stop in prop::option::of(-9..9i64),
        step in prop_oneof![1..5i64, -4..0i64],
    ) {
        let plain = Plain::counted(&[size, 2]);
        let list = sliced(start, stop, step, size);
        let expected = plain.gather(vec![list.len(), 2], |p| vec![list[p[0]], p[1]]);
        assert_same(&plain.array().index([Index::step(start, stop, step)]), &expected);
        // The same part replaced: everything else stays.
        let updated = ops::slice_update(&plain.array(), -1, &[Index::step(start, stop, step)]);
        let data = positions(&[size, 2]).iter().map(|p| if list.contains(&p[0]) { -1 } else { plain.at(p) }).collect();
        assert_same(&updated, &Plain { shape: vec![size, 2], data });
    }

    #[test]
    fn property_chains_of_views_hold_the_elements_of_nested_loops(
        start in shape(4),
        steps in prop::collection::vec(step(), 0..8),
        evaluate in any::<u8>(),
    ) {
        let mut plain = Plain::counted(&start);
        let mut array = plain.array();
        let mut held = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            if plain.data.len() > 5_000 || plain.shape.len() > 8 {
                break;
            }
            (array, plain) = take_step(&array, &plain, step);
            if evaluate >> i & 1 == 1 {
                array.eval().unwrap();
                held.push((array.clone(), plain.clone()));
            }
        }
        assert_same(&array, &plain);
        for (array, plain) in &held {
            assert_same(array, plain);
        }
        let copy = ops::contiguous(&array);
        assert_same(&copy, &plain);
    }

    #[test]
    fn property_reductions_agree_with_nested_loops(
        start in shape(4),
        steps in prop::collection::vec(step(), 0..3),
        mask in any::<u8>(),
        keepdims in any::<bool>(),
    ) {
        let (mut array, mut plain) = (Plain::counted(&start).array(), Plain::counted(&start));
        for step in &steps {
            if plain.data.len() < 2_000 && plain.shape.len() < 6 {
                (array, plain) = take_step(&array, &plain, step);
            }
        }
        let axes: Vec<usize> = (0..plain.shape.len()).filter(|&i| mask >> i & 1 == 1).collect();
        let result: Vec<usize> = (0..plain.shape.len())
            .filter_map(|i| match axes.contains(&i) {
                false => Some(plain.shape[i]),
                true => keepdims.then_some(1),
            })
            .collect();
        // Every group of elements that shares the positions of the axes that stay.
        let kept: Vec<usize> = (0..plain.shape.len()).filter(|i| !axes.contains(i)).collect();
        let mut groups: Vec<Vec<f64>> = positions(&kept.iter().map(|&i| plain.shape[i]).collect::<Vec<_>>())
            .iter()
            .map(|_| Vec::new())
            .collect();
        for p in positions(&plain.shape) {
            let place = kept.iter().fold(0, |flat, &i| flat * plain.shape[i] + p[i]);
            groups[place].push(f64::from(plain.at(&p)));
        }
        let list = Axes::from(axes.iter().map(|&i| i as i64).collect::<Vec<_>>());
        let real = ops::astype(&array, Dtype::Float32);
        let check = |what: &str, found: Array, wanted: &dyn Fn(&[f64]) -> f64| {
            assert_eq!(found.shape(), result, "{what}");
            let found = ops::astype(&found, Dtype::Float64).to_vec::<f64>().unwrap();
            for (x, group) in found.iter().zip(&groups) {
                let y = wanted(group);
                let near = (x - y).abs() <= 1e-5 * y.abs().max(1.0) || (x.is_nan() && y.is_nan());
                assert!(near, "{what} of {group:?} is {x}, not {y}");
            }
        };
        let sum = |g: &[f64]| g.iter().sum::<f64>();
        let mean = |g: &[f64]| sum(g) / g.len() as f64;
        let variance = |g: &[f64]| g.iter().map(|v| (v - mean(g)).powi(2)).sum::<f64>() / g.len() as f64;
        check("sum", ops::sum(&array, list.clone(), keepdims), &sum);
        check("sum of reals", ops::sum(&real, list.clone(), keepdims), &sum);
        check("mean", ops::mean(&real, list.clone(), keepdims), &mean);
        check("var", ops::var(&real, list.clone(), keepdims, 0), &variance);
        check("any", ops::any(&array, list.clone(), keepdims), &|g| f64::from(u8::from(g.iter().any(|&v| v != 0.0))));
        check("all", ops::all(&array, list.clone(), keepdims), &|g| f64::from(u8::from(g.iter().all(|&v| v != 0.0))));
        if axes.iter().any(|&i| plain.shape[i] == 0) {
            // Nothing has no largest element.
            assert!(ops::max(&array, list.clone(), keepdims).check().is_err());
            assert!(ops::min(&real, list, keepdims).check().is_err());
        } else {
            check("max", ops::max(&array, list.clone(), keepdims), &|g| g.iter().copied().fold(f64::MIN, f64::max));
            check("min", ops::min(&real, list, keepdims), &|g| g.iter().copied().fold(f64::MAX, f64::min));
        }
    }

    #[test]
    fn property_running_sums_agree_with_nested_loops(
        start in prop::collection::vec(0..5usize, 1..4),
        at in any::<u64>(),
        reverse in any::<bool>(),
        inclusive in any::<bool>(),
        flip in any::<bool>(),
    ) {
        let plain = Plain::counted(&start);
        let axis = (at % start.len() as u64) as usize;
        let (array, plain) = if flip { take_step(&plain.array(), &plain, &Step::Transpose(at)) } else { (plain.array(), plain) };
        let size = plain.shape[axis];
        let data = positions(&plain.shape)
            .iter()
            .map(|p| {
                let here = p[axis];
                let range = match (reverse, inclusive) {
                    (false, true) => 0..here + 1,
                    (false, false) => 0..here,
                    (true, true) => here..size,
                    (true, false) => here + 1..size,
                };
                range.map(|i| { let mut q = p.clone(); q[axis] = i; plain.at(&q) }).sum()
            })
            .collect();
        let found = ops::cumsum(&array, axis as i64, reverse, inclusive);
        assert_same(&found, &Plain { shape: plain.shape.clone(), data });
    }

    #[test]
    fn property_products_agree_with_nested_loops(
        (m, k, n) in (0..9usize, 0..9usize, 0..9usize),
        transpose in any::<(bool, bool)>(),
    ) {
        let made = |rows: usize, columns: usize, transposed: bool| {
            let plain = Plain::counted(&if transposed { [columns, rows] } else { [rows, columns] });
            let array = ops::astype(&plain.array(), Dtype::Float32);
            if transposed { (array.T(), plain.gather(vec![rows, columns], |p| vec![p[1], p[0]])) } else { (array, plain) }
        };
        let ((a, x), (b, y)) = (made(m, k, transpose.0), made(k, n, transpose.1));
        let dot = |p: &Vec<usize>| (0..k).map(|i| x.at(&[p[0], i]) * y.at(&[i, p[1]])).sum();
        let product = ops::astype(&ops::matmul(&a, &b), Dtype::Int32);
        let data = positions(&[m, n]).iter().map(dot).collect();
        assert_same(&product, &Plain { shape: vec![m, n], data });
    }

    #[test]
    fn property_a_fused_program_gives_the_bits_of_one_that_is_not(
        program in program(),
        seed in any::<u64>(),
        length in prop_oneof![Just(1usize), 2..70usize, Just(1000)],
        strided in any::<bool>(),
        keep in any::<u16>(),
    ) {
        let _alone = FUSION.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let run = |fused: bool| -> Vec<Vec<u8>> {
            let before = set_fusion(fused);
            let key = pellucid::random::key(seed);
            let numbers = pellucid::random::normal([2, length, 2], Dtype::Float32, 0, 2, Some(&key));
            let part = |i: i64| {
                let half = numbers.get(i);
                let one = half.index(pellucid::idx![.., 1]);
                if strided { one } else { ops::contiguous(&one) }
            };
            let inputs = [part(0), part(1), ops::full([1], 1.5, Dtype::Float32)];
            eval(&inputs).unwrap();
            let values = build(&program, &inputs);
            // The last one, and one in the middle that stays alive.
            let wanted = [values[values.len() - 1].clone(), values[keep as usize % values.len()].clone()];
            drop(values);
            eval(&wanted).unwrap();
            set_fusion(before);
            wanted.iter().map(|a| a.to_bytes().unwrap()).collect()
        };
        prop_assert_eq!(run(true), run(false));
    }
}
