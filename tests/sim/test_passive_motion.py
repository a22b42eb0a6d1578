"""Motion with springs and damping: against inverse dynamics, closed forms and the balance of energy; what is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.functions.function import backend
from fourbar.joints import Prismatic, Revolute
from tests.algorithms.sprung import LOOPED, TREES, sprung, states
from tests.loops import looped

SOLID = {"mass": 2.0, "inertia": (0.1, 0.2, 0.3)}


def cart(**joint: float | tuple[float, float]) -> fb.System:
    b = fb.Builder("cart", gravity=(0, 0, -9.81))
    b.body("cart", joint=Prismatic("x"), **SOLID, **joint)
    return b.build()


def energy(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return robot.kinetic_energy(q, v) + robot.potential_energy(q) + robot.spring_energy(q)


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_inverse_dynamics_gives_the_forces_back(name: str) -> None:
    robot, (q, v) = sprung(name), states(name)
    tau = np.random.default_rng(3).normal(size=v.shape)
    a = robot.passive_dynamics(q, v, tau)
    whole = tau + robot.passive_forces(q, v)
    looped.near(a, robot.forward_dynamics(q, v, whole), 1e-11)
    size = np.abs(robot.mass_matrix(q)).max(axis=(-2, -1)) * np.abs(a).max(axis=-1)
    looped.near(robot.inverse_dynamics(q, v, a), whole, 1e-11, size.max())


@pytest.mark.parametrize("name", [*TREES, *LOOPED])
def test_the_power_of_damping_is_that_of_its_forces(name: str) -> None:
    robot, (q, v) = sprung(name), states(name)
    damping = robot.passive_forces(q, v) - robot.passive_forces(q, 0.0 * v)
    power = robot.damping_power(q, v)
    assert np.all(power > 0.0)
    assert np.allclose(power, -np.sum(damping * v, axis=-1), rtol=1e-11, atol=1e-12)


@pytest.mark.quick
def test_external_forces_act_too() -> None:
    robot, (q, v) = sprung("0"), states("0")
    f_ext = np.random.default_rng(5).normal(size=(len(q), len(robot.names.bodies), 6))
    tau = robot.passive_forces(q, v)
    looped.near(robot.passive_dynamics(q, v, 0.0 * v, f_ext), robot.forward_dynamics(q, v, tau, f_ext), 1e-11)


def test_a_damped_oscillator() -> None:
    """m ẍ + d ẋ + k (x - r) = 0, underdamped: x = r + A exp(-δ t) (cos ω t + δ/ω sin ω t); what is lost is the rest."""
    m, d, k, r = 2.0, 0.8, 50.0, 0.3
    robot = cart(stiffness=k, rest=r, damping=d)
    motion = fb.simulate(robot, [1.3], duration=2.0, dt=2e-3, every=100)
    delta, omega = d / (2 * m), np.sqrt(k / m - (d / (2 * m)) ** 2)
    t = motion.t
    x = np.exp(-delta * t) * (np.cos(omega * t) + delta / omega * np.sin(omega * t))
    speed = -np.exp(-delta * t) * (delta**2 + omega**2) / omega * np.sin(omega * t)
    assert np.abs(motion.q[:, 0] - (r + x)).max() < 1e-9
    assert np.abs(motion.v[:, 0] - speed).max() < 1e-8
    assert np.abs(motion.lost - (0.5 * k - 0.5 * m * speed**2 - 0.5 * k * x**2)).max() < 1e-8
    assert motion.lost[-1] > 10.0


def test_damping_alone_brings_to_rest() -> None:
    """m v̇ = -d v: the way is m/d (1 - exp(-d t / m)) v0, and half of m v² is lost in the end."""
    motion = fb.simulate(cart(damping=4.0), [0.0], [3.0], duration=5.0, dt=5e-3, every=1000)
    assert np.isclose(motion.q[-1, 0], 1.5 * (1.0 - np.exp(-10.0)), rtol=1e-9)
    assert np.isclose(motion.lost[-1], 9.0 * (1.0 - np.exp(-20.0)), rtol=1e-9)


@pytest.mark.skipif(backend() != "llvm", reason="the interpreter is for comparisons, not for speed")
@pytest.mark.parametrize("name", ["0", "4", "four_bar", "geared", "nested", "explicit"])
def test_the_balance_of_energy_is_of_fourth_order(name: str) -> None:
    """Energy with what was lost stays: half the step leaves a sixteenth of the error, or rounding."""
    robot, (q, v) = sprung(name), states(name)
    q, v, errors = q[:1], 0.3 * v[:1], []
    for dt in (2e-3, 1e-3):
        motion = fb.simulate(robot, q, v, duration=0.02, dt=dt, every=1000)
        before, after = energy(robot, motion.q, motion.v)[[0, -1]]
        assert motion.lost[-1, 0] > 0.0
        errors.append(abs(float((after + motion.lost[-1] - before)[0])) / abs(float(before[0])))
    assert errors[1] < max(errors[0] / 10.0, 1e-14), errors
    assert errors[1] < 1e-6


def test_passive_false_leaves_them_out() -> None:
    robot = cart(stiffness=50.0, damping=3.0)
    motion = fb.simulate(robot, [1.0], [2.0], duration=0.5, dt=0.01, passive=False)
    assert np.allclose(motion.q[:, 0], 1.0 + 2.0 * motion.t, rtol=1e-12)
    assert not motion.lost.any()


def test_a_batch_loses_each_its_own() -> None:
    robot = cart(damping=1.0)
    v = np.array([[1.0], [2.0], [0.0]])
    together = fb.simulate(robot, np.zeros((3, 1)), v, duration=0.1, dt=0.01)
    assert together.lost.shape == (11, 3)
    for i in range(3):
        alone = fb.simulate(robot, [0.0], v[i], duration=0.1, dt=0.01)
        assert np.array_equal(alone.lost, together.lost[:, i])


def test_friction_that_does_not_act_is_reported() -> None:
    b = fb.Builder("rubbing")
    b.body("a", joint=Revolute("x"), friction=0.2, **SOLID)
    b.body("b", parent="a", joint=Revolute("y"), **SOLID)
    b.body("c", parent="b", joint=Revolute("z"), friction=0.1, damping=1.0, **SOLID)
    robot = b.build()
    with pytest.warns(fb.SimulationWarning, match=r"Coulomb friction of joints 'a', 'c'") as told:
        fb.simulate(robot, robot.neutral(), duration=1e-3)
    assert [w.filename for w in told] == [__file__]
    smooth = robot.with_parameters(joints={"a": {"friction": 0.0}, "c": {"friction": 0.0}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.simulate(robot, robot.neutral(), duration=1e-3, passive=False)
        fb.simulate(smooth, robot.neutral(), duration=1e-3)


def test_limits_that_are_passed_are_reported() -> None:
    robot = cart(limits=(-1.0, 1.0))
    with pytest.warns(fb.SimulationWarning, match=r"joint 'cart' moved beyond the limits \(first at t = 0\.6 s\)"):
        fb.simulate(robot, [[0.0], [0.5]], [[0.0], [1.0]], duration=1.0, dt=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.simulate(robot, [0.0], [1.0], duration=0.9, dt=0.1)
        fb.simulate(robot, [2.0], [1.0], duration=0.9, dt=0.1)  # starts there
    with pytest.warns(fb.SimulationWarning, match=r"joint 'cart' moved beyond the limits \(first at t = 0\.6 s\)"):
        fb.simulate(robot, [[2.0], [0.5]], [1.0], duration=1.0, dt=0.1)  # one starts there, the other does not
