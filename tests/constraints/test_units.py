"""What holds a robot, which drives are enough, and where it is projected to, in robots of any size."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar import Builder, System
from fourbar.joints import Prismatic, Revolute
from fourbar.loops import Closure
from fourbar.system.constrained.robot import Constrained

SIZES = (1e-8, 1e-5, 1e5, 1e8)


def crank(u: float) -> System:
    """A crank, its rod and a piston that are not connected yet, in lengths of u."""
    b = Builder("crank", gravity=(0, -9.81 * u, 0))
    solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1 * u * u,) * 3}
    b.body("crank", joint=Revolute("z"), com=(0.2 * u, 0, 0), **solid)
    b.body("rod", parent="crank", joint=Revolute("z"), position=(0.4 * u, 0, 0), com=(0.3 * u, 0, 0), **solid)
    b.body("piston", joint=Prismatic("x"), **solid)
    return b.build()


def pinned(u: float, **options: Any) -> Constrained:
    pin = Closure(Revolute("z"), "rod", "piston", at_predecessor=(0.9 * u, 0, 0))
    return crank(u).constrained(pin, **options)


def units(u: float) -> tuple[np.ndarray, np.ndarray]:
    """Those of velocities, and of forces."""
    return np.array([1.0, 1.0, u]), np.array([u * u, u * u, u])


@cache
def motion(u: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state on the constraint, and the acceleration under some forces, in units."""
    robot, (speed, force) = pinned(u), units(u)
    q, v = robot.project(np.array([0.5, -0.8, 1.0]) * speed, np.array([0.3, 0.1, 0.2]) * speed)
    a, _ = robot.forward_dynamics(q, v, np.array([0.2, 0.0, 0.1]) * force)
    return q / speed, v / speed, a / speed


@pytest.mark.default_cases("1e-08", "100000000.0")
@pytest.mark.parametrize("u", SIZES)
def test_projection_and_accelerations(u: float) -> None:
    for own, usual in zip(motion(u), motion(1.0), strict=True):
        assert np.allclose(own, usual, rtol=1e-9, atol=1e-10)


@cache
def needed(u: float, drive: str, least: str) -> np.ndarray:
    """The force of the only drive for the motion of the crank in metres, in units."""
    speed, force = units(u)
    q, v, a = (x * speed for x in motion(1.0))
    found, _ = pinned(u, actuated=[drive], least=least).inverse_dynamics(q, v, a)
    return found / force[["crank", "rod", "piston"].index(drive)]


@pytest.mark.default_cases("1e-08-crank-constraint", "1e-08-piston-torque", "100000000.0")
@pytest.mark.parametrize("least", ["torque", "constraint"])
@pytest.mark.parametrize("drive", ["crank", "piston"])
@pytest.mark.parametrize("u", SIZES)
def test_one_drive_is_enough(u: float, drive: str, least: str) -> None:
    """The forces are unique, so that they differ by their units only."""
    assert np.allclose(needed(u, drive, least), needed(1.0, drive, least), rtol=1e-9)


@pytest.mark.parametrize("u", SIZES)
def test_ranks(u: float) -> None:
    assert pinned(u).rank(motion(1.0)[0] * units(u)[0]) == 2
