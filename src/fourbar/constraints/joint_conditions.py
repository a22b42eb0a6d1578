"""Conditions on joint velocities: prescribed ones, and rows written by the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..spatial.linear import Scalar, dot, vec
from .condition import Condition, MovingView, is_entry
from .function_loops import call_function, check_function
from .loop import read_names


@dataclass(frozen=True)
class Prescribed(Condition):
    """Joints that move as prescribed.

    Parameters
    ----------
    of : sequence of str
        The joints: one row per velocity; the forces are those of their drives.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.constraints.Prescribed(["hip", "knee"]).joints
    ('hip', 'knee')
    """

    of: tuple[str, ...]

    def __init__(self, of: Sequence[str]) -> None:
        object.__setattr__(self, "of", read_names("prescribed motion", of))

    @property
    def joints(self) -> tuple[str, ...]:
        return self.of

    def rates(self, view: MovingView) -> Sequence[Scalar]:
        return [x for joint in self.of for x in view.v(joint)]


@dataclass(frozen=True)
class Rows(Condition):
    """Rows A(q) v = 0 over the velocities of joints, as a Python function.

    They need not come from a condition on positions: a wheel that rolls, a blade that does not slip sideways.

    Parameters
    ----------
    function : callable
        Takes the coordinates of the joints, one argument each (a number, or a sequence for joints with several), and
        returns rows over the velocities of these joints (one row, or a list of rows). Use sin, cos, sqrt of fourbar or
        NumPy.
    of : sequence of str
        The joints.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.constraints.Rows(lambda left, right: [1.0, -1.0], ["left", "right"]).joints
    ('left', 'right')
    """

    function: Callable[..., Any]
    of: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], of: Sequence[str]) -> None:
        object.__setattr__(self, "of", read_names("rows", of))
        object.__setattr__(self, "function", function)
        check_function("rows", function, len(self.of))

    @property
    def joints(self) -> tuple[str, ...]:
        return self.of

    def rates(self, view: MovingView) -> Sequence[Scalar]:
        v = [x for joint in self.of for x in view.v(joint)]
        result = call_function(self.function, view, self.of)
        rows = self._read(result)
        names = ", ".join(map(repr, self.of))
        for row in rows:
            if len(row) != len(v):
                raise ModelError(f"rows over {names} have {len(v)} entries each, the function returned {result!r}")
            if not all(map(is_entry, row)):
                raise ModelError(f"rows over {names} are made of finite numbers, the function returned {result!r}")
        return [dot(vec(row), v) for row in rows]

    def _read(self, result: Any) -> list[list[Any]]:
        rows = list(result) if isinstance(result, Iterable) and not isinstance(result, Mapping) else []
        if rows and not any(isinstance(row, Iterable) for row in rows):
            rows = [rows]
        if not rows or not all(isinstance(row, Iterable) for row in rows):
            raise ModelError(f"the function must return rows of numbers, such as [[1.0, -2.0]], got {result!r}")
        return [list(row) for row in rows]
