//! Activations, losses and initialisers.

use pellucid_nn::init::Fan;
use pellucid_nn::losses::CrossEntropy;
use pellucid_nn::prelude::*;

use super::cases::{assert_close, below, given};

#[test]
fn activations() {
    let (x, cotangent) = (given("activations.in"), given("activations.cot"));
    let all: Vec<(&str, Box<dyn Layer>)> = vec![
        ("sigmoid", Box::new(Sigmoid)),
        ("relu", Box::new(Relu)),
        ("relu2", Box::new(Relu2)),
        ("relu6", Box::new(Relu6)),
        ("leaky_relu", Box::new(LeakyRelu::default())),
        ("elu", Box::new(Elu::default())),
        ("celu", Box::new(Celu { alpha: 0.7 })),
        ("selu", Box::new(Selu)),
        ("silu", Box::new(Silu)),
        ("gelu", Box::new(Gelu)),
        ("gelu_approx", Box::new(GeluApprox)),
        ("gelu_fast_approx", Box::new(GeluFastApprox)),
        ("softmax", Box::new(Softmax::default())),
        ("softmin", Box::new(Softmin::default())),
        ("log_softmax", Box::new(LogSoftmax::default())),
        ("softplus", Box::new(Softplus)),
        ("softsign", Box::new(Softsign)),
        ("softshrink", Box::new(Softshrink::default())),
        ("hard_shrink", Box::new(HardShrink::default())),
        ("hard_tanh", Box::new(HardTanh::default())),
        ("hardswish", Box::new(Hardswish)),
        ("log_sigmoid", Box::new(LogSigmoid)),
        ("mish", Box::new(Mish)),
        ("step", Box::new(StepFunction::default())),
        ("tanh", Box::new(Tanh)),
        ("glu", Box::new(Glu::default())),
    ];
    assert_eq!(below("activations.").len(), 2 + 2 * all.len());
    for (name, layer) in all {
        let y = layer.forward(&x);
        assert_close(name, &y, &given(&format!("activations.{name}.out")));
        let columns = y.shape()[1];
        let slope =
            pellucid::transform::grad(|x: &Array| (layer.forward(x) * cotangent.i((.., ..columns))).sum(..));
        assert_close(name, &slope(&x).unwrap(), &given(&format!("activations.{name}.grad")));
    }
}

#[test]
fn losses_and_their_gradients() {
    let part = |name: &str| given(&format!("losses.{name}"));
    let (logits, other, classes, signs) = (part("logits"), part("other"), part("classes"), part("signs"));
    let (chances, unit, third) = (part("chances"), part("unit"), part("third"));
    let full =
        CrossEntropy { weights: Some(part("weights")), label_smoothing: 0.2, ..CrossEntropy::default() };
    type Loss<'a> = Box<dyn Fn(&Array) -> Array + 'a>;
    let all: Vec<(&str, &Array, Loss)> = vec![
        ("cross_entropy", &logits, Box::new(|a| losses::cross_entropy(a, &classes))),
        ("cross_entropy_full", &logits, Box::new(|a| full.loss(a, &classes))),
        ("cross_entropy_chances", &logits, Box::new(|a| losses::cross_entropy(a, &chances))),
        ("binary_cross_entropy", &logits, Box::new(|a| losses::binary_cross_entropy(a, &unit))),
        ("binary_cross_entropy_of", &unit, Box::new(|a| losses::binary_cross_entropy_of(a, &chances))),
        ("l1", &logits, Box::new(|a| losses::l1_loss(a, &other))),
        ("mse", &logits, Box::new(|a| losses::mse_loss(a, &other))),
        ("nll", &logits, Box::new(|a| losses::nll_loss(a, &classes, -1))),
        ("gaussian_nll", &logits, Box::new(|a| losses::gaussian_nll_loss(a, &other, &unit, true, 1e-6))),
        ("kl_div", &logits, Box::new(|a| losses::kl_div_loss(a, &chances.log(), -1))),
        ("smooth_l1", &logits, Box::new(|a| losses::smooth_l1_loss(a, &other, 0.8))),
        ("triplet", &logits, Box::new(|a| losses::triplet_loss([a, &other, &third], -1, 2.0, 1.0, 1e-6))),
        ("hinge", &logits, Box::new(|a| losses::hinge_loss(a, &signs))),
        ("huber", &logits, Box::new(|a| losses::huber_loss(a, &other, 0.9))),
        ("log_cosh", &logits, Box::new(|a| losses::log_cosh_loss(a, &other))),
        ("cosine_similarity", &logits, Box::new(|a| losses::cosine_similarity_loss(a, &other, 1, 1e-8))),
        ("margin_ranking", &logits, Box::new(|a| losses::margin_ranking_loss(a, &other, &signs, 0.1))),
    ];
    assert_eq!(below("losses.").len(), 8 + 2 * all.len());
    for (name, a, loss) in all {
        assert_close(name, &loss(a), &given(&format!("losses.{name}.out")));
        let slope = pellucid::transform::grad(|a: &Array| loss(a).sum(..));
        assert_close(name, &slope(a).unwrap(), &given(&format!("losses.{name}.grad")));
    }
}

#[test]
fn initialisers_draw_the_same_numbers() {
    type Make = fn() -> Array;
    let all: [(&str, Make); 10] = [
        ("normal", || init::normal([6, 4], 0.5, 2.0)),
        ("uniform", || init::uniform([6, 4], -1.0, 2.0)),
        ("glorot_normal", || init::glorot_normal([6, 4], 1.0)),
        ("glorot_uniform", || init::glorot_uniform([6, 4], 1.0)),
        ("he_normal", || init::he_normal([6, 4], Fan::In, 1.0)),
        ("he_uniform", || init::he_uniform([6, 4], Fan::In, 1.0)),
        ("sparse", || init::sparse([6, 4], 0.5, 0.0, 1.0)),
        ("orthogonal", || init::orthogonal([6, 4], 1.0)),
        ("identity", || init::identity([4, 4])),
        ("constant", || init::constant([6, 4], 0.25)),
    ];
    assert_eq!(below("init.").len(), all.len());
    for (name, make) in all {
        random::seed(7);
        assert_close(name, &make(), &given(&format!("init.{name}")));
    }
    random::seed(7);
    let fresh = sequential![Linear::new(3, 2), Conv2d::new(1, 2, 2), Embedding::new(3, 2), Lstm::new(2, 2)];
    let expected = below("fresh.");
    let parameters = fresh.parameters();
    assert_eq!(parameters.len(), expected.len());
    for (path, array) in parameters {
        assert_close(&path, &array, &expected[&path]);
    }
}
