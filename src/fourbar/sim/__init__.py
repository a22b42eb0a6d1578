"""Simulation: stepping a robot through time."""

from .acting import SimulationWarning
from .runge_kutta import Trajectory
from .simulate import simulate
from .step import traced

__all__ = ["SimulationWarning", "Trajectory", "simulate", "traced"]
