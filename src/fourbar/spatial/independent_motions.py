"""Whether motions are independent: conditions on a state, which do not depend on units."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ..expr import minimum, select
from ..tolerances import DEPENDENT, VANISHED
from .linear import Mat, Scalar, Vec, dot, is_zero
from .solve import factor

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
