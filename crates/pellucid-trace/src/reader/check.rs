//! Do the rows of a trace agree with each other and with the manifest?

use std::collections::{HashMap, HashSet};

use super::{Problem, Trace};
use crate::analysis::index::Ids;
use crate::npy::element_bytes;
use crate::parallel::both;
use crate::schema::{MEMORY_EVENTS, OpView, ROLES, TIMED_BY, is_input};
use crate::{Error, Result};

/// How many problems are kept; the rest is counted.
const KEPT: usize = 100;
/// No array has more dimensions.
const MAX_RANK: usize = 64;

struct Found {
    list: Vec<Problem>,
    count: usize,
}

impl Found {
    fn add(&mut self, problem: Problem) {
        self.count += 1;
        if self.list.len() < KEPT {
            self.list.push(problem);
        }
    }
}

impl Trace {
    /// Everything in which the rows contradict each other or the manifest, up to 100 of them, and how many there are.
    /// In a trace that is `partial` or `truncated`, rows may name others that were not written.
    ///
    /// # Errors
    /// As the tables.
    pub fn problems(&self) -> Result<(Vec<Problem>, usize)> {
        // The table of operations is as large as all others together: they are read beside it.
        let others = || {
            self.launches()?;
            self.dispatches()?;
            self.memory()?;
            self.stats()?;
            self.sync().map(drop)
        };
        let (others, ops) = both(others, || self.ops().map(drop));
        ops.and(others)?;
        let mut found = Found { list: Vec::new(), count: 0 };
        let complete = !self.manifest.partial && !self.manifest.truncated;
        let launches = self.check_launches(&mut found)?;
        let arrays = self.check_ops(&mut found, &launches, complete)?;
        self.check_dispatches(&mut found, &launches, complete)?;
        self.check_references(&mut found, &arrays, complete)?;
        self.check_counts(&mut found)?;
        self.check_regions(&mut found);
        Ok((found.list, found.count))
    }

    /// Refuses a trace that contradicts itself.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] with the first contradiction, or as the tables.
    pub fn check(&self) -> Result<()> {
        let (problems, count) = self.problems()?;
        match problems.into_iter().next() {
            Some(first) => Err(Error::Inconsistent { first: Box::new(first), count }),
            None => Ok(()),
        }
    }

    fn check_launches(&self, found: &mut Found) -> Result<Ids> {
        let table = self.launches()?;
        let window = self.window();
        let numbers: Vec<u64> = table.iter().map(|launch| launch.id).collect();
        let ids = Ids::new(numbers.iter().copied().zip(0..));
        let mut last: HashMap<u32, (u64, i64)> = HashMap::new();
        for (row, launch) in table.iter().enumerate() {
            // A later launch of the same number has taken its place.
            if ids.get(launch.id) != Some(row) {
                found.add(Problem::LaunchTwice { launch: launch.id });
            }
            let (start_ns, end_ns) = (launch.start_ns, launch.end_ns);
            if start_ns > end_ns
                || launch.enqueue_ns > end_ns
                || launch.enqueue_ns < 0
                || start_ns < 0
                || end_ns > window
            {
                found.add(Problem::Times { table: "launches", row, start_ns, end_ns, window_ns: window });
            }
            if !TIMED_BY.contains(&launch.timed_by) {
                let word = brief(launch.timed_by);
                found.add(Problem::UnknownWord { table: "launches", row, column: "timed_by", word });
            }
            let before = last.insert(launch.stream, (launch.id, end_ns));
            if let Some((previous, _)) = before.filter(|&(_, end)| start_ns < end) {
                found.add(Problem::Overlap { launch: launch.id, previous, stream: launch.stream });
            }
        }
        Ok(ids)
    }

    /// Returns the row of `ops` that makes each array.
    fn check_ops(&self, found: &mut Found, launches: &Ids, complete: bool) -> Result<Ids> {
        let table = self.ops()?;
        let regions: HashSet<u32> = self.manifest.regions.iter().map(|region| region.id).collect();
        let mut made = Vec::with_capacity(table.len());
        for (op, row) in table.iter().zip(0u32..) {
            if op.outputs.len() > 1 {
                let mut seen = HashSet::new();
                let twice = op.outputs.iter().copied().filter(|array| !seen.insert(*array));
                twice.for_each(|array| found.add(Problem::MadeTwice { array, row: row as usize }));
            }
            made.extend(op.outputs.iter().map(|array| (*array, row)));
        }
        let arrays = Ids::new(made.iter().copied());
        for (array, row) in made {
            match arrays.get(array) {
                Some(last) if last != row as usize => found.add(Problem::MadeTwice { array, row: last }),
                _ => {}
            }
        }
        for (row, op) in table.iter().enumerate() {
            check_outputs(found, &op);
            for array in op.inputs {
                match arrays.get(*array) {
                    None if complete => found.add(Problem::UnknownInput { op: op.id, array: *array }),
                    Some(maker) if maker >= row => found.add(Problem::Cycle { op: op.id, array: *array }),
                    _ => {}
                }
            }
            if let Some(launch) = op.launch.filter(|launch| complete && launches.get(*launch).is_none()) {
                found.add(Problem::UnknownId { table: "ops", row, what: "launch", id: launch });
            }
            if let Some(region) = op.region.filter(|region| complete && !regions.contains(region)) {
                found.add(Problem::UnknownId { table: "ops", row, what: "region", id: region.into() });
            }
        }
        Ok(arrays)
    }

    /// Dispatches belong to launches, and their times add up to them.
    fn check_dispatches(&self, found: &mut Found, launches: &Ids, complete: bool) -> Result<()> {
        let (table, rows) = (self.dispatches()?, self.launches()?);
        let mut times: HashMap<u64, i128> = HashMap::new();
        for (row, dispatch) in table.iter().enumerate() {
            let (start_ns, end_ns) = (dispatch.start_ns, dispatch.end_ns);
            let launch = launches.get(dispatch.launch).and_then(|row| rows.get(row));
            if launch.is_none() && complete {
                let (what, id) = ("launch", dispatch.launch);
                found.add(Problem::UnknownId { table: "dispatches", row, what, id });
            }
            let inside = launch.is_none_or(|launch| launch.start_ns <= start_ns && end_ns <= launch.end_ns);
            if start_ns > end_ns || !inside {
                let window_ns = self.window();
                found.add(Problem::Times { table: "dispatches", row, start_ns, end_ns, window_ns });
            }
            let bound = dispatch.roles.len();
            let lists = [dispatch.arrays, dispatch.buffers, dispatch.offsets, dispatch.sizes];
            if lists.iter().any(|list| list.len() != bound) || dispatch.grid.len() != dispatch.workgroup.len()
            {
                found.add(Problem::Bindings { row });
            }
            if let Some(word) = dispatch.roles.iter().find(|role| !ROLES.contains(role)) {
                let (column, word) = ("roles", brief(word));
                found.add(Problem::UnknownWord { table: "dispatches", row, column, word });
            }
            *times.entry(dispatch.launch).or_default() += i128::from(end_ns) - i128::from(start_ns);
        }
        for launch in rows.iter().filter(|_| complete) {
            let took = i128::from(launch.end_ns) - i128::from(launch.start_ns);
            if let Some(sum) = times.get(&launch.id).filter(|sum| **sum != took) {
                found.add(Problem::DispatchTimes { launch: launch.id, sum_ns: *sum, took_ns: took });
            }
        }
        Ok(())
    }

    fn check_references(&self, found: &mut Found, arrays: &Ids, complete: bool) -> Result<()> {
        let unknown = |id: u64| complete && arrays.get(id).is_none();
        for (row, launch) in self.launches()?.iter().enumerate() {
            if let Some(id) = launch.ops.iter().copied().find(|id| unknown(*id)) {
                found.add(Problem::UnknownId { table: "launches", row, what: "op", id });
            }
        }
        let window = self.window();
        for (row, event) in self.memory()?.iter().enumerate() {
            if !MEMORY_EVENTS.contains(&event.event) {
                let word = brief(event.event);
                found.add(Problem::UnknownWord { table: "memory", row, column: "event", word });
            }
            if event.time_ns < 0 || event.time_ns > window {
                let (start_ns, end_ns) = (event.time_ns, event.time_ns);
                found.add(Problem::Times { table: "memory", row, start_ns, end_ns, window_ns: window });
            }
        }
        for (row, wait) in self.sync()?.iter().enumerate() {
            let end = wait.time_ns.checked_add(wait.duration_ns);
            if wait.time_ns < 0 || wait.duration_ns < 0 || end.is_none_or(|end| end > window) {
                let end_ns = end.unwrap_or(i64::MAX);
                found.add(Problem::Times {
                    table: "sync",
                    row,
                    start_ns: wait.time_ns,
                    end_ns,
                    window_ns: window,
                });
            }
        }
        for (row, stats) in self.stats()?.iter().enumerate() {
            if unknown(stats.array) {
                found.add(Problem::UnknownId { table: "stats", row, what: "array", id: stats.array });
            }
            if element_bytes(stats.dtype).is_none() {
                found.add(Problem::UnknownType { table: "stats", dtype: brief(stats.dtype) });
            }
            let odd = stats.nan.checked_add(stats.inf).is_none_or(|bad| bad > stats.size)
                || stats.zero > stats.size;
            let hex = stats.hash.len() == 16 && stats.hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            if odd || !hex {
                let (nan, inf, zero, size, hash) =
                    (stats.nan, stats.inf, stats.zero, stats.size, brief(stats.hash));
                found.add(Problem::Stats { row, nan, inf, zero, size, hash });
            }
        }
        Ok(())
    }

    fn check_counts(&self, found: &mut Found) -> Result<()> {
        let counts = self.manifest.counts;
        let inputs = self.ops()?.iter().filter(|op| is_input(op.op)).count();
        let pairs = [
            ("ops", counts.ops, self.ops()?.len()),
            ("inputs", counts.inputs, inputs),
            ("launches", counts.launches, self.launches()?.len()),
            ("dispatches", counts.dispatches, self.dispatches()?.len()),
            ("memory events", counts.memory, self.memory()?.len()),
            ("waits", counts.sync, self.sync()?.len()),
            ("rows of stats", counts.stats, self.stats()?.len()),
            ("kernels", counts.kernels, self.kernels().count()),
            ("tensors", counts.tensors, self.tensors().len()),
            ("regions", counts.regions, self.manifest.regions.len()),
        ];
        for (what, manifest, actual) in pairs {
            let actual = actual as u64;
            if manifest != actual {
                found.add(Problem::Count { what, manifest, found: actual });
            }
        }
        Ok(())
    }

    fn check_regions(&self, found: &mut Found) {
        let regions = &self.manifest.regions;
        // A region begins after its parent, so parents come first and cannot go in circles.
        let mut seen = HashSet::with_capacity(regions.len());
        for region in regions {
            let orphan = region.parent.is_some_and(|parent| !seen.contains(&parent));
            if orphan || !seen.insert(region.id) || region.start_ns > region.end_ns {
                found.add(Problem::Region { region: region.id });
            }
        }
    }

    /// Length of the window; a partial trace has none that could be believed.
    fn window(&self) -> i64 {
        if self.manifest.partial { i64::MAX } else { self.manifest.window.duration_ns }
    }
}

fn check_outputs(found: &mut Found, op: &OpView) {
    let (outputs, shapes, dtypes) = (op.outputs.len(), op.shapes.len(), op.dtypes.len());
    if outputs != shapes || outputs != dtypes || op.outputs.first() != Some(&op.id) {
        found.add(Problem::Outputs { op: op.id, outputs, shapes, dtypes });
    }
    for (shape, dtype) in op.shapes.iter().zip(op.dtypes.iter()) {
        let Some(element) = element_bytes(dtype) else {
            found.add(Problem::UnknownType { table: "ops", dtype: brief(dtype) });
            continue;
        };
        // A dimension of zero makes the array empty, but the others still have to be sensible.
        let bytes = shape.iter().try_fold(element, |bytes, dim| bytes.checked_mul((*dim).max(1)));
        if shape.len() > MAX_RANK || bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
            let shape = shape.iter().take(16).copied().collect();
            found.add(Problem::AbsurdShape { op: op.id, shape, dtype: dtype.into() });
        }
    }
}

fn brief(text: &str) -> String {
    text.chars().take(80).collect()
}
