"""Dragging: the configuration nearby in which a frame comes as near as it can to a place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import FourbarError
from .posture import Posture

_STEPS = 20
_ROTATION = 0.03  # of the robot's size: a metre per radian, so that places come first where both cannot be met
_DAMPING = 0.05  # of the size of the Jacobian
_LONGEST = 0.3  # of a step, in rad or sizes of the robot
_ARRIVED = 1e-5


def reach(posture: Posture, q: np.ndarray, frame: str, T: np.ndarray) -> np.ndarray:
    """Damped least squares from q towards the pose T of a frame, within limits and with loops closed.

    A free base stays where it is, unless it is what is dragged.
    """
    robot = posture.robot
    fixed = _still(robot, frame)
    weight = np.array([_ROTATION * posture.size] * 3 + [1.0] * 3)
    for _ in range(_STEPS):
        error = weight * _error(robot.pose(q, frame), T)
        if np.linalg.norm(error) < _ARRIVED:
            break
        J = weight[:, None] * np.array(robot.jacobian(q, frame, expressed_in="world"))
        J[:, fixed] = 0.0
        damping = (_DAMPING * np.linalg.norm(J, 2)) ** 2 + 1e-12
        step = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), error)
        step *= min(1.0, _LONGEST / (np.abs(step).max() + 1e-12))
        try:
            following = posture.clipped(np.asarray(robot.integrate(q, step, 1.0)))
        except FourbarError:
            break
        if not np.isfinite(following).all():
            break
        if posture.kept and float(robot.loop_gap(following)) > 1e-6:
            break
        q = following
    return q


def _error(now: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The turn and the way from one pose to another, in the world."""
    R = wanted[:3, :3] @ now[:3, :3].T
    axis = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), 0.5 * (np.trace(R) - 1.0)
    angle = np.arctan2(sine, cosine)
    return np.concatenate([axis * (angle / sine if sine > 1e-9 else 1.0), wanted[:3, 3] - now[:3, 3]])


def _still(robot: Any, frame: str) -> list[int]:
    """The velocities of free joints, but for that of the body that is dragged."""
    bodies = {f.name: f.body for f in robot.mechanism.frames}
    free = {j.name for j in robot.mechanism.joints if j.joint.nv == 6 and j.child != bodies.get(frame, frame)}
    return [k for k, name in enumerate(robot.names.velocities) if name.rpartition(".")[0] in free]
