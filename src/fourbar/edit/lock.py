"""Locking joints.

A locked joint becomes a fixed one. In a loop this may immobilise others as well (a gear whose driver is locked, a
four-bar without its only freedom): these are found from the loops' Jacobian and become fixed too. Loops that no longer
constrain anything are dropped, as are actuators that drive nothing; the other loops keep as much of their choice of
independent velocities as possible. Where loops remain, the configuration in which joints were locked becomes the first
one, named "locked".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..errors import ModelError, unknown
from ..joints.euclidean import Fixed
from ..linalg import null_space, rank
from ..mechanism import actuators, armature_blocks
from ..mechanism.mechanism import WORLD, Configuration, Mechanism, NamedLoop, PlacedJoint, velocity_names
from ..spatial.linear import Vec
from ..tolerances import STILL
from ..tree.cluster_tree import ClusterTree, lower
from ..tree.clusters import Cluster
from ..tree.embedding import LoopEmbedding
from .placements import placement, transform
from .rename import check, kept_coordinates

Coordinates = Mapping[str, tuple[float, ...]]


def lock(mechanism: Mechanism, joints: Iterable[str], at: Coordinates) -> Mechanism:
    """Fix joints; `at` holds the coordinates of all moving joints, with loops closed."""
    cluster_tree = lower(mechanism)
    stuck = {joint for joint in joints if joint in at}
    while True:
        stuck |= {name for cluster in cluster_tree.clusters for name in _immobile(cluster_tree, cluster, stuck, at)}
        same = _untouched_loops(cluster_tree, stuck)
        bare = check(_fix(mechanism, stuck, at, same))
        left = lower(bare)
        still = {left.moving[i].name for g in left.clusters if g.embedding.nv == 0 for i in g.links}
        if not still:
            return _with_independent(bare, left, _wishes(cluster_tree), same)
        stuck |= still


def _names(cluster_tree: ClusterTree, cluster: Cluster) -> list[str]:
    """The joint that each velocity of the cluster's joints belongs to."""
    return [cluster_tree.moving[i].name for i in cluster.links for _ in range(cluster_tree.moving[i].joint.nv)]


def _immobile(cluster_tree: ClusterTree, cluster: Cluster, stuck: set[str], at: Coordinates) -> set[str]:
    """The joints of a cluster that cannot move while the locked ones are fixed."""
    names, tie = _names(cluster_tree, cluster), cluster.tie
    if tie is None or not stuck.intersection(names):
        return set()
    q = np.array([x for i in cluster.links for x in at[cluster_tree.moving[i].name]])
    free = [j for j, name in enumerate(names) if name not in stuck]
    freedoms = null_space(tie.units.of(tie.slopes(q))[:, free])
    moving = {names[j] for j, row in zip(free, freedoms, strict=True) if np.abs(row).max(initial=0.0) > STILL}
    return set(names) - moving


def _untouched_loops(cluster_tree: ClusterTree, stuck: set[str]) -> set[str]:
    """The loops of clusters in which nothing is locked."""
    return {loop for g in cluster_tree.clusters if not stuck.intersection(_names(cluster_tree, g)) for loop in g.loops}


def _fix(mechanism: Mechanism, stuck: set[str], at: Coordinates, same: set[str]) -> Mechanism:
    connections = tuple(_fixed_joint(c, at[c.name]) if c.name in stuck else c for c in mechanism.joints)
    loops = tuple(part for loop in mechanism.loops for part in _remaining(loop, {j: at[j] for j in stuck}, same))
    tying = _tying(connections)
    loops = tuple(x for x in loops if tying(x))
    moving = {c.name for c in connections if c.joint.nv}
    acting = actuators.of_joints(_hold_actuators(mechanism, stuck, at), moving)
    configurations = kept_coordinates(mechanism, {c.name for c in connections} - stuck, acting)
    if loops and stuck:
        here = Configuration("locked", tuple((joint, q) for joint, q in at.items() if joint not in stuck))
        configurations = (here, *(x for x in configurations if x.name != here.name))
    blocks = armature_blocks.among(mechanism.armatures, moving, {c.name: c.joint for c in mechanism.joints})
    parts = {"joints": connections, "loops": loops, "armatures": blocks}
    return replace(mechanism, **parts, configurations=configurations, actuators=acting)


def _hold_actuators(mechanism: Mechanism, stuck: set[str], at: Coordinates) -> list[actuators.Actuator]:
    """The actuators, with what stuck joints add to their lengths."""
    return actuators.hold_joints(
        mechanism.actuators, {c.name: c.joint for c in mechanism.joints}, {j: at[j] for j in stuck}
    )


def _fixed_joint(c: PlacedJoint, q: tuple[float, ...]) -> PlacedJoint:
    place = placement(transform(c.placement).then(c.joint.placement(Vec(q))))
    nothing: dict[str, tuple[float, ...]] = {
        field: () for field, value in vars(c).items() if isinstance(value, tuple)
    }  # armature, limits, ...: one entry per coordinate, and there is none
    return replace(c, joint=Fixed(), placement=place, **nothing)  # type: ignore[arg-type]


def _remaining(loop: NamedLoop, at: Coordinates, same: set[str]) -> list[NamedLoop]:
    if loop.name in same:
        return [loop]
    parts = loop.loop.hold(at)
    if parts == (loop.loop,):
        return [replace(loop, independent=())]
    names = [loop.name] if len(parts) == 1 else [f"{loop.name}_{n}" for n in range(1, len(parts) + 1)]
    return [NamedLoop(name, part) for name, part in zip(names, parts, strict=True)]


def _tying(connections: tuple[PlacedJoint, ...]) -> Callable[[NamedLoop], bool]:
    """Whether a loop still constrains something: it refers to moving joints, or to bodies that are not rigidly
    connected.
    """
    rigid = {WORLD: WORLD}
    for c in connections:
        rigid[c.child] = rigid[c.parent] if c.joint.nv == 0 else c.child
    return lambda loop: bool(loop.loop.joints) or len({rigid[body] for body in loop.loop.bodies}) > 1


def _wishes(cluster_tree: ClusterTree) -> list[tuple[str, float]]:
    """The previous independent velocities, in order."""
    wishes = []
    for cluster, tie, _ in cluster_tree.tied_clusters:
        names = _velocities(cluster_tree, cluster)
        wishes += [(names[j], scale) for j, scale in tie.independent]
    return wishes


def _velocities(cluster_tree: ClusterTree, cluster: Cluster) -> list[str]:
    """The names of the velocities of the cluster's joints."""
    joints = [cluster_tree.moving[i] for i in cluster.links]
    return [name for c in joints for name in velocity_names(c.name, c.joint)]


def _with_independent(
    mechanism: Mechanism, cluster_tree: ClusterTree, wishes: list[tuple[str, float]], same: set[str]
) -> Mechanism:
    """Declare, in every cluster, those of the requested velocities that are independent of each other."""
    declared: dict[str, tuple[tuple[str, float], ...]] = {}
    for cluster, tie, _ in cluster_tree.tied_clusters:
        if not same.intersection(cluster.loops):
            declared[cluster.loops[0]] = _possible(_velocities(cluster_tree, cluster), tie, wishes)
    loops = tuple(replace(x, independent=declared.get(x.name, x.independent)) for x in mechanism.loops)
    if loops == mechanism.loops:
        return mechanism  # itself, whose tree is known
    return check(replace(mechanism, loops=loops))


def _possible(names: list[str], tie: LoopEmbedding, wishes: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    assert tie.closed is not None
    K = tie.units.of(tie.slopes(tie.closed))
    r, chosen = rank(K), []
    for wish in wishes:
        if wish[0] in names:
            columns = {names.index(name) for name, _ in [*chosen, wish]}
            if rank(K[:, [j for j in range(len(names)) if j not in columns]]) == r:
                chosen.append(wish)
    return tuple(chosen)


def require_known(joints: Iterable[str], known: Iterable[str]) -> list[str]:
    """The joints as a list, after checking that all are known."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        example = joints if isinstance(joints, str) else "hip"
        raise ModelError(f"joints={joints!r}: expected a list of names, such as [{example!r}]")
    names, listed = list(joints), list(known)
    for name in names:
        if name not in listed:
            raise unknown("moving joint", name, listed)
    return names
