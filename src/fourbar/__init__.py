"""fourbar: dynamics of articulated rigid bodies, compiled for your robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import sources as sources  # first: it notes when this process began to read the source files

# isort: split
from . import joints, loops
from . import once as once  # it lets no process fork while a thread imports a part of fourbar
from .errors import (
    ArgumentError,
    AssemblyError,
    FourbarError,
    IdentificationError,
    ModelError,
    SingularError,
    UnknownNameError,
)
from .lazy import lazy

if TYPE_CHECKING:
    from . import baselines as baselines
    from . import bridges as bridges
    from . import constraints, contact, convert, robots, spatial
    from . import lagrange as lagrange
    from .compile.compilation_progress import CompileProgress, compile_progress
    from .contact import HeightField, Plane, SignedDistance
    from .expr import acos, asin, atan2, cos, exp, maximum, minimum, select, sin, sqrt, tan, tanh
    from .functions.inverse_kinematics_targets import Target
    from .identification import Identification, base_parameters, exciting_trajectory, identify
    from .io import Finding, ParseError, Report
    from .mechanism.actuators import Actuator, Drive
    from .mechanism.fluid import Fluid
    from .sim import (
        ContactRun,
        Rollouts,
        Scene,
        SimulationWarning,
        Trajectory,
        load_scene,
        observe,
        rollout,
        simulate,
        traced,
    )
    from .system.inverse_kinematics import InverseKinematics
    from .system.limits import Limits
    from .system.load import FileWarning, load, loads
    from .system.system import Builder, System
    from .targets.c import export_c
    from .targets.wasm import export_wasm
    from .viewer.view import View, view

__version__ = "0.1.0"

__all__ = [
    "Actuator", "ArgumentError", "AssemblyError", "Builder", "CompileProgress", "ContactRun", "Drive", "FileWarning",
    "Finding", "Fluid", "FourbarError", "HeightField", "Identification", "IdentificationError", "InverseKinematics",
    "Limits", "ModelError", "ParseError", "Plane", "Report", "Rollouts", "Scene", "SignedDistance", "SimulationWarning",
    "SingularError", "System", "Target", "Trajectory", "UnknownNameError", "View", "acos", "asin", "atan2",
    "base_parameters", "compile_progress", "constraints", "contact", "convert", "cos", "exciting_trajectory", "exp",
    "export_c", "export_wasm", "identify", "joints", "load", "load_scene", "loads", "loops", "maximum", "minimum",
    "observe", "robots", "rollout", "select", "simulate", "sin", "spatial", "sqrt", "tan", "tanh", "traced", "view",
]  # fmt: skip

lazy(
    __name__,
    {
        "baselines": "",
        "bridges": "",
        "compile.compilation_progress": "CompileProgress compile_progress",
        "constraints": "",
        "contact": "HeightField Plane SignedDistance",
        "convert": "",
        "expr": "acos asin atan2 cos exp maximum minimum select sin sqrt tan tanh",
        "identification": "Identification base_parameters exciting_trajectory identify",
        "io": "Finding ParseError Report",
        "lagrange": "",
        "mechanism.actuators": "Actuator Drive",
        "mechanism.fluid": "Fluid",
        "robots": "",
        "spatial": "",
        "sim": "ContactRun Rollouts Scene SimulationWarning Trajectory load_scene observe rollout simulate traced",
        "system.inverse_kinematics": "InverseKinematics",
        "system.limits": "Limits",
        "system.load": "FileWarning load loads",
        "system.system": "Builder System",
        "functions.inverse_kinematics_targets": "Target",
        "targets.c": "export_c",
        "targets.wasm": "export_wasm",
        "viewer.view": "View view",
    },
    optional=("casadi", "dask", "gymnasium", "jax", "torch"),
)
