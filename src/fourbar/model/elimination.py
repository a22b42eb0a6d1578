"""Solving for dependent velocities and coordinates, unrolled: it traces over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import select
from ..spatial.linear import Scalar, is_zero
from ..tolerances import NO_PIVOT

_TOGGLE = NO_PIVOT**2
_UNLIKE = 4096.0  # ratio of squares of the units of rows from which on pivots are compared in these units
_Row = tuple[list[Scalar], list[Scalar], Scalar]


def solve(
    A: list[list[Scalar]], B: list[list[Scalar]], rows: Sequence[float], columns: Sequence[float]
) -> list[list[Scalar]]:
    """A⁻¹ B, unrolled, with rows exchanged where another has the larger pivot; NaN where none is left.

    `rows`, `columns`: squares of units in which the entries of A are near one where all is well, A / (rows columns).
    """
    n = len(A)
    unlike = max(rows, default=1.0) > _UNLIKE * min(rows, default=1.0)
    left: list[_Row] = [(list(a), list(b), size) for a, b, size in zip(A, B, rows, strict=True)]
    for j in range(n):
        for i in range(j + 1, n):
            left[j], left[i] = _larger_first(j, left[j], left[i], unlike)
        a, b, size = left[j]
        inverse = _reciprocal(a[j], (_TOGGLE * columns[j]) * size)
        a, b = [x * inverse for x in a], [x * inverse for x in b]
        left[j] = a, b, size
        for i in range(n):
            factor = left[i][0][j]
            if i != j and not is_zero(factor):
                rest = [x - factor * y if k > j else x for k, (x, y) in enumerate(zip(left[i][0], a, strict=True))]
                left[i] = rest, [x - factor * y for x, y in zip(left[i][1], b, strict=True)], left[i][2]
    return [b for _, b, _ in left]


def _larger_first(j: int, first: _Row, second: _Row, unlike: bool) -> tuple[_Row, _Row]:
    """Two rows, that with the larger pivot in column j first. A constant pivot cannot vanish and stays."""
    x, y = first[0][j], second[0][j]
    if is_zero(y) or (x.__class__ is float and not is_zero(x) and y.__class__ is not float):
        return first, second
    swap = x * x * second[2] < y * y * first[2] if unlike else x * x < y * y

    def chosen(a: _Row, b: _Row) -> _Row:
        pairs = [[select(swap, q, p) for p, q in zip(s, t, strict=True)] for s, t in zip(a[:2], b[:2], strict=True)]
        return pairs[0], pairs[1], select(swap, b[2], a[2])

    return chosen(first, second), chosen(second, first)


def _reciprocal(pivot: Scalar, least: Scalar) -> Scalar:
    """1 / pivot; NaN where its square is less than `least`."""
    sound = pivot * pivot > least
    return select(sound, 1.0 / select(sound, pivot, 1.0), float("nan"))


Step = tuple[tuple[int, ...], tuple[int, ...]]


def steps_to_solve(K: Sequence[Sequence[Scalar]], rows: Sequence[int], columns: Sequence[int]) -> list[Step] | None:
    """Rows and columns of K that can be solved for one after the other, each with constant coefficients; or None.

    Each step has one row and one column where that is possible, else all that are left.
    """
    left_rows, left = list(rows), list(columns)
    steps: list[Step] = []
    while left:
        single = next((step for i in left_rows if (step := _single(K[i], i, left)) is not None), None)
        if single is None and not all(K[i][j].__class__ is float for i in left_rows for j in left):
            return None
        step = single or (tuple(left_rows), tuple(left))
        steps.append(step)
        left_rows, left = [i for i in left_rows if i not in step[0]], [j for j in left if j not in step[1]]
    return steps


def paired(steps: Sequence[Step], columns: Sequence[int]) -> tuple[int, ...]:
    """The rows of all steps in the order of the columns: the one that is solved for each."""
    row = {j: i for rows, own in steps for i, j in zip(rows, own, strict=True)}
    return tuple(row[j] for j in columns)


def _single(row: Sequence[Scalar], i: int, left: Sequence[int]) -> Step | None:
    """The step for a row in which only one of the unknown columns occurs, with a constant coefficient."""
    touched = [j for j in left if not is_zero(row[j])]
    return ((i,), (touched[0],)) if len(touched) == 1 and row[touched[0]].__class__ is float else None
