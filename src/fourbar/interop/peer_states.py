"""States of a robot in the conventions of Pinocchio, MuJoCo and Drake, none of which need be installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import interop as conventions
from ..errors import ArgumentError
from ..system.system import System
from . import StateMap


def state_map(
    robot: System, peer: str, order: Sequence[str] | None = None, variants: Mapping[str, str] | None = None
) -> StateMap:
    """The map between the states of a robot and those of "pinocchio", "mujoco" or "drake".

    `order` names the moving joints in the peer's order, ours if not given. `variants` says by name which joints are
    "unbounded" hinges of Pinocchio, stored as (cos, sin), or "rpy" floating joints of Drake.
    """
    if robot.mechanism.loops:
        raise ArgumentError(
            f"robot {robot.name!r} has loops, and peers store the states of all joints: make the map of "
            "robot.spanning(), for q of robot.expand(q) and v of robot.expand_velocity(q, v)"
        )
    joints = [(c.name, c.joint) for c in robot.mechanism.joints]
    return conventions.state_map(peer, joints, order, variants)
