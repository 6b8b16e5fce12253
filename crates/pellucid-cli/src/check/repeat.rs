//! Whether two replays give the same bits.

use std::collections::HashMap;
use std::io::Write;

use pellucid::{Device, capture};
use serde::Serialize;

use crate::progress::Progress;
use crate::rerun::{Failure, Made, Plan};
use crate::text;

/// What was found.
#[derive(Default, Serialize)]
pub struct Finding {
    /// Why nothing was compared.
    not_checked: Option<String>,
    /// Each device.
    devices: Vec<OnDevice>,
}

#[derive(Serialize)]
struct OnDevice {
    device: String,
    /// Results compared.
    compared: u64,
    /// Results that differ, in the order they were made: later ones may only follow from the first.
    different: Vec<Different>,
}

#[derive(Serialize)]
struct Different {
    op: u64,
    name: String,
    call_site: String,
}

impl Finding {
    /// True if nothing differs.
    pub fn is_good(&self) -> bool {
        self.devices.iter().all(|d| d.different.is_empty())
    }

    /// Prints it for people.
    pub fn print(&self, limit: usize, out: &mut impl Write) -> std::io::Result<()> {
        text::heading(out, "Twice the same")?;
        if let Some(why) = &self.not_checked {
            return writeln!(out, "  not checked: {why}");
        }
        for d in &self.devices {
            let compared = text::counted(d.compared, "result");
            match d.different.first() {
                None => {
                    writeln!(out, "  {}: two replays on {} agree in {compared}", text::good("yes"), d.device)?
                }
                Some(first) => writeln!(
                    out,
                    "  {}: on {} {} of {compared} differ, first op {} ({}) at {}",
                    text::bad("no"),
                    d.device,
                    text::count(d.different.len() as u64),
                    first.op,
                    text::short(&first.name, 40),
                    text::short(&first.call_site, 60)
                )?,
            }
            let others: Vec<String> =
                d.different.iter().skip(1).take(limit).map(|o| o.op.to_string()).collect();
            if !others.is_empty() {
                writeln!(out, "    then op {}", others.join(", "))?;
            }
        }
        Ok(())
    }
}

/// Runs everything twice on each device.
pub fn check(plan: &Result<Plan, String>, devices: &[Device]) -> Result<Finding, Failure> {
    let plan = match plan {
        Ok(plan) => plan,
        Err(why) => return Ok(Finding { not_checked: Some(why.clone()), ..Finding::default() }),
    };
    let mut found = Finding::default();
    let mut progress = Progress::new("replaying twice", 2 * devices.len() * plan.trace.ops()?.len());
    for &device in devices {
        let mut hashes: HashMap<u64, u64> = HashMap::new();
        let mut on = OnDevice { device: device.to_string(), compared: 0, different: Vec::new() };
        for round in 0..2 {
            plan.run(
                device,
                true,
                |_| true,
                |_, op, made, _| {
                    progress.step();
                    let Made::Ran(array) = made else { return Ok(()) };
                    let hash = capture::figures(array)?.hash;
                    if round == 0 {
                        hashes.insert(op.id, hash);
                        return Ok(());
                    }
                    on.compared += 1;
                    if hashes.get(&op.id) != Some(&hash) {
                        let (name, call_site) = (op.name.to_owned(), op.call_site.to_owned());
                        on.different.push(Different { op: op.id, name, call_site });
                    }
                    Ok(())
                },
            )?;
        }
        found.devices.push(on);
    }
    Ok(found)
}
