//! What a kernel is called, what it does as text, and how a time is divided among several.

use crate::eval::Step;
use crate::op::{Op, Program};

/// What a launch costs beside its work, in bytes moved: a few microseconds.
const LAUNCH_COST: f64 = 16384.0;

/// Divides a time among things that cost so much besides being launched.
pub(super) fn parts(start: i64, end: i64, costs: impl Iterator<Item = f64> + Clone) -> Vec<(i64, i64)> {
    let total: f64 = costs.clone().map(|cost| LAUNCH_COST + cost).sum();
    let at = |done: f64| start + ((end - start) as f64 * (done / total)) as i64;
    let mut done = 0.0;
    let part = |cost: f64| {
        let begun = done;
        done += LAUNCH_COST + cost;
        (at(begun), at(done))
    };
    costs.map(part).collect()
}

/// What a kernel is called: its operations and the type of its result.
pub(super) fn kernel_name(step: &Step) -> String {
    if let Op::Custom(kernel) = &step.last().work.op {
        return kernel.name.clone();
    }
    let mut name = String::new();
    for member in step.members.iter().take(6) {
        if !name.is_empty() {
            name.push('+');
        }
        name.push_str(member.work.op.name());
    }
    if step.members.len() > 6 {
        name.push_str(&format!("+{} more", step.members.len() - 6));
    }
    format!("{name} {}", step.last().array.dtype())
}

/// A fused chain as text: what the CPU runs, instruction by instruction, and the reduction that takes its result.
pub(super) fn listing(program: &Program, last: &Op) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for (i, dtype) in program.inputs.iter().enumerate() {
        let _ = writeln!(text, "in{i}: {dtype}");
    }
    for (i, (value, dtype)) in program.consts.iter().enumerate() {
        let _ = writeln!(text, "const{i}: {dtype} = {value:?}");
    }
    for (i, instr) in program.instrs.iter().enumerate() {
        let args: Vec<String> = instr.args().iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "r{i}: {} = {}({})", instr.result, instr.func.name(), args.join(", "));
    }
    if let Op::Reduce { axes, .. } = last {
        let _ = writeln!(text, "result: {} of r{} over axes {axes:?}", last.name(), program.instrs.len() - 1);
    }
    text
}
