"""Renaming the parts of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..errors import ModelError, unknown
from ..mechanism import actuators as pulls
from ..mechanism import armature_blocks
from ..mechanism.builder import MechanismBuilder
from ..mechanism.mechanism import WORLD, Configuration, Mechanism, joint_of

Names = Mapping[str, str] | Callable[[str], str] | None


def check(mechanism: Mechanism) -> Mechanism:
    """The mechanism after all checks of a builder, parents first."""
    return MechanismBuilder(mechanism.name, mechanism.gravity).include(mechanism).mechanism()


def table(kind: str, names: Names, known: Iterable[str]) -> dict[str, str]:
    """Old to new names, from a mapping (others stay) or a function."""
    known = list(known)
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        return {old: names(old) for old in known}
    for old in names:
        if old not in known:
            raise unknown(kind, old, known)
    return dict(names)


def rename(
    mechanism: Mechanism,
    bodies: Names = None,
    joints: Names = None,
    frames: Names = None,
    loops: Names = None,
    actuators: Names = None,
    armatures: Names = None,
) -> Mechanism:
    """Rename bodies, joints, frames, loops, actuators and armatures, wherever they occur."""
    body = table("body", bodies, (b.name for b in mechanism.bodies))
    joint = table("joint", joints, (c.name for c in mechanism.joints))
    frame = table("frame", frames, (f.name for f in mechanism.frames))
    loop = table("loop", loops, (x.name for x in mechanism.loops))
    actuator = table("actuator", actuators, (x.name for x in mechanism.actuators))
    armature = table("armature", armatures, (x.name for x in mechanism.armatures))
    kinds = (("body", body), ("joint", joint), ("frame", frame), ("loop", loop), ("actuator", actuator))
    for kind, names in (*kinds, ("armature", armature)):
        for old, new in names.items():
            if not isinstance(new, str) or not new:
                raise ModelError(f"{kind} {old!r}: the new name is {new!r}, expected a non-empty string")
    return check(renamed(mechanism, body, joint, frame, loop, actuator, armature))


def renamed(
    mechanism: Mechanism,
    body: Mapping[str, str],
    joint: Mapping[str, str],
    frame: Mapping[str, str],
    loop: Mapping[str, str],
    actuator: Mapping[str, str],
    armature: Mapping[str, str],
) -> Mechanism:
    """`rename` by tables, unchecked. `body` may replace the world."""
    return replace(
        mechanism,
        bodies=tuple(replace(b, name=body.get(b.name, b.name)) for b in mechanism.bodies),
        joints=tuple(
            replace(
                c, name=joint.get(c.name, c.name), parent=body.get(c.parent, c.parent), child=body.get(c.child, c.child)
            )
            for c in mechanism.joints
        ),
        frames=tuple(
            replace(f, name=frame.get(f.name, f.name), body=body.get(f.body, f.body)) for f in mechanism.frames
        ),
        loops=tuple(
            replace(
                x,
                name=loop.get(x.name, x.name),
                loop=x.loop.renamed(joint, body),
                independent=tuple((_renamed_velocity(j, joint), scale) for j, scale in x.independent),
            )
            for x in mechanism.loops
        ),
        configurations=tuple(
            replace(
                x,
                coordinates=tuple((joint.get(j, j), q) for j, q in x.coordinates),
                velocities=tuple((joint.get(j, j), v) for j, v in x.velocities),
                controls=tuple((actuator.get(a, a), u) for a, u in x.controls),
                activations=tuple((actuator.get(a, a), act) for a, act in x.activations),
            )
            for x in mechanism.configurations
        ),
        actuators=tuple(pulls.renamed(x, joint, actuator) for x in mechanism.actuators),
        contacts=mechanism.contacts.renamed(body),
        armatures=tuple(armature_blocks.renamed(x, armature.get(x.name, x.name), joint) for x in mechanism.armatures),
    )


def _renamed_velocity(name: str, joint: Mapping[str, str]) -> str:
    own = joint_of(name, joint)
    return name if own is None else joint[own] + name[len(own) :]


def prefix_names(mechanism: Mechanism, prefix: str, world: str = WORLD) -> Mechanism:
    """Prefix every name; what was attached to the ground is attached to `world`. Unchecked."""

    def table(names: Iterable[str]) -> dict[str, str]:
        return {name: f"{prefix}{name}" for name in names}

    return renamed(
        mechanism,
        {**table(b.name for b in mechanism.bodies), WORLD: world},
        table(c.name for c in mechanism.joints),
        table(f.name for f in mechanism.frames),
        table(x.name for x in mechanism.loops),
        table(x.name for x in mechanism.actuators),
        table(x.name for x in mechanism.armatures),
    )


def kept_coordinates(
    mechanism: Mechanism, joints: set[str], actuators: Iterable[pulls.Actuator]
) -> tuple[Configuration, ...]:
    """The named configurations, restricted to these joints and actuators."""
    names = {x.name for x in actuators}
    return tuple(
        replace(
            x,
            coordinates=tuple((j, q) for j, q in x.coordinates if j in joints),
            velocities=tuple((j, v) for j, v in x.velocities if j in joints),
            controls=tuple((a, u) for a, u in x.controls if a in names),
            activations=tuple((a, act) for a, act in x.activations if a in names),
        )
        for x in mechanism.configurations
    )
