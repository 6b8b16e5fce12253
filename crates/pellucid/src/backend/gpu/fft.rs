//! Fourier transforms of lengths whose prime factors are 2, 3 and 5.
//!
//! Stockham's way: a launch for each factor reads `radix` elements that lie far apart, and writes their transform where
//! the next launch needs it, so that nothing is sorted in between. Runs lie in memory as `[outer, n, inner]`, whichever
//! axis they are along. Twiddle factors are computed from an index below `n`, which keeps them exact. Real transforms go
//! through complex ones of the same length.

use std::fmt::Write;

use smallvec::SmallVec;

use super::assemble;
use super::elementwise::{self, Expression, Operands};
use super::kernel::Kernel;
use super::record::{Bind, folded, share_memory};
use super::tensor::{Context, In, Out};
use super::wgsl::{GROUP, ROW, Text};
use crate::array::{Dtype, Shape};
use crate::error::Result;
use crate::memory::Buffer;
use crate::op::{FftKind, FftSpec};

/// The factors of a length, in the order of the launches; `None` if there are others than 2, 3 and 5.
pub(super) fn radices(mut n: usize) -> Option<SmallVec<[u32; 16]>> {
    let mut found = SmallVec::new();
    for radix in [4, 2, 3, 5] {
        while n.is_multiple_of(radix) && n > 1 {
            found.push(radix as u32);
            n /= radix;
        }
    }
    (n == 1).then_some(found)
}

/// The number of elements of a launch's buffers: those of complex runs.
pub(super) fn scratch_bytes(spec: &FftSpec, x: &In) -> usize {
    let size = x.shape[spec.axis].max(1);
    x.elements() / size * spec.n * 8
}

/// Transforms `x` along the axis.
pub(super) fn run(context: &Context, spec: &FftSpec, x: &In, out: &Out) -> Result<()> {
    let mut shape: SmallVec<[usize; 6]> = x.shape.iter().copied().collect();
    shape[spec.axis] = spec.n;
    let (bytes, inner) = (scratch_bytes(spec, x), x.shape[spec.axis + 1..].iter().product());
    let first = context.scratch(bytes)?;
    let whole = |buffer| Out { buffer, dtype: Dtype::Complex64, shape: &shape };
    match spec.kind {
        FftKind::Forward | FftKind::Inverse => {
            elementwise::map(context, End::Begin, std::slice::from_ref(x), &whole(&first))?;
        }
        FftKind::Real => {
            elementwise::map(context, End::BeginReal, std::slice::from_ref(x), &whole(&first))?;
        }
        FftKind::Hermitian => mirror(context, spec, x, &whole(&first))?,
    }
    let inverse = matches!(spec.kind, FftKind::Inverse | FftKind::Hermitian);
    let elements = shape.iter().product();
    let runs = Runs { n: spec.n, inner, inverse, elements, scale: spec.scale.0 as f32 };
    if matches!(spec.kind, FftKind::Forward | FftKind::Inverse) {
        return passes(context, &runs, first, out.buffer);
    }
    let made = context.scratch(bytes)?;
    passes(context, &runs, first, &made)?;
    let strides = Shape::from(&shape[..]).row_major();
    let result =
        In { buffer: &made, dtype: Dtype::Complex64, shape: out.shape, strides: &strides, offset: 0 };
    match spec.kind {
        FftKind::Hermitian => elementwise::map(context, End::Real, &[result], out),
        _ => elementwise::map(context, End::Half, &[result], out),
    }
}

/// What is done with each element before and after the passes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum End {
    /// Complex samples, or all frequencies.
    Begin,
    BeginReal,
    /// Conjugates, where only half of the frequencies are given.
    Mirror,
    /// The real parts.
    Real,
    /// Half of the frequencies.
    Half,
}

impl Expression for End {
    fn label(&self) -> &'static str {
        match self {
            End::Begin => "fft_begin",
            End::BeginReal => "rfft_begin",
            End::Mirror => "irfft_mirror",
            End::Real => "irfft_end",
            End::Half => "rfft_end",
        }
    }

    fn value(&self, _: &Operands) -> String {
        match self {
            End::Begin | End::Half => "x0",
            End::BeginReal => "vec2<f32>(x0, 0.0)",
            End::Mirror => "vec2<f32>(x0.x, -x0.y)",
            End::Real => "x0.x",
        }
        .to_owned()
    }
}

/// All frequencies of a real signal from those that are not negative: the others are their conjugates, backwards.
fn mirror(context: &Context, spec: &FftSpec, x: &In, out: &Out) -> Result<()> {
    let half = x.shape[spec.axis];
    let rest = spec.n - half;
    if rest == 0 {
        return elementwise::map(context, End::Begin, std::slice::from_ref(x), out);
    }
    let mut shape: SmallVec<[usize; 6]> = x.shape.iter().copied().collect();
    shape[spec.axis] = rest;
    let mut strides: SmallVec<[isize; 6]> = x.strides.iter().copied().collect();
    strides[spec.axis] = -x.strides[spec.axis];
    let offset = (x.offset as isize + rest as isize * x.strides[spec.axis]) as usize;
    let backwards = In { buffer: x.buffer, dtype: x.dtype, shape: &shape, strides: &strides, offset };
    let conjugates = context.scratch(shape.iter().product::<usize>() * 8)?;
    let target = Out { buffer: &conjugates, dtype: Dtype::Complex64, shape: &shape };
    elementwise::map(context, End::Mirror, &[backwards], &target)?;
    let dense = Shape::from(&shape[..]).row_major();
    let mirrored =
        In { buffer: &conjugates, dtype: Dtype::Complex64, shape: &shape, strides: &dense, offset: 0 };
    assemble::concatenate(context, &[x.clone(), mirrored], spec.axis, out)
}

/// Runs that are transformed: `[outer, n, inner]`.
struct Runs {
    n: usize,
    inner: usize,
    inverse: bool,
    elements: usize,
    scale: f32,
}

/// One launch for each factor, to and fro between two buffers; the last one writes to `target`.
fn passes(context: &Context, runs: &Runs, first: Buffer, target: &Buffer) -> Result<()> {
    let bytes = runs.elements * 8;
    let radices = radices(runs.n).unwrap_or_default();
    let (mut from, mut spare) = (first, None);
    let mut done = 1;
    for (i, &radix) in radices.iter().enumerate() {
        let last = i + 1 == radices.len();
        let to = match spare.take() {
            _ if last => target.clone(),
            Some(buffer) => buffer,
            None => context.scratch(bytes)?,
        };
        let kernel = Butterfly { radix, inverse: runs.inverse, shared: share_memory(&from, &to) };
        let pipeline = context.pipeline(&kernel)?;
        let butterflies = runs.elements / radix as usize;
        let scale = if last { runs.scale } else { 1.0 };
        let (each, n, inner) = (runs.n / radix as usize, runs.n as u32, runs.inner as u32);
        let params = [butterflies as u32, each as u32, done, inner, n, scale.to_bits()];
        let bind = |buffer| Bind { buffer, start: 0, bytes: bytes as u64 };
        let groups = folded((butterflies as u64).div_ceil(u64::from(GROUP)));
        context.launch(&pipeline, &[bind(&to), bind(&from)], &params, groups)?;
        done *= radix;
        spare = Some(std::mem::replace(&mut from, to));
    }
    Ok(())
}

/// A butterfly of one radix. Parameters: butterflies, those of a run, length of what is transformed already, distance of
/// neighbours of a run, length of a run, factor of the results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Butterfly {
    radix: u32,
    inverse: bool,
    shared: bool,
}

impl Kernel for Butterfly {
    fn label(&self) -> String {
        format!("fft radix {}", self.radix)
    }

    fn text(&self) -> Text {
        let &Butterfly { radix, inverse, shared } = self;
        let mut text = Text::new(shared);
        text.take(6);
        text.output(Dtype::Complex64);
        text.input(Dtype::Complex64);
        let sign = if inverse { "" } else { "-" };
        let mut body = String::from(
            "fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
",
        );
        let _ = write!(
            body,
            "fn turn(k: u32, n: u32) -> vec2<f32> {{
    // An eighth of a turn at most is left to the functions, which are most exact there.
    let eighths = (8u * k) / n;
    let near = (eighths + 1u) >> 1u;
    let rest = 6.283185307179586 * (f32(k) - f32(near) * f32(n) * 0.25) / f32(n);
    let c = cos_(rest);
    let s = sin_(rest);
    var w = vec2<f32>(c, s);
    switch (near & 3u) {{
        case 1u: {{ w = vec2<f32>(-s, c); }}
        case 2u: {{ w = vec2<f32>(-c, -s); }}
        case 3u: {{ w = vec2<f32>(s, -c); }}
        default: {{}}
    }}
    return vec2<f32>(w.x, {sign}w.y);
}}
@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let b = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (b >= p.p0) {{ return; }}
    let i = b % p.p3;
    let j = (b / p.p3) % p.p1;
    let base = (b / (p.p3 * p.p1)) * p.p4 * p.p3 + i;
    let k = j % p.p2;
    let length = p.p2 * {radix}u;
"
        );
        for q in 0..radix {
            let load = format!("ld0(base + (j + {q}u * p.p1) * p.p3)");
            let value = if q == 0 { load } else { format!("times({load}, turn(k * {q}u, length))") };
            let _ = writeln!(body, "    let v{q} = {value};");
        }
        body.push_str(&butterfly(radix, inverse));
        let _ = writeln!(body, "    let to = base + ((j / p.p2) * length + k) * p.p3;");
        for q in 0..radix {
            let _ = writeln!(body, "    out[to + {q}u * p.p2 * p.p3] = y{q} * bitcast<f32>(p.p5);");
        }
        body.push_str("}\n");
        text.body = body;
        text
    }
}

/// The transform of `v0`, `v1`, … as `y0`, `y1`, ….
fn butterfly(radix: u32, inverse: bool) -> String {
    if radix == 2 {
        return "    let y0 = v0 + v1;\n    let y1 = v0 - v1;\n".to_owned();
    }
    if radix == 4 {
        // A quarter of a turn swaps the parts.
        let quarter = if inverse { "vec2<f32>(-d.y, d.x)" } else { "vec2<f32>(d.y, -d.x)" };
        return format!(
            "    let a = v0 + v2;\n    let b2 = v0 - v2;\n    let c = v1 + v3;\n    let d = v1 - v3;\n    \
             let e = {quarter};\n    let y0 = a + c;\n    let y1 = b2 + e;\n    let y2 = a - c;\n    let y3 = b2 - e;\n"
        );
    }
    let mut text = String::new();
    for q in 0..radix {
        let terms = (0..radix).map(|r| {
            let angle = std::f64::consts::TAU * f64::from(q * r % radix) / f64::from(radix);
            let (sin, cos) = if inverse { angle } else { -angle }.sin_cos();
            match q * r % radix {
                0 => format!("v{r}"),
                _ => format!("times(v{r}, vec2<f32>({cos:.9}, {sin:.9}))"),
            }
        });
        let _ = writeln!(text, "    let y{q} = {};", terms.collect::<Vec<_>>().join(" + "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_factored_or_refused() {
        assert_eq!(radices(1).unwrap().len(), 0);
        assert_eq!(radices(8).unwrap()[..], [4, 2]);
        assert_eq!(radices(60).unwrap()[..], [4, 3, 5]);
        assert_eq!(radices(1 << 20).unwrap().len(), 10);
        assert!(radices(7).is_none() && radices(0).is_none());
    }
}
