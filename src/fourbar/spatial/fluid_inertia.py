"""Inertia of a body in a fluid: its own, the added inertia of the fluid that it moves, and the fluid it displaces.

The added inertia is any symmetric 6 x 6 matrix M_a (From eq. 11). With the impulse M_a V of the fluid, its force on
the body's motion is Kirchhoff's, M_a A - ad_Vᵀ M_a V, as for a rigid body; but gravity does not act on it. The weight
of the displaced fluid is the buoyancy.

The fluid also has drag, and a current. In a constant current u without rotation Kirchhoff's equations hold for the
velocity V_r = V - (0, u) relative to the fluid, M_a A_r - ad_(V_r)ᵀ M_a V_r: the difference to still fluid is a force
of velocity alone, since the classical acceleration of the origin, v̇ + ω × v, is the same from both.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

from .inertia import Articulated, Inertia
from .linear import Mat, Scalar, Sym, Vec, is_zero, zeros
from .motion import Motion
from .transform import Transform
from .vectors import Twist, Wrench


class DisplacedFluid(NamedTuple):
    """Mass m and first moment h of the fluid whose place a body takes."""

    m: Scalar
    h: Vec  # (3,), kg m

    def __add__(self, other: DisplacedFluid) -> DisplacedFluid:  # type: ignore[override]
        return DisplacedFluid(self.m + other.m, self.h + other.h)

    def to_parent(self, X: Transform) -> DisplacedFluid:
        """The same in the parent frame."""
        return DisplacedFluid(self.m, X.rotate(self.h) + self.m * X.p)

    def weight(self, gravity: Vec) -> Wrench:
        """Weight, with gravity in the frame's axes."""
        return Wrench(self.h.cross(gravity), self.m * gravity)


class FluidInertia(NamedTuple):
    """The inertia of the body itself, the added one, and the displaced fluid."""

    rigid: Inertia
    added: Articulated
    displaced: DisplacedFluid

    @property
    def m(self) -> Scalar:
        """Mass of the body itself."""
        return self.rigid.m

    @property
    def h(self) -> Vec:
        """First moment of the body itself."""
        return self.rigid.h

    @property
    def J(self) -> Sym:
        """Rotational inertia about the origin, with the added one."""
        return self.rigid.J + self.added.J

    def __add__(self, other: Any) -> FluidInertia:  # type: ignore[override]
        if isinstance(other, FluidInertia):
            return FluidInertia(self.rigid + other.rigid, self.added + other.added, self.displaced + other.displaced)
        return self._replace(rigid=self.rigid + other) if isinstance(other, Inertia) else NotImplemented

    __radd__ = __add__

    def as_articulated(self) -> Articulated:
        """The 6 x 6 matrix as twenty-one numbers, with the added inertia."""
        return Articulated.of(self.rigid) + self.added

    def matrix(self) -> Mat:
        """The 6 x 6 matrix, with the added inertia."""
        return self.as_articulated().rows()

    def momentum(self, V: Twist) -> Wrench:
        """(I + M_a) V."""
        return self.rigid.momentum(V) + self.added @ V

    def force(self, motion: Motion) -> Wrench:
        """As `Inertia.force`, and M_a (α, a). `correction` has what this lacks."""
        return self.rigid.force(motion) + self.added @ Twist(motion.al, motion.acc)

    def to_parent(self, X: Transform) -> FluidInertia:
        """The same body in the parent frame."""
        return FluidInertia(self.rigid.to_parent(X), self.added.to_parent(X), self.displaced.to_parent(X))

    def weightless(self, gravity: Vec) -> Wrench:
        """W (0, g), with the inertia W = M_a + (that of the displaced fluid) on which gravity does not act."""
        return self.added @ Twist(zeros(3), gravity) + self.displaced.weight(gravity)

    def weightless_momentum(self, V: Twist) -> Vec:
        """The linear part of W V."""
        return (self.added @ V).linear + self.displaced.m * V.linear + V.angular.cross(self.displaced.h)

    def correction(self, V: Twist, gravity: Vec) -> Wrench:
        """The wrench that `force` lacks, with V the velocity in the fluid and gravity in the frame's axes.

        `force` has a = v̇ + ω × v - g in place of v̇; and the buoyancy is that of the displaced fluid.
        """
        return self.weightless(gravity) + gyroscopic(self.added, V)


def gyroscopic(added: Articulated, V: Twist) -> Wrench:
    """-ad_Vᵀ M_a V - M_a (0, ω × v): the effect of velocity on the fluid, beside M_a (α, v̇ + ω × v)."""
    turning = Twist(zeros(3), V.angular.cross(V.linear))
    return cross_force(V, added @ V) - added @ turning


def cross_force(s: Twist, F: Wrench) -> Wrench:
    """s ×* F: the change of a force that is carried along with the motion s."""
    return Wrench(s.angular.cross(F.angular) + s.linear.cross(F.linear), s.angular.cross(F.linear))


AnyInertia = Inertia | FluidInertia


def is_immersed(I: AnyInertia) -> TypeGuard[FluidInertia]:
    """Whether an inertia is that of a body in a fluid."""
    return isinstance(I, FluidInertia)


def dry(I: AnyInertia) -> Inertia:
    """The inertia of the body itself."""
    return I.rigid if isinstance(I, FluidInertia) else I


def with_dry(I: AnyInertia, rigid: Inertia) -> AnyInertia:
    """The same with another inertia of the body itself."""
    return I._replace(rigid=rigid) if isinstance(I, FluidInertia) else rigid


class Hydrodynamics(NamedTuple):
    """Added inertia M_a and displaced fluid, linear and quadratic drag D and D₂ in the body's frame; the current in
    world axes."""

    added: Articulated
    displaced: DisplacedFluid
    linear: Mat  # (6, 6)
    quadratic: Mat  # (6, 6)
    current: Vec  # (3,), m/s

    @property
    def inertia(self) -> FluidInertia:
        """The inertia of the fluid alone."""
        return self.around(Inertia.zero())

    def around(self, rigid: Inertia) -> FluidInertia:
        """The inertia of a body in this fluid."""
        return FluidInertia(rigid, self.added, self.displaced)

    @property
    def has_forces(self) -> bool:
        """Whether there is any drag or current, as far as that is known while recording."""
        drag = (x for D in (self.linear, self.quadratic) for row in D for x in row)
        return not all(map(is_zero, (*self.current, *drag)))

    def wrench(self, V: Twist, current: Vec) -> Wrench:
        """-D V_r - D₂ |V_r| V_r and the force of the current on the added mass; V and the current in the body's frame,
        at its origin.
        """
        V_r = Twist(V.angular, V.linear - current)
        v = V_r.six()
        drag = self.linear @ v + self.quadratic @ Vec([abs(x) * x for x in v])
        return gyroscopic(self.added, V) - gyroscopic(self.added, V_r) - Wrench.of(drag)
