"""Simulation: stepping a robot through time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy
from .applied_forces import SimulationWarning
from .rollouts import Rollouts, rollout
from .runge_kutta import Trajectory
from .runge_kutta_step import traced
from .simulations import simulate

if TYPE_CHECKING:
    from . import observe
    from .contact_run import ContactRun
    from .scene import Scene
    from .scene_files import load_scene

__all__ = [
    "ContactRun", "Rollouts", "Scene", "SimulationWarning", "Trajectory", "load_scene", "observe",
    "rollout", "simulate", "traced",
]  # fmt: skip

lazy(__name__, {"contact_run": "ContactRun", "observe": "", "scene": "Scene", "scene_files": "load_scene"})
