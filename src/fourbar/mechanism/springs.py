"""Springs of joints as two parameters that enter forces linearly: τ = stiffness (q ⊖ neutral) + preload.

A connection holds a spring as stiffness and the coordinates where it is at rest: preload = -stiffness (rest ⊖ neutral).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ModelError
from ..joints.euclidean import is_flat
from .mechanism import PlacedJoint

Numbers = tuple[float, ...]


def spring_parameters(c: PlacedJoint) -> tuple[Numbers, Numbers]:
    """Stiffness and preload of each velocity of a connection; zeros without a spring."""
    if not c.stiffness:
        return (0.0,) * c.joint.nv, (0.0,) * c.joint.nv
    if c.rest != c.joint.neutral() and not is_flat(c.joint):
        raise ModelError(
            f"joint {c.name!r}: its spring is at rest away from neutral, and the coordinates of a "
            f"{type(c.joint).__name__} do not add up, so that its force is not linear in stiffness and preload"
        )
    stretched = c.joint.difference(c.joint.neutral(), c.rest)
    return c.stiffness, tuple(-k * float(x) if x else 0.0 for k, x in zip(c.stiffness, stretched, strict=True))


def can_hold(c: PlacedJoint, stiffness: float, preload: float) -> bool:
    """Whether a spring of a connection has these two: a preload needs a stiffness, and coordinates that add up."""
    return preload == 0.0 or (stiffness > 0.0 and is_flat(c.joint))


def with_spring(c: PlacedJoint, stiffness: Sequence[float], preload: Sequence[float]) -> PlacedJoint:
    """The same connection with another spring."""
    for k, f in zip(stiffness, preload, strict=True):
        if k < 0.0:
            raise ModelError(f"joint {c.name!r}: stiffness must not be negative, got {list(stiffness)}")
        if not can_hold(c, k, f):
            why = "without a stiffness is no spring" if is_flat(c.joint) else f"moves no spring of a {c.joint!r}"
            raise ModelError(
                f"joint {c.name!r}: a preload of {f:.6g} {why}, so that a mechanism cannot hold it; leave 'preload' "
                "out of columns=, or set it to zero"
            )
    if not any(stiffness):
        return replace(c, stiffness=(), rest=())
    offset = [-f / k if f else 0.0 for k, f in zip(stiffness, preload, strict=True)]
    rest = c.joint.integrate(c.joint.neutral(), offset) if any(offset) else c.joint.neutral()
    return replace(c, stiffness=tuple(stiffness), rest=tuple(float(x) for x in rest))
