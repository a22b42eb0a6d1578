"""A lowered mechanism as a function of changes p of its numbers, and which changes its loops can follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..expr import Graph, jvp, prepare
from ..expr.derive import reachable
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from .cluster import Cluster
from .embedding import Bound, Tied
from .groups import Group, loop_residual
from .lower import Lowered, arrange, every_body
from .mechanism import Mechanism
from .numbers import Number, changed
from .trace import Traced, trace
from .tree import ClusterTree

Which = tuple[Number, ...]


class Changed(NamedTuple):
    """The numbers of a lowered mechanism: of its links, of the places of bodies and frames, and gravity."""

    clusters: tuple[Cluster, ...]
    bodies: tuple[Transform, ...]
    frames: tuple[Transform, ...]
    gravity: Vec


def changed_numbers(mechanism: Mechanism, which: Which, p: Sequence[Scalar]) -> Changed:
    """All numbers after a change; p may be symbols."""
    other = changed(mechanism, which, p)
    tree, bodies, frames, _ = arrange(other)
    poses = tuple(home.pose for home in bodies.values()), tuple(home.pose for home in frames.values())
    return Changed(tree.clusters, *poses, Vec(other.gravity))


def changed_bodies(
    mechanism: Mechanism, which: Which, p: Sequence[Scalar]
) -> tuple[tuple[Cluster, ...], tuple[Transform, ...]]:
    """The same of a tree with a link for every body: its links, and the pose of each body in its link."""
    tree, poses = every_body(changed(mechanism, which, p))
    return tree.clusters, poses


def with_numbers(mechanism: Mechanism, lowered: Lowered, which: Which, p: Vec, found: Changed) -> Lowered:
    """A lowered mechanism with other numbers, the values of a recording; the loops follow p."""
    tree = ClusterTree(lowered.tree.parents, found.clusters)
    bodies, frames = (
        {name: home._replace(pose=pose) for (name, home), pose in zip(homes.items(), poses, strict=True)}
        for homes, poses in ((lowered.bodies, found.bodies), (lowered.frames, found.frames))
    )
    groups = tuple(_bound(mechanism, lowered, group, which, p) for group in lowered.groups)
    return replace(lowered, tree=tree, equivalent=tree, unturned=tree, bodies=bodies, frames=frames, groups=groups)


def _bound(mechanism: Mechanism, lowered: Lowered, group: Group, which: Which, p: Vec) -> Group:
    """A group whose loops follow the changes, if they depend on any."""
    tie, places = group.embedding, felt(mechanism, lowered, group, which)
    if not isinstance(tie, Tied) or not any(places):
        return group
    traced = retraced(mechanism, group, tuple(x for x, kept in zip(which, places, strict=True) if kept))
    if not _depends(traced):
        return group
    kept = [place for x, own in zip(which, places, strict=True) for place in (own,) * x.size]
    return replace(group, embedding=Bound(tie.along(traced), Vec([y for y, own in zip(p, kept, strict=True) if own])))


def felt(mechanism: Mechanism, lowered: Lowered, group: Group, which: Which) -> list[bool]:
    """Which numbers the loops of a group can depend on: their own, and places of joints on and below their bodies."""
    near, found = {*group.links, group.carrier}, []
    for x in which:
        if x.owners == "loops":
            found.append(mechanism.loops[x.place].name in group.loops)
        elif x.owners == "connections" and x.field == "placement":
            found.append(lowered.bodies[mechanism.connections[x.place].child].cluster in near)
        else:
            found.append(False)
    return found


def _depends(traced: Traced) -> bool:
    return not {x.id for x in traced.p}.isdisjoint(node.id for node in reachable(traced.roots))


@lru_cache(maxsize=64)
def retraced(mechanism: Mechanism, group: Group, which: Which) -> Traced:
    """The trace of a group's loops as they depend on the changes."""
    assert isinstance(group.embedding, Tied)
    p = Graph().inputs("change", sum(x.size for x in which))
    other = changed(mechanism, which, p)
    tree, bodies, _, moving = arrange(other)
    loops = [loop for loop in other.loops if loop.name in group.loops]
    residual = loop_residual(tree, moving, bodies.__getitem__, group.links, loops)
    return trace(group.embedding.joints, residual, group.embedding.traced.bodies, p)


def stray(mechanism: Mechanism, lowered: Lowered, group: Group, which: Which, q: np.ndarray) -> np.ndarray:
    """The rates (n, m, p) at which rows of a group's loops open when the dependent joints follow the changes.

    q (n, nq) are closed configurations of all joints. Not zero where the loops hold more than they need to: then some
    changes take away a freedom, or all of them.
    """
    tie, places = group.embedding, felt(mechanism, lowered, group, which)
    assert isinstance(tie, Tied)
    every = np.zeros((len(q), len(tie.traced.phi), sum(x.size for x in which)))
    if not any(places):
        return every
    traced = retraced(mechanism, group, tuple(x for x, kept in zip(which, places, strict=True) if kept))
    m, n = len(traced.phi), len(traced.p)
    slopes = [x for p in traced.p for x in jvp(traced.phi, {p: 1.0})]
    opening = np.zeros((len(q), n * m))
    for i, x in enumerate(prepare(slopes, (*traced.q, *traced.p))((*q.T, *(0.0,) * n))):
        opening[:, i] = x
    opening = opening.reshape(len(q), n, m).swapaxes(-1, -2)
    K = tie.numbers(q)[1][:, :, tie.dependent]
    kept = np.repeat(places, [x.size for x in which])
    every[:, :, kept] = opening - K @ np.linalg.solve(K[:, tie.rows], opening[:, tie.rows])
    return every
