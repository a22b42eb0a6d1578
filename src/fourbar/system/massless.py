"""Which joint moves nothing that has inertia, where some body has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..algorithms.minverse import Releaser, Single
from ..algorithms.sweep import Outcome, Sweeps
from ..errors import ModelError
from ..expr import Direct
from ..model.cluster import Kinematics
from ..model.embedding import Expanded, Tied
from ..model.groups import Group
from ..model.lower import Lowered
from ..spatial.inertia import Inertia
from .clusters import group_anywhere

_SINGULAR = 1e-13  # a pivot this small, relative to the inertia that could resist at most, is rounding


class MasslessError(ModelError):
    """A joint that moves nothing that has inertia."""


def carried_inward(k: Kinematics, children: tuple[Inertia, ...]) -> Outcome:
    """For each velocity of a joint the most that what it carries could resist, in the units of that velocity: the mass
    where it pushes, the trace of the inertia at the joint where it turns, and the armature."""
    I = sum(children, k.I)
    diagonal = [abs(I.matrix()[i][i]) for i in range(6)]
    turned, pushed = sum(diagonal[:3]), diagonal[3]
    twists = zip(k.S.twists(), k.armature, strict=True)
    sizes = tuple(S.angular.dot(S.angular) * turned + S.linear.dot(S.linear) * pushed + abs(x) for S, x in twists)
    return Outcome(sizes, I.to_parent(k.X))


def _resisted(group: Group, e: Expanded | None, sizes: Sequence[Sequence[float]]) -> list[float]:
    """The same for each independent velocity of a group."""
    if e is None:
        return list(sizes[group.links[0]])
    blocks = [(block[j], size) for i, block in zip(group.links, e.G, strict=True) for j, size in enumerate(sizes[i])]
    return [sum(row[y] ** 2 * size for row, size in blocks) for y in range(group.embedding.nv)]


def check_joints(lowered: Lowered) -> None:
    """Refuse a tree in which some joint moves nothing, by releasing one joint after the other at some configuration."""
    tree = lowered.tree
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
    sizes, releaser = s.inward(carried_inward), Releaser(s, lowered.groups, expanded)
    for n in reversed(range(len(lowered.groups))):
        group = lowered.groups[n]
        released = releaser.release(n)
        D = released.hinge.D if isinstance(released, Single) else released.D
        resisted = _resisted(group, expanded[n], sizes)
        if any(not 0.0 <= _SINGULAR * size * d < 1.0 for d, size in zip(D.inverse_pivots, resisted, strict=True)):
            raise _moves_nothing(lowered, group)


def _moves_nothing(lowered: Lowered, group: Group) -> MasslessError:
    joints = " and ".join(repr(lowered.moving[i].name) for i in group.links)
    bodies = " and ".join(repr(lowered.moving[i].child) for i in group.links)
    verb = "moves" if len(group.links) == 1 else "move"
    return MasslessError(
        f"joint {joints} {verb} nothing that has inertia (body {bodies} and what it carries), so forward dynamics has "
        "no solution; give the body a mass and an inertia, or the joint an armature"
    )
