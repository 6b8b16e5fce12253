//! Functions that are recorded once and called again without running their code.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::graph::Graph;
use super::trace::{Trace, is_traced};
use super::tree::Tree;
use crate::array::{Array, Dtype, Shape};
use crate::error::Result;
use crate::stream::{Stream, current_stream};

/// A function is kept for this many kinds of arguments; the one that was called longest ago goes first.
const MOST_KEPT: usize = 64;

static ENABLED: std::sync::LazyLock<AtomicBool> =
    std::sync::LazyLock::new(|| AtomicBool::new(std::env::var_os("MLX_DISABLE_COMPILE").is_none()));

/// Whether compiled functions are kept. `MLX_DISABLE_COMPILE` in the environment turns it off at the start.
pub fn compile_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Turns compilation on or off, for functions that were compiled already too: without it they just run.
pub fn set_compile_enabled(on: bool) {
    ENABLED.store(on, Ordering::Relaxed);
}

/// What must be the same for a recorded function to be used again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    arrays: Vec<(Shape, Dtype)>,
    /// A hash of what is no array, such as the mode a model is in.
    constants: u64,
    stream: Stream,
}

impl Key {
    fn of(x: &impl Tree, arrays: &[Array]) -> Result<Key> {
        let arrays = arrays.iter().map(|a| (a.shape_ref().clone(), a.dtype())).collect();
        let mut constants = DefaultHasher::new();
        x.constants(&mut constants);
        Ok(Key { arrays, constants: constants.finish(), stream: current_stream()? })
    }
}

struct Kept<U> {
    graph: Arc<Graph>,
    /// The result of the recorded call: its structure, with placeholders in it.
    shape: U,
    used: u64,
}

/// A function that is recorded at its first call with arguments of new shapes and types. Made by [`compile`].
pub struct Compiled<F, U> {
    f: F,
    kept: Mutex<(HashMap<Key, Kept<U>>, u64)>,
}

/// A function like `f` that runs once for each combination of shapes and types of its arrays: what it does is recorded,
/// equal operations are merged, and later calls only make the nodes. Everything but the arrays of the argument counts as
/// constant; if some of it changes that [`Tree::constants`] tells of, the function runs again.
///
/// ```
/// use pellucid::{Array, transform::compile};
/// # fn main() -> pellucid::Result<()> {
/// let gelu = compile(|x: &Array| x * (x * 0.5f32.sqrt()).erf().add(1.0) * 0.5);
/// let y = gelu.call(&Array::from([0.0f32, 1.0]))?;
/// assert!((y.to_vec::<f32>()?[1] - 0.841_345).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
pub fn compile<T: Tree, U: Tree, F: Fn(&T) -> U>(f: F) -> Compiled<F, U> {
    Compiled { f, kept: Mutex::new((HashMap::new(), 0)) }
}

impl<F, U: Tree> Compiled<F, U> {
    /// Calls the function.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) if the function evaluates something that depends on its arguments, and
    /// the errors of its arrays.
    #[track_caller]
    pub fn call<T: Tree>(&self, x: &T) -> Result<U>
    where
        F: Fn(&T) -> U,
    {
        let arrays = x.to_leaves();
        // A transform around it sees the function itself.
        if !compile_enabled() || arrays.iter().any(is_traced) {
            return Ok((self.f)(x));
        }
        arrays.iter().try_for_each(Array::check)?;
        let key = Key::of(x, &arrays)?;
        {
            let mut kept = self.kept.lock();
            kept.1 += 1;
            let now = kept.1;
            if let Some(found) = kept.0.get_mut(&key) {
                found.used = now;
                let made = found.graph.call(&arrays);
                return Ok(found.shape.with_leaves(made));
            }
        }
        let trace = Trace::of_whole();
        let variables = arrays
            .iter()
            .map(|a| trace.placeholder(a.shape_ref().clone(), a.dtype()))
            .collect::<Result<Vec<_>>>()?;
        let shape = (self.f)(&x.with_leaves(variables.clone()));
        let graph = Arc::new(Graph::from_trace(trace, &variables, &shape.to_leaves())?);
        let made = shape.with_leaves(graph.call(&arrays));
        self.keep(key, graph, shape);
        Ok(made)
    }

    fn keep(&self, key: Key, graph: Arc<Graph>, shape: U) {
        let mut kept = self.kept.lock();
        let used = kept.1;
        if kept.0.len() >= MOST_KEPT
            && let Some(oldest) = kept.0.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone())
        {
            kept.0.remove(&oldest);
        }
        kept.0.insert(key, Kept { graph, shape, used });
    }

    /// How many kinds of arguments it has been recorded for.
    pub fn recorded(&self) -> usize {
        self.kept.lock().0.len()
    }
}

/// As [`compile`], for a function that changes some state, such as a model and its optimiser: the state's arrays are
/// arguments and results of the recorded function.
///
/// ```
/// use pellucid::{Array, transform::compile_mut};
/// # fn main() -> pellucid::Result<()> {
/// let count = compile_mut(|total: &mut Array, x: &Array| {
///     *total = &*total + x;
///     total.square()
/// });
/// let mut total = Array::from(1.0f32);
/// assert_eq!(count(&mut total, &Array::from(2.0f32))?.item::<f32>()?, 9.0);
/// assert_eq!(total.item::<f32>()?, 3.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The function returned has those of [`Compiled::call`].
pub fn compile_mut<S: Tree + Clone, T: Tree + Clone, U: Tree>(
    f: impl Fn(&mut S, &T) -> U,
) -> impl Fn(&mut S, &T) -> Result<U> {
    let both = compile(move |(state, x): &(S, T)| {
        let mut state = state.map(Array::clone);
        let y = f(&mut state, x);
        (state, y)
    });
    move |state: &mut S, x: &T| {
        let (after, y) = both.call(&(state.clone(), x.clone()))?;
        *state = after;
        Ok(y)
    }
}
