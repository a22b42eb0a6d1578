"""Simulation: stepping a robot through time."""

from .acting import SimulationWarning
from .rollouts import Rollouts, rollout
from .runge_kutta import Trajectory
from .simulate import simulate
from .step import traced

__all__ = ["Rollouts", "SimulationWarning", "Trajectory", "rollout", "simulate", "traced"]
