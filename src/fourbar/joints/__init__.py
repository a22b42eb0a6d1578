"""All joint types.

Adding one: write its class in a file of this folder, and register it in `registry.py`; its public name is listed below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .base import Joint as Joint
    from .composite import Composite as Composite
    from .custom import CustomJoint as CustomJoint
    from .euclidean import Fixed as Fixed
    from .examples import REGISTRY as REGISTRY
    from .lie import Free as Free
    from .lie import GroupJoint as GroupJoint
    from .lie import Planar as Planar
    from .lie import Schoenflies as Schoenflies
    from .lie import Spherical as Spherical
    from .lie import Translation2 as Translation2
    from .lie import Translation3 as Translation3
    from .one_axis import Cylindrical as Cylindrical
    from .one_axis import Helical as Helical
    from .one_axis import Prismatic as Prismatic
    from .one_axis import Revolute as Revolute
    from .registry import JOINT_TYPES as JOINT_TYPES
    from .registry import register as register
    from .rotational import SphericalEuler as SphericalEuler
    from .rotational import SphericalExponential as SphericalExponential
    from .rotational import Universal as Universal

lazy()
