"""Rows of loops that are redundant but for the last digits of a file.

A pin that is written as two points on its axis is constrained twice; where one of the points is a little off, no
configuration satisfies both. Or only one does, where both points were written down in it: turned away from it, the
pin is held by two axes that differ in the last digits, and the loop is rigid. Such rows are left out, if the gap is due
to rounding and stays small while the loops move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..linalg import finite, pick, rank, singular_values
from ..tolerances import CLOSED, IMPLIED, RANK, REDUNDANT, SPREADING, STATIONARY
from .embedding import LoopEmbedding
from .followers import Followers
from .loop_closing import close, differences

_ELSEWHERE = 0.01  # of a joint, in its unit: how far a configuration is from another to count as another
_IN_REACH = 0.5  # the same: beyond, another assembly may have been found, where rows that are left out are open


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
    K = found.core(tie.units.of(tie.slopes(closed[best])))
    picked = pick(K.T, rank(K, max(RANK, IMPLIED * gaps[best])), rather=range(len(K)))  # rows given first have priority
    needed = _needed_rows(found, picked)
    near, left = close(tie, np.concatenate([closed[best][None], guesses]), rows=needed)
    if not left[0] < CLOSED:
        return None
    return _find_open_rows(tie, needed, near[left < CLOSED], tie.units.gaps, SPREADING * gaps[best])


def freezing_rows(tie: LoopEmbedding, guesses: np.ndarray, q: np.ndarray, found: Followers) -> Spare | None:
    """The rows that freeze loops which are closed at q (nq), though others imply them but for the last digits; None
    where there are none.

    In units of what the rows measure, such rows are nearly those of others. So are the rows of a toggle position, but
    away from it they open; these stay nearly closed wherever the other rows let the loops move, at the `guesses` for
    instance, or at those in reach, where without these rows there are other assemblies. Rows of coordinates are never
    left out: a ratio of 1e9 is a ratio.
    """
    slopes = tie.slopes(q)
    K = found.core(tie.units.effect_of(slopes))
    sizes = singular_values(K)
    number = int((sizes > 2.0 * REDUNDANT).sum())  # of a few entries of that size
    if number == rank(found.core(tie.units.of(slopes))):
        return None
    exact = [n for n, i in enumerate(found.core_rows) if not tie.traced.bodies_by_row[i]]
    needed = _needed_rows(found, sorted({*exact, *pick(K.T, number, exact, rather=range(len(K)))}))
    near, left = close(tie, guesses, rows=needed)
    near = near[left < CLOSED]
    displacement = differences(tie.joints, np.tile(q, (len(near), 1)), near) / tie.units.steps
    far = np.abs(displacement).max(axis=-1, initial=0.0)
    most = SPREADING * min(sizes[number], REDUNDANT)
    for those in (far > _ELSEWHERE, (far > _ELSEWHERE) & (far < _IN_REACH)):
        spare = _find_open_rows(tie, needed, near[those], tie.units.effects, most) if those.any() else None
        if spare is not None:
            return spare
    return None


def _needed_rows(found: Followers, core: Sequence[int]) -> list[int]:
    """The rows of followers, and some of the core, by their places in it."""
    return [i for i, _ in found.pairs] + [found.core_rows[n] for n in core]


def _find_open_rows(
    tie: LoopEmbedding, needed: Sequence[int], near: np.ndarray, units: np.ndarray, most: float
) -> Spare | None:
    """The rows that are open where the `needed` ones are closed (k, nq); None if one is open by more than `most`."""
    open_by = np.abs(tie.residual(near))
    worst = (open_by / units).max(axis=0, initial=0.0)
    if worst.max(initial=0.0) > max(most, CLOSED):
        return None
    open_rows = {i for i in np.flatnonzero(worst > 0.1 * CLOSED).tolist() if i not in set(needed)}
    if not open_rows:
        return None
    rows = open_rows | _mute(tie, near, {tie.traced.bodies_by_row[i] for i in open_rows}) - set(needed)
    return Spare(tuple(sorted(rows)), open_by.max(axis=0, initial=0.0))


def _mute(tie: LoopEmbedding, near: np.ndarray, bodies: set[tuple[str, ...]]) -> set[int]:
    """The rows about rotations of some of these `bodies` that hardly change where loops are closed (k, nq).

    They distinguish half a turn from none, for rows that are left out. Alone they would be measured by themselves, and
    hold what they only see in the last digits.
    """
    change = np.abs(tie.units.effect_of(finite(tie.slopes(near)))).max(axis=(0, 2), initial=0.0)
    shifted = np.abs(finite(tie.displacements(near[0]))[:, :, 3:]).max(axis=(1, 2), initial=0.0)
    own = tie.traced.bodies_by_row
    return {i for i in np.flatnonzero((change <= STATIONARY) & (shifted == 0.0)).tolist() if own[i] in bodies}
