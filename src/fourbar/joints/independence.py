"""Whether the velocities of a joint are independent: a joint with a redundant coordinate has a singular mass matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expr import Graph, prepare
from ..linalg import ranks, smallest
from ..spatial.linear import is_zero
from ..spatial.subspace import Selection, series
from ..spatial.transform import IDENTITY
from .base import Joint

_SAMPLES, _FAR = 8, 10.0  # configurations in which S is compared, some of them up to this far from neutral


def subspace_matrix(joint: Joint, q: Sequence[float]) -> np.ndarray:
    """S (6 x nv) in numbers."""
    twists = joint.subspace(q).twists()
    return np.array([t.six() for t in twists], float).reshape(len(twists), 6).T


def turning(joint: Joint) -> list[bool]:
    """A mask of a joint's velocities that rotate its child; the others translate it, and may be of any size."""
    return [bool(np.any(column[:3])) for column in subspace_matrix(joint, joint.neutral()).T]


@lru_cache(maxsize=4096)
def suspect_columns(joint: Joint) -> tuple[tuple[int, ...], ...]:
    """Sets of columns of S that may be dependent somewhere, as those of Euler angles at gimbal lock; most have none.

    Columns that turn the child by independent axes, and columns that only move it along independent ones, are
    independent together. What does not change between random configurations does not change at all.
    """
    q = Graph().inputs("q", joint.nq)
    S = joint.subspace(q) if joint.nv else Selection(())
    if isinstance(S, Selection):
        return ()
    if all(x.__class__ is float for column in S.columns for x in column):
        independent = ranks(np.array(S.columns).T) == joint.nv
        return () if independent else (tuple(range(joint.nv)),)
    sliding = tuple(j for j, column in enumerate(S.columns) if all(map(is_zero, column[:3])))
    turning = tuple(j for j in range(joint.nv) if j not in sliding)
    samples = _sampled_subspaces(joint, prepare([x for column in S.columns for x in column], q))
    if _is_steady(samples[:, :3, turning]):
        sets = (sliding,)
    elif all(is_zero(x) for j in turning for x in S.columns[j][3:]):
        sets = (turning, sliding)
    else:
        sets = (tuple(range(joint.nv)),)
    return tuple(own for own in sets if not _is_steady(samples[:, :, own]))


def _sampled_subspaces(joint: Joint, entries: Callable[[Iterable[Any]], list[Any]]) -> np.ndarray:
    """S (n, 6, nv) at random configurations, its linear rows in the length that they have relative to the angular.

    `entries`: those of S, column by column, as a function of the coordinates.
    """
    rng, home, far = np.random.default_rng(0), np.array(joint.neutral()), np.full(joint.nq, np.inf)
    bounds = [(-far, far), (home - _FAR, home + _FAR)]
    q = np.concatenate([joint.random(rng, lower, upper, (_SAMPLES,)) for lower, upper in bounds])
    with np.errstate(all="ignore"):
        S = np.stack([np.broadcast_to(x, len(q)) for x in entries(q.T)], -1).astype(float)
        S = S.reshape(len(q), joint.nv, 6).transpose(0, 2, 1)
        length = np.linalg.norm(S[:, 3:]) / np.linalg.norm(S[:, :3])
    return np.concatenate([S[:, :3], S[:, 3:] / (length if 0.0 < length < np.inf else 1.0)], axis=1)


def _is_steady(columns: np.ndarray) -> bool:
    """Whether columns (n, rows, m) are independent, equally in all samples."""
    if columns.shape[2] == 0:
        return True
    if not np.isfinite(columns).all() or columns.shape[2] > columns.shape[1]:
        return False
    gram = columns.swapaxes(-1, -2) @ columns
    size = np.abs(gram).max()
    return bool(np.ptp(gram, axis=0).max() < 1e-9 * size and smallest(columns).min() ** 2 > 1e-12 * size)


@lru_cache(maxsize=4096)
def regular_rates(joint: Joint, armature: tuple[float, ...]) -> Callable[[Iterable[Any]], list[Any]] | None:
    """Conditions on the coordinates of a joint under which its rates are independent; None where they always are."""
    suspect = suspect_columns(joint)
    if not suspect:
        return None
    q = Graph().inputs("q", joint.nq)
    return prepare(series([(IDENTITY, joint.subspace(q))]).regular(armature, suspect), q)


def require_independent(joint: Joint, q: Sequence[float], what: str) -> None:
    """Refuse a joint whose S (6 x nv) has dependent columns at the generic configuration q."""
    if joint.nv == 0:
        return
    rank = int(ranks(subspace_matrix(joint, q)))
    if rank < joint.nv:
        raise ModelError(
            f"{what} has {joint.nv} velocities but only {rank} independent motion{'s' * (rank != 1)}: "
            f"its coordinates are redundant; remove {joint.nv - rank} of them"
        )
