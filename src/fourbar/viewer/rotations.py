"""Rotation matrices as quaternions, for whole batches."""

from __future__ import annotations

import numpy as np


def quaternions(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (..., 4), in the order w, x, y, z with w ≥ 0, of rotation matrices (..., 3, 3)."""
    m = np.moveaxis(np.asarray(R, float), (-2, -1), (0, 1))
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    squares = np.stack([trace, *(2.0 * m[k, k] - trace for k in range(3))], axis=-1)  # 4 of each square, less 1
    w = [1.0 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]
    x = [w[1], 1.0 + squares[..., 1], m[1, 0] + m[0, 1], m[0, 2] + m[2, 0]]
    y = [w[2], x[2], 1.0 + squares[..., 2], m[2, 1] + m[1, 2]]
    z = [w[3], x[3], y[3], 1.0 + squares[..., 3]]
    rows = np.stack([np.stack(row, axis=-1) for row in (w, x, y, z)], axis=-2)  # 4 q qᵀ, of which a large row is taken
    best = squares.argmax(axis=-1)[..., None, None]
    found = np.take_along_axis(rows, best, axis=-2)[..., 0, :]
    found /= np.linalg.norm(found, axis=-1, keepdims=True)
    return np.where(found[..., :1] < 0.0, -found, found)


def continuous(quaternion: np.ndarray) -> np.ndarray:
    """The same rotations over time (first axis), with signs that do not jump."""
    turn = np.sign(np.einsum("n...i,n...i->n...", quaternion[1:], quaternion[:-1]))
    sign = np.cumprod(np.concatenate([np.ones((1, *turn.shape[1:])), np.where(turn < 0.0, -1.0, 1.0)]), axis=0)
    return quaternion * sign[..., None]


def matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4), w first, of any length but zero."""
    w, x, y, z = np.moveaxis(quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
