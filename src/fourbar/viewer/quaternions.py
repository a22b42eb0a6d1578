"""Rotation matrices as quaternions, for whole batches."""

from __future__ import annotations

import numpy as np

from ..spatial.groups import so3
from ..spatial.linear import Mat, Vec
from ..spatial.rotation import quaternion_matrix


def quaternions(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4), in the order w, x, y, z with w ≥ 0, of rotation matrices (..., 3, 3)."""
    R = np.asarray(R, float)
    return np.stack(so3.from_matrix(Mat(Vec(R[..., i, j] for j in range(3)) for i in range(3))), axis=-1)


def continuous(quaternion: np.ndarray) -> np.ndarray:
    """Quaternions over time (first axis) with continuous signs."""
    turn = np.sign(np.einsum("n...i,n...i->n...", quaternion[1:], quaternion[:-1]))
    sign = np.cumprod(np.concatenate([np.ones((1, *turn.shape[1:])), np.where(turn < 0.0, -1.0, 1.0)]), axis=0)
    return quaternion * sign[..., None]


def matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4), w first, of any length but zero."""
    rows = quaternion_matrix(tuple(np.moveaxis(np.asarray(quaternion, float), -1, 0)))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
