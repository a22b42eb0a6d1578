"""Inertia of a rigid body: ten parameters, how they transform, physical consistency; and articulated inertias."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from . import rotation
from .linear import Mat, Scalar, Sym, Vec, dot, hat, outer, vec
from .motion import Motion
from .transform import Transform
from .vectors import Twist, Wrench


def _moments(J: Sym) -> Sym:
    """Second mass moments Σ = ∫ r rᵀ dm from the rotational inertia J = tr(Σ) 1 - Σ."""
    return Sym(_half(J.yy, J.zz, J.xx), -J.xy, -J.xz, _half(J.xx, J.zz, J.yy), -J.yz, _half(J.xx, J.yy, J.zz))


def _half(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """½ (a + b - c), rounded once where these are floats: for a thin rod a small difference of large numbers."""
    if a.__class__ is b.__class__ is c.__class__ is float:
        return 0.5 * fsum((a, b, -c))
    return 0.5 * (a + b - c)


def rotational(Sigma: Sym) -> Sym:
    """The rotational inertia J = tr(Σ) 1 - Σ; written as sums, which lose nothing."""
    return Sym(
        Sigma.yy + Sigma.zz, -Sigma.xy, -Sigma.xz, Sigma.xx + Sigma.zz, -Sigma.yz, Sigma.xx + Sigma.yy
    )  # fmt: skip


class Inertia(NamedTuple):
    """Mass m, first moment h = m c, rotational inertia J about the frame's origin, and the same as Σ = ∫ r rᵀ dm.

    J and Σ hold the same numbers in two forms, so that neither has to be computed at run time.

    Parameters
    ----------
    m : scalar
        Mass (kg).
    h : Vec
        First moment m c (kg m), three scalars.
    J : Sym
        Rotational inertia about the origin (kg m²), six scalars.
    Sigma : Sym
        Second moments Σ (kg m²), six scalars, with J = tr(Σ) 1 - Σ.

    Examples
    --------
    >>> from fourbar.spatial import Inertia, Twist, to_array
    >>> I = Inertia.about_com(2.0, (0, 0, 0.5), [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.02]])
    >>> to_array(I @ Twist.from_array([0, 1, 0, 0, 0, 0]))
    array([0. , 0.6, 0. , 1. , 0. , 0. ])
    """

    m: Scalar
    h: Vec
    J: Sym
    Sigma: Sym

    @staticmethod
    def of(m: Scalar, h: Sequence[Scalar], J: Sym) -> Inertia:
        """From mass, first moment and rotational inertia about the origin."""
        return Inertia(m, Vec(h), J, _moments(J))

    @staticmethod
    def zero() -> Inertia:
        """No inertia."""
        return Inertia.of(0.0, Vec((0.0, 0.0, 0.0)), Sym.diagonal(0.0))

    @staticmethod
    def about_com(mass: Scalar, com: Sequence[Scalar], inertia: Sequence[Sequence[Scalar]]) -> Inertia:
        """From mass, centre of mass and the 3 x 3 rotational inertia about the centre of mass, in the body's axes."""
        (m,), c = vec((mass,)), vec(com)
        h = m * c
        return Inertia.of(m, h, Sym.of(Mat.of(inertia)) + rotational(outer(h, c)))

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        if not isinstance(other, Inertia):
            return NotImplemented
        return Inertia(self.m + other.m, self.h + other.h, self.J + other.J, self.Sigma + other.Sigma)

    def matrix(self) -> Mat:
        """The 6 x 6 spatial inertia [[J, [h]], [[h]ᵀ, m 1]]."""
        H = hat(self.h)
        top = [Vec((*self.J.matrix()[i], *H[i])) for i in range(3)]
        bottom = [Vec((*H.T[i], *(self.m if i == j else 0.0 for j in range(3)))) for i in range(3)]
        return Mat((*top, *bottom))

    def momentum(self, V: Twist) -> Wrench:
        """Momentum I V of a twist."""
        return Wrench(self.J @ V.angular + self.h.cross(V.linear), self.m * V.linear - self.h.cross(V.angular))

    def __matmul__(self, V: Twist) -> Wrench:
        return self.momentum(V)

    def force(self, motion: Motion) -> Wrench:
        """Rate of momentum I A - ad_Vᵀ I V for a motion in classical form (Newton-Euler).

        Linear: m a + Γ h. Angular: h × a + ∫ r × Γ r dm, and that integral is the vector of Γ Σ - (Γ Σ)ᵀ.
        """
        G, S = motion.G, self.Sigma.matrix()
        spin = Vec(
            (
                dot(G[2], S[1]) - dot(G[1], S[2]),
                dot(G[0], S[2]) - dot(G[2], S[0]),
                dot(G[1], S[0]) - dot(G[0], S[1]),
            )
        )
        return Wrench(spin + self.h.cross(motion.acc), self.m * motion.acc + G @ self.h)

    def to_parent(self, X: Transform) -> Inertia:
        """The same body in the parent frame: Xᵀ I X."""
        h = X.rotate(self.h)
        hp = Mat(Vec([a * b for b in X.p]) for a in h)
        pp = outer(self.m * X.p, X.p)
        Sigma = rotation.congruence_symmetric(X.factors, self.Sigma) + Sym.of(hp + hp.T) + pp
        return Inertia(self.m, h + self.m * X.p, rotational(Sigma), Sigma)

    def pseudo_inertia(self) -> np.ndarray:
        """The 4 x 4 matrix [[Σ, h], [hᵀ, m]]: positive definite iff the parameters are physically consistent."""
        P = np.empty((4, 4))
        P[:3, :3] = self.Sigma.matrix()
        P[:3, 3] = P[3, :3] = self.h
        P[3, 3] = self.m
        return P


_LARGEST = 1e100  # entries of an inertia whose determinant is finite
_POINT = 1e-8  # metres: smaller bodies count as points; rounding leaves as much of moments about points a metre away


def _is_solid(mass: float, inertia: np.ndarray) -> bool:
    """Whether Σ = ½ tr(I) 1 - I is clearly positive definite (by its minors): a fast sufficient test of consistency.

    False for NaN. Most bodies pass, and this is ten times as fast as computing principal moments.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = inertia.tolist()
    half = 0.5 * (xx + yy + zz)
    a, b, c = half - xx, half - yy, half - zz
    minor = a * b - xy * xy
    third = minor * c - a * yz * yz - b * xz * xz - 2.0 * xy * xz * yz
    clear = 1e-6 * half
    least = clear * half * half
    same = xy == yx and xz == zx and yz == zy
    return 0.0 < mass < np.inf and same and a > clear and minor > clear * half and 0.0 < least < third < np.inf


def is_usable(mass: float, inertia: np.ndarray) -> bool:
    """Whether no motion of (mass, rotational inertia about the centre of mass) has a negative kinetic energy.

    Equations of motion then make sense even if no body of matter has these numbers: a rotor whose mass is counted in
    its stator, a planar body with one moment. NaN is not usable.
    """
    size = float(np.abs(inertia).max())
    if not (0.0 <= mass < np.inf and size < _LARGEST):
        return False
    return bool(np.linalg.eigvalsh(0.5 * (inertia + inertia.T))[0] >= -1e-9 * size)


def unphysical(mass: float, inertia: np.ndarray) -> str | None:
    """Why (mass, rotational inertia about the centre of mass) is physically inconsistent; None if it is not.

    Point masses and rods are consistent: an inertia may be zero, or violate the triangle inequality by rounding only.
    """
    largest = float(np.abs(inertia).max())
    if not largest < _LARGEST:
        return f"the inertia has an entry of {largest:.3g}; expected finite numbers below {_LARGEST:g}"
    if _is_solid(mass, inertia):
        return None
    if not (np.isfinite(mass) and np.all(np.isfinite(inertia))):
        return f"mass {mass} and inertia {inertia.tolist()} must be finite numbers"
    if mass < 0.0:
        return f"mass {mass} is negative"
    size = float(np.abs(inertia).max())
    if size < mass * _POINT**2:
        return None
    if np.abs(inertia - inertia.T).max() > 1e-9 * size:
        return f"the inertia matrix {inertia.tolist()} is not symmetric"
    if mass == 0.0 and size > 0.0:
        return (
            f"mass is zero, but the inertia {inertia.tolist()} is not; give the body a mass, or set the inertia to zero"
        )
    a, b, c = np.linalg.eigvalsh(inertia)
    if a < -1e-9 * size:
        return f"the inertia has a negative principal moment {a:.6g} (principal moments {a:.6g}, {b:.6g}, {c:.6g})"
    if a + b < c - 1e-9 * size:
        return (
            f"the principal moments {a:.6g}, {b:.6g}, {c:.6g} violate the triangle inequality "
            f"({a:.6g} + {b:.6g} < {c:.6g}); check units, the frame, and whether it is given about the centre of mass"
        )
    return None


class Articulated(NamedTuple):
    """The symmetric 6 x 6 matrix [[J, H], [Hᵀ, A]], twenty-one numbers."""

    J: Sym
    H: Mat  # (3, 3)
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
