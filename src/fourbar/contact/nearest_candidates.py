"""The most relevant candidates where there are too many: feet that stand, and points that keep the rest above ground.

What moves freely is lifted or lowered until its lowest shape touches: the others are as far away as they are higher.
A robot on terrain touches with all points of its lowest shapes, and where it falls with points of the others that lie
far from each other. Where objects may also touch each other the nearest shapes take part, those of the same height,
such as those of all legs, together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..spatial.transform import IDENTITY, Transform
from ..tree.cluster_tree import GROUND
from .candidates import Candidate, OneOf, Touch
from .rims import RimPoint
from .stacks import stack, structure

_LEVEL = 2e-3  # metres within which shapes are equally high


class Skipped(NamedTuple):
    """Candidates that are left out, of `total`, chosen by whole levels of height or not (`by_level`): pairs of shapes,
    shapes that have no point left on some terrain, and shapes that have some points left there, all by name."""

    total: int
    by_level: bool
    pairs: tuple[str, ...]
    whole: tuple[str, ...]
    partly: tuple[str, ...]

    @classmethod
    def of(cls, groups: Sequence[Any], kept: dict[int, list[Candidate]]) -> Skipped:
        """The groups that miss candidates, where `kept` has those that are simulated, by the number of the group."""
        missing = [k for k, x in enumerate(groups) if len(kept.get(k, ())) < len(x.candidates)]
        names = {k: ":".join(x.name for x in groups[k].shapes) for k in missing}
        on_terrain = [k for k in missing if len(groups[k].shapes) == 1]
        pairs = [k for k in missing if len(groups[k].shapes) > 1]
        whole, partly = [k for k in on_terrain if k not in kept], [k for k in on_terrain if k in kept]
        listed = (tuple(dict.fromkeys(names[k] for k in some)) for some in (pairs, whole, partly))
        return cls(sum(len(x.candidates) for x in groups), _by_level(groups), *listed)


def first(
    groups: Sequence[Any], home: dict[int, Transform], roots: Sequence[int], most: int
) -> tuple[list[Any], Skipped]:
    """Groups that have at most `most` candidates in all, in their order; and those that are left out."""
    away = find_distances(groups, home)
    lowest = _lowest(groups, away, roots)
    heights = [x - lowest[roots[g.shapes[0].link]] if len(g.shapes) == 1 else max(x, 0.0) for g, x in
               zip(groups, away, strict=True)]  # fmt: skip
    if _by_level(groups):
        kept = {k: list(groups[k].candidates) for k in _levels(groups, heights, most)}
    else:
        kept = _spread(groups, heights, home, most)
    return [groups[k]._replace(candidates=kept[k]) for k in sorted(kept)], Skipped.of(groups, kept)


def _by_level(groups: Sequence[Any]) -> bool:
    """Whether whole levels of equal height are chosen: where objects may touch each other."""
    return any(len(group.shapes) > 1 for group in groups)


def _levels(groups: Sequence[Any], away: Sequence[float], most: int) -> set[int]:
    """The nearest groups, by whole levels of equal height."""
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


def _spread(
    groups: Sequence[Any], away: Sequence[float], home: dict[int, Transform], most: int
) -> dict[int, list[Candidate]]:
    """The lowest groups, and of the others one unit after another: always that which is farthest from all before."""
    low = [k for k in range(len(groups)) if away[k] <= min(away) + _LEVEL]
    if sum(len(groups[k].candidates) for k in low) > most:
        low = _fitting(groups, low, most)
    owned = [(k, unit) for k, group in enumerate(groups) for unit in _units(group.candidates)]
    sizes = np.array([len(unit) for _, unit in owned])
    poses = {GROUND: IDENTITY, **home}
    touches = find_touches((unit[0] for _, unit in owned), poses)
    points = np.array([[float(part) for part in touch.point] for touch in touches])
    chosen = [i for i, (k, _) in enumerate(owned) if k in low]
    apart = np.linalg.norm(points[:, None] - points[chosen], axis=-1).min(axis=1, initial=np.inf)
    left = most - int(sizes[chosen].sum())
    apart[chosen] = -1.0
    while (apart[sizes <= left] >= 0.0).any():
        i = int(np.argmax(np.where(sizes <= left, apart, -1.0)))
        chosen.append(i)
        left -= int(sizes[i])
        apart = np.minimum(apart, np.linalg.norm(points - points[i], axis=-1))
        apart[chosen] = -1.0
    kept: dict[int, list[Candidate]] = {}
    for i in sorted(chosen):
        kept.setdefault(owned[i][0], []).extend(owned[i][1])
    return kept


def _units(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates that are simulated together or not at all, the lowest first: the points of a rim. Without the lowest
    point the others run along the rim, and a cylinder sinks until they are low."""
    units: dict[Any, list[Candidate]] = {}
    for k, x in enumerate(candidates):
        rim = x.geometry
        units.setdefault((rim.centre, rim.axis, rim.radius) if isinstance(rim, RimPoint) else k, []).append(x)
    return list(units.values())


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


def _lowest(groups: Sequence[Any], gaps: Sequence[float], roots: Sequence[int]) -> dict[int, float]:
    """The least gap to terrain of what moves with each root."""
    found: dict[int, float] = {}
    for group, gap in zip(groups, gaps, strict=True):
        if len(group.shapes) == 1:
            root = roots[group.shapes[0].link]
            found[root] = min(gap, found.get(root, gap))
    return found
