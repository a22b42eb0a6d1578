"""Spatial algebra: motions, forces, placements and inertias of rigid bodies, and the Lie groups that joints move on.

The algorithms of the library are written with these types, and so may yours be. Everything works on any scalar: floats,
NumPy arrays (a batch: every entry is an array of one shape), and traced expressions, which become compiled programs.
Spatial vectors are [angular; linear]; a twist or wrench of a body is in the axes of the body, at its origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .adjoint import Ad as Ad
    from .adjoint import ad as ad
    from .adjoint import exp as exp
    from .adjoint import log as log
    from .adjoint import to_array as to_array
    from .groups import SE2 as SE2
    from .groups import SE3 as SE3
    from .groups import SO2 as SO2
    from .groups import SO3 as SO3
    from .groups import AbelianGroup as AbelianGroup
    from .groups import Group as Group
    from .groups import Rn as Rn
    from .groups import SchoenfliesGroup as SchoenfliesGroup
    from .groups import Subgroup as Subgroup
    from .inertia import Inertia as Inertia
    from .linear import Mat as Mat
    from .linear import Vec as Vec
    from .subspace import Columns as Columns
    from .subspace import Selection as Selection
    from .transform import Transform as Transform
    from .vectors import Twist as Twist
    from .vectors import Wrench as Wrench

lazy()
