//! Whether two replays give the same bits.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use pellucid::{Device, capture};
use serde::Serialize;

use crate::progress::Progress;
use crate::rerun::{Failure, Made, Plan, Way};
use crate::skipped::Skipped;
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
    /// Operations that made something else the second time from the same inputs, in the order they ran.
    different: Vec<Different>,
    /// Results that differ because of these.
    following: u64,
    /// What did not run.
    #[serde(flatten)]
    skipped: Skipped,
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

    /// True if something was compared.
    pub fn looked(&self) -> bool {
        self.devices.iter().any(|d| d.compared > 0)
    }

    /// Prints it for people.
    pub fn print(&self, limit: usize, out: &mut impl Write) -> std::io::Result<()> {
        text::heading(out, "Twice the same")?;
        if let Some(why) = &self.not_checked {
            return writeln!(out, "  not checked: {why}");
        }
        for d in &self.devices {
            let compared = text::counted(d.compared, "result");
            d.skipped.print(limit, out)?;
            if d.different.is_empty() {
                let yes = if d.compared > 0 { text::good("yes") } else { "unknown".to_owned() };
                writeln!(out, "  {yes}: two replays on {} agree in {compared}", d.device)?;
                continue;
            }
            let all = text::count(d.different.len() as u64 + d.following);
            writeln!(out, "  {}: on {} {all} of {compared} differ", text::bad("no"), d.device)?;
            for o in d.different.iter().take(limit) {
                let (name, place) = (text::short(&o.name, 40), text::short(&o.call_site, 60));
                writeln!(out, "    op {} ({name}) at {place}", o.op)?;
            }
            if d.different.len() > limit {
                writeln!(out, "    … and {} more", text::count((d.different.len() - limit) as u64))?;
            }
            if d.following > 0 {
                writeln!(out, "    the others only follow from that")?;
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
        found.devices.push(twice(plan, device, devices, &mut progress)?);
    }
    Ok(found)
}

fn twice(
    plan: &Plan,
    device: Device,
    devices: &[Device],
    progress: &mut Progress,
) -> Result<OnDevice, Failure> {
    let way = Way { device, fused: true, stand_in: devices.iter().copied().find(|other| *other != device) };
    let mut hashes: HashMap<u64, u64> = HashMap::new();
    // Arrays that differ, or were made from some that do.
    let mut tainted: HashSet<u64> = HashSet::new();
    let mut on = OnDevice {
        device: device.to_string(),
        compared: 0,
        different: Vec::new(),
        following: 0,
        skipped: Skipped::default(),
    };
    for round in 0..2 {
        plan.run(
            way,
            |_| true,
            |_, op, made, _| {
                progress.step();
                let follows = op.inputs.iter().any(|input| tainted.contains(input));
                if follows {
                    tainted.extend(op.outputs);
                }
                let (results, here) = match made {
                    Made::Ran(results) => (results, true),
                    Made::Elsewhere(results, _) => (results, false),
                    Made::Missing(why) if round == 0 => {
                        on.skipped.add(op, &why);
                        return Ok(());
                    }
                    Made::Given(_) | Made::Lazy | Made::Missing(_) => return Ok(()),
                };
                let mut differs = false;
                for (&id, array) in op.outputs.iter().zip(results) {
                    let hash = capture::figures(array)?.hash;
                    if round == 0 {
                        hashes.insert(id, hash);
                    } else if hashes.get(&id) != Some(&hash) {
                        tainted.insert(id);
                        differs = true;
                    }
                }
                if round == 0 {
                    return Ok(());
                }
                on.compared += u64::from(here);
                if !differs {
                    return Ok(());
                }
                if follows && here {
                    on.following += 1;
                } else if here {
                    let (name, call_site) = (op.name.to_owned(), op.call_site.to_owned());
                    on.different.push(Different { op: op.id, name, call_site });
                }
                Ok(())
            },
        )?;
    }
    Ok(on)
}
