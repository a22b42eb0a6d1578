"""Contacts: what touches what, the law of its forces, and the step in time that keeps both."""

from ..lazy import lazy
from .laws import Compliant as Compliant
from .laws import Rigid as Rigid
from .shapes import Shape as Shape
from .soft_law import MuJoCo as MuJoCo
from .solid_terrain import Solid as Solid
from .terrain import HeightField as HeightField
from .terrain import Plane as Plane
from .terrain import SignedDistance as SignedDistance

lazy()
