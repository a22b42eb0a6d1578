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
    """Map between the states of a robot and those of another library.

    Parameters
    ----------
    robot : System
        The robot.
    peer : {'pinocchio', 'mujoco', 'drake'}
        The library; it need not be installed.
    order : sequence of str, optional
        Moving joints in the order of the peer; ours if None.
    variants : mapping of str to str, optional
        By joint: 'unbounded' for hinges of Pinocchio stored as (cos, sin), 'rpy' for floating joints of Drake.

    Returns
    -------
    StateMap
        The conversions.

    Raises
    ------
    ArgumentError
        If the robot has loops, or `order` does not name every moving joint once.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> from fourbar import convert
    >>> robot = fb.robots.double_pendulum()
    >>> convert.state_map(robot, "mujoco").q_to_peer([0.1, 0.2])
    array([0.1, 0.2])
    """
    if robot.mechanism.loops:
        raise ArgumentError(
            f"robot {robot.name!r} has loops, and peers store the states of all joints: make the map of "
            "robot.spanning(), for q of robot.expand(q) and v of robot.expand_velocity(q, v)"
        )
    joints = [(c.name, c.joint) for c in robot.mechanism.joints]
    return conventions.state_map(peer, joints, order, variants)
