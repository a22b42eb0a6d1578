"""Articulated inertias: how a body resists, when what hangs on it may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import rotation
from .inertia import Inertia
from .linear import Mat, Scalar, Vec, dot, hat
from .symmetric import Sym
from .transform import Transform
from .vectors import Twist, Wrench


class Articulated(NamedTuple):
    """The symmetric 6 x 6 matrix [[J, H], [Hᵀ, A]], twenty-one numbers."""

    J: Sym
    H: Mat
    A: Sym

    @staticmethod
    def of(body: Any) -> Articulated:
        """A single body, rigid or in a fluid (`FluidInertia`); what is articulated stays as it is."""
        if isinstance(body, Inertia):
            return Articulated(body.J, hat(body.h), Sym.diagonal(body.m))
        return body if isinstance(body, Articulated) else body.as_articulated()

    @staticmethod
    def of_rows(rows: Sequence[Sequence[Scalar]]) -> Articulated:
        """From the upper triangle of a 6 x 6 matrix."""
        J = Sym.of([row[:3] for row in rows[:3]])
        A = Sym.of([row[3:] for row in rows[3:]])
        return Articulated(J, Mat(Vec(row[3:]) for row in rows[:3]), A)

    def rows(self) -> Mat:
        """All thirty-six entries."""
        J, A, Ht = self.J.matrix(), self.A.matrix(), self.H.T
        return Mat((*(Vec((*J[i], *self.H[i])) for i in range(3)), *(Vec((*Ht[i], *A[i])) for i in range(3))))

    def __add__(self, other: Any) -> Articulated:  # type: ignore[override]
        J, H, A = Articulated.of(other)
        return Articulated(self.J + J, self.H + H, self.A + A)

    def __radd__(self, other: Any) -> Articulated:
        return Articulated.of(other) + self

    def __matmul__(self, V: Twist) -> Wrench:
        return Wrench(
            self.J @ V.angular + self.H @ V.linear,
            self.H.transpose_times(V.angular) + self.A @ V.linear,
        )

    def largest_resistance(self, V: Twist) -> Scalar:
        """An upper bound of Vᵀ I V, from the traces of the blocks: of the size that its terms may have had."""
        J, A = (sum(block.matrix()[i][i] for i in range(3)) for block in (self.J, self.A))
        return V.angular.dot(V.angular) * J + V.linear.dot(V.linear) * A

    def to_parent(self, X: Transform) -> Articulated:
        """Xᵀ I X: turn the three blocks, then shift them by p."""
        J = rotation.congruence_symmetric(X.factors, self.J)
        H = rotation.congruence(X.factors, self.H)
        A = rotation.congruence_symmetric(X.factors, self.A)
        P = hat(X.p)
        shifted = H + P @ A.matrix()
        # J - H P + P shiftedᵀ; since P = -Pᵀ both products are products of rows.
        J_shift = [dot(P[i], shifted[j]) + dot(H[i], P[j]) for i in range(3) for j in range(i, 3)]
        return Articulated(J + J_shift, shifted, A)
