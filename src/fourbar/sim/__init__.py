"""Simulation: stepping a robot through time."""

from . import observe
from .acting import SimulationWarning
from .load_scene import load_scene
from .rollouts import Rollouts, rollout
from .runge_kutta import Trajectory
from .scene import Scene
from .simulate import simulate
from .step import traced

__all__ = [
    "Rollouts", "Scene", "SimulationWarning", "Trajectory", "load_scene", "observe", "rollout", "simulate", "traced",
]  # fmt: skip
