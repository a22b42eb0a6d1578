"""Inertias of bodies with those of the fluids around them, from a mechanism whose numbers may be symbols."""

from __future__ import annotations

from ..mechanism.fluid import Fluid
from ..mechanism.mechanism import Body
from ..spatial.articulated_inertia import Articulated
from ..spatial.fluid_inertia import AnyInertia, DisplacedFluid
from ..spatial.hydrodynamics import Hydrodynamics
from ..spatial.inertia import Inertia
from ..spatial.linear import Mat, Vec


def inertia_of(body: Body) -> AnyInertia:
    """The inertia of a body in its own frame, with that of the fluid around it."""
    return immersed(Inertia.about_com(body.mass, body.com, body.inertia), body.fluid)


def immersed(rigid: Inertia, fluid: Fluid | None) -> AnyInertia:
    """The inertia of a body in a fluid."""
    return rigid if fluid is None else hydrodynamics(fluid).around(rigid)


def hydrodynamics(fluid: Fluid) -> Hydrodynamics:
    """A fluid as algorithms use it."""
    mass = fluid.density * fluid.volume
    return Hydrodynamics(
        Articulated.of_rows(fluid.added_mass),
        DisplacedFluid(mass, Vec([mass * x for x in fluid.center_of_buoyancy])),
        Mat.of(fluid.linear_drag),
        Mat.of(fluid.quadratic_drag),
        Vec(fluid.current),
    )
