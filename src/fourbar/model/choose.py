"""Closing loops by numbers, and choosing which velocities are independent.

All of it happens once, when a robot is built: the closed configuration nearest to the neutral one
is found, and there K = ∂φ/∂q tells how many rows and columns are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..joints.base import Joint
from ..joints.independence import turning
from ..spatial.linear import Vec

_FAIR = 0.1  # a column this large, relative to the largest left, is good enough to be taken for other reasons
_RANK = 1e-9  # singular values below this, relative to the largest, count as zero
_EXACT, _ROUNDING = 1e-15, 1e-13  # gaps that need no step more, and those at which rounding decides
_DAMPING, _LONGEST, _STALLED = 0.1, 0.5, 0.99  # of a step: damping by the gap, longest, reduction that is none


class Closable(Protocol):
    """Joints with a condition on their coordinates."""

    joints: tuple[Joint, ...]

    def residual(self, q: np.ndarray) -> np.ndarray: ...

    def numbers(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


def moved(joints: Sequence[Joint], q: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """q ⊕ δ for the coordinates (n, nq) of several joints."""
    result, at_q, at_v = [], 0, 0
    for joint in joints:
        own, step = q[:, at_q : at_q + joint.nq], delta[:, at_v : at_v + joint.nv]
        result.extend(joint.integrate(Vec(own.T), Vec(step.T)))
        at_q, at_v = at_q + joint.nq, at_v + joint.nv
    return np.stack(result, axis=-1)


def differences(joints: Sequence[Joint], q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """q1 ⊖ q0 (n, nv) for the coordinates (n, nq) of several joints."""
    result, at = [], 0
    for joint in joints:
        a, b = q0[:, at : at + joint.nq], q1[:, at : at + joint.nq]
        result.extend(np.broadcast_to(x, len(q0)) for x in joint.difference(Vec(a.T), Vec(b.T)))
        at += joint.nq
    return np.stack(result, axis=-1)


def close(tie: Closable, q: np.ndarray, held: Sequence[int] = (), steps: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Closed configurations near q (n, nq), by Levenberg-Marquardt steps, and the gaps (n) that are left.

    `held` velocities do not move. Gaps of long levers, whose rows of K are large, are relative to these.
    """
    q = np.array(q, float)
    n = sum(j.nv for j in tie.joints)
    free = [j for j in range(n) if j not in set(held)]
    turns = np.array([x for joint in tie.joints for x in turning(joint)], bool)
    with np.errstate(all="ignore"):  # a guess may be where the residual is no number
        phi = tie.residual(q)
        unit = np.ones_like(phi)
        busy = np.flatnonzero(_size(phi) > _EXACT)
        for step in range(steps):
            if not busy.size:
                break
            K = tie.numbers(q[busy])[1]
            if step == 0:
                unit[busy] = row_units(K)
                phi = phi / unit
            K = K / unit[busy][..., None]
            sound = np.isfinite(phi[busy]).all(axis=-1) & np.isfinite(K).all(axis=(-2, -1))
            busy, before = busy[sound], _size(phi[busy[sound]])
            delta = np.zeros((len(busy), n))
            delta[:, free] = _step(phi[busy], K[sound][:, :, free], turns[free])
            q[busy], phi[busy] = _improved(tie, q[busy], phi[busy], delta, unit[busy])
            after = _size(phi[busy])
            busy = busy[(after > _EXACT) & (after < np.where(before < _ROUNDING, 0.5, _STALLED) * before)]
    return q, np.abs(phi).max(axis=-1, initial=0.0)


def row_units(K: np.ndarray) -> np.ndarray:
    """What the gap (..., m) of each row of K (..., m, n) is measured in: its length, where that is more than one."""
    return np.fmax(1.0, np.linalg.norm(K, axis=-1))


def _size(phi: np.ndarray) -> np.ndarray:
    return np.linalg.norm(phi, axis=-1)


def _step(phi: np.ndarray, K: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """The step of least norm that closes the gap, shortened where it relies on small singular values of K, and where
    joints would turn too far: `turns` says which velocities do."""
    if not K.size:
        return np.zeros((len(K), K.shape[-1]))
    U, s, Vt = np.linalg.svd(K, full_matrices=False)
    damped = s * s + _DAMPING * np.minimum(1.0, _size(phi)[:, None]) ** 2
    inverse = np.where(s > 1e-10 * s[:, :1], s, 0.0) / np.maximum(damped, 1e-300)
    delta = -np.einsum("bji,bj,bkj,bk->bi", Vt, inverse, U, phi)
    length = np.abs(delta[:, turns]).max(axis=-1, keepdims=True, initial=0.0)
    return delta * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))


def _improved(
    tie: Closable, q: np.ndarray, phi: np.ndarray, delta: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A step along δ, or the largest of its halves that comes nearer; unchanged where none does. φ is in `unit`s."""
    left, size = np.arange(len(q)), _size(phi)
    best, best_phi = q.copy(), phi.copy()
    for _ in range(30):
        new = moved(tie.joints, q[left], delta[left])
        new_phi = tie.residual(new) / unit[left]
        better = _size(new_phi) < size[left]
        best[left[better]], best_phi[left[better]] = new[better], new_phi[better]
        left = left[~better & (size[left] > _ROUNDING)]
        if not left.size:
            break
        delta[left] *= 0.5
    return best, best_phi


def rank(K: np.ndarray) -> int:
    """Number of independent rows."""
    values = np.linalg.svd(K, compute_uv=False) if K.size else np.zeros(0)
    return int(np.sum(values > _RANK * values.max(initial=0.0))) if values.size else 0


def is_clear(K: np.ndarray) -> bool:
    """Whether every singular value is either nothing or something: no doubt about the rank."""
    values = np.linalg.svd(K, compute_uv=False) if K.size else np.zeros(0)
    return not np.any((values > 1e-12 * values.max(initial=0.0)) & (values < 1e-5 * values.max(initial=0.0)))


def pick(K: np.ndarray, count: int, order: Sequence[int], rather: Sequence[int] = ()) -> list[int]:
    """`count` independent columns of K: those of `order`, those of `rather` that are not small, the largest."""
    left = K.astype(float).copy()
    scale = np.abs(K).max(initial=0.0)
    chosen: list[int] = []
    preferred = list(order)
    while len(chosen) < count:
        norms = np.linalg.norm(left, axis=0)
        norms[chosen] = 0.0
        sound = [j for j in preferred if j not in chosen and norms[j] > 1e-6 * scale]
        sound = sound or [j for j in rather if norms[j] > _FAIR * norms.max()]
        j = sound[0] if sound else int(np.argmax(norms))
        if norms[j] <= _RANK * scale:
            break
        direction = left[:, j] / norms[j]
        left = left - np.outer(direction, direction @ left)
        chosen.append(j)
    return chosen
