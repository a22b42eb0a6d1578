"""Travelling along the closed configurations of loops, in steps so small that the assembly stays what it is.

Two closed configurations belong to one assembly (elbow up, elbow down) if a motion leads from one to the other. Each
step here goes straight on, as far as loops allow, and closes the gap that their bend leaves. Where two assemblies come
near each other K is nearly singular, so that its least singular value bounds the steps; where it vanishes a
mechanism could go on in two ways, and a journey ends.
"""

from __future__ import annotations

import numpy as np

from .choose import close, differences, moved
from .embedding import Tied

_STEPS = 60
_LONGEST, _SHORTEST = 0.4, 1e-3  # of a step, in the units of the joints
_CLEAR = 0.8  # of a step, where K is as far from singular as at the start
_BENT = 0.25  # what closes the gap beside the step: where it is more, the step was too long
_PARTS = 16  # of a way into limits, at most
_FOLLOWED = 10.0  # how much further than the independent joints the others may move: beyond, K_d is nearly singular
_CLOSED = 1e-11
_NOTHING = 1e-9  # of a direction: rounding, where loops allow none


def travel(tie: Tied, start: np.ndarray, way: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From start (nq), closed, for lengths (n) in the directions nearest to `way` (n, nv).

    Where that leads (n, nq), and whether all of the length could be gone (n).
    """
    q, way, left = np.tile(start, (len(way), 1)), way.copy(), length.copy()
    longest, clear_first = np.full(len(q), _LONGEST), 0.0
    busy = np.arange(len(q))
    for _ in range(_STEPS):
        way[busy], clear = _tangent(tie, q[busy], way[busy])
        clear_first = clear_first or clear.max(initial=0.0)
        allowed = np.minimum(longest[busy], _CLEAR * clear / clear_first)
        going = (left[busy] > 0.0) & (allowed >= _SHORTEST)
        busy, step = busy[going], np.minimum(allowed[going], left[busy[going]])
        if not busy.size:
            break
        ahead = moved(tie.joints, q[busy], step[:, None] * way[busy])
        new, gap = close(tie, ahead)
        bend = np.linalg.norm(differences(tie.joints, ahead, new), axis=-1)
        good = (gap < _CLOSED) & (bend <= _BENT * step)
        q[busy[good]] = new[good]
        left[busy[good]] -= step[good]
        longest[busy] = np.where(good, np.minimum(2.0 * longest[busy], _LONGEST), 0.5 * step)
    return q, left <= 0.0


def _tangent(tie: Tied, q: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unit direction (n, nv) nearest to `way` that loops allow at q (n, nq); how far K is from singular (n)."""
    K = tie.numbers(q)[1][:, tie.rows]
    _, s, Vt = np.linalg.svd(K, full_matrices=False)
    clear = s[:, -1] / s[:, 0] if s.shape[1] else np.ones(len(q))
    unit = way / np.maximum(np.linalg.norm(way, axis=-1, keepdims=True), 1e-300)
    for _ in range(2):  # the second time for the digits
        unit = unit - np.einsum("brj,br->bj", Vt, np.einsum("brj,bj->br", Vt, unit))
    size = np.linalg.norm(unit, axis=-1, keepdims=True)
    return np.where(size > _NOTHING, unit / np.maximum(size, _NOTHING), 0.0), clear


def brought_within(tie: Tied, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From closed q (n, nq) to where the independent joints are within limits, by a motion of these.

    Where that leads (n, nq), and whether the loops could follow (n). A direction in which all joints move leaves limits
    that are narrow at once.
    """
    held = [j for j, _ in tie.independent]
    way = np.zeros((len(q), sum(joint.nv for joint in tie.joints)))
    way[:, held] = differences(tie.joints, q, np.clip(q, lower, upper))[:, held]
    follows, parts = np.full(len(q), True), int(np.clip(np.ceil(np.abs(way).max(initial=0.0) / _LONGEST), 1, _PARTS))
    for _ in range(parts):
        ahead = moved(tie.joints, q, way / parts)
        q, gap = close(tie, ahead, held)
        bend = np.linalg.norm(differences(tie.joints, ahead, q), axis=-1)
        follows &= (gap < _CLOSED) & (bend <= _FOLLOWED * np.linalg.norm(way, axis=-1) / parts + _CLOSED)
    return q, follows
