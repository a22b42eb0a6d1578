"""fourbar: dynamics of articulated rigid bodies, compiled for your robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import sources as _sources  # noqa: F401  (first: it notes when this process began to read the source files)

# isort: split
from . import joints as joints
from . import loops as loops
from . import once as _once  # noqa: F401  (it lets no process fork while a thread imports a part of fourbar)
from .errors import ArgumentError as ArgumentError
from .errors import AssemblyError as AssemblyError
from .errors import FourbarError as FourbarError
from .errors import IdentificationError as IdentificationError
from .errors import ModelError as ModelError
from .errors import SingularError as SingularError
from .errors import UnknownNameError as UnknownNameError
from .lazy import lazy

if TYPE_CHECKING:
    from . import baselines as baselines
    from . import bridges as bridges
    from . import constraints as constraints
    from . import contact as contact
    from . import control as control
    from . import convert as convert
    from . import lagrange as lagrange
    from . import robots as robots
    from . import spatial as spatial
    from .compile.compilation_progress import CompileProgress as CompileProgress
    from .compile.compilation_progress import compile_progress as compile_progress
    from .contact import HeightField as HeightField
    from .contact import Plane as Plane
    from .contact import SignedDistance as SignedDistance
    from .expr import acos as acos
    from .expr import asin as asin
    from .expr import atan2 as atan2
    from .expr import cos as cos
    from .expr import exp as exp
    from .expr import maximum as maximum
    from .expr import minimum as minimum
    from .expr import select as select
    from .expr import sin as sin
    from .expr import sqrt as sqrt
    from .expr import tan as tan
    from .expr import tanh as tanh
    from .functions.inverse_kinematics import Target as Target
    from .identification import Identification as Identification
    from .identification import base_parameters as base_parameters
    from .identification import exciting_trajectory as exciting_trajectory
    from .identification import identify as identify
    from .io import Finding as Finding
    from .io import ParseError as ParseError
    from .io import Report as Report
    from .mechanism.actuator_dynamics import Dynamics as Dynamics
    from .mechanism.actuators import Actuator as Actuator
    from .mechanism.actuators import Drive as Drive
    from .mechanism.fluid import Fluid as Fluid
    from .sim import Run as Run
    from .sim import Scene as Scene
    from .sim import SimulationWarning as SimulationWarning
    from .sim import linearize as linearize
    from .sim import load_scene as load_scene
    from .sim import observe as observe
    from .sim import rollout as rollout
    from .sim import simulate as simulate
    from .sim import traced as traced
    from .system.inverse_kinematics import InverseKinematics as InverseKinematics
    from .system.limits import Limits as Limits
    from .system.load import FileWarning as FileWarning
    from .system.load import load as load
    from .system.load import loads as loads
    from .system.system import Builder as Builder
    from .system.system import System as System
    from .targets.c import export_c as export_c
    from .targets.wasm import export_wasm as export_wasm
    from .viewer.view import View as View
    from .viewer.view import view as view

__version__ = "0.1.0"

lazy(optional=("casadi", "dask", "gymnasium", "jax", "torch"))
