"""fourbar: dynamics of articulated rigid bodies, compiled for your robot."""

from __future__ import annotations

from importlib import import_module
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
from .model.mechanism import Actuator, Drive
from .system.robot import Builder, System

if TYPE_CHECKING:
    from . import constraints, convert, robots
    from .identification import Identification, base_parameters, exciting_trajectory, identify
    from .io import Finding, ParseError, Report
    from .sim import SimulationWarning, Trajectory, simulate
    from .system.load import FileWarning, load, loads

__version__ = "0.1.0"

__all__ = [
    "Actuator", "ArgumentError", "AssemblyError", "Builder", "Drive", "FileWarning", "Finding", "FourbarError",
    "Identification", "IdentificationError", "ModelError", "ParseError", "Report", "SimulationWarning",
    "SingularError", "System", "Trajectory", "UnknownNameError", "acos", "asin", "atan2", "base_parameters",
    "constraints", "convert", "cos", "exciting_trajectory", "identify", "joints", "load", "loads", "loops", "maximum",
    "minimum", "robots", "select", "simulate", "sin", "sqrt", "tan",
]  # fmt: skip

# What is imported when first asked for, and where it is: a part of its own name, or a name in a part.
_LAZY = {
    "FileWarning": "system.load", "Finding": "io", "Identification": "identification", "ParseError": "io",
    "Report": "io", "SimulationWarning": "sim", "Trajectory": "sim", "base_parameters": "identification",
    "constraints": "constraints", "convert": "convert", "exciting_trajectory": "identification",
    "identify": "identification", "load": "system.load", "loads": "system.load", "robots": "robots",
    "simulate": "sim",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    part = import_module(f".{_LAZY[name]}", __name__)
    found = globals()[name] = part if _LAZY[name] == name else getattr(part, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
