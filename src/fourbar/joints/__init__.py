"""Every joint type.

Adding one: write its class in a file of this folder, list it in `JOINT_TYPES`, and add examples of it to `examples.py`,
from where the conformance tests take them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Joint
from .composite import Composite
from .custom import CustomJoint
from .euler import SphericalEuler
from .exponential import SphericalExponential
from .fixed import Fixed
from .group import Free, Planar, Schoenflies, Spherical, Translation2, Translation3
from .one_axis import Cylindrical, Helical, Prismatic, Revolute
from .universal import Universal

if TYPE_CHECKING:
    from .examples import REGISTRY

JOINT_TYPES: tuple[type[Joint], ...] = (
    Fixed, Revolute, Prismatic, Helical, Cylindrical, Spherical, Planar, Translation2, Translation3, Schoenflies, Free,
    Universal, SphericalEuler, SphericalExponential, Composite, CustomJoint,
)  # fmt: skip

__all__ = [
    "JOINT_TYPES", "REGISTRY", "Composite", "CustomJoint", "Cylindrical", "Fixed", "Free", "Helical", "Joint", "Planar",
    "Prismatic", "Revolute", "Schoenflies", "Spherical", "SphericalEuler", "SphericalExponential", "Translation2",
    "Translation3", "Universal",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "REGISTRY":
        from .examples import REGISTRY

        return REGISTRY
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
