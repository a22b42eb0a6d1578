"""Which links a loop connects. Integers only: links are numbered parents first, -1 is the ground.

The links between a loop and their nearest common ancestor form a cluster; loops that share links share a cluster. As a
whole a cluster has one parent link, so that clusters form a tree (Chignoli §III).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

GROUND = -1


def _path(parents: Sequence[int], link: int) -> list[int]:
    """The link, its parent, ..., down to the ground."""
    path = [link]
    while path[-1] != GROUND:
        path.append(parents[path[-1]])
    return path


def _common(parents: Sequence[int], links: Iterable[int]) -> int:
    """The nearest common ancestor of all given links (possibly one of them)."""
    paths = [_path(parents, link) for link in links]
    shared = set(paths[0]).intersection(*paths[1:])
    return max(shared)


def between(parents: Sequence[int], links: Iterable[int], top: int) -> set[int]:
    """All links on the way from the given ones to `top`, exclusive."""
    found: set[int] = set()
    for link in links:
        for step in _path(parents, link):
            if step == top:
                break
            found.add(step)
    return found


def tied(parents: Sequence[int], moved: Sequence[int], touched: Sequence[int]) -> set[int]:
    """The links of one loop: it uses the coordinates of the joints of `moved`, and the poses of `touched`."""
    ends = [parents[link] for link in moved] + list(touched)
    return between(parents, [*moved, *touched], _common(parents, ends))


def _complete(parents: Sequence[int], cluster: set[int]) -> set[int]:
    """The cluster, extended until all of it has one parent link."""
    carriers = {parents[link] for link in cluster if parents[link] not in cluster}
    while len(carriers) > 1:
        cluster = cluster | between(parents, carriers, _common(parents, carriers))
        carriers = {parents[link] for link in cluster if parents[link] not in cluster}
    return cluster


def _sharing(loops: Iterable[set[int]]) -> list[set[int]]:
    """The loops, merged where they share links."""
    clusters: dict[int, set[int]] = {}
    owner: dict[int, int] = {}
    for n, links in enumerate(loops):
        met = sorted({owner[link] for link in links if link in owner}, key=lambda g: -len(clusters[g]))
        home = met[0] if met else n
        clusters.setdefault(home, set())
        for added in (links, *(clusters.pop(g) for g in met[1:])):
            clusters[home] |= added
            owner.update(dict.fromkeys(added, home))
    return list(clusters.values())


def group_links(parents: Sequence[int], loops: Sequence[set[int]]) -> list[tuple[int, ...]]:
    """Every link in exactly one cluster, parents first."""
    clusters = [_complete(parents, links) for links in _sharing(links for links in loops if links)]
    merged = True
    while merged:
        merged = False
        for i, cluster in enumerate(clusters):
            for j in range(len(clusters) - 1, i, -1):
                if cluster & clusters[j]:
                    clusters[i] = cluster = _complete(parents, cluster | clusters.pop(j))
                    merged = True
    taken = set().union(*clusters) if clusters else set()
    clusters += [{link} for link in range(len(parents)) if link not in taken]
    return sorted((tuple(sorted(cluster)) for cluster in clusters), key=lambda cluster: cluster[0])
