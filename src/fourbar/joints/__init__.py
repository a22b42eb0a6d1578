"""Every joint type.

Adding one: write its class in a file of this folder, list it below and in `JOINT_TYPES` (`every.py`), and add examples
of it to `examples.py`, from where the conformance tests take them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .base import Joint
    from .composite import Composite
    from .custom import CustomJoint
    from .euler import SphericalEuler
    from .every import JOINT_TYPES
    from .examples import REGISTRY
    from .exponential import SphericalExponential
    from .fixed import Fixed
    from .group import Free, Planar, Schoenflies, Spherical, Translation2, Translation3
    from .one_axis import Cylindrical, Helical, Prismatic, Revolute
    from .universal import Universal

__all__ = [
    "JOINT_TYPES", "REGISTRY", "Composite", "CustomJoint", "Cylindrical", "Fixed", "Free", "Helical", "Joint", "Planar",
    "Prismatic", "Revolute", "Schoenflies", "Spherical", "SphericalEuler", "SphericalExponential", "Translation2",
    "Translation3", "Universal",
]  # fmt: skip

__getattr__, __dir__ = lazy(
    __name__,
    {
        "base": "Joint",
        "composite": "Composite",
        "custom": "CustomJoint",
        "euler": "SphericalEuler",
        "every": "JOINT_TYPES",
        "examples": "REGISTRY",
        "exponential": "SphericalExponential",
        "fixed": "Fixed",
        "group": "Free Planar Schoenflies Spherical Translation2 Translation3",
        "one_axis": "Cylindrical Helical Prismatic Revolute",
        "universal": "Universal",
    },
)
