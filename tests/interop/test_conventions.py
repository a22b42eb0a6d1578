"""Maps of states to the conventions of peers, without them: round trips, power, rates, orders, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, UnknownNameError, convert
from fourbar.interop import PEERS, convention
from fourbar.joints import (
    Composite,
    Cylindrical,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    SphericalEuler,
    Translation2,
    Translation3,
    Universal,
)
from fourbar.spatial.transform import Transform

EACH_PEER = pytest.mark.parametrize("peer", PEERS)
JOINTS: dict[str, Joint] = {
    "root": Free(),
    "ball": Spherical(),
    "table": Planar("y"),
    "hinge": Revolute((0.6, 0.0, 0.8)),
    "slide": Prismatic("x"),
    "cross": Universal(),
    "piston": Cylindrical("z"),
    "angles": SphericalEuler("zyx"),
    "stage": Translation3(),
    "shift": Translation2(),
    "several": Composite(
        Prismatic("x"), Spherical(), Transform.of(np.eye(3).tolist(), (0.1, 0.2, 0.3)), Prismatic("z")
    ),
    "last": Revolute("z"),
}
VARIANTS = {"pinocchio": {"hinge": "unbounded"}, "mujoco": {}, "drake": {"root": "rpy"}}


@pytest.fixture(scope="module")
def robot() -> fb.System:
    b = fb.Builder("all")
    for name, joint in JOINTS.items():
        b.body(name, joint=joint, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
    b.body("welded", parent="root", mass=1.0)
    return b.build()


def maps(peer: str, robot: fb.System) -> list[convert.StateMap]:
    """In our order, in another, and with variants."""
    names = [c.name for c in robot.mechanism.joints if c.joint.nv]
    other = [names[i] for i in np.random.default_rng(4).permutation(len(names))]
    return [convert.state_map(robot, peer), convert.state_map(robot, peer, other, VARIANTS[peer])]


@EACH_PEER
def test_states_come_back(peer: str, robot: fb.System) -> None:
    rng = np.random.default_rng(0)
    q, v, a = robot.random(rng, 5), *rng.normal(size=(2, 5, robot.nv))
    for states in maps(peer, robot):
        theirs = states.q_to_peer(q)
        assert theirs.shape == (5, states.peer_nq)
        assert np.abs(robot.poses(states.q_from_peer(theirs)) - robot.poses(q)).max() < 1e-14
        assert np.abs(states.v_from_peer(states.v_to_peer(v, q), q) - v).max() < 1e-14
        assert np.abs(states.a_from_peer(states.a_to_peer(a, q, v), q, v) - a).max() < 2e-14
        J = rng.normal(size=(5, 6, robot.nv))
        assert np.abs(states.columns_from_peer(states.columns_to_peer(J, q), q) - J).max() < 1e-14
        M = rng.normal(size=(5, robot.nv, robot.nv))
        assert np.abs(states.matrix_from_peer(states.matrix_to_peer(M, q), q) - M).max() < 2e-14


@EACH_PEER
def test_power_velocity_and_energy_are_the_same(peer: str, robot: fb.System) -> None:
    rng = np.random.default_rng(1)
    q, v, tau = robot.random(rng, 5), *rng.normal(size=(2, 5, robot.nv))
    J, M = robot.jacobian(q, "welded"), robot.mass_matrix(q)
    for states in maps(peer, robot):
        theirs = states.v_to_peer(v, q)
        power = (states.force_to_peer(tau, q) * theirs).sum(axis=-1)
        assert np.abs(power - (tau * v).sum(axis=-1)).max() < 2e-14
        assert np.abs(states.force_from_peer(states.force_to_peer(tau, q), q) - tau).max() < 1e-14
        moved = np.einsum("bij,bj->bi", states.columns_to_peer(J, q), theirs)
        assert np.abs(moved - np.einsum("bij,bj->bi", J, v)).max() < 1e-14
        energy = np.einsum("bi,bij,bj->b", theirs, states.matrix_to_peer(M, q), theirs) / 2
        assert np.abs(energy - robot.kinetic_energy(q, v)).max() < 1e-12


@EACH_PEER
def test_accelerations_are_rates_of_velocities(peer: str, robot: fb.System) -> None:
    """Along q(t), v(t) with v̇ = a the peer's velocities change with the peer's accelerations."""
    rng = np.random.default_rng(2)
    q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
    h = 1e-5
    for states in maps(peer, robot):
        ahead, behind = (states.v_to_peer(v + s * a, robot.integrate(q, v + 0.5 * s * a, s)) for s in (h, -h))
        assert np.abs((ahead - behind) / (2 * h) - states.a_to_peer(a, q, v)).max() < 1e-8


@EACH_PEER
def test_joints_in_series_are_stored_one_after_the_other(peer: str) -> None:
    stored = convention(peer, JOINTS["several"])
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=(4, stored.nq)), rng.normal(size=(4, stored.nv))
    q[:, 1:5] /= np.linalg.norm(q[:, 1:5], axis=-1, keepdims=True)
    assert np.abs(stored.v_from_peer(q, stored.v_to_peer(q, v)) - v).max() < 1e-14
    assert stored.q_to_peer(q).shape == (4, stored.peer_nq)
    assert np.abs(stored.v_to_peer(q, v)[:, 0] - v[:, 0]).max() == 0.0


def test_numbers_by_hand() -> None:
    """A quarter turn about z, moving forward (body x) and rolling about body x."""
    free, half = Free(), np.sqrt(0.5)
    q = np.array([1.0, 2.0, 3.0, half, 0.0, 0.0, half])
    v = np.array([0.1, 0.0, 0.5, 2.0, 0.0, 0.0])
    expected: dict[str, Any] = {
        "pinocchio": ([1, 2, 3, 0, 0, half, half], [2, 0, 0, 0.1, 0, 0.5]),
        "mujoco": (q, [0, 2, 0, 0.1, 0, 0.5]),
        "drake": ([half, 0, 0, half, 1, 2, 3], [0, 0.1, 0.5, 0, 2, 0]),
    }
    for peer, (their_q, their_v) in expected.items():
        stored = convention(peer, free)
        assert np.allclose(stored.q_to_peer(q), their_q, rtol=0, atol=1e-15)
        assert np.allclose(stored.v_to_peer(q, v), their_v, rtol=0, atol=1e-15)
    rpy = convention("drake", free, "rpy")
    assert np.allclose(rpy.q_to_peer(q), [0, 0, np.pi / 2, 1, 2, 3], rtol=0, atol=1e-15)


def test_loops_are_taken_through_all_joints() -> None:
    bars = fb.robots.four_bar()
    with pytest.raises(ArgumentError, match=r"has loops.*robot.spanning\(\)"):
        convert.state_map(bars, "mujoco")
    states = convert.state_map(bars.spanning(), "mujoco")
    q, v = bars.random(0), np.ones(bars.nv)
    assert np.array_equal(states.v_to_peer(bars.expand_velocity(q, v)), bars.expand_velocity(q, v))
    assert np.allclose(convert.reduced_coordinates(bars, bars.expand(q)), q)
    assert np.allclose(convert.reduced_velocities(bars, bars.expand_velocity(q, v)), v)


def test_errors(robot: fb.System) -> None:
    q, v = robot.random(0), np.ones(robot.nv)
    states = convert.state_map(robot, "mujoco")
    with pytest.raises(ArgumentError, match=r"mujoco stores the velocities of joint 'root' in other axes.*give our q"):
        states.v_to_peer(v)
    with pytest.raises(ArgumentError, match="acceleration of joint 'root' depends on the velocity: give our v"):
        states.a_to_peer(v, q)
    with pytest.raises(ArgumentError, match=r"mujoco's q must have shape"):
        states.q_from_peer(q[1:])
    with pytest.raises(UnknownNameError, match="no peer 'bullet'; known: pinocchio, mujoco, drake"):
        convert.state_map(robot, "bullet")
    with pytest.raises(UnknownNameError, match="no moving joint 'hing'; did you mean 'hinge'"):
        convert.state_map(robot, "drake", ["hing"])
    with pytest.raises(
        ArgumentError, match=r"every moving joint once; it has 1 names for 12 joints, 'ball' is missing"
    ):
        convert.state_map(robot, "drake", ["root"])
    with pytest.raises(ArgumentError, match=r"pinocchio has no variant 'rpy' of Free\(\).*Revolute 'unbounded'"):
        convert.state_map(robot, "pinocchio", variants={"root": "rpy"})
    with pytest.raises(ArgumentError, match="mujoco has no joint like Schoenflies"):
        convention("mujoco", Schoenflies())
