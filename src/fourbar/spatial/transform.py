"""Rigid placements and how motions, forces and inertias are carried by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import rotation
from .linear import Mat, Scalar, Vec, hat, vec, zeros
from .rotation import Factor
from .vectors import Twist, Wrench


class Transform(NamedTuple):
    """Pose T = (R, p) of a child frame in its parent: R as factors, p the child's origin in the parent's axes.

    X = Ad(T⁻¹) carries motions parent → child, Xᵀ carries forces child → parent (docs/notation.md).
    """

    factors: tuple[Factor, ...] = ()
    p: Vec = Vec((0.0, 0.0, 0.0))

    @staticmethod
    def of(R: Sequence[Sequence[Scalar]], p: Sequence[Scalar]) -> Transform:
        """From a rotation matrix and a position; the identity matrix, if it is constant, is dropped."""
        matrix = Mat.of(R)
        constant = all(x.__class__ is float for row in matrix for x in row)
        return Transform(() if constant and matrix == Mat.identity(3) else (matrix,), vec(p))

    @property
    def R(self) -> Mat:
        """The rotation matrix."""
        return rotation.matrix(self.factors)

    def rotate(self, a: Vec) -> Vec:
        """A vector from child to parent axes."""
        return rotation.apply(self.factors, a)

    def unrotate(self, a: Vec) -> Vec:
        """A vector from parent to child axes."""
        return rotation.unapply(self.factors, a)

    def point(self, a: Vec) -> Vec:
        """A point given in the child frame, in the parent frame."""
        return self.rotate(a) + self.p

    def then(self, inner: Transform) -> Transform:
        """T₁ T₂: the pose in this frame's parent of a frame placed by `inner` in this frame."""
        return Transform(self.factors + inner.factors, self.rotate(inner.p) + self.p)

    def inverse(self) -> Transform:
        """T⁻¹."""
        turned = tuple(f._replace(s=-f.s) if isinstance(f, rotation.RotationZ) else f.T for f in reversed(self.factors))
        return Transform(turned, -self.unrotate(self.p))

    def motion_to_child(self, V: Twist) -> Twist:
        """X V."""
        return Twist(self.unrotate(V.angular), self.unrotate(V.linear + V.angular.cross(self.p)))

    def motion_to_parent(self, V: Twist) -> Twist:
        """X⁻¹ V."""
        w = self.rotate(V.angular)
        return Twist(w, self.rotate(V.linear) - w.cross(self.p))

    def force_to_parent(self, F: Wrench) -> Wrench:
        """Xᵀ F."""
        f = self.rotate(F.linear)
        return Wrench(self.rotate(F.angular) + self.p.cross(f), f)


IDENTITY = Transform((), zeros(3))


def nudge(V: Twist) -> Transform:
    """A small displacement, right to first order: its derivative at zero is that of exp(V)."""
    return Transform((Mat.identity(3) + hat(V.angular),), V.linear)
