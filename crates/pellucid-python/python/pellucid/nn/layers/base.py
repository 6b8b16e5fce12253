"""`Module`, from which every layer and model derives.

A module is a dictionary of its arrays, modules and containers of them; whatever else is set on it is an ordinary
attribute. That makes a model a tree, and its parameters have paths such as ``layers.0.weight``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from pellucid import core as mx
from pellucid.utils import tree_flatten, tree_unflatten

Filter = Callable[["Module", str, Any], bool]


def _is_floating(dtype: mx.Dtype) -> bool:
    return mx.issubdtype(dtype, mx.floating)


class Module(dict):
    """A layer or a model: set arrays and other modules on it in ``__init__`` and compute with them in ``__call__``.

    >>> import pellucid.core as mx
    >>> import pellucid.nn as nn
    >>> class Scale(nn.Module):
    ...     def __init__(self, dims):
    ...         super().__init__()
    ...         self.weight = mx.ones((dims,))
    ...     def __call__(self, x):
    ...         return self.weight * x
    >>> Scale(3)(mx.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """

    __call__: Callable[..., Any]

    def __init__(self) -> None:
        self._no_grad: set[str] = set()
        self._training = True

    @property
    def training(self) -> bool:
        """Whether the module is in training mode, as after :meth:`train`, or in that of evaluation."""
        return self._training

    @property
    def state(self) -> Module:
        """The module as the tree of everything in it, for ``inputs`` and ``outputs`` of ``mx.compile``."""
        return self

    def _extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        children = tree_flatten(self.children(), is_leaf=self.is_module)
        lines = [textwrap.indent(f"({path}): {child!r}", "  ") for path, child in children]
        inner = "".join("\n" + line for line in lines) + ("\n" if lines else "")
        return f"{type(self).__name__}({self._extra_repr()}{inner})"

    def __getattr__(self, key: str) -> Any:
        # Called when there is no such attribute: the name may be that of an array or a module.
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}") from None

    def __setattr__(self, key: str, val: Any) -> None:
        if isinstance(val, (mx.array, dict, list, tuple)):
            self.__dict__.pop(key, None)
            self[key] = val
        else:
            super().__setattr__(key, val)
            self.pop(key, None)

    def __delattr__(self, name: str) -> None:
        if name in self:
            del self[name]
        else:
            super().__delattr__(name)

    # Weights

    def load_weights(self, file_or_weights: str | list[tuple[str, mx.array]], strict: bool = True) -> Module:
        """Takes the parameters from a ``.npz`` or ``.safetensors`` file, or from pairs of path and array.

        With ``strict`` they must be those of the module, each with its shape, or a ValueError says what differs.
        """
        weights = file_or_weights
        if not isinstance(weights, (list, tuple)):
            weights = list(mx.load(weights).items())
        if strict:
            self._check_weights(dict(weights))
        if weights:
            self.update(tree_unflatten(list(weights)), strict=False)
        return self

    def _check_weights(self, given: dict[str, Any]) -> None:
        own = tree_flatten(self.parameters(), destination={})
        if extra := sorted(given.keys() - own.keys()):
            raise ValueError(f"[load_weights] {len(extra)} parameters are not in the model:\n" + ",\n".join(extra) + ".")
        if missing := sorted(own.keys() - given.keys()):
            raise ValueError(f"[load_weights] Missing {len(missing)} parameters:\n" + ",\n".join(missing) + ".")
        for path, value in own.items():
            new = given[path]
            if not isinstance(new, mx.array):
                raise ValueError(f"[load_weights] Expected an array for parameter {path}, not {type(new).__name__}.")
            if new.shape != value.shape:
                raise ValueError(f"[load_weights] Expected shape {value.shape} for parameter {path}, but got {new.shape}.")

    def save_weights(self, file: str) -> None:
        """Writes the parameters to a file, whose name ends in ``.npz`` or ``.safetensors``."""
        weights = tree_flatten(self.parameters(), destination={})
        if str(file).endswith(".npz"):
            mx.savez(file, **weights)
        elif str(file).endswith(".safetensors"):
            mx.save_safetensors(file, weights)
        else:
            raise ValueError(f"[save_weights] The name must end in .npz or .safetensors, but {file} does not.")

    # The parts of the tree

    @staticmethod
    def is_module(value: Any) -> bool:
        """Whether the value is a module."""
        return isinstance(value, Module)

    @staticmethod
    def valid_child_filter(module: Module, key: str, value: Any) -> bool:
        """Accepts what may hold modules, for :meth:`filter_and_map`."""
        return isinstance(value, (dict, list))

    @staticmethod
    def valid_parameter_filter(module: Module, key: str, value: Any) -> bool:
        """Accepts what is or may hold a parameter: names that begin with an underscore are private."""
        return isinstance(value, (dict, list, mx.array)) and not key.startswith("_")

    @staticmethod
    def trainable_parameter_filter(module: Module, key: str, value: Any) -> bool:
        """Accepts parameters that are not frozen."""
        return Module.valid_parameter_filter(module, key, value) and key not in module._no_grad

    def filter_and_map(
        self, filter_fn: Filter, map_fn: Callable[[Any], Any] | None = None, is_leaf_fn: Filter | None = None
    ) -> dict[str, Any]:
        """The module as plain dictionaries and lists, with what ``filter_fn`` accepts and leaves as ``map_fn`` makes them.

        Both filters get the module, the name in it and the value. What is refused inside of a container leaves an empty
        dictionary, so that positions stay; ``is_leaf_fn`` says what is not entered, otherwise only arrays are not.
        """
        leaf = is_leaf_fn or (lambda module, key, value: not isinstance(value, (dict, list)))

        def mapped(module: Module, key: str, value: Any) -> Any:
            if leaf(module, key, value):
                return value if map_fn is None else map_fn(value)
            if isinstance(value, Module):
                return {k: mapped(value, k, v) for k, v in value.items() if filter_fn(value, k, v)}
            if isinstance(value, dict):
                return {k: inside(module, f"{key}.{k}", v) for k, v in value.items()}
            if isinstance(value, list):
                return [inside(module, f"{key}.{i}", v) for i, v in enumerate(value)]
            raise RuntimeError(f"[filter_and_map] {key} is a {type(value).__name__}, which is neither a leaf nor a container.")

        def inside(module: Module, key: str, value: Any) -> Any:
            return mapped(module, key, value) if filter_fn(module, key, value) else {}

        return {k: mapped(self, k, v) for k, v in self.items() if filter_fn(self, k, v)}

    def parameters(self) -> dict[str, Any]:
        """The arrays of the module and of those in it."""
        return self.filter_and_map(self.valid_parameter_filter)

    def trainable_parameters(self) -> dict[str, Any]:
        """The arrays that are not frozen."""
        return self.filter_and_map(self.trainable_parameter_filter)

    def children(self) -> dict[str, Any]:
        """The modules that are directly in this one."""
        return self.filter_and_map(self.valid_child_filter, is_leaf_fn=lambda m, k, v: isinstance(v, Module))

    def leaf_modules(self) -> dict[str, Any]:
        """The modules in this one, at any depth, that have no modules themselves."""
        def is_leaf(module: Module, key: str, value: Any) -> bool:
            return isinstance(value, Module) and not tree_flatten(value.children(), is_leaf=self.is_module)

        return self.filter_and_map(self.valid_child_filter, is_leaf_fn=is_leaf)

    def modules(self) -> list[Module]:
        """This module and all modules in it, at any depth."""
        return [module for _, module in self.named_modules()]

    def named_modules(self) -> list[tuple[str, Module]]:
        """As :meth:`modules`, with their paths; that of this one is empty."""
        found, waiting = [], [("", self)]
        while waiting:
            path, module = waiting.pop()
            found.append((path, module))
            waiting += tree_flatten(module.children(), prefix=f".{path}" if path else "", is_leaf=self.is_module)
        return found

    # Changes

    def update(self, parameters: dict[str, Any], strict: bool = True) -> Module:  # type: ignore[override]
        """Replaces the arrays whose paths are in ``parameters``, which may be a part of the tree.

        With ``strict``, a name that the module does not have and a value that is no array are ValueErrors.
        """
        def replace(place: Any, key: Any, new: Any) -> None:
            if isinstance(place[key], mx.array):
                if strict and not isinstance(new, mx.array):
                    raise _invalid(new)
                place[key] = new
            else:
                _each_entry(place[key], new, strict, "parameter", replace)

        _each_entry(self, parameters, strict, "parameter", replace)
        return self

    def update_modules(self, modules: dict[str, Any], strict: bool = True) -> Module:
        """Replaces the modules whose paths are in ``modules``, as :meth:`update` does with arrays."""
        def replace(place: Any, key: Any, new: Any) -> None:
            if isinstance(place[key], Module) and isinstance(new, Module):
                place[key] = new
            elif isinstance(place[key], (dict, list)):
                _each_entry(place[key], new, strict, "sub-module", replace)
            elif strict and new != {}:
                raise _invalid(new)

        _each_entry(self, modules, strict, "sub-module", replace)
        return self

    def apply(self, map_fn: Callable[[mx.array], mx.array], filter_fn: Filter | None = None) -> Module:
        """Replaces each parameter, or what ``filter_fn`` accepts, by ``map_fn`` of it."""
        self.update(self.filter_and_map(filter_fn or self.valid_parameter_filter, map_fn))
        return self

    def apply_to_modules(self, apply_fn: Callable[[str, Module], Any]) -> Module:
        """Calls ``apply_fn`` with the path and the module, for this one and all in it."""
        for path, module in self.named_modules():
            apply_fn(path, module)
        return self

    def set_dtype(self, dtype: mx.Dtype, predicate: Callable[[mx.Dtype], bool] | None = _is_floating) -> None:
        """Casts the parameters whose type ``predicate`` accepts; without one, all of them."""
        self.apply(lambda x: x.astype(dtype) if predicate is None or predicate(x.dtype) else x)

    # Freezing and modes

    def _validate_keys(self, keys: str | list[str], strict: bool, recurse: bool = False) -> list[str]:
        keys = [keys] if isinstance(keys, str) else list(keys)
        if strict:
            modules = self.modules() if recurse else [self]
            for key in keys:
                if not any(key in module for module in modules):
                    raise KeyError(f"[{type(self).__name__}] There is no member {key}.")
        return keys

    def freeze(self, *, recurse: bool = True, keys: str | list[str] | None = None, strict: bool = False) -> Module:
        """Takes parameters out of :meth:`trainable_parameters`: all, or those whose names are in ``keys``.

        Without ``recurse`` only those of this module itself. With ``strict``, an unknown name is a KeyError.
        """
        def local(module: Module, key: str, value: Any) -> bool:
            return not isinstance(value, Module) and Module.valid_parameter_filter(module, key, value)

        names = None if keys is None else self._validate_keys(keys, strict, recurse)
        for module in self.modules() if recurse else [self]:
            frozen = names if names is not None else tree_flatten(module.filter_and_map(local), destination={})
            module._no_grad.update(frozen)
        return self

    def unfreeze(self, *, recurse: bool = True, keys: str | list[str] | None = None, strict: bool = False) -> Module:
        """Undoes :meth:`freeze`, with the same arguments; what was not frozen stays as it is."""
        names = None if keys is None else self._validate_keys(keys, strict, recurse)
        for module in self.modules() if recurse else [self]:
            if module is not self and type(module).unfreeze is not Module.unfreeze:
                module.unfreeze(recurse=False, keys=names)
            elif names is None:
                module._no_grad.clear()
            else:
                module._no_grad.difference_update(names)
        return self

    def _set_training_mode(self, mode: bool) -> None:
        self._training = mode

    def train(self, mode: bool = True) -> Module:
        """Puts the module and all in it into training mode, or that of evaluation: dropout and batch norm differ."""
        return self.apply_to_modules(lambda path, module: module._set_training_mode(mode))

    def eval(self) -> Module:
        """Puts the module and all in it into the mode of evaluation."""
        return self.train(False)


def _invalid(value: Any) -> ValueError:
    return ValueError(f"[Module] Received invalid type: {type(value).__name__}.")


def _each_entry(place: Any, given: Any, strict: bool, what: str, replace: Callable[[Any, Any, Any], None]) -> None:
    """Calls ``replace`` for each entry of ``given`` that ``place``, the tree that is changed, has as well."""
    if isinstance(given, dict):
        for key, new in given.items():
            if isinstance(place, dict) and key in place:
                replace(place, key, new)
            elif strict:
                raise ValueError(f'[Module] There is no {what} named "{key}".')
    elif isinstance(given, list):
        if strict and not isinstance(place, list):
            raise _invalid(given)
        for i, new in enumerate(given):
            if isinstance(place, list) and i < len(place):
                replace(place, i, new)
            elif strict:
                raise ValueError(f"[Module] Index {i} is out of bounds for a list of {len(place)}.")
    elif strict:
        raise _invalid(given)
