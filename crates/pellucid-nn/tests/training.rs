//! Models as users write them: paths, modes, freezing, files, compiled steps, loaders, checkpoints.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;

use pellucid::transform::{Tree, compile_mut};
use pellucid_nn::data::from_fn;
use pellucid_nn::prelude::*;

#[derive(Clone, Module)]
struct Block {
    linear: Linear,
    norm: BatchNorm,
    #[module(name = "Wx")]
    extra: Option<Param>,
}

#[derive(Clone, Module)]
struct Model {
    layers: Vec<Block>,
    head: (Linear, Dropout),
    named: BTreeMap<String, Linear>,
    width: usize,
    #[module(skip)]
    note: &'static str,
}

fn model() -> Model {
    random::seed(5);
    let block = |extra: bool| Block {
        linear: Linear::new(3, 3),
        norm: BatchNorm::new(3),
        extra: extra.then(|| Param::new(ones::<f32>(3))),
    };
    Model {
        layers: vec![block(false), block(true)],
        head: (Linear::without_bias(3, 2), Dropout::new(0.5)),
        named: BTreeMap::from([("last".to_owned(), Linear::without_bias(2, 2))]),
        width: 3,
        note: "not saved",
    }
}

impl Layer for Model {
    fn forward(&self, x: &Array) -> Array {
        let mut x = x.clone();
        for block in &self.layers {
            x = relu(&block.norm.forward(&block.linear.forward(&x)));
            if let Some(extra) = &block.extra {
                x *= extra;
            }
        }
        let (head, dropout) = &self.head;
        self.named["last"].forward(&dropout.forward(&head.forward(&x)))
    }
}

fn paths(parameters: Vec<(String, Array)>) -> Vec<String> {
    parameters.into_iter().map(|(path, _)| path).collect()
}

fn batch(seed: u64) -> (Array, Array) {
    let key = random::key(seed);
    let x = random::normal([8, 3], Dtype::Float32, 0.0, 1.0, Some(&key));
    let y = ops::argmax(&x, 1, false) % 2;
    (x, y)
}

fn loss(model: &Model, (x, y): &(Array, Array)) -> Array {
    losses::cross_entropy(&model.forward(x), y).mean(..)
}

#[test]
fn paths_are_the_names_on_the_way() {
    let model = model();
    assert_eq!((model.width, model.note), (3, "not saved"));
    let block = |i: usize| {
        ["linear.weight", "linear.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"]
            .map(|name| format!("layers.{i}.{name}"))
    };
    let mut expected: Vec<String> = block(0).into_iter().chain(block(1)).collect();
    expected.extend(["layers.1.Wx", "head.0.weight", "named.last.weight"].map(str::to_owned));
    assert_eq!(paths(model.parameters()), expected);
    expected.retain(|path| !path.contains("running"));
    assert_eq!(paths(model.trainable_parameters()), expected);
    assert_eq!(model.parameter_count(), 2 * (9 + 3 * 5) + 3 + 6 + 4);
}

#[test]
fn a_summary_shows_shapes_and_counts() {
    let mut model = sequential![Linear::new(40, 30), Relu, BatchNorm::new(30)];
    model.freeze("layers.0.bias").unwrap();
    let text = model.summary().to_string();
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("layers.0.weight").contains("[30, 40] float32  1,200"), "{text}");
    assert!(line("layers.0.bias").ends_with("30  not learnt"), "{text}");
    assert!(line("running_var").ends_with("30  not learnt"), "{text}");
    assert!(line("layers.1 ").ends_with("Relu"), "{text}");
    assert!(text.ends_with("1,350 parameters, 1,260 learnt, 5,400 bytes"), "{text}");
}

#[test]
fn the_gradient_is_a_model_and_zero_where_it_is_frozen() {
    let mut model = model();
    model.freeze("layers.*.linear").unwrap();
    let (_, gradient) = value_and_grad(loss)(&mut model, &batch(1)).unwrap();
    assert_eq!(gradient.layers[0].linear.weight.to_vec::<f32>().unwrap(), [0.0; 9]);
    assert!(gradient.layers[1].norm.weight.as_ref().unwrap().abs().max(..).item::<f32>().unwrap() > 0.0);
    let before = model.clone();
    Sgd::new(0.1).update(&mut model, &gradient);
    let same = |a: &Array, b: &Array| a.array_equal(b).item::<bool>().unwrap();
    assert!(same(&model.layers[0].linear.weight, &before.layers[0].linear.weight));
    assert!(!same(&model.head.0.weight, &before.head.0.weight));
    // The forward pass has moved the running statistics.
    assert!(
        model.layers[0].norm.running_mean.as_ref().unwrap().get().abs().max(..).item::<f32>().unwrap() > 0.0
    );
    let error = model.freeze("layers.7").unwrap_err().to_string();
    assert!(
        error.starts_with("[freeze] no parameter is at or below \"layers.7\"; there are layers.0."),
        "{error}"
    );
}

#[test]
fn a_file_gives_the_parameters_back_and_says_what_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    let mut first = model();
    first.eval();
    first.save_weights(&file).unwrap();
    let mut second = model();
    second.set_dtype(Dtype::Float16);
    second.load_weights(&file).unwrap();
    second.eval();
    let (x, _) = batch(2);
    assert_eq!(first.forward(&x).to_vec::<f32>().unwrap(), second.forward(&x).to_vec::<f32>().unwrap());

    let mut other = sequential![Linear::new(3, 3), Linear::new(2, 4)];
    other.save_weights(&file).unwrap();
    let mut wanted = sequential![Linear::new(3, 3), Linear::without_bias(2, 5), Linear::without_bias(2, 2)];
    let before = wanted.parameters()[0].1.to_vec::<f32>().unwrap();
    let error = wanted.load_weights(&file).unwrap_err().to_string();
    assert!(error.contains("1 missing: layers.2.weight"), "{error}");
    assert!(error.contains("1 unexpected: layers.1.bias"), "{error}");
    assert!(error.contains("1 of another shape: layers.1.weight is [4, 2] and must be [5, 2]"), "{error}");
    assert_eq!(wanted.parameters()[0].1.to_vec::<f32>().unwrap(), before);

    let mut larger = other.clone().then(Linear::without_bias(1, 1));
    other = sequential![Linear::new(3, 3)];
    let differences = larger.load_weights_partly(&file).unwrap();
    assert_eq!((differences.missing, differences.unexpected), (vec!["layers.2.weight".to_owned()], vec![]));
    let differences = other.load_weights_partly(&file).unwrap();
    assert_eq!(differences.unexpected, ["layers.1.bias", "layers.1.weight"]);
}

#[test]
fn a_compiled_step_is_recorded_anew_when_the_mode_changes() {
    let layer = Dropout::new(0.5);
    let run = compile_mut(|layer: &mut Dropout, x: &Array| layer.forward(x));
    let mut layer = layer;
    let x = ones::<f32>(64);
    let dropped = run(&mut layer, &x).unwrap().to_vec::<f32>().unwrap();
    assert!(dropped.contains(&0.0) && dropped.contains(&2.0));
    layer.eval();
    assert_eq!(run(&mut layer, &x).unwrap().to_vec::<f32>().unwrap(), [1.0; 64]);
}

#[test]
fn a_compiled_step_computes_what_the_plain_one_does() {
    let mut plain = model();
    plain.head.1 = Dropout::new(0.0);
    let start = plain.clone();
    let mut optimizer = Adam::new(0.01);
    let mut expected = Vec::new();
    for seed in 0..5 {
        let (loss, gradient) = value_and_grad(loss)(&mut plain, &batch(seed)).unwrap();
        optimizer.update(&mut plain, &gradient);
        expected.push(loss.item::<f32>().unwrap());
    }
    let step = compile_mut(|(model, optimizer): &mut (Model, Adam), batch: &(Array, Array)| {
        match value_and_grad(loss)(model, batch) {
            Ok((loss, gradient)) => {
                optimizer.update(model, &gradient);
                loss
            }
            Err(error) => Array::from(error),
        }
    });
    let mut state = (start, Adam::new(0.01));
    for (seed, expected) in expected.into_iter().enumerate() {
        let loss = step(&mut state, &batch(seed as u64)).unwrap().item::<f32>().unwrap();
        assert!((loss - expected).abs() < 1e-5, "{loss} {expected}");
    }
    assert_eq!(state.1.steps().unwrap(), 5);
    let buffers = |model: &Model| model.layers[1].norm.running_var.as_ref().unwrap().get();
    assert!(buffers(&state.0).allclose(buffers(&plain), 1e-5, 1e-6).item::<bool>().unwrap());
}

#[test]
fn dropout_in_a_compiled_step_draws_new_numbers_each_time() {
    random::seed(0);
    let model = Dropout::new(0.5);
    let mut trainer =
        Trainer::new(model, Sgd::new(0.1), |model: &Dropout, x: &Array| model.forward(x).sum(..));
    let outside = random::state().to_vec::<u32>().unwrap();
    let sums: Vec<f32> = (0..4).map(|_| trainer.step(&ones::<f32>(1000)).unwrap()).collect();
    assert!(sums.windows(2).any(|pair| pair[0] != pair[1]), "{sums:?}");
    assert_eq!(random::state().to_vec::<u32>().unwrap(), outside);
}

#[test]
fn a_run_goes_on_from_a_checkpoint_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.safetensors");
    let trainer = || {
        let rate =
            schedules::join(schedules::linear(0.0, 0.02, 3), [(3, schedules::cosine_decay(0.02, 20, 0.0))]);
        let matrices = |_: &str, array: &Array| array.ndim() == 2;
        let optimizer = MultiOptimizer::new(AdamW::new(rate)).group(Muon::new(0.01), matrices);
        Trainer::new(model(), optimizer, loss).clip_grad_norm(0.5)
    };
    let data = from_fn(40, |numbers: &[usize]| {
        let noise = random::normal([numbers.len(), 3], Dtype::Float32, 0.0, 0.1, None);
        let (x, y) = batch(numbers[0] as u64);
        (x.i(..numbers.len()) + noise, y.i(..numbers.len()))
    });
    let loader = DataLoader::new(data, 8).shuffle(3);
    let bits = |losses: Vec<f32>| losses.into_iter().map(f32::to_bits).collect::<Vec<_>>();

    let mut whole = trainer();
    let mut expected = Vec::new();
    for (step, batch) in loader.from_step(0).take(14).enumerate() {
        expected.push(whole.step(&batch.unwrap()).unwrap());
        if step == 6 {
            whole.save(&file).unwrap();
        }
    }
    let mut resumed = trainer();
    resumed.load(&file).unwrap();
    let step = resumed.optimizer().steps().unwrap();
    assert_eq!(step, 7);
    let rest: Vec<f32> =
        loader.from_step(step).take(7).map(|batch| resumed.step(&batch.unwrap()).unwrap()).collect();
    assert_eq!(bits(rest), bits(expected.split_off(7)));
    let parameters = |trainer: &Trainer<Model, MultiOptimizer, (Array, Array)>| trainer.model().to_leaves();
    for (a, b) in parameters(&whole).iter().zip(parameters(&resumed)) {
        assert_eq!(a.to_bytes().unwrap(), b.to_bytes().unwrap());
    }

    let mut other =
        Trainer::new(Linear::new(2, 2), Sgd::new(0.1), |layer: &Linear, x: &Array| layer.forward(x).sum(..));
    let error = other.load(&file).unwrap_err().to_string();
    assert!(error.contains("2 missing: weight, bias"), "{error}");
}

#[test]
fn a_loader_gives_every_sample_once_whoever_makes_the_batches() {
    let x = ops::arange(0, 23, 1, Dtype::Int32);
    let all = |loader: &DataLoader<Array>, epoch: u64| {
        let batches: Vec<Vec<i32>> =
            loader.epoch(epoch).map(|batch| batch.unwrap().to_vec::<i32>().unwrap()).collect();
        batches.concat()
    };
    let ahead = DataLoader::new(x.clone(), 5).shuffle(1).prefetch(3);
    let inline = DataLoader::new(x.clone(), 5).shuffle(1).prefetch(0);
    assert_eq!(all(&ahead, 0), all(&inline, 0));
    assert_ne!(all(&ahead, 0), all(&ahead, 1));
    let mut seen = all(&ahead, 2);
    seen.sort_unstable();
    assert_eq!(seen, (0..23).collect::<Vec<_>>());
    let whole = DataLoader::new(x.clone(), 5).drop_last();
    assert_eq!((whole.batches(), all(&whole, 0).len()), (4, 20));
    // Dropped early, the thread ends; without samples there is nothing.
    assert_eq!(ahead.epoch(0).take(2).count(), 2);
    assert_eq!(DataLoader::new(x.i(0..0), 5).from_step(9).count(), 0);
}

#[test]
#[should_panic(expected = "no such sample")]
fn a_panic_of_the_data_set_reaches_the_caller() {
    let data = from_fn(4, |_: &[usize]| -> Array { panic!("no such sample") });
    DataLoader::new(data, 2).epoch(0).for_each(drop);
}

#[test]
fn what_cannot_work_says_why() {
    let message = |array: Array| array.check().unwrap_err().root().to_string();
    assert_eq!(
        message(Dropout::new(1.5).forward(&ones::<f32>(2))),
        "[Dropout] the probability must be in [0, 1), not 1.5"
    );
    assert_eq!(
        message(Conv2d::grouped(3, 4, 2, 2).forward(&ones::<f32>([1, 4, 4, 3]))),
        "[Conv2d] 3 input channels cannot be divided into 2 groups"
    );
    assert_eq!(
        message(MaxPool2d::new(5).forward(&ones::<f32>([1, 4, 8, 1]))),
        "[MaxPool2d] a window of 5 does not fit axis 1 of size 4"
    );
    assert_eq!(
        message(losses::mse_loss(&ones::<f32>([2, 3]), &ones::<f32>([3]))),
        "[mse_loss] predictions of shape [2, 3] and targets of shape [3] must have one shape"
    );
    let attention = MultiHeadAttention::new(8, 3);
    let x = ones::<f32>([1, 2, 8]);
    assert_eq!(
        message(attention.forward(&x, &x, &x, &pellucid::fast::Mask::None)),
        "[MultiHeadAttention] 8 features cannot be divided among 3 heads"
    );
    let mut trainer =
        Trainer::new(Linear::new(2, 1), Adam::new(0.1).betas(1.0, 0.9), |layer: &Linear, x: &Array| {
            layer.forward(x).sum(..)
        });
    let error = trainer.step(&ones::<f32>([1, 2])).unwrap_err().root().to_string();
    assert_eq!(error, "[optimizer] Adam: betas must be in [0, 1), not 1");
}
