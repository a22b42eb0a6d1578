"""Whole turns that poses do not show: a rotor geared to a joint is at one angle of many, and the gear says at which.

Poses give angles up to 2π. Those of dependent joints follow from the loops φ(q) = 0 by rounding, for each choice of
turns of the independent ones; the choice with the fewest turns that closes the loops is taken.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ..linalg import pseudo_inverse
from ..tolerances import OPEN
from ..tree.embedding import LoopEmbedding
from .joint_coordinates import turning

_TURN = 2.0 * np.pi
_REACH = (60, 6, 1)  # turns to try for one, two, or more independent joints
_MOST = 5  # independent joints, beyond which turns are not searched
_ROUNDS = 3  # dependent joints may follow from dependent ones


def _columns(tie: LoopEmbedding) -> tuple[list[int], list[int]]:
    """Coordinates that count turns: of joints with independent velocities, and of the others."""
    chosen = {j for j, _ in tie.independent}
    searched, solved, at_q, at_v = [], [], 0, 0
    for joint in tie.joints:
        own = [at_q + i for i in turning(joint)]
        independent = any(at_v <= j < at_v + joint.nv for j in chosen)
        (searched if independent else solved).extend(own)
        at_q, at_v = at_q + joint.nq, at_v + joint.nv
    return searched, solved


def _effects(tie: LoopEmbedding, q: np.ndarray, columns: list[int]) -> np.ndarray:
    """The change of φ (n, m, columns) by one more turn of each column."""
    phi = tie.residual(q)
    found = np.zeros((*phi.shape, len(columns)))
    for i, column in enumerate(columns):
        moved = q.copy()
        moved[:, column] += _TURN
        found[..., i] = tie.residual(moved) - phi
    return np.where(np.abs(found) > 1e-9, found, 0.0)


def _candidates(count: int) -> list[tuple[int, ...]]:
    """Turns of the independent joints, fewest first."""
    if count > _MOST:
        return [(0,) * count]
    reach = _REACH[min(count, len(_REACH)) - 1] if count else 0
    return sorted(product(range(-reach, reach + 1), repeat=count), key=lambda k: (sum(map(abs, k)), k))


def with_turns(tie: LoopEmbedding, q: np.ndarray) -> np.ndarray:
    """Coordinates of all joints (n, nq) of a cluster with the turns that close its loops; unchanged where none do."""
    found, left = q.copy(), np.flatnonzero(np.abs(tie.residual(q)).max(axis=-1, initial=0.0) > OPEN)
    if not left.size:
        return found
    searched, solved = _columns(tie)
    affected = np.any(_effects(tie, q[left], searched), axis=(0, 1)).tolist()
    searched = [column for column, used in zip(searched, affected, strict=True) if used]
    for turns in _candidates(len(searched)):
        trial = q[left].copy()
        trial[:, searched] += _TURN * np.array(turns)
        for _ in range(_ROUNDS):
            step = pseudo_inverse(_effects(tie, trial, solved)) @ tie.residual(trial)[..., None]
            trial[:, solved] -= _TURN * np.round(step[..., 0])
        closed = np.abs(tie.residual(trial)).max(axis=-1, initial=0.0) <= OPEN
        found[left[closed]] = trial[closed]
        left = left[~closed]
        if not left.size:
            break
    return found
