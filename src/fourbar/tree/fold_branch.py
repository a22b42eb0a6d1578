"""Loops of one degree of freedom that pass a fold, as functions of the independent coordinate there.

At a fold (a parallelogram with all links in line) K = ∂φ/∂q loses rank, since two branches of closed configurations
cross. Each of them is smooth, but at a distance d from the fold the loops determine its tangent only to ε/d² and its
curvature to ε/d³, where ε is the gap that rounding leaves. Near a fold the branch is therefore a polynomial in the
independent coordinate x, fitted where the loops determine it well: q_d = P(s), s = (x - centre) / radius, |s| < 1.

Near a singular position that is none of these (a loop whose lengths nearly have a fold, or one with more degrees of
freedom) the tangent of closed configurations turns within a distance of the size of the smallest pivot of K_d. A step
that moves further, relative to this pivot, than a given stride gives no state, and must be made in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import isfinite
from typing import Any, NamedTuple

from ..expr import maximum, minimum, select
from ..joints.euclidean import FlatJoint
from ..spatial.linear import Mat, Scalar, Vec
from .bound_embedding import Bound
from .elimination import smallest_pivot
from .embedding import FoldBounds, LoopEmbedding, expand, map_rate
from .states import Call, ClusterState, EmbeddedState

DEGREE = 12  # of the polynomials
LEAST, STRIDE, CENTRE, INVERSE, ACTIVE, COEFFICIENTS = range(6)  # places among the numbers of a branch
_SAFE = 25.0  # the square of s up to which a branch through a fold is known to be smooth
_WATCHED = 0.35  # pivots of K_d below this fraction of that where the loops were closed first are compared with steps
_POOREST = 0.5  # and that one counts at least so much


def may_fold(tie: LoopEmbedding) -> bool:
    """Whether the branches of the loops are curves, of joints with one additive coordinate each."""
    return tie.nv == 1 and all(isinstance(joint, FlatJoint) and joint.nq == joint.nv == 1 for joint in tie.joints)


def branch_size(tie: LoopEmbedding) -> int:
    """How many numbers describe a branch near a fold."""
    return COEFFICIENTS + len(tie.dependent) * (DEGREE + 1) if may_fold(tie) else STRIDE + 1


def watched_pivot(tie: LoopEmbedding) -> float:
    """The square of the pivot of K_d, in its units, below which steps are compared with it."""
    rows, columns = list(tie.rows), list(tie.dependent)
    assert tie.closed is not None
    K = tie.as_built.slopes(tie.closed)[rows][:, columns]
    squares = tie.units.rows[rows] ** 2, tie.units.columns[columns] ** -2.0
    size = smallest_pivot(K, *squares) if isfinite(K.sum()) else 0.0
    return _WATCHED**2 * min(1.0, max(_POOREST**2, size))


class Powers(NamedTuple):
    """Whether x is near the fold, or where the branch through it is smooth; the dependent coordinates with their first
    and second derivatives by x.
    """

    near: Any
    smooth: Any
    value: list[Scalar]
    slope: list[Scalar]
    bend: list[Scalar]


def _powers(numbers: Sequence[Scalar], x: Scalar) -> Powers:
    inverse = numbers[INVERSE]
    s = (x - numbers[CENTRE]) * inverse
    powers = Powers(s * s < numbers[ACTIVE], s * s < _SAFE * numbers[ACTIVE], [], [], [])
    for first in range(COEFFICIENTS, len(numbers), DEGREE + 1):
        *lower, value = numbers[first : first + DEGREE + 1]
        slope: Scalar = 0.0
        bend: Scalar = 0.0
        for c in reversed(lower):
            bend = bend * s + slope
            slope = slope * s + value
            value = value * s + c
        powers.value.append(value)
        powers.slope.append(slope * inverse)
        powers.bend.append(bend * (2.0 * inverse * inverse))
    return powers


class FoldedLoops(NamedTuple):
    """Links connected by loops, which follow a branch near a fold: works as the embedding `tie` does elsewhere.

    `numbers`: the square of a pivot of K_d that counts as none, so that results are NaN where no branch is known; the
    square of the smallest pivot per unit displacement of a step, which is NaN where a pivot is smaller; then, if the
    loops may have a fold, its centre, the inverse of its radius, 1 (0 where none is near), and the coefficients
    (DEGREE + 1) of each dependent coordinate, the constant one first.
    """

    tie: LoopEmbedding | Bound
    numbers: Vec  # (branch_size(tie),)

    def state(self, call: Call, q: Vec, v: Vec | None) -> ClusterState:
        """As for `LoopEmbedding`; what is recorded depends on the numbers too."""
        return call(expand, self, q, v)

    def in_steps(self) -> FoldedLoops:
        """As for `LoopEmbedding`: they are for steps."""
        return self

    def map_rates(self, call: Call, e: ClusterState) -> tuple[Mat, ...]:
        """As for `LoopEmbedding`."""
        return call(map_rate, self, e, e.v)

    @property
    def _loops(self) -> LoopEmbedding:
        """The loops as they are solved away from folds."""
        other = copy(self.tie.tie.at(self.tie.p) if isinstance(self.tie, Bound) else self.tie)
        other.least, other.folds = self.numbers[LEAST], FoldBounds()
        return other

    def _loops_along(self, step: Sequence[Scalar], at: Powers | None) -> LoopEmbedding:
        """The loops as they are solved for a step, of the independent coordinates; `at` is the branch at its end."""
        tie = self._loops
        square: Scalar = 0.0
        for (j, scale), x in zip(tie.independent, step, strict=True):
            part = x * (scale / float(tie.units.steps[j]))
            square = square + part * part
        least = minimum(square * self.numbers[STRIDE], watched_pivot(tie))
        tie.least = maximum(tie.least, least if at is None else select(at.smooth, 0.0, least))
        return tie

    def _powers(self, x: Scalar) -> Powers | None:
        """The branch at x; None if there are no folds."""
        return _powers(self.numbers, x) if len(self.numbers) > COEFFICIENTS else None

    def expand(self, q: Sequence[Scalar], v: Sequence[Scalar] | None) -> EmbeddedState:
        """As for `LoopEmbedding`."""
        return self._expand(self._loops, q, v)

    def _expand(self, tie: LoopEmbedding, q: Sequence[Scalar], v: Sequence[Scalar] | None) -> EmbeddedState:
        e = tie.expand(q, v)
        ((place, scale),) = tie.independent if may_fold(tie) else ((0, 1.0),)
        at = self._powers(q[place])
        if at is None:
            return e
        rate = 0.0 if v is None else scale * v[0]
        speeds, G, g = list(e.v), list(e.G), list(e.g)
        for j, slope, bend in zip(tie.dependent, at.slope, at.bend, strict=True):
            G[j] = Mat([Vec([select(at.near, slope * scale, e.G[j][0][0])])])
            if v is not None:
                speeds[j] = Vec([G[j][0][0] * v[0]])
                g[j] = Vec([select(at.near, bend * (rate * rate), e.g[j][0])])
        return EmbeddedState(e.q, tuple(speeds), tuple(G), tuple(g))

    def map_rate(self, e: EmbeddedState, v: Sequence[Sequence[Scalar]]) -> tuple[Mat, ...]:
        """As for `LoopEmbedding`."""
        tie = self._loops
        rates = list(tie.map_rate(e, v))
        ((place, scale),) = tie.independent if may_fold(tie) else ((0, 1.0),)
        at = self._powers(e.q[place][0])
        if at is not None:
            for j, bend in zip(tie.dependent, at.bend, strict=True):
                rates[j] = Mat([Vec([select(at.near, bend * (scale * v[place][0]), rates[j][0][0])])])
        return tuple(rates)

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        """As for `LoopEmbedding`."""
        ((place, scale),) = self.tie.independent if may_fold(self._loops) else ((0, 1.0),)
        coordinate = q[place] + scale * v[0]
        at = self._powers(coordinate)
        tie = self._loops_along(v, at)
        moved = list(tie.integrate(q, v, self._expand(tie, q, None).G))
        if at is not None:
            moved[place] = coordinate
            for j, value in zip(tie.dependent, at.value, strict=True):
                moved[j] = select(at.near, value, moved[j])
        return Vec(moved)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tie, name)
