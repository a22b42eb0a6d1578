"""The pairs of shapes that are nearest at the start, where these have more points than a step takes.

Pairs at the same distance, such as those of an object with all fingers, take part together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..spatial.transform import IDENTITY, Transform
from ..tree.cluster_tree import GROUND
from .candidates import Candidate, OneOf, Touch
from .stacks import stack, structure

_LEVEL = 2e-3  # metres within which shapes are equally far away


class Skipped(NamedTuple):
    """The number of points of all pairs, and the names of pairs that are left out."""

    total: int
    pairs: tuple[str, ...]


def first(groups: Sequence[Any], home: dict[int, Transform], most: int) -> tuple[list[Any], Skipped]:
    """Pairs that have at most `most` points in all, in their order; and those that are left out."""
    away = [max(x, 0.0) for x in find_distances(groups, home)]  # what overlaps is as near as what touches
    kept = _levels(groups, away, most)
    missing = [":".join(x.name for x in group.shapes) for k, group in enumerate(groups) if k not in kept]
    total = sum(len(x.candidates) for x in groups)
    return [groups[k] for k in sorted(kept)], Skipped(total, tuple(dict.fromkeys(missing)))


def _levels(groups: Sequence[Any], away: Sequence[float], most: int) -> set[int]:
    """The nearest groups, by whole levels of equal distance."""
    order = sorted(range(len(groups)), key=lambda k: (away[k], k))
    kept: set[int] = set()
    while order:
        level = [k for k in order if away[k] <= away[order[0]] + _LEVEL]
        need = sum(len(groups[k].candidates) for k in level)
        if need > most:
            return kept or {*_fitting(groups, level, most)}
        kept.update(level)
        most -= need
        order = [k for k in order if k not in kept]
    return kept


def _fitting(groups: Sequence[Any], level: list[int], most: int) -> list[int]:
    """As many of some groups as there is room for."""
    found: list[int] = []
    for k in level:
        if len(groups[k].candidates) <= most:
            found.append(k)
            most -= len(groups[k].candidates)
    return found


def find_distances(groups: Sequence[Any], home: dict[int, Transform]) -> list[float]:
    """The gap of each group; manifolds of one structure are computed together."""
    poses = {GROUND: IDENTITY, **home}
    least: dict[int, float] = {}
    alike: dict[Any, list[int]] = {}
    for k, group in enumerate(groups):
        x = group.candidates[0]
        if isinstance(x.geometry, OneOf):
            parts = (x.geometry.manifold, *(poses[link] for link in x.links))
            alike.setdefault(structure(parts), []).append(k)
        else:
            least[k] = min(float(touch.gap) for touch in find_touches(group.candidates, poses))
    for ks in alike.values():
        own = [groups[k].candidates[0] for k in ks]
        first, second = (stack([poses[x.links[side]] for x in own]) for side in range(2))
        with np.errstate(all="ignore"):
            touches = stack([x.geometry.manifold for x in own]).touches(first, second)
        gaps = np.min([np.broadcast_to(x.gap, len(ks)) for x in touches], axis=0)
        least |= zip(ks, gaps.tolist(), strict=True)
    return [least[k] for k in range(len(groups))]


def find_touches(candidates: Iterable[Candidate], poses: dict[int, Transform]) -> list[Touch]:
    """The contact of each candidate; all those of two shapes are computed once."""
    manifolds: dict[Any, tuple[Touch, ...]] = {}
    touches: list[Touch] = []
    for x in candidates:
        first, second = (poses[link] for link in x.links)
        if isinstance(x.geometry, OneOf):
            key = id(x.geometry.manifold), *x.links
            if key not in manifolds:
                manifolds[key] = x.geometry.manifold.touches(first, second)
            touches.append(manifolds[key][x.geometry.k])
        else:
            touches.append(x.geometry.touch(first, second))
    return touches
