//! Each operation on two devices, fed the same inputs, so that errors do not add up.

use std::io::Write;

use pellucid::op::Op;
use pellucid::{Array, Device, eval, with_device};
use serde::Serialize;

use crate::elements::{Distance, distance, index_of, number_at};
use crate::progress::Progress;
use crate::rerun::{Failure, Made, Plan, Way, Why};
use crate::skipped::Skipped;
use crate::text::{self, Side};

/// What was found.
#[derive(Default, Serialize)]
pub struct Finding {
    /// Why nothing was compared.
    not_checked: Option<String>,
    /// Operations compared.
    compared: u64,
    /// Those with the same bits.
    identical: u64,
    /// The others, worst first.
    apart: Vec<Apart>,
    /// What could not be compared.
    #[serde(flatten)]
    skipped: Skipped,
}

#[derive(Serialize)]
struct Apart {
    op: u64,
    name: String,
    call_site: String,
    dtype: String,
    /// Index of the worst element.
    index: Vec<usize>,
    /// What the CPU and the GPU made of it.
    values: [String; 2],
    #[serde(flatten)]
    distance: Distance,
}

impl Finding {
    /// True if no operation is off by more than its type's tolerance.
    pub fn is_good(&self) -> bool {
        self.apart.iter().all(|a| a.distance.beyond == 0)
    }

    /// True if something was compared.
    pub fn looked(&self) -> bool {
        self.compared > 0
    }

    /// Prints it for people.
    pub fn print(&self, limit: usize, out: &mut impl Write) -> std::io::Result<()> {
        text::heading(out, "GPU against CPU, operation by operation")?;
        if let Some(why) = &self.not_checked {
            return writeln!(out, "  not compared: {why}");
        }
        let beyond = self.apart.iter().filter(|a| a.distance.beyond > 0).count() as u64;
        let verdict = if beyond == 0 { text::good("none") } else { text::bad(&text::count(beyond)) };
        writeln!(
            out,
            "  {} compared, {} with the same bits, {verdict} beyond tolerance",
            text::count(self.compared),
            text::count(self.identical)
        )?;
        self.skipped.print(limit, out)?;
        let rows = self.apart.iter().take(limit).map(|a| {
            vec![
                a.op.to_string(),
                text::short(&a.name, 20),
                a.dtype.clone(),
                format!("{:.1}", a.distance.ulp),
                format!("{:.1e}", a.distance.relative),
                text::count(a.distance.beyond),
                format!("{:?}", a.index),
                a.values[0].clone(),
                a.values[1].clone(),
                text::short(&a.call_site, 44),
            ]
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            return Ok(());
        }
        use Side::{Left, Right};
        let headers = [
            ("op", Right),
            ("name", Left),
            ("type", Left),
            ("ULP", Right),
            ("relative", Right),
            ("beyond", Right),
            ("worst at", Left),
            ("CPU", Right),
            ("GPU", Right),
            ("asked for at", Left),
        ];
        text::table(out, &headers, rows)
    }
}

/// Compares the devices, if there are two; `chosen` is the only one that was asked for.
pub fn check(
    plan: &Result<Plan, String>,
    devices: &[Device],
    chosen: Option<Device>,
) -> Result<Finding, Failure> {
    let without = |why: &str| Ok(Finding { not_checked: Some(why.to_owned()), ..Finding::default() });
    let &[reference, other] = devices else {
        let why = match chosen {
            Some(device) => format!("it takes a CPU and a GPU, and `--device` asks for {device} alone"),
            None => "it takes a CPU and a GPU, and only one of them is here".to_owned(),
        };
        return without(&why);
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(why) => return without(why),
    };
    let mut found = Finding::default();
    let mut progress = Progress::new("comparing devices", plan.trace.ops()?.len());
    plan.run(
        Way { device: reference, fused: false, stand_in: Some(other) },
        |_| true,
        |_, op, made, arrays| {
            progress.step();
            let results = match made {
                Made::Ran(results) => results,
                Made::Elsewhere(_, why) => {
                    found.skipped.add(op, &Why::Itself(why));
                    return Ok(());
                }
                Made::Missing(why) => {
                    found.skipped.add(op, &why);
                    return Ok(());
                }
                Made::Given(_) | Made::Lazy => return Ok(()),
            };
            let inputs: Option<Vec<Array>> = op.inputs.iter().map(|id| arrays.get(*id).cloned()).collect();
            let Some(inputs) = inputs else { return Ok(()) };
            let value: Op = serde_json::from_str(op.op)?;
            let again = with_device(other, || Array::apply_many(value, &inputs))?;
            if let Err(error) = eval(&again) {
                found.skipped.add(op, &Why::Itself(format!("on {other}: {error}")));
                return Ok(());
            }
            for (array, again) in results.iter().zip(&again) {
                found.compared += 1;
                let distance = distance(array, again)?;
                if distance == Distance::default() {
                    found.identical += 1;
                    continue;
                }
                let [cpu, gpu] = [array, again].map(|a| number_at(a, distance.position));
                found.apart.push(Apart {
                    op: op.id,
                    name: op.name.to_owned(),
                    call_site: op.call_site.to_owned(),
                    dtype: array.dtype().to_string(),
                    index: index_of(array.shape(), distance.position),
                    values: [text::value(cpu?), text::value(gpu?)],
                    distance,
                });
            }
            Ok(())
        },
    )?;
    found.apart.sort_by(|a, b| {
        let worse = |a: &Apart| (a.distance.beyond > 0, a.distance.ulp);
        let (x, y) = (worse(a), worse(b));
        y.0.cmp(&x.0).then(y.1.total_cmp(&x.1))
    });
    Ok(found)
}
