"""Changes of the displacement that takes back penetrations (`recovery`), by what a step starts from.

With the rows N that are asked for a velocity r, of which those act that s says, and those of constraints,

    M̃ w = Jᵀ y,    s (J w - r) + (s R + (1 - s) D) y = 0

is differentiated at its solution, where R and D are taken to stay: w hardly gives way to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...algorithms.branch_solver import Solver
from ...algorithms.tiles import Rows, plus_product, transpose
from ...spatial.linear import Mat, Scalar, Vec
from ..recovery import acts
from .response import invert, negative


class Displacement(NamedTuple):
    """The rows that are asked for a velocity, J and -M̃⁻¹ Jᵀ of these, s by row, the inverse of the matrix of y, and
    the solution w (nv, 1), y (N, 1)."""

    recorder: Any
    M: Solver
    J: Rows
    answers: Rows
    acting: list[Any]
    inverse: Rows
    w: Rows
    y: Rows

    @staticmethod
    def of(
        recorder: Any, M: Solver, J: Rows, answers: Rows, asked: Sequence[Any], own: Sequence[tuple[Any, Any]]
    ) -> Displacement:
        """The displacement of some rows J (N, nv), by their answers -M̃⁻¹ Jᵀ (nv, N). asked: r by row, None of
        constraints; own: D and R by row."""
        call, G = recorder.call, negative(recorder, plus_product(recorder, None, J, answers))
        wanted = [0.0 if r is None else r for r in asked]
        acting = [1.0 if r is None else call(acts, r) for r in asked]
        every = zip(acting, G, own, strict=True)
        inverse = invert(
            recorder, [list(call(_row, s, Vec(row), *sizes, i)) for i, (s, row, sizes) in enumerate(every)]
        )
        y = plus_product(recorder, None, inverse, [[r] for r in wanted])
        w = negative(recorder, plus_product(recorder, None, answers, y))
        return Displacement(recorder, M, J, answers, acting, inverse, w, y)

    def rates(self, dr: Rows, dc: Rows, dt: Any) -> Rows:
        """dw (nv, directions) for changes of (M̃ w - Jᵀ y) / dt (nv, directions) and of J w - r (N, directions)."""
        recorder = self.recorder
        du = self._scaled(self.M.negative_solution(dr), dt)
        missed = plus_product(recorder, dc, self.J, du)
        dy = plus_product(recorder, None, self.inverse, negative(recorder, self._acting(missed)))
        return plus_product(recorder, du, negative(recorder, self.answers), dy)

    def weights(self, of_w: Rows, dt: Any) -> tuple[Rows, Rows]:
        """The weights of (M̃ w - Jᵀ y) / dt (nv, 1) and of J w - r (N, 1), from those of w (nv, 1)."""
        recorder = self.recorder
        pulled = negative(recorder, plus_product(recorder, None, transpose(self.answers), of_w))
        z = self._acting(plus_product(recorder, None, transpose(self.inverse), pulled))
        left = plus_product(recorder, of_w, transpose(self.J), negative(recorder, z))
        return self._scaled(self.M.negative_solution(left), dt), negative(recorder, z)

    def _acting(self, X: Rows) -> Rows:
        return [list(self.recorder.call(_scaled_row, s, Vec(row))) for s, row in zip(self.acting, X, strict=True)]

    def _scaled(self, X: Rows, by: Any) -> Rows:
        return [list(row) for row in self.recorder.call(_scaled_rows, Mat(map(Vec, X)), by)]


def _row(acts: Scalar, row: Vec, own: Scalar, soft: Scalar, place: int) -> Vec:
    """A row of the matrix of y."""
    diagonal = acts * soft + (1.0 - acts) * own
    return Vec([acts * x + diagonal if j == place else acts * x for j, x in enumerate(row)])


def _scaled_row(by: Scalar, row: Vec) -> Vec:
    return row * by


def _scaled_rows(X: Mat, by: Scalar) -> Mat:
    return Mat(row * by for row in X)
