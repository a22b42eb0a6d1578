"""Parameters that are given once: the functions that take them in every call, to the last bit."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile.callables import MOST_OPERANDS
from fourbar.compile.llvm import batch_lanes
from fourbar.expr import Program
from fourbar.expr.program import MEMORY
from fourbar.functions.function import backend
from fourbar.tree.parameters import parameters

from .test_varying import close, rebuilt, scattered, states


def some(robot: fb.System, count: int) -> list[Any]:
    every = [x for x in parameters(robot.mechanism) if x.owners != "loops"]
    return [every[0], *every[1 :: max(1, len(every) // count)]]


def operations(program: Program) -> int:
    return sum(op not in MEMORY for call in program.calls for op, *_ in program.blocks[call.block].code)


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
        assert operations(ready.serving(args).function.program()) < 1.03 * own
        assert operations(getattr(varied, name).program()) > 1.1 * own


def unaligned(x: np.ndarray) -> np.ndarray:
    """The same array at an odd address."""
    raw = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    raw[...] = x
    return raw


def _is_in_place(function: Any, *args: Any) -> bool:
    """Whether a call reads what is known of parameters where it lies: by one address per sample."""
    function(*args)
    (ready,) = function._by_names.values()
    return ready.serving(args).known.ndim == 1


def _batches(robot: fb.System, n: int) -> tuple[Any, dict[str, np.ndarray], list[Any]]:
    values = scattered(robot, [x for x in parameters(robot.mechanism) if x.field in ("mass", "com", "inertia")], n)
    return robot.varying(*values), values, list(states(robot, n))


@pytest.mark.slow_cases("tello")
@pytest.mark.parametrize("name", ["double_pendulum", "mini_cheetah", "tello"])
def test_values_that_are_read_in_place_give_the_same_bits(name: str) -> None:
    """Batches as long as the parameters, of any length and layout, with constant entries among the results."""
    robot, width = getattr(fb.robots, name)(), batch_lanes().width
    for n in (width, 2 * width + 1, 5 * width - 1):
        varied, values, (q, v, tau) = _batches(robot, n)
        at, given = varied.at(values), list(values.values())
        forward, mass = varied.forward_dynamics(q, v, tau, *given), varied.mass_matrix(q, *given)
        assert _is_in_place(at.forward_dynamics, q, v, tau) is _is_in_place(at.mass_matrix, q) is (backend() == "llvm")
        for _ in range(2):  # the first call is made by Python, the next by machine code
            assert np.array_equal(at.forward_dynamics(q, v, tau), forward)
            assert np.array_equal(at.mass_matrix(q), mass)
            assert np.array_equal(at.forward_dynamics(q, v, tau, threads=3), forward)
        backwards, spread = (x[::-1].copy()[::-1] for x in (q, v)), np.repeat(tau, 2, axis=1)[:, ::2]
        assert np.array_equal(at.forward_dynamics(*backwards, spread), forward)
        assert np.array_equal(at.forward_dynamics(np.asfortranarray(q), v, tau), forward)
        assert np.array_equal(at.forward_dynamics(unaligned(q), v, unaligned(tau)), forward)
        out = tau.copy()
        assert at.forward_dynamics(q, v, out, out=out) is out and np.array_equal(out, forward)
        short = tau.astype(np.float32)
        assert np.array_equal(at.forward_dynamics(q, v, short), at.forward_dynamics(q, v, short.astype(float)))


def test_other_batches_are_brought_their_values() -> None:
    robot, n = fb.robots.double_pendulum(), 2 * batch_lanes().width
    varied, values, (q, v, tau) = _batches(robot, n)
    at, given = varied.at(values), list(values.values())
    expected = varied.forward_dynamics(q, v, tau, *given)
    at.forward_dynamics(q, v, tau)
    for args in ((q[0], v, tau), (q[None], v[None], tau[None]), (q.tolist(), v, tau), (np.stack([q, q]), v, tau)):
        assert not _is_in_place(at.forward_dynamics, *args)
        assert np.array_equal(at.forward_dynamics(*args), varied.forward_dynamics(*args, *given))
    f_ext = np.zeros((len(robot.names.bodies), 6))
    assert np.array_equal(
        at.forward_dynamics(q, v, tau, f_ext), varied.forward_dynamics(q, v, tau, *given, f_ext=f_ext)
    )
    assert np.array_equal(at.forward_dynamics(q, v=v, tau=tau), expected)
    with pytest.raises(fb.FourbarError, match="broadcast"):
        at.forward_dynamics(q[:-1], v[:-1], tau[:-1])
    gradient = at.forward_dynamics.vjp((q, v, tau), tau)
    for k in (0, n - 1):
        one = varied.at({x: own[k] for x, own in values.items()})
        single = one.forward_dynamics.vjp((q[k], v[k], tau[k]), tau[k])
        assert all(np.array_equal(a[k], b) for a, b in zip(gradient, single, strict=True))


def test_a_parameter_that_is_nan_harms_its_sample_only() -> None:
    robot, n = fb.robots.double_pendulum(), 2 * batch_lanes().width
    varied, values, (q, v, tau) = _batches(robot, n)
    expected = varied.at(values).forward_dynamics(q, v, tau)
    values["lower.mass"][3] = np.nan
    found = varied.at(values).forward_dynamics(q, v, tau)
    others = np.arange(n) != 3
    assert np.isnan(found[3]).all() and np.array_equal(found[others], expected[others])


@pytest.mark.parametrize("width", ["1", "2", "4", "8"])
def test_vectors_of_any_width(width: str) -> None:
    code = (
        "import numpy as np, fourbar as fb\n"
        "robot, n = fb.robots.double_pendulum(), 19\n"
        "q, masses = np.linspace(-2, 2, 2 * n).reshape(n, 2), np.linspace(0.5, 2.0, n)\n"
        "varied = robot.varying('lower.mass')\n"
        "at = varied.at(masses)\n"
        "expected = [varied.mass_matrix(x, m) for x, m in zip(q, masses)]\n"
        "assert at.mass_matrix(q) is not None and np.array_equal(at.mass_matrix(q), expected)\n"
        "(ready,) = at.mass_matrix._by_names.values()\n"
        "assert ready.serving((q,)).known.shape == (n,)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "FOURBAR_LANES": width, "FOURBAR_BACKEND": "llvm"}, check=True
    )


def test_derivatives_are_by_the_state() -> None:
    robot, n = fb.robots.double_pendulum(), 3
    values = scattered(robot, [x for x in parameters(robot.mechanism) if x.field in ("mass", "com")], n)
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
    every = [x for x in parameters(robot.mechanism) if x.field in ("mass", "com", "inertia")]
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
