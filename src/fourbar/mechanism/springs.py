"""Springs of joints as two parameters that enter forces linearly: τ = stiffness (q ⊖ neutral) + preload.

A placed joint stores a spring as stiffness and rest coordinates: preload = -stiffness (rest ⊖ neutral).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ModelError
from ..joints.euclidean import is_flat
from .mechanism import PlacedJoint

Numbers = tuple[float, ...]


def spring_parameters(c: PlacedJoint) -> tuple[Numbers, Numbers]:
    """Stiffness and preload for each velocity of a placed joint; zeros without a spring."""
    if not c.stiffness:
        return (0.0,) * c.joint.nv, (0.0,) * c.joint.nv
    if c.rest != c.joint.neutral() and not is_flat(c.joint):
        raise ModelError(
            f"joint {c.name!r}: its spring is at rest away from neutral, and the coordinates of a "
            f"{type(c.joint).__name__} joint are not additive, so that its force is not linear in stiffness and "
            "preload"
        )
    stretched = c.joint.difference(c.joint.neutral(), c.rest)
    return c.stiffness, tuple(-k * float(x) if x else 0.0 for k, x in zip(c.stiffness, stretched, strict=True))


def can_hold(c: PlacedJoint, stiffness: float, preload: float) -> bool:
    """Whether a spring can have both: a preload needs a stiffness, and additive coordinates."""
    return preload == 0.0 or (stiffness > 0.0 and is_flat(c.joint))


def with_spring(c: PlacedJoint, stiffness: Sequence[float], preload: Sequence[float]) -> PlacedJoint:
    """The same placed joint with another spring."""
    for k, f in zip(stiffness, preload, strict=True):
        if k < 0.0:
            raise ModelError(f"joint {c.name!r}: stiffness must be non-negative, got {list(stiffness)}")
        if not can_hold(c, k, f):
            why = "a spring without stiffness" if is_flat(c.joint) else f"a {type(c.joint).__name__} joint"
            raise ModelError(
                f"joint {c.name!r}: {why} cannot store a preload, got {f:.6g}; remove 'preload' from columns, or "
                "set it to zero"
            )
    if not any(stiffness):
        return replace(c, stiffness=(), rest=())
    offset = [-f / k if f else 0.0 for k, f in zip(stiffness, preload, strict=True)]
    rest = c.joint.integrate(c.joint.neutral(), offset) if any(offset) else c.joint.neutral()
    return replace(c, stiffness=tuple(stiffness), rest=tuple(float(x) for x in rest))
