//! Gradients of models.

use pellucid::transform::{self, Loss};
use pellucid::{Array, Result, ops};

use crate::Module;
use crate::module::tree;

/// A function that returns what `f` returns for a model and a batch, and the gradient by the parameters that are not
/// frozen, as a model of the same type. Frozen parameters and buffers are zero in it. Buffers that `f` changes, such as
/// running statistics, are changed in the model.
///
/// ```
/// use pellucid_nn::prelude::*;
/// # fn main() -> pellucid::Result<()> {
/// let mut layer = Linear::new(2, 1);
/// layer.freeze("bias")?;
/// let x = ones::<f32>([3, 2]);
/// let (_, gradient) = value_and_grad(|layer: &Linear, x: &Array| layer.forward(x).sum(..))(&mut layer, &x)?;
/// assert_eq!(gradient.weight.to_vec::<f32>()?, [3.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The function returned has those of [`transform::value_and_grad`].
pub fn value_and_grad<M: Module + Clone, B: ?Sized, R: Loss>(
    f: impl Fn(&M, &B) -> R,
) -> impl Fn(&mut M, &B) -> Result<(R, M)> {
    move |model: &mut M, batch: &B| {
        let learnt: Vec<Array> = model.trainable_parameters().into_iter().map(|(_, array)| array).collect();
        let ((_, (result, buffers)), slopes) = {
            let before = &*model;
            let run = transform::value_and_grad(|variables: &Vec<Array>| {
                let mut copy = before.clone();
                let mut variables = variables.iter();
                tree::map_trainable(&mut copy, |_, _| variables.next().cloned());
                let result = f(&copy, batch);
                (result.loss().clone(), (result, tree::buffers(&copy)))
            });
            run(&learnt)?
        };
        let mut gradient = model.clone();
        let mut slopes = slopes.into_iter();
        tree::map_trainable(&mut gradient, |_, _| slopes.next());
        tree::map_others(&mut gradient, ops::zeros_like);
        tree::set_buffers(model, buffers);
        Ok((result, gradient))
    }
}

/// As [`value_and_grad`], without what `f` returns.
///
/// # Errors
/// Those of [`value_and_grad`].
pub fn grad<M: Module + Clone, B: ?Sized, R: Loss>(
    f: impl Fn(&M, &B) -> R,
) -> impl Fn(&mut M, &B) -> Result<M> {
    let both = value_and_grad(f);
    move |model: &mut M, batch: &B| Ok(both(model, batch)?.1)
}
