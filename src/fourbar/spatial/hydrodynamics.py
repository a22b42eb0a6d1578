"""The fluid around a body by its numbers: added inertia and displaced fluid, drag, and a current.

In a constant current u without rotation Kirchhoff's equations hold for the velocity V_r = V - (0, u) relative to the
fluid, M_a A_r - ad_(V_r)ᵀ M_a V_r: the difference to still fluid is a force of velocity alone, since the classical
acceleration of the origin, v̇ + ω × v, is the same from both.
"""

from __future__ import annotations

from typing import NamedTuple

from .articulated_inertia import Articulated
from .fluid_inertia import DisplacedFluid, FluidInertia, gyroscopic
from .inertia import Inertia
from .linear import Mat, Vec, is_zero
from .vectors import Twist, Wrench


class Hydrodynamics(NamedTuple):
    """Added inertia M_a and displaced fluid, linear and quadratic drag D and D₂ in the body's frame; the current in
    world axes."""

    added: Articulated
    displaced: DisplacedFluid
    linear: Mat
    quadratic: Mat
    current: Vec

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
