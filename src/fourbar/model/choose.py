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
_EXACT = 1e-15
Numbers = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def moved(joints: Sequence[Joint], q: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """q ⊕ δ for the coordinates (n, nq) of several joints."""
    result, at_q, at_v = [], 0, 0
    for joint in joints:
        own, step = q[:, at_q : at_q + joint.nq], delta[:, at_v : at_v + joint.nv]
        result.extend(joint.integrate(Vec(own.T), Vec(step.T)))
        at_q, at_v = at_q + joint.nq, at_v + joint.nv
    return np.stack(result, axis=-1)


def close(
    joints: Sequence[Joint], numbers: Numbers, q: np.ndarray, held: Sequence[int] = (), steps: int = 100
) -> tuple[np.ndarray, np.ndarray]:
    """The closed configurations nearest to q (n, nq), by damped Newton steps of least norm, and the gaps (n) that are left.

    `held` velocities do not move.
    """
    free = [j for j in range(sum(j.nv for j in joints)) if j not in set(held)]
    q = np.array(q, float)
    with np.errstate(all="ignore"):  # a guess may be where the residual is no number
        phi, K = numbers(q)
        busy = np.flatnonzero(_size(phi) > _EXACT)
        for _ in range(steps):
            busy = busy[np.isfinite(phi[busy]).all(axis=-1) & np.isfinite(K[busy]).all(axis=(-2, -1))]
            if not busy.size:
                break
            delta = np.zeros((len(busy), K.shape[-1]))
            delta[:, free] = -(np.linalg.pinv(K[busy][:, :, free], rcond=1e-10) @ phi[busy][..., None])[..., 0]
            before = _size(phi[busy])
            q[busy], phi[busy], K[busy] = _improved(joints, numbers, q[busy], phi[busy], K[busy], delta)
            after = _size(phi[busy])
            busy = busy[(after > _EXACT) & (after < np.where(before < 1e-13, 0.5, 1.0) * before)]
    return q, np.abs(phi).max(axis=-1, initial=0.0)


def _size(phi: np.ndarray) -> np.ndarray:
    return np.linalg.norm(phi, axis=-1)


def _improved(
    joints: Sequence[Joint], numbers: Numbers, q: np.ndarray, phi: np.ndarray, K: np.ndarray, delta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A step along δ, or the largest of its halves that comes nearer; unchanged where none does."""
    length = np.abs(delta).max(axis=-1, keepdims=True)
    delta = delta * np.minimum(1.0, 0.5 / np.maximum(length, 1e-300))
    left, size = np.arange(len(q)), _size(phi)
    result = q.copy(), phi.copy(), K.copy()
    for _ in range(30):
        new = moved(joints, q[left], delta[left])
        new_phi, new_K = numbers(new)
        better = _size(new_phi) < size[left]
        for target, values in zip(result, (new, new_phi, new_K), strict=True):
            target[left[better]] = values[better]
        left = left[~better & (size[left] > 1e-13)]  # below that it is rounding that decides
        if not left.size:
            break
        delta[left] *= 0.5
    return result


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
