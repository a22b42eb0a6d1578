"""Everything that restricts the motion of a robot besides its joints.

A loop is a residual φ(q) = 0. Given to `Builder.loop` it is embedded: the robot moves on independent coordinates. A
condition is rows A(q) v = 0. Given to `System.constrained`, conditions and loops alike are kept by forces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .closures import Closure, Distance
    from .condition import Condition
    from .contacts import Contact
    from .formula import Formula
    from .function_loops import Constraint, Parametric
    from .gears import Coupling, Differential, Gear, Polynomial
    from .joint_conditions import Prescribed, Rows
    from .loop import Loop

__all__ = [
    "Closure", "Condition", "Constraint", "Contact", "Coupling", "Differential", "Distance", "Formula", "Gear", "Loop",
    "Parametric", "Polynomial", "Prescribed", "Rows",
]  # fmt: skip

lazy(
    __name__,
    {
        "closures": "Closure Distance",
        "condition": "Condition",
        "contacts": "Contact",
        "formula": "Formula",
        "function_loops": "Constraint Parametric",
        "gears": "Coupling Differential Gear Polynomial",
        "joint_conditions": "Prescribed Rows",
        "loop": "Loop",
    },
)
