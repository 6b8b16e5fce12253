//! The fixture file, and how close results must be.

use std::path::Path;
use std::sync::LazyLock;

use pellucid::io::{Arrays, load_safetensors};
use pellucid_nn::prelude::*;

static ARRAYS: LazyLock<Arrays> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nn.safetensors");
    load_safetensors(path).unwrap().0
});

/// An array of the file.
pub fn given(name: &str) -> Array {
    ARRAYS.get(name).unwrap_or_else(|| panic!("the fixture has no {name}")).clone()
}

/// The arrays of the file whose names begin with a prefix, without it.
pub fn below(prefix: &str) -> Arrays {
    let named = ARRAYS.iter();
    named.filter_map(|(name, array)| Some((name.strip_prefix(prefix)?.to_owned(), array.clone()))).collect()
}

/// Fails unless all elements are as close as rounding in another order allows.
#[track_caller]
pub fn assert_close(what: &str, got: &Array, expected: &Array) {
    got.check().unwrap();
    assert_eq!(got.shape(), expected.shape(), "{what}: shapes differ");
    assert_eq!(got.dtype(), expected.dtype(), "{what}: types differ");
    let got = got.astype(Dtype::Float32).to_vec::<f32>().unwrap();
    let expected = expected.astype(Dtype::Float32).to_vec::<f32>().unwrap();
    let largest = expected.iter().fold(1.0f32, |most, x| most.max(x.abs()));
    for (i, (a, b)) in got.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() <= 2e-5 * largest, "{what}: element {i} is {a}, expected {b}");
    }
}

/// A layer that begins with the parameters of a case, which must have exactly its paths and shapes.
pub fn with_parameters<M: Module>(case: &str, mut module: M) -> M {
    let differences = module.update(below(&format!("{case}.param."))).unwrap();
    assert!(differences.is_empty(), "{case}: {differences}");
    module
}

/// Compares the result of a module and the gradients by its parameters and its floating inputs.
pub fn check<M: Module + Clone>(case: &str, module: M, call: impl Fn(&M, &[Array]) -> Array) -> M {
    let module = with_parameters(case, module);
    let inputs: Vec<Array> = below(&format!("{case}.in.")).into_values().collect();
    let cotangent = given(&format!("{case}.cot"));
    assert_close(&format!("{case}.out"), &call(&module.clone(), &inputs), &given(&format!("{case}.out")));

    let by_parameters =
        value_and_grad(|module: &M, inputs: &Vec<Array>| (call(module, inputs) * &cotangent).sum(..));
    let gradients = below(&format!("{case}.grad."));
    if !gradients.is_empty() {
        let (_, gradient) = by_parameters(&mut module.clone(), &inputs).unwrap();
        let found = gradient.trainable_parameters();
        let paths: Vec<&String> = gradients.keys().collect();
        assert_eq!(found.len(), gradients.len(), "{case}: {paths:?}");
        for (path, array) in found {
            assert_close(&format!("{case}.grad.{path}"), &array, &gradients[&path]);
        }
    }
    for (number, expected) in below(&format!("{case}.grad_in.")) {
        let place: usize = number.parse().unwrap();
        let by_input = pellucid::transform::grad(|x: &Array| {
            let mut inputs = inputs.clone();
            inputs[place] = x.clone();
            (call(&module.clone(), &inputs) * &cotangent).sum(..)
        });
        assert_close(&format!("{case}.grad_in.{place}"), &by_input(&inputs[place]).unwrap(), &expected);
    }
    // What the forward pass changes.
    let _ = call(&module, &inputs);
    module
}

/// [`check`] for a layer with one input.
pub fn check_layer(case: &str, layer: impl Layer + Clone) {
    check(case, layer, |layer, inputs| layer.forward(&inputs[0]));
}
