"""Motion subspaces S of joints, and what eliminating a joint does to an articulated inertia.

Most joints select some of the six components of a twist (From's constant matrix H); for them S need not be multiplied
at all, and the rows of the eliminated inertia that belong to the joint vanish exactly. Others have general columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .articulated import Articulated
from .linear import Mat, Scalar, Vec, dot, is_zero, zeros
from .solve import factor
from .transform import Transform
from .vectors import Twist, Wrench


class Passed(NamedTuple):
    """What the outward sweep needs of an eliminated joint: accelerations are  a = w - Y A'  (see `accelerate`)."""

    Y: Mat
    w: Vec


class Columns(NamedTuple):
    """A general subspace by its columns, each six numbers."""

    columns: tuple[Vec, ...]

    @property
    def nv(self) -> int:
        return len(self.columns)

    def twist(self, v: Sequence[Scalar]) -> Twist:
        """S v."""
        total = zeros(6)
        for column, x in zip(self.columns, v, strict=True):
            total = total + column * x
        return Twist.of(total)

    def project(self, F: Wrench) -> Vec:
        """Sᵀ F."""
        six = F.six()
        return Vec([dot(column, six) for column in self.columns])

    def carried(self, X: Transform) -> Columns:
        """X S: the same motions seen from the child frame."""
        return Columns(tuple(X.motion_to_child(Twist.of(c)).six() for c in self.columns))

    def dense(self) -> Columns:
        """The same subspace by columns."""
        return self

    def eliminate(
        self, IA: Articulated, pA: Wrench, c: Twist, tau: Sequence[Scalar], armature: Sequence[Scalar]
    ) -> tuple[Passed, Articulated, Wrench]:
        """Let the joint move freely: what is left to the parent, Ia = IA - U D⁻¹ Uᵀ and pa = pA + Ia c + U D⁻¹ u."""
        U = Mat((IA @ Twist.of(column)).six() for column in self.columns)  # rows: columns of IA S
        D = Mat(
            Vec([dot(column, u) + (armature[i] if i == j else 0.0) for j, u in enumerate(U)])
            for i, column in enumerate(self.columns)
        )
        D_inverse = factor(D)
        w = D_inverse.solve([t - p for t, p in zip(tau, self.project(pA), strict=True)])
        Y = D_inverse.solve_columns(U)
        Ia = Articulated.of_rows(_minus_product(IA.rows(), U, Y))
        pa = pA + Ia @ c + Wrench.of(U.transpose_times(w))
        return Passed(Y, w), Ia, pa

    def accelerate(self, passed: Passed, A: Twist) -> tuple[Vec, Twist]:
        """Joint acceleration a = D⁻¹(u - Uᵀ A') and the body's acceleration A' + S a."""
        a = passed.w - passed.Y @ A.six()
        return a, A + self.twist(a)


class Selection(NamedTuple):
    """S = the columns `rows` of the 6 x 6 identity."""

    rows: tuple[int, ...]

    @property
    def nv(self) -> int:
        return len(self.rows)

    @property
    def others(self) -> tuple[int, ...]:
        """The components that the joint holds."""
        return tuple(i for i in range(6) if i not in self.rows)

    def twist(self, v: Sequence[Scalar]) -> Twist:
        """S v."""
        six: list[Scalar] = [0.0] * 6
        for row, x in zip(self.rows, v, strict=True):
            six[row] = x
        return Twist.of(six)

    def project(self, F: Wrench) -> Vec:
        """Sᵀ F."""
        six = F.six()
        return Vec([six[row] for row in self.rows])

    def carried(self, X: Transform) -> Columns:
        """X S: the same motions seen from the child frame."""
        return self.dense().carried(X)

    def dense(self) -> Columns:
        """The same subspace by columns."""
        return Columns(tuple(Vec([1.0 if i == row else 0.0 for i in range(6)]) for row in self.rows))

    def eliminate(
        self, IA: Articulated, pA: Wrench, c: Twist, tau: Sequence[Scalar], armature: Sequence[Scalar]
    ) -> tuple[Passed, Articulated, Wrench]:
        """As for `Columns`. Without armature the joint's rows of Ia are zero and those of pa are τ, exactly."""
        if not all(map(is_zero, armature)):
            return self.dense().eliminate(IA, pA, c, tau, armature)
        full, bias, held = IA.rows(), pA.six(), self.others
        D_inverse = factor(Mat(Vec([full[i][j] for j in self.rows]) for i in self.rows))
        U = Mat(Vec([full[i][j] for j in held]) for i in self.rows)
        w = D_inverse.solve([t - bias[i] for t, i in zip(tau, self.rows, strict=True)])
        Y = D_inverse.solve_columns(U) if held else Mat(Vec() for _ in self.rows)
        rest = _minus_product(Mat(Vec([full[i][j] for j in held]) for i in held), U, Y)
        Ia = [[0.0] * 6 for _ in range(6)]
        for a, i in enumerate(held):
            for b, j in enumerate(held):
                Ia[i][j] = rest[a][b]
        left = Articulated.of_rows(Ia)
        pa = list((pA + left @ c + Wrench.of(_scatter(held, U.transpose_times(w) if held else ()))).six())
        for i, t in zip(self.rows, tau, strict=True):
            pa[i] = t
        return Passed(Y, w), left, Wrench.of(pa)

    def accelerate(self, passed: Passed, A: Twist) -> tuple[Vec, Twist]:
        """As for `Columns`; without armature, which keeps Y to the held components, the joint's part of A is w - Y A'."""
        if passed.Y and len(passed.Y[0]) == 6:
            return self.dense().accelerate(passed, A)
        six = A.six()
        total = passed.w - passed.Y @ [six[i] for i in self.others]
        a = Vec([t - six[i] for t, i in zip(total, self.rows, strict=True)])
        return a, Twist.of([dict(zip(self.rows, total, strict=True)).get(i, six[i]) for i in range(6)])


Subspace = Selection | Columns


def _scatter(rows: Sequence[int], values: Sequence[Scalar]) -> list[Scalar]:
    six: list[Scalar] = [0.0] * 6
    for row, x in zip(rows, values, strict=True):
        six[row] = x
    return six


def _minus_product(A: Mat, U: Mat, Y: Mat) -> list[list[Scalar]]:
    """A - Uᵀ Y for a symmetric result: the upper triangle is computed, the lower mirrors it."""
    n = len(A)
    result = [[A[i][j] for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i, n):
            for u, y in zip(U, Y, strict=True):
                result[i][j] = result[i][j] - u[i] * y[j]
            result[j][i] = result[i][j]
    return result
