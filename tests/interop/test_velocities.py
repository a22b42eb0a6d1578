"""Twists of bodies ↔ velocities of joints: three routes, on random mechanisms with every joint and every loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, System, convert
from fourbar.interop.numbered_robot import joint_pose, joint_subspace
from fourbar.joints import REGISTRY

from .robots import EACH, robot, states

ROUTES = [convert.velocities_by_joint, convert.velocities_recursive, convert.velocities_by_least_squares]
EACH_ROUTE = pytest.mark.parametrize("route", ROUTES, ids=lambda f: f.__name__)


@EACH
def test_twists_are_the_velocities_of_the_bodies(name: str) -> None:
    """Against `velocity` of some bodies, and against differences of poses of all."""
    system, (q, v) = robot(name), states(name)
    V, names = system.twists(q, v), system.names.bodies
    for body in {names[0], names[len(names) // 2], names[-1]}:
        expected = system.velocity(q, v, body, expressed_in="frame")
        assert np.abs(V[:, names.index(body)] - expected).max() <= 1e-12 * max(1.0, np.abs(V).max())


@pytest.mark.default_cases("tree0", "four_bar", "own_coordinate")
@EACH
def test_jacobians_make_twists_and_forces(name: str) -> None:
    system, (q, v) = robot(name), states(name)
    J, V = system.jacobians(q), system.twists(q, v)
    assert np.abs(np.einsum("bnij,bj->bni", J, v) - V).max() <= 1e-14 * np.abs(V).max()
    F = np.random.default_rng(1).normal(size=V.shape)
    Q = system.generalized_force(q, F)
    assert np.abs(np.einsum("bnij,bni->bj", J, F) - Q).max() <= 2e-14 * np.abs(Q).max()
    without = system.inverse_dynamics(q, v, 0.0 * v)
    difference = without - system.inverse_dynamics(q, v, 0.0 * v, f_ext=F)
    assert np.abs(difference - Q).max() <= 1e-13 * max(np.abs(without).max(), np.abs(Q).max())


@pytest.mark.default_cases("tree0", "tree1", "four_bar", "geared", "own_coordinate")
@EACH
@EACH_ROUTE
def test_velocities_come_back(name: str, route: Callable[..., convert.Velocities]) -> None:
    system, (q, v) = robot(name), states(name)
    V = system.twists(q, v)
    found = route(system, q, V)
    size = np.abs(V).max()
    assert np.abs(found.residual).max() <= 1e-11 * size
    assert np.abs(found.v - v).max() <= 1e-11 * size
    assert found.residual.shape == V.shape


@EACH
def test_residual_says_what_cannot_be_reached(name: str) -> None:
    """Of any twists, each route leaves V - J v; least squares at origins one perpendicular to all that joints do."""
    system, (q, _v) = robot(name), states(name)
    V = np.random.default_rng(2).normal(size=(len(q), len(system.names.bodies), 6))
    J = system.jacobians(q)
    left = []
    at_origins = partial(convert.velocities_by_least_squares, at="origin")
    for route in (convert.velocities_by_joint, convert.velocities_recursive, at_origins):
        found = route(system, q, V)
        assert np.abs(V - np.einsum("bnij,bj->bni", J, found.v) - found.residual).max() <= 1e-11 * np.abs(J).max()
        left.append(np.linalg.norm(found.residual, axis=(-2, -1)))
    if V.shape[1] * 6 > system.nv:
        assert np.all(left[2] > 0.1)
    assert np.all(left[2] <= 1.0001 * np.minimum(left[0], left[1]))
    scaled = np.einsum("bnij,bni->bj", J, at_origins(system, q, V).residual) / np.linalg.norm(J, axis=(1, 2))
    assert np.abs(scaled).max() <= 1e-12


@pytest.mark.default_cases("tree0", "tree1", "four_bar", "geared", "own_coordinate")
@EACH
def test_least_squares_at_centres_of_mass_and_at_origins(name: str) -> None:
    """Of twists that no v makes: dense least squares in world axes, [all linear; all angular] as in Liu-Jain eq. 60."""
    system, (q, _v) = robot(name), states(name)
    V = np.random.default_rng(7).normal(size=(len(q), len(system.names.bodies), 6))
    com = np.array([body.com for body in system.mechanism.bodies])
    unit = np.eye(system.nv)
    for at, points in (("com", com), ("origin", 0.0 * com)):
        v = convert.velocities_by_least_squares(system, q, V, at=at).v
        for k, poses in enumerate(system.poses(q)):
            columns = [convert.twist_to_world(system.twists(q[k], e), poses, points) for e in unit]
            J = np.stack([np.concatenate([c[:, 3:].ravel(), c[:, :3].ravel()]) for c in columns], axis=-1)
            W = convert.twist_to_world(V[k], poses, points)
            size = np.linalg.norm(J, axis=0)
            expected = np.linalg.lstsq(J / size, np.concatenate([W[:, 3:].ravel(), W[:, :3].ravel()]))[0] / size
            assert np.abs((v[k] - expected) * size).max() <= 1e-11 * np.linalg.norm(W)


def test_least_squares_of_a_bar_by_hand() -> None:
    """A hinge about y, its bar's centre c along x: of a velocity u along z of the origin alone, v = -c u / (1 + c²)."""
    b = fb.Builder("bar")
    b.body("bar", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    bar, V = b.build(), [[0, 0, 0, 0, 0, 2.0]]
    at_com = convert.velocities_by_least_squares(bar, [0.3], V)
    assert np.allclose(at_com.v, [-0.5 * 2.0 / (1 + 0.5**2)], atol=1e-15)
    assert np.allclose(at_com.residual, [[0, 0.8, 0, 0, 0, 2.0]], atol=1e-15)
    assert np.allclose(convert.velocities_by_least_squares(bar, [0.3], V, at="origin").v, [0.0], atol=1e-15)
    with pytest.raises(ArgumentError, match=r"at='centre': expected 'com' .* or 'origin'"):
        convert.velocities_by_least_squares(bar, [0.3], V, at="centre")


@pytest.mark.parametrize("joint", REGISTRY, ids=repr)
def test_one_joint(joint: fb.joints.Joint) -> None:
    """S⁺ undoes S away from singularities; a twist across S is all residual."""
    rng = np.random.default_rng(3)
    q = joint.random(rng, *np.full((2, joint.nq), 0.9) * [[-1.0], [1.0]], (20,)) + 0.05  # type: ignore[misc]
    v = rng.normal(size=(20, joint.nv))
    S = joint_subspace(joint, q)
    found = convert.joint_velocity(joint, q, np.einsum("bij,bj->bi", S, v))
    assert np.abs(found.v - v).max(initial=0.0) < 1e-11
    assert np.abs(found.residual).max() < 1e-12
    other = rng.normal(size=(20, 6))
    left = convert.joint_velocity(joint, q, other).residual
    assert np.abs(np.einsum("bij,bi->bj", S, left)).max(initial=0.0) < 1e-12
    assert joint_pose(joint, q).shape == (20, 4, 4)


def test_broadcasting_and_errors() -> None:
    system = fb.robots.double_pendulum()
    q, v = system.random(0, 3), np.ones((4, 1, 2))
    V = system.twists(q, v)
    found = convert.velocities_by_joint(system, q, V)
    assert found.v.shape == (4, 3, 2) and found.residual.shape == (4, 3, 2, 6)
    assert np.allclose(found.v, 1.0)
    with pytest.raises(ArgumentError, match=r"V must have shape \(..., 2, 6\), got \(4, 3, 2, 5\)"):
        convert.velocities_by_joint(system, q, V[..., :5])
    with pytest.raises(ArgumentError, match=r"q must have shape"):
        convert.velocities_recursive(system, q[..., :1], V)


def test_recursion_leaves_to_children_what_a_joint_cannot_do(two: System) -> None:
    """The first body cannot move along z. By joint, the second does not see it; recursively, it makes up for it."""
    q, V = two.neutral(), np.zeros((2, 6))
    V[0, 5] = V[1, 5] = 1.0
    assert np.allclose(convert.velocities_by_joint(two, q, V).v, [0.0, 0.0])
    assert np.allclose(convert.velocities_recursive(two, q, V).v, [0.0, 1.0])


@pytest.fixture
def two() -> System:
    b = fb.Builder("two")
    b.body("first", joint=fb.joints.Prismatic("x"), mass=1.0)
    b.body("second", parent="first", joint=fb.joints.Prismatic("z"), mass=1.0)
    return b.build()
