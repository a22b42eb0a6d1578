"""Configurations that satisfy conditions on positions, by Newton's method, for robots of any size.

A gap is measured in units of its row: the row's change for unit changes of all coordinates, and the rounding of the
robot's lengths. So a crane and a watch are judged alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from ..joints.base import turning
from ..linalg import apply, pseudo_inverse
from ..tolerances import CLOSED, NOTHING
from .cluster_tree import ClusterTree
from .embedding import LoopEmbedding


class AssemblySettings:
    """Settings of Newton's method to closed positions."""

    STEPS, LONGEST = 60, 0.5  # number of steps, and the largest rotation of a joint in one
    STALLED = 0.5  # a closed gap that a step reduces by less than this factor is rounding
    ROUNDING = 1e-13  # rounding of lengths, relative to what rows measure


RESTARTS, _NUDGE, _GROWS = 12, 0.02, 1.5  # starts beside one from which Newton's method fails, and how far beside

Function = Callable[[np.ndarray], np.ndarray]


class Opened(NamedTuple):
    """The gaps of rows at q (n, nq), φ (n, m), A (n, m, nv), and how q (n, nq) moves by steps (n, nv)."""

    residual: Function
    jacobian: Function
    moved: Callable[[np.ndarray, np.ndarray], np.ndarray]


def close(
    q: np.ndarray, opened: Opened, turns: np.ndarray, length: float, restarts: int = RESTARTS
) -> tuple[np.ndarray, np.ndarray]:
    """Closed configurations near q (n, nq), and the remaining gaps (n). `turns` (nv): see `turning_velocities`.

    Where steps from q make no progress (from half a turn there is no shortest way back), they start beside it.
    """
    closed, gaps = _close_from_start(q, opened, turns, length)
    rng, unit = np.random.default_rng(0), velocity_units(turns, length)
    for spread in _NUDGE * _GROWS ** np.arange(restarts):
        left = np.flatnonzero(~(gaps <= CLOSED) & np.isfinite(q).all(axis=-1))
        if not left.size:
            break
        start = opened.moved(q[left], spread * unit * rng.normal(size=(len(left), len(turns))))
        again, gap = _close_from_start(start, opened, turns, length)
        good = gap <= CLOSED
        closed[left[good]], gaps[left[good]] = again[good], gap[good]
    return closed, gaps


def _close_from_start(q: np.ndarray, opened: Opened, turns: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """`close` from one start."""
    q, gaps = q.copy(), np.full(len(q), np.inf)
    busy, steps = np.arange(len(q)), velocity_units(turns, length)
    for _ in range(AssemblySettings.STEPS + 1):
        phi, A = opened.residual(q[busy]), opened.jacobian(q[busy])
        unit = _units(A * steps, length, CLOSED)
        gap, before = np.abs(phi / unit).max(axis=-1, initial=0.0), gaps[busy]
        gaps[busy] = gap
        left = np.isfinite(gap) & (gap > 0.0) & ~((gap <= CLOSED) & (gap > AssemblySettings.STALLED * before))
        left &= np.isfinite(A).all(axis=(-2, -1))
        busy, phi, A, unit = busy[left], phi[left], A[left], unit[left]
        if not busy.size:
            break
        q[busy] = opened.moved(q[busy], _newton(A / unit[..., None], phi / unit, turns, steps))
    return q, gaps


def _units(A: np.ndarray, length: float, tolerance: float) -> np.ndarray:
    """The unit of the gap of each row of A (..., m, n): its own change, at least large enough to make rounding of
    lengths smaller than `tolerance`. Zero rows take the largest unit.
    """
    own = np.abs(A).sum(axis=-1)
    largest = own.max(axis=-1, keepdims=True, initial=0.0)
    found = np.maximum(np.where(own > NOTHING * largest, own, largest), AssemblySettings.ROUNDING / tolerance * length)
    return np.where(found > 0.0, found, 1.0)


def gaps_in_units(cluster_tree: ClusterTree, tie: LoopEmbedding, q: np.ndarray, tolerance: float) -> np.ndarray:
    """The gap of an embedded loop (...) at coordinates q (..., n) of its cluster: the largest, in units of its row,
    such that rounding is less than `tolerance`. NaN gaps are ignored.
    """
    phi, K = (np.nan_to_num(x) for x in (tie.residual(q), tie.slopes(q)))
    return (np.abs(phi) / _units(K, longest_length(cluster_tree), tolerance)).max(axis=-1, initial=0.0)


def are_closed(cluster_tree: ClusterTree, q: np.ndarray, tolerance: float, others: Collection[str] = ()) -> np.ndarray:
    """Whether embedded loops are closed at q (..., nq), but for `others`: no gap exceeds `tolerance` in units of its
    row.
    """
    closed = np.ones(q.shape[:-1], bool)
    for cluster, tie, places in cluster_tree.implicit_clusters:
        if not set(cluster.loops) & set(others):
            closed &= gaps_in_units(cluster_tree, tie, q[..., places], tolerance) <= tolerance
    return closed


def _newton(A: np.ndarray, phi: np.ndarray, turns: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """-A⁺ φ with least norm in units (nv) of the velocities, shortened where joints would turn too far."""
    step = -unit * apply(pseudo_inverse(A * unit), phi)
    turned = np.abs(step[..., turns]).max(axis=-1, keepdims=True, initial=0.0)
    return step * np.minimum(1.0, AssemblySettings.LONGEST / np.maximum(turned, 1e-300))


def turning_velocities(cluster_tree: ClusterTree) -> np.ndarray:
    """A mask of the independent velocities (nv) that rotate something; the others are those of slides."""
    mask: list[bool] = []
    for cluster in cluster_tree.clusters:
        of_links = [x for i in cluster.links for x in turning(cluster_tree.moving[i].joint)]
        # through the loop, a slide may rotate other joints
        mask += of_links if cluster.is_free else [any(of_links)] * cluster.embedding.nv
    return np.array(mask, bool)


def velocity_units(turns: np.ndarray, length: float) -> np.ndarray:
    """Units of velocities (nv): one of those that rotate something, the robot's length of slides."""
    return np.where(turns, 1.0, length if length > 0.0 else 1.0)


def longest_length(cluster_tree: ClusterTree) -> float:
    """The largest length in the placements of the links."""
    return max(
        (float(np.abs(np.array(c.placement.p, float)).max()) for c in cluster_tree.spanning_tree.links), default=0.0
    )
