"""Joints and loops in the terms of other formats: hinges and slides in series, with the same coordinates and
velocities; loops that are linear conditions between joint coordinates; and joints at zero, where formats that give the
poses of all bodies close their loops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...constraints import Closure, Coupling, Differential, Gear, Loop, Polynomial
from ...edit.placements import placement, transform
from ...joints import Composite, Fixed, Free, Joint, Planar, Spherical
from ...mechanism.mechanism import WORLD, Mechanism, PlacedJoint
from ...spatial.transform import IDENTITY, Transform
from ...tolerances import WRITTEN
from ...tree.cluster_tree import lower
from .written_numbers import Unsaid, list_names

Part = Joint | Transform
_PARAMETERS = ("damping", "friction", "stiffness", "max_force", "min_force", "max_velocity", "lower", "upper")


def place_parts(parts: Sequence[Part], first: Transform) -> tuple[list[tuple[Transform, Joint]], Transform]:
    """Each joint with the placement before it, and the placement after the last; `first` is before all."""
    placed_joints: list[tuple[Transform, Joint]] = []
    pending = first
    for part in parts:
        if isinstance(part, Transform):
            pending = pending.then(part)
        else:
            placed_joints.append((pending, part))
            pending = IDENTITY
    return placed_joints, pending


def in_other_coordinates(c: PlacedJoint, joints: Sequence[Joint], unsaid: Unsaid) -> PlacedJoint:
    """A placed joint that is written as joints with other coordinates: its limits, springs and drives do not apply.

    They are left out and reported; the armature has to be waived, since the dynamics depends on it.
    """
    n = sum(joint.nv for joint in joints)
    none = dict.fromkeys(("armature", "damping", "friction"), (0.0,) * n)
    ends = {"lower": (-math.inf,) * n, "upper": (math.inf,) * n}
    if any(c.armature):
        unsaid.refuse(f"joint {c.name!r}: the armature in its own coordinates", "armature")
    lost = [name for name in _PARAMETERS if any(x and math.isfinite(x) for x in getattr(c, name))]
    if lost:
        unsaid.leave(f"joint {c.name!r}: {', '.join(lost)} in its own coordinates are left out")
    return replace(c, **none, **ends, max_force=(), min_force=(), max_velocity=(), stiffness=(), rest=())


def leave_order(mechanism: Mechanism, unsaid: Unsaid, level_by_level: bool = False) -> None:
    """Report that joints are read depth first, or level by level, where the mechanism lists them otherwise."""
    carried: dict[str, list[PlacedJoint]] = {}
    for c in mechanism.joints:
        carried.setdefault(c.parent, []).append(c)
    free = [c for c in carried.get(WORLD, []) if level_by_level and isinstance(c.joint, Free)]  # which need no joint
    read, left = list(free), [c for c in carried.get(WORLD, []) if c not in free]
    roots = [carried.get(c.child, []) for c in free]
    while left or roots:
        left = left or list(roots.pop(0))
        if not left:
            continue
        read.append(left.pop(0))
        below = carried.get(read[-1].child, [])
        left = [*left, *below] if level_by_level else [*below, *left]
    before, after = ([c.name for c in joints if c.joint.nv] for joints in (mechanism.joints, read))
    if before != after:
        how = "level by level" if level_by_level else "depth first"
        fix = "take entries of q and v by name (names.coordinates, names.velocities)"
        unsaid.leave(f"joints are read {how}, in the order {list_names(after)}", fix)


Condition = tuple[list[tuple[str, float]], float]  # Σ factor · q = offset, the driven joint last


def conditions(loop: Loop) -> list[Condition] | None:
    """The linear conditions that a loop consists of; None if it is not linear."""
    if isinstance(loop, Gear):
        return [([(loop.driver, -loop.ratio), (loop.driven, 1.0)], loop.offset)]
    if isinstance(loop, Polynomial) and not any(loop.coefficients[2:]):
        offset, ratio = (*loop.coefficients, 0.0, 0.0)[:2]
        return [([(loop.driver, -ratio), (loop.driven, 1.0)], offset)]
    if isinstance(loop, Coupling):
        used = [(joint, x) for joint, x in loop.factors if x]
        return [(used, loop.offset)] if len(used) > 1 else None
    if isinstance(loop, Differential):
        rows = zip(loop.outputs, loop.matrix, strict=True)
        return [
            ([*((j, -x) for j, x in zip(loop.inputs, row, strict=True) if x), (out, 1.0)], 0.0) for out, row in rows
        ]
    return None


def leave_name(unsaid: Unsaid, loop: str, driven: str) -> None:
    """Report that a loop is written as a mimic of its driven joint, after which it is called when it is read."""
    if loop != f"{driven}_mimic":
        unsaid.leave(f"loop {loop!r} is written as a mimic, which has no name: it is read as {f'{driven}_mimic'!r}")


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
