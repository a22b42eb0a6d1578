"""Motions that are too fast for their steps: what lies between two steps is not looked at.

A contact is found from where things are at the start of a step. What is passed within one that is many times longer
than the shapes may have been missed, or met too early: no residual shows that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..contact.candidates import Candidate
from ..system.system import System
from ..tree.closed_positions import turning_velocities
from ..tree.cluster_tree import GROUND

_LONGEST = 20.0  # times what shapes reach from the origins of their bodies
_WIDEST = 1.0  # rad


def largest_moves(robot: System, candidates: Sequence[Candidate], reach: float) -> np.ndarray:
    """By how much velocities (nv) of what carries contacts may move in a step (m, rad); infinite for all others."""
    tree = robot.model.cluster_tree
    carriers = {link for x in candidates for link in x.links if link != GROUND}
    for link in tuple(carriers):
        above = tree.spanning_tree.parents[link]
        while above != GROUND:
            carriers.add(above)
            above = tree.spanning_tree.parents[above]
    carry = [not carriers.isdisjoint(cluster.links) for cluster in tree.clusters for _ in range(cluster.embedding.nv)]
    far = _LONGEST * reach if reach > 0.0 else np.inf
    return np.where(carry, np.where(turning_velocities(tree), _WIDEST, far), np.inf)
