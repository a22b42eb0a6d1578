"""Bodies without mass are allowed where something behind them has mass; elsewhere the dynamics has no solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithms.minverse import free_inward
from ..algorithms.sweep import Sweeps
from ..errors import ModelError
from ..expr import Direct
from ..model.lower import Lowered
from ..model.mechanism import Connection

_SINGULAR = 1e-13  # a pivot this small, relative to the largest inertia that the joint carries, is rounding


def _is_solid(inertia: np.ndarray) -> bool:
    """Whether a spatial inertia resists every motion, so that no joint in front of it can be singular."""
    values = np.linalg.eigvalsh(inertia)
    return bool(values[0] > 1e-10 * values[-1])


def check_regular(lowered: Lowered) -> None:
    """Refuse a tree in which some joint moves nothing: its mass matrix is singular in every configuration."""
    tree = lowered.tree
    inertias = [np.array(c.I.matrix(), float) for c in tree.clusters]
    if all(map(_is_solid, inertias)):
        return
    rng = np.random.default_rng(0)
    unlimited = [np.full(c.joint.nq, np.inf) for c in lowered.moving]
    q = [x for c, u in zip(lowered.moving, unlimited, strict=True) for x in c.joint.random(rng, -u, u, ()).tolist()]
    carried = [float(np.abs(m).max()) for m in inertias]  # largest number of each cluster and all behind it
    s = Sweeps(tree, Direct(), q)
    messages: list[list[Any]] = [[] for _ in tree.parents]
    for i in reversed(range(len(tree.parents))):
        try:
            hinge, message = s.step(i, free_inward, tuple(messages[i]))
        except ZeroDivisionError:
            raise _moves_nothing(lowered.moving[i]) from None
        if any(not 1.0 / d > _SINGULAR * carried[i] for d in hinge.D.inverse_pivots):
            raise _moves_nothing(lowered.moving[i])
        parent = tree.parents[i]
        if parent >= 0:
            messages[parent].append(message)
            carried[parent] = max(carried[parent], carried[i])


def _moves_nothing(c: Connection) -> ModelError:
    return ModelError(
        f"joint {c.name!r} moves nothing that has inertia (body {c.child!r} and what it carries), so forward dynamics "
        "has no solution; give the body a mass and an inertia, or the joint an armature"
    )
