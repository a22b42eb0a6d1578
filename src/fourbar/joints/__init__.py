"""All joint types.

To add one: write its class in a file of this folder, list it below, and add it with examples to `registry.py`, which
the conformance tests use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .base import Joint
    from .composite import Composite
    from .custom import CustomJoint
    from .euler import SphericalEuler
    from .exponential import SphericalExponential
    from .fixed import Fixed
    from .lie import Free, Planar, Schoenflies, Spherical, Translation2, Translation3
    from .one_axis import Cylindrical, Helical, Prismatic, Revolute
    from .registry import JOINT_TYPES, REGISTRY
    from .universal import Universal

__all__ = [
    "JOINT_TYPES", "REGISTRY", "Composite", "CustomJoint", "Cylindrical", "Fixed", "Free", "Helical", "Joint", "Planar",
    "Prismatic", "Revolute", "Schoenflies", "Spherical", "SphericalEuler", "SphericalExponential", "Translation2",
    "Translation3", "Universal",
]  # fmt: skip

lazy(
    __name__,
    {
        "base": "Joint",
        "composite": "Composite",
        "custom": "CustomJoint",
        "euler": "SphericalEuler",
        "exponential": "SphericalExponential",
        "fixed": "Fixed",
        "lie": "Free Planar Schoenflies Spherical Translation2 Translation3",
        "registry": "JOINT_TYPES REGISTRY",
        "one_axis": "Cylindrical Helical Prismatic Revolute",
        "universal": "Universal",
    },
)
