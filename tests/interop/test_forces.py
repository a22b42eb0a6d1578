"""Forces of bodies ↔ forces of joints: power is the same however it is counted."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, convert

from .robots import EACH, robot, states


def world_twists(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, v, poses, and the twists of bodies in world axes."""
    q, v = states(name)
    poses = robot(name).poses(q)
    return q, v, poses, convert.twist_to_world(robot(name).twists(q, v), poses)


@pytest.mark.default_cases("tree0", "four_bar", "own_coordinate")
@EACH
def test_force_at_a_point_of_the_world(name: str) -> None:
    """Q · v is the power of force and torque: f · (velocity of the point) + τ' · ω (eq. 67)."""
    q, v, poses, V = world_twists(name)
    rng = np.random.default_rng(0)
    f, torque, point = (rng.normal(size=(*V.shape[:-1], 3)) for _ in range(3))
    F = convert.wrench_from_force(poses, f, point, torque)
    speed = V[..., 3:] + np.cross(V[..., :3], point - poses[..., :3, 3])
    power = (f * speed).sum(axis=-1) + (torque * V[..., :3]).sum(axis=-1)
    Q = robot(name).generalized_force(q, F)
    size = np.abs(power).sum(axis=-1)
    assert np.all(np.abs((Q * v).sum(axis=-1) - power.sum(axis=-1)) <= 1e-13 * np.maximum(size, 1.0))
    back = convert.force_from_wrench(poses, F, point)
    assert np.abs(back[0] - f).max() < 1e-14 and np.abs(back[1] - torque).max() < 5e-14


@EACH
def test_body_and_joint_torques(name: str) -> None:
    """Eq. 68 there and back; the work of body torques is that of joint torques, Q of eq. 67 is Q of eq. 69."""
    q, _v, poses, V = world_twists(name)
    torques = np.random.default_rng(1).normal(size=(*V.shape[:-1], 3))
    on_bodies = convert.body_torques_from_joint_torques(robot(name), q, torques)
    back = convert.joint_torques_from_body_torques(robot(name), q, on_bodies)
    assert np.abs(back - torques).max() < 1e-13
    zero = np.zeros_like(torques)
    F = convert.wrench_from_world(np.concatenate([on_bodies, zero], axis=-1), poses)
    Q = robot(name).generalized_force(q, F)
    assert np.abs(Q - convert.generalized_from_joint_torques(robot(name), q, torques)).max() < 1e-12 * np.abs(Q).max()
    roots = [i for i, c in enumerate(robot(name).mechanism.joints) if c.parent == "world"]
    assert np.abs(on_bodies.sum(axis=-2) - torques[..., roots, :].sum(axis=-2)).max() < 1e-13


@pytest.mark.default_cases("tree0", "four_bar", "own_coordinate")
@EACH
def test_generalized_forces_as_wrenches(name: str) -> None:
    """One of many solutions (eq. 70): it makes Q, and is no longer than another that does."""
    q, v, poses, _V = world_twists(name)
    system = robot(name)
    Q = np.random.default_rng(2).normal(size=v.shape)
    F = convert.wrenches_from_generalized(system, q, Q)
    assert np.abs(system.generalized_force(q, F) - Q).max() < 1e-11
    com = np.array([b.com for b in system.mechanism.bodies])
    any_F = np.random.default_rng(3).normal(size=F.shape)
    other = F + any_F - convert.wrenches_from_generalized(system, q, system.generalized_force(q, any_F))
    assert np.abs(system.generalized_force(q, other) - Q).max() < 1e-10
    size, larger = (np.linalg.norm(convert.wrench_to_world(x, poses, com), axis=(-2, -1)) for x in (F, other))
    assert np.all(size <= larger)


@EACH
def test_generalized_forces_as_joint_torques(name: str) -> None:
    """Eq. 71: what torques can make they make; the residual is the rest, exactly."""
    q, v, _poses, V = world_twists(name)
    system = robot(name)
    made = convert.generalized_from_joint_torques(system, q, np.random.default_rng(4).normal(size=(*V.shape[:-1], 3)))
    for Q in (made, np.random.default_rng(5).normal(size=v.shape)):
        found = convert.joint_torques_from_generalized(system, q, Q)
        again = convert.generalized_from_joint_torques(system, q, found.torques)
        assert np.abs(again + found.residual - Q).max() < 1e-11
        if name.startswith("tree") and Q is made:
            assert np.abs(found.residual).max() < 1e-10


def paper_matrices(name: str, q: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J'_v of points of the world, and Ĵ_ω = Rᵀ D J_ω of Liu-Jain eq. 65, of one state: dense, from twists."""
    system = robot(name)
    poses, nv = system.poses(q), system.nv
    at = np.einsum("nji,nj->ni", poses[:, :3, :3], points - poses[:, :3, 3])
    V = np.stack([convert.twist_to_world(system.twists(q, e), poses, at) for e in np.eye(nv)], axis=-1)
    number = {body: i for i, body in enumerate(system.names.bodies)}
    R = np.zeros((3 * len(poses), 3 * len(poses)))
    for k, joint in enumerate(system.mechanism.joints):
        R[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = (
            np.eye(3) if joint.parent == "world" else poses[number[joint.parent], :3, :3]
        )
    J_omega = V[:, :3].reshape(-1, nv)
    return V[:, 3:].reshape(-1, nv), R.T @ convert.connectivity_matrix(system) @ J_omega


@pytest.mark.default_cases("tree0", "tree1", "four_bar", "geared", "own_coordinate")
@EACH
def test_generalized_forces_as_forces_at_points_and_joint_torques(name: str) -> None:
    """Liu-Jain §6.2, case 1 with known points: the dense pseudo-inverse of eq. 69; f and τ̂ make Q by eq. 67 and 69."""
    q, v, poses, _V = world_twists(name)
    system, rng = robot(name), np.random.default_rng(8)
    Q, points = rng.normal(size=v.shape), rng.normal(size=(*poses.shape[:-2], 3))
    f, torques, residual = convert.forces_and_joint_torques_from_generalized(system, q, Q, points)
    made = system.generalized_force(q, convert.wrench_from_force(poses, f, points))
    made += convert.generalized_from_joint_torques(system, q, torques)
    assert np.abs(made - Q).max() < 1e-10 and np.abs(residual).max() < 1e-10
    for k in range(len(q)):
        A = np.concatenate(paper_matrices(name, q[k], points[k])).T
        size = np.linalg.norm(A, axis=1)[:, None]
        expected = np.linalg.lstsq(A / size, Q[k] / size[:, 0])[0]
        found = np.concatenate([f[k].ravel(), torques[k].ravel()])
        assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


def test_force_on_one_body_by_name() -> None:
    """A force at the tip alone, in a batch of points; without it the force of the slide is all residual."""
    b = fb.Builder("arm")
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("rod", parent="upper", joint=fb.joints.Prismatic("x"), mass=1.0)
    arm = b.build()
    points = np.array([[0.5, 0, 0], [2.0, 0, 0]])
    f, torques, residual = convert.forces_and_joint_torques_from_generalized(arm, [0, 0.1], [2.0, 3.0], {"rod": points})
    c = points[:, 0]  # 2 = τ_y - c f_z, shortest: τ_y = 2 / (1 + c²), f_z = -c τ_y; 3 = f_x
    expected = np.stack([np.full(2, 3.0), np.zeros(2), -2 * c / (1 + c**2)], axis=-1)
    assert np.allclose(f[:, 1], expected, atol=1e-14) and np.array_equal(f[:, 0], np.zeros((2, 3)))
    assert np.allclose(torques[:, 0, 1], 2 / (1 + c**2), atol=1e-14)
    assert np.allclose(residual, 0.0, atol=1e-14)
    alone = convert.forces_and_joint_torques_from_generalized(arm, [0, 0.1], [2.0, 3.0], {})
    assert np.allclose(alone.torques, [[0, 2, 0], [0, 0, 0]]) and np.allclose(alone.residual, [0, 3])
    assert np.array_equal(alone.forces, np.zeros((2, 3)))


def test_connectivity_of_figure_1() -> None:
    """D of Liu-Jain eq. 64: links 3 and 4 on link 2."""
    b = fb.Builder("figure 1")
    for name, parent in (("1", "world"), ("2", "1"), ("3", "2"), ("4", "2")):
        b.body(name, parent=parent, joint=fb.joints.Spherical(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    one, zero = np.eye(3), np.zeros((3, 3))
    expected = [[one, zero, zero, zero], [-one, one, zero, zero], [zero, -one, one, zero], [zero, -one, zero, one]]
    assert np.array_equal(convert.connectivity_matrix(b.build()), np.block(expected))


def test_hinges_need_torques_only_and_slides_none() -> None:
    b = fb.Builder("arm")
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("rod", parent="upper", joint=fb.joints.Prismatic("x"), position=(0.1, 0, 0), mass=1.0)
    arm = b.build()
    found = convert.joint_torques_from_generalized(arm, [0.3, 0.1], [2.0, 3.0])
    assert np.allclose(found.torques, [[0, 2, 0], [0, 0, 0]])
    assert np.allclose(found.residual, [0.0, 3.0])


def test_moment_about_the_centre_of_mass() -> None:
    """τ of eq. 48 includes the moment of the force about the centre of mass, τ' of eq. 67 does not."""
    rng = np.random.default_rng(6)
    T = convert.pose_from_quaternion(rng.normal(size=3), rng.normal(size=4))
    com, f, point, torque = (rng.normal(size=3) for _ in range(4))
    F = convert.wrench_from_force(T, f, point, torque)
    x = T[:3, :3] @ com + T[:3, 3]
    about = convert.wrench_to_world(F, T, com)
    assert np.allclose(about[:3], torque + np.cross(point - x, f), atol=1e-14)
    assert np.allclose(about[3:], f, atol=1e-15)
    assert np.allclose(convert.wrench_from_world(about, T, com), F, atol=1e-14)


def test_twists_and_wrenches_keep_their_power() -> None:
    """F · V is the same at any point in any axes."""
    rng = np.random.default_rng(7)
    F, V, point = rng.normal(size=(5, 6)), rng.normal(size=(5, 6)), rng.normal(size=(5, 3))
    T = convert.pose_from_quaternion(rng.normal(size=(5, 3)), rng.normal(size=(5, 4)))
    power = (F * V).sum(axis=-1)
    elsewhere = convert.wrench_to_world(F, T, point) * convert.twist_to_world(V, T, point)
    assert np.abs(elsewhere.sum(axis=-1) - power).max() < 1e-14
    assert np.abs(convert.twist_from_world(convert.twist_to_world(V, T, point), T, point) - V).max() < 1e-14
    assert np.array_equal(convert.swapped(F)[:, :3], F[:, 3:])
    position, quaternion = convert.quaternion_from_pose(T)
    assert np.abs(convert.pose_from_quaternion(position, quaternion) - T).max() < 1e-15


def test_errors() -> None:
    arm = fb.robots.double_pendulum()
    with pytest.raises(ArgumentError, match=r"joint torques must have shape \(..., 2, 3\), got \(2, 2\)"):
        convert.body_torques_from_joint_torques(arm, [0, 0], [[0, 0], [0, 0]])
    with pytest.raises(ArgumentError, match=r"Q must have shape .* got \(3,\)"):
        convert.wrenches_from_generalized(arm, [0, 0], [1, 2, 3])
    with pytest.raises(ArgumentError, match=r"points must have shape \(..., 2, 3\), got \(3,\)"):
        convert.forces_and_joint_torques_from_generalized(arm, [0, 0], [1, 2], [0, 0, 1])
    with pytest.raises(fb.UnknownNameError, match="there is no body 'hand'"):
        convert.forces_and_joint_torques_from_generalized(arm, [0, 0], [1, 2], {"hand": [0, 0, 1]})
    with pytest.raises(ArgumentError, match="a pose must have shape"):
        convert.wrench_from_force(np.eye(3), [0, 0, 0], [0, 0, 0])
