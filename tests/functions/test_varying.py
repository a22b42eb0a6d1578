"""Parameters as arguments: the same as robots that were built with these parameters, sample by sample."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.mechanism.mechanism import Mechanism
from fourbar.system.system import restore
from fourbar.tree.parameters import Parameter, change_parameters, find, parameters


def rebuilt(robot: fb.System, values: dict[str, Any]) -> fb.System:
    """The robot built with other parameters."""
    which = find(parameters(robot.mechanism), values)
    flat = [float(x) for v in values.values() for x in np.ravel(v)]
    return restore(_plain(change_parameters(robot.mechanism, which, flat)))


def _plain(mechanism: Mechanism) -> Mechanism:
    return replace(mechanism, configurations=())


def close(found: Any, expected: Any, bound: float = 1e-12) -> None:
    expected = np.asarray(expected)
    assert np.abs(np.asarray(found) - expected).max() <= bound * max(1.0, np.abs(expected).max())


def states(robot: fb.System, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    v, tau = np.random.default_rng(8).normal(size=(2, n, robot.nv))
    return robot.random(3, n=n), v, tau


def scattered(robot: fb.System, which: list[Parameter], n: int) -> dict[str, np.ndarray]:
    """Values of parameters in n samples, within ten percent of the robot's own; what is zero becomes small."""
    rng = np.random.default_rng(5)
    found = {}
    for name, nominal in robot.varying(*(x.name for x in which)).nominal.items():
        factor = rng.uniform(0.9, 1.1, (n, *nominal.shape))
        own = nominal * factor + 0.01 * (nominal == 0.0) * factor * (not name.endswith("inertia"))
        found[name] = 0.5 * (own + own.swapaxes(-1, -2)) if name.endswith("inertia") else own
    return found


@pytest.mark.default_cases("double_pendulum", "differential_wrist")
@pytest.mark.slow_cases("tello")
@pytest.mark.quick
@pytest.mark.parametrize("name", ["double_pendulum", "mini_cheetah", "tello", "differential_wrist"])
def test_functions_are_those_of_robots_with_these_parameters(name: str) -> None:
    robot, n = getattr(fb.robots, name)(), 3
    every = [x for x in parameters(robot.mechanism) if x.owners != "loops"]
    which = [every[0], *every[1 :: max(1, len(every) // 12)]]
    values = scattered(robot, which, n)
    varied = robot.varying(*values)
    q, v, tau = states(robot, n)
    given = list(values.values())
    frame = robot.names.bodies[-1]
    a = varied.forward_dynamics(q, v, tau, *given)
    M, T = varied.mass_matrix(q, *given), varied.pose(q, *given, frame=frame)
    passive, U = varied.passive_forces(q, v, *given), varied.potential_energy(q, *given)
    for k in range(n):
        other = rebuilt(robot, {x: own[k] for x, own in values.items()})
        close(a[k], other.forward_dynamics(q[k], v[k], tau[k]), 1e-11)
        close(M[k], other.mass_matrix(q[k]))
        close(T[k], other.pose(q[k], frame))
        close(passive[k], other.passive_forces(q[k], v[k]))
        close(U[k], other.potential_energy(q[k]))


def test_the_ratio_of_a_gear() -> None:
    b = fb.Builder("geared")
    b.body("arm", joint=fb.joints.Revolute("y"), mass=2.0, com=(0.0, 0.0, -0.3), inertia=(0.1, 0.1, 0.01))
    b.body("rotor", joint=fb.joints.Revolute("y"), mass=0.3, inertia=(1e-3, 1e-3, 1e-3))
    robot = b.loop(fb.loops.Gear("arm", "rotor", 6.0), name="gear").build()
    ratios = np.array([3.0, 6.0, 9.0])
    name = next(x.name for x in parameters(robot.mechanism) if x.owners == "loops" and x.field == "ratio")
    M = robot.varying(name).mass_matrix(robot.neutral(), ratios)
    for ratio, own in zip(ratios, M, strict=True):
        close(own, rebuilt(robot, {name: ratio}).mass_matrix(robot.neutral()))
    assert len(np.unique(M)) == 3


def test_derivatives_are_by_the_parameters_too() -> None:
    robot = fb.robots.double_pendulum()
    varied = robot.varying("lower.mass", "gravity")
    q, v, tau = np.array([0.3, -0.4]), np.array([0.2, 0.1]), np.array([0.5, -0.2])
    m, g = varied.nominal["lower.mass"], varied.nominal["gravity"]
    J = varied.forward_dynamics.jacobian(q, v, tau, m, g)
    h = 1e-6
    slope = (varied.forward_dynamics(q, v, tau, m + h, g) - varied.forward_dynamics(q, v, tau, m - h, g)) / (2 * h)
    close(np.ravel(J[3]), slope, 1e-8)
    own = robot.forward_dynamics.jacobian(q, v, tau)
    for x, y in zip(J[:3], own, strict=True):
        close(x, y, 1e-11)


def test_damping_that_the_robot_does_not_have() -> None:
    robot = fb.robots.double_pendulum()
    varied = robot.varying("elbow.damping")
    force = varied.passive_forces([0.0, 0.0], [1.0, 2.0], [0.0, 0.5])
    assert np.array_equal(force, [[0.0, 0.0], [0.0, -1.0]])


def test_it_travels() -> None:
    robot = fb.robots.double_pendulum()
    varied = robot.varying("lower.mass")
    for thing in (varied, varied.mass_matrix, varied.pose.specialise(frame="tip")):
        assert pickle.loads(pickle.dumps(thing)) is not None
    q = robot.random(0)
    assert np.array_equal(pickle.loads(pickle.dumps(varied)).mass_matrix(q, 2.0), varied.mass_matrix(q, 2.0))
    assert "lower.mass" in repr(varied) and "mass_matrix" in dir(varied)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "at least one"),
        (("lower.mass", "lower.mass"), "twice"),
        (("elbow.axis",), "'elbow.axis' cannot vary: an axis of Revolute is a direction.*'elbow.placement'"),
        (("elbow.rest",), "'elbow.rest' cannot vary: .*'elbow', it has no spring"),
        (("elbow.friction",), "no dry friction"),
        (("elbow.lower",), "equations of motion do not depend on limits"),
        (("elbow.parent",), "is not made of numbers"),
        (("lower.mas",), "lower.mass"),
        ((["lower.mass"],), "separate arguments"),
        (({"lower.mass": 1.0},), "separate arguments"),
    ],
)
def test_what_is_refused(names: tuple[Any, ...], words: str) -> None:
    with pytest.raises(fb.FourbarError, match=words):
        fb.robots.double_pendulum().varying(*names)
