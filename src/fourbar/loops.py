"""Kinematic loops: the names of `fourbar.constraints` that a robot is built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy

if TYPE_CHECKING:
    from .constraints import Closure as Closure
    from .constraints import Constraint as Constraint
    from .constraints import Coupling as Coupling
    from .constraints import Differential as Differential
    from .constraints import Distance as Distance
    from .constraints import Formula as Formula
    from .constraints import Gear as Gear
    from .constraints import Loop as Loop
    from .constraints import Parametric as Parametric
    from .constraints import Polynomial as Polynomial

lazy()
