"""Equal equations of motion with fewer numbers.

Mass that lies on the axis of a hinge moves with the parent as much as with the child, so it may be booked on either: no
motion and no joint force can tell. Booked on the parent, four numbers of each hinged body become zero and with them a
fifth of the work of inverse dynamics (the base-parameter grouping of the identification literature, used for speed).
What is left of a body is no longer physical by itself: energy, momentum and reactions use the tree as it was.
"""

from __future__ import annotations

from dataclasses import replace

from ..spatial.inertia import Inertia, rotational
from ..spatial.linear import Vec
from ..spatial.symmetric import Sym
from .cluster import Cluster
from .tree import ClusterTree


def _inertia(m: float, h: Vec, Sigma: Sym) -> Inertia:
    return Inertia(m, h, rotational(Sigma), Sigma)


def _movable(cluster: Cluster) -> Inertia | None:
    """The part of a cluster's inertia that lies where the joint does not move it."""
    m, h, _, Sigma = cluster.I
    if cluster.joint.pivot == "line":
        return _inertia(m, Vec((0.0, 0.0, h[2])), Sym(0.0, 0.0, 0.0, 0.0, 0.0, Sigma.zz))
    if cluster.joint.pivot == "point":
        return _inertia(m, Vec((0.0, 0.0, 0.0)), Sym.diagonal(0.0))
    return None


def _without(I: Inertia, part: Inertia) -> Inertia:
    return _inertia(I.m - part.m, I.h - part.h, I.Sigma - part.Sigma)


def regrouped(tree: ClusterTree) -> ClusterTree:
    """A tree with the same equations of motion; what reaches the ground is dropped."""
    clusters = list(tree.clusters)
    for i in reversed(range(len(clusters))):
        part = _movable(clusters[i])
        if part is None:
            continue
        clusters[i] = clusters[i]._replace(I=_without(clusters[i].I, part))
        parent = tree.parents[i]
        if parent >= 0:
            carried = part.to_parent(clusters[i].placement)
            clusters[parent] = clusters[parent]._replace(I=clusters[parent].I + carried)
    return replace(tree, clusters=tuple(clusters))
