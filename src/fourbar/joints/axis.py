"""Axes: what a user may write, and the rotation that turns z into one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..spatial.linear import Mat, Vec

_NAMED = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
Axis = str | Sequence[float]


def unit_axis(axis: Axis) -> tuple[float, float, float]:
    """A unit vector from "x", "-y", ... or three numbers of unit length."""
    if isinstance(axis, str):
        sign, name = (-1.0, axis[1:]) if axis.startswith("-") else (1.0, axis.removeprefix("+"))
        if name not in _NAMED:
            raise ValueError(f"axis {axis!r} is not known; write 'x', 'y', 'z', '-x', ... or three numbers")
        return tuple(sign * a + 0.0 for a in _NAMED[name])  # type: ignore[return-value]
    a = np.asarray(axis, float)
    if a.shape != (3,) or not np.all(np.isfinite(a)):
        raise ValueError(f"an axis is three finite numbers, not {axis!r}")
    length = float(np.sqrt(a @ a))
    if abs(length - 1.0) > 1e-6:
        hint = "it is zero" if length == 0.0 else f"divide it by its length: {(a / length).tolist()}"
        raise ValueError(f"axis {tuple(a.tolist())} has length {length:.9g}, a unit vector is expected; {hint}")
    a = a / length
    return (float(a[0]), float(a[1]), float(a[2]))


def rotation_from_z(axis: Sequence[float]) -> Mat | None:
    """A rotation A with A e_z = axis; None for z itself. Exact (0, ±1) for the coordinate axes."""
    z = tuple(axis)
    if z == (0.0, 0.0, 1.0):
        return None
    if sorted(map(abs, z)) == [0.0, 0.0, 1.0]:
        k = max(range(3), key=lambda i: abs(z[i]))
        x = Vec([1.0 if i == (k + 1) % 3 else 0.0 for i in range(3)])
    else:
        helper = Vec([1.0 if i == min(range(3), key=lambda i: abs(z[i])) else 0.0 for i in range(3)])
        x = helper.cross(z)
        x = x * (1.0 / float(np.sqrt(x.dot(x))))
    return Mat.from_columns([x, Vec(z).cross(x), Vec(z)])
