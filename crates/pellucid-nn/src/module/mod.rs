//! [`Module`], which every layer and model is, and what it is made of.
//!
//! A module shows its parts to a visitor ([`Visit`], [`VisitMut`]), each under its path. Everything else stands on that:
//! lists of parameters, files, freezing, modes, summaries, and the tree of arrays that transforms see.

mod containers;
mod freeze;
mod param;
mod summary;
pub mod tree;
mod visit;
mod weights;

use std::path::Path;

pub use param::{Buffer, Mode, Param};
use pellucid::io::Arrays;
use pellucid::{Array, Dtype, Result};
pub use summary::Summary;
pub use visit::{Visit, VisitMut, Visitor, VisitorMut};
pub use weights::Differences;

/// A layer or a model: something made of parameters and other modules. `#[derive(Module)]` implements it.
///
/// What a field means is decided by its type:
///
/// | type | meaning |
/// |---|---|
/// | [`Param`] | learnt, saved; may be frozen |
/// | [`Buffer`] | saved, never learnt, and may change in a forward pass: running statistics |
/// | [`Array`] | saved and never learnt: packed weights |
/// | [`Mode`] | training or evaluation, set by [`train`](Module::train) and [`eval`](Module::eval) |
/// | a module, or `Vec`, `Option`, `Box`, map, array or tuple of modules | its parts, under its name |
/// | numbers, `bool`, `String`, functions from arrays to arrays | settings |
///
/// ```
/// use pellucid_nn::prelude::*;
///
/// #[derive(Clone, Module)]
/// struct Mlp {
///     layers: Vec<Linear>,
///     dropout: Dropout,
/// }
///
/// impl Layer for Mlp {
///     fn forward(&self, x: &Array) -> Array {
///         let hidden = relu(&self.layers[0].forward(x));
///         self.layers[1].forward(&self.dropout.forward(&hidden))
///     }
/// }
///
/// # fn main() -> pellucid::Result<()> {
/// random::seed(0);
/// let mut model = Mlp { layers: vec![Linear::new(8, 16), Linear::new(16, 2)], dropout: Dropout::new(0.1) };
/// let paths: Vec<String> = model.parameters().into_iter().map(|(path, _)| path).collect();
/// assert_eq!(paths, ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]);
/// model.eval();
/// assert_eq!(model.forward(&ones::<f32>([4, 8])).shape(), [4, 2]);
/// # Ok(())
/// # }
/// ```
pub trait Module {
    /// Shows all parts, in the order of [`visit_mut`](Module::visit_mut).
    fn visit(&self, at: &mut Visit<'_>);

    /// Gives all parts to be changed, in the order of [`visit`](Module::visit).
    fn visit_mut(&mut self, at: &mut VisitMut<'_>);

    /// All arrays that are saved, with their paths: parameters and buffers, in the order of declaration.
    fn parameters(&self) -> Vec<(String, Array)> {
        weights::parameters(self)
    }

    /// The parameters that are learnt: those that are not frozen.
    fn trainable_parameters(&self) -> Vec<(String, Array)> {
        weights::trainable(self)
    }

    /// How many numbers the parameters have together.
    fn parameter_count(&self) -> usize {
        self.parameters().iter().map(|(_, array)| array.size()).sum()
    }

    /// A table of all parts, with shapes and counts, to be printed.
    ///
    /// ```
    /// use pellucid_nn::prelude::*;
    /// let model = sequential![Linear::new(3, 4), Relu, Linear::new(4, 2)];
    /// println!("{}", model.summary());
    /// assert!(model.summary().to_string().contains("layers.2.weight"));
    /// ```
    fn summary(&self) -> Summary {
        Summary::of(self)
    }

    /// Puts all parts into training mode: dropout drops, batch norm uses its batch.
    fn train(&mut self) {
        tree::set_mode(self, Mode::Training);
    }

    /// Puts all parts into the mode of evaluation.
    fn eval(&mut self) {
        tree::set_mode(self, Mode::Evaluation);
    }

    /// Freezes the parameters at or below a path, so that they are not learnt any more. A `*` stands for one part of
    /// a path, `**` for any number of them. Returns how many parameters are concerned.
    ///
    /// ```
    /// use pellucid_nn::prelude::*;
    /// # fn main() -> pellucid::Result<()> {
    /// let mut model = sequential![Linear::new(3, 4), Relu, Linear::new(4, 2)];
    /// model.freeze("layers.0")?;
    /// assert_eq!(model.trainable_parameters().len(), 2);
    /// model.unfreeze("**.bias")?;
    /// assert_eq!(model.trainable_parameters().len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`](pellucid::Error::Argument) if no parameter has such a path.
    fn freeze(&mut self, path: &str) -> Result<usize> {
        freeze::set(self, "freeze", path, true)
    }

    /// Undoes [`freeze`](Module::freeze), by the same kind of path.
    ///
    /// # Errors
    /// As [`freeze`](Module::freeze).
    fn unfreeze(&mut self, path: &str) -> Result<usize> {
        freeze::set(self, "unfreeze", path, false)
    }

    /// Freezes all parameters.
    fn freeze_all(&mut self) {
        freeze::set_all(self, true);
    }

    /// Lets all parameters learn.
    fn unfreeze_all(&mut self) {
        freeze::set_all(self, false);
    }

    /// Casts all parameters and buffers of a real floating type to another.
    fn set_dtype(&mut self, dtype: Dtype) {
        tree::set_dtype(self, dtype);
    }

    /// Computes all parameters and buffers now, so that none waits for its first use.
    ///
    /// # Errors
    /// What made a parameter impossible, such as sizes that do not fit.
    fn compute(&self) -> Result<()> {
        pellucid::eval(self.parameters().into_iter().map(|(_, array)| array))
    }

    /// Writes all parameters and buffers to a `.safetensors` file under their paths.
    ///
    /// # Errors
    /// [`Error::Io`](pellucid::Error::Io) if the file cannot be written; what made a parameter impossible.
    fn save_weights(&self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        weights::save(self, path.as_ref())
    }

    /// Takes all parameters and buffers from a `.safetensors` or `.npz` file, which must have exactly these, in these
    /// shapes. The element types are those of the file.
    ///
    /// # Errors
    /// [`Error::Format`](pellucid::Error::Format) that lists what is missing, unexpected and of another shape; nothing
    /// is changed then. [`Error::Io`](pellucid::Error::Io) if the file cannot be read.
    fn load_weights(&mut self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        weights::load(self, path.as_ref())
    }

    /// As [`load_weights`](Module::load_weights), for a file with a part of the parameters or with others beside them:
    /// says what was missing and what was not used.
    ///
    /// # Errors
    /// [`Error::Format`](pellucid::Error::Format) if a shape differs; nothing is changed then.
    /// [`Error::Io`](pellucid::Error::Io) if the file cannot be read.
    fn load_weights_partly(&mut self, path: impl AsRef<Path>) -> Result<Differences>
    where
        Self: Sized,
    {
        weights::load_partly(self, path.as_ref())
    }

    /// Replaces the parameters and buffers whose paths are given, and says which are missing or unexpected.
    ///
    /// # Errors
    /// [`Error::Argument`](pellucid::Error::Argument) if a shape differs; nothing is changed then.
    fn update(&mut self, arrays: Arrays) -> Result<Differences> {
        weights::update(self, arrays)
    }
}

/// A module that makes one array of one array.
pub trait Layer: Module + CloneLayer + Send + Sync {
    /// The result for an input.
    fn forward(&self, x: &Array) -> Array;
}

/// Copies of layers whose type is not known. Every layer that is `Clone` has it.
pub trait CloneLayer {
    /// A copy with its own parameters.
    fn boxed(&self) -> Box<dyn Layer>;
}

impl<L: Layer + Clone + 'static> CloneLayer for L {
    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Layer> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}
