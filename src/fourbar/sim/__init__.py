"""Simulation: stepping a robot through time."""

from .runge_kutta import Trajectory, simulate

__all__ = ["Trajectory", "simulate"]
