"""`pellucid.nn` beside the published `mlx.nn`: parameters, results, gradients, errors and files."""

import copy
import operator
import pickle

import numpy as np
import pytest

pytest.importorskip("mlx.nn")

from side_by_side import BOTH, OURS, THEIRS, drawn, moved, plain, raised, same, twins  # noqa: E402

X, IMAGE, SERIES, VOLUME = drawn(4, 6), drawn(2, 6, 8, 4), drawn(2, 9, 4), drawn(2, 4, 4, 6, 2)
TOKENS = np.array([[1, 3, 0], [2, 2, 4]], np.int32)

ACTIVATIONS = """CELU ELU GELU GLU HardShrink HardTanh Hardswish LeakyReLU LogSigmoid LogSoftmax Mish PReLU ReLU ReLU2 ReLU6
    SELU SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign Step Tanh Identity""".split()

LAYERS = {
    **{name: (lambda nn, name=name: getattr(nn, name)(), (X,)) for name in ACTIVATIONS},
    "GELU tanh": (lambda nn: nn.GELU("tanh"), (X,)),
    "GELU fast": (lambda nn: nn.GELU("fast"), (X,)),
    "PReLU of features": (lambda nn: nn.PReLU(6, 0.1), (X,)),
    "Linear": (lambda nn: nn.Linear(6, 3), (X,)),
    "Linear without bias": (lambda nn: nn.Linear(6, 3, bias=False), (drawn(2, 3, 6),)),
    "Bilinear": (lambda nn: nn.Bilinear(6, 5, 3), (X, drawn(4, 5, seed=1))),
    "Embedding": (lambda nn: nn.Embedding(5, 3), (TOKENS,)),
    "Sequential": (lambda nn: nn.Sequential(nn.Linear(6, 8), nn.relu, nn.Linear(8, 2)), (X,)),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (SERIES,)),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, (3, 2), stride=2, padding=1), (IMAGE,)),
    "Conv2d dilated": (lambda nn: nn.Conv2d(4, 6, 3, dilation=2, groups=2, bias=False), (IMAGE,)),
    "Conv3d": (lambda nn: nn.Conv3d(2, 3, 2, padding=1), (VOLUME,)),
    "ConvTranspose1d": (lambda nn: nn.ConvTranspose1d(4, 3, 3, stride=2, padding=1), (SERIES,)),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1), (IMAGE,)),
    "ConvTranspose3d": (lambda nn: nn.ConvTranspose3d(2, 3, 2), (VOLUME,)),
    "LayerNorm": (lambda nn: nn.LayerNorm(6), (X,)),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(6, bias=False), (X,)),
    "LayerNorm not affine": (lambda nn: nn.LayerNorm(6, affine=False), (X,)),
    "RMSNorm": (lambda nn: nn.RMSNorm(6), (X,)),
    "InstanceNorm": (lambda nn: nn.InstanceNorm(4, affine=True), (IMAGE,)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (IMAGE,)),
    "GroupNorm of neighbours": (lambda nn: nn.GroupNorm(2, 4, pytorch_compatible=True), (IMAGE,)),
    "BatchNorm": (lambda nn: nn.BatchNorm(4), (IMAGE,)),
    "BatchNorm evaluated": (lambda nn: nn.BatchNorm(4).eval(), (SERIES,)),
    "BatchNorm untracked": (lambda nn: nn.BatchNorm(6, track_running_stats=False, affine=False), (X,)),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(3, 2), (SERIES,)),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3, 1, 1), (SERIES,)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), (IMAGE,)),
    "MaxPool2d padded": (lambda nn: nn.MaxPool2d((3, 2), stride=1, padding=1), (IMAGE,)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2), (IMAGE,)),
    "MaxPool3d": (lambda nn: nn.MaxPool3d(2), (VOLUME,)),
    "AvgPool3d": (lambda nn: nn.AvgPool3d(2, stride=1), (VOLUME,)),
    "RNN": (lambda nn: nn.RNN(4, 5), (SERIES,)),
    "RNN from a state": (lambda nn: nn.RNN(4, 5, bias=False), (SERIES, drawn(2, 5))),
    "GRU": (lambda nn: nn.GRU(4, 5), (SERIES,)),
    "GRU from a state": (lambda nn: nn.GRU(4, 5, bias=False), (SERIES, drawn(2, 5))),
    "LSTM": (lambda nn: nn.LSTM(4, 5), (SERIES,)),
    "LSTM from a state": (lambda nn: nn.LSTM(4, 5, bias=False), (SERIES, drawn(2, 5), drawn(2, 5, seed=3))),
    "RoPE": (lambda nn: nn.RoPE(4), (drawn(2, 2, 5, 6),)),
    "RoPE traditional": (lambda nn: nn.RoPE(6, traditional=True, base=100, scale=0.5), (drawn(2, 2, 5, 6), 3)),
    "SinusoidalPositionalEncoding": (lambda nn: nn.SinusoidalPositionalEncoding(8), (X,)),
    "Sinusoidal in full turns": (lambda nn: nn.SinusoidalPositionalEncoding(8, full_turns=True, cos_first=True), (X,)),
    "ALiBi": (lambda nn: nn.ALiBi(), (drawn(1, 2, 3, 5), 2, drawn(3, 5))),
    "MultiHeadAttention": (lambda nn: nn.MultiHeadAttention(8, 2, bias=True), (drawn(2, 3, 8), drawn(2, 5, 8), drawn(2, 5, 8))),
    "TransformerEncoder": (lambda nn: nn.TransformerEncoder(2, 8, 2), (drawn(2, 4, 8), None)),
    "TransformerEncoder checkpointed": (lambda nn: nn.TransformerEncoder(2, 8, 2, checkpoint=True), (drawn(2, 4, 8), None)),
    "Transformer": (lambda nn: nn.Transformer(8, 2, 1, 1, norm_first=False), (drawn(2, 4, 8), drawn(2, 3, 8), None, None, None)),
    "AllToShardedLinear": (lambda nn: nn.AllToShardedLinear(6, 4), (X,)),
    "ShardedToAllLinear": (lambda nn: nn.ShardedToAllLinear(6, 4), (X,)),
    "FullyShardedModule": (lambda nn: nn.FullyShardedModule(nn.Linear(6, 4)), (X,)),
    **{
        f"Upsample {mode} {scale} {'aligned' if aligned else ''} {'smooth' if smooth else ''}": (
            lambda nn, a=(scale, mode, aligned, smooth): nn.Upsample(*a), (IMAGE,))
        for mode in ("nearest", "linear", "cubic") for scale in (2, (1.6, 3), 0.5, (0.25, 0.4))
        for aligned in (False, True) for smooth in (False, True)
        if not (smooth and (aligned or mode == "nearest"))
    },
}
#: Layers whose parameters are packed and frozen, so that only their results are compared.
PACKED = {
    "QuantizedLinear": (lambda nn: nn.QuantizedLinear(64, 8), (drawn(3, 64),)),
    "QuantizedLinear of 8 bits": (lambda nn: nn.QuantizedLinear(64, 8, bias=False, group_size=32, bits=8), (drawn(3, 64),)),
    "QuantizedEmbedding": (lambda nn: nn.QuantizedEmbedding(6, 64), (TOKENS,)),
    "QuantizedAllToShardedLinear": (lambda nn: nn.QuantizedAllToShardedLinear(64, 8), (drawn(3, 64),)),
    "QuantizedShardedToAllLinear": (lambda nn: nn.QuantizedShardedToAllLinear(64, 8), (drawn(3, 64),)),
}


def gradients(package, model, arguments):
    """The result, and the gradients of a weighted sum of it in the parameters and the first argument."""
    mx = package.mx
    first, *rest = moved(package, list(arguments))

    def loss(parameters, x):
        model.update(parameters)
        results = model(x, *rest)
        results = results if isinstance(results, tuple) else (results,)
        return sum((mx.cos(mx.arange(r.size)).reshape(r.shape) * r).sum() for r in results), results

    parameters = model.trainable_parameters()
    which = (0, 1) if mx.issubdtype(first.dtype, mx.floating) else 0
    (_, results), found = mx.value_and_grad(loss, argnums=which)(parameters, first)
    model.update(parameters)
    return plain(package, results), plain(package, found)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_the_results_and_gradients_of_mlx(name):
    make, arguments = LAYERS[name]
    ours, theirs = (gradients(package, model, arguments) for package, model in zip(BOTH, twins(make)))
    same(ours[0], theirs[0], 5e-5, 5e-6, "result")
    same(ours[1], theirs[1], 3e-4, 5e-5, "gradient")


@pytest.mark.parametrize("name", PACKED)
def test_a_layer_with_packed_weights_gives_the_results_of_mlx(name):
    make, arguments = PACKED[name]
    ours, theirs = twins(make)
    assert ours.trainable_parameters() == {}
    results = [plain(p, [model(*moved(p, list(arguments)))]) for p, model in zip(BOTH, (ours, theirs))]
    same(*results, 1e-4, 1e-5)


@pytest.mark.parametrize("name", [n for n in [*LAYERS, *PACKED] if not n.startswith("RNN")])
def test_a_layer_prints_and_begins_as_that_of_mlx(name):
    make = {**LAYERS, **PACKED}[name][0]
    made = []
    for package in BOTH:
        package.mx.random.seed(11)
        made.append(make(package.nn))
    assert repr(made[0]) == repr(made[1])
    same(plain(OURS, made[0].parameters()), plain(THEIRS, made[1].parameters()))
    frozen = [package.utils.tree_flatten(m.trainable_parameters()) for package, m in zip(BOTH, made)]
    assert [path for path, _ in frozen[0]] == [path for path, _ in frozen[1]]


@pytest.mark.parametrize("name,arguments", [
    ("celu", (0.7,)), ("elu", (0.7,)), ("gelu", ()), ("gelu_approx", ()), ("gelu_fast_approx", ()), ("glu", (0,)),
    ("hard_shrink", (0.3,)), ("hard_tanh", (-0.5, 0.25)), ("leaky_relu", (0.2,)), ("log_softmax", (0,)), ("softmax", (0,)),
    ("softmin", (0,)), ("softshrink", (0.3,)), ("step", (0.5,)), ("tanh", ()), ("sigmoid", ()),
])
def test_an_activation_takes_the_arguments_of_mlx(name, arguments):
    same(*(plain(p, [getattr(p.nn, name)(p.mx.array(X), *arguments)]) for p in BOTH))


@pytest.mark.parametrize("kind", ["Dropout", "Dropout2d", "Dropout3d"])
def test_dropout_drops_what_mlx_drops(kind):
    results = []
    for package in BOTH:
        package.mx.random.seed(5)
        layer = getattr(package.nn, kind)(0.3)
        x = package.mx.array(VOLUME[0] if kind == "Dropout2d" else VOLUME)
        results.append(plain(package, [layer(x), layer.eval()(x)]))
    same(*results)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["Dropout", "Dropout2d", "Dropout3d"])
def test_dropout_keeps_the_type(kind, dtype):
    for package in BOTH:
        x = package.mx.ones(VOLUME[0].shape, dtype=getattr(package.mx, dtype))
        assert getattr(package.nn, kind)(0.3)(x).dtype == x.dtype


def test_batch_norm_keeps_the_averages_of_mlx():
    kept = []
    for package, model in zip(BOTH, twins(lambda nn: nn.BatchNorm(4))):
        for seed in range(3):
            model(package.mx.array(drawn(3, 5, 4, seed=seed)))
        kept.append(plain(package, model.parameters()))
    same(*kept)


TARGETS = np.array([0, 3, 1, 5], np.int32)
SIGNS = np.sign(drawn(4, 6, seed=9))
LOSSES = {
    "cross_entropy": [((X, TARGETS), {}), ((X, TARGETS), {"label_smoothing": 0.2, "weights": np.abs(drawn(4)), "reduction": "sum"}),
                      ((X, np.abs(drawn(4, 6))), {"axis": 0})],
    "binary_cross_entropy": [((X, np.abs(SIGNS)), {}), ((np.abs(X) / 4, np.abs(SIGNS)), {"with_logits": False, "reduction": "none"}),
                             ((X, np.abs(SIGNS)), {"weights": np.abs(drawn(4, 6))})],
    "l1_loss": [((X, SIGNS), {})],
    "mse_loss": [((X, SIGNS), {"reduction": "sum"})],
    "nll_loss": [((X, TARGETS), {})],
    "gaussian_nll_loss": [((X, SIGNS, np.abs(X)), {}), ((X, SIGNS, np.abs(X)), {"full": True, "reduction": "none"})],
    "kl_div_loss": [((X, SIGNS), {}), ((X, SIGNS), {"axis": 0, "reduction": "mean"})],
    "smooth_l1_loss": [((X, SIGNS), {}), ((X, SIGNS), {"beta": 0.3})],
    "triplet_loss": [((X, SIGNS, -X), {}), ((X, SIGNS, -X), {"margin": 2.0, "p": 4, "reduction": "mean"})],
    "hinge_loss": [((X, SIGNS), {})],
    "huber_loss": [((X, SIGNS), {"delta": 0.4})],
    "log_cosh_loss": [((X, SIGNS), {})],
    "cosine_similarity_loss": [((X, SIGNS), {}), ((X, SIGNS), {"axis": 0, "reduction": "sum"})],
    "margin_ranking_loss": [((X, -X, SIGNS), {"margin": 0.5})],
}


@pytest.mark.parametrize("name,case", [(name, i) for name, cases in LOSSES.items() for i in range(len(cases))])
def test_a_loss_gives_the_values_and_gradients_of_mlx(name, case):
    arguments, keywords = LOSSES[name][case]
    found = []
    for package in BOTH:
        first, *rest = moved(package, list(arguments))
        options = moved(package, keywords)
        loss = getattr(package.nn.losses, name)
        gradient = package.mx.grad(lambda x: loss(x, *rest, **options).sum())(first)
        found.append(plain(package, [loss(first, *rest, **options), gradient]))
    same(*found, 5e-5, 5e-6)


@pytest.mark.parametrize("make", [
    lambda init: init.constant(2.5), lambda init: init.normal(1, 2), lambda init: init.uniform(-1, 3), lambda init: init.identity(),
    lambda init: init.glorot_normal(), lambda init: init.glorot_uniform(), lambda init: init.he_normal(), lambda init: init.he_uniform(),
    lambda init: init.sparse(0.4),
])
def test_an_initializer_draws_what_mlx_draws(make):
    drawn_values = []
    for package in BOTH:
        package.mx.random.seed(2)
        drawn_values.append(plain(package, [make(package.nn.init)(package.mx.zeros((5, 5)))]))
    same(*drawn_values)


BAD = {
    "dropout": lambda p: p.nn.Dropout(1.0),
    "heads": lambda p: p.nn.MultiHeadAttention(8, 3),
    "groups": lambda p: p.nn.Conv2d(3, 4, 3, groups=2),
    "gelu": lambda p: p.nn.GELU("x"),
    "nonlinearity": lambda p: p.nn.RNN(2, 3, nonlinearity=3),
    "pool of three sizes": lambda p: p.nn.MaxPool2d((2, 2, 2)),
    "pool of a matrix": lambda p: p.nn.MaxPool1d(2)(p.mx.zeros((3, 3))),
    "upsample mode": lambda p: p.nn.Upsample(2, mode="x"),
    "upsample factors": lambda p: p.nn.Upsample((2, 2))(p.mx.zeros((3, 3, 3))),
    "batch norm of a vector": lambda p: p.nn.BatchNorm(4)(p.mx.zeros((2,))),
    "no attribute": lambda p: p.nn.Linear(2, 2).nothing,
    "missing weights": lambda p: p.nn.Linear(2, 2).load_weights([("weight", p.mx.zeros((2, 2)))]),
    "surplus weights": lambda p: p.nn.Linear(2, 2, bias=False).load_weights([("weight", p.mx.zeros((2, 2))), ("a", p.mx.zeros(1))]),
    "other shape": lambda p: p.nn.Linear(2, 2, bias=False).load_weights([("weight", p.mx.zeros((2, 3)))]),
    "no array": lambda p: p.nn.Linear(2, 2, bias=False).load_weights([("weight", 3)]),
    "file type": lambda p: p.nn.Linear(2, 2).save_weights("w.txt"),
    "unknown parameter": lambda p: p.nn.Linear(2, 2).update({"nothing": p.mx.zeros(1)}),
    "parameter of no array": lambda p: p.nn.Linear(2, 2).update({"weight": 3}),
    "list too long": lambda p: p.nn.Sequential(p.nn.ReLU()).update({"layers": [{}, {}]}),
    "unknown module": lambda p: p.nn.Sequential().update_modules({"nothing": p.nn.ReLU()}),
    "frozen name": lambda p: p.nn.Linear(2, 2).freeze(keys="nothing", strict=True),
    "quantized width": lambda p: p.nn.Linear(2, 2).to_quantized(),
    "quantized input": lambda p: p.nn.Linear(64, 2).to_quantized(quantize_input=True),
    "quantized bias": lambda p: p.nn.Linear(64, 2).to_quantized(quantize_input=True, mode="nvfp4"),
    "what is not quantized": lambda p: p.nn.quantize(p.nn.Sequential(p.nn.ReLU()), class_predicate=lambda path, m: True),
    "targets": lambda p: p.nn.losses.cross_entropy(p.mx.zeros((3, 4)), p.mx.array([0, 1])),
    "smoothing": lambda p: p.nn.losses.cross_entropy(p.mx.zeros((3, 4)), p.mx.array([0, 1, 2]), label_smoothing=1.0),
    "reduction": lambda p: p.nn.losses.hinge_loss(p.mx.zeros(2), p.mx.zeros(2), reduction="x"),
    "fans": lambda p: p.nn.init.glorot_normal()(p.mx.zeros(3)),
    "fan": lambda p: p.nn.init.he_normal()(p.mx.zeros((3, 3)), mode="x"),
    "sharding": lambda p: p.nn.layers.distributed.shard_linear(p.nn.Linear(4, 4), "x"),
    "segments": lambda p: p.nn.AllToShardedLinear.from_linear(p.nn.Linear(4, 4), segments=3),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_what_mlx_raises(name):
    assert raised(OURS, BAD[name]) is raised(THEIRS, BAD[name])


def nested(package):
    """A module with parameters and modules in lists and dictionaries, and with what is neither."""
    nn, mx = package.nn, package.mx

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = mx.zeros(1)
            self.b = [1, mx.ones(1), nn.ReLU(), (nn.Linear(2, 2), "x", None)]
            self.c = {"d": nn.Sequential(nn.Linear(2, 2), nn.Tanh()), "_e": mx.zeros(1)}
            self._private = mx.zeros(2)
            self.text = "x"

    return Nested()


@pytest.mark.parametrize("what", ["parameters", "trainable_parameters", "children", "leaf_modules", "named_modules", "modules"])
def test_the_parts_of_a_module_are_those_of_mlx(what):
    trees = []
    for package in BOTH:
        module = nested(package)
        package.mx.random.seed(1)
        module.freeze(keys=["weight", "a"])
        found = getattr(module, what)()
        trees.append(package.utils.tree_map(
            lambda leaf: repr(leaf) if isinstance(leaf, dict) else str(getattr(leaf, "shape", leaf)),
            found, is_leaf=package.nn.Module.is_module,
        ))
    assert trees[0] == trees[1]


def test_attributes_move_between_the_tree_and_the_object():
    for package in BOTH:
        module = nested(package)
        module.text = package.mx.zeros(1)
        assert "text" in module and "text" not in vars(module)
        module.text = "again"
        assert "text" not in module and module.text == "again"
        del module.a
        assert "a" not in module
        with pytest.raises(AttributeError):
            del module.a


def test_freezing_by_name_reaches_every_depth_and_is_undone():
    for package in BOTH:
        model = package.nn.Sequential(package.nn.Linear(2, 2), package.nn.BatchNorm(2))
        names = lambda: [path for path, _ in package.utils.tree_flatten(model.trainable_parameters())]  # noqa: E731
        model.freeze(keys="bias")
        assert names() == ["layers.0.weight", "layers.1.weight"]
        model.unfreeze(keys=["bias"], strict=True)
        assert len(names()) == 4
        assert names() and model.freeze() and names() == []


def test_unfreezing_a_model_leaves_running_averages_frozen():
    model = OURS.nn.Sequential(OURS.nn.BatchNorm(2)).freeze().unfreeze()
    assert sorted(model.trainable_parameters()["layers"][0]) == ["bias", "weight"]


def test_set_dtype_casts_floats_alone():
    for package in BOTH:
        model = package.nn.Linear(2, 2)
        model.count = package.mx.array([1, 2])
        model.set_dtype(package.mx.float16)
        assert model.weight.dtype == package.mx.float16 and model.count.dtype == package.mx.int32


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
@pytest.mark.parametrize("writer,reader", [(0, 1), (1, 0), (0, 0)])
def test_weights_are_read_by_either_package(tmp_path, ending, writer, reader):
    make = lambda p: p.nn.Sequential(p.nn.Linear(3, 4), p.nn.BatchNorm(4), p.nn.GRU(4, 2))  # noqa: E731
    source, target = make(BOTH[writer]), make(BOTH[reader])
    file = str(tmp_path / f"w.{ending}")
    source.save_weights(file)
    assert target.load_weights(file) is target
    same(plain(BOTH[reader], target.parameters()), plain(BOTH[writer], source.parameters()), 0, 0)


def test_weights_that_are_not_strict_may_be_a_part():
    model = OURS.nn.Linear(2, 2)
    model.load_weights([("bias", OURS.mx.array([5.0, 6.0])), ("other", OURS.mx.zeros(1))], strict=False)
    assert model.bias.tolist() == [5.0, 6.0]


def test_quantize_replaces_the_layers_that_are_wanted():
    shapes = []
    for package in BOTH:
        model = package.nn.Sequential(package.nn.Embedding(4, 64), package.nn.Linear(64, 64), package.nn.Linear(64, 32))
        wanted = lambda path, m: {"bits": 8, "group_size": 32} if path == "layers.1" else path == "layers.0"  # noqa: E731
        package.nn.quantize(model, bits=4, class_predicate=wanted)
        shapes.append(repr(model))
    assert shapes[0] == shapes[1] and "QuantizedEmbedding" in shapes[0] and "bits=8" in shapes[0]


def test_qqlinear_packs_its_weights_for_evaluation():
    layer = OURS.nn.Linear(64, 8, bias=False)
    before = plain(OURS, layer.weight)
    packed = layer.to_quantized(mode="nvfp4", quantize_input=True)
    theirs = THEIRS.nn.Linear(64, 8, bias=False).to_quantized(mode="nvfp4", quantize_input=True)
    for model in (packed, theirs):
        model.eval()
    shapes = [{k: (v.shape, str(v.dtype).split(".")[-1]) for k, v in m.parameters().items()} for m in (packed, theirs)]
    assert shapes[0] == shapes[1] and repr(packed) == repr(theirs)
    assert packed(OURS.mx.array(drawn(3, 64))).shape == (3, 8)
    after = plain(OURS, packed.train().weight)
    # The steps of four bits are up to a third of the group's largest weight, which is at most one eighth.
    np.testing.assert_allclose(after, before, atol=0.125 / 3)


def test_a_gradient_leaves_the_parameters_in_place():
    model = OURS.nn.Linear(3, 1)
    before = model.weight
    x = OURS.mx.array(drawn(2, 3))
    value, found = OURS.nn.value_and_grad(model, lambda x, k=1: k * model(x).sum())(x, k=2)
    assert model.weight is before
    np.testing.assert_allclose(found["weight"].tolist(), [(2 * drawn(2, 3).sum(0)).tolist()], rtol=1e-5)
    assert value.item() == pytest.approx(2 * model(x).sum().item(), rel=1e-5)


def test_modules_are_copied_and_pickled():
    model = OURS.nn.Sequential(OURS.nn.Linear(3, 2), OURS.nn.ReLU())
    x = OURS.mx.array(drawn(2, 3))
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin is not model and twin.layers[0].weight is not model.layers[0].weight
        assert twin(x).tolist() == model(x).tolist()


def test_the_results_of_a_transposed_convolution_with_padded_output_are_those_of_mlx():
    # Only the results: mlx's gradient in the input has another shape than the input.
    pair = twins(lambda nn: nn.ConvTranspose1d(4, 3, 3, stride=2, output_padding=1))
    same(*(plain(p, [model(p.mx.array(SERIES))]) for p, model in zip(BOTH, pair)))


@pytest.mark.parametrize("part", ["", "losses", "init", "utils", "layers.distributed"])
def test_every_name_of_mlx_nn_is_there(part):
    ours, theirs = (operator.attrgetter(part)(p.nn) if part else p.nn for p in BOTH)
    home = "mlx.nn" if not part else theirs.__name__
    own = [n for n, v in vars(theirs).items() if str(getattr(v, "__module__", "")).startswith(home) and n[0] != "_"]
    assert own and [n for n in own if not hasattr(ours, n)] == []
