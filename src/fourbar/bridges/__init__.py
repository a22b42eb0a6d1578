"""Bridges to Drake, MuJoCo and Pinocchio: their models as robots, and states in both directions.

Each needs the other library installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from . import drake as drake
    from . import mujoco as mujoco
    from . import pinocchio as pinocchio

lazy()
