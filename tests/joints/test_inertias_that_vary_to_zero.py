"""Inertias that are arguments, and zero in some samples: an error says where the mass matrix has no inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import SingularError
from fourbar.joints import Prismatic, Revolute, Spherical, SphericalEuler

pytestmark = pytest.mark.filterwarnings("ignore:.*is singular where all joints are at zero:RuntimeWarning")

AXIS = (0.36, 0.48, 0.8)


def _rigid(seed: int, length: float, mass: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    m = mass * rng.uniform(0.5, 2.0)
    return {"mass": m, "com": length * rng.normal(size=3) * 0.2, "inertia": m * length**2 * rng.uniform(0.1, 0.15, 3)}


def _chain(first: Any, second: Any, at: Any, hollow: bool, length: float = 1.0, mass: float = 1.0) -> fb.Builder:
    """A hinge, two joints with a link between them that is massless if `hollow` and has armature, and a hinge."""
    b = fb.Builder("chain")
    b.body("base", joint=Revolute("x"), **_rigid(1, length, mass))
    between = {"mass": 0.0, "inertia": (0, 0, 0), "armature": 0.1 * mass * length**2} if hollow else {}
    place = {"position": length * np.array([0.1, 0.2, 0.3]), "rpy": (0.3, 0.1, 0.7)}
    b.body("middle", parent="base", joint=first, **place, **(between or _rigid(2, length, mass)))
    b.body("end", parent="middle", joint=second, position=length * np.array(at), **_rigid(3, length, mass))
    b.body(
        "tip", parent="end", joint=Revolute("y"), position=length * np.array([0.2, 0.1, 0.0]), **_rigid(4, length, mass)
    )
    return b


def _rods(hollow: bool) -> fb.Builder:
    """A ball joint and a hinge through its centre, closed by a rod: a chain within a loop."""
    b = _chain(Spherical(), Revolute("z"), (0, 0, 0), hollow)
    b.body("other", parent="base", joint=Spherical(), position=(0.1, 0.9, 0.3), **_rigid(5, 1.0, 1.0))
    return b.loop(fb.loops.Distance("end", "other", (0.3, 0.1, 0.1), (0.2, -0.1, -0.1), 0.5), name="rod")


SINGULAR: dict[str, Callable[[bool], fb.Builder]] = {
    "coaxial": lambda hollow: _chain(Revolute(AXIS), Revolute(AXIS), (0.108, 0.144, 0.24), hollow),
    "small": lambda hollow: _chain(Revolute(AXIS), Revolute(AXIS), (0.108, 0.144, 0.24), hollow, 1e-3, 1e-4),
    "large": lambda hollow: _chain(Revolute(AXIS), Revolute(AXIS), (0.108, 0.144, 0.24), hollow, 1e3, 1e6),
    "slides": lambda hollow: _chain(Prismatic(AXIS), Prismatic(AXIS), (0.1, 0.2, 0.3), hollow),
    "hinge_ball": lambda hollow: _chain(Revolute("z"), Spherical(), (0, 0, 0.3), hollow),
    "ball_hinge": lambda hollow: _chain(Spherical(), Revolute(AXIS), (0, 0, 0), hollow),
    "rods": _rods,
}
CALLS: dict[str, Callable[..., Any]] = {
    "forward_dynamics": lambda f, q, v, *p: f.forward_dynamics(q, v, v, *p),
    "passive_dynamics": lambda f, q, v, *p: f.passive_dynamics(q, v, v, *p),
    "hybrid_dynamics": lambda f, q, v, *p: f.hybrid_dynamics(q, v, v, v, *p, prescribed=["base"])[0],
    "inverse_mass_matrix": lambda f, q, v, *p: f.inverse_mass_matrix(q, *p),
    "solve_mass_matrix": lambda f, q, v, *p: f.solve_mass_matrix(q, v, *p),
    "jacobian": lambda f, q, v, *p: f.forward_dynamics.jacobian(q, v, v, *p)[0],
    "vjp": lambda f, q, v, *p: f.forward_dynamics.vjp((q, v, v, *p), v).q,
    "jvp": lambda f, q, v, *p: f.forward_dynamics.jvp((q, v, v, *p), (v,)),
}


def _state(robot: fb.System, n: int) -> tuple[np.ndarray, np.ndarray]:
    return robot.random(0, n), np.random.default_rng(1).normal(size=(n, robot.nv))


def _zeros(varied: Any) -> list[np.ndarray]:
    return [np.zeros_like(x) for x in varied.nominal.values()]


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("numbers", [("middle.armature",), ("middle.mass", "middle.inertia")])
def test_no_state_has_a_solution(name: str, numbers: tuple[str, ...]) -> None:
    """All of 200 samples, by the mass matrix itself; those with the robot's own inertia have one."""
    robot = SINGULAR[name]("middle.armature" in numbers).build()
    varied, (q, v) = robot.varying(*numbers), _state(robot, 200)
    M = varied.mass_matrix(q, *_zeros(varied))
    assert np.linalg.matrix_rank(M, tol=1e-10 * np.abs(M).max()).max() < robot.nv
    with pytest.warns(RuntimeWarning, match="in some samples joint"):
        a = varied.forward_dynamics(q, v, v, *_zeros(varied))
    assert np.isnan(a).all()
    assert np.isfinite(varied.forward_dynamics(q, v, v, *varied.nominal.values())).all()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["ball_hinge", "rods"])
def test_every_function_says_so(name: str, call: str) -> None:
    robot = SINGULAR[name](True).build()
    varied, (q, v) = robot.varying("middle.armature"), _state(robot, 2)
    zeros, built = _zeros(varied), list(varied.nominal.values())
    with pytest.raises(SingularError, match="joint"):
        CALLS[call](varied, q[0], v[0], *zeros)
    both = np.stack([zeros[0], built[0]])
    with pytest.warns(RuntimeWarning, match="in some samples joint"):
        results = CALLS[call](varied, q, v, both)
    assert np.isnan(results[0]).all() and np.isfinite(results[1]).all()


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_mass_matrix", "jacobian"])
def test_parameters_that_are_given_once(call: str) -> None:
    robot = SINGULAR["coaxial"](True).build()
    varied, (q, v) = robot.varying("middle.armature"), _state(robot, 16)
    with pytest.raises(SingularError, match="joint"):
        CALLS[call](varied.at(0.0), q[0], v[0])
    with pytest.warns(RuntimeWarning, match="in some samples joint"):
        results = CALLS[call](varied.at(np.arange(16) % 2 * 0.1), q, v)
    assert np.isnan(results[::2]).all() and np.isfinite(results[1::2]).all()


def test_gimbal_lock() -> None:
    """With armature there is a solution, without it there is none; the message names the reason."""
    b = fb.Builder("ball")
    b.body("ball", joint=SphericalEuler("zyx"), armature=0.1, **_rigid(1, 1.0, 1.0))
    varied = b.build().varying("ball.armature")
    q, zero = np.array([0.3, np.pi / 2, 0.4]), np.zeros(3)
    assert np.isfinite(varied.forward_dynamics(q, zero, zero, [0.1] * 3)).all()
    with pytest.raises(SingularError, match="gimbal lock"):
        varied.forward_dynamics(q, zero, zero, zero)
    with pytest.raises(SingularError, match="gimbal lock"):
        varied.at(zero).forward_dynamics(q, zero, zero)


def test_a_chain_that_a_gear_holds_has_a_solution() -> None:
    """Zero armature where the mass matrix is regular: the same as from the mass matrix."""
    b = _chain(Spherical(), Revolute("z"), (0, 0, 0), True)
    b.body("rotor", parent="base", joint=Revolute("z"), **_rigid(6, 1.0, 1.0))
    robot = b.loop(fb.loops.Gear("end", "rotor", 3.0), name="gear").build()
    varied, (q, v) = robot.varying("middle.armature"), _state(robot, 50)
    zero = np.zeros(3)
    a = varied.forward_dynamics(q, v, v, zero)
    force = varied.bias_force(q, v, zero)
    expected = np.linalg.solve(varied.mass_matrix(q, zero), (v - force)[..., None])[..., 0]
    assert np.abs(a - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("armature", [1e-8, 1e-3])
def test_little_armature_is_enough(armature: float) -> None:
    robot = SINGULAR["ball_hinge"](True).build()
    varied, (q, v) = robot.varying("middle.armature"), _state(robot, 50)
    given = np.full(3, armature)
    a = varied.forward_dynamics(q, v, v, given)
    assert np.isfinite(a).all()
    left = varied.inverse_dynamics(q, v, a, given) - v
    assert np.abs(left).max() < 1e-5
