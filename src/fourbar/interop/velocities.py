"""Cartesian ↔ generalized velocities and forces (Liu-Jain §6.1, §6.2).

V (..., n_bodies, 6) are twists of ours: [angular; linear] of each body's origin in its own axes, as `robot.twists`
makes them; `twist_from_world` brings others into this form. The way back has more equations than unknowns: three
routes, which agree where V can be reached, and a residual that says where it cannot.

Twists and wrenches are also taken to other points and axes; T (..., 4, 4) is the pose of the body in the world.

Wrenches F (..., n_bodies, 6) are ours: [moment; force] on each body about its origin in its own axes; with them
`robot.generalized_force(q, F)` is eq. 67. A force at a point of the world becomes one by `wrench_from_force`.

*Body torque* (of a body, in world axes) and *joint torque* (of the parent on the body, and reversed on the parent, in
the parent's axes) are different things with the same total: eq. 68.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, unknown
from ..joints.base import Joint
from ..linalg import apply, inverse_in_units
from ..spatial.groups.so3 import from_matrix
from ..spatial.rotation import quaternion_matrix
from ..system.system import System
from .batched_vectors import common_batch, entries, read, rows, stack, stack_rows
from .numbered_robot import (
    joint_subspace,
    links,
    read_with_q,
    reduced_velocities,
    relative_pose,
    twist_in_child,
    twists_at_com,
)


def swapped(x: Any) -> np.ndarray:
    """Spatial vectors [angular; linear] as [linear; angular], and back.

    Parameters
    ----------
    x : array_like, shape (..., 6)
        Spatial vectors.

    Returns
    -------
    ndarray, shape (..., 6)
        The halves of the last axis exchanged.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.swapped([1, 2, 3, 4, 5, 6])
    array([4., 5., 6., 1., 2., 3.])
    """
    return read("a spatial vector", x, 6)[..., [3, 4, 5, 0, 1, 2]]


def pose_from_quaternion(position: Any, quaternion: Any) -> np.ndarray:
    """Poses of positions and quaternions.

    Parameters
    ----------
    position : array_like, shape (..., 3)
        Position (m).
    quaternion : array_like, shape (..., 4)
        Quaternion (w, x, y, z) of any length but zero.

    Returns
    -------
    ndarray, shape (..., 4, 4)
        Homogeneous matrices.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.pose_from_quaternion([1.0, 0, 0], [1.0, 0, 0, 0])
    array([[1., 0., 0., 1.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    p, q = read("a position", position, 3), read("a quaternion", quaternion, 4)
    T = np.zeros((*np.broadcast_shapes(p.shape[:-1], q.shape[:-1]), 4, 4))
    T[..., :3, :3] = stack_rows(quaternion_matrix(entries(q)))
    T[..., :3, 3], T[..., 3, 3] = p, 1.0
    return T


def quaternion_from_pose(T: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions and quaternions of poses.

    Parameters
    ----------
    T : array_like, shape (..., 4, 4)
        Homogeneous matrices.

    Returns
    -------
    position : ndarray, shape (..., 3)
        Position (m).
    quaternion : ndarray, shape (..., 4)
        Unit quaternion (w, x, y, z).

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.quaternion_from_pose(np.eye(4))
    (array([0., 0., 0.]), array([1., 0., 0., 0.]))
    """
    R, p = _rotation(read("a pose", T, 4, 4))
    return p.copy(), stack(from_matrix(rows(R)))


def _rotation(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return T[..., :3, :3], T[..., :3, 3]


def _apply_transpose(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rᵀ x."""
    return np.einsum("...ij,...i->...j", R, x)


def _concatenate(angular: np.ndarray, linear: np.ndarray) -> np.ndarray:
    return np.concatenate(np.broadcast_arrays(angular, linear), axis=-1)


def point_velocity(V: Any, point: Any) -> np.ndarray:
    """Twist of another point of the same body.

    Parameters
    ----------
    V : array_like, shape (..., 6)
        Twist [angular; linear] (rad/s, m/s).
    point : array_like, shape (..., 3)
        The point (m), from that of V; all in the same axes.

    Returns
    -------
    ndarray, shape (..., 6)
        Twist [angular; linear] (rad/s, m/s) of the point.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.point_velocity([0, 0, 2.0, 0, 0, 0], [1.0, 0, 0])
    array([0., 0., 2., 0., 2., 0.])
    """
    V, r = read("a twist", V, 6), read("a point", point, 3)
    return _concatenate(V[..., :3], V[..., 3:] + np.cross(V[..., :3], r))


def twist_to_world(V: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Twist of a body in world axes.

    Parameters
    ----------
    V : array_like, shape (..., 6)
        Twist [angular; linear] (rad/s, m/s) of the origin of the body, in its axes.
    T : array_like, shape (..., 4, 4)
        Pose of the body in the world.
    point : array_like, shape (..., 3), default (0, 0, 0)
        Point (m) in the frame of the body.

    Returns
    -------
    ndarray, shape (..., 6)
        Twist of the point, in world axes.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.twist_to_world([0, 0, 2.0, 0, 0, 0], np.eye(4), (1.0, 0, 0))
    array([0., 0., 2., 0., 2., 0.])
    """
    R, _ = _rotation(read("a pose", T, 4, 4))
    moved = point_velocity(V, point)
    return _concatenate(apply(R, moved[..., :3]), apply(R, moved[..., 3:]))


def twist_from_world(V: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Twist of a body from one in world axes: the inverse of `twist_to_world`.

    Parameters
    ----------
    V : array_like, shape (..., 6)
        Twist [angular; linear] (rad/s, m/s) of the point, in world axes.
    T : array_like, shape (..., 4, 4)
        Pose of the body in the world.
    point : array_like, shape (..., 3), default (0, 0, 0)
        Point (m) in the frame of the body.

    Returns
    -------
    ndarray, shape (..., 6)
        Twist of the origin of the body, in its axes.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.twist_from_world([0, 0, 2.0, 0, 2.0, 0], np.eye(4), (1.0, 0, 0))
    array([0., 0., 2., 0., 0., 0.])
    """
    V, (R, _) = read("a twist", V, 6), _rotation(read("a pose", T, 4, 4))
    turned = _concatenate(_apply_transpose(R, V[..., :3]), _apply_transpose(R, V[..., 3:]))
    return point_velocity(turned, -read("a point", point, 3))


def wrench_to_world(F: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Wrench on a body in world axes.

    Parameters
    ----------
    F : array_like, shape (..., 6)
        Wrench [moment; force] (N m, N) at the origin of the body, in its axes.
    T : array_like, shape (..., 4, 4)
        Pose of the body in the world.
    point : array_like, shape (..., 3), default (0, 0, 0)
        Point (m) in the frame of the body.

    Returns
    -------
    ndarray, shape (..., 6)
        Wrench [moment; force] in world axes, its moment about the point.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.wrench_to_world([0, 0, 0, 0, 1.0, 0], np.eye(4), (1.0, 0, 0))
    array([ 0.,  0., -1.,  0.,  1.,  0.])
    """
    F, r = read("a wrench", F, 6), read("a point", point, 3)
    R, _ = _rotation(read("a pose", T, 4, 4))
    moment = F[..., :3] - np.cross(r, F[..., 3:])
    return _concatenate(apply(R, moment), apply(R, F[..., 3:]))


def wrench_from_world(F: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Wrench on a body from one in world axes: the inverse of `wrench_to_world`.

    Parameters
    ----------
    F : array_like, shape (..., 6)
        Wrench [moment; force] (N m, N) in world axes, its moment about the point.
    T : array_like, shape (..., 4, 4)
        Pose of the body in the world.
    point : array_like, shape (..., 3), default (0, 0, 0)
        Point (m) in the frame of the body.

    Returns
    -------
    ndarray, shape (..., 6)
        Wrench at the origin of the body, in its axes.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.wrench_from_world([0, 0, -1.0, 0, 1.0, 0], np.eye(4), (1.0, 0, 0))
    array([0., 0., 0., 0., 1., 0.])
    """
    F, r = read("a wrench", F, 6), read("a point", point, 3)
    R, _ = _rotation(read("a pose", T, 4, 4))
    force = _apply_transpose(R, F[..., 3:])
    return _concatenate(_apply_transpose(R, F[..., :3]) + np.cross(r, force), force)


def wrench_from_force(T: Any, force: Any, point: Any, torque: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Wrench on a body of a force at a point of the world.

    Parameters
    ----------
    T : array_like, shape (..., 4, 4)
        Pose of the body in the world.
    force : array_like, shape (..., 3)
        Force (N) in world axes.
    point : array_like, shape (..., 3)
        Point (m) of the world where it acts.
    torque : array_like, shape (..., 3), default (0, 0, 0)
        Further torque (N m) in world axes, without the moment of the force (τ' of Liu-Jain eq. 67).

    Returns
    -------
    ndarray, shape (..., 6)
        Wrench [moment; force] at the origin of the body, in its axes.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.wrench_from_force(np.eye(4), [0, 1.0, 0], [1.0, 0, 0])
    array([0., 0., 1., 0., 1., 0.])
    """
    T, f = read("a pose", T, 4, 4), read("a force", force, 3)
    R, p = _rotation(T)
    moment = read("a torque", torque, 3) + np.cross(read("a point", point, 3) - p, f)
    return _concatenate(_apply_transpose(R, moment), _apply_transpose(R, f))


def force_from_wrench(T: Any, F: Any, point: Any) -> tuple[np.ndarray, np.ndarray]:
    """Force at a point of the world and torque that do what a wrench on a body does.

    Parameters
    ----------
    T : array_like, shape (..., 4, 4)
        Pose of the body in the world.
    F : array_like, shape (..., 6)
        Wrench [moment; force] (N m, N) at the origin of the body, in its axes.
    point : array_like, shape (..., 3)
        Point (m) of the world where the force acts.

    Returns
    -------
    force : ndarray, shape (..., 3)
        Force (N) in world axes.
    torque : ndarray, shape (..., 3)
        Torque (N m) in world axes that is left beside the moment of the force.

    See Also
    --------
    wrench_from_force : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.force_from_wrench(np.eye(4), [0, 0, 1.0, 0, 1.0, 0], [1.0, 0, 0])
    (array([0., 1., 0.]), array([0., 0., 0.]))
    """
    T, F = read("a pose", T, 4, 4), read("a wrench", F, 6)
    R, p = _rotation(T)
    force = apply(R, F[..., 3:])
    return force, apply(R, F[..., :3]) - np.cross(read("a point", point, 3) - p, force)


class Velocities(NamedTuple):
    """Generalized velocities v (..., nv), and the part V - J v (..., n_bodies, 6) of V that they do not make."""

    v: np.ndarray
    residual: np.ndarray


class JointVelocity(NamedTuple):
    """Velocities v (..., nv) of one joint, and the part V - S v (..., 6) of V that they do not make."""

    v: np.ndarray
    residual: np.ndarray


def joint_velocity(joint: Joint, q: Any, V: Any) -> JointVelocity:
    """Velocity of one joint from the twist of its child.

    Parameters
    ----------
    joint : Joint
        The joint.
    q : array_like, shape (..., nq)
        Its coordinates.
    V : array_like, shape (..., 6)
        Twist [angular; linear] (rad/s, m/s) of the child relative to the parent, in child axes.

    Returns
    -------
    JointVelocity
        v = S⁺ V (..., nv), and the part V - S v (..., 6) that it does not make.

    Notes
    -----
    Liu-Jain eq. 66, with translations. Where S loses rank (gimbal lock) the shortest v is taken.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.convert.joint_velocity(fb.joints.Revolute("z"), [0.1], [0, 0, 2.0, 0, 0, 0]).v
    array([2.])
    """
    q, V = read("q", q, joint.nq), read("V", V, 6)
    S = joint_subspace(joint, q)
    v = apply(inverse_in_units(S), V) if joint.nv else np.zeros((*V.shape[:-1], 0))
    return JointVelocity(v, V - apply(S, v))


def _with_residual(robot: System, q: np.ndarray, V: np.ndarray, v: np.ndarray) -> Velocities:
    return Velocities(v, V - robot.twists(q, v))


def velocities_by_joint(robot: System, q: Any, V: Any) -> Velocities:
    """Velocity of a robot from the twists of its bodies, each joint by itself.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    V : array_like, shape (..., n_bodies, 6)
        Twists [angular; linear] (rad/s, m/s) of the bodies, as of `System.twists`.

    Returns
    -------
    Velocities
        v (..., nv), and the part V - J v (..., n_bodies, 6) that it does not make.

    Notes
    -----
    v_k = S_k⁺ (V_k - X_k V_λ(k)) (Liu-Jain eq. 62-66), linear in the bodies. In a cluster the velocities of its
    independent joints are taken.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.velocities_by_joint(robot, [0.1, 0.2], robot.twists([0.1, 0.2], [1.0, 0.5])).v.round(4)
    array([1. , 0.5])
    """
    q, V = read_with_q(robot, q, V, "V", len(robot.mechanism.bodies), 6)
    return _by_joint(robot, q, V, lambda V, residual: V)


def velocities_recursive(robot: System, q: Any, V: Any) -> Velocities:
    """Velocity of a robot from the twists of its bodies, from the root outwards.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    V : array_like, shape (..., n_bodies, 6)
        Twists [angular; linear] (rad/s, m/s) of the bodies, as of `System.twists`.

    Returns
    -------
    Velocities
        v (..., nv), and the part V - J v (..., n_bodies, 6) that it does not make.

    Notes
    -----
    Each joint follows its body as seen from where the joints before it lead: unlike in `velocities_by_joint`, what one
    joint cannot make is left to those it carries.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.velocities_recursive(robot, [0.1, 0.2], robot.twists([0.1, 0.2], [1.0, 0.5])).v.round(4)
    array([1. , 0.5])
    """
    q, V = read_with_q(robot, q, V, "V", len(robot.mechanism.bodies), 6)
    return _by_joint(robot, q, V, lambda V, residual: V - residual)


def _by_joint(
    robot: System, q: np.ndarray, V: np.ndarray, passed_on: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Velocities:
    """v_k = S_k⁺ (V_k - X_k V'_λ), where V' is what each body passes on to those it carries."""
    poses, q_all = robot.poses(q), robot.expand(q)
    handed: dict[int, np.ndarray] = {-1: np.zeros_like(V[..., 0, :])}
    v_all = np.zeros((*q.shape[:-1], sum(link.joint.nv for link in links(robot))))
    for link in links(robot):
        own, above = V[..., link.body, :], twist_in_child(relative_pose(poses, link), handed[link.parent])
        v_all[..., link.v], residual = joint_velocity(link.joint, q_all[..., link.q], own - above)
        handed[link.body] = passed_on(own, residual)
    return _with_residual(robot, q, V, reduced_velocities(robot, v_all))


def velocities_by_least_squares(robot: System, q: Any, V: Any, at: str = "com") -> Velocities:
    """Velocity of a robot from the twists of its bodies, all together.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    V : array_like, shape (..., n_bodies, 6)
        Twists [angular; linear] (rad/s, m/s) of the bodies, as of `System.twists`.
    at : {"com", "origin"}, default "com"
        Points of the bodies whose linear velocities are compared: centres of mass, as in the paper, or origins.

    Returns
    -------
    Velocities
        v = J⁺ V (..., nv) (Liu-Jain eq. 61), and the part V - J v (..., n_bodies, 6) that it does not make, of the
        origins for either `at`.

    Notes
    -----
    v minimises the sum over the bodies of |Δω|² + |Δv|² in SI units, where Δω is the error of the angular velocity and
    Δv that of the linear velocity at the chosen point; loops are kept. Twists that the joints can make give the same v
    for both points, others do not.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> twists = robot.twists([0.1, 0.2], [1.0, 0.5])
    >>> convert.velocities_by_least_squares(robot, [0.1, 0.2], twists).v.round(4)
    array([1. , 0.5])
    """
    q, V = read_with_q(robot, q, V, "V", len(robot.mechanism.bodies), 6)
    if at not in ("com", "origin"):
        raise ArgumentError(f"at={at!r}: expected 'com' (the centres of mass) or 'origin' (of the bodies)")
    J, goal = robot.jacobians(q), V[..., None]
    if at == "com":
        J, goal = twists_at_com(robot, J), twists_at_com(robot, goal)
    tall = J.reshape(*J.shape[:-3], -1, robot.nv)
    v = apply(inverse_in_units(tall), goal.reshape(*V.shape[:-2], -1))
    return _with_residual(robot, q, V, v)


class JointTorques(NamedTuple):
    """Joint torques (..., n_bodies, 3) in the parents' axes, and the part (..., nv) of Q that no torques produce."""

    torques: np.ndarray
    residual: np.ndarray


class ForcesAndTorques(NamedTuple):
    """Forces at points together with joint torques.

    `forces` (..., n_bodies, 3) are in world axes, `torques` (..., n_bodies, 3) in the parents' axes; `residual`
    (..., nv) is the part of Q that they do not produce.
    """

    forces: np.ndarray
    torques: np.ndarray
    residual: np.ndarray


def _count(robot: System) -> int:
    return len(robot.mechanism.bodies)


def _rotations(robot: System, q: np.ndarray) -> list[np.ndarray]:
    """The rotation (..., 3, 3) of each body's parent in the world."""
    R = robot.poses(q)[..., :3, :3]
    return [np.eye(3) if link.parent < 0 else R[..., link.parent, :, :] for link in links(robot)]


def connectivity_matrix(robot: System) -> np.ndarray:
    """Matrix that subtracts from the angular velocity of each body that of its parent.

    Parameters
    ----------
    robot : System
        The robot.

    Returns
    -------
    ndarray, shape (3 n_bodies, 3 n_bodies)
        D of Liu-Jain eq. 64: blocks I₃ on the diagonal, -I₃ in the row of a body and the column of its parent, bodies
        in the order of `robot.names.bodies`.

    Notes
    -----
    With R, the block-diagonal matrix of the rotations of the parents, the relative angular velocities in the axes of
    the parents are ω̂ = Rᵀ D ω (eq. 65), and the body torques of joint torques are τ' = Dᵀ R τ̂ (eq. 68).
    `body_torques_from_joint_torques` computes these without a matrix.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.convert.connectivity_matrix(fb.robots.double_pendulum())[::3, ::3]
    array([[ 1.,  0.],
           [-1.,  1.]])
    """
    D = np.eye(_count(robot))
    for link in links(robot):
        if link.parent >= 0:
            D[link.body, link.parent] = -1.0
    return np.kron(D, np.eye(3))


def body_torques_from_joint_torques(robot: System, q: Any, torques: Any) -> np.ndarray:
    """Torques on bodies of torques in joints.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    torques : array_like, shape (..., n_bodies, 3)
        Joint torques (N m) of the parents on the bodies, in the axes of the parents.

    Returns
    -------
    ndarray, shape (..., n_bodies, 3)
        Body torques (N m) in world axes: τ'_k = R_λ τ̂_k - Σ R_k τ̂_l over the bodies l that k carries (Liu-Jain eq.
        68).

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.body_torques_from_joint_torques(robot, [0.0, 0.0], [[0, 3.0, 0], [0, 1.0, 0]])
    array([[0., 2., 0.],
           [0., 1., 0.]])
    """
    q, joint_torques = read_with_q(robot, q, torques, "joint torques", _count(robot), 3)
    total = np.zeros(joint_torques.shape)
    for link, R in zip(links(robot), _rotations(robot, q), strict=True):
        turned = apply(R, joint_torques[..., link.body, :])
        total[..., link.body, :] += turned
        if link.parent >= 0:
            total[..., link.parent, :] -= turned
    return total


def joint_torques_from_body_torques(robot: System, q: Any, torques: Any) -> np.ndarray:
    """Torques in joints that make given torques on bodies.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    torques : array_like, shape (..., n_bodies, 3)
        Body torques (N m) in world axes.

    Returns
    -------
    ndarray, shape (..., n_bodies, 3)
        Joint torques (N m) in the axes of the parents (Liu-Jain eq. 68 backwards): each joint carries the torques of
        all bodies beyond it.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.joint_torques_from_body_torques(robot, [0.0, 0.0], [[0, 2.0, 0], [0, 1.0, 0]])
    array([[0., 3., 0.],
           [0., 1., 0.]])
    """
    q, body_torques = read_with_q(robot, q, torques, "body torques", _count(robot), 3)
    total = body_torques.copy()
    joint_torques = np.zeros(body_torques.shape)
    for link, R in reversed(list(zip(links(robot), _rotations(robot, q), strict=True))):
        beyond = total[..., link.body, :]
        joint_torques[..., link.body, :] = np.einsum("...ij,...i->...j", R, beyond)
        if link.parent >= 0:
            total[..., link.parent, :] += beyond
    return joint_torques


def _joint_jacobians(robot: System, q: np.ndarray) -> list[np.ndarray]:
    """Ĵ_ωk (..., 3, n_k) of every joint: its relative angular velocity in the parent's axes, from its velocities."""
    poses, q_all = robot.poses(q), robot.expand(q)
    return [
        relative_pose(poses, link)[..., :3, :3] @ joint_subspace(link.joint, q_all[..., link.q])[..., :3, :]
        for link in links(robot)
    ]


def _relative_rotation(robot: System, q: np.ndarray) -> np.ndarray:
    """Ĵ_ω (..., 3 n_bodies, nv): relative angular velocities of all joints, from the velocities of the robot."""
    G, J = robot.loop_map(q), _joint_jacobians(robot, q)
    parts = [Jk @ G[..., link.v, :] for link, Jk in zip(links(robot), J, strict=True)]
    return np.concatenate(parts, axis=-2)


def generalized_from_joint_torques(robot: System, q: Any, torques: Any) -> np.ndarray:
    """Generalized forces of torques in joints.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    torques : array_like, shape (..., n_bodies, 3)
        Joint torques (N m) in the axes of the parents.

    Returns
    -------
    ndarray, shape (..., nv)
        Q_k = Ĵ_ωkᵀ τ̂_k (N m, N) (Liu-Jain eq. 69); loops collect theirs by Gᵀ.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.generalized_from_joint_torques(robot, [0.0, 0.0], [[0, 3.0, 0], [0, 1.0, 0]])
    array([3., 1.])
    """
    q, own = read_with_q(robot, q, torques, "joint torques", _count(robot), 3)
    return np.einsum("...ij,...i->...j", _relative_rotation(robot, q), own.reshape(*own.shape[:-2], -1))


def joint_torques_from_generalized(robot: System, q: Any, Q: Any) -> JointTorques:
    """Least torques in joints that make generalized forces.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    Q : array_like, shape (..., nv)
        Generalized forces (N m, N).

    Returns
    -------
    JointTorques
        Torques τ̂_k = (Ĵ_ωkᵀ)⁺ Q_k (..., n_bodies, 3) in the axes of the parents (Liu-Jain eq. 71), and the part (...,
        nv) of Q that no torques make.

    Notes
    -----
    Forces of slides and screws are more than torques can make. In a cluster Q is first shared among its joints by
    (Gᵀ)⁺.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.joint_torques_from_generalized(robot, [0.0, 0.0], [3.0, 1.0]).torques
    array([[0., 3., 0.],
           [0., 1., 0.]])
    """
    q, Q = read_with_q(robot, q, Q, "Q", robot.nv)
    G = robot.loop_map(q)
    Q_all = apply(inverse_in_units(np.swapaxes(G, -1, -2)), Q) if robot.nv else np.zeros((*Q.shape[:-1], G.shape[-2]))
    torques = np.zeros((*Q.shape[:-1], _count(robot), 3))
    for link, J in zip(links(robot), _joint_jacobians(robot, q), strict=True):
        if link.joint.nv:
            torques[..., link.body, :] = apply(inverse_in_units(np.swapaxes(J, -1, -2)), Q_all[..., link.v])
    return JointTorques(torques, Q - generalized_from_joint_torques(robot, q, torques))


def wrenches_from_generalized(robot: System, q: Any, Q: Any) -> np.ndarray:
    """Wrenches on bodies that make generalized forces: one of many.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    Q : array_like, shape (..., nv)
        Generalized forces (N m, N).

    Returns
    -------
    ndarray, shape (..., n_bodies, 6)
        Wrenches [moment; force] on the bodies in their frames (Liu-Jain eq. 70), with the least sum of squares of
        forces at the centres of mass and torques, in SI units.

    See Also
    --------
    System.generalized_force : The inverse.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> F = convert.wrenches_from_generalized(robot, [0.1, 0.2], [3.0, 1.0])
    >>> robot.generalized_force([0.1, 0.2], F).round(6)
    array([3., 1.])
    """
    q, Q = read_with_q(robot, q, Q, "Q", robot.nv)
    poses, com = robot.poses(q), np.array([b.com for b in robot.mechanism.bodies])
    J = twists_at_com(robot, robot.jacobians(q))
    R = poses[..., None, :3, :3]
    turned = (R @ J.reshape(*J.shape[:-2], 2, 3, robot.nv)).reshape(*J.shape[:-3], -1, robot.nv)
    world = apply(inverse_in_units(np.swapaxes(turned, -1, -2)), Q).reshape(*Q.shape[:-1], _count(robot), 6)
    return wrench_from_world(world, poses, com)


def _read_points(robot: System, points: Any) -> tuple[list[int], np.ndarray]:
    """Numbers of the k bodies that have a point of application, and these points (..., k, 3)."""
    if not isinstance(points, Mapping):
        return list(range(_count(robot))), read("points", points, _count(robot), 3)
    names = robot.names.bodies
    for name in points:
        if name not in names:
            raise unknown("body", name, names)
    each = [read(f"the point of {name!r}", point, 3) for name, point in points.items()]
    stack = np.stack(np.broadcast_arrays(*each), axis=-2) if each else np.zeros((0, 3))
    return [names.index(name) for name in points], stack


def forces_and_joint_torques_from_generalized(robot: System, q: Any, Q: Any, points: Any) -> ForcesAndTorques:
    """Least forces at known points, together with torques in joints, that make generalized forces.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    Q : array_like, shape (..., nv)
        Generalized forces (N m, N).
    points : array_like, shape (..., n_bodies, 3), or dict
        Points of application (m) in the world, one on each body; or by the names of bodies, `{"hand": point}`, where
        forces act on these bodies only.

    Returns
    -------
    ForcesAndTorques
        Forces (..., n_bodies, 3) (N) in world axes, zero on bodies without a point, joint torques (..., n_bodies, 3)
        (N m) in the axes of the parents, and the part (..., nv) of Q that they do not make.

    See Also
    --------
    joint_torques_from_generalized : Torques alone.
    wrenches_from_generalized : Forces at centres of mass, and body torques.

    Notes
    -----
    The pseudo-inverse of Liu-Jain eq. 69, Q = J'_vᵀ f + Ĵ_ωᵀ τ̂ (§6.2, case 1 with known points): the least sum of
    squares of forces and torques in SI units. In a mechanism with loops Ĵ_ω is that of the independent velocities.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> b = fb.Builder("slide")
    >>> _ = b.body("cart", joint=fb.joints.Prismatic("x"), mass=1.0)
    >>> convert.forces_and_joint_torques_from_generalized(b.build(), [0.0], [3.0], {"cart": [0, 0, 0.5]}).forces
    array([[3., 0., 0.]])
    """
    q, Q = read_with_q(robot, q, Q, "Q", robot.nv)
    bodies, p = _read_points(robot, points)
    batch = common_batch(q=q.shape[:-1], points=p.shape[:-2])
    q, Q = np.broadcast_to(q, (*batch, robot.nq)), np.broadcast_to(Q, (*batch, robot.nv))
    poses, J = robot.poses(q)[..., bodies, :, :], robot.jacobians(q)[..., bodies, :, :]
    R, arm = poses[..., :3, :3], p - poses[..., :3, 3]
    J_points = R @ J[..., 3:, :] + np.cross(R @ J[..., :3, :], arm[..., None], axis=-2)
    rows = [J_points.reshape(*batch, 3 * len(bodies), robot.nv), _relative_rotation(robot, q)]
    A = np.swapaxes(np.concatenate(rows, axis=-2), -1, -2)
    solution = apply(inverse_in_units(A), Q)
    forces = np.zeros((*batch, _count(robot), 3))
    forces[..., bodies, :] = solution[..., : 3 * len(bodies)].reshape(*batch, len(bodies), 3)
    torques = solution[..., 3 * len(bodies) :].reshape(*batch, _count(robot), 3)
    return ForcesAndTorques(forces, torques, Q - apply(A, solution))
