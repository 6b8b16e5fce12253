"""What optimizers share: their state, schedules of their settings, and several of them for parts of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pellucid import core as mx
from pellucid.utils import tree_flatten, tree_map, tree_merge, tree_unflatten

if TYPE_CHECKING:
    from pellucid.nn import Module

Schedule = Callable[[mx.array], mx.array]


class Optimizer:
    """Changes parameters by their gradients. One of your own defines :meth:`init_single` and :meth:`apply_single`.

    ``schedulers`` are functions of the step for settings of that name, such as ``learning_rate``.
    """

    def __init__(self, schedulers: dict[str, Schedule] | None = None) -> None:
        self._initialized = False
        self._state: dict[str, Any] = {"step": mx.array(0, mx.uint64)}
        self._schedulers = dict(schedulers or {})

    def update(self, model: Module, gradients: dict[str, Any]) -> None:
        """Changes the model's parameters by the gradients, which may be of a part of them."""
        model.update(self.apply_gradients(gradients, model))

    def init(self, parameters: dict[str, Any]) -> None:
        """Makes the state for the parameters. It happens by itself; ahead of it, the state can be compiled or loaded."""
        self._fill(parameters, self._state)
        self._initialized = True

    def _fill(self, tree: Any, state: Any) -> Any:
        """Adds to the state, in the shape of the tree, what it lacks."""
        if isinstance(tree, mx.array):
            if not state:
                self.init_single(tree, state)
        elif isinstance(tree, dict):
            for key, child in tree.items():
                state[key] = self._fill(child, state.get(key) or self._empty(child))
        elif isinstance(tree, (list, tuple)):
            old = list(state)
            old += [self._empty(child) for child in tree[len(old) :]]
            filled = [self._fill(child, s) for child, s in zip(tree, old)]
            return filled if isinstance(tree, list) else tuple(filled)
        return state

    @staticmethod
    def _empty(tree: Any) -> Any:
        return [] if isinstance(tree, (list, tuple)) else {}

    def init_single(self, parameter: mx.array, state: dict[str, Any]) -> None:
        """Puts into ``state`` what the optimizer keeps for one parameter."""
        raise NotImplementedError(f"[{type(self).__name__}] init_single is not defined.")

    def apply_gradients(self, gradients: dict[str, Any], parameters: dict[str, Any]) -> Any:
        """The new parameters, as a tree like that of the gradients."""
        if not self._initialized:
            self.init(gradients)
        for name, schedule in self._schedulers.items():
            self.state[name] = _as_array(schedule(self.step))
        self.state["step"] = self.step + 1
        return tree_map(self.apply_single, gradients, parameters, self.state)

    def apply_single(self, gradient: mx.array, parameter: mx.array, state: dict[str, Any]) -> mx.array:
        """The new value of one parameter."""
        raise NotImplementedError(f"[{type(self).__name__}] apply_single is not defined.")

    @property
    def state(self) -> dict[str, Any]:
        """Everything that changes from step to step, as a tree: for files and for ``mx.compile``."""
        return self._state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._initialized = False
        self._state = state

    @property
    def step(self) -> mx.array:
        """How many updates there were."""
        return self.state["step"]

    @property
    def learning_rate(self) -> mx.array:
        """The factor of the updates; setting it changes it until a schedule sets it again."""
        return self.state["learning_rate"]

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        self.state["learning_rate"] = mx.array(learning_rate)

    def _maybe_schedule(self, name: str, param: float | Schedule) -> None:
        if callable(param):
            self._schedulers[name] = param
            param = param(self.step)
        self.state[name] = _as_array(param)


def _as_array(value: Any) -> mx.array:
    return value if isinstance(value, mx.array) else mx.array(value)


class MultiOptimizer(Optimizer):
    """Several optimizers, each for the parameters that its filter, a function of path and gradient, is first to accept.

    The last one, which takes what is left, has no filter.
    """

    def __init__(self, optimizers: list[Optimizer], filters: list[Callable[[str, mx.array], bool]] = []) -> None:
        super().__init__({})
        self._state = {}
        if len(filters) != len(optimizers) - 1:
            raise ValueError(f"[MultiOptimizer] {len(optimizers)} optimizers need {len(optimizers) - 1} filters, not {len(filters)}.")
        self.optimizers = list(optimizers)
        self.filters = [*filters, lambda path, gradient: True]

    def _split_dictionary(self, gradients: dict[str, Any]) -> list[Any]:
        if len(self.optimizers) == 1:
            return [gradients]
        parts: list[list[tuple[str, Any]]] = [[] for _ in self.optimizers]
        for path, gradient in tree_flatten(gradients):
            chosen = next(i for i, accepts in enumerate(self.filters) if accepts(path, gradient))
            parts[chosen].append((path, gradient))
        return [tree_unflatten(part) if part else {} for part in parts]

    def init(self, parameters: dict[str, Any]) -> None:
        """Makes the state of each optimizer for its part of the parameters."""
        for optimizer, part in zip(self.optimizers, self._split_dictionary(parameters)):
            optimizer.init(part)

    def apply_gradients(self, gradients: dict[str, Any], parameters: dict[str, Any]) -> Any:
        """The new parameters, as a tree like that of the gradients."""
        updated: Any = {}
        for optimizer, part in zip(self.optimizers, self._split_dictionary(gradients)):
            updated = tree_merge(updated, optimizer.apply_gradients(part, parameters))
        return updated

    @property
    def state(self) -> dict[str, Any]:
        """The states of the optimizers, as a list named ``states``."""
        return {"states": [optimizer.state for optimizer in self.optimizers]}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        if "states" not in state or len(state["states"]) != len(self.optimizers):
            raise ValueError(f"[MultiOptimizer] The state must have a list 'states' of {len(self.optimizers)} states.")
        for optimizer, part in zip(self.optimizers, state["states"]):
            optimizer.state = part

    @property
    def learning_rate(self) -> mx.array:
        """That of the first optimizer; setting it sets that of all."""
        return self.optimizers[0].learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: float | mx.array) -> None:
        for optimizer in self.optimizers:
            optimizer.learning_rate = learning_rate
