"""The fixed mechanisms, trees and loops, with springs and dampers in their joints."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from tests.algorithms import mechanisms
from tests.loops import looped

TREES = [pytest.param(str(i), marks=[pytest.mark.quick] if i == 0 else []) for i in range(mechanisms.COUNT)]
LOOPED = [looped.marked(name) for name in looped.NAMES if name != "tripod"]


@cache
def sprung(name: str) -> fb.System:
    """One of the fixed mechanisms with springs, at rest anywhere, and dampers, different for each velocity."""
    robot: Any = mechanisms.mechanism(int(name)) if name.isdigit() else looped.mechanism(name)
    rng = np.random.default_rng(17)
    joints = {}
    for i, c in enumerate(robot.model.cluster_tree.moving):
        rest = c.joint.random(rng, np.array(c.lower), np.array(c.upper))
        joints[c.name] = {"damping": rng.uniform(0.1, 2.0, c.joint.nv) if i % 3 else 0.0}
        if i % 4 != 1:
            joints[c.name] |= {"stiffness": rng.uniform(0.5, 9.0, c.joint.nv), "rest": rest}
    return robot.with_parameters(joints=joints)


def states(name: str) -> tuple[np.ndarray, np.ndarray]:
    s = mechanisms.state(sprung(name)) if name.isdigit() else looped.state(name)
    return s.q, s.v
