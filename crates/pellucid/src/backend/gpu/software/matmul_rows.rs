//! The matrix product on a software adapter, where reading memory costs far more than arithmetic and workgroup
//! memory is no faster than any other.
//!
//! Eight invocations make a block of the result: each reads one of eight neighbours of a row of the first matrix and
//! broadcasts it to the others, and the columns it makes itself of the second one.

use std::fmt::Write;

/// Rows of a block, and columns that each invocation makes, eight apart.
const ROWS: usize = 16;
const COLUMNS: usize = 4;
const LANES: usize = 8;

/// Rows and columns of a workgroup's block.
pub(in crate::backend::gpu) const BLOCK: [usize; 2] = [ROWS, COLUMNS * LANES];

/// Numbers of the parameters that hold the strides of rows and columns.
pub(in crate::backend::gpu) struct Strides {
    pub a: (usize, usize),
    pub b: (usize, usize),
}

/// The entry point; `result` makes an element of the output of the sum `v` at row `r` and column `c`.
pub(in crate::backend::gpu) fn entry(strides: &Strides, base_c: &str, result: &str) -> String {
    let ((a_row, a_col), (b_row, b_col)) = (strides.a, strides.b);
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
