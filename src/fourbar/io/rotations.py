"""Rotation matrices as the numbers that files hold."""

from __future__ import annotations

from typing import Any

import numpy as np


def quaternion(R: Any) -> tuple[float, ...]:
    """The unit quaternion (w, x, y, z) of a rotation, w ≥ 0; by the largest of its entries, which loses nothing."""
    R = np.array(R, float)
    K = np.array(
        [
            [R.trace(), R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    K = np.triu(K) + np.triu(K, 1).T + np.eye(4)
    row = K[np.argmax(np.diag(K))]
    q = row / np.linalg.norm(row)
    return tuple((q if q[0] >= 0.0 else -q).tolist())
