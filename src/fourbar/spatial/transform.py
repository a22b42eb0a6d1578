"""Rigid placements and how motions, forces and inertias are carried by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import rotation
from .linear import Mat, Scalar, Vec, hat, vec, zeros
from .rotation import Factor
from .vectors import Twist, Wrench


class Transform(NamedTuple):
    """Pose T = (R, p) of a child frame in its parent: R as factors, p the child's origin in the parent's axes.

    X = Ad(T⁻¹) carries motions parent → child, Xᵀ carries forces child → parent (docs/notation.md).

    Parameters
    ----------
    factors : tuple of Mat or RotationZ
        Rotations, 3 x 3, whose product is R; none for a pure translation. `Transform.of` takes R itself.
    p : Vec
        Origin of the child in the axes of the parent (m), three scalars.

    Examples
    --------
    >>> import fourbar as fb
    >>> from fourbar.spatial import Transform, to_array
    >>> robot = fb.robots.double_pendulum()
    >>> T = Transform.from_array(robot.poses([0.1, 0.2]))  # two bodies: a batch
    >>> to_array(T @ T.inverse()).shape
    (2, 4, 4)
    """

    factors: tuple[Factor, ...] = ()
    p: Vec = Vec((0.0, 0.0, 0.0))

    @staticmethod
    def of(R: Sequence[Sequence[Scalar]], p: Sequence[Scalar]) -> Transform:
        """From a rotation matrix and a position; the identity matrix, if it is constant, is dropped."""
        matrix = Mat.of(R)
        constant = all(x.__class__ is float for row in matrix for x in row)
        return Transform(() if constant and matrix == Mat.identity(3) else (matrix,), vec(p))

    @staticmethod
    def from_array(array: Any) -> Transform:
        """From homogeneous matrices [[R, p], [0, 1]], an array (..., 4, 4); leading axes are a batch."""
        if np.shape(array)[-2:] != (4, 4):
            raise ValueError(f"a pose is a homogeneous matrix: expected shape (..., 4, 4), got {np.shape(array)}")
        rows = Mat.from_array(array)[:3]
        return Transform.of([row[:3] for row in rows], [row[3] for row in rows])

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
        """Product T₁ T₂: the pose in this frame's parent of a frame placed by `inner` in this frame."""
        return Transform(self.factors + inner.factors, self.rotate(inner.p) + self.p)

    def __matmul__(self, inner: Transform) -> Transform:
        return self.then(inner)

    def inverse(self) -> Transform:
        """The pose T⁻¹ of the parent in the child."""
        turned = tuple(f._replace(s=-f.s) if isinstance(f, rotation.RotationZ) else f.T for f in reversed(self.factors))
        return Transform(turned, -self.unrotate(self.p))

    def motion_to_child(self, V: Twist) -> Twist:
        """Twist X V in the child frame, X = Ad(T⁻¹)."""
        return Twist(self.unrotate(V.angular), self.unrotate(V.linear + V.angular.cross(self.p)))

    def motion_to_parent(self, V: Twist) -> Twist:
        """Twist X⁻¹ V in the parent frame."""
        w = self.rotate(V.angular)
        return Twist(w, self.rotate(V.linear) - w.cross(self.p))

    def force_to_parent(self, F: Wrench) -> Wrench:
        """Wrench Xᵀ F in the parent frame."""
        f = self.rotate(F.linear)
        return Wrench(self.rotate(F.angular) + self.p.cross(f), f)


IDENTITY = Transform((), zeros(3))


def nudge(V: Twist) -> Transform:
    """A small displacement, right to first order: its derivative at zero is that of exp(V)."""
    return Transform((Mat.identity(3) + hat(V.angular),), V.linear)
