"""How matter flows: the matrix B of a moving body, in fixed axes, which velocity products are made of.

A particle at r has the Jacobian J = [-[r], 1] to the twist of its body. Jᵀ m J̇, summed over the body, is
B = [[tr(N) 1 - N, 0], [-[p], 0]] with N = ∫ ṙ rᵀ dm and p = ∫ ṙ dm: twelve numbers, which add up over bodies as
inertias do. A spin ω of matter that flows with ṙ takes the force B ω = [∫ r × (ω × ṙ) dm; ∫ ω × ṙ dm].
"""

from __future__ import annotations

from typing import NamedTuple

from ..spatial.inertia import Inertia
from ..spatial.linear import Mat, Vec, hat
from ..spatial.vectors import Twist, Wrench


class Flow(NamedTuple):
    """W = tr(N) 1 - N of N = ∫ ṙ rᵀ dm, and the linear momentum p = ∫ ṙ dm."""

    W: Mat
    p: Vec

    @staticmethod
    def of(I: Inertia, V: Twist) -> Flow:
        """ṙ = v + ω × r."""
        turning = hat(V.angular) @ I.Sigma.matrix()
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (row + I.h * x for row, x in zip(turning, V.linear, strict=True))
        W = Mat((Vec((yy + zz, -xy, -xz)), Vec((-yx, xx + zz, -yz)), Vec((-zx, -zy, xx + yy))))
        return Flow(W, I.m * V.linear + V.angular.cross(I.h))

    def __add__(self, other: Flow) -> Flow:  # type: ignore[override]
        return Flow(self.W + other.W, self.p + other.p)

    def force(self, spin: Vec) -> Wrench:
        """B s for a motion s of this angular part: the linear part does not count."""
        return Wrench(self.W @ spin, spin.cross(self.p))

    def transposed(self, s: Twist) -> Vec:
        """Bᵀ s: its angular part, the linear one is zero."""
        return self.W.transpose_times(s.angular) + self.p.cross(s.linear)
