"""Dragging: the configuration nearby in which a frame comes as near as it can to a place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import AssemblyError
from ..functions.inverse_kinematics_targets import Target
from ..functions.options import read_frame

_ROTATION = 0.01  # of the robot's size: a metre per radian, so that places come first where both cannot be met
_STUCK = 1e-6  # change of a coordinate below which the robot did not move
_ASIDE = 0.05  # how far velocities lead in a second to a place beside (rad/s, m/s)
_BETTER = 1e-3  # by how much, of the distance, it must come nearer from there


def reach(robot: Any, size: float, q: np.ndarray, frame: str, T: np.ndarray) -> np.ndarray:
    """Where inverse kinematics leads from q towards the pose T of a frame, for a robot of such a size (m).

    A free base stays where it is, unless it is what is dragged. Nothing is tried anew from elsewhere: the robot follows
    the hand, and stays where the limits or the lengths of its links end. Where it cannot begin to move, such as an arm
    that is stretched, it is tried from beside q.
    """
    target = Target(T[:3, 3], T[:3, :3], rotation_weight=_ROTATION * size)
    still = _still(robot, frame)

    def search(start: np.ndarray) -> Any:
        return robot.inverse_kinematics({frame: target}, start, restarts=0, held=still)

    found = search(q)
    if found.converged or np.abs(found.q - q).max() > _STUCK:
        return found.q
    other = search(_beside(robot, q, still))
    return other.q if other.distance[frame] < (1.0 - _BETTER) * found.distance[frame] else found.q


def _beside(robot: Any, q: np.ndarray, still: list[str]) -> np.ndarray:
    """A configuration a little away from q, with loops closed, the limits kept, and some joints as they are."""
    owner = [next((x for x in still if name.startswith(f"{x}.")), "") for name in robot.names.velocities]
    v = np.where([bool(x) for x in owner], 0.0, _ASIDE * np.random.default_rng(0).choice([-1.0, 1.0], robot.nv))
    moved = np.clip(robot.integrate(q, v, 1.0), robot.limits.lower, robot.limits.upper)
    try:
        return robot.assemble(moved) if robot.mechanism.loops else moved
    except AssemblyError:
        return q


def _still(robot: Any, frame: str) -> list[str]:
    """The free joints, but for that of what is dragged."""
    tree = robot.model.cluster_tree
    dragged = read_frame(tree, frame).link
    return [joint.name for i, joint in enumerate(tree.moving) if joint.joint.nv == 6 and i != dragged]
