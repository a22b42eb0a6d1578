"""Derivatives as users hold them: what they all have, and those by numbers of the robot."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping
from typing import Any

from ..once import once
from .incompatible_changes import incompatible_changes, read_rate
from .parameter_derivatives import ChangeJacobian, ChangeJvp


class Wrapper:
    """A derivative: its recipe, and its compiled function, which takes arrays by name."""

    def __init__(self, recipe: Any, function: Any) -> None:
        self.recipe = recipe
        self.function = function

    def __getattr__(self, name: str) -> Any:
        if name in ("recipe", "function"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    def __repr__(self) -> str:
        return f"<fourbar derivative {self.recipe.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        make_again, *args = self.recipe.recall()
        return make_again, tuple(args)


class Change(Wrapper):
    """A derivative along numbers of the robot: their rates are arguments, "d_" before the name."""

    recipe: ChangeJvp

    def __init__(self, recipe: ChangeJvp, function: Any) -> None:
        super().__init__(recipe, function)
        self._incompatible = incompatible_changes(recipe.model, recipe.which)

    def __call__(self, **named: Any) -> Any:
        rates = {x.name: read_rate(x, named.get(f"d_{x.name}")) for x in self.recipe.which}
        for change in self._incompatible:
            change.check(rates)
        return self.function(**named)


class ByNumbers(Wrapper):
    """`f.jacobian.along(names)`: for every result a dictionary of blocks (..., *result, *number) by name."""

    recipe: ChangeJacobian

    def __call__(self, *args: Any, **named: Any) -> list[dict[str, Any]]:
        return self.recipe.cut(self.function(*args, **named))


def described(x: Any) -> str:
    """A value in an error message: arrays by their shape."""
    if hasattr(x, "shape"):
        return f"an array of shape {x.shape}"
    return f"a {type(x).__name__} of {len(x)}" if isinstance(x, list | tuple) else repr(x)


def read_names(what: str, parameters: Any) -> tuple[str, ...]:
    """Names of numbers of the robot."""
    if parameters is None:
        return ()
    listed = [parameters] if isinstance(parameters, str) else parameters
    if isinstance(listed, Mapping) or not isinstance(listed, Iterable) or not all(isinstance(x, str) for x in listed):
        raise TypeError(f"{what}: parameters are names here, such as ['arm.mass', 'gear.ratio'], got {parameters!r}")
    names = tuple(listed)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TypeError(f"{what}: parameter {twice[0]!r} is named twice")
    return names


@once
def named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """A class of named tuples; these can be pickled, though the class has no place in a module."""
    made: Any = namedtuple(name, fields)
    made.__reduce__ = lambda self: (named_tuple_again, (name, fields, tuple(self)))
    return made


def named_tuple_again(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """A named tuple as it travels to other processes."""
    return named_tuple(name, fields)(*values)
