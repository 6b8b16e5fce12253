//! WGSL as text: how each element type lies in memory, what it computes in, and how a kernel is put together.
//!
//! Types narrower than 32 bits lie packed in 32-bit words. A kernel's invocation writes whole words, so that no two
//! write the same one.

mod angles;
mod functions;
mod math;
mod powers;

use std::fmt::Write;

pub(super) use functions::{Class, binary, cast, class, rounded, unary};

use crate::array::Dtype;

/// Invocations of a workgroup of kernels that have no reason for another number.
pub(crate) const GROUP: u32 = 256;

/// Workgroups along x where one row of them is not enough.
pub(super) const ROW: u32 = 32_768;

/// Elements in one 32-bit word; 1 for wider ones.
pub(super) fn per_word(dtype: Dtype) -> u32 {
    (4 / dtype.size().min(4)) as u32
}

/// What an array of this type is declared as an array of.
pub(super) fn stored(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Float32 => "f32",
        Dtype::Int32 => "i32",
        Dtype::Int64 => "i64",
        Dtype::Uint64 => "u64",
        Dtype::Complex64 => "vec2<f32>",
        Dtype::Float64 => "vec2<u32>",
        _ => "u32",
    }
}

/// What elements of this type are in computations.
pub(super) fn scalar(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool => "bool",
        Dtype::Uint8 | Dtype::Uint16 | Dtype::Uint32 => "u32",
        Dtype::Int8 | Dtype::Int16 | Dtype::Int32 => "i32",
        Dtype::Int64 => "i64",
        Dtype::Uint64 => "u64",
        Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32 => "f32",
        Dtype::Complex64 => "vec2<f32>",
        Dtype::Float64 => "vec2<u32>",
    }
}

/// The value whose low bits are the expression `bits`, a `u32`.
pub(super) fn decoded(dtype: Dtype, bits: &str) -> String {
    match dtype {
        Dtype::Bool => format!("(({bits} & 0xffu) != 0u)"),
        Dtype::Uint8 => format!("({bits} & 0xffu)"),
        Dtype::Uint16 => format!("({bits} & 0xffffu)"),
        Dtype::Int8 => format!("((bitcast<i32>({bits}) << 24u) >> 24u)"),
        Dtype::Int16 => format!("((bitcast<i32>({bits}) << 16u) >> 16u)"),
        Dtype::Float16 => format!("f16_value({bits} & 0xffffu)"),
        Dtype::Bfloat16 => format!("bf16_value({bits} & 0xffffu)"),
        Dtype::Float32 => format!("bitcast<f32>({bits})"),
        Dtype::Int32 => format!("bitcast<i32>({bits})"),
        _ => bits.to_owned(),
    }
}

/// The bits of a value of a narrow type, in the low bits of a `u32`.
pub(super) fn encoded(dtype: Dtype, value: &str) -> String {
    match dtype {
        Dtype::Bool => format!("select(0u, 1u, {value})"),
        Dtype::Uint8 => format!("(({value}) & 0xffu)"),
        Dtype::Uint16 => format!("(({value}) & 0xffffu)"),
        Dtype::Int8 => format!("(bitcast<u32>({value}) & 0xffu)"),
        Dtype::Int16 => format!("(bitcast<u32>({value}) & 0xffffu)"),
        Dtype::Float16 => format!("f16_bits({value})"),
        Dtype::Bfloat16 => format!("bf16_bits({value})"),
        _ => value.to_owned(),
    }
}

/// The parameter words from `at` on as a value: one word, or two for types of eight bytes.
pub(super) fn parameter(dtype: Dtype, at: usize) -> String {
    match dtype {
        Dtype::Complex64 => format!("vec2<f32>(bitcast<f32>(p.p{at}), bitcast<f32>(p.p{}))", at + 1),
        Dtype::Uint64 => format!("(u64(p.p{at}) | (u64(p.p{}) << 32u))", at + 1),
        Dtype::Int64 => format!("i64(u64(p.p{at}) | (u64(p.p{}) << 32u))", at + 1),
        Dtype::Float64 => format!("vec2<u32>(p.p{at}, p.p{})", at + 1),
        narrow => decoded(narrow, &format!("p.p{at}")),
    }
}

/// A kernel being written.
pub(crate) struct Text {
    /// Declarations of buffers and of functions that read them.
    declarations: String,
    /// Everything else.
    pub body: String,
    pub inputs: u32,
    /// 32-bit parameter words.
    pub params: usize,
    /// Inputs may lie in the same memory object as the output, which then must be writable in all bindings.
    pub shared: bool,
    /// The kernel reports positions in `flags`, an array of atomic `u32` bound after the inputs.
    pub flags: bool,
    /// Inputs that lie in uniform memory, a bit each.
    pub uniforms: u64,
}

impl Text {
    pub fn new(shared: bool) -> Text {
        Text {
            declarations: String::new(),
            body: String::new(),
            inputs: 0,
            params: 0,
            shared,
            flags: false,
            uniforms: 0,
        }
    }

    /// Declares the next input, with `ldN(i)` that reads its element `i`.
    pub fn input(&mut self, dtype: Dtype) -> u32 {
        let (n, binding) = (self.inputs, self.inputs + 1);
        let access = if self.shared { "read_write" } else { "read" };
        let (stored, scalar) = (stored(dtype), scalar(dtype));
        let load = match per_word(dtype) {
            4 => decoded(dtype, &format!("(in{n}[i >> 2u] >> ((i & 3u) << 3u))")),
            2 => decoded(dtype, &format!("(in{n}[i >> 1u] >> ((i & 1u) << 4u))")),
            _ => format!("in{n}[i]"),
        };
        // Writing to a string cannot fail.
        let _ = write!(
            self.declarations,
            "@group(0) @binding({binding}) var<storage, {access}> in{n}: array<{stored}>;\n\
             fn ld{n}(i: u32) -> {scalar} {{ return {load}; }}\n"
        );
        self.inputs += 1;
        n
    }

    /// Declares the output.
    pub fn output(&mut self, dtype: Dtype) {
        self.output_of(stored(dtype));
    }

    /// Declares the output as an array of a WGSL type that stands for no element type.
    pub fn output_of(&mut self, stored: &str) {
        let _ = writeln!(
            self.declarations,
            "@group(0) @binding(0) var<storage, read_write> out: array<{stored}>;"
        );
    }

    /// Declares the next input as an array of a WGSL type that stands for no element type.
    pub fn input_of(&mut self, stored: &str) {
        let (n, binding) = (self.inputs, self.inputs + 1);
        let access = if self.shared { "read_write" } else { "read" };
        let _ = writeln!(
            self.declarations,
            "@group(0) @binding({binding}) var<storage, {access}> in{n}: array<{stored}>;"
        );
        self.inputs += 1;
    }

    /// Declares the next input as uniform memory: so many of a WGSL type.
    pub fn uniform(&mut self, stored: &str, count: usize) {
        let (n, binding) = (self.inputs, self.inputs + 1);
        let _ = writeln!(
            self.declarations,
            "@group(0) @binding({binding}) var<uniform> in{n}: array<{stored}, {count}>;"
        );
        self.uniforms |= 1 << n;
        self.inputs += 1;
    }

    /// Takes the next `count` parameter words; returns the first one's number.
    pub fn take(&mut self, count: usize) -> usize {
        self.params += count;
        self.params - count
    }

    /// The entry point of a kernel in which each word of the output is made by `value(i)` for its elements. Parameter
    /// 0 is the number of elements.
    pub fn map_entry(&mut self, dtype: Dtype) {
        let per_word = per_word(dtype);
        let store = if per_word == 1 {
            "out[w] = value(w);".to_owned()
        } else {
            let bits = 32 / per_word;
            let element = |k: u32| {
                let value = format!("value(min(w * {per_word}u + {k}u, p.p0 - 1u))");
                let bits_of = encoded(dtype, &value);
                if k == 0 { bits_of } else { format!("({bits_of} << {}u)", k * bits) }
            };
            let parts: Vec<String> = (0..per_word).map(element).collect();
            format!("out[w] = {};", parts.join(" | "))
        };
        let _ = write!(
            self.body,
            "@compute @workgroup_size({GROUP})\n\
             fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {{\n\
             \x20   let w = (wg.y * {ROW}u + wg.x) * {GROUP}u + li;\n\
             \x20   if (w * {per_word}u >= p.p0) {{ return; }}\n    {store}\n}}\n"
        );
    }

    /// The whole text. Parameters come as immediates, or from the buffer bound last.
    pub fn finish(self, immediates: bool) -> String {
        let mut fields: Vec<String> = (0..self.params).map(|i| format!("p{i}: u32")).collect();
        // A zero that the driver's compiler cannot know: see `keep_`.
        fields.push("zero: u32".to_owned());
        let fields = fields.join(", ");
        let place = if immediates {
            "var<immediate> p: Params;".to_owned()
        } else {
            let binding = self.inputs + 1 + u32::from(self.flags);
            format!("@group(0) @binding({binding}) var<storage, read> p: Params;")
        };
        let flags = if self.flags {
            format!(
                "@group(0) @binding({}) var<storage, read_write> flags: array<atomic<u32>>;\n",
                self.inputs + 1
            )
        } else {
            String::new()
        };
        let rest = format!("{}{}", self.declarations, self.body);
        let helpers = math::helpers_for(&rest);
        let (declarations, body) = (self.declarations, self.body);
        format!("struct Params {{ {fields} }}\n{place}\n{flags}{declarations}{helpers}{body}")
    }
}
