"""fourbar: dynamics of articulated rigid bodies, compiled for your robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import joints, loops
from .errors import (
    ArgumentError,
    AssemblyError,
    FourbarError,
    IdentificationError,
    ModelError,
    SingularError,
    UnknownNameError,
)
from .expr import acos, asin, atan2, cos, maximum, minimum, select, sin, sqrt, tan
from .identify import Identification, base_parameters, exciting_trajectory, identify
from .io import Finding, ParseError, Report
from .model.mechanism import Actuator, Drive
from .sim import SimulationWarning, Trajectory, simulate
from .system.load import FileWarning, load, loads
from .system.robot import Builder, System

if TYPE_CHECKING:
    from . import constraints, convert, robots

__version__ = "0.1.0"

__all__ = [
    "Actuator", "ArgumentError", "AssemblyError", "Builder", "Drive", "FileWarning", "Finding", "FourbarError",
    "Identification", "IdentificationError", "ModelError", "ParseError", "Report", "SimulationWarning",
    "SingularError", "System", "Trajectory", "UnknownNameError", "acos", "asin", "atan2", "base_parameters",
    "constraints", "convert", "cos", "exciting_trajectory", "identify", "joints", "load", "loads", "loops", "maximum",
    "minimum", "robots", "select", "simulate", "sin", "sqrt", "tan",
]  # fmt: skip

_LAZY = ("constraints", "convert", "robots")  # parts that are imported when first asked for


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
