"""Cartesian ↔ generalized velocities (Liu-Jain §6.1).

V (..., n_bodies, 6) are twists of ours: [angular; linear] of each body's origin in its own axes, as `robot.twists`
makes them; `twist_from_world` brings others into this form. The way back has more equations than unknowns: three
routes, which agree where V can be reached, and a residual that says where it cannot.

Twists and wrenches are also taken to other points and axes; T (..., 4, 4) is the pose of the body in the world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..joints.base import Joint
from ..linalg import apply, inverse_in_units
from ..spatial.groups.so3 import from_matrix
from ..spatial.rotation import quaternion_matrix
from ..system.system import System
from .batched_vectors import entries, read, rows, stack, stack_rows
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
