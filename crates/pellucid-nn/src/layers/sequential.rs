//! Layers one after the other.

use pellucid::Array;

use crate::{Layer, Module};

/// Calls layers one after the other, each with the result of the one before. The macro
/// [`sequential!`](crate::sequential) makes one.
#[derive(Clone, Default, Module)]
pub struct Sequential {
    /// The layers, which may be of any type.
    pub layers: Vec<Box<dyn Layer>>,
}

impl Sequential {
    /// No layers, which is the identity.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// One layer more.
    #[must_use]
    pub fn then(mut self, layer: impl Layer + 'static) -> Sequential {
        self.layers.push(Box::new(layer));
        self
    }
}

impl Layer for Sequential {
    #[track_caller]
    fn forward(&self, x: &Array) -> Array {
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.forward(&x);
        }
        x
    }
}

/// A [`Sequential`](crate::layers::Sequential) of the layers listed.
///
/// ```
/// use pellucid_nn::prelude::*;
/// let model = sequential![Linear::new(4, 8), Relu, Dropout::new(0.1), Linear::new(8, 2)];
/// assert_eq!(model.forward(&ones::<f32>([3, 4])).shape(), [3, 2]);
/// ```
#[macro_export]
macro_rules! sequential {
    ($($layer:expr),* $(,)?) => {
        $crate::layers::Sequential::new()$(.then($layer))*
    };
}
