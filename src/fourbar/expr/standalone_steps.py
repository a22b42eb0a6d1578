"""Standalone steps: written once in a program and called from everywhere, in every layout.

Such a step loads each of its numbers, constants too, through a separate port, so that its code depends only on the
structure of its arguments. It suits steps that occur hundreds of times, such as tiles of a product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .node import Value

Step = TypeVar("Step", bound=Callable[..., Any])
_CONSTANT = "constant of the program"  # no argument has such a name
_APART: set[Callable[..., Any]] = set()


def standalone(step: Step) -> Step:
    """Mark a step as standalone."""
    _APART.add(step)
    return step


def is_standalone(step: Callable[..., Any]) -> bool:
    """Whether a step was marked."""
    return step in _APART


class Constants:
    """Constants that lie in slots, because a standalone step reads them there."""

    def __init__(self) -> None:
        self._values: dict[float, Value] = {}

    def place_constants(self, leaves: Sequence[Any]) -> list[Any]:
        """Leaves with values instead of constants."""
        return [leaf if leaf.__class__ is Value else self._value(float(leaf)) for leaf in leaves]

    def _value(self, number: float) -> Value:
        if number not in self._values:
            self._values[number] = Value(argument=_CONSTANT)
        return self._values[number]

    def place(self, first: int) -> tuple[tuple[int, float], ...]:
        """Give them slots from `first` on: (slot, constant) each."""
        for slot, value in enumerate(self._values.values(), first):
            value.slot = slot
        return tuple((value.slot, number) for number, value in self._values.items())
