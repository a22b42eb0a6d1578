"""What the bridges share: a model of another library, the same robot as ours, and the map between their states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..conventions import Part, StateMap, convention
from ..errors import ModelError
from ..joints import Composite, Joint
from ..spatial.transform import IDENTITY, Transform
from ..system.robot import System


def placed(R: Any, p: Any) -> Transform:
    """A constant pose in plain floats."""
    return Transform.of(np.asarray(R, float).tolist(), np.asarray(p, float).tolist())


def in_series(parts: Sequence[Joint | Transform]) -> Joint:
    """One joint of several parts; poses that do nothing are left out."""
    kept = [part for part in parts if part != IDENTITY]
    return kept[0] if len(kept) == 1 and isinstance(kept[0], Joint) else Composite(*kept)


def part(
    peer: str, robot: System, name: str, at: tuple[int, int], variant: str = "", shift: tuple[float, ...] | float = 0.0
) -> Part:
    """A joint of a tree of ours, and where its numbers begin in the peer's q and v."""
    q = v = 0
    for c in robot.model.lowered.moving:
        if c.name == name:
            return Part(name, convention(peer, c.joint, variant), q, v, *at, shift)
        q, v = q + c.joint.nq, v + c.joint.nv
    raise ModelError(f"joint {name!r} does not move")


class RobotPeer(StateMap):
    """A model of another library, the same robot as ours (`robot`), and the conversions of states between them."""

    def __init__(self, peer: str, model: Any, robot: System, parts: Sequence[Part]) -> None:
        super().__init__(peer, parts)
        self.model = model
        self.robot = robot


def each(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """A peer's function of one sample over samples in rows; results are copied, since peers hand out scratch space."""
    return np.array([np.array(function(*rows), float) for rows in zip(*arrays, strict=True)])
