//! Who made what: array numbers to rows, operations to launches, launches to those they need.

use std::collections::HashMap;

use crate::schema::{LaunchView, OpView};
use crate::{Result, Trace};

/// No row.
pub(crate) const NONE: u32 = u32::MAX;

/// Rows by number. Numbers are handed out one after the other, so a plain vector usually does.
pub(crate) enum Ids {
    Dense(Vec<u32>),
    Sparse(HashMap<u64, u32>),
}

impl Ids {
    /// The last row of each number.
    pub(crate) fn new(ids: impl Iterator<Item = (u64, u32)> + Clone) -> Self {
        let (count, largest) =
            ids.clone().fold((0_u64, 0_u64), |(count, largest), (id, _)| (count + 1, largest.max(id)));
        if largest / 8 > count + 1024 {
            return Ids::Sparse(ids.collect());
        }
        let mut rows = vec![NONE; largest as usize + 1];
        ids.for_each(|(id, row)| rows[id as usize] = row);
        Ids::Dense(rows)
    }

    pub(crate) fn get(&self, id: u64) -> Option<usize> {
        let row = match self {
            Ids::Dense(rows) => usize::try_from(id).ok().and_then(|id| rows.get(id)).copied(),
            Ids::Sparse(rows) => rows.get(&id).copied(),
        };
        row.filter(|row| *row != NONE).map(|row| row as usize)
    }
}

/// What an operation does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Existed before the window.
    Input,
    /// Each element of the result depends on one element of each input.
    Elementwise,
    /// The same elements in another arrangement.
    Layout,
    Other,
}

/// By the family of the operation.
pub(crate) fn kind(op: &OpView) -> Kind {
    match op.kind() {
        "input" => Kind::Input,
        "elementwise" => Kind::Elementwise,
        "layout" => Kind::Layout,
        _ => Kind::Other,
    }
}

/// Links between the rows of a trace.
pub(crate) struct Index {
    /// Array to row of `ops`.
    pub arrays: Ids,
    /// For each op, the launch that made the elements of its result: its own, or that of what it is a view of.
    pub root: Vec<u32>,
    pub kind: Vec<Kind>,
    /// For each launch, where its needs begin in `needs`; one more than launches.
    starts: Vec<u32>,
    needs: Vec<u32>,
    /// For each launch, how many others read its results.
    pub readers: Vec<u32>,
}

impl Index {
    pub(crate) fn new(trace: &Trace) -> Result<Self> {
        let (ops, launches) = (trace.ops()?, trace.launches()?);
        // Rows beyond 32 bits are not written by anything that runs within a lifetime.
        let mut made = Vec::with_capacity(ops.len());
        for (row, op) in ops.iter().enumerate() {
            made.extend(op.outputs.iter().map(|array| (*array, row as u32)));
        }
        let arrays = Ids::new(made.iter().copied());
        drop(made);
        let ids: Vec<u64> = launches.iter().map(|launch| launch.id).collect();
        let launch_ids = Ids::new(ids.iter().zip(0..).map(|(id, row)| (*id, row)));
        let mut root = vec![NONE; ops.len()];
        let mut kinds = Vec::with_capacity(ops.len());
        for (row, op) in ops.iter().enumerate() {
            kinds.push(kind(&op));
            root[row] = match op.launch.and_then(|launch| launch_ids.get(launch)) {
                Some(launch) => launch as u32,
                None => {
                    op.inputs.first().and_then(|array| arrays.get(*array)).map_or(NONE, |maker| root[maker])
                }
            };
        }
        let mut index = Self {
            arrays,
            root,
            kind: kinds,
            starts: Vec::with_capacity(launches.len() + 1),
            needs: Vec::new(),
            readers: vec![0; launches.len()],
        };
        index.link(trace)?;
        Ok(index)
    }

    fn link(&mut self, trace: &Trace) -> Result<()> {
        let ops = trace.ops()?;
        let mut found = Vec::new();
        for (row, launch) in trace.launches()?.iter().enumerate() {
            self.starts.push(self.needs.len() as u32);
            for op in launch.ops.iter().filter_map(|op| ops.get(self.arrays.get(*op)?)) {
                let makers = op.inputs.iter().filter_map(|array| self.arrays.get(*array));
                found.extend(
                    makers.map(|maker| self.root[maker]).filter(|need| *need != NONE && *need != row as u32),
                );
            }
            found.sort_unstable();
            found.dedup();
            found.iter().for_each(|need| self.readers[*need as usize] += 1);
            self.needs.append(&mut found);
        }
        self.starts.push(self.needs.len() as u32);
        Ok(())
    }

    /// Rows of the launches whose results a launch reads, each once.
    pub(crate) fn needs(&self, launch: usize) -> &[u32] {
        match (self.starts.get(launch), self.starts.get(launch + 1)) {
            (Some(start), Some(end)) => &self.needs[*start as usize..*end as usize],
            _ => &[],
        }
    }

    /// Rows of the operations of a launch.
    pub(crate) fn ops_of<'a>(&'a self, ops: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
        ops.iter().filter_map(|op| self.arrays.get(*op))
    }
}

/// How long a launch ran. Times of a file may be anything.
pub(crate) fn duration(launch: &LaunchView) -> u64 {
    launch.end_ns.saturating_sub(launch.start_ns).max(0) as u64
}

/// Bytes of an operation's first output.
pub(crate) fn output_bytes(op: &OpView) -> u64 {
    let element = op.dtypes.get(0).and_then(crate::npy::element_bytes).unwrap_or(4);
    op.shapes.get(0).unwrap_or_default().iter().fold(element, |bytes, dim| bytes.saturating_mul(*dim))
}
