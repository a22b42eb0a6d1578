"""Contacts: what touches what, the law of its forces, and the step in time that keeps both."""

from ..lazy import lazy
from .laws import Compliant, Rigid
from .shapes import Shape
from .soft_law import MuJoCo
from .solid_terrain import Solid
from .terrain import HeightField, Plane, SignedDistance

__all__ = ["Compliant", "HeightField", "MuJoCo", "Plane", "Rigid", "Shape", "SignedDistance", "Solid"]

lazy(__name__, {})
