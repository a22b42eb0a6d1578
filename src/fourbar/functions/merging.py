"""Merged clusters as rivals of the paper's: clusters on several output bodies, each as a part of what carries it.

A cluster that hangs on several links of another (Chignoli §IV-B) sends their coupling inward as products of low rank.
Where it has few velocities that may take more operations than freeing both clusters at once. Of several such places
those are merged that take fewer operations so; which program is kept, `Recording.write` decides. `robot.clusters` and
the order of velocities are not affected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..algorithms import aba
from ..once import once_per_object
from ..spatial.linear import Mat, Vec
from ..tree.clusters import Cluster, carriers_of
from ..tree.states import ClusterState, EmbeddedState
from .arguments import TAU, Q, V
from .context import Context, record
from .model import Model
from .registry import Outputs, vector

_MOST_VELOCITIES = 12  # of a merged cluster: D of more is costlier than what couples several of them


class _Merged:
    """The embedding of a merged cluster, as far as sweeps need it: the number of its velocities."""

    def __init__(self, nv: int) -> None:
        self.nv = nv


Groups = list[list[int]]  # the clusters, by number, that are one


def _groups(clusters: Sequence[Cluster]) -> Groups:
    """Each cluster on several links with the one that these belong to."""
    home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}
    into = list(range(len(clusters)))
    for n, cluster in enumerate(clusters):
        if len(cluster.carriers) > 1:
            into[n] = into[home[cluster.carriers[0]]]  # what carries comes first
    groups = [[n for n in range(len(clusters)) if into[n] == first] for first in dict.fromkeys(into)]
    return [own for own in groups if len(own) > 1 and sum(clusters[n].embedding.nv for n in own) <= _MOST_VELOCITIES]


def may_win(model: Model) -> bool:
    """Whether some cluster hangs on several links and would have few velocities if it were merged."""
    return bool(_groups(model.cluster_tree.clusters))


@once_per_object
def _cheapest_groups(model: Model) -> Groups:
    """The groups that are worth merging, found by the forward dynamics; the only one, if there is one."""
    groups = _groups(model.cluster_tree.clusters)
    if len(groups) == 1:
        return groups
    arguments = [x.on(model) for x in (Q, V, TAU)]

    def count(own: Groups) -> int:
        def algorithm(c: Context) -> Outputs:
            m = _merge_groups(c, own)
            tau = m.join(c.by_cluster("tau"))
            a = aba.forward_dynamics(c.equations(), m.clusters, m.states, c.velocities(), tau, c.F_ext(), c.gravity)
            return vector(c, "a", m.split(a))

        return record("forward_dynamics", model, algorithm, arguments, {}).operations

    separate = count([])
    return [own for own in groups if count([own]) < separate] or groups[:1]


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
    """The clusters of a recording, with those on several links merged with what carries them where that pays."""
    return _merge_groups(c, _cheapest_groups(c.origin))


def _merge_groups(c: Context, together: Groups) -> MergedClusters:
    clusters, states = c.clusters, c.cluster_states
    into = {n: own[0] for own in together for n in own}
    first_of = [into.get(n, n) for n in range(len(clusters))]
    groups = [[n for n in range(len(clusters)) if first_of[n] == first] for first in dict.fromkeys(first_of)]
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
