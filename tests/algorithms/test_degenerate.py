"""Robots at the edge: nothing that moves, nothing that has mass, one point, very unequal sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Prismatic, Revolute, Translation3, Universal

from .mechanisms import near

pytestmark = pytest.mark.quick


def test_joints_that_together_move_nothing_are_named() -> None:
    b = fb.Builder("empty")
    b.body("a", joint=Revolute("z"))
    b.body("b", joint=Revolute("z"))
    b.loop(fb.loops.Gear("a", "b", 2.0))
    with pytest.raises(fb.ModelError, match=r"joints 'a', 'b' together move nothing .*\(bodies 'a', 'b' and what they"):
        b.build()


def test_a_statue() -> None:
    """Everything is fixed: arrays of size zero, no energy, and no centre of mass of what moves."""
    b = fb.Builder("statue")
    b.body("stone", mass=1.0, com=(0.0, 0.0, 1.0), inertia=(1.0, 1.0, 1.0), position=(1.0, 2.0, 3.0))
    robot = b.build()
    q = v = np.zeros((2, 0))
    assert robot.inverse_dynamics(q, v, v).shape == (2, 0)
    assert robot.mass_matrix(q).shape == (2, 0, 0)
    assert robot.jacobian(q, "stone").shape == (2, 6, 0)
    assert np.array_equal(robot.pose(q, "stone")[1, :3, 3], [1.0, 2.0, 3.0])
    assert not np.any(robot.kinetic_energy(q, v))
    assert not np.any(robot.momentum(q, v, about="world"))
    with pytest.raises(fb.ModelError, match="no centre of mass"):
        robot.center_of_mass(q)


def test_a_massless_rotor() -> None:
    """Inertia by armature alone: dynamics and energy are there, a centre of mass is not."""
    b = fb.Builder("rotor")
    b.body("rotor", joint=Revolute("z"), armature=0.5)
    robot = b.build()
    one = np.ones(1)
    assert robot.forward_dynamics(one, one, one) == 2.0
    assert robot.kinetic_energy(one, one) == 0.25
    assert not np.any(robot.momentum(one, one, about="world"))
    with pytest.raises(fb.ModelError, match="no centre of mass"):
        robot.momentum(one, one)


def test_a_point() -> None:
    """A point mass that may move along lines: M = m, and gravity is all there is."""
    b = fb.Builder("point")
    b.body("point", joint=Translation3(), mass=3.0)
    robot = b.build()
    q = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(robot.mass_matrix(q), 3.0 * np.eye(3))
    assert np.array_equal(robot.forward_dynamics(q, q, 0.0 * q), [0.0, 0.0, -9.81])
    assert np.array_equal(robot.center_of_mass_jacobian(q), np.eye(3))


def test_a_joint_that_moves_nothing_is_refused() -> None:
    b = fb.Builder("idle")
    b.body("a", joint=Prismatic("x"), mass=1.0)
    b.body("b", parent="a", joint=Revolute("z"))
    with pytest.raises(fb.ModelError, match="joint 'b' moves nothing"):
        b.build()


@pytest.mark.parametrize("moment", [1e-6, 1e-9, 1e-12])
def test_a_thin_rod_about_its_own_axis(moment: float) -> None:
    """A small principal moment beside large ones keeps all its digits, also across fixed bodies."""
    b = fb.Builder("rod")
    b.body("rod", joint=Revolute("z"), mass=1.0, com=(0.0, 0.0, 1.0), inertia=(1.0, 1.0, moment))
    quarter = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    b.body("tip", parent="rod", rotation=quarter, mass=1.0, com=(0.0, 1.0, 0.0), inertia=(1.0, moment, 1.0))
    q = np.array([[0.3], [1.0]])
    total = np.full((2, 1), 2.0 * moment)
    near(b.build().mass_matrix(q)[..., 0], total, 1e-15)
    near(1.0 / b.build().forward_dynamics(q, q, np.ones((2, 1))), total, 1e-15)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_robots_of_any_size(size: float) -> None:
    """Whether a joint moves something does not depend on the unit of length; masses and moments are not compared."""

    def matter(x: float) -> dict[str, Any]:
        return {"mass": 1.0, "com": (x, 0, 0), "inertia": (x * x, 2 * x * x, 1.5 * x * x)}

    def built(x: float) -> fb.System:
        b = fb.Builder("scaled")
        b.body("cross", joint=Universal("x", "y"))
        b.body("arm", parent="cross", joint=Revolute("z"), position=(0, 0, x), **matter(x))
        b.body("rail", parent="arm", position=(x, 0, 0))
        b.body("cart", parent="rail", joint=Prismatic("x"), limits=(-x, x), **matter(x))
        return b.build()

    q = np.array([0.3, 0.7, -0.4, 0.5])
    unit = np.array([size, size, size, 1.0])  # of the square root of M: of an angle, of a length
    M = built(size).mass_matrix(q * np.array([1, 1, 1, size]))
    near(M / np.outer(unit, unit), built(1.0).mass_matrix(q), 1e-13)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_a_mass_on_the_axis_is_not_moved(size: float) -> None:
    b = fb.Builder("axle")
    b.body("axle", joint=Revolute((0.6, 0.0, 0.8)))
    b.body("bead", parent="axle", mass=1.0, position=(0.6 * size, 0.0, 0.8 * size), rpy=(0.1, 0.2, 0.3))
    with pytest.raises(fb.ModelError, match="joint 'axle' moves nothing"):
        b.build()
