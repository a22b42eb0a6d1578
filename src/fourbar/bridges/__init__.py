"""Bridges to other libraries: another name of those of `fourbar.interop`. Each needs the other library installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from . import drake, mujoco, pinocchio

__all__ = ["drake", "mujoco", "pinocchio"]

lazy(__name__, dict.fromkeys(__all__, ""))
