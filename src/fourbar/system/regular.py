"""Bodies without mass are allowed where something behind them has mass; elsewhere the dynamics has no solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithms.minverse import Releaser, Single
from ..algorithms.sweep import Sweeps
from ..errors import ModelError
from ..expr import Direct
from ..model.embedding import Tied
from ..model.groups import Group
from ..model.lower import Lowered
from .clusters import group_anywhere

_SINGULAR = 1e-13  # a pivot this small, relative to the largest inertia that the joint carries, is rounding


class MasslessError(ModelError):
    """A joint that moves nothing that has inertia."""


def _are_solid(inertias: np.ndarray) -> bool:
    """Whether all spatial inertias (n, 6, 6) resist every motion, so that no joint in front of them can be singular."""
    values = np.linalg.eigvalsh(inertias)
    return bool(np.all(values[:, 0] > 1e-10 * values[:, -1]))


def check_regular(lowered: Lowered) -> None:
    """Refuse a tree in which some joint moves nothing: its mass matrix is singular in every configuration."""
    tree = lowered.tree
    inertias = np.array([c.I.matrix() for c in tree.clusters], float).reshape(-1, 6, 6)
    if _are_solid(inertias):
        return
    carried = [float(np.abs(m).max()) for m in inertias]  # largest number of each link and all behind it
    rng = np.random.default_rng(0)
    coordinates: list[Any] = [None] * len(tree.clusters)
    expanded = []
    for group in lowered.groups:
        q = group_anywhere(lowered, group, rng).tolist()
        e = group.embedding.expand(q, None) if isinstance(group.embedding, Tied) else None
        expanded.append(e)
        for link, own in zip(group.links, (q,) if e is None else e.q, strict=True):
            coordinates[link] = own
    s = Sweeps(tree, Direct(), [float(x) for own in coordinates for x in own])
    releaser = Releaser(s, lowered.groups, expanded)
    for n in reversed(range(len(lowered.groups))):
        try:
            released = releaser.release(n)
        except ZeroDivisionError:
            raise _moves_nothing(lowered, lowered.groups[n]) from None
        D = released.hinge.D if isinstance(released, Single) else released.D
        group = lowered.groups[n]
        largest = max(carried[i] for i in group.links)
        if any(not 1.0 / d > _SINGULAR * largest for d in D.inverse_pivots):
            raise _moves_nothing(lowered, group)
        if group.carrier >= 0:
            carried[group.carrier] = max(carried[group.carrier], largest)


def _moves_nothing(lowered: Lowered, group: Group) -> MasslessError:
    joints = " and ".join(repr(lowered.moving[i].name) for i in group.links)
    bodies = " and ".join(repr(lowered.moving[i].child) for i in group.links)
    verb = "moves" if len(group.links) == 1 else "move"
    return MasslessError(
        f"joint {joints} {verb} nothing that has inertia (body {bodies} and what it carries), so forward dynamics has "
        "no solution; give the body a mass and an inertia, or the joint an armature"
    )
