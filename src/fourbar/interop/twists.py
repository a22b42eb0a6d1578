"""Twists and wrenches at other points and in other axes, over leading axes.

Ours are [angular; linear] of the body's origin, in the body's axes. T (..., 4, 4) is the pose of the body in the world.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg import apply
from ..spatial.groups.so3 import from_matrix
from ..spatial.rotation import quaternion_matrix
from .batched_vectors import entries, read, rows, stack, stack_rows


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
