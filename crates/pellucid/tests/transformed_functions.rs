//! What is transformed: functions of structs, long chains, many threads, compiled and checkpointed functions.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pellucid::transform::{Derivatives, Tree, checkpoint, compile, grad, jacfwd, jacrev, vmap};
use pellucid::{Array, Axes, Dtype, ops, random};

fn same(a: &Array, b: &Array) -> bool {
    a.shape() == b.shape() && ops::allclose(a, b, 1e-12, 1e-12, true).item::<bool>().unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn jacobians_agree_in_both_directions() {
    let f = |x: &Array| ops::multiply(&ops::sin(x), &ops::sum(x, Axes::All, false));
    let x = Array::from([0.1f64, 0.2, 0.3]);
    let (a, b) = (jacrev(f)(&x).unwrap(), jacfwd(f)(&x).unwrap());
    assert_eq!(a.shape(), &[3, 3]);
    assert!(same(&a, &b), "{a} {b}");
}

#[derive(Clone, Tree)]
struct Model {
    layers: Vec<Layer>,
    scale: Option<Array>,
    #[tree(skip)]
    name: String,
}

#[derive(Clone, Tree)]
enum Layer {
    Linear { weight: Array, bias: Array },
    Shift(Array),
    Tanh,
}

fn model() -> Model {
    let layers = vec![
        Layer::Linear { weight: Array::from([[1.0f64, 2.0], [3.0, 4.0]]), bias: Array::from([0.5f64, 0.25]) },
        Layer::Tanh,
        Layer::Shift(Array::from([1.0f64, 1.0])),
    ];
    Model { layers, scale: Some(Array::from(2.0f64)), name: "small".to_owned() }
}

impl Model {
    fn loss(&self, x: &Array) -> Array {
        let mut y = x.clone();
        for layer in &self.layers {
            y = match layer {
                Layer::Linear { weight, bias } => ops::add(&ops::matmul(&y, weight), bias),
                Layer::Shift(by) => ops::add(&y, by),
                Layer::Tanh => ops::tanh(&y),
            };
        }
        let scaled = self.scale.as_ref().map_or_else(|| y.clone(), |scale| ops::multiply(&y, scale));
        ops::sum(&scaled, Axes::All, false)
    }
}

#[test]
fn the_gradient_of_a_struct_is_that_struct() {
    let x = Array::from([[0.1f64, 0.2]]);
    let gradient = grad(|model: &Model| model.loss(&x))(&model()).unwrap();
    assert_eq!(gradient.name, "small");
    assert_eq!(gradient.layers.len(), 3);
    let Layer::Shift(by) = &gradient.layers[2] else { panic!("another layer") };
    assert_eq!(by.to_vec::<f64>().unwrap(), [2.0, 2.0]);
    let Layer::Linear { weight, bias } = &gradient.layers[0] else { panic!("another layer") };
    assert_eq!((weight.shape(), bias.shape()), (&[2, 2][..], &[2][..]));
}

#[test]
fn a_chain_of_a_million_operations_has_a_gradient() {
    let chain = |x: &Array| (0..1_000_000).fold(x.clone(), |y, _| ops::negative(&y));
    let slope = grad(chain)(&Array::from(1.0f32)).unwrap();
    assert_eq!(slope.item::<f32>().unwrap(), 1.0);
}

#[test]
fn threads_trace_and_evaluate_at_the_same_time() {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for round in 0..50 {
                    let at = f64::from(thread * 50 + round) / 100.0;
                    let slope = grad(|x: &Array| {
                        let y = ops::sin(x);
                        y.eval().unwrap();
                        ops::multiply(&y, &y)
                    })(&Array::from(at))
                    .unwrap();
                    assert!(close(slope.item::<f64>().unwrap(), 2.0 * at.sin() * at.cos(), 1e-12));
                }
            });
        }
    });
}

#[test]
fn a_checkpointed_block_has_the_same_gradient_for_all_it_uses() {
    let w = Array::from([0.3f64, 0.7]);
    let plain =
        |(x, w): &(Array, Array)| ops::sum(&ops::sin(&ops::multiply(&ops::exp(x), w)), Axes::All, false);
    let saved = |(x, w): &(Array, Array)| {
        let block = checkpoint(|x: &Array| ops::sin(&ops::multiply(&ops::exp(x), w)));
        ops::sum(&block(x), Axes::All, false)
    };
    let at = (Array::from([0.1f64, 0.2]), w);
    let (a, b) = (grad(plain)(&at).unwrap(), grad(saved)(&at).unwrap());
    assert!(same(&a.0, &b.0) && same(&a.1, &b.1));
}

#[test]
fn a_compiled_function_is_recorded_once_for_each_shape() {
    let calls = std::cell::Cell::new(0);
    let f = compile(|x: &Array| {
        calls.set(calls.get() + 1);
        ops::add(&ops::exp(x), &ops::exp(x))
    });
    for n in [2usize, 2, 3, 2] {
        let x = ops::ones(n, Dtype::Float64);
        assert!(same(&f.call(&x).unwrap(), &ops::multiply(&ops::exp(&x), 2.0)));
    }
    assert_eq!(calls.get(), 2);
    let slope =
        grad(|x: &Array| ops::sum(&f.call(x).unwrap(), Axes::All, false))(&Array::from([0.0f64])).unwrap();
    assert_eq!(slope.to_vec::<f64>().unwrap(), [2.0]);
}

#[test]
fn what_cannot_be_differentiated_says_where() {
    let view = grad(|x: &Array| ops::sum(&ops::view(x, Dtype::Float32), Axes::All, false));
    let text = view(&Array::from([1i32])).unwrap_err().to_string();
    assert!(
        text.contains("view") && text.contains("transformed_functions.rs") && text.contains("stop_gradient"),
        "{text}"
    );
    let vector =
        grad(|x: &Array| ops::multiply(x, 2.0))(&Array::from([1.0f32, 2.0])).unwrap_err().to_string();
    assert!(vector.contains("single number"), "{vector}");
    let inside = vmap(|x: &Array| Array::from(x.item::<f32>().unwrap_or(7.0)))(&Array::from([1.0f32, 2.0]));
    assert_eq!(inside.unwrap().to_vec::<f32>().unwrap(), [7.0, 7.0]);
    let failed = grad(|x: &Array| ops::reshape(x, [5, 5]))(&Array::from([1.0f32])).unwrap_err().to_string();
    assert!(failed.starts_with("[reshape]"), "{failed}");
}

#[test]
fn fourier_transforms_are_linear_and_their_gradients_their_adjoints() {
    use pellucid::fft::{Norm, fft, ifft, irfft, rfft};
    // Both parts of a complex result side by side, so that sums of products are sums of real numbers.
    let parts = |y: &Array| ops::stack(&[&ops::real(y), &ops::imag(y)], 0);
    type Named<'a> = (&'static str, Box<dyn Fn(&Array) -> Array + 'a>);
    let functions: [Named; 6] = [
        ("fft", Box::new(|x| parts(&fft(x, None, -1, Norm::Ortho)))),
        ("ifft", Box::new(|x| parts(&ifft(x, 9, 0, Norm::Backward)))),
        ("rfft", Box::new(|x| parts(&rfft(x, None, 1, Norm::Backward)))),
        ("rfft of an odd number", Box::new(|x| parts(&rfft(x, 5, 0, Norm::Forward)))),
        ("irfft", Box::new(|x| irfft(&fft(x, None, -1, Norm::Backward), 8, -1, Norm::Backward))),
        (
            "irfft of an odd number",
            Box::new(|x| irfft(&fft(x, None, -1, Norm::Backward), 7, -1, Norm::Ortho)),
        ),
    ];
    for (name, f) in functions {
        let x = random::normal([4, 6], Dtype::Float32, 0.0, 1.0, Some(&random::key(1)));
        let t = random::normal([4, 6], Dtype::Float32, 0.0, 1.0, Some(&random::key(2)));
        let derivatives = Derivatives::begin(std::slice::from_ref(&x));
        let y = f(&derivatives.variables()[0]);
        let w = random::normal(y.shape().to_vec(), Dtype::Float32, 0.0, 1.0, Some(&random::key(3)));
        let g = derivatives.pull_back(&[(y, w.clone())]).unwrap().remove(0);
        let sum =
            |a: &Array, b: &Array| ops::sum(&ops::multiply(a, b), Axes::All, false).item::<f32>().unwrap();
        let (forward, reverse) = (sum(&w, &f(&t)), sum(&g, &t));
        assert!((forward - reverse).abs() < 1e-3 * (1.0 + forward.abs()), "{name}: {forward} {reverse}");
        let derivatives = Derivatives::begin(std::slice::from_ref(&x));
        let y = f(&derivatives.variables()[0]);
        let pushed = derivatives.push_forward(std::slice::from_ref(&t), &[y]).unwrap().remove(0);
        assert!(ops::allclose(&pushed, &f(&t), 1e-4, 1e-4, false).item::<bool>().unwrap(), "{name}");
    }
}

#[test]
fn a_compiled_function_is_recorded_anew_for_trees_that_are_divided_otherwise() {
    let (a, b, c) = (Array::from(1.0f64), Array::from(2.0f64), Array::from(4.0f64));
    let firsts = compile(|(x, y): &(Vec<Array>, Vec<Array>)| ops::add(&x[x.len() - 1], &y[0]));
    let call = |x: &(Vec<Array>, Vec<Array>)| firsts.call(x).unwrap().item::<f64>().unwrap();
    assert_eq!(call(&(vec![a.clone()], vec![b.clone(), c.clone()])), 3.0);
    assert_eq!(call(&(vec![a, b], vec![c])), 6.0);
    assert_eq!(firsts.recorded(), 2);
}
