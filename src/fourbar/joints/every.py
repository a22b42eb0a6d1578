"""The list of every joint type."""

from __future__ import annotations

from .base import Joint
from .composite import Composite
from .custom import CustomJoint
from .euler import SphericalEuler
from .exponential import SphericalExponential
from .fixed import Fixed
from .group import Free, Planar, Schoenflies, Spherical, Translation2, Translation3
from .one_axis import Cylindrical, Helical, Prismatic, Revolute
from .universal import Universal

JOINT_TYPES: tuple[type[Joint], ...] = (
    Fixed, Revolute, Prismatic, Helical, Cylindrical, Spherical, Planar, Translation2, Translation3, Schoenflies, Free,
    Universal, SphericalEuler, SphericalExponential, Composite, CustomJoint,
)  # fmt: skip
