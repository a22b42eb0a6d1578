"""Motions that are too fast for their steps: what lies between two steps is not looked at.

A contact is found from where things are at the start of a step. What is passed within one that is many times longer
than the shapes may have been missed, or met too early: no residual tells that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..contact.candidates import Candidate
from ..joints import Prismatic
from ..system.system import System
from ..tree.cluster_tree import GROUND

if TYPE_CHECKING:
    from .scene import Scene

_LONGEST = 20.0  # times what shapes reach from the origins of their bodies
_WIDEST = 1.0  # rad
_STRAIGHT = ("vx", "vy", "vz", "distance")


def largest_moves(robot: System, candidates: Sequence[Candidate], reach: float) -> np.ndarray:
    """By how much velocities (nv) of what carries contacts may move in a step (m, rad); infinite for all others."""
    most = np.full(robot.nv, np.inf)
    tree = robot.model.cluster_tree
    links = {link for x in candidates for link in x.links if link != GROUND}
    for link in tuple(links):
        above = tree.spanning_tree.parents[link]
        while above != GROUND:
            links.add(above)
            above = tree.spanning_tree.parents[above]
    known = {tree.moving[link].name: tree.moving[link].joint for link in links}
    for i, name in enumerate(robot.names.velocities):
        joint, _, part = name.rpartition(".") if name not in known else (name, "", "")
        if joint in known:
            straight = part in _STRAIGHT or isinstance(known[joint], Prismatic)
            most[i] = (_LONGEST * reach if reach > 0.0 else np.inf) if straight else _WIDEST
    return most


def too_fast(scene: Scene, v: np.ndarray, dt: float) -> np.ndarray:
    """Whether velocities (..., nv) move something too far in a step of length dt; what is not finite does not."""
    most = largest_moves(scene.robot, scene.spec.candidates, scene.reach)
    return np.asarray((np.abs(v) * dt > most).any(axis=-1))
