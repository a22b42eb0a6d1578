"""What closes a kinematic loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .base import Loop
    from .closure import Closure, Distance
    from .coupling import Coupling, Differential, Gear, Polynomial
    from .function import Constraint, Parametric

__all__ = ["Closure", "Constraint", "Coupling", "Differential", "Distance", "Gear", "Loop", "Parametric", "Polynomial"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "base": "Loop",
        "closure": "Closure Distance",
        "coupling": "Coupling Differential Gear Polynomial",
        "function": "Constraint Parametric",
    },
)
