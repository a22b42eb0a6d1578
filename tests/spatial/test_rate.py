"""The rate of an element of a group: that of a ⊕ t v."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fourbar.spatial.groups import SE3, SO3, Group
from fourbar.spatial.linear import vec

from .support import EACH, body_velocity, drawn, elements, near, selection, vectors

STEP = 1e-30


@drawn
def test_rate_is_that_of_plus(group: Group, data: Any) -> None:
    """By a complex step, exact to rounding."""
    a, v = data.draw(elements(group)), data.draw(vectors(group))
    moved = group.plus(a, [1j * STEP * x for x in v])
    near(group.rate(a, v), [np.imag(x) / STEP for x in moved], 1e-14, floor=float(np.abs(v).max(initial=1e-200)))


@EACH
def test_rate_is_linear(group: Group) -> None:
    rng = np.random.default_rng(1)
    a = group.exp(vec(rng.normal(size=group.nv)))
    columns = np.array([group.rate(a, vec(row)) for row in np.eye(group.nv)], float).T
    v = rng.normal(size=group.nv)
    near(group.rate(a, vec(v)), columns @ v, 1e-14)


@pytest.mark.parametrize("group", [SO3(), SE3()], ids=lambda g: g.name)
@pytest.mark.parametrize("length", [0.1, 3.0, -2.0])
def test_long_quaternions(group: Group, length: float) -> None:
    """A quaternion may have any length: it keeps it, and the placement moves with velocity v."""
    rng = np.random.default_rng(2)
    v = rng.normal(size=group.nv)
    a = np.array(group.exp(vec(rng.normal(size=group.nv))), float)
    a[-4:] *= length
    rate = np.array(group.rate(vec(a), vec(v)), float)
    assert abs(rate[-4:] @ a[-4:]) < 1e-15 * length**2 * np.linalg.norm(v) + 1e-15
    moved = vec(a + 1j * STEP * rate)

    def parts(x: Any) -> tuple[np.ndarray, np.ndarray]:
        unit = list(x[:-4]) + [y / np.sqrt(sum(z * z for z in x[-4:])) for y in x[-4:]]
        return np.array(group.rotation(unit)), np.array(group.translation(unit))

    (r, p), (dr, dp) = parts(a), (x.imag / STEP for x in parts(moved))
    near(body_velocity(r, p, dr, dp), selection(group) @ v, 1e-14)
