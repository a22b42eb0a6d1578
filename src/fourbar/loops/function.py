"""Loops written by the user as plain Python functions of joint coordinates."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..spatial.linear import Scalar
from .base import Loop, View


@dataclass(frozen=True)
class Constraint(Loop):
    """φ(q) = 0: `function` takes the coordinates of the named joints, one argument each (a number, or a sequence for
    joints with several), and returns the residual, one number or several. Use fourbar's or NumPy's sin, cos, sqrt."""

    function: Callable[..., Any]
    of: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], of: Sequence[str]) -> None:
        if not (callable(function) and isinstance(function, Hashable)):
            raise ModelError(f"a constraint needs a hashable function of joint coordinates, got {function!r}")
        if isinstance(of, str) or not of:
            raise ModelError(f"a constraint needs a list of joints, such as ['left', 'right'], got {of!r}")
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "of", tuple(of))

    @property
    def joints(self) -> tuple[str, ...]:
        return self.of

    def residual(self, view: View) -> Sequence[Scalar]:
        coordinates = [view.q(name) for name in self.of]
        result = self.function(*(q[0] if len(q) == 1 else q for q in coordinates))
        rows = tuple(result) if hasattr(result, "__iter__") else (result,)
        if not rows or any(x is None for x in rows):
            names = ", ".join(map(repr, self.of))
            raise ModelError(f"constraint of {names}: the function returned {result!r}, not a residual")
        return rows
