"""Units of the rows and columns of K = ∂φ/∂q, so that ranks, gaps and steps do not depend on the user's units.

The unit of an angle is one. The unit of length of rows that refer to the same bodies is their longest lever, or without
levers the longest placement or the longest distance that a slide has to move: a small loop and a large one that share
a link have their own. A row that refers to bodies is measured in the effect of rotating such a body by one, or of
shifting it by the unit of length; a row that refers to coordinates in their effect. What is less than `DUST` in these
units is zero. Ranks are taken in units that are balanced further: in a gear of 1e9 the fast joint has its own unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..joints.base import Joint, subspace_matrix
from ..linalg import balance, finite
from ..spatial.linear import Vec
from ..tolerances import DUST, NOTHING, STATIONARY
from .followers import Followers

_FAR = 0.01  # relative to the longest length of a placement: smaller lengths are indistinguishable from its rounding


class Units(NamedTuple):
    """Units of rows (m) and columns (n) of K.

    `rows` and `columns` are balanced: K columns / rows has entries near one, or zeros. `effects` (m) are those of rows
    before: of unit displacements of bodies, or unit changes of coordinates. `gaps` (m) are those of φ, `steps` (n)
    those of velocities, `guesses` (nq) those of coordinates. `still`: entries of K that are zero.
    """

    rows: np.ndarray
    columns: np.ndarray
    effects: np.ndarray
    gaps: np.ndarray
    steps: np.ndarray
    guesses: np.ndarray
    still: np.ndarray  # (m, n), booleans

    def of(self, K: np.ndarray) -> np.ndarray:
        """K (..., m, n) in balanced units, without rounding errors."""
        return np.where(self.still, 0.0, K) * self.columns / self.rows[:, None]

    def effect_of(self, K: np.ndarray) -> np.ndarray:
        """K (..., m, n) as the effects of unit steps relative to those of unit displacements: not balanced, so that
        rows that hardly depend on any joint stay small.
        """
        return np.where(self.still, 0.0, K) * self.steps / self.effects[:, None]


class Sight(NamedTuple):
    """Rows that refer to the same bodies, and the longest length of a placement on the way to these."""

    rows: list[int]
    far: float


class _Kind:
    """The effects of a joint's velocities: how much each rotates and translates (nv), and a mask of the coordinates
    (nq) that are lengths, since only translation changes them.
    """

    def __init__(self, joint: Joint) -> None:
        q = joint.neutral()
        S = subspace_matrix(joint, q)
        self.turn, self.push = np.linalg.norm(S[:3], axis=0), np.linalg.norm(S[3:], axis=0)
        rates = [joint.rate(Vec(q), Vec(row)) for row in np.eye(joint.nv).tolist()]
        slides = np.all(S[:3] == 0.0, axis=0)
        moves = np.array(rates, float).reshape(joint.nv, -1) != 0.0
        self.lengths = np.any(moves[slides], axis=0) & ~np.any(moves[~slides], axis=0)


class Lever(NamedTuple):
    """The units of length of rows (m), the lengths (m) whose rounding they contain, and the units of the velocities (n)
    and coordinates (nq) of a cluster of links.
    """

    lengths: np.ndarray
    far: np.ndarray  # (m,)
    steps: np.ndarray  # (n,)
    guesses: np.ndarray  # (nq,)


def lever(
    joints: Sequence[Joint], phi: np.ndarray, K: np.ndarray, pull: np.ndarray, far: float, sights: Sequence[Sight]
) -> Lever:
    """Units of lengths, from φ (m), K (m, n) and pull (m, bodies, 6) at a configuration, and the longest placement."""
    kinds = {joint: _Kind(joint) for joint in dict.fromkeys(joints)}  # of thousands of mimics most are alike
    turn = np.concatenate([kinds[joint].turn for joint in joints])
    push = np.concatenate([kinds[joint].push for joint in joints])
    length = _arm(K, pull, turn, far) or _ratio(np.abs(K), turn > 0.0) or max(far, _way(phi, K, turn)) or 1.0
    lengths, reach = np.full(len(K), length), np.full(len(K), max(far, length))
    for rows, own in sights:
        lengths[rows] = _arm(K[rows], pull[rows], turn, own) or length
        reach[rows] = np.maximum(own, lengths[rows])
    across = np.where(K != 0.0, lengths[:, None], 0.0).max(axis=0, initial=0.0)
    across = np.where(across > 0.0, across, length)
    moved = turn + push / across
    steps = 1.0 / np.where(moved > 0.0, moved, 1.0)
    ends = np.cumsum([joint.nv for joint in joints])[:-1]
    parts = zip(joints, np.split(across, ends), strict=True)
    guesses = np.concatenate([np.where(kinds[joint].lengths, x.max(initial=0.0), 1.0) for joint, x in parts])
    return Lever(lengths, reach, steps, guesses)


def _arm(K: np.ndarray, pull: np.ndarray, turn: np.ndarray, far: float) -> float:
    """The longest lever by which rotations of joints shift the points that rows of K (m, n) refer to; zero where
    none refers to bodies.

    Levers that are rounding relative to the lengths they are computed from do not count: these lengths replace them.
    """
    turned, shifted = (np.abs(pull[:, :, part]).max(axis=(1, 2), initial=0.0) for part in (slice(3), slice(3, 6)))
    held, turning = shifted > 0.0, turn > 0.0
    if not held.any():
        return 0.0
    arms = np.abs(K[held][:, turning]) / turn[turning] / shifted[held][:, None]
    longest = max(far, float((turned[held] / shifted[held]).max()))
    arm = float(arms.max(initial=0.0))
    return arm if arm > NOTHING * longest else longest


def _way(phi: np.ndarray, K: np.ndarray, turn: np.ndarray) -> float:
    """The longest distance that a slide alone would have to move to satisfy a row of φ (m); zero where none has to."""
    slopes = np.abs(K[:, turn == 0.0]).max(axis=1, initial=0.0)
    return float((np.abs(phi[slopes > 0.0]) / slopes[slopes > 0.0]).max(initial=0.0))


def _ratio(sizes: np.ndarray, turning: np.ndarray) -> float:
    """The largest length per unit angle in a row of coordinates; zero if none contains both."""
    if turning.all() or not turning.any():
        return 0.0
    large = np.where(sizes > NOTHING * sizes.max(axis=1, keepdims=True, initial=0.0), sizes, 0.0)
    turned, pushed = (large[:, which].max(axis=1, initial=0.0) for which in (turning, ~turning))
    both = (turned > 0.0) & (pushed > 0.0)
    return float((turned[both] / pushed[both]).max(initial=0.0))


def _without_dust(turned: np.ndarray, only: np.ndarray) -> np.ndarray:
    """The effects of unit rotations on rows (m); on rows that they hardly change, half of the smallest on others.

    Such rows only distinguish half a turn from none: 1 - cos θ beside sin θ. They are among those that `only` (m)
    rotations change.
    """
    dust = only & (turned <= STATIONARY * turned[only].max(initial=0.0))
    others = turned[only & ~dust]
    return np.where(dust, 0.5 * others.min(), turned) if dust.any() and others.size else turned


def measure(own: Lever, K: np.ndarray, pull: np.ndarray, looks: np.ndarray, found: Followers) -> Units:
    """Units for the rows and columns of K (k, m, n), of which there are some samples, with pull (m, bodies, 6).

    `looks` (m): which rows refer to bodies at all, even where displacements of these do not change them.
    """
    sizes = finite(np.abs(K)).max(axis=0, initial=0.0)
    turned, shifted = (np.abs(pull[:, :, part]).max(axis=(1, 2), initial=0.0) for part in (slice(3), slice(3, 6)))
    natural = np.maximum(_without_dust(turned, looks & (shifted == 0.0)), own.lengths * shifted)
    still = sizes * own.steps <= DUST * natural[:, None]
    sizes = np.where(still, 0.0, sizes) * own.steps
    natural = np.maximum(natural, sizes.max(axis=1, initial=0.0))
    natural = np.where(natural > 0.0, natural, 1.0)
    rows, columns = natural.copy(), np.ones(len(own.steps))
    core_rows, core_columns = list(found.core_rows), list(found.core_columns)
    core = balance(found.core(sizes) / natural[core_rows, None])
    rows[core_rows] *= core[0]
    columns[core_columns] = 1.0 / core[1]
    for i, j in reversed(found.pairs):  # followers take the unit of what they follow
        columns[j] = 0.0
        rows[i] = (sizes[i] * columns).max() or natural[i]
        columns[j] = rows[i] / sizes[i, j]
    gaps = np.maximum(natural, _FAR * own.far * shifted)
    return Units(rows, own.steps * columns, natural, gaps, own.steps, own.guesses, still)
