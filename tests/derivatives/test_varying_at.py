"""Parameters that are given once: the functions that take them in every call, to the last bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile.ufunc import MOST_OPERANDS
from fourbar.expr import Program
from fourbar.tree.parameters import variable

from .test_varying import close, rebuilt, scattered, states


def some(robot: fb.System, count: int) -> list[Any]:
    every = [x for x in variable(robot.mechanism) if x.owners != "loops"]
    return [every[0], *every[1 :: max(1, len(every) // count)]]


def operations(program: Program) -> int:
    return sum(op not in ("load", "table") for call in program.calls for op, *_ in program.blocks[call.block].code)


@pytest.mark.slow_cases("mini_cheetah", "tello")
@pytest.mark.parametrize("name", ["double_pendulum", "differential_wrist", "mini_cheetah", "tello"])
def test_the_same_bits(name: str) -> None:
    robot, n = getattr(fb.robots, name)(), 5
    values = scattered(robot, some(robot, 12), n)
    varied = robot.varying(*values)
    at, given = varied.at(*values.values()), list(values.values())
    q, v, tau = states(robot, n)
    assert np.array_equal(at.forward_dynamics(q, v, tau), varied.forward_dynamics(q, v, tau, *given))
    assert np.array_equal(at.inverse_dynamics(q, v, tau), varied.inverse_dynamics(q, v, tau, *given))
    assert np.array_equal(at.mass_matrix(q), varied.mass_matrix(q, *given))
    assert np.array_equal(at.passive_forces(q, v), varied.passive_forces(q, v, *given))
    frame = robot.names.bodies[-1]
    assert np.array_equal(at.pose(q, frame), varied.pose(q, *given, frame=frame))
    f_ext = np.random.default_rng(1).normal(size=(n, len(robot.names.bodies), 6))
    forced = at.forward_dynamics(q, v, tau, f_ext=f_ext)
    assert np.array_equal(forced, varied.forward_dynamics(q, v, tau, *given, f_ext=f_ext))
    assert np.array_equal(forced, at.forward_dynamics(q, v, tau, f_ext))
    assert np.array_equal(at.forward_dynamics(q, v, tau, None), at.forward_dynamics(q, v, tau))
    one = varied.at({x: own[2] for x, own in values.items()})
    assert np.array_equal(one.forward_dynamics(q[2], v[2], tau[2]), at.forward_dynamics(q, v, tau)[2])


def test_what_is_left_is_the_work_of_the_robot_itself() -> None:
    """Masses of all bodies: their sums are moved, rotors stay unturned."""
    robot = fb.robots.mini_cheetah()
    varied = robot.varying(*(f"{x.name}.mass" for x in robot.mechanism.bodies if x.mass > 0.0))
    at = varied.at(varied.nominal)
    q, v, tau = states(robot, 2)
    for name, args in (("inverse_dynamics", (q, v, tau)), ("forward_dynamics", (q, v, tau)), ("mass_matrix", (q,))):
        close(getattr(at, name)(*args), getattr(robot, name)(*args), 1e-11)
        (ready,) = getattr(at, name)._by_names.values()
        own = operations(getattr(robot, name).program())
        assert operations(ready.function.program()) < 1.03 * own
        assert operations(getattr(varied, name).program()) > 1.1 * own


def test_derivatives_are_by_the_state() -> None:
    robot, n = fb.robots.double_pendulum(), 3
    values = scattered(robot, [x for x in variable(robot.mechanism) if x.field in ("mass", "com")], n)
    at = robot.varying(*values).at(values)
    q, v, tau = states(robot, n)
    J = at.forward_dynamics.jacobian(q, v, tau)
    rate = at.forward_dynamics.jvp((q, v, tau), (v, tau, v))
    gradient = at.forward_dynamics.vjp((q, v, tau), tau)
    for k in range(n):
        other = rebuilt(robot, {x: own[k] for x, own in values.items()})
        expected = other.forward_dynamics.jacobian(q[k], v[k], tau[k])
        for found, block in zip(J, expected, strict=True):
            close(found[k], block, 1e-11)
        close(rate[k], other.forward_dynamics.jvp((q[k], v[k], tau[k]), (v[k], tau[k], v[k])), 1e-11)
        for found, block in zip(gradient, other.forward_dynamics.vjp((q[k], v[k], tau[k]), tau[k]), strict=True):
            close(found[k], block, 1e-11)
    assert at.pose.jacobian(q, frame="tip").q.shape == (n, 4, 4, 2)
    with pytest.raises(fb.FourbarError, match="not of parameters"):
        at.forward_dynamics.jvp((q, v, tau), (v, v, v), parameters={"upper.mass": 1.0})


def test_values_are_copied_and_broadcast() -> None:
    robot = fb.robots.double_pendulum()
    masses, gravity = np.array([0.5, 1.0, 2.0]), np.array([[[0.0, 0.0, -9.81]], [[0.0, 0.0, -1.62]]])
    varied = robot.varying("lower.mass", "gravity")
    at = varied.at(lower_mass=masses, gravity=gravity)
    expected = varied.gravity_force([0.3, 0.4], masses, gravity)
    masses[:] = 7.0
    assert expected.shape == (2, 3, 2) and np.array_equal(at.gravity_force([0.3, 0.4]), expected)
    out = np.empty((2, 3, 2))
    assert at.gravity_force([0.3, 0.4], out=out) is out and np.array_equal(out, expected)
    assert np.array_equal(at.gravity_force([0.3, 0.4], threads=2), expected)


def test_it_travels_with_its_values() -> None:
    robot = fb.robots.double_pendulum()
    at, q = robot.varying("lower.mass").at([1.0, 2.0]), [0.3, 0.4]
    expected = at.mass_matrix(q)
    assert np.array_equal(pickle.loads(pickle.dumps(at)).mass_matrix(q), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(at.mass_matrix))(q), expected)
    J = at.mass_matrix.jacobian(q).q
    assert np.array_equal(pickle.loads(pickle.dumps(at.mass_matrix.jacobian.function))(q).reshape(J.shape), J)
    assert "1 parameter" in repr(at) and "mass_matrix(q" in repr(at.mass_matrix) and "mass_matrix" in dir(at)


def test_more_parameters_than_numpy_has_operands() -> None:
    robot = fb.robots.mini_cheetah()
    every = [x for x in variable(robot.mechanism) if x.field in ("mass", "com", "inertia")]
    assert len(every) > MOST_OPERANDS
    values = scattered(robot, every, 3)
    varied = robot.varying(*values)
    q, v, tau = states(robot, 3)
    a = varied.forward_dynamics(q, v, tau, *values.values())
    assert np.array_equal(varied.at(*values.values()).forward_dynamics(q, v, tau), a)
    one = [x[1] for x in values.values()]
    assert np.array_equal(varied.forward_dynamics(q[1], v[1], tau[1], *one), a[1])
    assert isinstance(varied.kinetic_energy(q[1], v[1], *one), float)
    same = tau.copy()
    assert np.array_equal(varied.forward_dynamics(q, v, same, *values.values(), out=same), a)
    other = rebuilt(robot, dict(zip(values, one, strict=True)))
    close(a[1], other.forward_dynamics(q[1], v[1], tau[1]), 1e-11)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.at(), "needs 'lower_mass'"),
        (lambda x: x.at({"lower.mas": 1.0}), "lower.mass"),
        (lambda x: x.at(np.ones(3), np.ones((4, 3))), "do not broadcast"),
        (lambda x: x.at(np.ones(3), np.ones(2)), r"gravity must have shape \(\.\.\., 3\)"),
        (lambda x: x.at(np.ones(5), [0, 0, -9.81]).mass_matrix(np.zeros((3, 2))), "parameters"),
        (lambda x: x.at(1.0, [0, 0, -9.81]).mass_matrix(), "needs 'q'"),
        (lambda x: x.at(1.0, [0, 0, -9.81]).mass_matrx, "mass_matrix"),
    ],
)
def test_what_is_refused(call: Any, words: str) -> None:
    with pytest.raises((fb.FourbarError, TypeError, AttributeError), match=words):
        call(fb.robots.double_pendulum().varying("lower.mass", "gravity"))
