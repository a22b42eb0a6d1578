"""Small symmetric systems, unrolled: they trace over any scalar, without pivoting; and whether motions are
independent, by conditions that do not depend on units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from ..expr import maximum, minimum, select, sqrt
from ..tolerances import DEPENDENT, NO_INERTIA, VANISHED
from .linear import Mat, Scalar, Vec, dot, is_zero, reciprocal


class Factored(NamedTuple):
    """D = L diag(1/inverse_pivots) Lᵀ with unit lower triangular L, for a symmetric positive definite D."""

    L: tuple[Vec, ...]  # row i has i entries; the diagonal is one
    inverse_pivots: Vec  # (n,)

    def solve(self, b: Sequence[Scalar]) -> Vec:
        """D⁻¹ b."""
        return self.expand(self.reduce(b))

    def reduce(self, b: Sequence[Scalar]) -> Vec:
        """L⁻¹ b."""
        solution = list(b)
        for i in range(len(solution)):
            for j in range(i):
                solution[i] = solution[i] - self.L[i][j] * solution[j]
        return Vec(solution)

    def expand(self, b: Sequence[Scalar]) -> Vec:
        """L⁻ᵀ diag(inverse_pivots) b."""
        solution = [a * d for a, d in zip(b, self.inverse_pivots, strict=True)]
        n = len(solution)
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                solution[i] = solution[i] - self.L[j][i] * solution[j]
        return Vec(solution)

    def whiten(self, b: Sequence[Scalar]) -> Vec:
        """D^-½ b: the product of two such is that of b and D⁻¹ b, without squaring."""
        pivots = zip(self.reduce(b), self.inverse_pivots, strict=True)
        return Vec([0.0 if is_zero(y) else y * sqrt(d) for y, d in pivots])

    def where(self, conditions: Iterable[Any]) -> Factored:
        """The same, with NaN in place of every solution where one of the conditions on D does not hold."""
        inverse_pivots = self.inverse_pivots
        for valid in conditions:
            inverse_pivots = Vec([select(valid, x, float("nan")) for x in inverse_pivots])
        return Factored(self.L, inverse_pivots)

    def above_rounding(self, sizes: Sequence[Scalar]) -> Factored:
        """The same, with NaN in place of pivots that are rounding beside `sizes`, those of the sums they are left of.

        Without sizes nothing is compared.
        """
        if not sizes:
            return self
        ratios = [NO_INERTIA * size * x for x, size in zip(self.inverse_pivots, sizes, strict=True)]
        pairs = zip(ratios, self.inverse_pivots, strict=True)
        return Factored(self.L, Vec([select(ratio * ratio < 1.0, x, float("nan")) for ratio, x in pairs]))

    def solve_columns(self, B: Mat) -> Mat:
        """D⁻¹ B."""
        return Mat.from_columns([self.solve(column) for column in B.T])


def factor(D: Mat) -> Factored:
    """LDLᵀ of a symmetric positive definite matrix, of which only the lower triangle is read.

    A pivot that is zero by structure makes it NaN.
    """
    n = len(D)
    A = [list(row) for row in D]
    L: list[Vec] = []
    inverse_pivots: list[Scalar] = []
    for j in range(n):
        inverse_pivots.append(reciprocal(A[j][j]))
        scaled = [A[i][j] * inverse_pivots[j] for i in range(j + 1, n)]
        for i in range(j + 1, n):
            for k in range(j + 1, i + 1):
                A[i][k] = A[i][k] - scaled[i - j - 1] * A[k][j]
        for i in range(j + 1, n):
            A[i][j] = scaled[i - j - 1]
    for i in range(n):
        L.append(Vec(A[i][:i]))
    return Factored(tuple(L), Vec(inverse_pivots))


def inverse_or_nan(D: Mat) -> Mat:
    """D⁻¹ of a symmetric positive definite matrix, symmetric to the last bit; all NaN where D is singular.

    Rows come in threes, each with its own unit. Singular means that a pivot is rounding relative to the largest
    diagonal entry of its three.
    """
    n = len(D)
    if any(is_zero(D[j][j]) for j in range(n)):
        return Mat(Vec([float("nan")] * n) for _ in range(n))
    factored = factor(D)
    lost: Scalar = 0.0
    for j, inverse in enumerate(factored.inverse_pivots):
        first = 3 * (j // 3)
        ratio = maximum(maximum(D[first][first], D[first + 1][first + 1]), D[first + 2][first + 2]) * inverse
        lost = lost + ratio * ratio
    columns = [factored.solve([1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    valid = lost < DEPENDENT * DEPENDENT  # false for NaN too
    half = [[select(valid, columns[j][i], float("nan")) for j in range(i + 1)] for i in range(n)]
    return Mat(Vec([half[max(i, j)][min(i, j)] for j in range(n)]) for i in range(n))


# Sine of the angle from gimbal lock up to which the rates of Euler angles are dependent: there the crosses of three
# unit axes add up to 2, their squares to 3, and the volume is this sine.
LOCKED = (6.0 / DEPENDENT) ** 0.5


def independent_axes(axes: Sequence[Vec], size: Scalar) -> Any:
    """Whether up to three vectors (3) span as many dimensions, where lengths squared are compared with a `size`."""
    if not axes:
        return True
    spanned = [sum(dot(a, a) for a in axes)]
    crosses = [a.cross(b) for i, a in enumerate(axes) for b in axes[i + 1 :]]
    if crosses:
        spanned.append(sum(dot(x, x) for x in crosses))
    if len(axes) == 3:
        volume = dot(axes[0], crosses[-1])
        spanned.append(volume * volume)
    # Each is the one before times the square of a further singular value, to within a factor.
    margins = [x * DEPENDENT - before * size for before, x in zip([1.0, *spanned], spanned, strict=False)]
    return reduce(minimum, margins) > 0.0


def independent_columns(groups: Sequence[Sequence[Sequence[Scalar]]]) -> Any:
    """Whether columns are independent. Their rows come in groups, each with a unit of its own: group[j] are those of
    column j, and are compared with all of the group.

    A pivot of the Gram matrix that is smaller than its diagonal entry by the square of `LOCKED` is rounding, and so is
    a column that is smaller than all others by 1e-13.
    """
    used = [group for group in groups if not all(is_zero(x) for column in group for x in column)]
    if not used:
        return not any(len(group) for group in groups)
    sizes = [sum(dot(column, column) for column in group) for group in used]
    weights = [1.0 / select(size > 0.0, size, 1.0) for size in sizes] if len(used) > 1 else [1.0]

    def entry(i: int, j: int) -> Scalar:
        return sum(weight * dot(group[i], group[j]) for weight, group in zip(weights, used, strict=True))

    n = len(used[0])
    gram = Mat(Vec([entry(i, j) if j <= i else 0.0 for j in range(n)]) for i in range(n))
    lost: Scalar = 0.0
    for j, inverse in enumerate(factor(gram).inverse_pivots):
        ratio = gram[j][j] * inverse
        lost = lost + ratio * ratio
    size = sum(gram[j][j] for j in range(n))
    shortest = reduce(minimum, [gram[j][j] for j in range(n)])
    # NaN or infinity where a pivot is zero: such comparisons are false.
    return select(shortest > VANISHED * size, lost, float("nan")) < LOCKED**-4


def armature_rate(armature: Scalar, rate: Scalar) -> Scalar:
    """A rate if it has armature, else zero; the armature may be a symbol."""
    return rate if armature.__class__ is float and armature > 0.0 else select(armature > 0.0, rate, 0.0)


def independent_motions(S: Sequence[Any], G: Sequence[Mat], armature: Sequence[Sequence[Scalar]]) -> Any:
    """Whether independent velocities of links move at least one of them each: columns of S_b G_b over all links b.

    Rates of joints with armature count too, as these have inertia of their own.
    """
    twists = [[subspace.twist([row[j] for row in block]) for subspace, block in zip(S, G, strict=True)]
              for j in range(len(G[0][0]))]  # fmt: skip
    turned = [[x for t in own for x in t.angular] for own in twists]
    moved = [[x for t in own for x in t.linear] for own in twists]
    rates = [[[armature_rate(inertia, x)] for x in row] for block, own in zip(G, armature, strict=True)
             for row, inertia in zip(block, own, strict=True) if not is_zero(inertia)]  # fmt: skip
    return independent_columns([turned, moved, *rates]) if twists else True
