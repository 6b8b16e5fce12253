"""`pellucid.optimizers` beside `mlx.optimizers`: ten steps of each, schedules, states and errors."""

import numpy as np
import pytest

pytest.importorskip("mlx.optimizers")

from side_by_side import BOTH, OURS, THEIRS, drawn, moved, plain, raised, same  # noqa: E402

OPTIMIZERS = {
    "SGD": lambda o: o.SGD(0.1),
    "SGD with momentum": lambda o: o.SGD(0.1, momentum=0.9, weight_decay=0.01),
    "SGD dampened": lambda o: o.SGD(0.1, momentum=0.9, dampening=0.3),
    "SGD of Nesterov": lambda o: o.SGD(0.1, momentum=0.9, nesterov=True),
    "RMSprop": lambda o: o.RMSprop(0.01),
    "Adagrad": lambda o: o.Adagrad(0.1),
    "AdaDelta": lambda o: o.AdaDelta(0.5),
    "Adam": lambda o: o.Adam(0.01),
    "Adam corrected": lambda o: o.Adam(0.01, betas=[0.8, 0.95], bias_correction=True),
    "AdamW": lambda o: o.AdamW(0.01, weight_decay=0.1),
    "AdamW corrected": lambda o: o.AdamW(0.01, weight_decay=0.1, bias_correction=True),
    "Adamax": lambda o: o.Adamax(0.01),
    "Lion": lambda o: o.Lion(0.01, weight_decay=0.1),
    "Adafactor": lambda o: o.Adafactor(),
    "Adafactor with all": lambda o: o.Adafactor(beta_1=0.9, weight_decay=0.1, warmup_init=True),
    "Adafactor with a rate": lambda o: o.Adafactor(learning_rate=0.01, relative_step=False, scale_parameter=False),
    "Muon": lambda o: o.Muon(0.02),
    "Muon plain": lambda o: o.Muon(0.02, weight_decay=0.0, nesterov=False, ns_steps=3),
    "scheduled": lambda o: o.Adam(o.join_schedules([o.linear_schedule(0, 0.1, 4), o.cosine_decay(0.1, 6)], [4])),
    "several": lambda o: o.MultiOptimizer(
        [o.Muon(0.02), o.SGD(0.1, momentum=0.9), o.Adam(o.exponential_decay(0.1, 0.9))],
        [lambda path, g: g.ndim > 1, lambda path, g: path.endswith("b")],
    ),
}
PARAMETERS = {"layers": [{"w": drawn(4, 6), "b": drawn(4, seed=1)}, {"w": drawn(3, 4, seed=2), "b": drawn(3, seed=3)}, {}],
              "kernel": drawn(4, 2, 2, 3, seed=4), "scale": drawn(5, seed=5)}


def steps(package, make, dtype="float32"):
    """Ten steps by gradients that change with the parameters, and the state after them."""
    mx, optimizer = package.mx, make(package.optimizers)
    cast = lambda x: x.astype(getattr(mx, dtype))  # noqa: E731
    parameters = package.utils.tree_map(cast, moved(package, PARAMETERS))
    for step in range(10):
        gradients = package.utils.tree_map(lambda p: (p * 0.5 + mx.cos(p * (step + 1))).astype(p.dtype), parameters)
        parameters = optimizer.apply_gradients(gradients, parameters)
        mx.eval(parameters, optimizer.state)
    wide = lambda x: x.astype(mx.float32) if x.dtype == mx.bfloat16 else x  # noqa: E731
    return plain(package, package.utils.tree_map(wide, parameters)), plain(package, package.utils.tree_map(wide, optimizer.state))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_ten_steps_give_the_parameters_and_the_state_of_mlx(name):
    ours, theirs = (steps(package, OPTIMIZERS[name]) for package in BOTH)
    for what, *trees in (("parameters", ours[0], theirs[0]), ("state", ours[1], theirs[1])):
        # The order of the keys in a dictionary has no meaning.
        same(*(dict(sorted(OURS.utils.tree_flatten(tree))) for tree in trees), 2e-4, 2e-5, what)


@pytest.mark.parametrize("name", ["SGD with momentum", "Adam", "AdamW corrected", "Lion", "RMSprop", "Adafactor"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_steps_stay_in_the_type_of_the_parameters(name, dtype):
    ours, theirs = (steps(package, OPTIMIZERS[name], dtype) for package in BOTH)
    tolerance = 0.02 if dtype == "float16" else 0.1
    same(ours[0], theirs[0], tolerance, tolerance, "parameters")


SCHEDULES = {
    "exponential_decay": lambda o: o.exponential_decay(0.1, 0.9),
    "step_decay": lambda o: o.step_decay(0.1, 0.5, 4),
    "cosine_decay": lambda o: o.cosine_decay(0.1, 10, 0.01),
    "linear_schedule": lambda o: o.linear_schedule(0.0, 0.1, 7),
    "join_schedules": lambda o: o.join_schedules(
        [o.linear_schedule(0.0, 0.1, 5), o.cosine_decay(0.1, 5), o.exponential_decay(0.3, 0.5)], [5, 12]
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_gives_the_numbers_of_mlx(name):
    for make_step in (lambda p, i: p.mx.array(i, p.mx.uint64), lambda p, i: i):
        found = [[float(SCHEDULES[name](p.optimizers)(make_step(p, i))) for i in range(20)] for p in BOTH]
        np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-8)


def test_a_schedule_sets_the_rate_before_each_step():
    for package in BOTH:
        optimizer = package.optimizers.SGD(package.optimizers.linear_schedule(1.0, 0.0, 10))
        rates = []
        for _ in range(3):
            optimizer.apply_gradients({"a": package.mx.ones(1)}, {"a": package.mx.ones(1)})
            rates.append(round(float(optimizer.learning_rate), 5))
        assert rates == [1.0, 0.9, 0.8] and int(optimizer.step) == 3


def test_clipping_scales_to_the_norm():
    tree = {"a": drawn(3, 4), "b": [drawn(5, seed=2)]}
    for limit in (0.5, 100.0):
        found = [package.optimizers.clip_grad_norm(moved(package, tree), limit) for package in BOTH]
        same(*(plain(package, list(f)) for package, f in zip(BOTH, found)))


def test_an_update_changes_the_model_and_leaves_what_has_no_gradient():
    nn, mx = OURS.nn, OURS.mx
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model.layers[0].freeze()
    kept, old = model.layers[0].weight.tolist(), model.layers[1].weight.tolist()
    loss, grads = nn.value_and_grad(model, lambda x: model(x).square().sum())(mx.ones((1, 2)))
    OURS.optimizers.SGD(0.1).update(model, grads)
    assert model.layers[0].weight.tolist() == kept and model.layers[1].weight.tolist() != old


def test_a_state_that_was_saved_goes_on_where_it_was(tmp_path):
    mx, tree = OURS.mx, moved(OURS, {"w": drawn(3, 3), "b": drawn(3)})
    first = OURS.optimizers.Adam(0.1)
    step = lambda o, p: o.apply_gradients(OURS.utils.tree_map(mx.sin, p), p)  # noqa: E731
    middle = step(first, tree)
    mx.save_safetensors(str(tmp_path / "o.safetensors"), OURS.utils.tree_flatten(first.state, destination={}))
    second = OURS.optimizers.Adam(0.5)
    second.state = OURS.utils.tree_unflatten(mx.load(str(tmp_path / "o.safetensors")))
    a, b = step(first, middle), step(second, middle)
    same(plain(OURS, a), plain(OURS, b), 0, 0)


def test_a_compiled_step_gives_what_an_ordinary_one_gives():
    mx, nn = OURS.mx, OURS.nn
    x, y = mx.array(drawn(8, 3)), mx.array(drawn(8, 1, seed=4))

    def losses(compiled):
        mx.random.seed(4)
        model, optimizer = nn.Linear(3, 1), OURS.optimizers.Adam(0.05)
        value_and_grad = nn.value_and_grad(model, lambda x, y: nn.losses.mse_loss(model(x), y))
        state = [model.state, optimizer.state]

        def step(x, y):
            loss, grads = value_and_grad(x, y)
            optimizer.update(model, grads)
            return loss

        run = mx.compile(step, inputs=state, outputs=state) if compiled else step
        found = []
        for _ in range(5):
            found.append(run(x, y).item())
            mx.eval(state)
        return found

    ordinary = losses(False)
    np.testing.assert_allclose(losses(True), ordinary, rtol=1e-5)
    assert ordinary[-1] < ordinary[0]


BAD = {
    "nesterov": lambda p: p.optimizers.SGD(0.1, nesterov=True),
    "alpha": lambda p: p.optimizers.RMSprop(0.1, alpha=-1),
    "eps": lambda p: p.optimizers.Adagrad(0.1, eps=-1),
    "rho": lambda p: p.optimizers.AdaDelta(0.1, rho=-1),
    "beta": lambda p: p.optimizers.Adam(0.1, betas=[0.9, 2]),
    "filters": lambda p: p.optimizers.MultiOptimizer([p.optimizers.SGD(0.1)], [lambda path, g: True]),
    "state of several": lambda p: setattr(p.optimizers.MultiOptimizer([p.optimizers.SGD(0.1)]), "state", {"x": 1}),
    "boundaries": lambda p: p.optimizers.join_schedules([abs, abs], []),
    "no schedules": lambda p: p.optimizers.join_schedules([], []),
    "steps": lambda p: p.optimizers.linear_schedule(0, 1, 0),
    "no rate": lambda p: p.optimizers.Optimizer().learning_rate,
    "abstract": lambda p: p.optimizers.Optimizer().apply_gradients({"a": p.mx.zeros(1)}, {"a": p.mx.zeros(1)}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_what_mlx_raises(name):
    assert raised(OURS, BAD[name]) is raised(THEIRS, BAD[name])


def test_every_name_of_mlx_optimizers_is_there():
    own = [n for n, v in vars(THEIRS.optimizers).items() if str(getattr(v, "__module__", "")).startswith("mlx.optimizers")]
    assert own and [n for n in own if not hasattr(OURS.optimizers, n)] == []
