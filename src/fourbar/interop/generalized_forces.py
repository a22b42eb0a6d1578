"""Cartesian ↔ generalized forces (Liu-Jain §6.2).

Wrenches F (..., n_bodies, 6) are ours: [moment; force] on each body about its origin in its own axes; with them
`robot.generalized_force(q, F)` is eq. 67. A force at a point of the world becomes one by `wrench_from_force`.

*Body torque* (of a body, in world axes) and *joint torque* (of the parent on the body, and reversed on the parent, in
the parent's axes) are different things with the same total: eq. 68.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import unknown
from ..linalg import apply, inverse_in_units
from ..system.system import System
from . import wrench_from_world
from .batched_vectors import common_batch, read
from .numbered_robot import joint_subspace, links, read_with_q, relative_pose, twists_at_com


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
