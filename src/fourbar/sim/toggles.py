"""Motions of scenes that come to a toggle position, where the independent velocities of a loop do not determine it.

`simulate` of a robot alone goes on in other velocities there (`charts`); steps with contacts do not, and slow down as
if the loop were jammed. That must not pass for a motion.
"""

from __future__ import annotations

import math

import numpy as np

from ..system.system import System
from .charts import holds, is_moving

_AT_TOGGLE = 0.03  # the conditioning of independent velocities, at most 1, below which steps cannot be trusted
_GROWN = 4.0  # growth of the joint velocities per unit velocity, since the start, from which on that is looked at
_LOOKED_AT = 2_000  # states of a motion, so that this takes little time beside the motion
_AT_ONCE = 1024


def at_toggles(robot: System, q: np.ndarray) -> np.ndarray:
    """Whether a motion q (n, ..., nq) has come to a toggle position at each time or before (n, ...).

    Of long motions of many samples some times are looked at, and the last one.
    """
    if not is_moving(robot) or not q.size:
        return np.zeros(q.shape[:-1], bool)
    times, samples = len(q), math.prod(q.shape[1:-1])
    every = max(1, -(-times * samples // _LOOKED_AT))
    rows = np.unique([*range(0, times, every), times - 1])
    passed = np.maximum.accumulate(near_toggles(robot, q[rows], q[0]), axis=0)
    return passed[np.searchsorted(rows, np.arange(times))]


def near_toggles(robot: System, q: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Whether configurations (..., nq), of a motion with a `start` if that is known, are near a toggle position."""
    if not is_moving(robot) or not q.size:
        return np.zeros(q.shape[:-1], bool)
    sizes, usual = _sizes(robot, q), _sizes(robot, robot.neutral())
    if start is not None:
        usual = np.fmin(usual, _sizes(robot, start))
    grown = np.nan_to_num(sizes) > _GROWN * usual
    found = np.zeros(grown.shape, bool)
    if grown.any():
        found[grown] = holds(robot, q[grown]) < _AT_TOGGLE
    return found


def _sizes(robot: System, q: np.ndarray) -> np.ndarray:
    """The largest velocity (...) of a joint per unit velocity; NaN where q is not finite."""
    states = q.reshape(-1, q.shape[-1])
    finite, found = np.isfinite(states).all(axis=-1), np.full(len(states), np.nan)
    for some in np.array_split(np.flatnonzero(finite), -(-len(states) // _AT_ONCE)):
        velocities = robot.expand_velocity(states[some, None], np.eye(robot.nv))
        found[some] = np.abs(velocities).max(axis=(-2, -1))
    return found.reshape(q.shape[:-1])


def toggle_advice(robot: System) -> str:
    """What to do about a loop at a toggle position."""
    return (
        "its independent velocities do not determine the motion there, and what follows counts as not converged; "
        f"choose others with with_independent(...), of {', '.join(robot.names.velocities)} now, or let loops be rows "
        "of the problem: fb.Scene(robot.spanning().constrained(*(x.loop for x in robot.mechanism.loops)), ...)"
    )
