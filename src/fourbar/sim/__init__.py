"""Simulation: stepping a robot through time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy
from .applied_forces import SimulationWarning as SimulationWarning
from .rollouts import Rollouts as Rollouts
from .rollouts import rollout as rollout
from .runge_kutta import Trajectory as Trajectory
from .runge_kutta_step import traced as traced
from .simulations import simulate as simulate

if TYPE_CHECKING:
    from . import observe as observe
    from .contact_run import ContactRun as ContactRun
    from .scene import Scene as Scene
    from .scene_files import load_scene as load_scene

lazy()
