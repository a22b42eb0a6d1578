"""Spatial algebra: motions, forces, placements and inertias of rigid bodies, and the Lie groups that joints move on.

The algorithms of the library are written with these types, and so may yours be. Everything works on any scalar: floats,
NumPy arrays (a batch: every entry is an array of one shape), and traced expressions, which become compiled programs.
Spatial vectors are [angular; linear]; a twist or wrench of a body is in the axes of the body, at its origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .adjoint import Ad, ad, exp, log, to_array
    from .groups import SE2, SE3, SO2, SO3, AbelianGroup, Group, Rn, SchoenfliesGroup, Subgroup
    from .inertia import Inertia
    from .linear import Mat, Vec
    from .subspace import Columns, Selection
    from .transform import Transform
    from .vectors import Twist, Wrench

__all__ = [
    "AbelianGroup", "Ad", "Columns", "Group", "Inertia", "Mat", "Rn", "SE2", "SE3", "SO2", "SO3", "SchoenfliesGroup",
    "Selection", "Subgroup", "Transform", "Twist", "Vec", "Wrench", "ad", "exp", "log", "to_array",
]  # fmt: skip

lazy(
    __name__,
    {
        "adjoint": "Ad ad exp log to_array",
        "groups": "AbelianGroup Group Rn SE2 SE3 SO2 SO3 SchoenfliesGroup Subgroup",
        "inertia": "Inertia",
        "linear": "Mat Vec",
        "subspace": "Columns Selection",
        "transform": "Transform",
        "vectors": "Twist Wrench",
    },
)
