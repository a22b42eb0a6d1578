"""Of more candidates than are wanted those that are nearest to touching at the start: the feet of what stands.

What moves freely is lifted or lowered until its lowest shape touches: the others are as far away as they are higher.
Shapes of the same height, such as those of all legs, take part together or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..spatial.transform import IDENTITY, Transform
from ..tree.cluster_tree import GROUND

_LEVEL = 2e-3  # metres within which shapes are equally high


def first(
    groups: Sequence[Any], home: dict[int, Transform], roots: Sequence[int], most: int
) -> tuple[list[Any], list[str]]:
    """The nearest groups that have at most `most` candidates, in their order; and the names of the shapes of all
    others."""
    away = _distances(groups, home, roots)
    order = sorted(range(len(groups)), key=lambda k: (away[k], k))
    kept: set[int] = set()
    left = most
    while order:
        level = [k for k in order if away[k] <= away[order[0]] + _LEVEL]
        need = sum(len(groups[k].candidates) for k in level)
        if need > left:
            if kept:
                break
            level = _fitting(groups, level, left)
        kept.update(level)
        left -= need
        order = [k for k in order if k not in kept]
    skipped = [":".join(x.name for x in groups[k].shapes) for k in range(len(groups)) if k not in kept]
    return [groups[k] for k in sorted(kept)], skipped


def _fitting(groups: Sequence[Any], level: list[int], most: int) -> list[int]:
    """As many of some groups as there is room for."""
    found: list[int] = []
    for k in level:
        if len(groups[k].candidates) <= most:
            found.append(k)
            most -= len(groups[k].candidates)
    return found


def _distances(groups: Sequence[Any], home: dict[int, Transform], roots: Sequence[int]) -> list[float]:
    """How far each group is from touching."""
    poses = {GROUND: IDENTITY, **home}
    gaps = [
        min(float(x.geometry.touch(*(poses[link] for link in x.links)).gap) for x in group.candidates)
        for group in groups
    ]
    lowest: dict[int, float] = {}
    for group, gap in zip(groups, gaps, strict=True):
        if len(group.shapes) == 1:
            root = roots[group.shapes[0].link]
            lowest[root] = min(gap, lowest.get(root, gap))
    return [
        gap - lowest[roots[group.shapes[0].link]] if len(group.shapes) == 1 else max(gap, 0.0)
        for group, gap in zip(groups, gaps, strict=True)
    ]
