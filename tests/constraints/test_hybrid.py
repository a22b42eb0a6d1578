"""Hybrid dynamics under constraints (Kim eq. 70-80), and impulses."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest
import scipy.linalg

from fourbar import ArgumentError, Builder, ModelError, SingularError, UnknownNameError
from fourbar.constraints import Contact
from fourbar.expr import Direct
from fourbar.functions import arguments
from fourbar.functions.context import Context
from fourbar.functions.methods.dynamics import hybrid_parts
from fourbar.joints import Revolute, Spherical
from tests.loops.looped import apply, near, transposed

from .held import State, equations, exact, held, state, walker

pytestmark = pytest.mark.drawn_in_line

PRESCRIBED = ["right_foot", "left_shin", "arm"]


def _places(names: list[str]) -> np.ndarray:
    return np.array([x.partition(".")[0] in names for x in walker().names.velocities])


def _exact_hybrid(parts: tuple[np.ndarray, ...], u: np.ndarray, a_u: np.ndarray) -> tuple[np.ndarray, ...]:
    """a, τ_u and λ of one sample in 30 digits: unknown a_v, τ_u, λ; all rows independent over the v."""
    M, force, A, b = parts  # force has τ at the v, and no τ at the u
    n, m = len(force), len(b)
    with mpmath.workdps(30):
        K = mpmath.zeros(n + m, n + m)
        right = mpmath.matrix([*force.tolist(), *(-b).tolist()])
        for j in range(n):
            column = np.concatenate([M[:, j], A[:, j]])
            if u[j]:
                for i in range(n + m):
                    right[i] -= mpmath.mpf(column[i]) * mpmath.mpf(a_u[j])
                K[j, j] = -1
            else:
                for i in range(n + m):
                    K[i, j] = column[i]
        for i in range(n):
            for k in range(m):
                K[i, n + k] = -A[k, i]
        x = np.array([float(y) for y in mpmath.lu_solve(K, right)])
    return np.where(u, a_u, x[:n]), x[:n][u], x[n:]


@pytest.mark.parametrize("name", ["point", "between", "loops"])
def test_equations_in_high_precision(name: str) -> None:
    c, s, u = held(name), state(name), _places(PRESCRIBED)
    wanted = np.random.default_rng(2).normal(size=s.v.shape)
    a, tau, force = c.hybrid_dynamics(s.q, s.v, wanted, s.tau, prescribed=PRESCRIBED, f_ext=s.f_ext)
    given = State(s.q, s.v, np.where(u, 0.0, s.tau), s.f_ext)
    found = [_exact_hybrid(parts, u, w) for *parts, w in zip(*equations(c, given, s.f_ext), wanted, strict=True)]
    near(a, np.array([x for x, _, _ in found]), 1e-11)
    near(tau[:, u], np.array([x for _, x, _ in found]), 1e-11)
    near(force, np.array([x for _, _, x in found]), 1e-11)
    assert np.array_equal(tau[:, ~u], s.tau[:, ~u])
    near(c.forward_dynamics(s.q, s.v, tau, f_ext=s.f_ext)[0], a, 1e-10)


def test_more_rows_than_free_joints() -> None:
    """Nearly all is prescribed, as the constraints allow: λ is the least that the free joints leave (m > n_v)."""
    c, s = held("weld"), state("weld")
    allowed, _ = c.forward_dynamics(s.q, s.v, s.tau)
    names = ["trunk", "left_hip", "right_hip", "left_shin", "right_shin", "crank", "arm", "slide", "cart"]
    u = _places(names)
    assert (~u).sum() == 2 < c.m
    a, tau, force = c.hybrid_dynamics(s.q, s.v, allowed, s.tau, prescribed=names)
    near(a, allowed, 1e-11)
    needed = walker().inverse_dynamics(s.q, s.v, a)
    near(tau + apply(transposed(c.jacobian(s.q)), force), needed, 1e-11)
    for A, f, t, lam in zip(c.jacobian(s.q), needed, s.tau, force, strict=True):
        least = np.linalg.pinv(A[:, ~u].T, rcond=1e-9) @ (f - t)[~u]
        near(lam[None], least[None], 1e-10)
    again, small, other = c.hybrid_dynamics(s.q, s.v, allowed, s.tau, prescribed=names, least="torque")
    near(again, a, 1e-14)
    near(small + apply(transposed(c.jacobian(s.q)), other), needed, 1e-11)
    assert np.array_equal(small[:, ~u], s.tau[:, ~u])
    assert np.all((small[:, u] ** 2).sum(-1) < (tau[:, u] ** 2).sum(-1))
    for A, x in zip(c.jacobian(s.q), small, strict=True):  # no change of λ that the free joints do not feel helps
        silent = scipy.linalg.null_space(A[:, ~u].T, rcond=1e-9)
        near((silent.T @ A[:, u] @ x[u])[None], np.zeros((1, silent.shape[1])), 1e-10, np.abs(x).max() * np.ones(1))
    with pytest.raises(ArgumentError, match="least='force'"):
        c.hybrid_dynamics(s.q, s.v, allowed, s.tau, prescribed=names, least="force")
    with pytest.raises(SingularError, match="contradict"):
        c.hybrid_dynamics(s.q[0], s.v[0], allowed[0] + u, s.tau[0], prescribed=names)


def test_names() -> None:
    c, s = held("weld"), state("weld")
    with pytest.raises(UnknownNameError, match="no independent moving joint 'armm'"):
        c.hybrid_dynamics(s.q, s.v, s.v, s.tau, prescribed=["armm"])


@pytest.mark.default_cases("rotor", "functions")
@pytest.mark.parametrize("name", ["plane", "rotor", "functions", "closed"])
def test_impulse_in_high_precision(name: str) -> None:
    robot, c, s = walker(), held(name), state(name)
    v = np.random.default_rng(7).normal(size=s.v.shape)
    after, impulse = c.impulse(s.q, v)
    M, A = robot.mass_matrix(s.q), c.jacobian(s.q)
    for i in range(len(v)):
        expected = exact(M[i], np.zeros(robot.nv), A[i], A[i] @ v[i])
        near((after - v)[i][None], expected[0][None], 1e-11, np.abs(v[i]).max() * np.ones(1))
        near(impulse[i][None], expected[1][None], 1e-11)
    lost = robot.kinetic_energy(s.q, v) - robot.kinetic_energy(s.q, after)
    near(lost[:, None], robot.kinetic_energy(s.q, v - after)[:, None], 1e-11)  # Carnot


def test_elastic_impacts_keep_energy() -> None:
    robot, c, s = walker(), held("point"), state("point")
    v = np.random.default_rng(8).normal(size=s.v.shape)
    after, _ = c.impulse(s.q, v, restitution=np.ones(c.m))
    near(robot.kinetic_energy(s.q, after)[:, None], robot.kinetic_energy(s.q, v)[:, None], 1e-12)
    half, _ = c.impulse(s.q, v, restitution=np.full(c.m, 0.5))
    near(c.rate(s.q, half), -0.5 * c.rate(s.q, v), 1e-12)


def test_momentum_is_kept_where_nothing_outside_pushes() -> None:
    robot = walker()
    c = robot.constrained(Contact("tip", "weld", to="right_sole"))
    q = robot.random(3)
    v = np.random.default_rng(9).normal(size=robot.nv)
    after, _ = c.impulse(q, v)
    near(robot.momentum(q, after)[None], robot.momentum(q, v)[None], 1e-12)


def test_names_that_can_be_read_once_travel_too() -> None:
    c, s = held("weld"), state("weld")
    for least in ("torque", "constraint"):
        f = c.hybrid_dynamics.specialise((name for name in PRESCRIBED), least)
        found = pickle.loads(pickle.dumps(f))(s.q, s.v, s.v, s.tau)
        for x, y in zip(f(s.q, s.v, s.v, s.tau), found, strict=True):
            near(x, y, 1e-14)


def test_results_go_into_arrays_that_can_hold_them() -> None:
    """Written into whole numbers they would lose their fractions."""
    c, s = held("weld"), state("weld")
    a, force = c.forward_dynamics(s.q, s.v, s.tau)
    out = np.empty_like(a), np.empty_like(force)
    assert c.forward_dynamics(s.q, s.v, s.tau, out=out) is out
    assert np.array_equal(out[0], a) and np.array_equal(out[1], force)
    frozen = np.zeros_like(a)
    frozen.flags.writeable = False
    wrong = {
        r"out \(a\) must be a float64 array.*got int64": (a.astype(int), force.copy()),
        r"out \(force\) must be a float64 array.*got float32": (a.copy(), force.astype(np.float32)),
        r"out \(a\) is read-only": (frozen, force.copy()),
        r"out must be a tuple of 2 arrays \(a, force\), got an array": a.copy(),
    }
    for message, given in wrong.items():
        with pytest.raises(ArgumentError, match=message):
            c.forward_dynamics(s.q, s.v, s.tau, out=given)


def test_constraints_that_hold_nothing_are_refused_by_all() -> None:
    """A point on the axis of the only joint that carries it."""
    b = Builder("idle")
    b.body("wheel", joint=Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    c = b.build().constrained(Contact("wheel", "point"), actuated=["wheel"])
    one = np.ones(1)
    for f in (lambda: c.forward_dynamics, lambda: c.inverse_dynamics):
        with pytest.raises(ModelError, match="the constraints restrict nothing"):
            f()(one, one, one)


def test_a_joint_without_loops_is_held_in_part() -> None:
    """Single velocities of a ball may be held, as those of loops may: it is a cluster of one link."""
    b = Builder("balls")
    for name, parent in (("upper", "world"), ("lower", "upper")):
        b.body(
            name, parent=parent, joint=Spherical(), position=(0, 0, 0.3), mass=1.0, com=(0.1, 0.0, 0.2),
            inertia=(0.2, 0.3, 0.4), armature=0.1,
        )  # fmt: skip
    robot, rng = b.build(), np.random.default_rng(0)
    held_in_part = ((True, False, True), (False, True, False))
    q, (v, a, tau) = robot.random(rng), rng.normal(size=(3, robot.nv))
    given = {name: tuple(map(float, x)) for name, x in zip(("q", "v", "a", "tau"), (q, v, a, tau), strict=True)}
    present = [x.on(robot.model) for x in (arguments.Q, arguments.V, arguments.A, arguments.TAU)]
    parts = hybrid_parts(Context(robot.model, Direct(), present, given), held_in_part)
    found_a, found_tau = (np.array([x for own in part for x in own]) for part in parts)
    u = np.array([x for own in held_in_part for x in own])
    assert np.array_equal(found_a[u], a[u]) and np.array_equal(found_tau[~u], tau[~u])
    near(robot.forward_dynamics(q, v, found_tau)[None], found_a[None], 1e-12)
    welded = Contact("lower", "weld")  # three velocities are left
    assert len(robot.constrained(welded).choose("hybrid_dynamics", {"prescribed": held_in_part}).rows) == 3
    with pytest.raises(ValueError, match=r"links \(0,\) have 3 velocities, got \(True, True\)"):
        robot.constrained(welded).choose("hybrid_dynamics", {"prescribed": ((True, True), (False,) * 3)})
