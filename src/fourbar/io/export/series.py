"""Joints as others know them: hinges and slides in series, with the same coordinates and velocities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...joints import (
    Composite,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    SphericalEuler,
    SphericalExponential,
    Translation2,
    Translation3,
    Universal,
)
from ...joints.axis import rotation_from_z
from ...joints.composite import SeriesJoint
from ...mechanism.mechanism import PlacedJoint
from ...spatial.linear import Mat
from ...spatial.transform import IDENTITY, Transform
from .text import Unsaid

Part = Joint | Transform
_PARAMETERS = ("damping", "friction", "stiffness", "max_force", "min_force", "max_velocity", "lower", "upper")


def in_series(joint: Joint) -> list[Part] | None:
    """The hinges, slides and placements of which a joint consists; None if its velocities are not theirs."""
    if isinstance(joint, Fixed):
        return []
    if type(joint) in (Revolute, Prismatic, Helical):  # a screw is a hinge and a slide that follows it
        return [joint]
    if type(joint) is Cylindrical:
        return [Revolute(joint.axis), Prismatic(joint.axis)]
    if type(joint) is Translation3:
        return [Prismatic(axis) for axis in "xyz"]
    if type(joint) is Translation2:
        columns = (rotation_from_z(joint.axis) or Mat.identity(3)).T
        return [Prismatic(tuple(columns[i])) for i in range(2)]
    if type(joint) not in (Universal, SphericalEuler, Composite):
        return None
    assert isinstance(joint, SeriesJoint)
    found: list[Part] = []
    for part in joint.parts:
        inner = [part] if isinstance(part, Transform) else in_series(part)
        if inner is None:
            return None
        found += inner
    return found


def otherwise(joint: Joint) -> list[Part] | None:
    """Hinges, slides and placements that move as a joint does, in other coordinates; None if there are none."""
    turns: list[Part] = [Revolute(axis) for axis in "xyz"]
    slides: list[Part] = [Prismatic(axis) for axis in "xyz"]
    if type(joint) in (Spherical, SphericalExponential):
        return turns
    if type(joint) is Free:
        return slides + turns
    if type(joint) is Schoenflies:
        return [*slides, Revolute(joint.axis)]
    if type(joint) is Planar:
        columns = (rotation_from_z(joint.axis) or Mat.identity(3)).T
        return [*(Prismatic(tuple(columns[i])) for i in range(2)), Revolute(joint.axis)]
    if type(joint) is Composite:
        parts = [[p] if isinstance(p, Transform) else in_series(p) or otherwise(p) for p in joint.parts]
        return None if any(p is None for p in parts) else [x for p in parts for x in p or ()]
    return None


def placed(parts: list[Part], first: Transform) -> tuple[list[tuple[Transform, Joint]], Transform]:
    """Each joint with the placement before it, and the placement after the last; `first` is before all."""
    found: list[tuple[Transform, Joint]] = []
    pending = first
    for part in parts:
        if isinstance(part, Transform):
            pending = pending.then(part)
        else:
            found.append((pending, part))
            pending = IDENTITY
    return found, pending


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
