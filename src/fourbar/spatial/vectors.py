"""Twists and wrenches: spatial vectors [angular; linear]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .linear import Scalar, Vec, dot, zeros


class Twist(NamedTuple):
    """A motion: angular velocity, and the linear velocity of the point at the frame's origin."""

    angular: Vec
    linear: Vec

    @staticmethod
    def zero() -> Twist:
        return Twist(zeros(3), zeros(3))

    @staticmethod
    def of(six: Sequence[Scalar]) -> Twist:
        """From six numbers, angular first."""
        return Twist(Vec(six[:3]), Vec(six[3:]))

    def six(self) -> Vec:
        """The six numbers, angular first."""
        return Vec((*self.angular, *self.linear))

    def __add__(self, other: Twist) -> Twist:  # type: ignore[override]
        return Twist(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Twist) -> Twist:
        return Twist(self.angular - other.angular, self.linear - other.linear)

    def ad(self, other: Twist) -> Twist:
        """ad_V W = (ω × w, ω × v_w + v × w)."""
        return Twist(
            self.angular.cross(other.angular),
            self.angular.cross(other.linear) + self.linear.cross(other.angular),
        )


class Wrench(NamedTuple):
    """A force: moment about the frame's origin, and force."""

    angular: Vec
    linear: Vec

    @staticmethod
    def zero() -> Wrench:
        return Wrench(zeros(3), zeros(3))

    @staticmethod
    def of(six: Sequence[Scalar]) -> Wrench:
        """From six numbers, moment first."""
        return Wrench(Vec(six[:3]), Vec(six[3:]))

    def six(self) -> Vec:
        """The six numbers, moment first."""
        return Vec((*self.angular, *self.linear))

    def __add__(self, other: Wrench) -> Wrench:  # type: ignore[override]
        return Wrench(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Wrench) -> Wrench:
        return Wrench(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Wrench:
        return Wrench(-self.angular, -self.linear)

    def power(self, motion: Twist) -> Scalar:
        """F · V."""
        return dot(self.angular, motion.angular) + dot(self.linear, motion.linear)
