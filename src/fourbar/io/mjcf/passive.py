"""Passive forces on the joints of a compiled MuJoCo model, except for those that the file switches off
(<option><flag>).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .actuators import with_reflected
from .switches import ACTUATION, CLAMPING, DAMPING, FRICTION, LIMITS, SPRINGS, compensation, is_off


class Passive(NamedTuple):
    """Damping and friction of each velocity, stiffness of each joint and whether it has limits."""

    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    limited: np.ndarray


# The switches that turn each off, and its name.
_OFF = {
    "damping": (DAMPING, "damping is"),
    "friction": (FRICTION, "friction is"),
    "stiffness": (SPRINGS, "springs are"),
    "limited": (LIMITS, "limits are"),
}


def _file_numbers(model: Any) -> Passive:
    damping = with_reflected(model, model.dof_damping, "damping")
    return Passive(damping, model.dof_frictionloss, model.jnt_stiffness, model.jnt_limited)


def passive(model: Any) -> Passive:
    """The passive forces that act: zero where the file switches them off, or where they are negative."""
    return Passive(*(np.maximum(x, 0) for x in with_signs(model)))


def with_signs(model: Any) -> Passive:
    """The same with the signs of the file."""
    written = _file_numbers(model)._asdict()
    return Passive(**{key: np.zeros_like(x) if is_off(model, _OFF[key][0]) else x for key, x in written.items()})


def switched_off(model: Any) -> list[str]:
    """Messages about what the file contains and switches off."""
    messages = []
    for key, x in _file_numbers(model)._asdict().items():
        switches, words = _OFF[key]
        if is_off(model, switches) and np.any(x):
            messages.append(f"{words} disabled in the file: ignored")
    if model.body_gravcomp.any() and not compensation(model).any():
        messages.append("gravity compensation is disabled in the file, with springs and damping: ignored")
    if is_off(model, CLAMPING) and np.any(model.actuator_ctrllimited):
        messages.append("control ranges are disabled in the file: ignored")
    disabled = [group for group in range(31) if model.opt.disableactuator >> group & 1]
    if model.nu and is_off(model, ACTUATION):
        messages.append("actuation is disabled in the file; the actuators are read nevertheless")
    elif np.isin(model.actuator_group, disabled).any():
        messages.append("some groups of actuators are disabled in the file; they are read nevertheless")
    return messages
