"""Simulation: stepping a robot through time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy
from .outcome import SimulationWarning as SimulationWarning
from .run import Run as Run
from .runge_kutta_step import traced as traced
from .simulations import rollout as rollout
from .simulations import simulate as simulate

if TYPE_CHECKING:
    from . import observe as observe
    from .scene import Scene as Scene
    from .scene_files import load_scene as load_scene

lazy()
