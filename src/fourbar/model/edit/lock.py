"""Joints that do not move any more.

A locked joint becomes a fixed one at its place. In a loop this may hold others as well (a gear whose driver is locked,
a four-bar without its only freedom): these are found from the loops' Jacobian and become fixed too. Loops that tie
nothing that moves any more are left out, as are actuators that move nothing; the other loops keep as much of their
choice of independent velocities as they can. Where loops are left, the configuration in which joints were locked is
kept as the first one, named "locked".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from ...errors import ModelError, unknown
from ...joints.fixed import Fixed
from ...linalg import null_space, rank
from ...spatial.linear import Vec
from .. import actuators
from ..embedding import Tied
from ..groups import Group
from ..lower import Lowered, lower
from ..mechanism import WORLD, Configuration, Connection, Mechanism, NamedLoop, velocity_names
from .names import checked, kept_coordinates
from .place import placement, transform

Coordinates = Mapping[str, tuple[float, ...]]
_STILL = 1e-9  # velocities below this, for unit freedoms, are none


def lock(mechanism: Mechanism, joints: Iterable[str], at: Coordinates) -> Mechanism:
    """Fix joints; `at` are the coordinates of all moving joints, with loops closed."""
    lowered = lower(mechanism)
    stuck = {joint for joint in joints if joint in at}
    while True:
        stuck |= {name for group in lowered.groups for name in _immobile(lowered, group, stuck, at)}
        same = _untouched(lowered, stuck)
        bare = _fixed(mechanism, stuck, at, same)
        left = lower(bare)
        still = {left.moving[i].name for g in left.groups if g.embedding.nv == 0 for i in g.links}
        if not still:
            return checked(_with_independent(bare, left, _wishes(lowered), same))
        stuck |= still


def _names(lowered: Lowered, group: Group) -> list[str]:
    """For each velocity of the group's joints the joint it belongs to."""
    return [lowered.moving[i].name for i in group.links for _ in range(lowered.moving[i].joint.nv)]


def _immobile(lowered: Lowered, group: Group, stuck: set[str], at: Coordinates) -> set[str]:
    """The joints of a group that cannot move while the stuck ones do not."""
    names = _names(lowered, group)
    if not isinstance(group.embedding, Tied) or not stuck.intersection(names):
        return set()
    q = np.array([x for i in group.links for x in at[lowered.moving[i].name]])
    free = [j for j, name in enumerate(names) if name not in stuck]
    freedoms = null_space(group.embedding.units.of(group.embedding.numbers(q)[1])[:, free])
    moving = {names[j] for j, row in zip(free, freedoms, strict=True) if np.abs(row).max(initial=0.0) > _STILL}
    return set(names) - moving


def _untouched(lowered: Lowered, stuck: set[str]) -> set[str]:
    """The loops of groups in which nothing is stuck."""
    return {loop for g in lowered.groups if not stuck.intersection(_names(lowered, g)) for loop in g.loops}


def _fixed(mechanism: Mechanism, stuck: set[str], at: Coordinates, same: set[str]) -> Mechanism:
    connections = tuple(_fixed_joint(c, at[c.name]) if c.name in stuck else c for c in mechanism.connections)
    loops = tuple(part for loop in mechanism.loops for part in _remaining(loop, {j: at[j] for j in stuck}, same))
    tying = _tying(connections)
    loops = tuple(x for x in loops if tying(x))
    configurations = kept_coordinates(mechanism, {c.name for c in connections} - stuck)
    if loops and stuck:
        here = Configuration("locked", tuple((joint, q) for joint, q in at.items() if joint not in stuck))
        configurations = (here, *(x for x in configurations if x.name != here.name))
    moving = {c.name for c in connections if c.joint.nv}
    return replace(
        mechanism, connections=connections, loops=loops, configurations=configurations,
        actuators=actuators.of_joints(mechanism.actuators, moving),
    )  # fmt: skip


def _fixed_joint(c: Connection, q: tuple[float, ...]) -> Connection:
    place = placement(transform(c.placement).then(c.joint.placement(Vec(q))))
    nothing: dict[str, tuple[float, ...]] = {
        field: () for field, value in vars(c).items() if isinstance(value, tuple)
    }  # armature, limits, ...: one entry a coordinate, and there is none
    return replace(c, joint=Fixed(), placement=place, **nothing)  # type: ignore[arg-type]


def _remaining(loop: NamedLoop, at: Coordinates, same: set[str]) -> list[NamedLoop]:
    if loop.name in same:
        return [loop]
    parts = loop.loop.held(at)
    if parts == (loop.loop,):
        return [replace(loop, independent=())]
    names = [loop.name] if len(parts) == 1 else [f"{loop.name}_{n}" for n in range(1, len(parts) + 1)]
    return [NamedLoop(name, part) for name, part in zip(names, parts, strict=True)]


def _tying(connections: tuple[Connection, ...]) -> Callable[[NamedLoop], bool]:
    """Whether a loop still ties something that moves: it looks at joints, or at bodies that are not one rigid body."""
    rigid = {WORLD: WORLD}
    for c in connections:
        rigid[c.child] = rigid[c.parent] if c.joint.nv == 0 else c.child
    return lambda loop: bool(loop.loop.joints) or len({rigid[body] for body in loop.loop.bodies}) > 1


def _wishes(lowered: Lowered) -> list[tuple[str, float]]:
    """The independent velocities before, in order."""
    found = []
    for group in lowered.groups:
        if isinstance(group.embedding, Tied):
            names = _velocities(lowered, group)
            found += [(names[j], s) for j, s in group.embedding.independent]
    return found


def _velocities(lowered: Lowered, group: Group) -> list[str]:
    """What the velocities of the group's joints are called."""
    joints = [lowered.moving[i] for i in group.links]
    return [name for c in joints for name in velocity_names(c.name, c.joint)]


def _with_independent(
    mechanism: Mechanism, lowered: Lowered, wishes: list[tuple[str, float]], same: set[str]
) -> Mechanism:
    """Declare in every group those of the wished velocities that are independent together."""
    declared: dict[str, tuple[tuple[str, float], ...]] = {}
    for group in lowered.groups:
        if isinstance(group.embedding, Tied) and not same.intersection(group.loops):
            declared[group.loops[0]] = _possible(_velocities(lowered, group), group.embedding, wishes)
    loops = tuple(replace(x, independent=declared.get(x.name, x.independent)) for x in mechanism.loops)
    return replace(mechanism, loops=loops)


def _possible(names: list[str], tie: Tied, wishes: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    assert tie.closed is not None
    K = tie.units.of(tie.numbers(tie.closed)[1])
    r, chosen = rank(K), []
    for wish in wishes:
        if wish[0] in names:
            columns = {names.index(name) for name, _ in [*chosen, wish]}
            if rank(K[:, [j for j in range(len(names)) if j not in columns]]) == r:
                chosen.append(wish)
    return tuple(chosen)


def require_known(joints: Iterable[str], known: Iterable[str]) -> list[str]:
    """The joints as a list, all of them known."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        example = joints if isinstance(joints, str) else "hip"
        raise ModelError(f"joints={joints!r}: expected a list of names, such as [{example!r}]")
    names, listed = list(joints), list(known)
    for name in names:
        if name not in listed:
            raise unknown("moving joint", name, listed)
    return names
