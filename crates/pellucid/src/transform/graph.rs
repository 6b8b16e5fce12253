//! Functions as data: what a trace recorded, without what nobody needs, equal calls made once. A graph can be called again
//! without the function it came from, and written to a file.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use smallvec::SmallVec;

use super::refit::{Refit, is_fixed, moved, reshaped, shape_from};
use super::slots::Slots;
use super::trace::{Call, Item, Trace, is_symbolic};
use crate::array::{Array, Inputs, Made, Shape, State};
use crate::call_site::{CallSite, with_call_site};
use crate::error::{Error, Result};
use crate::op::{Op, Spec};
use crate::region::{self, Origin};
use crate::stream::{Stream, current_stream, with_stream};
use crate::transform::Role;

/// Numbers of values: inputs first, then constants and results in the order in which they are met.
type Values = SmallVec<[u32; 2]>;

/// One call of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub op: Op,
    pub inputs: Values,
    /// The number of its first result; the others follow.
    pub first: u32,
    pub results: SmallVec<[Spec; 1]>,
    pub site: CallSite,
    /// Where it runs; `None` for the stream of the caller.
    pub stream: Option<Stream>,
    pub role: Role,
    /// The first result of the user's own call that a transform made it for.
    pub of: Option<u32>,
    pub label: Option<Box<str>>,
    /// Where a shape that it names comes from.
    pub refit: Option<Refit<u32>>,
    /// The shapes it was made for, if it fits no others.
    pub fixed: Option<Vec<Shape>>,
}

/// A call of a [`Graph`], as [`Graph::calls`] shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GraphCall<'a> {
    /// What is computed.
    pub op: &'a Op,
    /// The numbers of the values it takes.
    pub inputs: &'a [u32],
    /// The number of its first result; the others follow.
    pub first: u32,
    /// The shapes and types of its results.
    pub results: &'a [Spec],
    /// The line of the user's code that made it.
    pub site: CallSite,
}

impl Step {
    /// What the call on these values belongs to.
    fn origin(&self, values: &[Option<Array>]) -> Origin {
        let of = self.of.and_then(|number| values.get(number as usize)?.as_ref());
        Origin { role: self.role, of: of.map_or(0, Array::id) }
    }

    /// The operation for inputs of other sizes.
    fn for_sizes(&self, inputs: &[Array], values: &[Option<Array>]) -> Result<Op> {
        let other = |fixed: &Vec<Shape>| fixed.iter().zip(inputs).any(|(was, is)| was != is.shape_ref());
        if self.fixed.as_ref().is_some_and(other) {
            if let (Op::SliceUpdate(spec), Some([was, ..]), [x, ..]) =
                (&self.op, self.fixed.as_deref(), inputs)
                && let Some(spec) = moved(spec, was, x.shape())
            {
                return Ok(Op::SliceUpdate(Box::new(spec)));
            }
            let message = format!(
                "{} (called at {}) names positions of the array it was recorded for and cannot infer output shapes for \
                 others; compile without shapeless=True",
                self.op.name(),
                self.site
            );
            return Err(Error::shape("compile", message));
        }
        let shape = match &self.refit {
            None => return Ok(self.op.clone()),
            Some(Refit::Like(number)) => {
                values[*number as usize].as_ref().map(|like| like.shape_ref().clone())
            }
            Some(Refit::Dims(dims)) => inputs.first().and_then(|input| shape_from(dims, input.shape())),
        };
        match shape {
            Some(shape) => Ok(reshaped(&self.op, shape)),
            None => {
                let message =
                    format!("{} (called at {}) does not fit the new sizes", self.op.name(), self.site);
                Err(Error::shape("compile", message))
            }
        }
    }
}

/// A function that was recorded.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) inputs: Vec<Spec>,
    pub(crate) constants: Vec<(u32, Array)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<u32>,
    pub(crate) values: u32,
    /// How many calls were recorded, before equal ones were merged.
    pub(super) recorded: usize,
}

/// A graph in the making.
struct Builder {
    graph: Graph,
    numbers: HashMap<u64, u32>,
    /// Calls that were made already.
    known: HashMap<(Op, Values), u32>,
}

impl Graph {
    /// Ends a trace of [`Trace::of_whole`]: the function from `variables`, its placeholders, to `outputs`.
    ///
    /// # Errors
    /// [`Error::Argument`] if the function uses a placeholder that is not its own, and the errors of failed outputs.
    pub fn from_trace(trace: Trace, variables: &[Array], outputs: &[Array]) -> Result<Graph> {
        let items = trace.end();
        outputs.iter().try_for_each(Array::check)?;
        let mut needed: Slots<()> = Slots::over(&items, outputs);
        outputs.iter().for_each(|y| *needed.slot(y.id()) = Some(()));
        let mut kept: Vec<Rc<Item>> = Vec::new();
        for item in items.iter().rev() {
            if let Item::Call(call) = &**item
                && call.outputs.iter().any(|y| needed.has(y.id()))
            {
                call.inputs.iter().for_each(|x| *needed.slot(x.id()) = Some(()));
                if let Some(Refit::Like(like)) = &call.refit {
                    *needed.slot(like.id()) = Some(());
                }
                kept.push(item.clone());
            }
        }
        let spec = |a: &Array| Spec { shape: a.shape_ref().clone(), dtype: a.dtype() };
        let mut builder = Builder {
            graph: Graph {
                inputs: variables.iter().map(spec).collect(),
                constants: Vec::new(),
                steps: Vec::with_capacity(kept.len()),
                outputs: Vec::new(),
                values: variables.len() as u32,
                recorded: kept.len(),
            },
            numbers: variables.iter().map(Array::id).zip(0..).collect(),
            known: HashMap::new(),
        };
        for item in kept.iter().rev() {
            if let Item::Call(call) = &**item {
                builder.add(call)?;
            }
        }
        for output in outputs {
            let number = builder.number(output)?;
            builder.graph.outputs.push(number);
        }
        Ok(builder.graph)
    }

    /// Shapes and types of what it takes.
    pub fn inputs(&self) -> &[Spec] {
        &self.inputs
    }

    /// Arrays that the function used without taking them as arguments.
    pub fn constants(&self) -> impl Iterator<Item = &Array> {
        self.constants.iter().map(|(_, array)| array)
    }

    /// Whether a constant is one of these arrays, or is still to be computed from one.
    pub fn captures(&self, arrays: &[Array]) -> bool {
        let Some(oldest) = arrays.iter().map(Array::id).min() else { return false };
        let mut seen = HashSet::new();
        let mut stack: Vec<Array> = self.constants().cloned().collect();
        while let Some(array) = stack.pop() {
            // What is older than all of them depends on none.
            if array.id() < oldest || !seen.insert(array.id()) {
                continue;
            }
            if arrays.iter().any(|other| other.id() == array.id()) {
                return true;
            }
            let inputs = |state: &State| match state {
                State::Lazy(work) => work.inputs.clone(),
                _ => Inputs::new(),
            };
            let state = array.0.state.lock();
            stack.extend(match &*state {
                State::Shared(part) => part.shared().with_state(|state| inputs(state)),
                state => inputs(state),
            });
        }
        false
    }

    /// The values that the function uses without taking them: their numbers and arrays.
    pub fn numbered_constants(&self) -> impl Iterator<Item = (u32, &Array)> {
        self.constants.iter().map(|(number, array)| (*number, array))
    }

    /// Its calls, in order. Values have numbers: arguments come first, then constants and results as they are met.
    pub fn calls(&self) -> impl Iterator<Item = GraphCall<'_>> {
        self.steps.iter().map(|step| GraphCall {
            op: &step.op,
            inputs: &step.inputs,
            first: step.first,
            results: &step.results,
            site: step.site,
        })
    }

    /// The numbers of the values that it returns.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// How many calls were recorded, and how many are left.
    pub fn sizes(&self) -> (usize, usize) {
        (self.recorded, self.steps.len())
    }

    /// The function on other arrays of the same shapes and types: nodes like those of the trace, from the same lines.
    pub fn call(&self, inputs: &[Array]) -> Vec<Array> {
        let here = current_stream();
        self.make(inputs, |step, inputs, values| {
            let stream = match (step.stream, &here) {
                (Some(stream), _) => stream,
                (None, Ok(stream)) => *stream,
                (None, Err(error)) => {
                    return step.results.iter().map(|_| Array::from(error.clone())).collect();
                }
            };
            Array::from_known(Made {
                op: step.op.clone(),
                inputs,
                results: &step.results,
                stream,
                site: step.site,
                origin: step.origin(values),
            })
        })
    }

    /// The function on arrays of other shapes, for which every shape is found again.
    ///
    /// # Errors
    /// Those of the operations that do not fit the new shapes.
    pub fn call_shapeless(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        let made = self.make(inputs, |step, inputs, values| {
            let make = || match step.for_sizes(&inputs, values) {
                Ok(op) => Array::from_op_many(op, inputs),
                Err(error) => step.results.iter().map(|_| Array::from(error.clone())).collect(),
            };
            let make = || region::with_origin(step.origin(values), || with_call_site(step.site, make));
            match step.stream {
                Some(stream) => with_stream(stream, make),
                None => make(),
            }
        });
        made.iter().try_for_each(Array::check)?;
        Ok(made)
    }

    fn make(
        &self,
        inputs: &[Array],
        step: impl Fn(&Step, Inputs, &[Option<Array>]) -> SmallVec<[Array; 1]>,
    ) -> Vec<Array> {
        let mut values: Vec<Option<Array>> = vec![None; self.values as usize];
        for (place, input) in inputs.iter().enumerate() {
            values[place] = Some(input.clone());
        }
        for (number, constant) in &self.constants {
            values[*number as usize] = Some(constant.clone());
        }
        for call in &self.steps {
            let inputs: Inputs = call.inputs.iter().filter_map(|&i| values[i as usize].clone()).collect();
            for (result, number) in step(call, inputs, &values).into_iter().zip(call.first..) {
                if let Some(label) = &call.label {
                    result.label(label.clone());
                }
                values[number as usize] = Some(result);
            }
        }
        self.outputs.iter().filter_map(|&i| values[i as usize].clone()).collect()
    }
}

impl Builder {
    /// The number of an array: what was made before, or a constant.
    fn number(&mut self, array: &Array) -> Result<u32> {
        if let Some(&number) = self.numbers.get(&array.id()) {
            return Ok(number);
        }
        if is_symbolic(array) {
            let message = format!(
                "Attempting to compile a function with uncaptured inputs is not allowed. The array asked for at {} \
                 belongs to another transform",
                array.call_site()
            );
            return Err(Error::argument("compile", message));
        }
        let number = self.graph.values;
        self.graph.values += 1;
        self.numbers.insert(array.id(), number);
        self.graph.constants.push((number, array.clone()));
        Ok(number)
    }

    fn add(&mut self, call: &Call) -> Result<()> {
        let inputs = call.inputs.iter().map(|x| self.number(x)).collect::<Result<Values>>()?;
        // What changes nothing is left out; it has done its work when the trace was made.
        if matches!(call.op, Op::StopGradient) || matches!(call.op, Op::Depends) && inputs.len() == 1 {
            self.numbers.insert(call.outputs[0].id(), inputs[0]);
            return Ok(());
        }
        let refit = match &call.refit {
            Some(Refit::Like(like)) => Some(Refit::Like(self.number(like)?)),
            Some(Refit::Dims(dims)) => Some(Refit::Dims(dims.clone())),
            None => None,
        };
        let fixed =
            is_fixed(&call.op).then(|| call.inputs.iter().map(|x| x.shape_ref().clone()).collect::<Vec<_>>());
        let key = (call.op.clone(), inputs);
        let known = if call.refit.is_none() { self.known.get(&key).copied() } else { None };
        let first = match known {
            Some(first) => first,
            None => {
                let first = self.graph.values;
                self.graph.values += call.outputs.len() as u32;
                let node = &call.outputs[0].0;
                let origin = node.origin();
                self.graph.steps.push(Step {
                    op: call.op.clone(),
                    inputs: key.1.clone(),
                    first,
                    results: call
                        .outputs
                        .iter()
                        .map(|y| Spec { shape: y.shape_ref().clone(), dtype: y.dtype() })
                        .collect(),
                    site: node.site,
                    stream: Some(node.stream),
                    role: origin.role,
                    of: self.numbers.get(&origin.of).copied(),
                    label: call.outputs[0].label_text().map(Into::into),
                    refit,
                    fixed,
                });
                if call.refit.is_none() {
                    self.known.insert(key, first);
                }
                first
            }
        };
        for (output, number) in call.outputs.iter().zip(first..) {
            self.numbers.insert(output.id(), number);
        }
        Ok(())
    }
}
