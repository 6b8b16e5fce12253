//! Operations that a replay left out, and why.

use std::collections::HashMap;
use std::io::{self, Write};

use pellucid_trace::schema::OpView;
use serde::Serialize;

use crate::rerun::Why;
use crate::text;

/// What was left out.
#[derive(Debug, Default, Serialize)]
pub struct Skipped {
    /// How many operations.
    skipped: u64,
    /// Those of them with a reason of their own; the others read from them.
    not_run: Vec<SkippedOp>,
}

#[derive(Debug, PartialEq, Serialize)]
struct SkippedOp {
    op: u64,
    name: String,
    call_site: String,
    why: String,
}

impl Skipped {
    /// One more.
    pub fn add(&mut self, op: &OpView, why: &Why) {
        self.skipped += 1;
        if let Why::Itself(why) = why {
            let (name, call_site) = (op.name.to_owned(), op.call_site.to_owned());
            self.not_run.push(SkippedOp { op: op.id, name, call_site, why: why.clone() });
        }
    }

    /// True if everything ran.
    pub fn is_empty(&self) -> bool {
        self.skipped == 0
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.skipped
    }

    /// Prints them for people; what has the same reason is named together.
    pub fn print(&self, limit: usize, out: &mut impl Write) -> io::Result<()> {
        let mut reasons: Vec<(&str, Vec<&SkippedOp>)> = Vec::new();
        let mut place: HashMap<&str, usize> = HashMap::new();
        for op in &self.not_run {
            let at = *place.entry(&op.why).or_insert(reasons.len());
            match reasons.get_mut(at) {
                Some((_, ops)) => ops.push(op),
                None => reasons.push((&op.why, vec![op])),
            }
        }
        for (why, ops) in reasons.iter().take(limit.max(1)) {
            writeln!(out, "  {} {}", text::bad("skipped"), text::short(why, 400))?;
            for op in ops.iter().take(limit.max(1)) {
                let place = text::short(&op.call_site, 60);
                writeln!(out, "    op {} ({}) at {place}", op.op, text::short(&op.name, 40))?;
            }
            if ops.len() > limit.max(1) {
                writeln!(out, "    … and {} more", text::count((ops.len() - limit.max(1)) as u64))?;
            }
        }
        let rest = self.skipped - self.not_run.len() as u64;
        if rest > 0 {
            let rest = text::counted(rest, "operation");
            writeln!(out, "  {} {rest} that read from these", text::bad("skipped"))?;
        }
        Ok(())
    }
}
