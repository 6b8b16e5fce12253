//! Running a trace again: every recorded operation is built from its data and evaluated launch by launch, without the
//! program it came from. Nothing of the file is believed: operations are checked by the library's own rule, results
//! must have the recorded shape and type, and memory stays under a limit.

use std::collections::HashMap;
use std::sync::Arc;

use pellucid::op::{CustomKernel, Op};
use pellucid::{Array, Device, DeviceType, Dtype, Shape, eval, memory, with_device};
use pellucid_trace::schema::OpView;
use pellucid_trace::{Mode, Trace};

use crate::text;

/// Why something could not run again.
pub type Failure = Box<dyn std::error::Error>;

/// No array of a trace may have more elements, whatever its strides: work on it would not end.
const MOST_ELEMENTS: u64 = 1 << 36;

/// No array's elements have a longer header in the file.
const MOST_HEADER: u64 = 64 << 10;

/// What is known of the rows before anything runs.
pub struct Plan<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Row of `ops` by the array it makes.
    pub row_of: HashMap<u64, usize>,
    /// For each row, the last row that reads one of its arrays.
    last_use: Vec<usize>,
}

/// How to run rows again.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Where.
    pub device: Device,
    /// Whether what was one launch is one launch again; otherwise every operation runs by itself.
    pub fused: bool,
    /// Where kernels run that `device` cannot run; without it they are skipped, and all that needs them.
    pub stand_in: Option<Device>,
}

/// What became of one row.
pub enum Made<'a> {
    /// An array from before the window, or a constant.
    Given(&'a [Array]),
    /// A view, or part of a launch whose result comes later: nothing of its own ran.
    Lazy,
    /// The results of a launch, evaluated.
    Ran(&'a [Array]),
    /// The results of a kernel that the device cannot run, from the one that stands in for it.
    Elsewhere(&'a [Array], String),
    /// It did not run.
    Missing(Why),
}

/// Why something did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// For a reason of its own.
    Itself(String),
    /// An array that it reads was not made.
    Reads(u64),
}

impl<'a> Plan<'a> {
    /// Looks at all rows and at the memory they need.
    ///
    /// # Errors
    /// If the trace has nothing to run again, or needs more memory than may be used.
    pub fn new(trace: &'a Trace) -> Result<Plan<'a>, Failure> {
        let mode = trace.manifest().mode;
        if matches!(mode, Mode::Timeline | Mode::Stats) && trace.tensors().is_empty() {
            return Err(format!(
                "the trace was captured in mode {}, without the arrays that a replay needs; capture it with \
                 `--mode replay`",
                mode.as_str()
            )
            .into());
        }
        let table = trace.ops()?;
        let mut row_of = HashMap::with_capacity(table.len());
        let mut last_use: Vec<usize> = (0..table.len()).collect();
        for (row, op) in table.iter().enumerate() {
            for input in op.inputs {
                if let Some(&maker) = row_of.get(input) {
                    let maker: usize = maker;
                    last_use[maker] = row;
                }
            }
            if op.outputs.is_empty() {
                return Err(format!("op {} has no results", op.id).into());
            }
            row_of.extend(op.outputs.iter().map(|&array| (array, row)));
            let elements = op.shapes.iter().flatten().try_fold(1u64, |n, d| n.checked_mul((*d).max(1)));
            if elements.is_none_or(|n| n > MOST_ELEMENTS) {
                return Err(format!("op {} ({}) makes an absurdly large array", op.id, op.name).into());
            }
        }
        let plan = Plan { trace, row_of, last_use };
        plan.check_memory()?;
        Ok(plan)
    }

    /// Refuses before anything runs what would not fit, and makes sure of it while it runs.
    fn check_memory(&self) -> Result<(), Failure> {
        let limit = memory::get_memory_limit();
        let table = self.trace.ops()?;
        let (mut held, mut peak) = (0u64, 0u64);
        let mut ending: HashMap<usize, u64> = HashMap::new();
        for (row, op) in table.iter().enumerate() {
            let bytes = if op.launch.is_some() || is_input(&op) { output_bytes(&op) } else { 0 };
            held = held.saturating_add(bytes);
            peak = peak.max(held);
            *ending.entry(self.last_use[row]).or_default() += bytes;
            held = held.saturating_sub(ending.remove(&row).unwrap_or(0));
        }
        if peak > limit {
            let (need, have) = (text::bytes(peak), text::bytes(limit));
            return Err(
                format!("running the trace again needs {need} of memory; {have} may be used here").into()
            );
        }
        // Over the limit an allocation is refused instead of bringing the machine down.
        memory::set_memory_limit(limit, false);
        Ok(())
    }

    /// Builds the rows for which `wanted` is true, in order, and shows each to `see`, with its row.
    ///
    /// # Errors
    /// A damaged array, an operation that is not one, or work that fails.
    pub fn run(
        &self,
        way: Way,
        wanted: impl Fn(usize) -> bool,
        mut see: impl FnMut(usize, &OpView, Made, &Arrays) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut arrays = Arrays::default();
        let table = self.trace.ops()?;
        let mut launch_ends: HashMap<u64, usize> = HashMap::new();
        for (row, op) in table.iter().enumerate() {
            if let Some(launch) = op.launch {
                launch_ends.insert(launch, row);
            }
        }
        for (row, op) in table.iter().enumerate().filter(|(row, _)| wanted(*row)) {
            let Built { arrays: made, elsewhere, custom } = match self.build(way, &op, &arrays) {
                Ok(built) => built,
                Err(Trouble::Missing(why)) => {
                    see(row, &op, Made::Missing(why), &arrays)?;
                    continue;
                }
                Err(Trouble::Failed(error)) => return Err(error),
            };
            let alone = op.launch.is_some() && !way.fused;
            let ends = op.launch.is_some_and(|launch| launch_ends.get(&launch) == Some(&row));
            // What only this operation reads is given up first: a value that somebody holds cannot be fused away.
            if !alone {
                self.give_up(row, &op, &mut arrays, |maker| maker != row);
            }
            if op.inputs.is_empty() && op.launch.is_none() {
                see(row, &op, Made::Given(&made), &arrays)?;
            } else if ends || alone {
                match eval(&made) {
                    Ok(()) => {}
                    // The device may lack what a kernel of the user needs; the rest can still run.
                    Err(error) if custom => {
                        see(row, &op, Made::Missing(Why::Itself(error.to_string())), &arrays)?;
                        continue;
                    }
                    Err(error) => return Err(format!("op {} ({}): {error}", op.id, op.name).into()),
                }
                let result = match elsewhere {
                    Some(why) => Made::Elsewhere(&made, why),
                    None => Made::Ran(&made),
                };
                see(row, &op, result, &arrays)?;
            } else {
                see(row, &op, Made::Lazy, &arrays)?;
            }
            self.give_up(row, &op, &mut arrays, |_| true);
            if self.last_use[row] > row {
                arrays.0.extend(op.outputs.iter().copied().zip(made));
            }
        }
        Ok(())
    }

    fn give_up(&self, row: usize, op: &OpView, arrays: &mut Arrays, also: impl Fn(usize) -> bool) {
        for input in op.inputs {
            if self.row_of.get(input).is_some_and(|&maker| self.last_use[maker] == row && also(maker)) {
                arrays.0.remove(input);
            }
        }
    }

    fn build(&self, way: Way, op: &OpView, arrays: &Arrays) -> Result<Built, Trouble> {
        if let Some(error) = op.error {
            return Err(missing(format!("it failed when it was recorded: {error}")));
        }
        let specs = specs(op)?;
        if is_input(op) {
            let (shape, dtype) =
                specs.into_iter().next().ok_or_else(|| format!("op {} has no shape", op.id))?;
            let member = format!("tensors/{}.npy", op.id);
            let stored = self.trace.member_sizes(&member).map_or(0, |(_, size)| size);
            if stored > output_bytes(op).saturating_add(MOST_HEADER) {
                let (stored, wanted) = (text::bytes(stored), text::bytes(output_bytes(op)));
                return Err(format!("{member} holds {stored}, but array {} has {wanted}", op.id).into());
            }
            let data = match self.trace.tensor(op.id) {
                Ok(data) => data,
                Err(pellucid_trace::Error::NoMember { .. }) => {
                    return Err(missing("its elements are not in the file".to_owned()));
                }
                Err(error) => return Err(error.into()),
            };
            let array = with_device(way.device, || Array::from_raw(&data.data, shape, dtype))?;
            return Ok(Built { arrays: vec![array], elsewhere: None, custom: false });
        }
        let mut value: Op = serde_json::from_str(op.op)
            .map_err(|e| format!("op {} ({}) is not an operation of this version: {e}", op.id, op.name))?;
        let mut inputs = Vec::with_capacity(op.inputs.len());
        for input in op.inputs {
            match arrays.0.get(input) {
                Some(array) => inputs.push(array.clone()),
                None => return Err(Trouble::Missing(Why::Reads(*input))),
            }
        }
        let (mut device, mut elsewhere, mut custom) = (way.device, None, false);
        if let Op::Custom(kernel) = &mut value {
            custom = true;
            *kernel = Arc::new(kernel.linked());
            if let Some(why) = cannot_run(kernel, way.device) {
                device = way.stand_in.ok_or_else(|| missing(why.clone()))?;
                elsewhere = Some(why);
            }
        }
        let arrays = with_device(device, || Array::apply_many(value, &inputs))?;
        if let Some(array) = arrays.first() {
            array.check().map_err(|e| format!("op {} ({}): {}", op.id, op.name, e.root()))?;
        }
        if arrays.len() != specs.len() {
            let (id, name, made, recorded) = (op.id, op.name, arrays.len(), specs.len());
            return Err(format!("op {id} ({name}) makes {made} arrays, but {recorded} were recorded").into());
        }
        for (array, (shape, dtype)) in arrays.iter().zip(&specs) {
            if array.shape_ref() != shape || array.dtype() != *dtype {
                return Err(format!(
                    "op {} ({}) makes {} of shape {}, but {dtype} of shape {shape} was recorded",
                    op.id,
                    op.name,
                    array.dtype(),
                    array.shape_ref()
                )
                .into());
            }
        }
        Ok(Built { arrays, elsewhere, custom })
    }

    /// The rows that these rows need, themselves included.
    pub fn needed_by(&self, rows: &[usize]) -> Result<Vec<bool>, Failure> {
        let table = self.trace.ops()?;
        let mut needed = vec![false; table.len()];
        let mut open = rows.to_vec();
        while let Some(row) = open.pop() {
            if std::mem::replace(&mut needed[row], true) {
                continue;
            }
            if let Some(op) = table.get(row) {
                open.extend(op.inputs.iter().filter_map(|input| self.row_of.get(input)));
            }
        }
        Ok(needed)
    }
}

/// Arrays that are still needed, by number.
#[derive(Default)]
pub struct Arrays(HashMap<u64, Array>);

impl Arrays {
    /// An array, if it is still there.
    pub fn get(&self, id: u64) -> Option<&Array> {
        self.0.get(&id)
    }
}

/// A row's results, not evaluated yet.
struct Built {
    arrays: Vec<Array>,
    /// Why it is on the device that stands in, if it is.
    elsewhere: Option<String>,
    /// Whether it is a kernel of the user.
    custom: bool,
}

enum Trouble {
    Missing(Why),
    Failed(Failure),
}

fn missing(why: String) -> Trouble {
    Trouble::Missing(Why::Itself(why))
}

/// Why a kernel of the user cannot run on a device, as far as that is known beforehand.
fn cannot_run(kernel: &CustomKernel, device: Device) -> Option<String> {
    (device.device_type() == DeviceType::Cpu && !kernel.has_host_version()).then(|| {
        let name = text::short(&kernel.name, 40);
        format!(
            "kernel {name:?} has no version for the host here; a trace carries its WGSL only (run the command inside \
             the program that has the kernel, or on a GPU)"
        )
    })
}

impl<E: Into<Failure>> From<E> for Trouble {
    fn from(error: E) -> Trouble {
        Trouble::Failed(error.into())
    }
}

/// True for arrays that existed before the window.
pub fn is_input(op: &OpView) -> bool {
    op.op.starts_with("{\"input\"")
}

/// Shape and type of each of a row's results.
pub fn specs(op: &OpView) -> Result<Vec<(Shape, Dtype)>, Failure> {
    let (outputs, shapes, dtypes) = (op.outputs.len(), op.shapes.len(), op.dtypes.len());
    if outputs != shapes || outputs != dtypes {
        let id = op.id;
        return Err(format!("op {id} has {outputs} results, {shapes} shapes and {dtypes} types").into());
    }
    let spec = |(shape, dtype): (&[u64], &str)| {
        let sizes = shape.iter().map(|&d| usize::try_from(d)).collect::<Result<Vec<usize>, _>>()?;
        Ok((sizes.into_iter().collect(), dtype.parse()?))
    };
    op.shapes.iter().zip(op.dtypes.iter()).map(spec).collect()
}

/// Bytes of a row's results, by their shapes and types.
pub fn output_bytes(op: &OpView) -> u64 {
    let bytes =
        |(shape, dtype): (Shape, Dtype)| (shape.elements() as u64).saturating_mul(dtype.size() as u64);
    specs(op).map_or(0, |specs| specs.into_iter().map(bytes).fold(0, u64::saturating_add))
}
