//! The matrix product on a software adapter, where reading memory costs far more than arithmetic and workgroup
//! memory is no faster than any other.
//!
//! Eight invocations make a block of the result: each reads one of eight neighbours of a row of the first matrix and
//! broadcasts it to the others, and the columns it makes itself of the second one.

use std::fmt::Write;
use std::sync::Arc;

use super::LANES;
use crate::array::Dtype;
use crate::backend::gpu::device::Gpu;
use crate::backend::gpu::kernel::Kernel;
use crate::backend::gpu::matmul::{Matmul, Start};
use crate::backend::gpu::pipeline::Pipeline;
use crate::backend::gpu::tensor::Context;
use crate::backend::gpu::wgsl::Text;
use crate::error::Result;

/// Rows of a block, and columns that each invocation makes, eight apart.
const ROWS: usize = 16;
const COLUMNS: usize = 4;

/// Rows and columns of a workgroup's block.
const BLOCK: [usize; 2] = [ROWS, COLUMNS * LANES];

/// Whether products of this type are made here.
fn takes(gpu: &Gpu, out: Dtype) -> bool {
    gpu.is_software() && gpu.has(wgpu::Features::SUBGROUP) && out == Dtype::Float32
}

/// The smallest rows and columns that a workgroup makes, where they are not those of the ordinary kernel.
pub(in crate::backend::gpu) fn matmul_block(gpu: &Gpu) -> Option<[usize; 2]> {
    gpu.is_software().then_some(BLOCK)
}

/// How far one launch goes along the axis that disappears: the loops of its kernel end after 65,535 rounds.
pub(in crate::backend::gpu) fn deepest_product(gpu: &Gpu, out: Dtype) -> usize {
    match (gpu.is_software(), takes(gpu, out)) {
        (false, _) => usize::MAX,
        (true, true) => 1 << 18,
        (true, false) => 1 << 14,
    }
}

/// The kernel that takes the place of another one, and the block that a workgroup of it makes.
pub(in crate::backend::gpu) fn matmul_rows(
    context: &Context,
    kernel: &Matmul,
) -> Option<(Result<Arc<Pipeline>>, [usize; 2])> {
    takes(context.gpu, kernel.out).then(|| (context.pipeline(&MatmulRows { kernel: kernel.clone() }), BLOCK))
}

/// The same product by rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MatmulRows {
    kernel: Matmul,
}

impl Kernel for MatmulRows {
    fn label(&self) -> String {
        self.kernel.label()
    }

    fn text(&self) -> Text {
        let mut start = self.kernel.start();
        let entry = entry(&start);
        start.text.body.push_str(&entry);
        start.text
    }
}

/// The entry point.
fn entry(start: &Start) -> String {
    let &Start { a: (a_row, a_col), b: (b_row, b_col), base_c, ref result, .. } = start;
    let cells = || (0..ROWS).flat_map(|r| (0..COLUMNS).map(move |c| (r, c)));
    let mut text = format!(
        "@compute @workgroup_size({LANES})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32,
        @builtin(subgroup_size) together: u32) {{
    let base_a = batch_(wg.z, 0u);
    let base_b = batch_(wg.z, 1u);
{base_c}    let row = wg.y * {ROWS}u;
    let column = wg.x * {}u + li;
    var k = 0u;
",
        COLUMNS * LANES
    );
    for r in 0..ROWS {
        let _ = writeln!(text, "    let ra{r} = base_a + min(row + {r}u, p.p0 - 1u) * p.p{a_row};");
    }
    for c in 0..COLUMNS {
        let at = c * LANES;
        let _ = writeln!(text, "    let cb{c} = base_b + min(column + {at}u, p.p1 - 1u) * p.p{b_col};");
    }
    for (r, c) in cells() {
        let _ = writeln!(text, "    var s{r}_{c} = 0.0;");
    }
    // Broadcasting needs all eight in one subgroup; else the loop behind does everything.
    let _ = writeln!(
        text,
        "    if (together >= {LANES}u) {{\n    for (; k + {LANES}u <= p.p2; k = k + {LANES}u) {{"
    );
    for r in 0..ROWS {
        let _ = writeln!(text, "    let a{r} = ld0(ra{r} + (k + li) * p.p{a_col});");
    }
    for lane in 0..LANES {
        for c in 0..COLUMNS {
            let _ = writeln!(text, "    let b{lane}_{c} = ld1(cb{c} + (k + {lane}u) * p.p{b_row});");
        }
        for r in 0..ROWS {
            let _ = writeln!(text, "    let x{lane}_{r} = subgroupBroadcast(a{r}, {lane}u);");
            for c in 0..COLUMNS {
                let _ = writeln!(text, "    s{r}_{c} = s{r}_{c} + x{lane}_{r} * b{lane}_{c};");
            }
        }
    }
    let _ = writeln!(text, "    }}\n    }}\n    for (; k < p.p2; k = k + 1u) {{");
    for c in 0..COLUMNS {
        let _ = writeln!(text, "    let b{c} = ld1(cb{c} + k * p.p{b_row});");
    }
    for r in 0..ROWS {
        let _ = writeln!(text, "    let a{r} = ld0(ra{r} + k * p.p{a_col});");
        for c in 0..COLUMNS {
            let _ = writeln!(text, "    s{r}_{c} = s{r}_{c} + a{r} * b{c};");
        }
    }
    let _ = writeln!(text, "    }}");
    for (r, column) in cells() {
        let at = column * LANES;
        let _ = write!(
            text,
            "    {{
        let r = row + {r}u;
        let c = column + {at}u;
        let v = s{r}_{column};
        if (r < p.p0 && c < p.p1) {{ out[(wg.z * p.p0 + r) * p.p1 + c] = {result}; }}
    }}
"
        );
    }
    text.push_str("}\n");
    text
}
