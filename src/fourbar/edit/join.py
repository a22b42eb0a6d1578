"""Two mechanisms as one: side by side, or one carried by the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import ModelError, unknown
from ..joints.base import Joint
from ..mechanism.builder import MechanismBuilder
from ..mechanism.mechanism import WORLD, Mechanism, Placement
from ..mechanism.validate import read_placement
from .placements import placement, transform
from .rename import prefix_names


def merge(first: Mechanism, second: Mechanism, prefix: str = "", name: str | None = None) -> Mechanism:
    """Both in one world; the names of the second get a prefix."""
    if first.gravity != second.gravity:
        raise ModelError(
            f"gravity is {first.gravity} in {first.name!r} and {second.gravity} in {second.name!r}; make them equal "
            "with with_gravity(...)"
        )
    return _both(
        MechanismBuilder(name or first.name, first.gravity).include(_bare(first)), first, prefix_names(second, prefix)
    )


def _bare(mechanism: Mechanism) -> Mechanism:
    return replace(mechanism, configurations=())


def _both(b: MechanismBuilder, first: Mechanism, second: Mechanism) -> Mechanism:
    """Both mechanisms. In a configuration that only one of them has, the other is in its first one."""
    b.include(_bare(second))
    known = [{x.name: x for x in m.configurations} for m in (first, second)]
    for name in dict.fromkeys(name for own in known for name in own):
        parts = [own.get(name, next(iter(own.values()))) for own in known if own]
        b.configuration(
            name,
            {j: q for x in parts for j, q in x.coordinates},
            velocities={j: v for x in parts for j, v in x.velocities},
            controls={a: u for x in parts for a, u in x.controls},
            activations={a: act for x in parts for a, act in x.activations},
        )
    return b.mechanism()


def locate(mechanism: Mechanism, frame: str) -> tuple[str, Placement]:
    """The body that a frame (or body) belongs to, and its placement there."""
    for f in mechanism.frames:
        if f.name == frame:
            return f.body, f.placement
    bodies = [b.name for b in mechanism.bodies]
    if frame != WORLD and frame not in bodies:
        raise unknown("frame or body", frame, [WORLD, *bodies, *(f.name for f in mechanism.frames)])
    return frame, Placement()


def attach(
    mechanism: Mechanism, other: Mechanism, frame: str, joint: Joint | None, prefix: str, base: str | None, **mount: Any
) -> Mechanism:
    """Attach `other` to a frame: its world becomes a massless body, `base`, on a joint there.

    Shapes of its world, such as its floor, are left out. `mount` is passed to `MechanismBuilder.body`: position,
    rotation or rpy of the joint in the frame, limits, armature, ...
    """
    body, place = locate(mechanism, frame)
    name = base or f"{prefix}{other.name}_base"
    given = read_placement(
        f"body {name!r}", mount.pop("position", (0.0, 0.0, 0.0)), mount.pop("rotation", None), mount.pop("rpy", None)
    )
    at = placement(transform(place).then(transform(given)))
    b = MechanismBuilder(mechanism.name, mechanism.gravity).include(_bare(mechanism))
    b.body(name, parent=body, joint=joint, position=at.position, rotation=at.rotation, **mount)
    bare = replace(other, world=(), contacts=other.contacts.among([x.name for x in other.bodies]))
    return _both(b, mechanism, prefix_names(bare, prefix, world=name))
