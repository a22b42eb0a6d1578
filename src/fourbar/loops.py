"""Kinematic loops: the names of `fourbar.constraints` that a robot is built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy

if TYPE_CHECKING:
    from .constraints import (
        Closure,
        Constraint,
        Coupling,
        Differential,
        Distance,
        Formula,
        Gear,
        Loop,
        Parametric,
        Polynomial,
    )

__all__ = [
    "Closure", "Constraint", "Coupling", "Differential", "Distance", "Formula", "Gear", "Loop", "Parametric",
    "Polynomial",
]  # fmt: skip

lazy(__name__, {"constraints": " ".join(__all__)}, within=__package__)
