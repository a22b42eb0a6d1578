"""Cartesian ↔ generalized forces (Liu-Jain §6.2).

Wrenches F (..., n_bodies, 6) are ours: [moment; force] on each body about its origin in its own axes; with them
`robot.generalized_force(q, F)` is eq. 67. A force at a point of the world becomes one by `wrench_from_force`.

*Body torque* (of a body, in world axes) and *joint torque* (of the parent on the body, and reversed on the parent, in
the parent's axes) are different things with the same total: eq. 68.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..linalg import inverse_in_units
from ..system.system import System
from . import wrench_from_world
from .batched_vectors import read
from .numbered_robot import joint_subspace, links, relative_pose, twists_at_com


class JointTorques(NamedTuple):
    """Joint torques (..., n_bodies, 3) in the parents' axes, and the part (..., nv) of Q that no torques produce."""

    torques: np.ndarray
    residual: np.ndarray


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", A, x)


def _read(robot: System, q: Any, x: Any, what: str, *core: int) -> tuple[np.ndarray, np.ndarray]:
    """q and another argument with the same leading axes."""
    q, x = read("q", q, robot.nq), read(what, x, *core)
    batch = np.broadcast_shapes(q.shape[:-1], x.shape[: x.ndim - len(core)])
    return np.broadcast_to(q, (*batch, q.shape[-1])), np.broadcast_to(x, (*batch, *core))


def _count(robot: System) -> int:
    return len(robot.mechanism.bodies)


def _rotations(robot: System, q: np.ndarray) -> list[np.ndarray]:
    """The rotation (..., 3, 3) of each body's parent in the world."""
    R = robot.poses(q)[..., :3, :3]
    return [np.eye(3) if link.parent < 0 else R[..., link.parent, :, :] for link in links(robot)]


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
    q, own = _read(robot, q, torques, "joint torques", _count(robot), 3)
    total = np.zeros(own.shape)
    for link, R in zip(links(robot), _rotations(robot, q), strict=True):
        turned = _times(R, own[..., link.body, :])
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
    q, own = _read(robot, q, torques, "body torques", _count(robot), 3)
    total = own.copy()
    found = np.zeros(own.shape)
    for link, R in reversed(list(zip(links(robot), _rotations(robot, q), strict=True))):
        beyond = total[..., link.body, :]
        found[..., link.body, :] = np.einsum("...ij,...i->...j", R, beyond)
        if link.parent >= 0:
            total[..., link.parent, :] += beyond
    return found


def _joint_jacobians(robot: System, q: np.ndarray) -> list[np.ndarray]:
    """Ĵ_ωk (..., 3, n_k) of every joint: its relative angular velocity in the parent's axes, from its velocities."""
    poses, q_all = robot.poses(q), robot.expand(q)
    return [
        relative_pose(poses, link)[..., :3, :3] @ joint_subspace(link.joint, q_all[..., link.q])[..., :3, :]
        for link in links(robot)
    ]


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
    q, own = _read(robot, q, torques, "joint torques", _count(robot), 3)
    J = _joint_jacobians(robot, q)
    parts = [np.einsum("...ij,...i->...j", Jk, own[..., k, :]) for k, Jk in enumerate(J)]
    return np.einsum("...ij,...i->...j", robot.loop_map(q), np.concatenate(parts, axis=-1))


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
    q, Q = _read(robot, q, Q, "Q", robot.nv)
    G = robot.loop_map(q)
    Q_all = _times(inverse_in_units(np.swapaxes(G, -1, -2)), Q) if robot.nv else np.zeros((*Q.shape[:-1], G.shape[-2]))
    torques = np.zeros((*Q.shape[:-1], _count(robot), 3))
    for link, J in zip(links(robot), _joint_jacobians(robot, q), strict=True):
        if link.joint.nv:
            torques[..., link.body, :] = _times(inverse_in_units(np.swapaxes(J, -1, -2)), Q_all[..., link.v])
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
    q, Q = _read(robot, q, Q, "Q", robot.nv)
    poses, com = robot.poses(q), np.array([b.com for b in robot.mechanism.bodies])
    J = twists_at_com(robot, robot.jacobians(q))
    R = poses[..., None, :3, :3]
    turned = (R @ J.reshape(*J.shape[:-2], 2, 3, robot.nv)).reshape(*J.shape[:-3], -1, robot.nv)
    world = _times(inverse_in_units(np.swapaxes(turned, -1, -2)), Q).reshape(*Q.shape[:-1], _count(robot), 6)
    return wrench_from_world(world, poses, com)
