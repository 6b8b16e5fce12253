//! Running reductions along an axis.

use super::Call;
use super::build::*;
use super::index::scatter_add_along;
use crate::array::{Array, Dtype};
use crate::op::{BinaryOp, Op, ScanOp, UnaryOp};

/// How a scan runs.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub axis: usize,
    pub reverse: bool,
    pub inclusive: bool,
}

impl Run {
    #[track_caller]
    fn scan(self, op: ScanOp, a: &Array) -> Array {
        scan(op, a, self.axis, self.reverse, self.inclusive)
    }

    /// The same scan from the other end.
    #[track_caller]
    fn back(self, op: ScanOp, a: &Array) -> Array {
        scan(op, a, self.axis, !self.reverse, self.inclusive)
    }
}

#[track_caller]
pub(super) fn vjp(op: ScanOp, run: Run, call: &Call, g: &Array) -> Option<Array> {
    let (x, y) = (&call.inputs[0], &call.outputs[0]);
    if x.size() == 0 {
        return Some(g.clone());
    }
    match op {
        ScanOp::Cumsum => Some(run.back(ScanOp::Cumsum, g)),
        ScanOp::Cumprod => Some(cumprod_vjp(run, x, y, g)),
        ScanOp::Cummax | ScanOp::Cummin => {
            let (owner, owned) = owners(op, run, x);
            let g = masked(&owned, g);
            Some(scatter_add_along(x, run.axis, &owner, &g))
        }
        // Complex numbers have no sign to be split by; their exponentials are added up as they are.
        ScanOp::Logcumsumexp if x.dtype().is_complex() => {
            let back = run.back(ScanOp::Cumsum, &mul(g, &conj(&exp(&neg(y)))));
            Some(mul(&conj(&exp(x)), &back))
        }
        ScanOp::Logcumsumexp => Some(logcumsumexp_vjp(run, x, y, g)),
    }
}

/// Without zeros `back(g·y) / x`. At the first zero of a run the products behind it are those of the others: the same
/// with that zero replaced by one. Behind the first zero nothing flows.
#[track_caller]
fn cumprod_vjp(run: Run, x: &Array, y: &Array, g: &Array) -> Array {
    let none = zero(x.dtype());
    let is_zero = equal(x, &none);
    let zeros = scan(ScanOp::Cumsum, &cast(&is_zero, Dtype::Int32), run.axis, run.reverse, true);
    let one_i = number(1i64, Dtype::Int32);
    let first = binary(BinaryOp::LogicalAnd, &is_zero, &equal(&zeros, &one_i));
    let before = equal(&zeros, &zero(Dtype::Int32));
    let one = number(1i64, x.dtype());
    let filled = select(&first, &one, x);
    let with_one = run.scan(ScanOp::Cumprod, &filled);
    // Only what lies behind the first zero depends on it, and only up to the second: there `with_one` is zero again.
    let safe = select(&equal(&filled, &none), &one, &filled);
    let ordinary = div_exact(&run.back(ScanOp::Cumsum, &mul(g, &conj(y))), &conj(&safe));
    let at_first = run.back(ScanOp::Cumsum, &mul(g, &conj(&with_one)));
    let rest = masked(&before, &ordinary);
    select(&first, &at_first, &rest)
}

/// A quotient in the type of its inputs, integers too.
#[track_caller]
fn div_exact(a: &Array, b: &Array) -> Array {
    if a.dtype().is_inexact() { div(a, b) } else { binary(BinaryOp::FloorDivide, a, b) }
}

/// For each position of a running extreme the position of the element that it is, the latest among equals, and
/// whether there is one.
#[track_caller]
fn owners(op: ScanOp, run: Run, x: &Array) -> (Array, Array) {
    let x = &stopped(x);
    let n = x.shape()[run.axis];
    let mut shape = vec![1; x.ndim()];
    shape[run.axis] = n;
    let positions = reshape(&counting(n), &shape);
    let running = scan(op, x, run.axis, run.reverse, true);
    let mut same = equal(x, &running);
    if x.dtype().is_inexact() {
        let nan = |a: &Array| unary(UnaryOp::Isnan, a);
        same = binary(BinaryOp::LogicalOr, &same, &binary(BinaryOp::LogicalAnd, &nan(x), &nan(&running)));
    }
    let (nowhere, latest) = match run.reverse {
        false => (0, ScanOp::Cummax),
        true => (n.saturating_sub(1) as i64, ScanOp::Cummin),
    };
    let marked = select(&same, &positions, &number(nowhere, positions.dtype()));
    let owner = scan(latest, &marked, run.axis, run.reverse, true);
    if run.inclusive {
        return (owner, full(true, x.shape_ref(), Dtype::Bool));
    }
    // One step later; the first position of the run has no owner.
    let first = number(nowhere, positions.dtype());
    let owned = broadcast(&binary(BinaryOp::NotEqual, &positions, &first), x.shape());
    let nobody = broadcast(&first, part(&owner, run.axis, 0, 1).shape());
    let parts = match run.reverse {
        false => [nobody, part(&owner, run.axis, 0, n - 1)],
        true => [part(&owner, run.axis, 1, n - 1), nobody],
    };
    (concatenate(&parts, run.axis), owned)
}

/// The sum of `v · exp(logs)` along a run, without overflow: `v` is split by its sign, and each half is added up in
/// logarithms. `behind` is added to the logarithm of each sum.
#[track_caller]
fn weighted(run: impl Fn(&Array) -> Array, v: &Array, logs: &Array, behind: &Array) -> Array {
    let none = zero(v.dtype());
    let half = |v: &Array| {
        let kept = binary(BinaryOp::Maximum, v, &none);
        exp(&add(&run(&add(&log(&kept), logs)), behind))
    };
    sub(&half(v), &half(&neg(v)))
}

/// `exp(x) · back(g · exp(−y))`. An element that is nothing gets nothing, whatever infinities stand beside it.
#[track_caller]
fn logcumsumexp_vjp(run: Run, x: &Array, y: &Array, g: &Array) -> Array {
    let back = |logs: &Array| run.back(ScanOp::Logcumsumexp, logs);
    let nothing = unary(UnaryOp::Isneginf, x);
    select(&nothing, &zero(x.dtype()), &weighted(back, g, &neg(y), x))
}

/// `exp(−y) · scan(t · exp(x))`; nothing where nothing has been added up yet.
#[track_caller]
fn logcumsumexp_jvp(run: Run, x: &Array, y: &Array, t: &Array) -> Array {
    let along = |logs: &Array| run.scan(ScanOp::Logcumsumexp, logs);
    let nothing = unary(UnaryOp::Isneginf, y);
    select(&nothing, &zero(t.dtype()), &weighted(along, t, x, &neg(y)))
}

/// The tangent of a running reduction; `None` where the transpose of [`vjp`] is as good.
#[track_caller]
pub(super) fn jvp(op: ScanOp, run: Run, call: &Call, t: &Array) -> Option<Array> {
    let (x, y) = (&call.inputs[0], &call.outputs[0]);
    if x.size() == 0 {
        return Some(t.clone());
    }
    match op {
        ScanOp::Cumsum => Some(run.scan(ScanOp::Cumsum, t)),
        ScanOp::Cummax | ScanOp::Cummin => {
            let (owner, owned) = owners(op, run, x);
            let taken = apply(Op::TakeAlongAxis { axis: run.axis }, &[t, &owner]);
            Some(masked(&owned, &taken))
        }
        ScanOp::Logcumsumexp if !x.dtype().is_complex() => Some(logcumsumexp_jvp(run, x, y, t)),
        ScanOp::Logcumsumexp | ScanOp::Cumprod => None,
    }
}
