"""All joint types.

Adding one: write its class in a file of this folder, and register it in `registry.py`; its public name is listed below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .base import Joint
    from .composite import Composite
    from .custom import CustomJoint
    from .euler import SphericalEuler
    from .examples import REGISTRY
    from .fixed import Fixed
    from .lie import Free, GroupJoint, Planar, Schoenflies, Spherical, Translation2, Translation3
    from .one_axis import Cylindrical, Helical, Prismatic, Revolute
    from .registry import JOINT_TYPES, register
    from .rotation_vector import SphericalExponential
    from .universal import Universal

__all__ = [
    "Composite", "CustomJoint", "Cylindrical", "Fixed", "Free", "GroupJoint", "Helical", "JOINT_TYPES", "Joint",
    "Planar", "Prismatic", "REGISTRY", "Revolute", "Schoenflies", "Spherical", "SphericalEuler", "SphericalExponential",
    "Translation2", "Translation3", "Universal", "register",
]  # fmt: skip

lazy(
    __name__,
    {
        "base": "Joint",
        "composite": "Composite",
        "custom": "CustomJoint",
        "euler": "SphericalEuler",
        "examples": "REGISTRY",
        "rotation_vector": "SphericalExponential",
        "fixed": "Fixed",
        "lie": "Free GroupJoint Planar Schoenflies Spherical Translation2 Translation3",
        "registry": "JOINT_TYPES register",
        "one_axis": "Cylindrical Helical Prismatic Revolute",
        "universal": "Universal",
    },
)
