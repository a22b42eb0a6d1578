"""Solving for dependent velocities and coordinates, unrolled: it traces over any scalar. Joints of a
loop may be independent in part, as a ball or a free joint.

A joint that is independent in part moves from q₀ to q₀ ⊕ x, and the independent entries of x are those of the step; the
others follow from closing the loops. With C the matrix of `chart_rate` at x, a further motion by velocities δ changes x
by C δ, so that

    C_ii δ_i + C_id δ_d = e,    the lag of the independent entries,    and    δ_i = C_ii⁻¹ e - C_ii⁻¹ C_id δ_d.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from ..expr import select
from ..joints.base import Joint
from ..joints.euclidean import FlatJoint
from ..spatial.linear import Mat, Scalar, Vec, is_zero
from ..tolerances import NO_PIVOT

TOGGLE = NO_PIVOT**2  # the square of a pivot, in its units, that counts as none
_UNLIKE = 4096.0  # ratio of squared row units above which pivots are compared in these units
_Row = tuple[list[Scalar], list[Scalar], Scalar]


class WholeRows(NamedTuple):
    """When a row of (A, B) counts as none after elimination, in its units: the square of its length up to which it
    does, and the squared units of the first columns of B, which are part of it. Then there is no solution for the other
    columns, or for these if there are no others.
    """

    least: float
    columns: Sequence[float]


def solve(
    A: list[list[Scalar]],
    B: list[list[Scalar]],
    rows: Sequence[float],
    columns: Sequence[float],
    least: Scalar = TOGGLE,
    whole: WholeRows | None = None,
) -> list[list[Scalar]]:
    """A⁻¹ B, unrolled, with rows exchanged where another has the larger pivot; NaN where none is left.

    `rows`, `columns`: squared units in which the entries of a well-conditioned A are near one, A / (rows columns).
    `least`: the square of a pivot in these units that counts as none. `whole`: where the rows of (A, B) count as
    dependent, with NaN too.
    """
    n, most = len(A), 0 if whole is None else len(whole.columns)
    unlike = max(rows, default=1.0) > _UNLIKE * min(rows, default=1.0)
    left: list[_Row] = [(list(a), list(b), size) for a, b, size in zip(A, B, rows, strict=True)]
    for j in range(n):
        is_last = all(is_zero(left[i][0][j]) for i in range(j + 1, n))  # no other row may take its place
        for i in range(j + 1, n):
            left[j], left[i] = _larger_first(j, left[j], left[i], unlike)
        a, b, size = left[j]
        inverse = _reciprocal(a[j], (least * columns[j]) * size)
        if whole is not None and is_last and a[j].__class__ is not float:
            is_whole = _square([*a[j:], *b[:most]], [*columns[j:], *whole.columns]) > whole.least * size
            b = [x if k < most < len(b) else select(is_whole, x, float("nan")) for k, x in enumerate(b)]
        a, b = [x * inverse for x in a], [x * inverse for x in b]
        left[j] = a, b, size
        for i in range(n):
            factor = left[i][0][j]
            if i != j and not is_zero(factor):
                rest = [x - factor * y if k > j else x for k, (x, y) in enumerate(zip(left[i][0], a, strict=True))]
                left[i] = rest, [x - factor * y for x, y in zip(left[i][1], b, strict=True)], left[i][2]
    return [b for _, b, _ in left]


def smallest_pivot(A: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> float:
    """The square of the smallest pivot that `solve` would divide by, of numbers A (n, n), in the units of rows (n) and
    columns (n).
    """
    left, sizes, least = A.copy(), rows.copy(), np.inf
    unlike = rows.max() > _UNLIKE * rows.min()
    for j in range(len(A)):
        squares = left[j:, j] ** 2 / sizes[j:] if unlike else left[j:, j] ** 2
        best = j + int(squares.argmax())
        left[[j, best]], sizes[[j, best]] = left[[best, j]], sizes[[best, j]]
        pivot = left[j, j]
        least = min(least, pivot * pivot / (columns[j] * sizes[j]))
        if not pivot:
            return 0.0
        left[j + 1 :] -= np.outer(left[j + 1 :, j], left[j] / pivot)
    return float(least)


def no_pivot(n: int) -> float:
    """The bound on the smallest singular value of n equations, in their units, below which `solve` gives NaN."""
    return NO_PIVOT * (_UNLIKE * n) ** 0.5


def _larger_first(j: int, first: _Row, second: _Row, unlike: bool) -> tuple[_Row, _Row]:
    """Two rows, that with the larger pivot in column j first. A constant pivot cannot vanish and stays."""
    x, y = first[0][j], second[0][j]
    if is_zero(y) or (x.__class__ is float and not is_zero(x) and y.__class__ is not float):
        return first, second
    swap = x * x * second[2] < y * y * first[2] if unlike else x * x < y * y

    def choose(a: _Row, b: _Row) -> _Row:
        pairs = [[select(swap, q, p) for p, q in zip(s, t, strict=True)] for s, t in zip(a[:2], b[:2], strict=True)]
        return pairs[0], pairs[1], select(swap, b[2], a[2])

    return choose(first, second), choose(second, first)


def _square(row: Sequence[Scalar], columns: Sequence[float]) -> Scalar:
    """The square of the length of a row, in squared units of its columns."""
    square: Scalar = 0.0
    for x, unit in zip(row, columns, strict=True):
        if not is_zero(x):
            square = square + x * x * (1.0 / unit)
    return square


def _reciprocal(pivot: Scalar, least: Scalar) -> Scalar:
    """1 / pivot; NaN where its square is less than `least`."""
    valid = pivot * pivot > least
    return select(valid, 1.0 / select(valid, pivot, 1.0), float("nan"))


Step = tuple[tuple[int, ...], tuple[int, ...]]
SparseRow = dict[int, Scalar]  # the entries that are not zero, by column


def steps_to_solve(
    K: Sequence[Sequence[Scalar]], entries: Sequence[Sequence[int]], rows: Sequence[int], columns: Sequence[int]
) -> list[Step] | None:
    """Rows and columns of K that can be solved for one after the other, each with constant coefficients; or None.

    Each step has one row and one column where that is possible, else all that are left. `entries`: the columns of the
    entries of each row that are not zero.
    """
    wanted = set(columns)
    unknown = {i: {j for j in entries[i] if j in wanted} for i in rows}
    holding: dict[int, list[int]] = {j: [] for j in columns}
    for i in rows:
        for j in unknown[i]:
            holding[j].append(i)
    steps: list[Step] = []
    order = {i: n for n, i in enumerate(rows)}
    ready = [(order[i], i) for i in rows if _single(K[i], unknown[i])]
    heapify(ready)
    while ready:
        _, i = heappop(ready)
        if i in unknown and _single(K[i], unknown[i]):
            (j,) = unknown.pop(i)
            steps.append(((i,), (j,)))
            wanted.discard(j)
            for other in holding[j]:
                if other in unknown:
                    unknown[other].discard(j)
                    if _single(K[other], unknown[other]):
                        heappush(ready, (order[other], other))
    if wanted:
        if not all(K[i][j].__class__ is float for i in unknown for j in unknown[i]):
            return None
        steps.append((tuple(i for i in rows if i in unknown), tuple(j for j in columns if j in wanted)))
    return steps


def pair_rows(steps: Sequence[Step], columns: Sequence[int]) -> tuple[int, ...]:
    """The rows of all steps in the order of the columns: the one that is solved for each."""
    row = {j: i for rows, own in steps for i, j in zip(rows, own, strict=True)}
    return tuple(row[j] for j in columns)


def _single(row: Sequence[Scalar], unknown: Collection[int]) -> bool:
    """Whether only one of the unknown columns occurs in a row, with a constant coefficient."""
    return len(unknown) == 1 and all(row[j].__class__ is float for j in unknown)


def solve_in_steps(
    A: Sequence[SparseRow],
    B: Sequence[Sequence[Scalar]],
    steps: Sequence[Step],
    rows: Sequence[float],
    columns: Sequence[float],
) -> list[list[Scalar]]:
    """A⁻¹ B where the steps say which rows and columns (of A) are solved for, in order. Units: see `solve`."""
    solution: list[list[Scalar]] = [[] for _ in columns]
    known: dict[int, int] = {}  # columns, and when they were solved for
    for step_rows, step_columns in steps:
        right = []
        for i in step_rows:
            left = list(B[i])
            for k in sorted((k for k, x in A[i].items() if k in known and not is_zero(x)), key=known.__getitem__):
                left = [x - A[i][k] * y for x, y in zip(left, solution[k], strict=True)]
            right.append(left)
        block = [[A[i].get(j, 0.0) for j in step_columns] for i in step_rows]
        units = [rows[i] for i in step_rows], [columns[j] for j in step_columns]
        for j, x in zip(step_columns, solve(block, right, *units), strict=True):
            solution[j] = x
        known |= {j: len(known) + n for n, j in enumerate(step_columns)}
    return solution


def reversed_steps(steps: Sequence[Step]) -> list[Step]:
    """The steps that solve for the transposed matrix."""
    return [(columns, rows) for rows, columns in reversed(steps)]


class Bent(NamedTuple):
    """The relation of a joint's independent velocities to its dependent ones: δ_i = back + follow δ_d."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    back: list[Scalar]
    follow: list[list[Scalar]]


class SharedJoint(NamedTuple):
    """A joint, where its coordinates and velocities begin, and which of its velocities are independent or not."""

    joint: Joint
    q: int
    v: int
    independent: tuple[int, ...]
    dependent: tuple[int, ...]

    def at(self, q0: Sequence[Scalar], q: Sequence[Scalar], step: Sequence[Scalar]) -> Bent:
        """At q, on the way from q₀ by a step; all three of all joints."""
        own = slice(self.q, self.q + self.joint.nq)
        x = self.joint.difference(Vec(q0[own]), Vec(q[own]))
        columns = [self.joint.chart_rate(x, e) for e in Mat.identity(self.joint.nv)]
        lag = [step[self.v + i] - x[i] for i in self.independent]
        C_ii = [[columns[j][i] for j in self.independent] for i in self.independent]
        right = [[e, *(-columns[j][i] for j in self.dependent)] for e, i in zip(lag, self.independent, strict=True)]
        solved = solve(C_ii, right, [1.0] * len(C_ii), [1.0] * len(C_ii))
        return Bent(
            tuple(self.v + i for i in self.independent),
            tuple(self.v + i for i in self.dependent),
            [row[0] for row in solved],
            [row[1:] for row in solved],
        )


def find_shared(joints: Sequence[Joint], dependent: Sequence[int]) -> Iterator[SharedJoint]:
    """The joints of which some velocities are dependent and some are not; those with additive coordinates need
    no care.
    """
    q = v = 0
    for joint in joints:
        follows = tuple(j for j in range(joint.nv) if v + j in dependent)
        leads = tuple(j for j in range(joint.nv) if v + j not in dependent)
        if follows and leads and not isinstance(joint, FlatJoint):
            yield SharedJoint(joint, q, v, leads, follows)
        q, v = q + joint.nq, v + joint.nv
