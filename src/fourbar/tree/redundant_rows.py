"""Rows of loops that are redundant but for the last digits of a file.

A pin that is written as two points on its axis is constrained twice; where one of the points is a little off, no
configuration satisfies both. Such rows are left out, if the gap is due to rounding and stays small while the loops
move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..linalg import pick, rank
from ..tolerances import CLOSED, IMPLIED, RANK, REDUNDANT, SPREADING
from .closing import close
from .embedding import LoopEmbedding
from .followers import Followers


class Spare(NamedTuple):
    """Rows that are left out, and the gaps (m) of all rows."""

    rows: tuple[int, ...]
    gaps: np.ndarray


def spare_rows(
    tie: LoopEmbedding, guesses: np.ndarray, closed: np.ndarray, gaps: np.ndarray, found: Followers
) -> Spare | None:
    """The rows that keep loops from closing though others imply them; None where loops contradict each other.

    `closed` (k, nq) are the nearest configurations, `gaps` (k) their gaps. The `guesses` show how the gap changes where
    the loops move.
    """
    if not np.nanmin(gaps, initial=np.inf) <= REDUNDANT:
        return None
    best = int(np.nanargmin(gaps))
    K = found.core(tie.units.of(tie.numbers(closed[best])[1]))
    picked = pick(K.T, rank(K, max(RANK, IMPLIED * gaps[best])), rather=range(len(K)))  # rows given first have priority
    needed = [i for i, _ in found.pairs] + [found.core_rows[i] for i in picked]
    near, left = close(tie, np.concatenate([closed[best][None], guesses]), rows=needed)
    open_by = np.abs(tie.residual(near[left < CLOSED]))
    worst = (open_by / tie.units.gaps).max(axis=0, initial=0.0)
    if not left[0] < CLOSED or worst.max(initial=0.0) > max(SPREADING * gaps[best], CLOSED):
        return None
    rows = tuple(i for i in np.flatnonzero(worst > 0.1 * CLOSED).tolist() if i not in set(needed))
    return Spare(rows, open_by.max(axis=0, initial=0.0)) if rows else None
