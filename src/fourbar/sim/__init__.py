"""Simulation: stepping robots and scenes through time.

`simulations` has what users call. Rooms: `motions` (requests, controls, samples that advance, runs), `robot` (steps of
a robot alone), `scenes` (robots with what they may touch, live worlds), `loops` (samples whose loops may be followed in
velocities of their own). A robot without loops never enters the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy
from .motions.outcome import SimulationWarning as SimulationWarning
from .motions.run import Run as Run
from .robot.runge_kutta_step import traced as traced
from .simulations import rollout as rollout
from .simulations import simulate as simulate

if TYPE_CHECKING:
    from . import observe as observe
    from .linearize import Linearization as Linearization
    from .linearize import linearize as linearize
    from .scenes.scene import Scene as Scene
    from .scenes.scene import load_scene as load_scene

lazy()
