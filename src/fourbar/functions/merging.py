"""Merged clusters as rivals of the paper's: clusters on several output bodies, each as a part of what carries it.

A cluster that hangs on several links of another (Chignoli §IV-B) sends their coupling inward as products of low rank.
Where it has few velocities that takes more operations than freeing both clusters at once. Which program is kept,
`Recording.write` decides; `robot.clusters` and the order of velocities are not affected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec
from ..tree.clusters import Cluster, carriers_of
from ..tree.states import ClusterState, EmbeddedState
from .context import Context
from .model import Model

_MOST_VELOCITIES = 12  # of a merged cluster: D of more is costlier than what couples several of them


class _Merged:
    """The embedding of a merged cluster, as far as sweeps need it: the number of its velocities."""

    def __init__(self, nv: int) -> None:
        self.nv = nv


def _groups(clusters: Sequence[Cluster]) -> list[list[int]]:
    """The clusters, by number, that are merged: each on several links with the one that these belong to."""
    home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}
    into = list(range(len(clusters)))
    for n, cluster in enumerate(clusters):
        if len(cluster.carriers) > 1:
            into[n] = into[home[cluster.carriers[0]]]  # what carries comes first
    return [[n for n in range(len(clusters)) if into[n] == first] for first in dict.fromkeys(into)]


def may_win(model: Model) -> bool:
    """Whether some cluster hangs on several links, and all would have few velocities if they were merged."""
    clusters = model.cluster_tree.clusters
    several = [group for group in _groups(clusters) if len(group) > 1]
    sizes = [sum(clusters[n].embedding.nv for n in group) for group in several]
    return bool(sizes) and max(sizes) <= _MOST_VELOCITIES


class MergedClusters(NamedTuple):
    """Merged clusters at their states, and the numbers of those that each consists of, in order."""

    clusters: tuple[Cluster, ...]
    states: tuple[ClusterState, ...]
    members: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]  # velocities of the clusters that were merged

    def join(self, parts: Sequence[Vec]) -> list[Vec]:
        """Entries by cluster as entries by merged cluster."""
        return [Vec([x for n in own for x in parts[n]]) for own in self.members]

    def split(self, parts: Sequence[Vec]) -> list[Vec]:
        """Entries by merged cluster as entries by cluster."""
        by_cluster: dict[int, Vec] = {}
        for own, part in zip(self.members, parts, strict=True):
            left = list(part)
            for n in own:
                by_cluster[n], left = Vec(left[: self.sizes[n]]), left[self.sizes[n] :]
        return [by_cluster[n] for n in range(len(self.sizes))]

    def sort(self, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """A matrix over the velocities of merged clusters in the order of those of the clusters."""
        numbers = iter(range(len(rows)))
        joined = [Vec([next(numbers) for n in own for _ in range(self.sizes[n])]) for own in self.members]
        order = [int(i) for part in self.split(joined) for i in part]
        return [[rows[i][j] for j in order] for i in order]


def merge(c: Context) -> MergedClusters:
    """The clusters of a recording, with those on several links merged with what carries them."""
    clusters, states = c.clusters, c.cluster_states
    groups = _groups(clusters)
    merged = [_merge(c.tree.parents, [(clusters[n], states[n]) for n in own]) for own in groups]
    sizes = tuple(cluster.embedding.nv for cluster in clusters)
    return MergedClusters(
        tuple(x for x, _ in merged), tuple(e for _, e in merged), tuple(map(tuple, groups)), sizes
    )  # fmt: skip


def _merge(parents: Sequence[int], own: Sequence[tuple[Cluster, ClusterState]]) -> tuple[Cluster, ClusterState]:
    """Some clusters as one: their links in order, G with a column for each of their velocities."""
    if len(own) == 1:
        return own[0]
    nv = sum(cluster.embedding.nv for cluster, _ in own)
    by_link: dict[int, tuple[Vec, Vec, Mat, Vec]] = {}
    first = 0
    for cluster, e in own:
        before, after = (0.0,) * first, (0.0,) * (nv - first - cluster.embedding.nv)
        G = [Mat(Vec((*before, *row, *after)) for row in block) for block in e.G]
        by_link.update(zip(cluster.links, zip(e.q, e.v, G, e.g, strict=True), strict=True))
        first += cluster.embedding.nv
    links = tuple(sorted(by_link))
    carriers = carriers_of(parents, links)
    place = {link: n for n, link in enumerate(links)} | {link: -1 - k for k, link in enumerate(carriers)}
    embedding: Any = _Merged(nv)
    inner = tuple(place[parents[i]] for i in links)
    locking = tuple(
        lock._replace(place=place[cluster.links[lock.place]]) for cluster, _ in own for lock in cluster.locking
    )
    cluster = replace(own[0][0], links=links, carriers=carriers, inner=inner, embedding=embedding, locking=locking)
    return cluster, EmbeddedState(*(tuple(parts) for parts in zip(*(by_link[i] for i in links), strict=True)))
