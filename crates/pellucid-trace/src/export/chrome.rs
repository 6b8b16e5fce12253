//! The JSON that `chrome://tracing` and many other viewers read: streams as threads, launches as complete events.

use std::io::Write;

use serde_json::{Value, json};

use super::Sink;
use super::perfetto::Drawn;
use super::plan::{Plan, Target, nested};
use crate::analysis::index::Index;
use crate::{Result, Trace};

const LANES: u64 = 1_000;
const WAITS: i64 = 500_000;
const THREADS: u64 = 1;

/// Writes the trace as Chrome's JSON. Perfetto's format is smaller and shows more.
///
/// # Errors
/// As the tables, or [`Error::Io`](crate::Error::Io) if writing fails.
pub fn chrome(trace: &Trace, out: impl Write) -> Result<Drawn> {
    let index = Index::new(trace)?;
    let plan = Plan::new(trace, &index)?;
    let mut export = Export { out: Sink::new(trace, out), first: true, drawn: Drawn::default() };
    export.out.write(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    export.tracks(trace, &plan)?;
    export.launches(trace, &plan, &index)?;
    export.waits(trace)?;
    export.memory(trace)?;
    export.out.write(b"\n]}\n")?;
    export.out.flush()?;
    Ok(export.drawn)
}

struct Export<W: Write> {
    out: Sink<W>,
    first: bool,
    drawn: Drawn,
}

/// Chrome counts in microseconds.
fn micros(ns: i64) -> f64 {
    ns as f64 / 1e3
}

impl<W: Write> Export<W> {
    fn event(&mut self, event: &Value) -> Result<()> {
        self.out.write(if std::mem::take(&mut self.first) { b"\n" } else { b",\n" })?;
        self.out.write(event.to_string().as_bytes())
    }

    fn thread(&mut self, id: u64, name: &str) -> Result<()> {
        self.drawn.tracks += 1;
        self.event(&json!({"ph": "M", "pid": 1, "tid": id, "name": "thread_name", "args": {"name": name}}))?;
        self.event(
            &json!({"ph": "M", "pid": 1, "tid": id, "name": "thread_sort_index", "args": {"sort_index": id}}),
        )
    }

    fn tracks(&mut self, trace: &Trace, plan: &Plan) -> Result<()> {
        let manifest = trace.manifest();
        let name = if manifest.program.name.is_empty() { "pellucid" } else { &manifest.program.name };
        self.event(&json!({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": name}}))?;
        for (i, (thread, regions)) in nested(&manifest.regions).into_iter().enumerate() {
            let tid = THREADS + i as u64;
            self.thread(tid, &format!("regions of {thread}"))?;
            for (start, end, name) in regions {
                self.drawn.slices += 1;
                let (ts, dur) = (micros(start), micros(end.saturating_sub(start)));
                self.event(&json!({"ph": "X", "pid": 1, "tid": tid, "name": name, "cat": "region", "ts": ts, "dur": dur}))?;
            }
        }
        for (i, lane) in plan.lanes.iter().enumerate() {
            self.thread(LANES + i as u64, &format!("{} on {}", lane.name, lane.device))?;
        }
        Ok(())
    }

    fn launches(&mut self, trace: &Trace, plan: &Plan, index: &Index) -> Result<()> {
        let (table, ops) = (trace.launches()?, trace.ops()?);
        for (row, launch) in table.iter().enumerate() {
            let tid = LANES + u64::from(plan.lane_of[row]);
            let op = index.ops_of(launch.ops).last().and_then(|row| ops.get(row));
            let args = json!({
                "launch": launch.id, "ops": launch.ops.get(..32).unwrap_or(launch.ops), "grid": launch.grid,
                "bytes": launch.bytes, "flops": launch.flops, "submission": launch.submission,
                "timed by": launch.timed_by, "source": launch.source,
                "call site": op.map(|op| op.call_site), "label": op.and_then(|op| op.label),
            });
            let (ts, dur) =
                (micros(launch.start_ns), micros(launch.end_ns.saturating_sub(launch.start_ns).max(0)));
            self.drawn.slices += 1;
            self.event(&json!({
                "ph": "X", "pid": 1, "tid": tid, "name": launch.kernel, "cat": "launch", "ts": ts, "dur": dur, "args": args,
            }))?;
            self.dispatches(trace, plan, launch.id, tid)?;
            self.links(trace, plan, row, tid, ts)?;
        }
        Ok(())
    }

    /// The kernels of a launch, inside its slice.
    fn dispatches(&mut self, trace: &Trace, plan: &Plan, launch: u64, tid: u64) -> Result<()> {
        let table = trace.dispatches()?;
        for row in plan.dispatches.get(&launch).into_iter().flatten() {
            let Some(dispatch) = table.get(*row as usize) else { continue };
            let args = json!({
                "dispatch": dispatch.id, "grid": dispatch.grid, "workgroup": dispatch.workgroup,
                "arrays": dispatch.arrays, "sizes": dispatch.sizes, "constants": dispatch.constants,
                "timed by": dispatch.timed_by, "source": dispatch.source,
            });
            let took = dispatch.end_ns.saturating_sub(dispatch.start_ns).max(0);
            let (ts, dur) = (micros(dispatch.start_ns), micros(took));
            self.drawn.slices += 1;
            self.event(&json!({
                "ph": "X", "pid": 1, "tid": tid, "name": dispatch.kernel, "cat": "dispatch", "ts": ts, "dur": dur,
                "args": args,
            }))?;
        }
        Ok(())
    }

    fn links(&mut self, trace: &Trace, plan: &Plan, row: usize, tid: u64, ts: f64) -> Result<()> {
        for link in &plan.out[row] {
            self.drawn.flows += 1;
            self.event(&json!({"ph": "s", "pid": 1, "tid": tid, "id": link, "name": "needs", "cat": "flow", "ts": ts}))?;
            let target = plan.links.get(*link as usize).map(|link| link.to);
            let wait = |row: u32| trace.sync().ok()?.get(row as usize);
            let (tid, ts) = match target {
                Some(Target::Launch(row)) => {
                    let launch = trace.launches().ok().and_then(|table| table.get(row as usize));
                    let lane = plan.lane_of.get(row as usize).copied().unwrap_or(0);
                    (LANES + u64::from(lane), launch.map_or(0, |launch| launch.start_ns))
                }
                Some(Target::Wait(row)) => {
                    wait(row).map_or((0, 0), |wait| (wait_thread(wait.waiter), wait.time_ns))
                }
                None => continue,
            };
            let ts = micros(ts);
            self.event(&json!({
                "ph": "f", "bp": "e", "pid": 1, "tid": tid, "id": link, "name": "needs", "cat": "flow", "ts": ts,
            }))?;
        }
        Ok(())
    }

    fn waits(&mut self, trace: &Trace) -> Result<()> {
        let table = trace.sync()?;
        let mut waiters: Vec<i32> = table.iter().map(|wait| wait.waiter).collect();
        waiters.sort_unstable();
        waiters.dedup();
        waiters.into_iter().try_for_each(|waiter| {
            let name =
                if waiter < 0 { "waits of the host".into() } else { format!("waits of stream {waiter}") };
            self.thread(wait_thread(waiter), &name)
        })?;
        for wait in table.iter() {
            self.drawn.slices += 1;
            let (ts, dur) = (micros(wait.time_ns), micros(wait.duration_ns.max(0)));
            let (tid, name) = (wait_thread(wait.waiter), format!("wait for stream {}", wait.waited_for));
            self.event(
                &json!({"ph": "X", "pid": 1, "tid": tid, "name": name, "cat": "wait", "ts": ts, "dur": dur}),
            )?;
        }
        Ok(())
    }

    fn memory(&mut self, trace: &Trace) -> Result<()> {
        for row in trace.memory()?.iter() {
            self.drawn.counters += 1;
            let name = format!("memory of {}", row.device);
            let args = json!({"active": row.active, "cache": row.cache});
            self.event(&json!({"ph": "C", "pid": 1, "name": name, "ts": micros(row.time_ns), "args": args}))?;
        }
        Ok(())
    }
}

fn wait_thread(waiter: i32) -> u64 {
    (WAITS + i64::from(waiter.max(-1)) + 1) as u64
}
