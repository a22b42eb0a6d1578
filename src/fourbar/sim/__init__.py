"""Simulation: stepping a robot through time."""

from .acting import SimulationWarning
from .runge_kutta import Trajectory, simulate

__all__ = ["SimulationWarning", "Trajectory", "simulate"]
