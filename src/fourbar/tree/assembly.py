"""Clusters by name: which bodies belong together, the names of their coordinates, closing their loops;
and the connectivity graph: bodies, joints between them, and loops, each in its cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import AssemblyError, unknown
from ..mechanism.mechanism import WORLD, Mechanism, PlacedJoint, joint_of, velocity_names
from ..mechanism.sticks import Shade, cluster_colour
from ..mechanism.validate import read_independent
from ..tolerances import CLOSED
from .cluster_tree import GROUND, ClusterTree
from .clusters import Cluster
from .loop_closing import close_from


class ClusterInfo(NamedTuple):
    """A cluster: bodies tied by loops, and what describes their state.

    Parameters
    ----------
    bodies : tuple of str
        Its bodies.
    joints : tuple of str
        Its joints.
    loops : tuple of str
        The loops that tie them; none in a cluster of one body.
    carrier : str
        The body that carries it; the first of several.
    coordinate_names : tuple of str
        Its coordinates in q.
    velocity_names : tuple of str
        Its independent velocities in v.
    carriers : tuple of str
        All bodies that carry it, Chignoli's output bodies: several if a gear couples joints on different bodies of one
        other cluster.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.clusters[0].bodies
    ('link1', 'link3', 'link2')
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    loops: tuple[str, ...]
    carrier: str
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    carriers: tuple[str, ...]


def _labels(name: str, suffixes: Sequence[str]) -> list[str]:
    return [f"{name}.{s}" if s else name for s in suffixes]


def coordinate_labels(c: PlacedJoint) -> list[str]:
    """The names of a joint's coordinates."""
    return _labels(c.name, c.joint.q_names)


def _velocity_labels(cluster_tree: ClusterTree, cluster: Cluster) -> list[tuple[str, str]]:
    """(joint, label) of the independent velocities of a cluster."""
    connections = [cluster_tree.moving[i] for i in cluster.links]
    every = [(c.name, label) for c in connections for label in velocity_names(c.name, c.joint)]
    return [every[j] for j, _ in cluster.embedding.independent]


def independent_joints(cluster_tree: ClusterTree, cluster: Cluster) -> list[str]:
    """The joint of each independent velocity."""
    return [joint for joint, _ in _velocity_labels(cluster_tree, cluster)]


def describe(cluster_tree: ClusterTree, cluster: Cluster) -> ClusterInfo:
    """A cluster by names."""
    connections = [cluster_tree.moving[i] for i in cluster.links]
    velocities = tuple(label for _, label in _velocity_labels(cluster_tree, cluster))
    coordinates = tuple(x for c in connections for x in coordinate_labels(c))
    carriers = tuple("world" if i < 0 else cluster_tree.moving[i].child for i in cluster.carriers)
    return ClusterInfo(
        bodies=tuple(c.child for c in connections),
        joints=tuple(c.name for c in connections),
        loops=cluster.loops,
        carrier=carriers[0],
        coordinate_names=velocities if cluster.embedding.explicit else coordinates,
        velocity_names=velocities,
        carriers=carriers,
    )


def cluster_neutral(cluster_tree: ClusterTree, cluster: Cluster) -> np.ndarray:
    """The neutral coordinates, or closed ones near them."""
    if cluster.tie is not None:
        assert cluster.tie.closed is not None
        return cluster.tie.stored_coordinates(cluster.tie.closed)
    return np.array([x for i in cluster.links for x in cluster_tree.moving[i].joint.neutral()])


def close_cluster_near(
    cluster_tree: ClusterTree, cluster: Cluster, coordinates: Mapping[str, Sequence[float]]
) -> np.ndarray:
    """Closed coordinates of a cluster near those given by joint; joints not given are neutral."""
    connections = [cluster_tree.moving[i] for i in cluster.links]
    full = np.array([x for c in connections for x in coordinates.get(c.name, c.joint.neutral())])
    tie = cluster.tie
    if tie is None:
        return full
    closed, gap = close_from(tie, full[None])
    if not gap[0] <= CLOSED:
        raise AssemblyError(
            f"loops {', '.join(map(repr, cluster.loops))} cannot be closed: the remaining gap is "
            f"{np.abs(tie.residual(closed)).max():.3g}"
        )
    return tie.stored_coordinates(closed[0])


def choose_independent(mechanism: Mechanism, clusters: Sequence[ClusterInfo], joints: Sequence[Any]) -> Mechanism:
    """The mechanism with the named joints as the independent ones of their clusters."""
    listed = joints[0] if len(joints) == 1 and isinstance(joints[0], list | dict) else joints
    pairs = read_independent("independent", listed)
    tied = {joint: n for n, cluster in enumerate(clusters) if cluster.loops for joint in cluster.joints}
    owners = {name: joint_of(name, tied) for name, _ in pairs}
    alone = {joint: 0 for cluster in clusters if not cluster.loops for joint in cluster.joints}
    for name, scale in pairs:
        if owners[name] is None and (joint_of(name, alone) is None or scale != 1.0):
            raise unknown("joint in a loop", name, tied)  # those outside of loops are independent anyway
    own = {name: tied[joint] for name, joint in owners.items() if joint is not None}
    changed = set(own.values())
    first = {clusters[n].loops[0]: tuple(p for p in pairs if own.get(p[0]) == n) for n in changed}
    cleared = {name for n in changed for name in clusters[n].loops}
    loops = tuple(
        replace(loop, independent=first.get(loop.name, ())) if loop.name in cleared else loop
        for loop in mechanism.loops
    )
    return replace(mechanism, loops=loops)


class JointEdge(NamedTuple):
    """A joint from its parent to its child body; `kind` is the name of its type."""

    name: str
    kind: str
    parent: str
    child: str

    @property
    def has_own_name(self) -> bool:
        """Whether its name says more than that of its body."""
        return self.name not in (self.child, f"{self.child}_joint")


class LoopEdge(NamedTuple):
    """A loop between bodies: those whose poses it uses, and those on the joints whose coordinates it uses."""

    name: str
    kind: str
    ends: tuple[str, ...]
    cluster: int


class Connectivity(NamedTuple):
    """The connectivity graph. `clusters` gives each body, the world included, the number of its cluster: GROUND if it
    does not move. `colours` has a colour for each cluster of several links, None for the others.
    """

    clusters: dict[str, int]
    joints: tuple[JointEdge, ...]
    loops: tuple[LoopEdge, ...]
    colours: tuple[Shade | None, ...]

    def colour(self, body: str) -> Shade | None:
        """The colour of the cluster of a body; None if no loop ties it to others."""
        cluster = self.clusters[body]
        return None if cluster == GROUND else self.colours[cluster]


def connectivity(mechanism: Mechanism, tree: ClusterTree) -> Connectivity:
    """The connectivity graph of a mechanism and its clusters."""
    home = {link: k for k, cluster in enumerate(tree.clusters) for link in cluster.links} | {GROUND: GROUND}
    clusters = {WORLD: GROUND} | {b.name: home[tree.bodies[b.name].link] for b in mechanism.bodies}
    joints = tuple(JointEdge(c.name, type(c.joint).__name__, c.parent, c.child) for c in mechanism.joints)
    child = {joint.name: joint.child for joint in joints}
    tied = {name: k for k, cluster in enumerate(tree.clusters) for name in cluster.loops}
    loops = tuple(
        LoopEdge(x.name, type(x.loop).__name__, _distinct([*x.loop.bodies, *(child[j] for j in x.loop.joints)]),
                 tied.get(x.name, GROUND))
        for x in mechanism.loops
    )  # fmt: skip
    numbers = iter(range(len(tree.clusters)))
    colours = tuple(cluster_colour(next(numbers)) if len(x.links) > 1 else None for x in tree.clusters)
    return Connectivity(clusters, joints, loops, colours)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
