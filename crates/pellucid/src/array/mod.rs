//! Arrays: element types, shapes, layouts, construction, reading and printing.

mod arguments;
mod construct;
mod convert;
mod dtype;
mod element;
mod failed;
mod foreign;
mod host;
mod host_memory;
mod host_view;
mod literal;
mod node;
mod operators;
mod print;
mod rows;
mod shape;
mod shared;
mod spare;
mod value;
mod work;

pub use arguments::{ArrayList, Axis, Integer, ShapeList, Sizes};
pub use convert::{HostSlice, ones, zeros};
pub use dtype::{Dtype, DtypeCategory};
pub use element::Element;
pub use failed::strict;
pub(crate) use failed::{Fails, Sound, as_many, fail, fail_like, ok};
pub use foreign::Foreign;
pub use host_memory::HostMemory;
pub(crate) use host_view::HostView;
pub use literal::{Literal, literal};
pub(crate) use node::{Node, NodeRef, State};
pub use print::{PrintOptions, print_options, set_print_options};
pub use rows::Rows;
pub use shape::{Axes, Shape};
pub(crate) use shape::{check_axis_count, resolve_axis};
pub(crate) use shared::{Facts, Results, Shared};
pub(crate) use value::{Mirror, Strides, Value, broadcast_strides};
pub(crate) use work::{Inputs, Work, WorkBox};

use std::sync::Arc;

use smallvec::smallvec;

use crate::call_site::CallSite;
use crate::error::Result;
use crate::eval::{Failure, eval};
use crate::memory::{Buffer, Request, Scratch};
use crate::op::{Op, Spec};
use crate::region::Origin;
use crate::stream::{Stream, current_stream};
use crate::transform;

/// A call that was made before, to be made again.
pub(crate) struct Made<'a> {
    pub op: Op,
    pub inputs: Inputs,
    pub results: &'a [Spec],
    pub stream: Stream,
    pub site: CallSite,
    pub origin: Origin,
}

/// An array: elements of one type in any number of dimensions, computed when they are needed.
///
/// Cloning is cheap and shares the elements. Arrays can be built, evaluated and read from any thread.
///
/// ```
/// use pellucid::{Array, ops};
/// # fn main() -> pellucid::Result<()> {
/// let a = Array::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// let b = ops::sqrt(&(&a * &a)); // nothing has been computed yet
/// assert_eq!(b.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Array(pub(crate) NodeRef);

impl Array {
    /// A lazy array: `op` applied to `inputs`, on this thread's current stream; a failed one if that is impossible.
    #[track_caller]
    pub(crate) fn from_op(op: Op, inputs: impl Into<Inputs>) -> Array {
        let inputs = inputs.into();
        for input in &inputs {
            ok!(input);
        }
        let (site, stream) = (CallSite::here(), ok!(current_stream()));
        let alike = match &inputs[..] {
            [a] => op.infer_alike(&[a.spec()]).map(|dtype| Spec { shape: a.shape_ref().clone(), dtype }),
            _ => None,
        };
        let spec = match alike {
            Some(spec) => spec,
            None => ok!(op.infer_one(&inputs.iter().map(Array::spec).collect::<Vec<_>>())),
        };
        let mark = transform::mark(&inputs);
        if mark != 0 {
            return Array::traced(mark, op, inputs, spec, stream, site);
        }
        let work = WorkBox::new(op, || inputs);
        Array(NodeRef::lazy(spec.shape, spec.dtype, stream, site, work))
    }

    /// As [`from_op`](Array::from_op), for a function that is being recorded.
    #[cold]
    fn traced(mark: u32, op: Op, inputs: Inputs, spec: Spec, stream: Stream, site: CallSite) -> Array {
        let work = WorkBox::new(op.clone(), || inputs.clone());
        let mut node = NodeRef::lazy(spec.shape, spec.dtype, stream, site, work);
        if let Some(node) = node.only() {
            node.mark = mark;
        }
        let array = Array(node);
        transform::record(op, inputs, std::slice::from_ref(&array));
        array
    }

    /// Lazy arrays whose shapes and types are known, because the same call was made before.
    pub(crate) fn from_known(made: Made) -> Results {
        let Made { op, inputs, results, stream, site, origin } = made;
        Array::make_many(op, inputs, results, (stream, site), Some(origin))
    }

    /// The lazy results of an operation; `origin` is where they come from if that is not where the thread is.
    fn make_many(
        op: Op,
        inputs: Inputs,
        specs: &[Spec],
        (stream, site): (Stream, CallSite),
        origin: Option<Origin>,
    ) -> Results {
        let mark = transform::mark(&inputs);
        if let [Spec { shape, dtype }] = specs {
            if mark != 0 {
                let spec = Spec { shape: shape.clone(), dtype: *dtype };
                return smallvec![Array::traced(mark, op, inputs, spec, stream, site)];
            }
            let mut node = NodeRef::lazy(shape.clone(), *dtype, stream, site, WorkBox::new(op, || inputs));
            if let (Some(node), Some(origin)) = (node.only(), origin) {
                node.set_origin(origin);
            }
            return smallvec![Array(node)];
        }
        let recorded = (mark != 0).then(|| (op.clone(), inputs.clone()));
        let mut results = Shared::results(op, inputs, specs, stream, site);
        for node in results.iter_mut().filter_map(|array| array.0.only()) {
            node.mark = mark;
            if let Some(origin) = origin.filter(|_| mark == 0) {
                node.set_origin(origin);
            }
        }
        if let Some((op, inputs)) = recorded {
            transform::record(op, inputs, &results);
        }
        results
    }

    /// As [`from_op`](Array::from_op), for two inputs, which are mostly alike.
    #[track_caller]
    pub(crate) fn from_two(op: Op, a: Array, b: Array) -> Array {
        ok!(&a, &b);
        let Some(dtype) = op.infer_alike(&[a.spec(), b.spec()]) else {
            return Array::from_op(op, Inputs::from_buf([a, b]));
        };
        if transform::is_tracing() {
            return Array::from_op(op, Inputs::from_buf([a, b]));
        }
        let (site, stream, shape) = (CallSite::here(), ok!(current_stream()), a.0.shape.clone());
        let work = WorkBox::new(op, || Inputs::from_buf([a, b]));
        Array(NodeRef::lazy(shape, dtype, stream, site, work))
    }

    /// The lazy results of an operation that makes one or several, on this thread's current stream; as many failed ones
    /// if that is impossible.
    #[track_caller]
    pub(crate) fn from_op_many(op: Op, inputs: impl Into<Inputs>) -> Results {
        let (count, inputs) = (op.results(), inputs.into());
        match Array::try_many(op, inputs) {
            Ok(results) => results,
            Err(failure) => {
                let mut results = Results::new();
                for _ in 0..count.max(1) {
                    results.push(Fails::carrying(failure.clone()));
                }
                results
            }
        }
    }

    #[track_caller]
    fn try_many(op: Op, inputs: Inputs) -> Result<Results, Arc<Failure>> {
        for input in &inputs {
            input.sound()?;
        }
        let (site, stream) = (CallSite::here(), current_stream().sound()?);
        let specs = op.infer(&inputs.iter().map(Array::spec).collect::<Vec<_>>()).sound()?;
        Ok(Array::make_many(op, inputs, &specs, (stream, site), None))
    }

    fn spec(&self) -> (&Shape, Dtype) {
        (&self.0.shape, self.0.dtype)
    }

    /// A lazy array: `op` applied to `inputs`, on this thread's current stream. What a trace recorded is built again
    /// with it; the functions of [`ops`](crate::ops) are more convenient everywhere else.
    ///
    /// ```
    /// use pellucid::{Array, op::Op};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let op: Op = serde_json::from_str(r#"{"binary":"add"}"#)?;
    /// let sum = Array::apply(op, &[Array::from([1, 2]), Array::from([10, 20])]);
    /// assert_eq!(sum.to_vec::<i32>()?, [11, 22]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The array fails with whatever makes the operation impossible on these inputs; see [`Op::infer`].
    #[track_caller]
    pub fn apply(op: Op, inputs: &[Array]) -> Array {
        Array::from_op(op, Inputs::from(inputs))
    }

    /// All lazy results of an operation that makes several, as [`apply`](Array::apply) makes one. They are computed
    /// together, whoever of them is asked for.
    ///
    /// ```
    /// use pellucid::{Array, op::Op};
    /// # fn main() -> pellucid::Result<()> {
    /// let parts = Array::apply_many(Op::Divmod, &[Array::from([7, -7]), Array::from([2, 2])]);
    /// assert_eq!(parts[0].to_vec::<i32>()?, [3, -4]);
    /// assert_eq!(parts[1].to_vec::<i32>()?, [1, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The arrays fail for whatever makes the operation impossible on these inputs; see [`Op::infer`].
    #[track_caller]
    pub fn apply_many(op: Op, inputs: &[Array]) -> Vec<Array> {
        Array::from_op_many(op, Inputs::from(inputs)).into_vec()
    }

    /// An array of elements given as bytes, in row-major order and the machine's byte order; they are copied. The
    /// inverse of [`to_bytes`](Array::to_bytes).
    ///
    /// ```
    /// use pellucid::{Array, Dtype};
    /// # fn main() -> pellucid::Result<()> {
    /// let a = Array::from_raw(&[1, 2, 3, 4], [2, 2], Dtype::Uint8);
    /// assert_eq!(a.to_bytes()?, [1, 2, 3, 4]);
    /// assert!(Array::from_raw(&[1, 2, 3], [2, 2], Dtype::Uint8).check().is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The array fails with [`Error::Shape`](crate::Error::Shape) if the bytes are not exactly those of the shape, with
    /// [`Error::Memory`](crate::Error::Memory) if there is no room for them.
    #[track_caller]
    pub fn from_raw(bytes: &[u8], shape: impl Into<Sizes>, dtype: Dtype) -> Array {
        let shape = ok!(shape.into().shape("from_raw"));
        if dtype == Dtype::Bool && bytes.iter().any(|&b| b > 1) {
            // Every byte but 0 is true; kernels only know 0 and 1.
            let mut stored = ok!(Scratch::with_room("from_raw", bytes.len()));
            for &byte in bytes {
                ok!(stored.push(u8::from(byte != 0)));
            }
            return ok!(Array::from_bytes("from_raw", &stored, shape, dtype));
        }
        ok!(Array::from_bytes("from_raw", bytes, shape, dtype))
    }

    /// An array of row-major elements given as bytes; they are copied.
    #[track_caller]
    pub(crate) fn from_bytes(
        function: &'static str,
        bytes: &[u8],
        shape: Shape,
        dtype: Dtype,
    ) -> Result<Array> {
        let (site, stream) = (CallSite::here(), current_stream()?);
        shape.check(function, dtype.size())?;
        let wanted = shape.elements() * dtype.size();
        if bytes.len() != wanted {
            let message = format!("{} bytes given, but {dtype} of shape {shape} has {wanted}", bytes.len());
            return Err(crate::Error::shape(function, message));
        }
        let request = Request { function, bytes: bytes.len(), stream: stream.index() as u32, site };
        let buffer = Buffer::allocate(request)?;
        // SAFETY: a new buffer of at least this size that nobody else has.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.ptr(), bytes.len()) };
        let state = State::Ready(Value::whole(buffer));
        Ok(Array(NodeRef::new(shape, dtype, stream, site, state)))
    }

    /// Sizes of the axes; `[0]` if the array was asked for something impossible (see [`check`](Array::check)).
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// Sizes of the axes, as the type functions take.
    pub fn shape_ref(&self) -> &Shape {
        &self.0.shape
    }

    /// Type of the elements; `float32` if the array was asked for something impossible.
    pub fn dtype(&self) -> Dtype {
        self.0.dtype
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        self.0.shape.len()
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.0.shape.elements()
    }

    /// Bytes of one element.
    pub fn itemsize(&self) -> usize {
        self.0.dtype.size()
    }

    /// Bytes of all elements.
    pub fn nbytes(&self) -> usize {
        self.size() * self.itemsize()
    }

    /// The stream it is computed on.
    pub fn stream(&self) -> Stream {
        self.0.stream
    }

    /// The line of code that asked for it.
    pub fn call_site(&self) -> CallSite {
        self.0.site
    }

    /// The number under which graphs and captures show it.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Names the array, for graphs, captures and reports. The first name stays.
    pub fn label(&self, name: impl Into<Box<str>>) -> &Array {
        self.0.set_label(name.into());
        self
    }

    /// The name given with [`Array::label`].
    pub fn label_text(&self) -> Option<&str> {
        self.0.label()
    }

    /// True if the elements have been computed.
    pub fn is_available(&self) -> bool {
        if crate::fork::is_cut_off() {
            return matches!(crate::eval::state_if_cut_off(self), Some(State::Ready(_)));
        }
        let mut state = self.0.state.lock();
        state.settle();
        matches!(*state, State::Ready(_))
    }

    /// The number and the bytes of the buffer that holds the elements; `None` if they have not been computed.
    ///
    /// ```
    /// use pellucid::Array;
    /// let a = Array::from([1.0f32, 2.0]);
    /// assert_eq!(a.buffer_size().map(|(_, bytes)| bytes >= 8), Some(true));
    /// ```
    pub fn buffer_size(&self) -> Option<(u64, u64)> {
        let size = |state: &State| match state {
            State::Ready(value) => Some((value.buffer().id(), value.buffer().bytes() as u64)),
            _ => None,
        };
        if crate::fork::is_cut_off() {
            return crate::eval::state_if_cut_off(self).and_then(size);
        }
        let mut state = self.0.state.lock();
        state.settle();
        size(&state)
    }

    /// True if nothing has been done for it yet.
    pub(crate) fn is_lazy(&self) -> bool {
        match &*self.0.state.lock() {
            State::Lazy(_) => true,
            State::Shared(part) => part.shared().with_state(|state| matches!(state, State::Lazy(_))),
            _ => false,
        }
    }

    /// Computes the elements and waits for them.
    ///
    /// # Errors
    /// What made the computation of this array impossible; the same error each time.
    pub fn eval(&self) -> Result<()> {
        eval([self])
    }

    /// The elements, computed if they are not yet.
    pub(crate) fn evaluated(&self) -> Result<Value> {
        if crate::fork::is_cut_off() {
            return crate::eval::value_if_cut_off(self);
        }
        self.eval()?;
        let mut state = self.0.state.lock();
        match &mut *state {
            State::Ready(value) => {
                if !value.buffer().is_host() {
                    value.mirrored();
                }
                Ok(value.clone())
            }
            other => {
                Err(crate::Error::internal("eval", format!("the array is {other:?} after its evaluation")))
            }
        }
    }
}

impl std::fmt::Debug for Array {
    /// Type, shape and number; never computes anything.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Array({}, {}, #{})", self.dtype(), self.0.shape, self.id())
    }
}
