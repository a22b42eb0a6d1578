"""The connectivity graph of a robot: bodies, joints between them, and loops, each in its cluster (Chignoli, Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..mechanism.mechanism import WORLD, Mechanism
from ..mechanism.sticks import Shade, cluster_colour
from .cluster_tree import GROUND, ClusterTree


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
