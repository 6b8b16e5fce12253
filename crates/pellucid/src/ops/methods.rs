//! The functions that arrays also have as methods.
//!
//! A function takes every argument of MLX's; its method takes those that people write, and MLX's defaults stand for the
//! others. Reductions have a second method, `…_keepdims`, that keeps the axes with size one. Functions of the tables
//! in `elementwise.rs`, `reduce.rs` and `scan.rs` have their methods from there.

use super::{Cuts, Index, Limit, Operand, PadMode, PadWidth};
use crate::array::{Array, Axes, Axis, Dtype, Integer, Sizes};
use crate::ops;

macro_rules! methods {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $function:ident($($given:expr),*), $doc:literal;)*) => {
        impl Array {
            $(#[doc = $doc]
            #[doc = concat!("See [`ops::", stringify!($function), "`].")]
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> $out {
                ops::$function(self $(, $given)*)
            })*
        }
    };
}

// The other input of a function of two arrays, whose lifetime a method must name.
macro_rules! methods_of_two {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $function:ident($($given:expr),*), $doc:literal;)*) => {
        impl Array {
            $(#[doc = $doc]
            #[doc = concat!("See [`ops::", stringify!($function), "`].")]
            #[track_caller]
            pub fn $name<'a, 'b>(&self $(, $arg: $ty)*) -> $out {
                ops::$function(self $(, $given)*)
            })*
        }
    };
}

methods! {
    argmax(axis: impl Into<Axis>) -> Array = argmax(axis, false), "Position of the first largest element.";
    argmax_keepdims(axis: impl Into<Axis>) -> Array = argmax(axis, true), "As [`Array::argmax`]; the axis stays.";
    argmin(axis: impl Into<Axis>) -> Array = argmin(axis, false), "Position of the first smallest element.";
    argmin_keepdims(axis: impl Into<Axis>) -> Array = argmin(axis, true), "As [`Array::argmin`]; the axis stays.";
    argpartition(kth: impl Integer, axis: impl Into<Axis>) -> Array = argpartition(kth.to_i64(), axis), "Positions that [`Array::partition`] along an axis.";
    argsort(axis: impl Into<Axis>) -> Array = argsort(axis), "Positions that sort along an axis.";
    as_strided(shape: impl Into<Sizes>, strides: &[isize], offset: usize) -> Array = as_strided(shape, Some(strides), offset), "Any shape and strides over the row-major elements.";
    astype(dtype: Dtype) -> Array = astype(dtype), "The elements converted to another type.";
    atleast_1d() -> Array = atleast_1d(), "With one axis or more.";
    atleast_2d() -> Array = atleast_2d(), "With two axes or more.";
    atleast_3d() -> Array = atleast_3d(), "With three axes or more.";
    broadcast_to(shape: impl Into<Sizes>) -> Array = broadcast_to(shape), "Repeated along new and size-one axes up to a shape.";
    contiguous() -> Array = contiguous(), "Row-major in memory.";
    count_nonzero(axes: impl Into<Axes>) -> Array = count_nonzero(axes, false), "How many elements are not zero.";
    degrees() -> Array = degrees(), "Radians to degrees.";
    diag(k: impl Integer) -> Array = diag(k.to_i64()), "A diagonal, or the square array with it.";
    diagonal(offset: impl Integer, axis1: impl Integer, axis2: impl Integer) -> Array = diagonal(offset.to_i64(), axis1, axis2), "A diagonal of two axes.";
    diff(n: usize, axis: impl Integer) -> Array = diff(n, axis), "Differences between neighbours, taken `n` times.";
    expand_dims(axes: impl Into<Axes>) -> Array = expand_dims(axes), "New axes of size one at these places of the result.";
    flatten() -> Array = flatten(0, -1), "All axes joined into one.";
    flip(axes: impl Into<Axes>) -> Array = flip(axes), "The order along axes reversed.";
    inner(b: &Array) -> Array = inner(b), "Products summed over the last axis of both.";
    kron(b: &Array) -> Array = kron(b), "Kronecker product.";
    logsumexp(axes: impl Into<Axes>) -> Array = logsumexp(axes, false), "Logarithm of the sum of exponentials.";
    logsumexp_keepdims(axes: impl Into<Axes>) -> Array = logsumexp(axes, true), "As [`Array::logsumexp`]; the axes stay.";
    matmul(b: &Array) -> Array = matmul(b), "Matrix product of the last two axes.";
    matrix_transpose() -> Array = matrix_transpose(), "The last two axes exchanged.";
    mean(axes: impl Into<Axes>) -> Array = mean(axes, false), "Mean.";
    mean_keepdims(axes: impl Into<Axes>) -> Array = mean(axes, true), "As [`Array::mean`]; the axes stay.";
    median(axes: impl Into<Axes>) -> Array = median(axes, false), "The middle element in order.";
    median_keepdims(axes: impl Into<Axes>) -> Array = median(axes, true), "As [`Array::median`]; the axes stay.";
    minmax(axes: impl Into<Axes>) -> (Array, Array) = minmax(axes, false), "Smallest and largest element.";
    moveaxis(source: impl Integer, destination: impl Integer) -> Array = moveaxis(source, destination), "One axis moved to another place.";
    nan_to_num(nan: f64) -> Array = nan_to_num(nan, None, None), "NaN becomes this number, infinities the largest ones of the type.";
    ones_like() -> Array = ones_like(), "Ones of the same shape and type.";
    outer(b: &Array) -> Array = outer(b), "Every product of an element with one of `b`.";
    partition(kth: impl Integer, axis: impl Into<Axis>) -> Array = partition(kth.to_i64(), axis), "Smaller elements before, larger ones behind the one that sorting puts at `kth`.";
    permute_dims(axes: impl Into<Axes>) -> Array = permute_dims(axes), "Axes in another order.";
    positive() -> Array = positive(), "The array itself.";
    radians() -> Array = radians(), "Degrees to radians.";
    reciprocal() -> Array = reciprocal(), "One divided by each element.";
    relu() -> Array = relu(), "The element where it is positive, else zero.";
    repeat(repeats: usize, axis: impl Into<Axis>) -> Array = repeat(repeats, axis), "Each element repeated.";
    reshape(shape: impl Into<Sizes>) -> Array = reshape(shape), "Another shape; one size may be −1.";
    roll(shift: impl Into<Sizes>, axes: impl Into<Axes>) -> Array = roll(shift, axes), "Elements moved along axes.";
    round(decimals: i32) -> Array = round(decimals), "The nearest number with this many decimal places.";
    softmax(axes: impl Into<Axes>) -> Array = softmax(axes, false), "Exponentials divided by their sum.";
    sort(axis: impl Into<Axis>) -> Array = sort(axis), "Elements in ascending order.";
    split(cuts: impl Into<Cuts>, axis: impl Integer) -> Vec<Array> = split(cuts, axis), "Parts along an axis.";
    squeeze(axes: impl Into<Axes>) -> Array = squeeze(axes), "Axes of size one removed; `..` removes them all.";
    std(axes: impl Into<Axes>) -> Array = std(axes, false, 0), "Standard deviation.";
    std_keepdims(axes: impl Into<Axes>) -> Array = std(axes, true, 0), "As [`Array::std`]; the axes stay.";
    swapaxes(axis1: impl Integer, axis2: impl Integer) -> Array = swapaxes(axis1, axis2), "Two axes exchanged.";
    take(indices: &Array, axis: impl Into<Axis>) -> Array = take(indices, axis), "Elements at positions along an axis.";
    take_along_axis(indices: &Array, axis: impl Into<Axis>) -> Array = take_along_axis(indices, axis), "For each position of the indices, the element there.";
    tile(reps: impl Into<Sizes>) -> Array = tile(reps), "The array repeated as a whole.";
    topk(k: usize, axis: impl Into<Axis>) -> Array = topk(k, axis), "The `k` largest elements, in ascending order.";
    trace() -> Array = trace(0, 0, 1, None), "The sum of the main diagonal of the first two axes.";
    transpose(axes: impl Into<Axes>) -> Array = transpose(axes), "Axes in another order; `..` reverses them.";
    tril(k: impl Integer) -> Array = tril(k.to_i64()), "The elements on and below a diagonal.";
    triu(k: impl Integer) -> Array = triu(k.to_i64()), "The elements on and above a diagonal.";
    unflatten(axis: impl Integer, shape: impl Into<Sizes>) -> Array = unflatten(axis, shape), "An axis divided into several.";
    unstack(axis: impl Integer) -> Vec<Array> = unstack(axis), "The arrays along an axis.";
    var(axes: impl Into<Axes>) -> Array = var(axes, false, 0), "Variance.";
    var_keepdims(axes: impl Into<Axes>) -> Array = var(axes, true, 0), "As [`Array::var`]; the axes stay.";
    vecdot(b: &Array, axis: impl Integer) -> Array = vecdot(b, axis), "Products summed over one axis of both.";
    view(dtype: Dtype) -> Array = view(dtype), "The same bytes read as another type.";
    zeros_like() -> Array = zeros_like(), "Zeros of the same shape and type.";
}

methods_of_two! {
    allclose(b: impl Into<Operand<'b>>, rtol: f64, atol: f64) -> Array = allclose(b, rtol, atol, false), "True if all elements are close.";
    array_equal(b: impl Into<Operand<'b>>) -> Array = array_equal(b, false), "True if shapes and all elements are equal.";
    clip(low: impl Into<Limit<'a>>, high: impl Into<Limit<'b>>) -> Array = clip(low, high), "Elements held between two limits, one of which may be `None`.";
    div(b: impl Into<Operand<'b>>) -> Array = divide(b), "Quotient.";
    divmod(b: impl Into<Operand<'b>>) -> (Array, Array) = divmod(b), "Quotient rounded down, and the remainder.";
    full_like(value: impl Into<Operand<'b>>) -> Array = full_like(value, None), "A value of the same shape and type.";
    isclose(b: impl Into<Operand<'b>>, rtol: f64, atol: f64) -> Array = isclose(b, rtol, atol, false), "True where |a − b| ≤ atol + rtol · |b|.";
    mul(b: impl Into<Operand<'b>>) -> Array = multiply(b), "Product.";
    pad(width: impl Into<PadWidth>) -> Array = pad(width, PadMode::Constant, 0), "Zeros added at the ends of axes.";
    put_along_axis(indices: &Array, values: impl Into<Operand<'b>>, axis: impl Into<Axis>) -> Array = put_along_axis(indices, values, axis), "A copy with the elements that [`Array::take_along_axis`] gives replaced.";
    sub(b: impl Into<Operand<'b>>) -> Array = subtract(b), "Difference.";
    where_(x: impl Into<Operand<'a>>, y: impl Into<Operand<'b>>) -> Array = where_(x, y), "`x` where this holds, else `y`.";
}

impl Array {
    /// The part that a list of indices selects; the macro [`idx!`](crate::idx) makes one. See [`ops::index`].
    #[track_caller]
    pub fn index(&self, indices: impl AsRef<[Index]>) -> Array {
        ops::index(self, indices.as_ref())
    }

    /// What one index selects along the first axis: a position, a range, or an array of positions.
    ///
    /// ```
    /// use pellucid::Array;
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(a.get(-1).to_vec::<i32>()?, [3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn get(&self, index: impl Into<Index>) -> Array {
        ops::index(self, &[index.into()])
    }

    /// The axes in reverse order. See [`ops::transpose`].
    #[allow(non_snake_case, reason = "the name in MLX and NumPy")]
    #[track_caller]
    pub fn T(&self) -> Array {
        ops::transpose(self, ..)
    }

    /// The axes in reverse order; the same as [`Array::T`].
    #[track_caller]
    pub fn t(&self) -> Array {
        ops::transpose(self, ..)
    }

    /// The last two axes exchanged. See [`ops::matrix_transpose`].
    #[allow(non_snake_case, reason = "the name in MLX and NumPy")]
    #[track_caller]
    pub fn mT(&self) -> Array {
        ops::matrix_transpose(self)
    }
}

#[cfg(test)]
mod tests {
    /// Functions of one array that are not methods, and why.
    const NOT_METHODS: [(&str, &str); 6] = [
        ("index", "takes a list; the method is written out"),
        ("slice_update", "is `at(…).set(…)`"),
        ("slice_accumulate", "is `at(…).add(…)` and the like"),
        ("addmm", "the product is what people begin with"),
        ("tensordot", "takes axes of both"),
        ("empty_like", "is `zeros_like`"),
    ];

    #[test]
    fn every_function_that_takes_an_array_first_is_a_method() {
        let methods = include_str!("methods.rs");
        let mut missing = Vec::new();
        for source in [
            include_str!("assemble.rs"),
            include_str!("creation.rs"),
            include_str!("elementwise.rs"),
            include_str!("index/take.rs"),
            include_str!("matmul.rs"),
            include_str!("pad.rs"),
            include_str!("reduce.rs"),
            include_str!("scan.rs"),
            include_str!("shape.rs"),
            include_str!("sort.rs"),
            include_str!("triangle.rs"),
        ] {
            for (at, _) in source.match_indices("\npub fn ") {
                let rest = &source[at + "\npub fn ".len()..];
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let arguments = rest.split('(').nth(1).unwrap_or("").trim_start();
                let first = arguments.split(',').next().unwrap_or("");
                if first.ends_with(": &Array") && !methods.contains(&format!("\n    {name}(")) {
                    missing.push(name);
                }
            }
        }
        missing.retain(|name| NOT_METHODS.iter().all(|(other, _)| name != other));
        assert_eq!(missing, [""; 0]);
    }
}
