"""Axes: what a user may write, and the rotation that takes z to one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..spatial.linear import Mat, Vec

_NAMED = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
Axis = str | Sequence[float]


class Direction(tuple[float, float, float]):
    """A checked unit vector. The coordinate axes print as the words that make them."""

    __slots__ = ()

    def __repr__(self) -> str:
        for name, unit in _NAMED.items():
            if self == unit:
                return repr(name)
            if self == tuple(-a for a in unit):
                return repr(f"-{name}")
        return tuple.__repr__(self)


def unit_axis(axis: Axis) -> Direction:
    """A unit vector from "x", "-y", ... or three numbers of unit length."""
    if isinstance(axis, Direction):
        return axis
    if isinstance(axis, str):
        sign, name = (-1.0, axis[1:]) if axis.startswith("-") else (1.0, axis.removeprefix("+"))
        if name not in _NAMED:
            raise ModelError(f"unknown axis {axis!r}; write 'x', 'y', 'z', '-x', ... or three numbers")
        return Direction(sign * a + 0.0 for a in _NAMED[name])
    try:
        a = np.asarray(axis, float)
    except (TypeError, ValueError, OverflowError):
        a = np.array(np.nan)
    if a.shape != (3,) or not np.all(np.isfinite(a)):
        raise ModelError(f"an axis must be 'x', 'y', 'z', '-x', ... or three finite numbers, got {axis!r}")
    length = float(np.sqrt(a @ a))
    if not abs(length - 1.0) <= 1e-6:
        hint = "it is zero" if length == 0.0 else f"divide it by its length: {(a / length).tolist()}"
        raise ModelError(f"axis {tuple(a.tolist())} has length {length:.9g}, expected a unit vector; {hint}")
    return Direction((a / length + 0.0).tolist())


def rotation_from_z(axis: Axis) -> Mat | None:
    """A rotation A with A e_z = axis; None for z itself. Exact (0, ±1) for the coordinate axes.

    Columns one and two are the axes of a plane normal to `axis`: y and z for x, z and x for y.
    """
    z = Vec(unit_axis(axis))
    if z == (0.0, 0.0, 1.0):
        return None
    size = [abs(a) for a in z]
    if max(size) == 1.0:
        k = size.index(1.0)
        e_x = Vec([1.0 if i == (k + 1) % 3 else 0.0 for i in range(3)])
    else:
        k = size.index(min(size))
        e_x = Vec([1.0 if i == k else 0.0 for i in range(3)]).cross(z)
        e_x = e_x * (1.0 / float(np.sqrt(e_x.dot(e_x))))
    return Mat.from_columns([e_x, z.cross(e_x), z])
