"""Springs and damping: forces against the slope of the energy, the spanning tree of loops, and closed forms."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute, Spherical
from tests.algorithms import mechanisms
from tests.loops import looped

from .sprung import LOOPED, TREES, sprung, states


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_springs_take_the_power_that_their_energy_gains(name: str) -> None:
    """Against the slope along the motion by differences of order ten, and against the derivative of the trace."""
    robot, (q, v) = sprung(name), states(name)
    power = -np.sum(robot.passive_forces(q, 0.0 * v) * v, axis=-1)
    size = np.maximum(1.0, np.abs(robot.spring_energy(q)))
    assert np.abs(robot.spring_energy.jvp(q, v) - power).max() / size.max() < 1e-12
    if name.isdigit():
        found = looped.slope(lambda t: robot.spring_energy(robot.integrate(q, v, t)), 1e-3)
        assert np.abs(found - power).max() / size.max() < 1e-9


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_dampers_take_power_from_every_joint(name: str) -> None:
    robot, (q, v) = sprung(name), states(name)
    damped = robot.passive_forces(q, v) - robot.passive_forces(q, 0.0 * v)
    d = np.concatenate([c.damping for c in robot.model.cluster_tree.moving])
    lost = np.sum(d * robot.expand_velocity(q, v) ** 2, axis=-1)
    assert np.allclose(-np.sum(damped * v, axis=-1), lost, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", LOOPED)
def test_loops_project_the_forces_of_all_joints(name: str) -> None:
    robot, (q, v) = sprung(name), states(name)
    tree = robot.spanning()
    whole = tree.passive_forces(robot.expand(q), robot.expand_velocity(q, v))
    expected = looped.apply(looped.transposed(robot.loop_map(q)), whole)
    looped.near(robot.passive_forces(q, v), expected, 1e-12)


def test_a_hinge_with_a_spring_and_no_damper_oscillates() -> None:
    b = fb.Builder("balance", gravity=(0, 0, 0))
    b.body("wheel", joint=Revolute("z"), inertia=(1, 1, 2), mass=1, stiffness=8.0, rest=0.5, damping=0.25)
    wheel = b.build()
    assert np.allclose(wheel.passive_forces([0.75], [2.0]), -8.0 * 0.25 - 0.25 * 2.0, rtol=1e-15)
    assert np.isclose(wheel.spring_energy([0.75]), 0.25)
    held = fb.simulate(
        wheel, [0.75], [0.0], duration=1.0, dt=0.01, passive=False,
        period=0, tau=lambda t, q, v: wheel.passive_forces(q, 0.0 * v),
    )  # fmt: skip
    assert np.isclose(held.q[-1, 0], 0.5 + 0.25 * np.cos(2.0), atol=1e-8)


def test_an_even_spring_of_a_ball_pulls_along_the_rotation_vector() -> None:
    b = fb.Builder("ball")
    half = 0.3
    b.body("ball", joint=Spherical(), mass=1, inertia=(1, 1, 1), stiffness=3.0)
    q = [np.cos(half), np.sin(half), 0.0, 0.0]
    assert np.allclose(b.build().passive_forces(q, np.zeros(3)), [-3.0 * 0.6, 0.0, 0.0], rtol=1e-14, atol=1e-15)


def test_a_robot_without_springs_has_no_forces() -> None:
    robot = mechanisms.mechanism(0)
    q, v = states("0")
    assert not np.any(robot.passive_forces(q, v))
    assert not np.any(robot.spring_energy(q))


def test_the_forces_travel() -> None:
    robot, (q, v) = sprung("four_bar"), states("four_bar")
    again = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(again.passive_forces(q, v), robot.passive_forces(q, v))


def test_dry_friction_is_smoothed_by_a_stated_velocity() -> None:
    b = fb.Builder("slider", gravity=(0, 0, 0))
    b.body("wheel", joint=Revolute("z"), inertia=(1, 1, 2), mass=1, friction=3.0, damping=0.5)
    wheel = b.build()
    v = np.linspace(-2.0, 2.0, 9)[:, None]
    found = wheel.inverse_passive_dynamics(0.0 * v, v, 0.0 * v, friction_velocity=0.2)
    assert np.allclose(found, 0.5 * v + 3.0 * np.tanh(v / 0.2), rtol=1e-14)
    assert np.allclose(wheel.inverse_passive_dynamics(0.0 * v, v, 0.0 * v), 0.5 * v)
    slope = wheel.inverse_passive_dynamics.jacobian([0.0], [0.0], [0.0], friction_velocity=0.2)
    assert np.allclose(slope.v, 0.5 + 3.0 / 0.2)
    with pytest.raises(fb.SingularError, match="friction_velocity must be positive"):
        wheel.inverse_passive_dynamics([0.0], [1.0], [0.0], friction_velocity=0.0)


@pytest.mark.parametrize("name", LOOPED[:2])
def test_dry_friction_of_all_joints_of_loops(name: str) -> None:
    robot, (q, v) = sprung(name), states(name)
    joints = {c.name: {"friction": 0.5} for c in robot.model.cluster_tree.moving}
    rubbing = robot.with_parameters(joints=joints)
    tau = rubbing.inverse_passive_dynamics(q, v, 0.0 * v, friction_velocity=0.1)
    drag = 0.5 * np.tanh(robot.expand_velocity(q, v) / 0.1)
    expected = looped.apply(looped.transposed(robot.loop_map(q)), drag)
    looped.near(tau - robot.inverse_passive_dynamics(q, v, 0.0 * v), expected, 1e-10)
