"""Joints as others know them: hinges and slides in series, with the same coordinates and velocities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...joints import Joint
from ...mechanism.mechanism import PlacedJoint
from ...spatial.transform import IDENTITY, Transform
from .written_numbers import Unsaid

Part = Joint | Transform
_PARAMETERS = ("damping", "friction", "stiffness", "max_force", "min_force", "max_velocity", "lower", "upper")


def placed(parts: Sequence[Part], first: Transform) -> tuple[list[tuple[Transform, Joint]], Transform]:
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
