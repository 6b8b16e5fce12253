//! Which operation made the first NaN or infinity: its inputs were finite, its result is not.

use std::collections::HashMap;
use std::io::Write;

use pellucid::op::{Op, Scalar};
use pellucid::{Array, Device, capture};
use pellucid_trace::Trace;
use pellucid_trace::schema::OpView;
use serde::Serialize;

use crate::elements::{broadcast_position, index_of, number_at, numbers};
use crate::rerun::{Arrays, Failure, Made, Plan, Way, is_input};
use crate::text;

/// What was found.
#[derive(Default, Serialize)]
pub struct Finding {
    /// Why nothing could be looked at.
    not_checked: Option<String>,
    /// Results with figures.
    checked: u64,
    /// Operations that made a NaN or infinity, in the order they ran.
    makers: Vec<Maker>,
    /// Arrays and constants that came with a NaN or infinity in them.
    given: Vec<Given>,
    /// Operations that passed one on.
    passed_on: u64,
}

#[derive(Serialize)]
struct Maker {
    op: u64,
    name: String,
    call_site: String,
    label: Option<String>,
    nan: u64,
    inf: u64,
    /// Operations of the launch, if it is not known which one of them it was.
    among: Vec<u64>,
    element: Option<Element>,
}

/// The first element that is not finite, and what was read for it.
#[derive(Serialize)]
struct Element {
    index: Vec<usize>,
    value: String,
    read: Vec<String>,
}

#[derive(Serialize)]
struct Given {
    array: u64,
    what: String,
    nan: u64,
    inf: u64,
}

impl Finding {
    /// True if no operation made one, and no array came with a NaN. An infinity that somebody put there is a mask.
    pub fn is_good(&self) -> bool {
        self.makers.is_empty() && self.given.iter().all(|g| g.nan == 0)
    }

    /// True if something was looked at.
    pub fn looked(&self) -> bool {
        self.checked > 0
    }

    /// Prints it for people.
    pub fn print(&self, limit: usize, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "{}", console::style("NaN and infinity").bold())?;
        if let Some(why) = &self.not_checked {
            return writeln!(out, "  not checked: {why}");
        }
        for g in self.given.iter().take(limit) {
            writeln!(
                out,
                "  array {} came with {} ({})",
                g.array,
                amount(g.nan, g.inf),
                text::short(&g.what, 60)
            )?;
        }
        for (i, m) in self.makers.iter().take(limit).enumerate() {
            let first = if i == 0 { text::bad("first made by") } else { "also made by".to_owned() };
            let place = text::short(&m.call_site, 60);
            writeln!(
                out,
                "  {first} op {} ({}) at {place}: {}",
                m.op,
                text::short(&m.name, 40),
                amount(m.nan, m.inf)
            )?;
            if let Some(e) = &m.element {
                writeln!(out, "    element {:?} is {}, from {}", e.index, e.value, e.read.join(", "))?;
            }
            if m.among.len() > 1 {
                writeln!(out, "    one of the operations {:?} of its launch", m.among)?;
            }
        }
        if self.makers.len() > limit {
            writeln!(out, "  … and {} more", text::count((self.makers.len() - limit) as u64))?;
        }
        if self.passed_on > 0 {
            writeln!(out, "  passed on by {}", text::counted(self.passed_on, "later operation"))?;
        }
        if self.makers.is_empty() {
            let checked = text::counted(self.checked, "result");
            writeln!(out, "  {} in {checked}", text::good("none was made"))?;
        }
        Ok(())
    }
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
    let stats: HashMap<u64, (u64, u64)> = trace.stats()?.iter().map(|s| (s.array, (s.nan, s.inf))).collect();
    if stats.is_empty() {
        let why = "the trace has no figures; capture it with `--mode stats` or `--mode replay`".to_owned();
        return Ok(Finding { not_checked: Some(why), ..Finding::default() });
    }
    let mut found = Finding::default();
    let mut rows_of: HashMap<u64, Vec<usize>> = HashMap::new();
    // Whether each array holds a NaN or infinity, and the same for what a launch has read so far.
    let mut odd: HashMap<u64, bool> = HashMap::new();
    let mut read_odd: HashMap<u64, bool> = HashMap::new();
    for (row, op) in trace.ops()?.iter().enumerate() {
        let sum = |(nan, inf): (u64, u64), more: &(u64, u64)| (nan + more.0, inf + more.1);
        let figures = op.outputs.iter().filter_map(|id| stats.get(id));
        let figures = (figures.clone().count() > 0).then(|| figures.fold((0, 0), sum));
        let reads = op.inputs.iter().any(|input| odd.get(input).copied().unwrap_or(false));
        if let Some(launch) = op.launch {
            rows_of.entry(launch).or_default().push(row);
            *read_odd.entry(launch).or_default() |= reads;
        }
        let is_odd = match figures {
            Some((nan, inf)) => {
                found.checked += 1;
                nan + inf > 0
            }
            None => constant(&op).unwrap_or(reads),
        };
        let of = |id: &u64| stats.get(id).map_or(is_odd, |(nan, inf)| nan + inf > 0);
        odd.extend(op.outputs.iter().map(|id| (*id, of(id))));
        let (nan, inf) = figures.unwrap_or_default();
        if !is_odd {
            continue;
        }
        if op.inputs.is_empty() {
            let what = op.label.map_or_else(|| op.call_site.to_owned(), str::to_owned);
            let what = if is_input(&op) { what } else { format!("{} at {what}", op.name) };
            let inf = if figures.is_none() { 1 } else { inf };
            found.given.push(Given { array: op.id, what, nan, inf });
        } else if let Some(launch) = op.launch.filter(|_| figures.is_some()) {
            if read_odd.get(&launch).copied().unwrap_or(false) {
                found.passed_on += 1;
            } else {
                let among = rows_of.get(&launch).map_or(Vec::new(), Clone::clone);
                found.makers.push(maker(&op, nan, inf, among.iter().map(|&r| r as u64).collect()));
            }
        }
    }
    if let Some(plan) = plan {
        let shown = limit.min(found.makers.len());
        look(plan, devices, &mut found.makers[..shown])?;
    }
    for maker in &mut found.makers {
        let ids = maker.among.iter().filter_map(|&r| Some(trace.ops().ok()?.get(r as usize)?.id)).collect();
        maker.among = if maker.element.is_some() { Vec::new() } else { ids };
    }
    Ok(found)
}

fn maker(op: &OpView, nan: u64, inf: u64, among: Vec<u64>) -> Maker {
    Maker {
        op: op.id,
        name: op.name.to_owned(),
        call_site: op.call_site.to_owned(),
        label: op.label.map(str::to_owned),
        nan,
        inf,
        among,
        element: None,
    }
}

/// For a constant, whether it is not finite.
fn constant(op: &OpView) -> Option<bool> {
    if op.launch.is_some() || !op.inputs.is_empty() || is_input(op) {
        return None;
    }
    match serde_json::from_str(op.op) {
        Ok(Op::Full { value: Scalar::Float(v), .. }) => Some(!v.is_finite()),
        Ok(Op::Full { value: Scalar::Complex(re, im), .. }) => Some(!(re.is_finite() && im.is_finite())),
        _ => Some(false),
    }
}

/// Runs what these launches need again, operation by operation, and looks for the first result of each that is not
/// finite. One replay for each device that they ran on serves all of them.
fn look(plan: &Plan, devices: &[Device], makers: &mut [Maker]) -> Result<(), Failure> {
    let table = plan.trace.ops()?;
    let recorded = |maker: &Maker| {
        let row = *maker.among.last()? as usize;
        let name = table.get(row)?.device.to_owned();
        devices.iter().copied().find(|d| d.to_string() == name).or(devices.first().copied())
    };
    for &device in devices {
        let mut maker_of: HashMap<usize, usize> = HashMap::new();
        let mut last_rows = Vec::new();
        for (i, maker) in makers.iter().enumerate().filter(|(_, m)| recorded(m) == Some(device)) {
            maker_of.extend(maker.among.iter().map(|&row| (row as usize, i)));
            last_rows.extend(maker.among.last().map(|&row| row as usize));
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
                        let element = element(op, array, arrays)?;
                        let among = maker.among.clone();
                        *maker = Maker { element, ..self::maker(op, figures.nan, figures.inf, among) };
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
