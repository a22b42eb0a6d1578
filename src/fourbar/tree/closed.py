"""Configurations in which rows that come from positions are met, by Newton's method, for robots of any size.

What a gap is measured in: a row's own change for unit changes of all coordinates, and the rounding of the lengths of
which a robot is made. So the same is said of a crane and of a watch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..joints.independence import turning
from ..linalg import apply, pseudo_inverse
from ..tolerances import CLOSED, NOTHING
from .cluster_tree import ClusterTree
from .embedding import LoopEmbedding

_STEPS, _LONGEST = 60, 0.5  # number of steps, and how far joints turn in one
_STALLED = 0.5  # a gap that is closed, and that a step leaves larger than this part of it, is rounding
_ROUNDING = 1e-13  # of lengths, in what rows say of them
RESTARTS, _NUDGE, _GROWS = 12, 0.02, 1.5  # starts beside one from which the steps do not get there, and how far beside

Function = Callable[[np.ndarray], np.ndarray]


class Opened(NamedTuple):
    """How far rows are open at q (n, nq), φ (n, m), A (n, m, nv), and how q (n, nq) moves by steps (n, nv)."""

    residual: Function
    jacobian: Function
    moved: Callable[[np.ndarray, np.ndarray], np.ndarray]


def close(
    q: np.ndarray, opened: Opened, turns: np.ndarray, length: float, restarts: int = RESTARTS
) -> tuple[np.ndarray, np.ndarray]:
    """Closed configurations near q (n, nq), and the gaps (n) that are left. `turns` (nv): see `turning_velocities`.

    Where steps from q lead nowhere (from half a turn there is no shortest way back), they start beside it.
    """
    found, gaps = _closed(q, opened, turns, length)
    rng, unit = np.random.default_rng(0), np.where(turns, 1.0, length)
    for spread in _NUDGE * _GROWS ** np.arange(restarts):
        left = np.flatnonzero(~(gaps <= CLOSED) & np.isfinite(q).all(axis=-1))
        if not left.size:
            break
        start = opened.moved(q[left], spread * unit * rng.normal(size=(len(left), len(turns))))
        again, gap = _closed(start, opened, turns, length)
        good = gap <= CLOSED
        found[left[good]], gaps[left[good]] = again[good], gap[good]
    return found, gaps


def _closed(q: np.ndarray, opened: Opened, turns: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """The same from one start."""
    q, gaps = q.copy(), np.full(len(q), np.inf)
    busy = np.arange(len(q))
    for _ in range(_STEPS + 1):
        phi, A = opened.residual(q[busy]), opened.jacobian(q[busy])
        unit = _units(A, length, CLOSED)
        gap, before = np.abs(phi / unit).max(axis=-1, initial=0.0), gaps[busy]
        gaps[busy] = gap
        left = np.isfinite(gap) & (gap > 0.0) & ~((gap <= CLOSED) & (gap > _STALLED * before))
        busy, phi, A, unit = busy[left], phi[left], A[left], unit[left]
        if not busy.size:
            break
        q[busy] = opened.moved(q[busy], _newton(A / unit[..., None], phi / unit, turns))
    return q, gaps


def _units(A: np.ndarray, length: float, tolerance: float) -> np.ndarray:
    """What the gap of each row of A (..., m, n) is measured in: its own change, and no less than what makes rounding
    of lengths smaller than `tolerance`. Rows that are nothing are measured as the largest is."""
    own = np.abs(A).sum(axis=-1)
    largest = own.max(axis=-1, keepdims=True, initial=0.0)
    found = np.maximum(np.where(own > NOTHING * largest, own, largest), _ROUNDING / tolerance * length)
    return np.where(found > 0.0, found, 1.0)


def gaps_in_units(cluster_tree: ClusterTree, tie: LoopEmbedding, q: np.ndarray, tolerance: float) -> np.ndarray:
    """How far an embedded loop is open (...) at coordinates q (..., n) of its cluster: the largest gap, in units of its
    row, such that rounding is less than `tolerance`. Where a gap is no number, it is not told."""
    phi, K = (np.nan_to_num(x) for x in tie.numbers(q))
    return (np.abs(phi) / _units(K, longest_length(cluster_tree), tolerance)).max(axis=-1, initial=0.0)


def are_closed(cluster_tree: ClusterTree, q: np.ndarray, tolerance: float) -> np.ndarray:
    """Whether embedded loops are closed at q (..., nq): no gap is more than `tolerance` in units of its row."""
    found, at = np.ones(q.shape[:-1], bool), 0
    for cluster in cluster_tree.clusters:
        tie, end = cluster.embedding, at + cluster.embedding.nq
        if isinstance(tie, LoopEmbedding) and not tie.explicit:
            found &= gaps_in_units(cluster_tree, tie, q[..., at:end], tolerance) <= tolerance
        at = end
    return found


def _newton(A: np.ndarray, phi: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """-A⁺ φ, shortened where joints would turn too far."""
    step = -apply(pseudo_inverse(A), phi)
    turned = np.abs(step[..., turns]).max(axis=-1, keepdims=True, initial=0.0)
    return step * np.minimum(1.0, _LONGEST / np.maximum(turned, 1e-300))


def turning_velocities(cluster_tree: ClusterTree) -> np.ndarray:
    """Which independent velocities (nv) turn something; the others are those of slides."""
    found: list[bool] = []
    for cluster in cluster_tree.clusters:
        own, tie = [x for i in cluster.links for x in turning(cluster_tree.moving[i].joint)], cluster.embedding
        found += (
            [any(own)] * tie.nv if isinstance(tie, LoopEmbedding) else own
        )  # what one moves others of its loop may turn
    return np.array(found, bool)


def longest_length(cluster_tree: ClusterTree) -> float:
    """The largest length in the placements of the links."""
    return max(
        (float(np.abs(np.array(c.placement.p, float)).max()) for c in cluster_tree.spanning_tree.links), default=0.0
    )
