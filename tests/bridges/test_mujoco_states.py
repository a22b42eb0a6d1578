"""MuJoCo's states, wrenches, Jacobians and momentum on random trees with every joint it has, several on some bodies."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar import ArgumentError, convert

from .comparison import each, near
from .mjcf_models import LOOPS

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers
SEEDS = pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.quick), 1, 2])
SAMPLES = 4


def joints(rng: np.random.Generator, root: bool) -> str:
    """The joints of a body: a free one, a ball, hinges and slides with anchors and references, or none."""

    def one(kind: str) -> str:
        axis, at = (" ".join(map(str, rng.normal(size=3))) for _ in range(2))
        shift = f'ref="{rng.normal()}"' if rng.random() < 0.5 else ""
        where = f'pos="{at}"' if kind != "slide" and rng.random() < 0.6 else ""
        own = f'axis="{axis}" {shift}' if kind != "ball" else ""
        return f'<joint type="{kind}" {own} {where} armature="{rng.uniform(0, 0.2)}"/>'

    choice = int(rng.integers(7))
    if root and choice < 3:
        return "<freejoint/>"
    kinds = (["hinge"], ["slide"], ["ball"], ["hinge", "hinge"], ["slide", "hinge"], ["ball", "slide"], [])[choice]
    return "".join(map(one, kinds))


def tree(seed: int) -> str:
    """Twelve bodies on one another or on the ground, each of random shape."""
    rng = np.random.default_rng(seed)
    inside: dict[int, list[int]] = {-1: []}
    for i in range(12):
        carrier = int(rng.integers(-1, i)) if i else -1
        inside.setdefault(carrier, []).append(i)

    def body(i: int, root: bool) -> str:
        at, quat, com = (" ".join(map(str, rng.normal(size=n))) for n in (3, 4, 3))
        L = rng.normal(size=(3, 3))
        J = np.trace(L @ L.T) * np.eye(3) - L @ L.T
        full = " ".join(map(str, [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]))
        inertial = f'<inertial pos="{com}" mass="{rng.uniform(0.5, 2)}" fullinertia="{full}"/>'
        own = "<freejoint/>" if i == 0 else joints(rng, root)
        rest = "".join(body(k, False) for k in inside.get(i, []))
        return f'<body name="b{i}" pos="{at}" quat="{quat}">{own}{inertial}{rest}</body>'

    bodies = "".join(body(i, True) for i in inside[-1])
    return f'<mujoco><compiler angle="radian"/><option gravity="0.5 -1 -9.7"/><worldbody>{bodies}</worldbody></mujoco>'


@cache
def peer_of(seed: int) -> Any:
    from fourbar.bridges.mujoco import Peer

    return Peer(mujoco.MjModel.from_xml_string(tree(seed)))


def data_at(peer: Any, q: np.ndarray, v: np.ndarray) -> Any:
    """MuJoCo's data at one of our states."""
    data = mujoco.MjData(peer.model)
    data.qpos[:], data.qvel[:] = peer.q_to_peer(q), peer.v_to_peer(v, q)
    mujoco.mj_forward(peer.model, data)
    return data


def states(peer: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    q = peer.robot.random(rng, SAMPLES)
    v, a = rng.normal(size=(2, SAMPLES, peer.robot.nv))
    return q, v, a


@pytest.mark.quick
def test_the_trees_have_every_joint() -> None:
    kinds = {int(k) for seed in range(3) for k in peer_of(seed).model.jnt_type}
    assert kinds == {0, 1, 2, 3}
    assert any(peer_of(seed).model.body_jntnum.max() > 1 for seed in range(3))


@SEEDS
def test_dynamics(seed: int) -> None:
    peer = peer_of(seed)
    q, v, a = states(peer)

    def inverse(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        data = data_at(peer, q, v)
        data.qacc[:] = peer.a_to_peer(a, q, v)
        mujoco.mj_inverse(peer.model, data)
        return data.qfrc_inverse

    tau = each(inverse, q, v, a)
    near(peer.robot.inverse_dynamics(q, v, a), peer.force_from_peer(tau, q), 1e-12)
    near(peer.states.force_to_peer(peer.force_from_peer(tau, q), q), tau, 1e-14)

    def mass(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        M = np.zeros((peer.model.nv, peer.model.nv))
        mujoco.mj_fullM(peer.model, data_at(peer, q, v), M)
        return M

    M = each(mass, q, v)
    near(peer.robot.mass_matrix(q), peer.matrix_from_peer(M, q), 1e-12)
    near(peer.states.matrix_to_peer(peer.robot.mass_matrix(q), q), M, 1e-12)


@SEEDS
def test_accelerations_under_applied_wrenches(seed: int) -> None:
    """Forward dynamics with `xfrc_applied` and `qfrc_applied`."""
    peer = peer_of(seed)
    q, v, tau = states(peer)
    f = np.zeros((SAMPLES, len(peer.robot.names.bodies), 6))
    f[:, peer.bodies] = np.random.default_rng(1).normal(size=(SAMPLES, len(peer.bodies), 6))
    applied = peer.wrenches_to_peer(f, q)
    near(peer.wrenches_from_peer(applied, q), f, 1e-13)

    def forward(q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
        data = data_at(peer, q, v)
        data.qfrc_applied[:], data.xfrc_applied[:] = peer.force_to_peer(tau, q), wrenches
        mujoco.mj_forward(peer.model, data)
        return data.qacc

    theirs = peer.a_from_peer(each(forward, q, v, tau, applied), q, v)
    ours = peer.robot.forward_dynamics(q, v, tau, f_ext=f)
    near(ours, theirs, 1e-11)
    near(peer.a_from_peer(peer.a_to_peer(ours, q, v), q, v), ours, 1e-14)


@SEEDS
def test_poses_and_velocities_of_bodies(seed: int) -> None:
    """`mj_objectVelocity` in local axes is our twist."""
    peer = peer_of(seed)
    q, v, _ = states(peer)

    def places(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        data = data_at(peer, q, v)
        return np.concatenate([data.xpos, data.xquat], axis=-1)

    both = each(places, q, v)
    near(peer.robot.poses(q)[:, peer.bodies], peer.poses_from_peer(both[..., :3], both[..., 3:]), 1e-14)

    def moving(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        data, found = data_at(peer, q, v), np.zeros((peer.model.nbody - 1, 6))
        for i in range(1, peer.model.nbody):
            mujoco.mj_objectVelocity(peer.model, data, mujoco.mjtObj.mjOBJ_XBODY, i, found[i - 1], 1)
        return found

    near(peer.robot.twists(q, v)[:, peer.bodies], each(moving, q, v), 1e-13)


@SEEDS
def test_jacobians_and_momentum(seed: int) -> None:
    peer = peer_of(seed)
    q, v, _ = states(peer)
    last = peer.model.nbody - 1
    point = (0.3, -0.2, 0.1)

    def pair(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        data, J = data_at(peer, q, v), np.zeros((2, 3, peer.model.nv))
        at = data.xpos[last] + data.xmat[last].reshape(3, 3) @ point
        mujoco.mj_jac(peer.model, data, J[0], J[1], at, last)
        return J

    J = each(pair, q, v)
    ours = peer.robot.jacobian(q, peer.model.body(last).name, at=point)
    near(ours, peer.jacobian_from_peer(J[:, 0], J[:, 1], q), 1e-13)
    near(np.stack(peer.jacobian_to_peer(ours, q), axis=1), J, 1e-13)

    def momentum(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        data = data_at(peer, q, v)
        mujoco.mj_subtreeVel(peer.model, data)
        return np.stack([data.subtree_linvel[0], data.subtree_angmom[0], data.subtree_com[0]])

    h = each(momentum, q, v)
    near(peer.robot.momentum(q, v), peer.momentum_from_peer(h[:, 0], h[:, 1], h[:, 2], q), 1e-13)


@SEEDS
def test_states_come_back_and_rates_agree(seed: int) -> None:
    """There and back; and `mj_integratePos` along their velocity leads where ours leads."""
    peer = peer_of(seed)
    q, v, _ = states(peer)
    near(peer.q_from_peer(peer.q_to_peer(q)), q, 1e-15)
    near(peer.v_from_peer(peer.v_to_peer(v, q), q), v, 1e-14)
    assert np.abs(peer.q_to_peer(q)).shape == (SAMPLES, peer.model.nq)
    h = 1e-6

    def moved(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found = [q.copy(), q.copy()]
        for x, sign in zip(found, (1, -1), strict=True):
            mujoco.mj_integratePos(peer.model, x, v, sign * h)
        return found[0] - found[1]

    theirs = each(moved, peer.q_to_peer(q), peer.v_to_peer(v, q)) / (2 * h)
    ours = (peer.robot.integrate(q, v, h) - peer.robot.integrate(q, v, -h)) / (2 * h)
    near(ours, theirs, 1e-8)


@SEEDS
def test_the_map_without_mujoco_is_the_same(seed: int) -> None:
    """Given the order of the joints only, and in another order of ours."""
    peer = peer_of(seed)
    q, v, a = states(peer)
    alone = convert.state_map(peer.robot, "mujoco")
    assert np.array_equal(alone.q_to_peer(q), peer.q_to_peer(q))
    assert np.array_equal(alone.v_to_peer(v, q), peer.v_to_peer(v, q))
    assert np.array_equal(alone.a_to_peer(a, q, v), peer.a_to_peer(a, q, v))


def test_loops_take_all_joints() -> None:
    """q and v of a robot with loops become those of all joints and come back; forces are collected."""
    from fourbar.bridges.mujoco import Peer

    for text, free in (LOOPS[name] for name in ("connect", "weld with a pose", "quartic", "two tendons", "several")):
        peer = Peer(mujoco.MjModel.from_xml_string(text))
        q = peer.robot.random(0, 2)
        v = np.random.default_rng(0).normal(size=(2, free))
        assert peer.q_to_peer(q).shape == (2, peer.model.nq)
        near(peer.q_from_peer(peer.q_to_peer(q)), q, 1e-12)
        near(peer.v_from_peer(peer.v_to_peer(v, q), q), v, 1e-12)
        theirs = peer.a_to_peer(v, q, v)  # near a toggle position some joints accelerate a lot
        assert np.abs(peer.a_from_peer(theirs, q, v) - v).max() <= 1e-13 * max(1.0, np.abs(theirs).max())
        force = np.random.default_rng(1).normal(size=(2, peer.model.nv))
        power = (force * peer.v_to_peer(v, q)).sum(axis=-1)
        assert np.allclose((peer.force_from_peer(force, q) * v).sum(axis=-1), power, rtol=0, atol=1e-11)
        with pytest.raises(ArgumentError, match="has loops, which depend on q"):
            peer.v_to_peer(v)
        with pytest.raises(ArgumentError, match="many forces of all joints make the same"):
            peer.force_to_peer(v, q)


def test_what_mujoco_does_not_have_is_refused() -> None:
    """A wrench on a body between two joints; velocities of a free joint without q."""
    seed = next(s for s in range(3) if len(peer_of(s).bodies) < len(peer_of(s).robot.names.bodies))
    peer = peer_of(seed)
    q, v, a = states(peer)
    f = np.ones((SAMPLES, len(peer.robot.names.bodies), 6))
    with pytest.raises(ArgumentError, match=r"MuJoCo has no body .* to apply a wrench to"):
        peer.wrenches_to_peer(f, q)
    with pytest.raises(ArgumentError, match="give our q as well"):
        peer.v_to_peer(v)
    with pytest.raises(ArgumentError, match="give our v as well"):
        peer.a_to_peer(a, q)
