"""What closes a kinematic loop. Adding one: subclass `Loop`, write its residual; everything else is derived from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from ..errors import ModelError
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform


class View(Protocol):
    """What a loop sees of the mechanism: coordinates of joints and poses of bodies, by name, over any scalar."""

    def q(self, joint: str) -> Vec:
        """Coordinates of a joint."""
        ...

    def pose(self, body: str) -> Transform:
        """Pose of a body in the frame of the body that carries the whole loop."""
        ...


class Loop(ABC):
    """A condition φ = 0 between joints or bodies. Frozen and hashable.

    Only the residual φ is written. Its Jacobian K, the rates k, and the maps G and g from independent to all velocities
    and accelerations come from differentiating its trace (Chignoli §IV).
    """

    @property
    @abstractmethod
    def joints(self) -> tuple[str, ...]:
        """Joints whose coordinates the residual uses."""

    @property
    def bodies(self) -> tuple[str, ...]:
        """Bodies whose poses the residual uses."""
        return ()

    @property
    def driven_joints(self) -> tuple[str, ...]:
        """Joints that should rather be dependent than the others."""
        return ()

    @abstractmethod
    def residual(self, view: View) -> Sequence[Scalar]:
        """φ: zero where the loop is closed. Rows may be redundant."""


def read_names(what: str, names: Any) -> tuple[str, ...]:
    """Names of different joints, in a list or tuple."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(x, str) for x in names):
        shown = [names] if isinstance(names, str) else ["left", "right"]
        raise ModelError(f"{what}: expected a list of joints, such as {shown!r}, got {names!r}")
    if not names:
        raise ModelError(f"{what}: expected at least one joint, got {names!r}")
    if len(set(names)) < len(names):
        raise ModelError(f"{what}: expected different joints, got {list(names)!r}")
    return tuple(names)
