//! Perfetto's own format: streams as tracks, launches as slices with arguments, dependencies and waits as flows,
//! memory as counters. Field numbers are those of Perfetto's `.proto` files; only long-stable ones are used.

use std::collections::HashMap;
use std::io::Write;

use super::Sink;
use super::plan::{Plan, nested};
use super::proto::Message;
use crate::analysis::index::Index;
use crate::schema::LaunchView;
use crate::{Result, Trace};

/// All packets come from one sequence: they share names and are in order.
const SEQUENCE: u64 = 1;
const PROCESS: u64 = 1;
const LANES: u64 = 0x1000;
const WAITS: u64 = 0x2000_0000;
const THREADS: u64 = 0x3000_0000;
const COUNTERS: u64 = 0x4000_0000;
const BEGIN: u64 = 1;
const END: u64 = 2;
const COUNTER: u64 = 4;

/// How many of each an exported timeline has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Drawn {
    /// Launches, waits and regions.
    pub slices: u64,
    /// Arrows between them.
    pub flows: u64,
    /// Points of the memory curves.
    pub counters: u64,
    /// Rows that slices and curves are drawn in.
    pub tracks: u64,
}

/// Writes the trace in Perfetto's format; open it at <https://ui.perfetto.dev>, where it stays in the browser.
///
/// # Errors
/// As the tables, or [`Error::Io`](crate::Error::Io) if writing fails.
///
/// ```
/// # use pellucid_trace::{Manifest, Options, Trace, Writer, export};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("t.pltrace");
/// # Writer::create(&path, Options::default())?.finish(Manifest::default())?;
/// let trace = Trace::open(&path)?;
/// let drawn = export::perfetto(&trace, std::fs::File::create(folder.path().join("t.pftrace"))?)?;
/// assert_eq!(drawn.slices, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn perfetto(trace: &Trace, out: impl Write) -> Result<Drawn> {
    let index = Index::new(trace)?;
    let plan = Plan::new(trace, &index)?;
    let mut export = Export::new(Sink::new(trace, out));
    export.tracks(trace, &plan)?;
    export.regions(trace)?;
    export.launches(trace, &plan, &index)?;
    export.waits(trace, &plan)?;
    export.memory(trace)?;
    export.out.flush()?;
    Ok(export.drawn)
}

/// Kinds of names that packets refer to by number, with their field in the table of names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Category = 1,
    Event = 2,
    Argument = 3,
    Text = 29,
}

struct Export<W: Write> {
    out: Sink<W>,
    names: HashMap<(Name, Box<str>), u64>,
    /// Names that the next packet introduces.
    fresh: Message,
    packet: Message,
    started: bool,
    drawn: Drawn,
}

impl<W: Write> Export<W> {
    fn new(out: Sink<W>) -> Self {
        let (names, fresh, packet) = (HashMap::new(), Message::default(), Message::default());
        Self { out, names, fresh, packet, started: false, drawn: Drawn::default() }
    }

    /// The number of a name, introduced by the packet that uses it first.
    fn name(&mut self, kind: Name, text: &str) -> u64 {
        if let Some(number) = self.names.get(&(kind, text.into())) {
            return *number;
        }
        let number = self.names.len() as u64 + 1;
        self.names.insert((kind, text.into()), number);
        let mut entry = Message::default();
        entry.uint(1, number).text(2, text);
        self.fresh.message(kind as u32, &entry);
        number
    }

    fn send(&mut self, time: Option<i64>, field: u32, content: &Message) -> Result<()> {
        let mut packet = std::mem::take(&mut self.packet);
        packet.clear();
        if let Some(time) = time {
            packet.uint(8, time.max(0) as u64);
        }
        packet.uint(10, SEQUENCE);
        // The first packet clears what the reader knows of the sequence; the others build on it.
        packet.uint(13, if self.started { 2 } else { 1 });
        self.started = true;
        if !self.fresh.is_empty() {
            packet.message(12, &self.fresh);
            self.fresh.clear();
        }
        packet.message(field, content);
        let mut framed = Message::default();
        framed.message(1, &packet);
        self.packet = packet;
        self.out.write(framed.as_bytes())
    }

    fn track(&mut self, id: u64, name: &str, parent: u64, rank: u64, counter: bool) -> Result<()> {
        let mut track = Message::default();
        track.uint(1, id).text(2, name).uint(5, parent).uint(12, rank);
        if counter {
            let mut unit = Message::default();
            unit.uint(3, 3).text(7, "memory");
            track.message(8, &unit);
        }
        self.drawn.tracks += 1;
        self.send(None, 60, &track)
    }

    fn tracks(&mut self, trace: &Trace, plan: &Plan) -> Result<()> {
        let manifest = trace.manifest();
        let name = if manifest.program.name.is_empty() { "pellucid" } else { &manifest.program.name };
        let (mut process, mut track) = (Message::default(), Message::default());
        process.uint(1, u64::from(manifest.program.pid.max(1))).text(6, name);
        // Explicit order of the rows below.
        track.uint(1, PROCESS).message(3, &process).uint(11, 3);
        self.send(None, 60, &track)?;
        for (i, thread) in nested(&manifest.regions).keys().enumerate() {
            let i = i as u64;
            self.track(THREADS + i, &format!("regions of {thread}"), PROCESS, i, false)?;
        }
        for (i, lane) in plan.lanes.iter().enumerate() {
            let rank = 1_000 + u64::from(lane.stream);
            self.track(LANES + i as u64, &format!("{} on {}", lane.name, lane.device), PROCESS, rank, false)?;
        }
        Ok(())
    }

    fn begin(&mut self, track: u64, category: &str, name: &str) -> Message {
        let (category, name) = (self.name(Name::Category, category), self.name(Name::Event, name));
        let mut event = Message::default();
        event.uint(3, category).uint(9, BEGIN).uint(10, name).uint(11, track);
        self.drawn.slices += 1;
        event
    }

    fn end(&mut self, track: u64, time: i64) -> Result<()> {
        let mut event = Message::default();
        event.uint(9, END).uint(11, track);
        self.send(Some(time), 11, &event)
    }

    fn regions(&mut self, trace: &Trace) -> Result<()> {
        for (i, (_, regions)) in nested(&trace.manifest().regions).into_iter().enumerate() {
            let track = THREADS + i as u64;
            let mut open: Vec<i64> = Vec::new();
            for (start, end, name) in regions {
                while let Some(outer) = open.pop_if(|outer| *outer <= start) {
                    self.end(track, outer)?;
                }
                let event = self.begin(track, "region", name);
                self.send(Some(start), 11, &event)?;
                open.push(end);
            }
            while let Some(end) = open.pop() {
                self.end(track, end)?;
            }
        }
        Ok(())
    }

    /// Events by time, because flows run forward in the file: begins and ends of all lanes together.
    fn launches(&mut self, trace: &Trace, plan: &Plan, index: &Index) -> Result<()> {
        let (table, ops) = (trace.launches()?, trace.ops()?);
        let mut order: Vec<(i64, u32, bool)> = Vec::with_capacity(2 * table.len());
        let mut by_start: Vec<(i64, i64, u32)> =
            table.iter().zip(0..).map(|(launch, row)| (launch.start_ns, launch.end_ns, row)).collect();
        by_start.sort_unstable();
        for (start, end, row) in by_start {
            order.push((start, row, true));
            order.push((end.max(start), row, false));
        }
        // Stable: what ends when another begins on the same lane was pushed before it.
        order.sort_by_key(|(time, ..)| *time);
        for (time, row, begins) in order {
            let row = row as usize;
            let track = LANES + u64::from(plan.lane_of[row]);
            if begins {
                let Some(launch) = table.get(row) else { continue };
                let mut event = self.begin(track, "launch", launch.kernel);
                let site = index.ops_of(launch.ops).last().and_then(|row| ops.get(row));
                self.arguments(&mut event, &launch, site.map(|op| (op.call_site, op.label)));
                for link in plan.out[row].iter().chain(&plan.into[row]) {
                    event.fixed64(47, u64::from(*link) + 1);
                }
                self.drawn.flows += plan.out[row].len() as u64;
                self.send(Some(time), 11, &event)?;
                self.dispatches(trace, plan, launch.id, track)?;
            } else {
                self.end(track, time)?;
            }
        }
        Ok(())
    }

    /// The kernels of a launch, inside its slice. They follow each other, so that their begins and ends come in order.
    fn dispatches(&mut self, trace: &Trace, plan: &Plan, launch: u64, track: u64) -> Result<()> {
        let table = trace.dispatches()?;
        for row in plan.dispatches.get(&launch).into_iter().flatten() {
            let Some(dispatch) = table.get(*row as usize) else { continue };
            let mut event = self.begin(track, "dispatch", dispatch.kernel);
            self.number(&mut event, "dispatch", dispatch.id);
            self.text(&mut event, "grid", &list(dispatch.grid));
            self.text(&mut event, "workgroup", &list(dispatch.workgroup));
            self.text(&mut event, "arrays", &list(dispatch.arrays));
            self.text(&mut event, "sizes", &list(dispatch.sizes));
            self.text(&mut event, "constants", &list(dispatch.constants));
            self.text(&mut event, "timed by", dispatch.timed_by);
            self.send(Some(dispatch.start_ns), 11, &event)?;
            self.end(track, dispatch.end_ns.max(dispatch.start_ns))?;
        }
        Ok(())
    }

    fn arguments(&mut self, event: &mut Message, launch: &LaunchView, site: Option<(&str, Option<&str>)>) {
        self.number(event, "launch", launch.id);
        self.text(event, "ops", &list(launch.ops));
        self.text(event, "grid", &list(launch.grid));
        self.number(event, "bytes", launch.bytes);
        self.number(event, "flops", launch.flops);
        self.number(event, "submission", launch.submission);
        self.text(event, "timed by", launch.timed_by);
        let waited = launch.start_ns.saturating_sub(launch.enqueue_ns).max(0) as u64;
        self.number(event, "queued ns", waited);
        let duration = launch.end_ns.saturating_sub(launch.start_ns);
        if duration > 0 {
            self.double(event, "GB/s", launch.bytes as f64 / duration as f64);
            self.double(event, "GFLOP/s", launch.flops as f64 / duration as f64);
        }
        if let Some(source) = launch.source {
            self.text(event, "source", source);
        }
        if let Some((call_site, label)) = site {
            self.text(event, "call site", call_site);
            if let Some(label) = label {
                self.text(event, "label", label);
            }
        }
    }

    fn number(&mut self, event: &mut Message, name: &str, value: u64) {
        self.argument(event, name, |argument| argument.uint(3, value));
    }

    fn double(&mut self, event: &mut Message, name: &str, value: f64) {
        self.argument(event, name, |argument| argument.double(5, value));
    }

    fn text(&mut self, event: &mut Message, name: &str, value: &str) {
        // Texts that differ from launch to launch would only make the table of names grow.
        if name == "ops" {
            self.argument(event, name, |argument| argument.text(6, value));
            return;
        }
        let number = self.name(Name::Text, value);
        self.argument(event, name, |argument| argument.uint(17, number));
    }

    fn argument(
        &mut self,
        event: &mut Message,
        name: &str,
        value: impl FnOnce(&mut Message) -> &mut Message,
    ) {
        let mut argument = Message::default();
        argument.uint(1, self.name(Name::Argument, name));
        value(&mut argument);
        event.message(4, &argument);
    }

    fn waits(&mut self, trace: &Trace, plan: &Plan) -> Result<()> {
        let table = trace.sync()?;
        let mut lanes: HashMap<i32, Vec<(i64, u64)>> = HashMap::new();
        let mut order: Vec<(i64, usize)> =
            table.iter().enumerate().map(|(row, wait)| (wait.time_ns, row)).collect();
        order.sort_unstable();
        let mut next = WAITS;
        for (start, row) in order {
            let Some(wait) = table.get(row) else { continue };
            let end = start.saturating_add(wait.duration_ns.max(0));
            let open = lanes.entry(wait.waiter).or_default();
            let track = match open.iter_mut().find(|(until, _)| *until <= start) {
                Some((until, track)) => {
                    *until = end;
                    *track
                }
                None => {
                    let track = next;
                    next += 1;
                    open.push((end, track));
                    let (name, rank) = match u32::try_from(wait.waiter) {
                        Ok(stream) => (format!("waits of stream {stream}"), 1_000 + u64::from(stream)),
                        Err(_) => ("waits of the host".to_owned(), 500),
                    };
                    self.track(track, &name, PROCESS, rank, false)?;
                    track
                }
            };
            let mut event = self.begin(track, "wait", &format!("wait for stream {}", wait.waited_for));
            if let Some(link) = plan.into_wait.get(&(row as u32)) {
                event.fixed64(47, u64::from(*link) + 1);
            }
            self.send(Some(start), 11, &event)?;
            self.end(track, end)?;
        }
        Ok(())
    }

    /// A curve has a point where its value changes.
    fn memory(&mut self, trace: &Trace) -> Result<()> {
        let mut devices: HashMap<&str, (u64, [Option<u64>; 3])> = HashMap::new();
        for row in trace.memory()?.iter() {
            let first = COUNTERS + 3 * devices.len() as u64;
            if !devices.contains_key(row.device) {
                for (i, name) in ["active", "cache", "peak"].iter().enumerate() {
                    let name = format!("{name} memory of {}", row.device);
                    self.track(first + i as u64, &name, PROCESS, 5_000 + i as u64, true)?;
                }
            }
            let (first, before) = devices.entry(row.device).or_insert((first, [None; 3]));
            for ((track, value), before) in (*first..).zip([row.active, row.cache, row.peak]).zip(before) {
                if before.replace(value) == Some(value) {
                    continue;
                }
                let mut event = Message::default();
                event.uint(9, COUNTER).uint(11, track).int(30, value.min(i64::MAX as u64) as i64);
                self.drawn.counters += 1;
                self.send(Some(row.time_ns), 11, &event)?;
            }
        }
        Ok(())
    }
}

fn list<T: std::fmt::Display>(values: &[T]) -> String {
    let mut text = values.iter().take(32).map(T::to_string).collect::<Vec<_>>().join(", ");
    if values.len() > 32 {
        text.push_str(", …");
    }
    text
}
