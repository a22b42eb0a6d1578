"""Closing loops by numbers, and choosing which velocities are independent.

All of it happens once, when a robot is built: the configuration nearest to the neutral one in which the loops are closed
is found by Newton's method, and there K = ∂φ/∂q tells how many rows and columns are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..joints.base import Joint
from ..spatial.linear import Vec

_RANK = 1e-9  # singular values below this, relative to the largest, count as zero
Numbers = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def moved(joints: Sequence[Joint], q: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """q ⊕ δ for the coordinates of several joints."""
    result, at_q, at_v = [], 0, 0
    for joint in joints:
        own, step = q[at_q : at_q + joint.nq], delta[at_v : at_v + joint.nv]
        result.extend(joint.integrate(Vec(own.tolist()), Vec(step.tolist())))
        at_q, at_v = at_q + joint.nq, at_v + joint.nv
    return np.array(result, float)


def close(
    joints: Sequence[Joint], numbers: Numbers, q: np.ndarray, held: Sequence[int] = (), steps: int = 100
) -> tuple[np.ndarray, float]:
    """The nearest closed configuration, by damped Newton steps of least norm, and what is left of the residual.

    `held` velocities do not move.
    """
    free = [j for j in range(sum(j.nv for j in joints)) if j not in set(held)]
    phi, K = numbers(q)
    size = float(np.abs(phi).max(initial=0.0))
    for _ in range(steps):
        if size < 1e-15:
            break
        delta = np.zeros(K.shape[1])
        delta[free] = -np.linalg.lstsq(K[:, free], phi, rcond=1e-10)[0]
        length = float(np.abs(delta).max(initial=0.0))
        scale = min(1.0, 0.5 / length) if length > 0.0 else 1.0
        for _ in range(30):
            candidate = moved(joints, q, scale * delta)
            phi_new, K_new = numbers(candidate)
            size_new = float(np.abs(phi_new).max(initial=0.0))
            if size_new < size:
                break
            scale *= 0.5
        else:
            break
        stalled = size_new > 0.5 * size and size_new < 1e-13
        q, phi, K, size = candidate, phi_new, K_new, size_new
        if stalled:
            break
    return q, size


def rank(K: np.ndarray) -> int:
    """Number of independent rows."""
    values = np.linalg.svd(K, compute_uv=False) if K.size else np.zeros(0)
    return int(np.sum(values > _RANK * values.max(initial=0.0))) if values.size else 0


def pick(K: np.ndarray, count: int, order: Sequence[int]) -> list[int]:
    """`count` independent columns of K: those of `order` first where they are, then the largest that are left."""
    left = K.astype(float).copy()
    scale = np.abs(K).max(initial=0.0)
    chosen: list[int] = []
    preferred = list(order)
    while len(chosen) < count:
        norms = np.linalg.norm(left, axis=0)
        norms[chosen] = 0.0
        sound = [j for j in preferred if j not in chosen and norms[j] > 1e-6 * scale]
        j = sound[0] if sound else int(np.argmax(norms))
        if norms[j] <= _RANK * scale:
            break
        direction = left[:, j] / norms[j]
        left = left - np.outer(direction, direction @ left)
        chosen.append(j)
    return chosen
