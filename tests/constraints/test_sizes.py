"""What is closed, allowed or contradictory does not depend on the size of a robot, nor on the unit of length."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, SingularError
from fourbar.constraints import Contact
from fourbar.joints import Prismatic, Revolute
from fourbar.loops import Closure, Distance
from fourbar.system.constrained.robot import Constrained

SIZES = [1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9]
_START = np.array([1.0, -0.5, 2.0])


@cache
def bars(x: float) -> fb.System:
    """Two arms in a plane, without gravity, that a hinge makes a four-bar."""
    b = fb.Builder("bars", gravity=(0.0, 0.0, 0.0))
    matter: dict[str, Any] = {"mass": 2.0, "com": (0.2 * x, 0.1 * x, 0.0), "inertia": (0.1 * x * x,) * 3}
    b.body("crank", joint=Revolute("z"), **matter)
    b.body("coupler", parent="crank", joint=Revolute("z"), position=(0.4 * x, 0.0, 0.0), **matter)
    b.body("rocker", joint=Revolute("z"), position=(x, 0.0, 0.0), **matter)
    return b.build()


def hinge(x: float) -> Closure:
    return Closure(
        Revolute("z"), "coupler", "rocker", at_predecessor=(0.7 * x, 0.0, 0.0), at_successor=(0.6 * x, 0.0, 0.0)
    )


@cache
def closed(x: float, actuated: tuple[str, ...] | None = None) -> Constrained:
    return bars(x).constrained(hinge(x), **({} if actuated is None else {"actuated": list(actuated)}))


@pytest.mark.default_cases("1e-06", "1.0", "1000000.0")
@pytest.mark.parametrize("x", SIZES)
def test_projection_and_motion(x: float) -> None:
    c, unit = closed(x), closed(1.0)
    q = c.project(_START)
    assert np.abs(c.residual(q)).max() <= 1e-15 * x
    assert np.allclose(q, unit.project(_START), rtol=1e-13)
    v = c.impulse(q, np.ones(3))[0]
    assert np.allclose(v, unit.impulse(q, np.ones(3))[0], rtol=1e-12)
    a, force = c.forward_dynamics(q, v, np.zeros(3))
    a1, force1 = unit.forward_dynamics(q, v, np.zeros(3))
    assert np.allclose(a, a1, rtol=1e-11) and np.allclose(force[:2], x * force1[:2], rtol=1e-11, atol=0.0)


@pytest.mark.default_cases("1e-06", "1.0", "1000000.0")
@pytest.mark.parametrize("x", SIZES)
def test_accelerations_that_are_not_allowed(x: float) -> None:
    c = closed(x, actuated=("crank", "coupler", "rocker"))
    q = c.project(_START)
    v = c.impulse(q, np.ones(3))[0]
    a = closed(x).forward_dynamics(q, v, np.zeros(3))[0]
    tau = c.inverse_dynamics(q, v, a)[0]
    assert np.abs(tau).max() < 1e-11 * x * x
    for wrong in (a + np.array([1e-3, 0.0, 0.0]), np.array([1e-3, 0.0, 0.0])):
        with pytest.raises(ArgumentError, match="the constraints do not allow these accelerations"):
            c.inverse_dynamics(q, v, wrong)


@pytest.mark.default_cases("1e-06", "1.0", "1000000.0")
@pytest.mark.parametrize("x", SIZES)
def test_rows_that_contradict_each_other(x: float) -> None:
    """The same point is held twice, and told to accelerate in two ways that differ by a thousandth of what is usual."""
    b = fb.Builder("point", gravity=(0.0, 0.0, 0.0))
    b.body("arm", joint=Revolute("z"), mass=1.0, com=(x, 0, 0), inertia=(0.0, 0.0, x * x), allow_unphysical=True)
    b.frame("tip", "arm", position=(x, 0.0, 0.0))
    c = b.build().constrained(Contact("tip", "point"), Contact("tip", "point", axes="frame"))
    q, still = np.zeros(1), np.zeros(1)
    wanted = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0]) * x
    assert np.allclose(c.forward_dynamics(q, still, still, row_acceleration=wanted)[0], 1.0, rtol=1e-12)
    wanted[4] *= 1.001
    with pytest.raises(SingularError, match="contradict each other"):
        c.forward_dynamics(q, still, still, row_acceleration=wanted)
    batch = np.zeros((2, 1))
    with pytest.warns(RuntimeWarning, match="contradict each other"):
        assert np.isnan(c.forward_dynamics(batch, still, still, row_acceleration=wanted)[0]).all()


def crane(far: float) -> tuple[fb.Builder, Distance]:
    b = fb.Builder("crane")
    b.body("trolley", joint=Prismatic("x"), mass=1.0)
    b.body("hoist", parent="trolley", joint=Prismatic("z"), mass=1.0)
    return b, Distance("world", "hoist", (far, 0.0, 0.0), (0.0, 0.0, 0.0), 0.1 * far)


@pytest.mark.parametrize("far", [1e-6, 1.0, 50.0, 1e4, 1e7])
def test_slides_move_as_far_as_they_must(far: float) -> None:
    b, rod = crane(far)
    found = b.build().constrained(rod).project(np.zeros(2))
    assert np.allclose(found, [0.9 * far, 0.0], rtol=1e-12, atol=1e-15 * far)


@pytest.mark.parametrize("far", [1.0, 50.0, 1e3, 1e5])
def test_slides_of_embedded_loops_too(far: float) -> None:
    b, rod = crane(far)
    assert np.allclose(b.loop(rod).build().neutral(), [0.9 * far, 0.0], rtol=1e-12, atol=1e-15 * far)
