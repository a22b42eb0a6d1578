"""Finding joints that move no inertia, if some bodies have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import MasslessError
from ..expr import Direct
from ..spatial.fluid_inertia import AnyInertia
from ..spatial.linear import Vec
from ..tolerances import NO_INERTIA
from ..tree.cluster_tree import ClusterTree
from ..tree.clusters import Cluster, split
from ..tree.links import Kinematics
from ..tree.sampling import cluster_anywhere
from ..tree.states import ClusterState
from .articulated import over_clusters
from .sweep import Outcome, Sweeps


def carried_inward(k: Kinematics, children: tuple[AnyInertia, ...]) -> Outcome:
    """For each velocity of a joint an upper bound of the inertia that it carries, in the units of that velocity: mass
    where it pushes, the trace of the inertia at the joint where it turns, and the armature."""
    I = sum(children, k.I)
    diagonal = [abs(I.matrix()[i][i]) for i in range(6)]
    turned, pushed = sum(diagonal[:3]), max(diagonal[3:])
    twists = zip(k.S.twists(), k.armature, strict=True)
    sizes = tuple(S.angular.dot(S.angular) * turned + S.linear.dot(S.linear) * pushed + abs(x) for S, x in twists)
    return Outcome(sizes, I.to_parent(k.X))


def _resistances(cluster: Cluster, e: ClusterState, sizes: Sequence[Sequence[float]]) -> list[float]:
    """The most that could resist each independent velocity of a cluster."""
    blocks = [(block[j], size) for i, block in zip(cluster.links, e.G, strict=True) for j, size in enumerate(sizes[i])]
    return [sum(row[y] ** 2 * size for row, size in blocks) for y in range(cluster.embedding.nv)]


def check_joints(cluster_tree: ClusterTree, q: Sequence[float] | None = None) -> None:
    """Refuse a tree in which some joint moves nothing, by releasing one joint after the other at q (nq), or at some
    configuration."""
    tree, clusters, call = cluster_tree.spanning_tree, cluster_tree.clusters, Direct().call
    if q is None:
        rng = np.random.default_rng(0)
        found = [Vec(cluster_anywhere(cluster_tree, cluster, rng).tolist()) for cluster in clusters]
    else:
        found = split(clusters, q, "nq")
    states = [cluster.embedding.state(call, own, None) for cluster, own in zip(clusters, found, strict=True)]
    coordinates = {i: own for cluster, e in zip(clusters, states, strict=True)
                   for i, own in zip(cluster.links, e.q, strict=True)}  # fmt: skip
    s = Sweeps(tree, Direct(), [float(x) for i in range(len(tree.links)) for x in coordinates[i]])
    sizes = s.inward(carried_inward)
    resisted = [_resistances(cluster, e, sizes) for cluster, e in zip(clusters, states, strict=True)]

    def release_inward(node: Any, children: tuple[Any, ...], cluster: Cluster, sizes: Sequence[float]) -> Outcome:
        outcome = node.release(children)
        pivots = zip(outcome.result.D.inverse_pivots, sizes, strict=True)
        if any(not 0.0 <= NO_INERTIA * size * d < 1.0 for d, size in pivots):
            raise _moves_nothing(cluster_tree, cluster)
        return outcome

    over_clusters(s, clusters, states).inward(release_inward, clusters, resisted)


def _moves_nothing(cluster_tree: ClusterTree, cluster: Cluster) -> MasslessError:
    joints = ", ".join(repr(cluster_tree.moving[i].name) for i in cluster.links)
    bodies = ", ".join(repr(cluster_tree.moving[i].child) for i in cluster.links)
    what = (
        f"joint {joints} moves nothing that has inertia (body {bodies} and what it carries)"
        if len(cluster.links) == 1
        else f"joints {joints} together move nothing that has inertia (bodies {bodies} and what they carry)"
    )
    return MasslessError(
        f"{what}, so forward dynamics has no solution; give the body a mass and an inertia, or the joint an armature"
    )
