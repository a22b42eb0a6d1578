"""A cluster tree as a function of changes p of its parameters, and which changes its loops can follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..constraints.trace import LoopTrace, trace_loops
from ..expr import Graph, jvp, prepare
from ..expr.autodiff import reachable
from ..mechanism.actuators import law_of
from ..mechanism.mechanism import Mechanism
from ..spatial.hydrodynamics import Hydrodynamics
from ..spatial.inertia import Inertia
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from ..tolerances import RANK
from .bound_embedding import Bound, WithGivenNumbers
from .cluster_tree import ClusterTree, arrange, compensated_inertias, every_body, fluids
from .clusters import Cluster, loop_residual
from .embedding import LoopEmbedding
from .links import Link
from .parameters import Parameter, changed
from .reframe import reframed
from .regroup import regrouped, unturned
from .spanning_tree import SpanningTree

Which = tuple[Parameter, ...]


class Changed(NamedTuple):
    """The parameters of a cluster tree: of its links, of the placements of bodies and frames, gravity, and fluids."""

    links: tuple[Link, ...]
    bodies: tuple[Transform, ...]
    frames: tuple[Transform, ...]
    gravity: Vec
    fluids: tuple[Hydrodynamics, ...]


class VariedTree(NamedTuple):
    """The parameters, with the links of equal equations of motion and fewer parameters, these in the cheapest frames,
    and what each joint does by itself: damping, stiffness, rest, dry friction; and gain and bias of the actuators
    `with_laws` that change.
    """

    changed: Changed
    equivalent: tuple[Link, ...]
    reframed: tuple[Link, ...]
    passive: tuple[tuple[Vec, Vec, Vec, Vec], ...]
    laws: tuple[tuple[Vec, Vec], ...]


def changed_numbers(mechanism: Mechanism, which: Which, p: Sequence[Scalar]) -> Changed:
    """All parameters after a change; p may be symbols."""
    other = changed(mechanism, which, p)
    tree, bodies, frames, _ = arrange(other)
    poses = tuple(home.pose for home in bodies.values()), tuple(home.pose for home in frames.values())
    return Changed(tree.links, *poses, Vec(other.gravity), tuple(fluids(other, bodies).values()))


def varied_numbers(mechanism: Mechanism, which: Which, p: Sequence[Scalar]) -> VariedTree:
    """All parameters where some are given; p may be symbols."""
    other = changed(mechanism, which, p, given=True)
    tree, bodies, frames, moving = arrange(other)
    poses = tuple(home.pose for home in bodies.values()), tuple(home.pose for home in frames.values())
    passive = tuple((Vec(x.damping), Vec(x.stiffness), Vec(x.rest), Vec(x.friction)) for x in moving)
    found = [law_of(other.actuators[place]) for place in with_laws(which)]
    laws = tuple((Vec(law[0]), Vec(law[1])) for law in found if law is not None)
    equivalent = regrouped(tree)
    cheapest = reframed(unturned(equivalent))
    numbers = Changed(tree.links, *poses, Vec(other.gravity), tuple(fluids(other, bodies).values()))
    return VariedTree(numbers, equivalent.links, cheapest.links, passive, laws)


def with_laws(which: Which) -> list[int]:
    """The actuators, by number, whose laws have some of the parameters."""
    return list(dict.fromkeys(x.place for x in which if x.owners == "actuators"))


def changed_bodies(
    mechanism: Mechanism, which: Which, p: Sequence[Scalar], given: bool = False
) -> tuple[tuple[Link, ...], tuple[Transform, ...]]:
    """The parameters of a tree with a link for every body: its links, and the pose of each body in its link."""
    tree, poses = every_body(changed(mechanism, which, p, given))
    return tree.links, poses


def changed_compensation(
    mechanism: Mechanism, which: Which, p: Sequence[Scalar], given: bool = False
) -> tuple[Inertia, ...]:
    """The inertias of all links whose weight is compensated."""
    return compensated_inertias(changed(mechanism, which, p, given))


def with_varied(
    mechanism: Mechanism, cluster_tree: ClusterTree, which: Which, p: Vec, found: VariedTree
) -> ClusterTree:
    """A cluster tree with given parameters p."""
    tree = with_numbers(mechanism, cluster_tree, which, p, found.changed, given=True)
    equivalent, cheapest = (SpanningTree(tree.spanning_tree.parents, x) for x in (found.equivalent, found.reframed))
    moving = tuple(
        replace(joint, damping=tuple(d), stiffness=tuple(k), rest=tuple(rest), friction=tuple(f))
        for joint, (d, k, rest, f) in zip(cluster_tree.moving, found.passive, strict=True)
    )
    return replace(tree, equivalent=equivalent, unturned=unturned(equivalent), moving=moving, cheapest=cheapest)


def with_numbers(
    mechanism: Mechanism, cluster_tree: ClusterTree, which: Which, p: Vec, found: Changed, given: bool = False
) -> ClusterTree:
    """A cluster tree with other parameters, the values of a recording; the loops follow p, changes or `given` ones."""
    tree = SpanningTree(cluster_tree.spanning_tree.parents, found.links)
    bodies, frames = (
        {name: home._replace(pose=pose) for (name, home), pose in zip(homes.items(), poses, strict=True)}
        for homes, poses in ((cluster_tree.bodies, found.bodies), (cluster_tree.frames, found.frames))
    )
    clusters = tuple(_bound(mechanism, cluster_tree, cluster, which, p, given) for cluster in cluster_tree.clusters)
    return replace(
        cluster_tree,
        spanning_tree=tree,
        equivalent=tree,
        unturned=tree,
        bodies=bodies,
        frames=frames,
        clusters=clusters,
        fluids=dict(zip(cluster_tree.fluids, found.fluids, strict=True)),
    )


def _bound(
    mechanism: Mechanism, cluster_tree: ClusterTree, cluster: Cluster, which: Which, p: Vec, given: bool
) -> Cluster:
    """A cluster whose loops follow the changes, if they depend on any."""
    tie, places = cluster.embedding, affects_loops(mechanism, cluster_tree, cluster, which)
    if not isinstance(tie, LoopEmbedding) or not any(places):
        return cluster
    traced = retraced(mechanism, cluster, tuple(x for x, kept in zip(which, places, strict=True) if kept), given)
    if not _depends(traced):
        return cluster
    kept = [place for x, own in zip(which, places, strict=True) for place in (own,) * x.size]
    other = WithGivenNumbers.of(tie, traced) if given else tie.along(traced)
    return replace(cluster, embedding=Bound(other, Vec([y for y, own in zip(p, kept, strict=True) if own])))


def affects_loops(mechanism: Mechanism, cluster_tree: ClusterTree, cluster: Cluster, which: Which) -> list[bool]:
    """A mask of the parameters on which the loops of a cluster can depend: their own, and placements of joints on and
    below their bodies.
    """
    near, found = {*cluster.links, *cluster.carriers}, []
    for x in which:
        if x.owners == "loops":
            found.append(mechanism.loops[x.place].name in cluster.loops)
        elif x.owners == "joints" and x.field == "placement":
            found.append(cluster_tree.bodies[mechanism.joints[x.place].child].link in near)
        else:
            found.append(False)
    return found


def _depends(traced: LoopTrace) -> bool:
    return not {x.id for x in traced.p}.isdisjoint(node.id for node in reachable(traced.roots))


@lru_cache(maxsize=64)
def retraced(mechanism: Mechanism, cluster: Cluster, which: Which, given: bool = False) -> LoopTrace:
    """The trace of a cluster's loops as they depend on the changes, or on `given` parameters."""
    assert isinstance(cluster.embedding, LoopEmbedding)
    p = Graph().inputs("change", sum(x.size for x in which))
    other = changed(mechanism, which, p, given)
    tree, bodies, _, moving = arrange(other)
    loops = [loop for loop in other.loops if loop.name in cluster.loops]
    residual = loop_residual(tree, moving, bodies.__getitem__, cluster.links, loops)
    return trace_loops(cluster.embedding.joints, residual, cluster.embedding.traced.bodies, p)


def opening_rates(
    mechanism: Mechanism, cluster_tree: ClusterTree, cluster: Cluster, which: Which, q: np.ndarray
) -> np.ndarray:
    """The rates (n, m, p) at which rows of a cluster's loops open when the dependent joints follow the changes.

    q (n, nq) are closed configurations of all joints. Not zero in overconstrained loops: there some changes remove a
    degree of freedom, or all of them. Rounding beside the largest effect of a change, in units of rows, is zero.
    """
    tie, places = cluster.embedding, affects_loops(mechanism, cluster_tree, cluster, which)
    assert isinstance(tie, LoopEmbedding)
    every = np.zeros((len(q), len(tie.traced.phi), sum(x.size for x in which)))
    if not any(places):
        return every
    traced = retraced(mechanism, cluster, tuple(x for x, kept in zip(which, places, strict=True) if kept))
    m, n = len(traced.phi), len(traced.p)
    slopes = [x for p in traced.p for x in jvp(traced.phi, {p: 1.0})]
    opening = np.zeros((len(q), n * m))
    for i, x in enumerate(prepare(slopes, (*traced.q, *traced.p))((*q.T, *(0.0,) * n))):
        opening[:, i] = x
    opening = opening.reshape(len(q), n, m).swapaxes(-1, -2)
    K = tie.numbers(q)[1][:, :, tie.dependent]
    kept = np.repeat(places, [x.size for x in which])
    follow = np.linalg.solve(K[:, tie.rows], opening[:, tie.rows])
    left = opening - K @ follow
    unit = tie.units.effects[:, None]
    largest = np.abs(opening / unit).max(axis=(0, 1), initial=0.0)
    every[:, :, kept] = np.where(np.abs(left / unit) > RANK * largest, left, 0.0)
    return every
