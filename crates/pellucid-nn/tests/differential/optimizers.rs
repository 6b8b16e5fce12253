//! Ten steps of every optimiser, schedules and clipping.

use pellucid_nn::optimizers::AdafactorRule;
use pellucid_nn::prelude::*;

use super::cases::{assert_close, below, given};

#[derive(Clone, Module)]
struct Parameters {
    w: Param,
    b: Param,
    k: Param,
}

fn parameters(prefix: &str) -> Parameters {
    let part = |name: &str| Param::new(given(&format!("{prefix}.{name}")));
    Parameters { w: part("w"), b: part("b"), k: part("k") }
}

fn check(name: &str, optimizer: impl Optimize + Clone + 'static) {
    let target = parameters("optimizers.target");
    let part = |p: &Param, t: &Param| ((p - t).square() * (1 + t.abs())).sum(..);
    let loss = |p: &Parameters, _: &()| part(&p.w, &target.w) + part(&p.b, &target.b) + part(&p.k, &target.k);
    let mut optimizer = optimizer.boxed();
    let mut model = parameters("optimizers.start");
    let mut history = Vec::new();
    for _ in 0..10 {
        let (_, gradient) = value_and_grad(loss)(&mut model, &()).unwrap();
        optimizer.update(&mut model, &gradient);
        history.push(ops::concatenate([model.w.flatten(), model.b.flatten(), model.k.flatten()], 0));
    }
    assert_close(name, &ops::stack(history, 0), &given(&format!("optimizers.{name}")));
    assert_eq!(optimizer.steps().unwrap(), 10);
}

#[test]
fn gradient_descent_and_scaled_gradients() {
    check("sgd", Sgd::new(0.05));
    check("sgd_full", Sgd::new(0.05).momentum(0.9).weight_decay(0.01).dampening(0.1));
    check("sgd_nesterov", Sgd::new(0.05).momentum(0.9).nesterov());
    check("rmsprop", RMSprop::new(0.05));
    check("adagrad", Adagrad::new(0.1));
    check("adadelta", AdaDelta::new(1.0));
}

#[test]
fn adam_and_its_relatives() {
    check("adam", Adam::new(0.05));
    check("adam_corrected", Adam::new(0.05).betas(0.8, 0.95).bias_correction());
    check("adamw", AdamW::new(0.05).weight_decay(0.1));
    check("adamax", Adamax::new(0.05));
    check("lion", Lion::new(0.01).weight_decay(0.1));
}

#[test]
fn adafactor() {
    check("adafactor", Adafactor::new());
    let rule = AdafactorRule {
        beta_1: Some(0.9),
        weight_decay: 0.01,
        relative_step: false,
        warmup_init: true,
        ..AdafactorRule::default()
    };
    check("adafactor_rate", Adafactor::with_rule(rule, Some(0.05.into())));
    let rule = AdafactorRule { warmup_init: true, scale_parameter: false, ..AdafactorRule::default() };
    check("adafactor_warmup", Adafactor::with_rule(rule, None));
}

#[test]
fn muon_and_groups() {
    check("muon", Muon::new(0.02));
    check("muon_plain", Muon::new(0.02).without_nesterov().weight_decay(0.0));
    let groups = MultiOptimizer::new(Adam::new(0.05)).group(Muon::new(0.02), |_, array| array.ndim() >= 2);
    check("groups", groups);
}

#[test]
fn schedules_by_the_step() {
    let all = [
        ("exponential", schedules::exponential_decay(0.1, 0.9)),
        ("step", schedules::step_decay(0.1, 0.5, 4)),
        ("cosine", schedules::cosine_decay(0.1, 20, 0.02)),
        ("linear", schedules::linear(0.0, 0.1, 10)),
        ("join", {
            let decay = schedules::exponential_decay(0.1, 0.8);
            schedules::join(schedules::linear(0.0, 0.1, 10), [(10, decay)])
        }),
    ];
    assert_eq!(below("schedules.").len(), all.len() + 1);
    let steps = given("schedules.steps").to_vec::<u64>().unwrap();
    for (name, schedule) in all {
        let values: Vec<Array> = steps.iter().map(|&step| schedule.at(&Array::from(step))).collect();
        assert_close(name, &ops::stack(values, 0), &given(&format!("schedules.{name}")));
    }
    let rate =
        schedules::join(schedules::linear(0.0, 0.05, 4), [(4, schedules::cosine_decay(0.05, 5, 0.01))]);
    check("scheduled", Sgd::new(rate));
}

#[test]
fn the_norm_of_gradients_is_clipped() {
    let (clipped, norm) = clip_grad_norm(&parameters("optimizers.start"), 1.5);
    assert_close("norm", &norm, &given("clip.norm"));
    for (path, array) in clipped.parameters() {
        assert_close(&path, &array, &given(&format!("clip.{path}")));
    }
}
