"""The constraints of a joint on a rotation, as rows of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..spatial.linear import Mat, Scalar


class RotationRows(NamedTuple):
    """The constraints of a joint on the child's rotation R, as rows."""

    none: Callable[[Mat], list[Scalar]]  # zero for R = 1, and only there
    about_z: Callable[[Mat], list[Scalar]]  # zero where the z axes are parallel and point the same way, and only there
    angle: Callable[[Scalar, Scalar], list[Scalar]]  # sin δ, cos δ: zero for δ = 0, and only there
