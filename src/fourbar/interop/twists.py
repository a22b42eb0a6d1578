"""Twists and wrenches at other points and in other axes, over leading axes.

Ours are [angular; linear] of the body's origin, in the body's axes. T (..., 4, 4) is the pose of the body in the world.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spatial.groups.so3 import from_matrix
from ..spatial.rotation import quaternion_matrix
from .arrays import entries, read, rows, stacked, stacked_rows


def swapped(x: Any) -> np.ndarray:
    """[angular; linear] as [linear; angular], and back: the halves of the last axis (6) exchanged."""
    return read("a spatial vector", x, 6)[..., [3, 4, 5, 0, 1, 2]]


def pose_from_quaternion(position: Any, quaternion: Any) -> np.ndarray:
    """Poses (..., 4, 4) of positions (..., 3) and quaternions (..., 4), (w, x, y, z) of any length but zero."""
    p, q = read("a position", position, 3), read("a quaternion", quaternion, 4)
    T = np.zeros((*np.broadcast_shapes(p.shape[:-1], q.shape[:-1]), 4, 4))
    T[..., :3, :3] = stacked_rows(quaternion_matrix(entries(q)))
    T[..., :3, 3], T[..., 3, 3] = p, 1.0
    return T


def quaternion_from_pose(T: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions (..., 3) and unit quaternions (..., 4) of poses (..., 4, 4)."""
    R, p = _rotation(read("a pose", T, 4, 4))
    return p.copy(), stacked(from_matrix(rows(R)))


def _rotation(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return T[..., :3, :3], T[..., :3, 3]


def _turned(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R x."""
    return np.einsum("...ij,...j->...i", R, x)


def _turned_back(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rᵀ x."""
    return np.einsum("...ij,...i->...j", R, x)


def _joined(angular: np.ndarray, linear: np.ndarray) -> np.ndarray:
    return np.concatenate(np.broadcast_arrays(angular, linear), axis=-1)


def point_velocity(V: Any, point: Any) -> np.ndarray:
    """The twist (..., 6) of another point (..., 3) of the same body; all in the same axes."""
    V, r = read("a twist", V, 6), read("a point", point, 3)
    return _joined(V[..., :3], V[..., 3:] + np.cross(V[..., :3], r))


def twist_to_world(V: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """A twist of ours in world axes, of the point (..., 3) given in the body's frame: (..., 6) [angular; linear]."""
    R, _ = _rotation(read("a pose", T, 4, 4))
    moved = point_velocity(V, point)
    return _joined(_turned(R, moved[..., :3]), _turned(R, moved[..., 3:]))


def twist_from_world(V: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """The inverse of `twist_to_world`."""
    V, (R, _) = read("a twist", V, 6), _rotation(read("a pose", T, 4, 4))
    turned = _joined(_turned_back(R, V[..., :3]), _turned_back(R, V[..., 3:]))
    return point_velocity(turned, -read("a point", point, 3))


def wrench_to_world(F: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """A wrench of ours in world axes, its moment about the point (..., 3) given in the body's frame: (..., 6)."""
    F, r = read("a wrench", F, 6), read("a point", point, 3)
    R, _ = _rotation(read("a pose", T, 4, 4))
    moment = F[..., :3] - np.cross(r, F[..., 3:])
    return _joined(_turned(R, moment), _turned(R, F[..., 3:]))


def wrench_from_world(F: Any, T: Any, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """The inverse of `wrench_to_world`."""
    F, r = read("a wrench", F, 6), read("a point", point, 3)
    R, _ = _rotation(read("a pose", T, 4, 4))
    force = _turned_back(R, F[..., 3:])
    return _joined(_turned_back(R, F[..., :3]) + np.cross(r, force), force)


def wrench_from_force(T: Any, force: Any, point: Any, torque: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Our wrench (..., 6) of a force (..., 3) at a point of the world (..., 3) and a further torque (..., 3).

    All in world axes; the torque does not include the moment of the force (τ' of Liu-Jain eq. 67).
    """
    T, f = read("a pose", T, 4, 4), read("a force", force, 3)
    R, p = _rotation(T)
    moment = read("a torque", torque, 3) + np.cross(read("a point", point, 3) - p, f)
    return _joined(_turned_back(R, moment), _turned_back(R, f))


def force_from_wrench(T: Any, F: Any, point: Any) -> tuple[np.ndarray, np.ndarray]:
    """The force (..., 3) and the torque (..., 3) in world axes that do what our wrench does, the force at a point.

    The inverse of `wrench_from_force`: the torque is what is left beside the moment of the force at the point.
    """
    T, F = read("a pose", T, 4, 4), read("a wrench", F, 6)
    R, p = _rotation(T)
    force = _turned(R, F[..., 3:])
    return force, _turned(R, F[..., :3]) - np.cross(read("a point", point, 3) - p, force)
