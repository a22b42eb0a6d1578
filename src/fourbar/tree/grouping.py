"""The links that loops connect, as clusters. Integers only: links are numbered parents first, -1 is the ground.

The links between the bodies of a loop and their nearest common ancestor form a cluster; loops that share links share a
cluster. A loop between coordinates alone, such as a gear, ties just the links of its joints: they may hang on several
links, their output bodies, as long as one cluster holds all of these (Chignoli §IV-B, Fig. 5). Clusters form a tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

GROUND = -1


def between(parents: Sequence[int], links: Iterable[int], tops: Collection[int]) -> set[int]:
    """All links on the way from the given ones to one of `tops`, exclusive."""
    passed: set[int] = set()
    for link in links:
        while link not in tops and link not in passed:
            passed.add(link)
            link = parents[link]
    return passed


class LinkClusters:
    """Every link in exactly one cluster, at first alone; loops merge clusters.

    Of a loop between poses, what is merged already is passed in one step on the way to the nearest common ancestor, so
    that thousands of loops cost in proportion to their number, however long the chains of links are.
    """

    def __init__(self, parents: Sequence[int]) -> None:
        self._carriers = [{parent} for parent in parents]  # of the cluster of which this link is the first
        self._before = list(range(len(parents)))  # a link of the same cluster with a lower number, or the first itself
        self._coupled: list[list[int]] = []  # the links whose coordinates loops couple

    def first(self, link: int) -> int:
        """The first link of the cluster of a link, which identifies it; -1 of the ground."""
        if link == GROUND:
            return GROUND
        before = self._before
        while before[link] != link:
            before[link] = link = before[before[link]]
        return link

    def tie(self, moved: Iterable[int], touched: Iterable[int]) -> int:
        """Merge the links of one loop: it uses the coordinates of the joints of `moved`, and the poses of `touched`.

        Returns one of them, or the ground if there are none: if all that it uses are poses of one link. Loops between
        coordinates alone take effect with the iteration.
        """
        moved, touched = list(moved), set(touched)
        if not touched:
            self._coupled.append(moved)
            return min(moved, default=GROUND)
        tied = [self.first(link) for link in moved]
        carriers = touched.union(*(self._carriers[link] for link in tied))
        while len(carriers) > 1:
            link = self.first(max(carriers))
            carriers.remove(max(carriers))
            carriers |= self._carriers[link]
            tied.append(link)
        return self._merge(tied) if tied else GROUND

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The clusters, parents first, once all loops are tied."""
        for moved in self._coupled:
            self._merge([self.first(link) for link in moved])
        self._coupled.clear()
        for link in range(len(self._before)):
            if self._before[link] == link:
                self._hang(link)
        clusters: dict[int, list[int]] = {}
        for link in range(len(self._before)):
            clusters.setdefault(self.first(link), []).append(link)
        return map(tuple, clusters.values())

    def _merge(self, firsts: Iterable[int]) -> int:
        """Make one cluster of several, each by its first link; the first link of all."""
        distinct = set(firsts)
        lowest = min(distinct)
        if len(distinct) > 1:
            carriers = set().union(*(self._carriers[link] for link in distinct))
            for link in distinct:
                self._before[link] = lowest
            self._carriers[lowest] = {link for link in carriers if self.first(link) != lowest}
        return lowest

    def _hang(self, link: int) -> None:
        """Merge the cluster of a first link with those between it and a single cluster that carries it.

        The cluster with the highest first link is the outermost: those that it may hang on come before it.
        """
        while len(homes := {self.first(carrier) for carrier in self._carriers[link]}) > 1:
            link = self._merge([link, max(homes)])
