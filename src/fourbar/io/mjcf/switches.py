"""Switches of a file (<option><flag>): the bits of MuJoCo's disableflags."""

from __future__ import annotations

from typing import Any

import numpy as np

_CONSTRAINT = 1
FRICTION, LIMITS, SPRINGS, DAMPING, GRAVITY = 4 | _CONSTRAINT, 8 | _CONSTRAINT, 32, 64, 128
CONTACT = 16 | _CONSTRAINT
CLAMPING, FILTER, ACTUATION, SAFE_REFERENCES, EULER_DAMPING = 256, 1024, 2048, 4096, 32768


def is_off(model: Any, switches: int) -> bool:
    """Whether one of these switches is set."""
    return bool(model.opt.disableflags & switches)


def compensation(model: Any) -> np.ndarray:
    """The fraction of the weight of each body that is compensated; none where the file switches all passive forces
    off.
    """
    off = is_off(model, SPRINGS) and is_off(model, DAMPING)
    return np.zeros(model.nbody) if off else np.array(model.body_gravcomp)
