"""Joints as others know them: hinges and slides in series, with the same coordinates and velocities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...joints import Free, Joint
from ...mechanism.mechanism import WORLD, Mechanism, PlacedJoint
from ...spatial.transform import IDENTITY, Transform
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
