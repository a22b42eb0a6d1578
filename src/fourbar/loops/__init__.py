"""What closes a kinematic loop."""

from .base import Loop
from .closure import Closure, Distance
from .coupling import Coupling, Differential, Gear, Polynomial
from .function import Constraint, Parametric

__all__ = ["Closure", "Constraint", "Coupling", "Differential", "Distance", "Gear", "Loop", "Parametric", "Polynomial"]
