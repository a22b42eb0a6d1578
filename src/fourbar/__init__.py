"""fourbar: dynamics of articulated rigid bodies, compiled for your robot."""

from . import joints, loops, robots
from .errors import ArgumentError, AssemblyError, FourbarError, ModelError, SingularError, UnknownNameError
from .expr import acos, asin, atan2, cos, maximum, minimum, select, sin, sqrt, tan
from .sim import Trajectory, simulate
from .system.robot import Builder, System

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "AssemblyError", "Builder", "FourbarError", "ModelError", "SingularError", "System", "Trajectory",
    "UnknownNameError", "acos", "asin", "atan2", "cos", "joints", "loops", "maximum", "minimum", "robots", "select",
    "simulate", "sin", "sqrt", "tan",
]  # fmt: skip
