"""Where joints are at zero: formats that give the poses of all bodies close their loops there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...constraints import Closure, Coupling, Gear, Polynomial
from ...constraints.loop import Loop
from ...edit.placements import placement, transform
from ...joints import Composite, Fixed, Free, Joint, Planar, Spherical
from ...mechanism.mechanism import WORLD, Mechanism, PlacedJoint
from ...spatial.transform import IDENTITY, Transform
from ...tolerances import WRITTEN
from ...tree.cluster_tree import lower

Coordinates = Mapping[str, tuple[float, ...]]


def closed_coordinates(mechanism: Mechanism) -> dict[str, tuple[float, ...]]:
    """The coordinates of joints in loops of bodies that are open where joints are neutral; none if all are closed."""
    bodies = {named.name for named in mechanism.loops if isinstance(named.loop, Closure)}
    if not bodies:
        return {}
    cluster_tree, by_joint = lower(mechanism), {}
    for cluster, tie, _ in cluster_tree.tied_clusters:
        if not bodies & set(cluster.loops) or tie.closed is None:
            continue
        connections = [cluster_tree.moving[i] for i in cluster.links]
        neutral = np.array([x for c in connections for x in c.joint.neutral()])
        if np.abs(tie.residual(neutral) / tie.units.gaps).max(initial=0.0) > WRITTEN:
            ends = np.cumsum([c.joint.nq for c in connections])[:-1]
            parts = np.split(np.asarray(tie.closed, float), ends)
            by_joint.update({c.name: tuple(part.tolist()) for c, part in zip(connections, parts, strict=True)})
    return by_joint


def can_start_at(joint: Joint) -> bool:
    """Whether a joint can have its zero elsewhere."""
    return isinstance(joint, Fixed | Free | Spherical | Planar) or joint.in_series() is not None


def start_joints_at(mechanism: Mechanism, at: Coordinates) -> Mechanism:
    """The same mechanism, with the zero of joints (but free ones) at given coordinates."""
    connections = tuple(
        _start_joint(c, at[c.name]) if c.name in at and not isinstance(c.joint, Free) else c for c in mechanism.joints
    )
    loops = tuple(replace(named, loop=_with_offset(named.loop, at)) for named in mechanism.loops)
    return replace(mechanism, joints=connections, loops=loops)


def _start_joint(c: PlacedJoint, q: Sequence[float]) -> PlacedJoint:
    if isinstance(c.joint, Spherical | Planar):
        moved = transform(c.placement).then(c.joint.placement(q))
        return replace(c, placement=placement(moved))
    parts = c.joint.in_series() or []
    series: list[Joint | Transform] = []
    left = iter(q)
    for part in parts:
        series += [part] if isinstance(part, Transform) else [part, part.placement((next(left),))]
    inner = [part for part in series if isinstance(part, Joint)]
    limits = {name: tuple(x - y for x, y in zip(getattr(c, name), q, strict=True)) for name in ("lower", "upper")}
    rest = tuple(x - y for x, y in zip(c.rest, q, strict=False))
    if len(inner) == 1 and len(parts) == 1:  # what follows a joint may also precede it: both are about one axis
        moved = transform(c.placement).then(inner[0].placement(q))
        return replace(c, placement=placement(moved), rest=rest, **limits)
    return replace(c, joint=Composite(*series), rest=rest, **limits)


def _with_offset(loop: Loop, at: Coordinates) -> Loop:
    """A linear loop in coordinates with another origin; others refer to bodies only, or are refused by writers."""
    first = lambda joint: at.get(joint, (0.0,))[0]  # noqa: E731
    if isinstance(loop, Gear):
        return replace(loop, offset=loop.offset + loop.ratio * first(loop.driver) - first(loop.driven))
    if isinstance(loop, Polynomial) and not any(loop.coefficients[2:]):
        offset, ratio = (*loop.coefficients, 0.0, 0.0)[:2]
        return Gear(loop.driver, loop.driven, ratio, offset + ratio * first(loop.driver) - first(loop.driven))
    if isinstance(loop, Coupling):
        return Coupling(dict(loop.factors), loop.offset - sum(x * first(joint) for joint, x in loop.factors))
    return loop


def poses_at_zero(mechanism: Mechanism, free: Coordinates) -> dict[str, Transform]:
    """The poses of all bodies with their joints neutral, free joints at given coordinates."""
    poses = {WORLD: IDENTITY}
    for c in mechanism.joints:
        T = poses[c.parent].then(transform(c.placement))
        poses[c.child] = T.then(c.joint.placement(free.get(c.name, c.joint.neutral())))
    return poses
