"""Twists and wrenches: spatial vectors [angular; linear]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .linear import Scalar, Vec, dot, zeros


def _six_of_array(array: Any, kind: str) -> Vec:
    """The six entries along the last axis of an array (..., 6)."""
    shape = np.shape(array)
    if shape[-1:] != (6,):
        raise ValueError(f"a {kind} has six numbers [angular; linear]: expected shape (..., 6), got {shape}")
    return Vec.from_array(array)


class Twist(NamedTuple):
    """A motion of a rigid body: angular velocity, and the linear velocity of the point at the frame's origin.

    Parameters
    ----------
    angular : Vec
        Angular velocity (rad/s), three scalars.
    linear : Vec
        Velocity of the origin (m/s), three scalars.

    Examples
    --------
    >>> from fourbar.spatial import Twist, to_array
    >>> V, W = Twist.from_array([0, 0, 1, 0, 0, 0]), Twist.from_array([0, 0, 0, 1, 0, 0])
    >>> to_array(V.ad(W))
    array([0., 0., 0., 0., 1., 0.])
    """

    angular: Vec
    linear: Vec

    @staticmethod
    def zero() -> Twist:
        """No motion."""
        return Twist(zeros(3), zeros(3))

    @staticmethod
    def of(six: Sequence[Scalar]) -> Twist:
        """From six scalars, angular first."""
        return Twist(Vec(six[:3]), Vec(six[3:]))

    @staticmethod
    def from_array(array: Any) -> Twist:
        """From an array (..., 6), angular first; leading axes are a batch."""
        return Twist.of(_six_of_array(array, "twist"))

    def six(self) -> Vec:
        """The six scalars, angular first."""
        return Vec((*self.angular, *self.linear))

    def __add__(self, other: Twist) -> Twist:  # type: ignore[override]
        return Twist(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Twist) -> Twist:
        return Twist(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Twist:
        return Twist(-self.angular, -self.linear)

    def __mul__(self, k: Scalar) -> Twist:  # type: ignore[override]
        return Twist(self.angular * k, self.linear * k)

    __rmul__ = __mul__

    def ad(self, other: Twist) -> Twist:
        """Lie bracket ad_V W = (ω × w, ω × v_w + v × w)."""
        return Twist(
            self.angular.cross(other.angular),
            self.angular.cross(other.linear) + self.linear.cross(other.angular),
        )

    def ad_dual(self, force: Wrench) -> Wrench:
        """Rate V ×* F = -ad_Vᵀ F of a wrench that is constant in a frame moving with this twist."""
        return Wrench(
            self.angular.cross(force.angular) + self.linear.cross(force.linear),
            self.angular.cross(force.linear),
        )


class Wrench(NamedTuple):
    """A force on a rigid body: moment about the frame's origin, and force.

    Parameters
    ----------
    angular : Vec
        Moment (N m), three scalars.
    linear : Vec
        Force (N), three scalars.

    Examples
    --------
    >>> from fourbar.spatial import Twist, Wrench
    >>> Wrench.from_array([0, 0, 2, 0, 0, 0]).power(Twist.from_array([0, 0, 3, 1, 0, 0]))
    6.0
    """

    angular: Vec
    linear: Vec

    @staticmethod
    def zero() -> Wrench:
        """No force."""
        return Wrench(zeros(3), zeros(3))

    @staticmethod
    def of(six: Sequence[Scalar]) -> Wrench:
        """From six scalars, moment first."""
        return Wrench(Vec(six[:3]), Vec(six[3:]))

    @staticmethod
    def from_array(array: Any) -> Wrench:
        """From an array (..., 6), moment first; leading axes are a batch."""
        return Wrench.of(_six_of_array(array, "wrench"))

    def six(self) -> Vec:
        """The six scalars, moment first."""
        return Vec((*self.angular, *self.linear))

    def __add__(self, other: Wrench) -> Wrench:  # type: ignore[override]
        return Wrench(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Wrench) -> Wrench:
        return Wrench(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Wrench:
        return Wrench(-self.angular, -self.linear)

    def __mul__(self, k: Scalar) -> Wrench:  # type: ignore[override]
        return Wrench(self.angular * k, self.linear * k)

    __rmul__ = __mul__

    def power(self, motion: Twist) -> Scalar:
        """Power F · V (W) on a motion."""
        return dot(self.angular, motion.angular) + dot(self.linear, motion.linear)
