"""The links that loops connect, as clusters. Integers only: links are numbered parents first, -1 is the ground.

The links between a loop and their nearest common ancestor form a cluster; loops that share links share a cluster. As a
whole a cluster has one parent link, so that clusters form a tree (Chignoli §IV).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

GROUND = -1


def between(parents: Sequence[int], links: Iterable[int], top: int) -> set[int]:
    """All links on the way from the given ones to `top`, exclusive."""
    found: set[int] = set()
    for link in links:
        while link != top and link not in found:
            found.add(link)
            link = parents[link]
    return found


class LinkClusters:
    """Every link in exactly one cluster, at first alone; each cluster hangs on one link, its carrier.

    A loop merges clusters. On the way to a common carrier what is merged already is passed in one step, so that
    thousands of loops cost in proportion to their number, however long the chains of links are.
    """

    def __init__(self, parents: Sequence[int]) -> None:
        self._carrier = list(parents)  # of the cluster of which this link is the first
        self._before = list(range(len(parents)))  # a link of the same cluster with a lower number, or the first itself

    def first(self, link: int) -> int:
        """The first link of the cluster of a link, which identifies it."""
        before = self._before
        while before[link] != link:
            before[link] = link = before[before[link]]
        return link

    def tie(self, moved: Iterable[int], touched: Iterable[int]) -> int:
        """Merge the links of one loop: it uses the coordinates of the joints of `moved`, and the poses of `touched`.

        Returns one of them, or the ground if there are none: if all that it uses are poses of one link.
        """
        own = [self.first(link) for link in moved]
        carriers = {*touched, *(self._carrier[link] for link in own)}
        while len(carriers) > 1:
            link = self.first(max(carriers))
            carriers.remove(max(carriers))
            carriers.add(self._carrier[link])
            own.append(link)
        if not own:
            return GROUND
        lowest = min(own)
        for link in own:
            self._before[link] = lowest
        self._carrier[lowest] = carriers.pop()
        return lowest

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The clusters, parents first."""
        found: dict[int, list[int]] = {}
        for link in range(len(self._before)):
            found.setdefault(self.first(link), []).append(link)
        return map(tuple, found.values())
