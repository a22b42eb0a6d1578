"""Integration of velocities and coordinates over a step, with a constant velocity of the origin in the parent axes.

The velocity of a free body is given in its own axes, which turn. Within a step those are held as they were at its
start: what is solved for contacts is the velocity there, along which the origin moves straight; then the velocity is
written in the turned axes. So a ball rolls without climbing, and a body in flight keeps its momentum to rounding.

A body that carries no others keeps its angular momentum in the same way: J ω turns with the axes, the gyroscopic torque
ω x J ω is not taken from the start of the step, by which a tumbling body would gain energy without bound. The centre of
mass of such a body moves straight, wherever its origin is, and the origin around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..joints.base import Joint
from ..joints.lie import GroupJoint
from ..spatial.fluid_inertia import dry
from ..spatial.inertia import Inertia, rotational
from ..spatial.linear import Mat, Scalar, Sym, Vec, dot, outer
from ..tree.clusters import Cluster
from ..tree.links import Link
from ..tree.spanning_tree import SpanningTree

_PASSES = 2  # by which the angular velocity in the middle of a step is found


def straight(tree: SpanningTree, cluster: Cluster) -> Joint | None:
    """The joint of a cluster whose velocities turn with what they move; None for all others, and of tied links."""
    if not cluster.is_free or len(cluster.links) != 1:
        return None
    joint = tree.links[cluster.links[0]].joint
    turns_and_moves = isinstance(joint, GroupJoint) and min(joint.group.rows) < 3 <= max(joint.group.rows)
    return joint if turns_and_moves else None


def tumbling(tree: SpanningTree, cluster: Cluster) -> Link | None:
    """The link of a cluster that turns about all axes and carries no other; None for all others, in loops, in a fluid,
    whose impulse is not that of turning alone, and where the joint has an armature, which does not turn with it."""
    link = tree.links[cluster.links[0]]
    if not cluster.is_free or not isinstance(link.joint, GroupJoint) or cluster.links[0] in tree.parents:
        return None
    if not isinstance(link.I, Inertia):
        return None
    rows = link.joint.group.rows
    turns = tuple(rows[-3:]) == (0, 1, 2) or tuple(rows[:3]) == (0, 1, 2)
    alone = all(x.__class__ is float and x == 0.0 for x in link.armature)
    whole = len(rows) == 3 or (len(rows) == 6 and (link.I.m.__class__ is not float or link.I.m > 0.0))
    return link if turns and alone and whole else None


class _TumblingBody(NamedTuple):
    """Rotational inertia about the point that no force acts on: the centre of mass c, or the pivot (c is None)."""

    J: Sym
    inverse: Sym
    c: Vec | None


def _body(link: Link) -> _TumblingBody:
    I = dry(link.I)
    if len(_rows(link.joint)) == 3:
        return _TumblingBody(I.J, _inverse(I.J), None)
    c = Vec([x / I.m for x in I.h])
    J = I.J - rotational(outer(I.h, c))
    return _TumblingBody(J, _inverse(J), c)


def _inverse(J: Sym) -> Sym:
    """By its cofactors."""
    xx, xy, xz, yy, yz, zz = J
    first = Vec((yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy))
    by = 1.0 / (xx * first[0] + xy * first[1] + xz * first[2])
    more = (xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy)
    return Sym(*[x * by for x in (*first, *more)])


def _with_turned(joint: Joint, v: Vec, c: Vec | None, more: Vec) -> Vec:
    """Velocities with an angular velocity more, and what it changes at the origin: its own centre goes on as before."""
    six = (*more, *((0.0, 0.0, 0.0) if c is None else c.cross(more)))
    return Vec([x + six[row] for x, row in zip(v, _rows(joint), strict=True)])


def _with_moved(joint: Joint, v: Vec, more: Vec) -> Vec:
    """Velocities with a linear velocity more."""
    return Vec([x + more[row - 3] if row >= 3 else x for x, row in zip(v, _rows(joint), strict=True)])


def _offset(body: _TumblingBody) -> Vec | None:
    """The centre of mass where it is not at the origin that the joint moves; None where it is."""
    c = body.c
    return None if c is None or all(x.__class__ is float and x == 0.0 for x in c) else c


def _around_centre(joint: Joint, c: Vec, q: tuple[Vec, Vec], v: Vec, w: Vec, dt: Scalar) -> tuple[Vec, Vec]:
    """Coordinates and velocity after a step in which the centre of mass c moved straight, and the origin around it.

    q at the start, and at the end if the origin had moved straight; v as that leaves it, in the axes at the end.
    """
    before, after = joint.placement(q[0]), joint.placement(q[1])
    spin = before.rotate(w.cross(c))
    way = spin * dt + before.rotate(c) - after.rotate(c)
    moved = Vec([x + way[i] if i < 3 else x for i, x in enumerate(q[1])])
    return moved, _with_moved(joint, v, after.unrotate(spin) - w.cross(c))


def _rows(joint: Any) -> tuple[int, ...]:
    return joint.group.rows


def _parts(joint: Joint, v: Sequence[Scalar]) -> tuple[Vec, Vec]:
    """Angular and linear velocity, three numbers each."""
    six: list[Scalar] = [0.0] * 6
    for row, x in zip(_rows(joint), v, strict=True):
        six[row] = x
    return Vec(six[:3]), Vec(six[3:])


def ahead(joint: Joint | None, tumbles: Link | None, v: Vec, a: Vec, dt: Scalar) -> Vec:
    """The velocity after a step, in the axes at its start, from the acceleration of the velocity's entries."""
    found = v + a * dt
    if joint is not None:
        w, linear = _parts(joint, v)
        six = (0.0, 0.0, 0.0, *w.cross(linear))
        found = Vec([x + (y + six[row]) * dt for x, y, row in zip(v, a, _rows(joint), strict=True)])
    if tumbles is None:
        return found
    body, w = _body(tumbles), _parts(tumbles.joint, v)[0]
    found = _with_turned(tumbles.joint, found, body.c, (body.inverse @ w.cross(body.J @ w)) * dt)
    c = _offset(body)
    return found if c is None else _with_moved(tumbles.joint, found, w.cross(w.cross(c)) * dt)


def with_implicit_gyration(tumbles: Link, v: Vec, a: Vec, dt: Scalar) -> Vec:
    """The acceleration of a free body, with the gyroscopic torque and the centripetal force at the end of the step.

    a: that with both at its start. Linearised in the change dt a of the velocities, as MuJoCo's implicitfast has them.
    """
    body, joint = _body(tumbles), tumbles.joint
    w, before = _parts(joint, v)[0], _parts(joint, a)[0]
    momentum = body.J @ w
    columns = [body.J @ e + (w.cross(body.J @ e) + e.cross(momentum)) * dt for e in Mat.identity(3)]
    right = body.J @ before
    x, y, z = columns
    by = 1.0 / dot(x, y.cross(z))
    turning = Vec([dot(right, p.cross(q)) * by for p, q in ((y, z), (z, x), (x, y))])
    c = Vec((0.0, 0.0, 0.0)) if body.c is None else body.c
    change = turning - before
    inwards = turning.cross(w.cross(c)) + w.cross(turning.cross(c))
    six = (*change, *(c.cross(change) - inwards * dt))
    return Vec([x + six[row] for x, row in zip(a, _rows(joint), strict=True)])


def displaced(embedding: Any, q: Vec, w: Vec, dt: Scalar) -> Vec:
    """Coordinates displaced by dt w, which changes no velocity."""
    return embedding.integrate(q, w * dt)


def moved(joint: Joint | None, tumbles: Link | None, embedding: Any, q: Vec, v: Vec, dt: Scalar) -> tuple[Vec, Vec]:
    """Coordinates after a step with the velocity v of `ahead`, and that velocity in the axes at the step's end."""
    if tumbles is None:
        return _moved_straight(joint, embedding, q, v, v, dt)
    body, own = _body(tumbles), tumbles.joint
    w = _parts(own, v)[0]
    change = Vec((0.0, 0.0, 0.0))
    for _ in range(_PASSES):
        half = w + change
        change = (body.inverse @ half.cross(body.J @ half)) * (-0.5 * dt)
    midway = _with_turned(own, v, None, change)
    q_next, v_next = _moved_straight(joint, embedding, q, v, midway, dt)
    if (c := _offset(body)) is not None:
        q_next, v_next = _around_centre(own, c, (q, q_next), v_next, w, dt)
    momentum = own.placement(q_next).unrotate(own.placement(q).rotate(body.J @ w))
    return q_next, _with_turned(own, v_next, body.c, body.inverse @ momentum - w)


def _moved_straight(joint: Joint | None, embedding: Any, q: Vec, v: Vec, midway: Vec, dt: Scalar) -> tuple[Vec, Vec]:
    """`moved`, rotated by the velocity `midway`, with the angular velocity left as it is."""
    if joint is None:
        return embedding.integrate(q, midway * dt), v
    linear = _parts(joint, v)[1]
    before = joint.placement(q)
    way = before.rotate(linear)
    turning = Vec([x * dt if row < 3 else 0.0 for x, row in zip(midway, _rows(joint), strict=True)])
    turned = joint.integrate(q, turning)
    linear = joint.placement(turned).unrotate(way)
    places = [row - 3 for row in _rows(joint) if row >= 3]
    q_next = Vec([x + way[places[i]] * dt if i < len(places) else x for i, x in enumerate(turned)])
    return q_next, Vec([x if row < 3 else linear[row - 3] for x, row in zip(v, _rows(joint), strict=True)])
