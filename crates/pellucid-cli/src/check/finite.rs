//! Which operation made the first NaN or infinity: its inputs were finite, its result is not.

use std::collections::HashMap;
use std::io::Write;

use pellucid::op::Op;
use pellucid::{Array, Device, capture};
use pellucid_trace::Trace;
use pellucid_trace::analysis::{self, Element, Finite, Maker};
use pellucid_trace::schema::OpView;
use serde::Serialize;

use crate::elements::{broadcast_position, index_of, number_at, numbers};
use crate::rerun::{Arrays, Failure, Made, Plan, Way};
use crate::text;

/// What was found.
#[derive(Default, Serialize)]
pub struct Finding {
    /// Why nothing could be looked at.
    not_checked: Option<String>,
    #[serde(flatten)]
    found: Finite,
}

impl Finding {
    /// True if no operation made one, and no array came with a NaN.
    pub fn is_good(&self) -> bool {
        self.found.is_good()
    }

    /// True if something was looked at.
    pub fn looked(&self) -> bool {
        self.found.checked > 0
    }

    /// Prints it for people.
    pub fn print(&self, limit: usize, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "{}", console::style("NaN and infinity").bold())?;
        if let Some(why) = &self.not_checked {
            return writeln!(out, "  not checked: {why}");
        }
        print(&self.found, limit, out)
    }
}

/// Who made the first, which arrays came with one, and how far it went.
pub fn print(found: &Finite, limit: usize, out: &mut impl Write) -> std::io::Result<()> {
    for g in found.given.iter().take(limit) {
        let (amount, what) = (amount(g.nan, g.inf), text::short(&g.what, 60));
        writeln!(out, "  array {} came with {amount} ({what})", g.array)?;
    }
    for (i, m) in found.makers.iter().take(limit).enumerate() {
        let first = if i == 0 { text::bad("first made by") } else { "also made by".to_owned() };
        let (name, place) = (text::short(&m.name, 40), text::short(&m.call_site, 60));
        writeln!(out, "  {first} op {} ({name}) at {place}: {}", m.op, amount(m.nan, m.inf))?;
        if let Some(e) = &m.element {
            let read =
                if e.read.is_empty() { String::new() } else { format!(", from {}", e.read.join(", ")) };
            writeln!(out, "    element {:?} is {}{read}", e.index, e.value)?;
        }
        if m.among.len() > 1 {
            writeln!(out, "    one of the operations {:?} of its launch", m.among)?;
        }
    }
    let more = found.made.saturating_sub(limit.min(found.makers.len()) as u64);
    if more > 0 {
        writeln!(out, "  … and {} more", text::count(more))?;
    }
    if found.passed_on > 0 {
        writeln!(out, "  passed on by {}", text::counted(found.passed_on, "later operation"))?;
    }
    if found.made == 0 {
        let checked = text::counted(found.checked, "result");
        writeln!(out, "  {} in {checked}", text::good("none was made"))?;
    }
    Ok(())
}

fn amount(nan: u64, inf: u64) -> String {
    match (nan, inf) {
        (0, inf) => format!("{} infinite", text::count(inf)),
        (nan, 0) => format!("{} NaN", text::count(nan)),
        (nan, inf) => format!("{} NaN and {} infinite", text::count(nan), text::count(inf)),
    }
}

/// Looks at the figures of all results, then runs the first `limit` launches that went wrong again to see which
/// operation and which element it was.
pub fn check(
    trace: &Trace,
    plan: Option<&Plan>,
    devices: &[Device],
    limit: usize,
) -> Result<Finding, Failure> {
    let mut found = analysis::finite(trace, usize::MAX)?;
    if trace.stats()?.is_empty() {
        let why = "the trace has no figures; capture it with `--mode stats` or `--mode replay`".to_owned();
        return Ok(Finding { not_checked: Some(why), found });
    }
    if let Some(plan) = plan {
        let shown = limit.min(found.makers.len());
        look(plan, devices, &mut found.makers[..shown])?;
    }
    Ok(Finding { not_checked: None, found })
}

/// Runs what these launches need again, operation by operation, and looks for the first result of each that is not
/// finite. One replay for each device that they ran on serves all of them.
fn look(plan: &Plan, devices: &[Device], makers: &mut [Maker]) -> Result<(), Failure> {
    let table = plan.trace.ops()?;
    let row_of: HashMap<u64, usize> = table.iter().enumerate().map(|(row, op)| (op.id, row)).collect();
    let rows = |maker: &Maker| -> Vec<usize> {
        let ids = if maker.among.is_empty() { std::slice::from_ref(&maker.op) } else { &maker.among };
        ids.iter().filter_map(|id| row_of.get(id).copied()).collect()
    };
    let recorded = |rows: &[usize]| {
        let name = table.get(*rows.last()?)?.device.to_owned();
        devices.iter().copied().find(|d| d.to_string() == name).or(devices.first().copied())
    };
    for &device in devices {
        let mut maker_of: HashMap<usize, usize> = HashMap::new();
        let mut last_rows = Vec::new();
        for (i, maker) in makers.iter().enumerate() {
            let rows = rows(maker);
            if recorded(&rows) == Some(device) {
                last_rows.extend(rows.last().copied());
                maker_of.extend(rows.into_iter().map(|row| (row, i)));
            }
        }
        if last_rows.is_empty() {
            continue;
        }
        let needed = plan.needed_by(&last_rows)?;
        let stand_in = devices.iter().copied().find(|other| *other != device);
        plan.run(
            Way { device, fused: false, stand_in },
            |row| needed[row],
            |row, op, made, arrays| {
                let (Made::Ran(results) | Made::Elsewhere(results, _)) = made else { return Ok(()) };
                let Some(maker) = maker_of.get(&row).and_then(|&i| makers.get_mut(i)) else { return Ok(()) };
                if maker.element.is_some() {
                    return Ok(());
                }
                for array in results {
                    let figures = capture::figures(array)?;
                    if figures.nan + figures.inf > 0 {
                        *maker = Maker {
                            op: op.id,
                            name: op.name.to_owned(),
                            call_site: op.call_site.to_owned(),
                            label: op.label.map(str::to_owned),
                            nan: figures.nan,
                            inf: figures.inf,
                            among: Vec::new(),
                            element: element(op, array, arrays)?,
                        };
                        break;
                    }
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn element(op: &OpView, array: &Array, arrays: &Arrays) -> Result<Option<Element>, Failure> {
    let all = numbers(array)?;
    let parts = all.len() / array.size().max(1);
    let Some(position) = all.iter().position(|v| !v.is_finite()).map(|i| i / parts.max(1)) else {
        return Ok(None);
    };
    let index = index_of(array.shape(), position);
    let elementwise = serde_json::from_str::<Op>(op.op).is_ok_and(|op| op.is_elementwise());
    let mut read = Vec::new();
    for &id in op.inputs {
        let Some(input) = arrays.get(id) else { continue };
        read.push(if elementwise {
            let at = broadcast_position(input.shape(), &index);
            format!("{} (array {id})", text::value(number_at(input, at)?))
        } else {
            let f = capture::figures(input)?;
            let figure = |v: Option<f64>| v.map_or("–".to_owned(), text::value);
            format!("array {id} in [{}, {}]", figure(f.min), figure(f.max))
        });
    }
    Ok(Some(Element { index, value: text::value(number_at(array, position)?), read }))
}
