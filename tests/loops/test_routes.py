"""Five routes to the accelerations of every mechanism, and two to its forces and to its operational-space inertia."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar import baselines

from .looped import EACH, NAMES, State, error, mechanism, near, spanning, state, transposed
from .routes import Problem, by_gauss, by_sparse_factors, independent_of, problems

EPS = np.finfo(float).eps
ALLOWED = 200.0  # times condition number times rounding
WELL = 1e5  # a condition number up to which the routes agree to 1e-9 at least


def _solved(name: str, speed: float) -> tuple[State, list[Problem], np.ndarray, np.ndarray]:
    """A state, its samples, the cluster algorithm's accelerations, and what the others may differ by."""
    robot, s = mechanism(name), state(name, speed=speed)
    samples = problems(robot, s)
    condition = np.array([p.condition() for p in samples])
    assert condition.max() < WELL, "the states of these tests are meant to be well conditioned"
    a = robot.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext)
    return s, samples, a, ALLOWED * EPS * condition * np.abs(a).max(axis=-1)


@pytest.mark.default_cases("0.0-four_bar", "1.0-geared", "1.0-differential", "5.0-own_coordinate", "1.0-guided")
@EACH
@pytest.mark.parametrize("speed", [0.0, 1.0, 5.0])
def test_five_routes_to_forward_dynamics(name: str, speed: float) -> None:
    robot = mechanism(name)
    s, samples, a, allowed = _solved(name, speed)
    routes = {
        "projection": baselines.projection_forward_dynamics(robot, s.q, s.v, s.tau, s.f_ext),
        "multipliers": baselines.lagrange_forward_dynamics(robot, s.q, s.v, s.tau, s.f_ext),
        "sparse multipliers": independent_of(robot, np.array([by_sparse_factors(p) for p in samples])),
        "Gauss": independent_of(robot, np.array([by_gauss(p) for p in samples])),
    }
    if all(np.linalg.cond(p.H) < WELL for p in samples):  # no body without mass hangs on a loop alone
        routes["multipliers along the tree"] = baselines.sparse_lagrange_forward_dynamics(
            robot, s.q, s.v, s.tau, s.f_ext
        )
    for found in routes.values():
        near(found, a, 1.0, allowed)
        near(found, a, 1e-9)


@EACH
def test_all_accelerations_and_the_forces_of_the_loops(name: str) -> None:
    """Multipliers give G a + g, and forces of the loops that do no work; the whole is balanced."""
    robot, s = mechanism(name), state(name)
    every, multipliers = baselines.lagrange_accelerations(robot, s.q, s.v, s.tau, s.f_ext)
    a = robot.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext)
    near(every, robot.expand_acceleration(s.q, s.v, a), 1e-12)
    K, _ = baselines.loop_constraints(robot, s.q, s.v)
    pull = np.einsum("bmn,bm->bn", K, multipliers)
    driven = baselines.spanning_forces(robot, s.tau)
    needed = spanning(robot).inverse_dynamics(robot.expand(s.q), robot.expand_velocity(s.q, s.v), every, f_ext=s.f_ext)
    size = np.abs(driven).max(axis=-1) + np.abs(pull).max(axis=-1)
    near(driven + pull, needed, 1e-12, size)
    G = robot.loop_map(s.q)
    near(np.einsum("bnk,bn->bk", G, pull), np.zeros_like(a), 1e-12, size * np.abs(G).max(axis=(1, 2)))


@EACH
def test_two_routes_to_inverse_dynamics(name: str) -> None:
    robot, s = mechanism(name), state(name)
    for force in (None, s.f_ext):
        tau = robot.inverse_dynamics(s.q, s.v, s.a, f_ext=force)
        near(baselines.projected_inverse_dynamics(robot, s.q, s.v, s.a, force), tau, 1e-12)


@EACH
def test_loops_hold_what_they_say(name: str) -> None:
    """K G = 0 and K g = k: the map to all velocities against the derivatives of the loops, every row of them."""
    robot, s = mechanism(name), state(name)
    K, k = baselines.loop_constraints(robot, s.q, s.v)
    G, g = robot.loop_map(s.q), robot.loop_bias(s.q, s.v)
    near(K @ G, np.zeros_like(K @ G), 1e-13, np.abs(K).max(axis=(1, 2)) * np.abs(G).max(axis=(1, 2)) * K.shape[-1])
    size = np.abs(K).max(axis=(1, 2)) * np.abs(g).max(axis=-1) + np.abs(k).max(axis=-1)
    near(np.einsum("bmn,bn->bm", K, g), k, 1e-12, size)


@pytest.mark.parametrize("name", ["chained", "tripod", "geared"])
def test_two_routes_to_the_inverse_operational_space_inertia(name: str) -> None:
    """Frames within a cluster, on what it carries, and far apart."""
    robot, q = mechanism(name), state(name).q
    frames = list(robot.names.bodies[-3:])
    omega = robot.osim_inverse(q, frames=frames)
    near(omega, baselines.projected_osim(robot, q, frames), 1e-11)
    near(omega, transposed(omega), 1e-12)


def test_baselines_take_any_leading_axes() -> None:
    robot, s = mechanism("four_bar"), state("four_bar")
    q, v, tau = s.q[:4].reshape(2, 2, -1), s.v[:4].reshape(2, 2, -1), s.tau[:1]
    a = robot.forward_dynamics(q, v, tau)
    for route in (baselines.projection_forward_dynamics, baselines.lagrange_forward_dynamics):
        assert route(robot, q, v, tau).shape == (2, 2, 1)
        assert error(route(robot, q, v, tau), a) < 1e-13
        assert error(route(robot, q[0, 0], v[0, 0], tau[0])[None], a[0, :1]) < 1e-13
    assert baselines.projected_inverse_dynamics(robot, q, v, a).shape == (2, 2, 1)
    assert baselines.projected_osim(robot, q, ["coupler"]).shape == (2, 2, 6, 6)


def test_baselines_on_a_tree() -> None:
    """Without loops all of them are the tree's own algorithms."""
    robot = spanning(mechanism("four_bar"))
    rng = np.random.default_rng(1)
    q, v, tau = rng.normal(size=(3, 4, 3))
    a = robot.forward_dynamics(q, v, tau)
    near(baselines.projection_forward_dynamics(robot, q, v, tau), a, 1e-13)
    near(baselines.lagrange_forward_dynamics(robot, q, v, tau), a, 1e-13)
    assert not baselines.reflected_inertia(robot).any()
    assert baselines.reflected_robot(robot).mechanism == robot.mechanism


def test_every_mechanism_is_tested() -> None:
    """All kinds of loops are there, merged and single clusters, explicit and implicit ones."""
    robots = [mechanism(name) for name in NAMES]
    kinds = {type(loop.loop).__name__ for robot in robots for loop in robot.mechanism.loops}
    assert kinds == {
        "Closure",
        "Constraint",
        "Coupling",
        "Differential",
        "Distance",
        "Gear",
        "Parametric",
        "Polynomial",
    }
    assert any(len(c.loops) > 2 for robot in robots for c in robot.clusters)
    assert {c.carrier == "world" for robot in robots for c in robot.clusters if c.loops} == {True, False}
    assert {robot.nq > robot.nv for robot in robots} == {True}
