"""Checks that everything that the parts of a mechanism refer to exists, before it is made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..errors import ModelError, unknown
from .mechanism import WORLD, Configuration, Frame, NamedLoop, PlacedJoint, joint_of

Names = Collection[str]
Joints = Mapping[str, PlacedJoint]  # by the body that each carries


def check_new_name(kind: str, name: Any, *taken: Names) -> None:
    """A body or frame has a name that no other has."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {kind} needs a name, a non-empty string; got {name!r}")
    if name == WORLD:
        raise ModelError(f"{WORLD!r} is reserved for the ground; choose another name for the {kind}")
    if any(name in names for names in taken):
        raise ModelError(f"there is already a {kind} {name!r}; names must be unique")


def check_references(bodies: Names, joints: Joints, frames: Iterable[Frame]) -> None:
    """Parents and the bodies of frames are there, and each joint carries one body."""
    seen: dict[str, str] = {}
    for c in joints.values():
        if c.parent != WORLD and c.parent not in bodies:
            raise ModelError(f"body {c.child!r}: parent: {unknown('body', c.parent, [WORLD, *bodies])}")
        if c.name in seen:
            raise ModelError(
                f"joint {c.name!r} carries both {seen[c.name]!r} and {c.child!r}; give one of them another joint_name="
            )
        seen[c.name] = c.child
    for f in frames:
        if f.body != WORLD and f.body not in bodies:
            raise ModelError(f"frame {f.name!r}: {unknown('body', f.body, [WORLD, *bodies])}")


def check_loops(bodies: Names, placed: Joints, loops: Iterable[NamedLoop]) -> None:
    """The joints and bodies that loops name are there."""
    joints = [c.name for c in placed.values()]
    for loop in loops:
        for joint in (*loop.loop.joints, *(j for j, _ in loop.independent if joint_of(j, joints) is None)):
            if joint not in joints:
                raise ModelError(f"loop {loop.name!r}: {unknown('joint', joint, joints)}")
        for body in loop.loop.bodies:
            if body != WORLD and body not in bodies:
                raise ModelError(f"loop {loop.name!r}: {unknown('body', body, [WORLD, *bodies])}")


def check_configurations(placed: Joints, actuators: Names, configurations: Iterable[Configuration]) -> None:
    """Named configurations fit their joints and actuators."""
    joints = {c.name: c.joint for c in placed.values()}
    for configuration in configurations:
        what = f"configuration {configuration.name!r}"
        for joint, _ in (*configuration.coordinates, *configuration.velocities):
            if joint not in joints:
                raise ModelError(f"{what}: {unknown('joint', joint, joints)}")
        for joint, q in configuration.coordinates:
            if len(q) != joints[joint].nq:
                raise ModelError(f"{what}: joint {joint!r} has {joints[joint].nq} coordinates, got {len(q)}")
        for joint, v in configuration.velocities:
            if len(v) != joints[joint].nv:
                raise ModelError(f"{what}: joint {joint!r} has {joints[joint].nv} velocities, got {len(v)}")
        for actuator, _ in configuration.controls:
            if actuator not in actuators:
                raise ModelError(f"{what}: {unknown('actuator', actuator, actuators)}")


def parents_first(bodies: Names, joints: Joints) -> list[str]:
    """The bodies as declared, but each after its parent."""
    order: list[str] = []
    placed = {WORLD}
    for start in bodies:
        path: list[str] = []
        name = start
        while name not in placed:
            if name in path:
                loop = " -> ".join([*path[path.index(name) :], name])
                raise ModelError(
                    f"the parents of these bodies form a cycle: {loop}. Every body has one parent, and the chain "
                    "of parents ends at 'world'; declare a kinematic loop with loop(...), not through parents"
                )
            path.append(name)
            name = joints[name].parent
        placed.update(path)
        order.extend(reversed(path))
    return order
