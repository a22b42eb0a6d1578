"""Which links a loop ties together. Integers only: links are numbered parents first, -1 is the ground.

The links between a loop and the nearest link that carries all of it form a group; loops that share links share a group.
Seen from outside a group hangs on one link, so groups form a tree (Chignoli §III).
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
    """The nearest link that carries (or is) all given ones."""
    paths = [_path(parents, link) for link in links]
    shared = set(paths[0]).intersection(*paths[1:])
    return max(shared)


def _between(parents: Sequence[int], links: Iterable[int], top: int) -> set[int]:
    """All links on the way from the given ones to `top`, without it."""
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
    return _between(parents, [*moved, *touched], _common(parents, ends))


def _complete(parents: Sequence[int], group: set[int]) -> set[int]:
    """The group, extended until all of it hangs on one link."""
    carriers = {parents[link] for link in group if parents[link] not in group}
    while len(carriers) > 1:
        group = group | _between(parents, carriers, _common(parents, carriers))
        carriers = {parents[link] for link in group if parents[link] not in group}
    return group


def _sharing(loops: Iterable[set[int]]) -> list[set[int]]:
    """The loops, those that share links made one."""
    groups: dict[int, set[int]] = {}
    owner: dict[int, int] = {}
    for n, links in enumerate(loops):
        met = sorted({owner[link] for link in links if link in owner}, key=lambda g: -len(groups[g]))
        home = met[0] if met else n
        groups.setdefault(home, set())
        for added in (links, *(groups.pop(g) for g in met[1:])):
            groups[home] |= added
            owner.update(dict.fromkeys(added, home))
    return list(groups.values())


def group_links(parents: Sequence[int], loops: Sequence[set[int]]) -> list[tuple[int, ...]]:
    """Every link in exactly one group, groups in an order in which what carries comes first."""
    groups = [_complete(parents, links) for links in _sharing(links for links in loops if links)]
    merged = True
    while merged:
        merged = False
        for i, group in enumerate(groups):
            for j in range(len(groups) - 1, i, -1):
                if group & groups[j]:
                    groups[i] = group = _complete(parents, group | groups.pop(j))
                    merged = True
    taken = set().union(*groups) if groups else set()
    groups += [{link} for link in range(len(parents)) if link not in taken]
    return sorted((tuple(sorted(group)) for group in groups), key=lambda group: group[0])
