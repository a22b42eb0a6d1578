"""Dragging: the configuration nearby in which a frame comes as near as it can to a place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions.goals import Target
from ..functions.options import read_frame

_ROTATION = 0.01  # of the robot's size: a metre per radian, so that places come first where both cannot be met


def reach(robot: Any, size: float, q: np.ndarray, frame: str, T: np.ndarray) -> np.ndarray:
    """Where inverse kinematics leads from q towards the pose T of a frame, for a robot of such a size (m).

    A free base stays where it is, unless it is what is dragged. Nothing is tried anew from elsewhere: the robot follows
    the hand, and stays where the limits or the lengths of its links end.
    """
    target = Target(T[:3, 3], T[:3, :3], rotation_weight=_ROTATION * size)
    return robot.inverse_kinematics({frame: target}, q, restarts=0, held=_still(robot, frame)).q


def _still(robot: Any, frame: str) -> list[str]:
    """The free joints, but for that of what is dragged."""
    tree = robot.model.cluster_tree
    dragged = read_frame(tree, frame).link
    return [joint.name for i, joint in enumerate(tree.moving) if joint.joint.nv == 6 and i != dragged]
