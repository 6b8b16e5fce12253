//! Sorting along one axis.
//!
//! Elements become unsigned keys in the wanted order, as on the CPU: integers with the sign bit turned, floats by their
//! bits with NaN last. Blocks of a run are sorted in workgroup memory, then merged pair by pair, and written back as
//! elements or positions. A position is part of its item, so that equal elements keep their order.

use std::fmt::Write;

use smallvec::SmallVec;

use super::kernel::Kernel;
use super::record::{Bind, folded};
use super::reduce::{Source, push_axes, source_window, take_axes};
use super::tensor::{Context, In, Out, position_sum, positions, share_memory};
use super::wgsl::{self, GROUP, ROW, Text};
use crate::array::Dtype;
use crate::error::Result;
use crate::memory::Buffer;

/// Results of a merge that one invocation makes in a row.
const IN_A_ROW: usize = 8;

/// What is sorted: a key, and for positions also where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Items {
    of: Dtype,
    positions: bool,
}

/// An unsigned type with elements of the same size; `float64` stands for two words.
fn carrier(dtype: Dtype) -> Dtype {
    match dtype.size() {
        1 => Dtype::Uint8,
        2 => Dtype::Uint16,
        4 => Dtype::Uint32,
        _ => Dtype::Float64,
    }
}

impl Items {
    fn wide(self) -> bool {
        self.of.size() == 8
    }

    fn ty(self) -> &'static str {
        match (self.wide(), self.positions) {
            (false, false) => "u32",
            (true, true) => "vec4<u32>",
            _ => "vec2<u32>",
        }
    }

    fn bytes(self) -> usize {
        match (self.wide(), self.positions) {
            (false, false) => 4,
            (true, true) => 16,
            _ => 8,
        }
    }

    /// Items that are sorted together in workgroup memory, of which every device has 16 KiB.
    fn block(self) -> usize {
        if self.bytes() == 16 { 512 } else { 1024 }
    }

    /// WGSL functions `less_`, `last_` (which nothing follows), `item_` of an element's bits and its position.
    fn functions(self) -> String {
        let ty = self.ty();
        let mut text = String::new();
        if self.of == Dtype::Complex64 {
            text.push_str(COMPLEX_CLASS);
        }
        let less = match (self.of, self.positions) {
            (Dtype::Complex64, _) => {
                let after = if self.positions { "a.z < b.z" } else { "false" };
                format!(
                    "let x = class_(a.x, a.y);\n    let y = class_(b.x, b.y);\n    \
                     return x < y || (x == y && (a.x < b.x || (a.x == b.x && (a.y < b.y || (a.y == b.y && {after})))));"
                )
            }
            (of, true) if of.size() == 8 => {
                "return a.x < b.x || (a.x == b.x && (a.y < b.y || (a.y == b.y && a.z < b.z)));".to_owned()
            }
            (of, false) if of.size() < 8 => "return a < b;".to_owned(),
            _ => "return a.x < b.x || (a.x == b.x && a.y < b.y);".to_owned(),
        };
        let key = |bits: &str| self.key(bits);
        let item = match (self.of, self.positions) {
            (Dtype::Complex64, true) => format!("vec4<u32>({}, {}, j, 0u)", key("v.x"), key("v.y")),
            (Dtype::Complex64, false) => format!("vec2<u32>({}, {})", key("v.x"), key("v.y")),
            (of, true) if of.size() == 8 => format!("vec4<u32>({}, v.x, j, 0u)", key("v.y")),
            (of, false) if of.size() == 8 => format!("vec2<u32>({}, v.x)", key("v.y")),
            (_, true) => format!("vec2<u32>({}, j)", key("v")),
            (_, false) => key("v"),
        };
        let carrier = wgsl::scalar(carrier(self.of));
        if let Some((sign, infinity)) = float_bits(self.of) {
            text.push_str(&float_key(sign, infinity, self.positions));
        }
        let _ = write!(
            text,
            "fn less_(a: {ty}, b: {ty}) -> bool {{ {less} }}\n\
             fn last_() -> {ty} {{ return {ty}(0xffffffffu); }}\n\
             fn item_(v: {carrier}, j: u32) -> {ty} {{ return {item}; }}\n"
        );
        text
    }

    /// The key of an element, or of its upper word.
    fn key(self, bits: &str) -> String {
        match self.of {
            Dtype::Int8 => format!("({bits} ^ 0x80u)"),
            Dtype::Int16 => format!("({bits} ^ 0x8000u)"),
            Dtype::Int32 | Dtype::Int64 => format!("({bits} ^ 0x80000000u)"),
            of if of.is_inexact() => format!("key_({bits})"),
            _ => bits.to_owned(),
        }
    }

    /// What the output has for an item `v`, and functions for it.
    fn result(self) -> (String, String) {
        if self.positions {
            return (String::new(), if self.wide() { "v.z" } else { "v.y" }.to_owned());
        }
        let functions = match float_bits(self.of) {
            Some((sign, _)) => format!(
                "fn bits_(k: u32) -> u32 {{\n    return select(~k & {mask}u, k ^ {sign}u, (k & {sign}u) != 0u);\n}}\n",
                mask = mask(sign)
            ),
            None => String::new(),
        };
        let value = match self.of {
            Dtype::Complex64 => "vec2<u32>(bits_(v.x), bits_(v.y))".to_owned(),
            of if of.size() == 8 => format!("vec2<u32>(v.y, {})", self.key("v.x")),
            of if of.is_inexact() => "bits_(v)".to_owned(),
            _ => self.key("v"),
        };
        (functions, value)
    }
}

/// The sign bit and infinity of floats.
fn float_bits(dtype: Dtype) -> Option<(u32, u32)> {
    match dtype {
        Dtype::Float16 => Some((0x8000, 0x7c00)),
        Dtype::Bfloat16 => Some((0x8000, 0x7f80)),
        Dtype::Float32 | Dtype::Complex64 => Some((0x8000_0000, 0x7f80_0000)),
        _ => None,
    }
}

/// All bits of a type with this sign bit.
fn mask(sign: u32) -> u32 {
    sign | (sign - 1)
}

/// Negative numbers have all bits turned, others the sign; a NaN loses its sign, so that it is last. For positions,
/// zeros of either sign are equal, and so is every NaN.
fn float_key(sign: u32, infinity: u32, equal: bool) -> String {
    let (mask, rest) = (mask(sign), sign - 1);
    let nan = if equal { format!("return {mask}u;") } else { format!("return (b & {rest}u) | {sign}u;") };
    let zero =
        if equal { format!("    if ((b & {rest}u) == 0u) {{ return {sign}u; }}\n") } else { String::new() };
    format!(
        "fn key_(b: u32) -> u32 {{\n    if ((b & {rest}u) > {infinity}u) {{ {nan} }}\n{zero}    \
         return select(b ^ {sign}u, ~b & {mask}u, (b & {sign}u) != 0u);\n}}\n"
    )
}

/// Complex numbers with a NaN come after all others: keys above that of infinity are NaN.
const COMPLEX_CLASS: &str = "fn class_(re: u32, im: u32) -> u32 {
    return select(0u, 2u, re > 0xff800000u) + select(0u, 1u, im > 0xff800000u);
}
";

/// Bytes that one of the two arrays of items takes.
pub(super) fn scratch_bytes(x: &In, positions: bool) -> usize {
    x.elements() * Items { of: x.dtype, positions }.bytes()
}

/// Sorts `axis` of `x`; or, into an output of positions, tells how it would be sorted.
pub(super) fn run(context: &Context, x: &In, axis: usize, positions: bool, out: &Out) -> Result<()> {
    let items = Items { of: x.dtype, positions };
    let n = x.shape[axis];
    let block = items.block();
    let mut made = context.scratch(scratch_bytes(x, positions))?;
    sort_blocks(context, items, x, axis, &made)?;
    let mut width = block;
    if width < n {
        let mut other = context.scratch(scratch_bytes(x, positions))?;
        while width < n {
            merge(context, items, &made, &other, [x.elements() / n, n, width])?;
            std::mem::swap(&mut made, &mut other);
            width *= 2;
        }
    }
    write(context, items, &made, axis, out)
}

/// Sorts blocks of each run into items, runs one after the other.
fn sort_blocks(context: &Context, items: Items, x: &In, axis: usize, target: &Buffer) -> Result<()> {
    let x = &In { dtype: carrier(x.dtype), ..x.clone() };
    let source = Source::unjoined(x, &[axis]);
    let kernel = Blocks { items, kept: source.kept.len(), shared: share_memory(x.buffer, target) };
    let pipeline = context.pipeline(&kernel)?;
    let window = source_window(context, &source)?;
    let (n, block) = (x.shape[axis], items.block());
    // Short runs share a block.
    let part = n.next_power_of_two().min(block);
    let parts = n.div_ceil(part);
    let segments = x.elements() / n * parts;
    let mut params: SmallVec<[u32; 24]> = SmallVec::from_slice(&[
        segments as u32,
        n as u32,
        part as u32,
        parts as u32,
        (source.offset - window.skipped) as u32,
        x.strides[axis] as i32 as u32,
    ]);
    push_axes(&mut params, &source.kept);
    let bytes = (x.elements() * items.bytes()) as u64;
    let binds = [Bind { buffer: target, start: 0, bytes }, window.bind];
    context.launch(&pipeline, &binds, &params, folded((segments as u64).div_ceil((block / part) as u64)))
}

/// Sorts blocks of runs with so many other axes. Parameters: segments, length of a run, of a segment, segments of a run,
/// offset, stride, the other axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Blocks {
    items: Items,
    kept: usize,
    shared: bool,
}

impl Kernel for Blocks {
    fn label(&self) -> String {
        "sort_blocks".to_owned()
    }

    fn text(&self) -> Text {
        let &Blocks { items, kept, shared } = self;
        let mut text = Text::new(shared);
        text.output_of(items.ty());
        text.input(carrier(items.of));
        text.take(6);
        let (sizes, strides) = take_axes(&mut text, kept);
        let mut body = items.functions();
        let _ = writeln!(body, "fn base_(o: u32) -> u32 {{");
        positions(&mut body, "c", "o", kept, sizes);
        let _ = writeln!(body, "    return {};\n}}", position_sum("p.p4", "c", kept, strides));
        let _ = write!(
            body,
            "var<workgroup> block: array<{ty}, {size}>;
fn order_(a: u32, b: u32) {{
    let x = block[a];
    let y = block[b];
    if (less_(y, x)) {{ block[a] = y; block[b] = x; }}
}}
@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let first = (wg.y * {ROW}u + wg.x) * {size}u;
    for (var e = li; e < {size}u; e = e + {GROUP}u) {{
        let segment = (first + e) / p.p2;
        let j = (segment % p.p3) * p.p2 + (first + e) % p.p2;
        var v = last_();
        if (segment < p.p0 && j < p.p1) {{ v = item_(ld0(base_(segment / p.p3) + j * p.p5), j); }}
        block[e] = v;
    }}
    workgroupBarrier();
    // A bitonic network in which every comparison goes the same way: the first of each round is mirrored.
    for (var k = 2u; k <= p.p2; k = k << 1u) {{
        let mirrored = k >> 1u;
        for (var e = li; e < {half}u; e = e + {GROUP}u) {{
            let start = (e / mirrored) * k;
            order_(start + e % mirrored, start + k - 1u - e % mirrored);
        }}
        workgroupBarrier();
        for (var h = k >> 2u; h > 0u; h = h >> 1u) {{
            for (var e = li; e < {half}u; e = e + {GROUP}u) {{
                let a = (e / h) * 2u * h + e % h;
                order_(a, a + h);
            }}
            workgroupBarrier();
        }}
    }}
    for (var e = li; e < {size}u; e = e + {GROUP}u) {{
        let segment = (first + e) / p.p2;
        let j = (segment % p.p3) * p.p2 + (first + e) % p.p2;
        if (segment < p.p0 && j < p.p1) {{ out[(segment / p.p3) * p.p1 + j] = block[e]; }}
    }}
}}
",
            ty = items.ty(),
            size = items.block(),
            half = items.block() / 2
        );
        text.body = body;
        text
    }
}

/// Merges pairs of sorted stretches of `width` items in each of `runs` runs of `n`.
fn merge(
    context: &Context,
    items: Items,
    from: &Buffer,
    to: &Buffer,
    [runs, n, width]: [usize; 3],
) -> Result<()> {
    let pipeline = context.pipeline(&Merge { items, shared: share_memory(from, to) })?;
    let chunks = n.div_ceil(IN_A_ROW);
    let params = [runs, n, width, chunks].map(|v| v as u32);
    let bytes = (runs * n * items.bytes()) as u64;
    let binds = [Bind { buffer: to, start: 0, bytes }, Bind { buffer: from, start: 0, bytes }];
    let groups = ((runs * chunks) as u64).div_ceil(u64::from(GROUP));
    context.launch(&pipeline, &binds, &params, folded(groups))
}

/// Each invocation finds by bisection where its results begin in both stretches. Parameters: runs, their length, length of
/// a stretch, invocations of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Merge {
    items: Items,
    shared: bool,
}

impl Kernel for Merge {
    fn label(&self) -> String {
        "sort_merge".to_owned()
    }

    fn text(&self) -> Text {
        let &Merge { items, shared } = self;
        let mut text = Text::new(shared);
        text.output_of(items.ty());
        text.input_of(items.ty());
        text.take(4);
        let mut body = items.functions();
        let _ = write!(
        body,
        "@compute @workgroup_size({GROUP})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{
    let t = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;
    if (t >= p.p0 * p.p3) {{ return; }}
    let run = (t / p.p3) * p.p1;
    let first = (t % p.p3) * {IN_A_ROW}u;
    let start = first / (2u * p.p2) * (2u * p.p2);
    let a_count = min(p.p2, p.p1 - start);
    let b_count = min(p.p2, p.p1 - start - a_count);
    let a = run + start;
    let b = a + a_count;
    let done = first - start;
    var low = select(0u, done - b_count, done > b_count);
    var high = min(done, a_count);
    while (low < high) {{
        let middle = (low + high) / 2u;
        if (less_(in0[b + done - 1u - middle], in0[a + middle])) {{ high = middle; }} else {{ low = middle + 1u; }}
    }}
    var i = low;
    var j = done - low;
    let count = min({IN_A_ROW}u, a_count + b_count - done);
    for (var k = 0u; k < count; k = k + 1u) {{
        var second = i >= a_count;
        if (!second && j < b_count) {{ second = less_(in0[b + j], in0[a + i]); }}
        if (second) {{
            out[run + first + k] = in0[b + j];
            j = j + 1u;
        }} else {{
            out[run + first + k] = in0[a + i];
            i = i + 1u;
        }}
    }}
}}
"
    );
        text.body = body;
        text
    }
}

/// Sorted items as elements or positions. Parameters: elements, length of a run, distance of its elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sorted {
    items: Items,
    shared: bool,
}

impl Kernel for Sorted {
    fn label(&self) -> String {
        "sort_end".to_owned()
    }

    fn text(&self) -> Text {
        let &Sorted { items, shared } = self;
        let target = if items.positions { Dtype::Uint32 } else { carrier(items.of) };
        let mut text = Text::new(shared);
        text.output(target);
        text.input_of(items.ty());
        text.take(3);
        let (functions, value) = items.result();
        let _ = write!(
            text.body,
            "{functions}fn value(i: u32) -> {ty} {{
    let run = (i / (p.p1 * p.p2)) * p.p2 + i % p.p2;
    let v = in0[run * p.p1 + (i / p.p2) % p.p1];
    return {value};
}}
",
            ty = wgsl::scalar(target)
        );
        text.map_entry(target);
        text
    }
}

/// Writes sorted items as elements or positions.
fn write(context: &Context, items: Items, from: &Buffer, axis: usize, out: &Out) -> Result<()> {
    let pipeline = context.pipeline(&Sorted { items, shared: share_memory(from, out.buffer) })?;
    let inner: usize = out.shape[axis + 1..].iter().product();
    let params = [out.elements() as u32, out.shape[axis] as u32, inner as u32];
    let bytes = (out.elements() * items.bytes()) as u64;
    super::assemble::launch(context, &pipeline, out, &[Bind { buffer: from, start: 0, bytes }], &params)
}
