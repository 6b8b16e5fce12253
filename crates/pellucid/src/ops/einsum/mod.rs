//! Einstein sums: products of arrays whose axes have names, summed over names that the result does not have.
//!
//! Operands are multiplied in pairs, in the order of fewest operations. A pair is one matrix product: axes that both have
//! and the result keeps are a batch, those that are summed are its inner side. Transposes are views.

mod path;
mod subscripts;

use self::path::Path;
use self::subscripts::{Label, Subscripts};
use super::elementwise::multiply;
use super::matmul::matmul;
use super::reduce::sum;
use super::shape::{broadcast_to, permuted};
use super::triangle::diagonal;
use super::{cast, shaped};
use crate::array::{Array, Axes, Shape, fail, ok};
use crate::error::{Error, Result};

/// An operand and the names of its axes.
#[derive(Clone)]
struct Named {
    array: Array,
    labels: Vec<Label>,
}

/// The Einstein sum that the subscripts describe. Axes named alike in several operands are multiplied element by
/// element, and summed if the result does not name them. Without `->` the result has the names that occur once, in
/// alphabetical order; `...` stands for axes without names.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// let v = Array::from([1.0f32, 10.0]);
/// assert_eq!(ops::einsum("ij,j->i", &[&a, &v]).to_vec::<f32>()?, [21.0, 43.0]);
/// assert_eq!(ops::einsum("ii", &[&a]).item::<f32>()?, 5.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Argument`] if the subscripts do not fit the operands or each other, [`Error::Dtype`] if integers are to be
/// multiplied and summed.
#[track_caller]
pub fn einsum(subscripts: &str, operands: &[&Array]) -> Array {
    for operand in operands {
        ok!(*operand);
    }
    let shapes: Vec<&Shape> = operands.iter().map(|a| a.shape_ref()).collect();
    let subscripts = ok!(Subscripts::parse(subscripts, &shapes));
    let dtype = operands.iter().skip(1).fold(operands[0].dtype(), |dtype, a| dtype.promote(a.dtype()));
    let named = |(array, labels): (&&Array, &Vec<Label>)| {
        diagonals(Named { array: cast(array, dtype), labels: labels.clone() })
    };
    let mut list: Vec<Named> = operands.iter().zip(&subscripts.inputs).map(named).collect();
    for step in Path::find(&subscripts).steps {
        let mut taken: Vec<Named> = step.iter().rev().map(|&place| list.remove(place)).collect();
        let mut kept = subscripts.output.clone();
        kept.extend(list.iter().flat_map(|other| other.labels.iter().copied()));
        let made = match (taken.pop(), taken.pop()) {
            (Some(a), Some(b)) => product(&subscripts, a, b, &kept),
            (Some(a), None) => reduced(a, &kept),
            _ => return fail(Error::internal("einsum", "a step without operands")),
        };
        ok!(&made.array);
        list.push(made);
    }
    match list.pop() {
        Some(last) => ordered(&last, &subscripts.output),
        None => fail(Error::internal("einsum", "nothing is left")),
    }
}

/// The order in which [`einsum`] multiplies: pairs of places in the list of operands, in which the product of a pair goes
/// to the end; and a text that says what it costs.
///
/// ```
/// use pellucid::prelude::*;
/// let a = Array::ones((2, 2));
/// let (path, _) = ops::einsum_path("ij,jk,kl->il", &[&a, &a, &a]).unwrap();
/// assert_eq!(path.len(), 2);
/// ```
///
/// # Errors
/// [`Error::Argument`] if the subscripts do not fit the operands or each other.
pub fn einsum_path(subscripts: &str, operands: &[&Array]) -> Result<(Vec<Vec<usize>>, String)> {
    for operand in operands {
        operand.check()?;
    }
    let shapes: Vec<&Shape> = operands.iter().map(|a| a.shape_ref()).collect();
    let subscripts = Subscripts::parse(subscripts, &shapes)?;
    let path = Path::find(&subscripts);
    let (flops, scaling) = Path::naive(&subscripts);
    let text = format!(
        "  Complete contraction:  {}\n         Naive scaling:  {scaling}\n     Optimized scaling:  {}\n      \
         Naive FLOP count:  {flops}\n  Optimized FLOP count:  {}\n",
        subscripts.text(),
        path.scaling,
        path.flops
    );
    Ok((path.steps, text))
}

/// An operand in which every axis has another name: axes named alike become their diagonal.
#[track_caller]
fn diagonals(mut named: Named) -> Named {
    while let Some((first, second)) = twice(&named.labels) {
        let label = named.labels.remove(second);
        named.labels.remove(first);
        named.labels.push(label);
        named.array = diagonal(&named.array, 0, first as i64, second as i64);
    }
    named
}

fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    labels.iter().enumerate().find_map(|(second, label)| {
        labels[..second].iter().position(|other| other == label).map(|first| (first, second))
    })
}

/// Summed over all axes that do not stay.
#[track_caller]
fn reduced(named: Named, kept: &[Label]) -> Named {
    let gone: Vec<i64> =
        (0..named.labels.len()).filter(|&i| !kept.contains(&named.labels[i])).map(|i| i as i64).collect();
    if gone.is_empty() {
        return named;
    }
    let labels = named.labels.iter().copied().filter(|label| kept.contains(label)).collect();
    Named { array: sum(&named.array, Axes::from(gone), false), labels }
}

/// The axes in another order.
#[track_caller]
fn ordered(named: &Named, order: &[Label]) -> Array {
    let axes: Option<Vec<usize>> =
        order.iter().map(|label| named.labels.iter().position(|other| other == label)).collect();
    match axes {
        Some(axes) if axes.len() == named.labels.len() => permuted(&named.array, axes.into()),
        _ => fail(Error::internal("einsum", format!("{:?} in the order {order:?}", named.labels))),
    }
}

/// The product of two operands, summed over the axes that do not stay.
#[track_caller]
fn product(subscripts: &Subscripts, a: Named, b: Named, kept: &[Label]) -> Named {
    // What only one of them has and nobody needs is summed before, on the smaller array.
    let with = |other: &Named| -> Vec<Label> { kept.iter().chain(&other.labels).copied().collect() };
    let (for_a, for_b) = (with(&b), with(&a));
    let (a, b) = (reduced(a, &for_a), reduced(b, &for_b));
    let shared = |label: &Label| b.labels.contains(label);
    let stays = |label: &Label| kept.contains(label);
    let pick =
        |f: &dyn Fn(&Label) -> bool| -> Vec<Label> { a.labels.iter().copied().filter(|l| f(l)).collect() };
    let batch = pick(&|label| shared(label) && stays(label));
    let inner = pick(&|label| shared(label) && !stays(label));
    let rows = pick(&|label| !shared(label));
    let columns: Vec<Label> = b.labels.iter().copied().filter(|label| !a.labels.contains(label)).collect();
    let labels: Vec<Label> = batch.iter().chain(&rows).chain(&columns).copied().collect();
    let sizes = |list: &[Label]| list.iter().map(|&label| subscripts.size(label)).collect::<Vec<usize>>();
    if inner.is_empty() {
        let left = ordered(&a, &[&batch[..], &rows].concat());
        let right = ordered(&b, &[&batch[..], &columns].concat());
        for side in [&left, &right] {
            if side.check().is_err() {
                return Named { array: side.clone(), labels };
            }
        }
        let ones = |count: usize| std::iter::repeat_n(1, count);
        let wide: Shape = left.shape().iter().copied().chain(ones(columns.len())).collect();
        let (lead, tail) = right.shape().split_at(batch.len());
        let tall: Shape = lead.iter().copied().chain(ones(rows.len())).chain(tail.iter().copied()).collect();
        return Named { array: multiply(&shaped(&left, wide), &shaped(&right, tall)), labels };
    }
    // Axes of one element stand for all of the other side's.
    let full =
        |array: Array, list: &[&[Label]]| broadcast_to(&array, Shape::from(&sizes(&list.concat())[..]));
    let left = full(ordered(&a, &[&batch[..], &rows, &inner].concat()), &[&batch, &rows, &inner]);
    let right = full(ordered(&b, &[&batch[..], &inner, &columns].concat()), &[&batch, &inner, &columns]);
    let matrix = |x: &Array, rows: &[Label], columns: &[Label]| {
        let (m, n) = (sizes(rows).iter().product(), sizes(columns).iter().product());
        shaped(x, sizes(&batch).into_iter().chain([m, n]).collect())
    };
    let found = matmul(&matrix(&left, &rows, &inner), &matrix(&right, &inner, &columns));
    let shape: Shape = sizes(&labels).into_iter().collect();
    Named { array: shaped(&found, shape), labels }
}
