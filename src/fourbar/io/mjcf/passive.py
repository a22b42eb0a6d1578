"""What acts on the joints of a compiled MuJoCo model by itself, without what the file switches off (<option><flag>)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .actuators import with_reflected
from .switches import ACTUATION, DAMPING, FRICTION, LIMITS, SPRINGS, is_off


class Passive(NamedTuple):
    """Damping and friction of each velocity, stiffness of each joint and whether it has limits."""

    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    limited: np.ndarray


# The switches by which each is off, and what it is called then.
_OFF = {
    "damping": (DAMPING, "damping is"),
    "friction": (FRICTION, "friction is"),
    "stiffness": (SPRINGS, "springs are"),
    "limited": (LIMITS, "limits are"),
}


def _written(model: Any) -> Passive:
    damping = with_reflected(model, model.dof_damping, "damping")
    return Passive(damping, model.dof_frictionloss, model.jnt_stiffness, model.jnt_limited)


def passive(model: Any) -> Passive:
    """What acts."""
    written = _written(model)._asdict()
    return Passive(**{key: np.zeros_like(x) if is_off(model, _OFF[key][0]) else x for key, x in written.items()})


def switched_off(model: Any) -> list[str]:
    """What the file has and switches off, in words."""
    found = []
    for key, x in _written(model)._asdict().items():
        switches, words = _OFF[key]
        if is_off(model, switches) and np.any(x):
            found.append(f"{words} disabled in the file: none is carried")
    disabled = [group for group in range(31) if model.opt.disableactuator >> group & 1]
    if model.nu and is_off(model, ACTUATION):
        found.append("actuation is disabled in the file; the actuators are carried all the same")
    elif np.isin(model.actuator_group, disabled).any():
        found.append("some groups of actuators are disabled in the file; they are carried all the same")
    return found
