"""The matrix B of a moving body: its part in the Coriolis matrix, C = Jᵀ (I J̇ + B J) in fixed axes.

B(I, V) = ½ [(V ×*) I + (I V) ×̄* - I (V ×)], where (F ×̄*) V = V ×* F. Of a rigid body ∫ Jᵀ J̇ dm over its particles with
J = [-[r], 1]: the columns of linear motions are zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .fluid_inertia import AnyInertia, FluidInertia, cross_force
from .inertia import Articulated, Inertia
from .linear import Mat, Vec, hat, zeros
from .vectors import Twist, Wrench


class Flow(NamedTuple):
    """B of a rigid body: W = tr(N) 1 - N of N = ∫ ṙ rᵀ dm, and the linear momentum p = ∫ ṙ dm."""

    W: Mat
    p: Vec  # (3,)

    @staticmethod
    def of(I: Inertia, V: Twist) -> Flow:
        """ṙ = v + ω × r."""
        turning = hat(V.angular) @ I.Sigma.matrix()
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (row + I.h * x for row, x in zip(turning, V.linear, strict=True))
        W = Mat((Vec((yy + zz, -xy, -xz)), Vec((-yx, xx + zz, -yz)), Vec((-zx, -zy, xx + yy))))
        return Flow(W, I.m * V.linear + V.angular.cross(I.h))

    def __add__(self, other: Any) -> Any:  # type: ignore[override]
        if other.__class__ is not Flow:
            return NotImplemented
        return Flow(self.W + other.W, self.p + other.p)

    def force(self, s: Twist) -> Wrench:
        """B s: the linear part of s does not count."""
        return Wrench(self.W @ s.angular, s.angular.cross(self.p))

    def transpose_times(self, s: Twist) -> Wrench:
        """Bᵀ s: the linear part is zero."""
        return Wrench(self.W.transpose_times(s.angular) + self.p.cross(s.linear), zeros(3))


class FluidFlow(NamedTuple):
    """B of a body in a fluid: that of the body itself, and the 6 x 6 matrix of the added inertia."""

    rigid: Flow
    added: Mat

    def __add__(self, other: Any) -> FluidFlow:  # type: ignore[override]
        if isinstance(other, FluidFlow):
            return FluidFlow(self.rigid + other.rigid, self.added + other.added)
        return self._replace(rigid=self.rigid + other)

    __radd__ = __add__

    def force(self, s: Twist) -> Wrench:
        """B s."""
        return self.rigid.force(s) + Wrench.of(self.added @ s.six())

    def transpose_times(self, s: Twist) -> Wrench:
        """Bᵀ s."""
        return self.rigid.transpose_times(s) + Wrench.of(self.added.transpose_times(s.six()))


def _added_flow(M: Articulated, V: Twist) -> Mat:
    """B, column by column."""
    h, columns = M @ V, []
    for e in Mat.identity(6):
        s = Twist.of(e)
        columns.append(((cross_force(V, M @ s) - M @ V.ad(s)) + cross_force(s, h)).six() * 0.5)
    return Mat.from_columns(columns)


def flow_of(I: AnyInertia, V: Twist) -> Any:
    """B of a body that moves with V."""
    if isinstance(I, FluidInertia):
        return FluidFlow(Flow.of(I.rigid, V), _added_flow(I.added, V))
    return Flow.of(I, V)
