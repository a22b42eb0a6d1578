"""Everything that restricts the motion of a robot besides its joints.

A loop is a residual φ(q) = 0. Given to `Builder.loop` it is embedded: the robot moves on independent coordinates. A
condition is rows A(q) v = 0. Given to `System.constrained`, conditions and loops alike are enforced by forces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .closures import Closure as Closure
    from .closures import Distance as Distance
    from .condition import Condition as Condition
    from .contacts import Contact as Contact
    from .function_loops import Constraint as Constraint
    from .function_loops import Formula as Formula
    from .function_loops import Parametric as Parametric
    from .function_loops import Prescribed as Prescribed
    from .function_loops import Rows as Rows
    from .gears import Coupling as Coupling
    from .gears import Differential as Differential
    from .gears import Gear as Gear
    from .gears import Polynomial as Polynomial
    from .loop import Loop as Loop

lazy()
