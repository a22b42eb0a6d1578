"""Following the closed configurations of loops in steps so small that the assembly does not change.

Two closed configurations belong to one assembly (elbow up, elbow down) if a motion leads from one to the other. Each
step goes straight on, as far as loops allow, and closes the gap that curvature leaves. Where two assemblies come near
each other K is nearly singular, so that its least singular value bounds the steps; where it vanishes, a mechanism
could go on in two ways, and the path ends.
"""

from __future__ import annotations

import numpy as np

from ..linalg import factors, pseudo_inverse
from ..tolerances import CLOSED
from .embedding import LoopEmbedding
from .loop_closing import close, differences, moved

_STEPS = 60
_LONGEST, _SHORTEST = 0.4, 1e-3  # longest step, in the units of the joints
_CLEAR = 0.8  # longest step where K is as far from singular as at the start
_BENT = 0.25  # correction relative to the step: where it is larger, the step was too long
_PARTS = 30  # largest number of steps into the limits
_INSIDE = 0.1  # fraction of the range of limits by which a path ends inside
_NONE = 1e-300  # instead of zero in denominators whose numerator is zero too
_NOTHING = 1e-9  # norm of a direction that is only rounding, where loops allow none


def follow_path(
    tie: LoopEmbedding, start: np.ndarray, way: np.ndarray, length: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From start (nq), closed, for lengths (n) in the directions nearest to `way` (n, nv), all in units of the joints.

    The ends (n, nq), and whether the full length could be followed (n).
    """
    q, way, left, unit = np.tile(start, (len(way), 1)), way.copy(), length.copy(), tie.units.steps
    longest, clear_first = np.full(len(q), _LONGEST), 0.0
    busy = np.arange(len(q))
    for _ in range(_STEPS):
        way[busy], clear = _tangent(tie, q[busy], way[busy])
        clear_first = clear_first or clear.max(initial=0.0)
        allowed = np.minimum(longest[busy], _CLEAR * clear / max(clear_first, _NONE))
        going = (left[busy] > 0.0) & (allowed >= _SHORTEST)
        busy, step = busy[going], np.minimum(allowed[going], left[busy[going]])
        if not busy.size:
            break
        ahead = moved(tie.joints, q[busy], step[:, None] * way[busy] * unit)
        new, gap = close(tie, ahead)
        bend = np.linalg.norm(differences(tie.joints, ahead, new) / unit, axis=-1)
        good = (gap < CLOSED) & (bend <= _BENT * step)
        q[busy[good]] = new[good]
        left[busy[good]] -= step[good]
        longest[busy] = np.where(good, np.minimum(2.0 * longest[busy], _LONGEST), 0.5 * step)
    return q, left <= 0.0


def _rows(tie: LoopEmbedding, q: np.ndarray) -> np.ndarray:
    """K (n, rows, nv) at q (n, nq), in units of gaps and steps."""
    rows = list(tie.rows)
    return tie.slopes(q)[:, rows] * tie.units.steps / tie.units.gaps[rows, None]


def _tangent(tie: LoopEmbedding, q: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unit direction (n, nv) nearest to `way` that loops allow at q (n, nq); how far K is from singular (n)."""
    K = _rows(tie, q)
    known = np.all(np.isfinite(K), axis=(1, 2))
    _, s, Vt = factors(np.where(known[:, None, None], K, 0.0))
    clear = s[:, -1] / np.maximum(s[:, 0], _NONE) if s.shape[1] else known.astype(float)
    unit = way / np.maximum(np.linalg.norm(way, axis=-1, keepdims=True), _NONE)
    for _ in range(2):  # the second time for accuracy
        unit = unit - np.einsum("brj,br->bj", Vt, np.einsum("brj,bj->br", Vt, unit))
    size = np.linalg.norm(unit, axis=-1, keepdims=True)
    return np.where(size > _NOTHING, unit / np.maximum(size, _NOTHING), 0.0), clear


def move_into_limits(
    tie: LoopEmbedding, q: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From closed q (n, nq) to where all joints are within limits, by the shortest motion of those that are outside.

    The ends (n, nq), and whether the assembly stayed the same (n): steps with too much curvature do not count.
    """
    margin, unit = _INSIDE * np.minimum(upper - lower, tie.units.guesses), tie.units.steps
    stays = np.full(len(q), True)
    for _ in range(_PARTS):
        outside = (q < lower) | (q > upper)
        busy = np.flatnonzero(stays & outside.any(axis=-1))
        if not busy.size:
            break
        target = np.where(outside[busy], np.clip(q[busy], lower + margin, upper - margin), q[busy])
        step = _shortest(tie, q[busy], differences(tie.joints, q[busy], target) / unit)
        ahead = moved(tie.joints, q[busy], step * unit)
        q[busy], gap = close(tie, ahead)
        bend = np.linalg.norm(differences(tie.joints, ahead, q[busy]) / unit, axis=-1)
        stays[busy] &= (gap < CLOSED) & (bend <= _BENT * np.linalg.norm(step, axis=-1) + CLOSED)
    return q, stays


def _shortest(tie: LoopEmbedding, q: np.ndarray, way: np.ndarray) -> np.ndarray:
    """The least step (n, nv) that loops allow at q and that follows the nonzero entries of `way`."""
    K = _rows(tie, q)
    asked = np.eye(way.shape[1]) * (way != 0.0)[:, None, :]
    A = np.nan_to_num(np.concatenate([K, asked], axis=1))
    step = np.einsum("nij,nj->ni", pseudo_inverse(A)[:, :, K.shape[1] :], way)
    length = np.linalg.norm(step, axis=-1, keepdims=True)
    return step * np.minimum(1.0, _LONGEST / np.maximum(length, _NONE))
