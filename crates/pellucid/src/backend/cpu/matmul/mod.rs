//! Matrix products, batched over leading axes.
//!
//! Matrices keep their strides: transposed, sliced and broadcast operands are multiplied where they lie. The 16-bit
//! types are multiplied in `float32` and rounded once.

#[cfg(target_arch = "x86_64")]
mod blocked;
mod convert;
mod segments;
mod vector;

use std::ops::Range;

use gemm::Parallelism;
use num_complex::Complex32;

use super::strided::{Grid, PerAxis, Shared, copy_strided, row_major};
use super::{In, Out, parallel};
use crate::array::{Dtype, Element};
use crate::error::{Error, Result};
use crate::memory::{PerThread, Scratch};
use convert::{round, widen};
pub(crate) use segments::segmented;

/// Below this many multiply-adds a second core costs more than it gives.
const SERIAL_WORK: usize = 96 * 96 * 96;

/// `a @ b` over the last two axes, with the leading axes broadcast.
pub(crate) fn matmul(a: &In, b: &In, out: &mut Out) -> Result<()> {
    product("matmul", None, a, b, 1.0, out)
}

/// `alpha · (a @ b) + beta · c`, with `c` broadcast to the result. If `beta` is zero, `c` is not read.
pub(crate) fn addmm(c: &In, a: &In, b: &In, alpha: f64, beta: f64, out: &mut Out) -> Result<()> {
    product("addmm", Some((c, beta)).filter(|_| beta != 0.0), a, b, alpha, out)
}

fn product(
    function: &'static str,
    c: Option<(&In, f64)>,
    a: &In,
    b: &In,
    alpha: f64,
    out: &mut Out,
) -> Result<()> {
    if out.elements() == 0 {
        return Ok(());
    }
    match out.dtype {
        Dtype::Float32 => multiply::<f32>(function, c, a, b, alpha, out),
        Dtype::Float64 => multiply::<f64>(function, c, a, b, alpha, out),
        Dtype::Complex64 => multiply::<Complex32>(function, c, a, b, alpha, out),
        Dtype::Float16 | Dtype::Bfloat16 => narrow(function, c, a, b, alpha, out),
        other => Err(Error::internal(function, format!("a matrix product of {other}"))),
    }
}

/// The product of 16-bit matrices, by way of `float32` copies of them.
fn narrow(
    function: &'static str,
    c: Option<(&In, f64)>,
    a: &In,
    b: &In,
    alpha: f64,
    out: &mut Out,
) -> Result<()> {
    let (wide_a, a_strides) = (widen(function, a)?, row_major(a.shape));
    let (wide_b, b_strides) = (widen(function, b)?, row_major(b.shape));
    let wide_c = c.map(|(c, _)| widen(function, c)).transpose()?;
    let c_strides = c.map(|(c, _)| row_major(c.shape)).unwrap_or_default();
    let mut result: Scratch<f32> = Scratch::with_room(function, out.elements())?;
    // SAFETY: the copies are row-major and of the operands' shapes; the result has room for the output's elements,
    // all of which the product writes.
    unsafe {
        let a = In::new(wide_a.as_ptr().cast(), Dtype::Float32, a.shape, &a_strides);
        let b = In::new(wide_b.as_ptr().cast(), Dtype::Float32, b.shape, &b_strides);
        let wide = c.zip(wide_c.as_ref()).map(|((c, beta), wide)| {
            (In::new(wide.as_ptr().cast(), Dtype::Float32, c.shape, &c_strides), beta)
        });
        let mut wide_out = Out::new(result.as_mut_ptr().cast(), Dtype::Float32, out.shape);
        let c = wide.as_ref().map(|(c, beta)| (c, *beta));
        multiply::<f32>(function, c, &a, &b, alpha, &mut wide_out)?;
        result.set_len(out.elements());
    }
    round(&result, out);
    Ok(())
}

/// A matrix in memory; strides in elements.
#[derive(Clone, Copy, Debug)]
struct Matrix<T> {
    ptr: Shared<T>,
    row: isize,
    col: isize,
}

impl<T> Matrix<T> {
    fn offset(self, by: isize) -> Matrix<T> {
        Matrix { ptr: Shared(self.ptr.get().wrapping_offset(by)), ..self }
    }

    fn transposed(self) -> Matrix<T> {
        Matrix { row: self.col, col: self.row, ..self }
    }
}

/// Rows and columns of the result, and the length of the sums.
#[derive(Clone, Copy, Debug)]
struct Size {
    m: usize,
    n: usize,
    k: usize,
}

impl Size {
    fn work(self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }
}

/// An element type that is multiplied as it is.
trait Real: Element<Stored = Self> + vector::Dot {
    fn from_f64(value: f64) -> Self;

    /// Bytes of room that the job needs in a way made for this type and size; `None` if there is none.
    fn special_room(_job: &Job<Self>) -> Option<usize> {
        None
    }

    /// Runs the job in that way, with that room.
    fn special(_job: &Job<Self>, _split: bool, _room: *mut u8) {}
}

impl Real for f32 {
    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    #[cfg(target_arch = "x86_64")]
    fn special_room(job: &Job<f32>) -> Option<usize> {
        blocked::fits(job).then(|| blocked::room(job))
    }

    #[cfg(target_arch = "x86_64")]
    fn special(job: &Job<f32>, split: bool, room: *mut u8) {
        blocked::multiply(job, 1.0, split, room);
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }

    #[cfg(target_arch = "x86_64")]
    fn special_room(job: &Job<f64>) -> Option<usize> {
        blocked::fits(job).then(|| blocked::room(job))
    }

    #[cfg(target_arch = "x86_64")]
    fn special(job: &Job<f64>, split: bool, room: *mut u8) {
        blocked::multiply(job, 1.0, split, room);
    }
}

impl Real for Complex32 {
    fn from_f64(value: f64) -> Complex32 {
        Complex32::new(value as f32, 0.0)
    }
}

fn multiply<T: Real>(
    function: &'static str,
    c: Option<(&In, f64)>,
    a: &In,
    b: &In,
    alpha: f64,
    out: &mut Out,
) -> Result<()> {
    let rank = out.shape.len();
    if rank < 2 || a.shape.len() < 2 || b.shape.len() < 2 {
        return Err(Error::internal(function, format!("shapes {:?} and {:?}", a.shape, b.shape)));
    }
    let (batch, ends) = out.shape.split_at(rank - 2);
    let size = Size { m: ends[0], n: ends[1], k: a.shape[a.shape.len() - 1] };

    // The result starts as `c`, to which the product is added.
    let beta = T::from_f64(c.map_or(0.0, |(_, beta)| beta));
    if let Some((c, _)) = c {
        let strides = broadcast_strides(c.shape, c.strides, out.shape);
        let all = row_major(out.shape);
        // SAFETY: `c` broadcasts to the output's shape.
        unsafe { copy_strided(c.ptr(), &strides, out.ptr(), &all, out.shape, size_of::<T>()) };
    }

    let matrix = |x: &In| {
        let n = x.strides.len();
        Matrix { ptr: Shared(x.ptr().cast_mut().cast::<T>()), row: x.strides[n - 2], col: x.strides[n - 1] }
    };
    let out_matrix = Matrix { ptr: Shared(out.ptr().cast::<T>()), row: size.n as isize, col: 1 };
    let leading = |x: &In| {
        let n = x.shape.len() - 2;
        broadcast_strides(&x.shape[..n], &x.strides[..n], batch)
    };
    let matrices = size.m as isize * size.n as isize;
    let out_strides: PerAxis<isize> = row_major(batch).iter().map(|s| s * matrices).collect();
    let mut grid = Grid::new(batch, [&leading(a), &leading(b), &out_strides]);

    // One `b` for a stack of matrices whose rows follow each other evenly: one tall matrix.
    let mut job = Job { size, a: matrix(a), b: matrix(b), out: out_matrix, alpha: T::from_f64(alpha), beta };
    if let (Some(&count), Some(&step), Some(0)) =
        (grid.shape.last(), grid.strides[0].last(), grid.strides[1].last())
        && (size.m == 1 || step == job.a.row * size.m as isize)
    {
        if size.m == 1 {
            job.a.row = step;
        }
        job.size.m *= count;
        grid.pop();
    }
    run(function, job, &grid)
}

/// `out = alpha · a @ b + beta · out`; with a `beta` of zero `out` is not read.
#[derive(Clone, Copy)]
struct Job<T> {
    size: Size,
    a: Matrix<T>,
    b: Matrix<T>,
    out: Matrix<T>,
    alpha: T,
    beta: T,
}

/// Runs the job for every position of the batch; strides are those of a, b and out.
fn run<T: Real>(function: &'static str, job: Job<T>, batch: &Grid<3>) -> Result<()> {
    let count = batch.elements();
    let cores = parallel::cores();
    let at = |offsets: [isize; 3]| Job {
        a: job.a.offset(offsets[0]),
        b: job.b.offset(offsets[1]),
        out: job.out.offset(offsets[2]),
        ..job
    };
    let work = job.size.work();
    // A few large matrices are split inside, many small ones between each other.
    let inside =
        cores > 1 && work > SERIAL_WORK && (count < cores || (count < 4 * cores && work > 64 * SERIAL_WORK));
    let alone = inside || cores == 1 || work.saturating_mul(count) <= SERIAL_WORK;
    let rooms = Rooms::new(function, if alone { 1 } else { cores }, job.room())?;
    let multiply = |range: Range<usize>| {
        rooms.with(|room| {
            let mut walk = batch.walk(range.start);
            for _ in range {
                at(walk.offsets).multiply(function, inside, room)?;
                walk.step();
            }
            Ok(())
        })
    };
    if alone {
        return multiply(0..count);
    }
    parallel::try_ranges(count, 1, work.max(parallel::SERIAL_BYTES), multiply)
}

/// Room for packed operands for each thread, in lines of the cache. It comes from the pool and goes back to it, which
/// keeps it for the next product: fresh memory would cost a page fault for every 4 KiB packed, which for matrices of a
/// few hundred rows is a third of the time.
struct Rooms(PerThread<[u8; 64]>);

impl Rooms {
    fn new(function: &'static str, threads: usize, bytes: usize) -> Result<Rooms> {
        PerThread::plain(function, threads, bytes.div_ceil(64)).map(Rooms)
    }

    fn with<R>(&self, f: impl FnOnce(*mut u8) -> R) -> R {
        self.0.with(|lines| f(lines.as_mut_ptr().cast()))
    }
}

impl<T: Real> Job<T> {
    /// Bytes of room that [`Job::multiply`] needs.
    fn room(&self) -> usize {
        let Job { size, a, b, .. } = *self;
        if size.n == 1 && vector::fits(a) {
            vector::room::<T>(size.m, size.k, b.row)
        } else if size.m == 1 && vector::fits(b) {
            vector::room::<T>(size.n, size.k, a.col)
        } else {
            T::special_room(self).unwrap_or(0)
        }
    }

    fn multiply(self, function: &'static str, parallel: bool, room: *mut u8) -> Result<()> {
        let Job { size, a, b, out, alpha, beta } = self;
        if size.n == 1 && vector::fits(a) {
            let x = (b.ptr, b.row);
            vector::multiply(size.m, size.k, a, x, (out.ptr, out.row), alpha, beta, parallel, room);
            return Ok(());
        }
        if size.m == 1 && vector::fits(b) {
            let x = (a.ptr, a.col);
            vector::multiply(size.n, size.k, b.transposed(), x, (out.ptr, 1), alpha, beta, parallel, room);
            return Ok(());
        }
        if T::special_room(&self).is_some() {
            T::special(&self, parallel, room);
            return Ok(());
        }
        if parallel {
            return self.split(function);
        }
        let read = beta != T::from_f64(0.0);
        // SAFETY: the matrices are `m × k`, `k × n` and `m × n` elements of memory that the inputs and the output
        // stand for; each job writes its own part of the output.
        unsafe {
            gemm::gemm(
                size.m,
                size.n,
                size.k,
                out.ptr.get(),
                out.col,
                out.row,
                read,
                a.ptr.get(),
                a.col,
                a.row,
                b.ptr.get(),
                b.col,
                b.row,
                beta,
                alpha,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
        Ok(())
    }

    /// Splits the longer side of the result between the cores, a band each.
    fn split(self, function: &'static str) -> Result<()> {
        let Job { size, a, b, out, .. } = self;
        let by_rows = size.m >= size.n;
        let length = if by_rows { size.m } else { size.n };
        // Whole tiles of the product's inner loops.
        let band = length.div_ceil(parallel::cores()).next_multiple_of(16);
        let part = |range: Range<usize>| {
            let (first, many) = (range.start as isize, range.len());
            if by_rows {
                let size = Size { m: many, ..size };
                Job { size, a: a.offset(first * a.row), out: out.offset(first * out.row), ..self }
            } else {
                let size = Size { n: many, ..size };
                Job { size, b: b.offset(first * b.col), out: out.offset(first * out.col), ..self }
            }
        };
        // All parts are alike but for the last.
        let room = part(0..band.min(length)).room().max(part(length / band * band..length).room());
        let rooms = Rooms::new(function, parallel::cores(), room)?;
        let failure = std::sync::OnceLock::new();
        parallel::pieces(length, band, &|_, range| {
            if let Err(error) = rooms.with(|room| part(range).multiply(function, false, room)) {
                // A second error says nothing more than the first.
                let _ = failure.set(error);
            }
        });
        failure.into_inner().map_or(Ok(()), Err)
    }
}

/// The strides with which an array of this shape is read as one of the shape `to`, to which it broadcasts.
pub(super) fn broadcast_strides(shape: &[usize], strides: &[isize], to: &[usize]) -> PerAxis<isize> {
    let mut wide = PerAxis::from_elem(0, to.len());
    let lead = to.len() - shape.len();
    for (axis, stride) in wide.iter_mut().enumerate().skip(lead) {
        if shape[axis - lead] != 1 {
            *stride = strides[axis - lead];
        }
    }
    wide
}

#[cfg(test)]
mod tests;
