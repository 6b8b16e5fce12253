//! Softmax of rows, read and written in pairs of elements (see `pairs`).

use super::has_vectors;
use crate::backend::gpu::device::Gpu;
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::softmax::{Rows, Unit};
use crate::backend::gpu::tensor::In;
use crate::backend::gpu::wgsl::Text;

/// Whether rows whose elements lie side by side are read in pairs.
pub(in crate::backend::gpu) fn softmax_in_pairs(gpu: &Gpu, x: &In) -> bool {
    let Some((&length, _)) = x.shape.split_last() else { return false };
    let even = |stride: &isize| stride % 2 == 0;
    has_vectors(gpu)
        && x.offset.is_multiple_of(2)
        && length.is_multiple_of(2)
        && x.strides[..x.strides.len() - 1].iter().all(even)
}

/// A workgroup holds a row of pairs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::backend::gpu) struct SoftmaxPairs {
    pub rows: Rows,
}

impl Kernel for SoftmaxPairs {
    fn label(&self) -> String {
        self.rows.label()
    }

    fn text(&self) -> Text {
        let mut text = Text::new(self.rows.shared);
        text.output_of("u64");
        text.input_of("u64");
        text.body.push_str(PAIR);
        let unit = Unit {
            elements: 2,
            ty: "vec2<f32>",
            load: "unpack_(in0[(base >> 1u) + j])",
            exp: "vec2<f32>(exp_(x.x - m), exp_(x.y - m))",
            most: "max(most.x, most.y)",
            total: "total.x + total.y",
            store: "out[to + j] = pack_two_(e * inverse);",
        };
        self.rows.finish(&mut text, &unit);
        text
    }
}

const PAIR: &str = "fn unpack_(q: u64) -> vec2<f32> {
    return vec2<f32>(bitcast<f32>(u32(q)), bitcast<f32>(u32(q >> 32u)));
}
fn pack_two_(v: vec2<f32>) -> u64 { return u64(bitcast<u32>(v.x)) | (u64(bitcast<u32>(v.y)) << 32u); }
";
