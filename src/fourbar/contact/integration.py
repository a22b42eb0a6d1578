"""Integration of velocities and coordinates over a step, with a constant velocity of the origin in the parent axes.

The velocity of a free body is given in its own axes, which turn. Within a step those are held as they were at its
start: what is solved for contacts is the velocity there, along which the origin moves straight; then the velocity is
written in the turned axes. So a ball rolls without climbing, and a body in flight keeps its momentum to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..joints.base import Joint
from ..joints.lie import GroupJoint
from ..spatial.linear import Scalar, Vec
from ..tree.clusters import Cluster
from ..tree.spanning_tree import SpanningTree


def straight(tree: SpanningTree, cluster: Cluster) -> Joint | None:
    """The joint of a cluster whose velocities turn with what they move; None for all others, and in loops."""
    if not cluster.is_free:
        return None
    joint = tree.links[cluster.links[0]].joint
    turns_and_moves = isinstance(joint, GroupJoint) and min(joint.group.rows) < 3 <= max(joint.group.rows)
    return joint if turns_and_moves else None


def _rows(joint: Any) -> tuple[int, ...]:
    return joint.group.rows


def _parts(joint: Joint, v: Sequence[Scalar]) -> tuple[Vec, Vec]:
    """Angular and linear velocity, three numbers each."""
    six: list[Scalar] = [0.0] * 6
    for row, x in zip(_rows(joint), v, strict=True):
        six[row] = x
    return Vec(six[:3]), Vec(six[3:])


def ahead(joint: Joint | None, v: Vec, a: Vec, dt: Scalar) -> Vec:
    """The velocity after a step, in the axes at its start, from the acceleration of the velocity's entries."""
    if joint is None:
        return v + a * dt
    w, linear = _parts(joint, v)
    six = (0.0, 0.0, 0.0, *w.cross(linear))
    return Vec([x + (y + six[row]) * dt for x, y, row in zip(v, a, _rows(joint), strict=True)])


def moved(joint: Joint | None, embedding: Any, q: Vec, v: Vec, dt: Scalar) -> tuple[Vec, Vec]:
    """Coordinates after a step with the velocity v of `ahead`, and that velocity in the axes at the step's end."""
    if joint is None:
        return embedding.integrate(q, v * dt), v
    linear = _parts(joint, v)[1]
    before = joint.placement(q)
    way = before.rotate(linear)
    turning = Vec([x * dt if row < 3 else 0.0 for x, row in zip(v, _rows(joint), strict=True)])
    turned = joint.integrate(q, turning)
    linear = joint.placement(turned).unrotate(way)
    places = [row - 3 for row in _rows(joint) if row >= 3]
    q_next = Vec([x + way[places[i]] * dt if i < len(places) else x for i, x in enumerate(turned)])
    return q_next, Vec([x if row < 3 else linear[row - 3] for x, row in zip(v, _rows(joint), strict=True)])
