"""The motion of a frame to second order, in the classical form that makes Newton-Euler cheap.

Instead of spatial acceleration A the state holds the *classical* acceleration of the frame's origin, a = v̇ + ω × v, and
the acceleration matrix Γ = [α] + [ω]², so that the point at r accelerates with a + Γ r. The linear velocity is not
needed at all. All vectors are in the frame's own axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .linear import Mat, Scalar, Sym, Vec, square_of_hat, zeros
from .transform import Transform
from .vectors import Twist


def acceleration_matrix(W: Sym, al: Sequence[Scalar]) -> Mat:
    """Γ = [α] + [ω]², from W = [ω]²."""
    x, y, z = al
    return Mat(
        (
            Vec((W.xx, W.xy - z, W.xz + y)),
            Vec((W.xy + z, W.yy, W.yz - x)),
            Vec((W.xz - y, W.yz + x, W.zz)),
        )
    )


class Motion(NamedTuple):
    """Angular velocity ω, angular acceleration α, acceleration a of the origin, Γ = [α] + [ω]²."""

    w: Vec  # (3,), as the next two
    al: Vec
    acc: Vec
    G: Mat  # (3, 3)

    @staticmethod
    def of_ground(gravity: Vec) -> Motion:
        """The ground, accelerated against gravity so that weights need not be applied: A₀ = (0, -g)."""
        return Motion(zeros(3), zeros(3), -gravity, Mat.zeros(3, 3))

    def through(self, X: Transform, V_J: Twist, A_J: Twist) -> Motion:
        """The motion of the child across a joint with relative twist V_J and its component-wise rate A_J.

        V = X V_λ + V_J and A = X A_λ + A_J + ad_V V_J of the papers (Kim Table 2), written for a = v̇ + ω × v.
        """
        w = X.unrotate(self.w) + V_J.angular
        al = X.unrotate(self.al) + A_J.angular + w.cross(V_J.angular)
        acc = X.unrotate(self.acc + self.G @ X.p) + A_J.linear + (2.0 * w - V_J.angular).cross(V_J.linear)
        return Motion(w, al, acc, acceleration_matrix(square_of_hat(w), al))


class Spin(NamedTuple):
    """The contribution of velocity alone to a `Motion`: ω and W = [ω]²."""

    w: Vec  # (3,)
    W: Sym

    @staticmethod
    def of_ground() -> Spin:
        return Spin(zeros(3), Sym.diagonal(0.0))

    def through(self, X: Transform, V_J: Twist, c_J: Twist) -> tuple[Spin, Twist]:
        """The child's spin, and the acceleration c that it gains across the joint by velocity alone.

        c_J is S° v. With it the classical accelerations obey (α, a) = X (α_λ, a_λ) + S v̇ + c.
        """
        w = X.unrotate(self.w) + V_J.angular
        c = Twist(
            c_J.angular + w.cross(V_J.angular),
            c_J.linear + X.unrotate(self.W @ X.p) + (2.0 * w - V_J.angular).cross(V_J.linear),
        )
        return Spin(w, square_of_hat(w)), c
