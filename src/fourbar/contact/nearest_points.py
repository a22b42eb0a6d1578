"""The nearest points of a link with many that may touch terrain: slots which those with the least gaps take, each step.

A robot of a file has hundreds of points, of which few are near the floor at a time. Each link with more than four on
some terrain, of the same material, has four slots: as many as hold a box at rest on a plane. In each step, and for each
sample, the points with the least gaps take them, the nearest one the first. Impulses stay with their slots: if a point
changes its slot, the solver starts from another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..expr import select
from ..expr.pytree import rebuild
from ..spatial.linear import Scalar
from ..spatial.transform import Transform
from .candidates import Candidate, OneOf, Touch

SLOTS = 4  # of a link on some terrain: as many points as hold a box at rest


class _Entry(NamedTuple):
    """A point in a slot: the gap that is compared, and its contact."""

    gap: Scalar
    touch: Touch


def _either(condition: Any, a: Any, b: Any) -> Any:
    """Entry by entry a where a condition holds, else b."""
    if isinstance(a, tuple):
        return rebuild(a.__class__, [_either(condition, x, y) for x, y in zip(a, b, strict=True)])
    return a if a is b else select(condition, a, b)


def nearest(gaps: Sequence[Scalar], touches: Sequence[Touch], count: int) -> tuple[Touch, ...]:
    """The contacts with the least gaps, the least first."""
    best: list[_Entry] = []
    for entry in zip(gaps, touches, strict=True):
        new = _Entry(*entry)
        for j, old in enumerate(best):
            closer = new.gap < old.gap
            best[j], new = _either(closer, new, old), _either(closer, old, new)
        if len(best) < count:
            best.append(new)
    return tuple(x.touch for x in best)


@dataclass(frozen=True)
class NearestPoints:
    """The contacts of the nearest points of a link on terrain."""

    points: tuple[Any, ...]
    count: int

    @property
    def terrain(self) -> Any:
        """The terrain of all points."""
        return self.points[0].terrain

    def touches(self, first: Transform, second: Transform) -> tuple[Touch, ...]:
        """The contacts, in the world."""
        touches = [x.touch(first, second) for x in self.points]
        return nearest([x.gap for x in touches], touches, self.count)

    def later_touches(
        self, start: tuple[Transform, Transform], later: tuple[Transform, Transform]
    ) -> tuple[Touch, ...]:
        """The contacts at later poses of the points that are nearest at the start."""
        gaps = [x.touch(*start).gap for x in self.points]
        return nearest(gaps, [x.touch(*later) for x in self.points], self.count)

    def on(self, terrain: Any) -> NearestPoints:
        """The same points on other terrain."""
        return replace(self, points=tuple(replace(x, terrain=terrain) for x in self.points))


@dataclass(frozen=True)
class NearestPoint(OneOf):
    """One of the nearest points of a link on terrain."""

    @property
    def terrain(self) -> Any:
        """The terrain that it is on."""
        return self.manifold.terrain

    @property
    def steady(self) -> bool:
        """Whether gaps change by velocities along the normal alone."""
        return all(x.steady for x in self.manifold.points)

    def on(self, terrain: Any) -> NearestPoint:
        """The same point on other terrain."""
        return replace(self, manifold=self.manifold.on(terrain))


def slots(named: Iterable[tuple[str, Candidate]]) -> list[Candidate]:
    """Candidates on terrain, in which links with many have slots; `named`: with the name of the body of each."""
    alike: dict[Any, list[tuple[str, Candidate]]] = {}
    for body, x in named:
        key = replace(x, name="", geometry=None, reach=0.0), x.steady, x.kind.lever if x.torsion or x.rolling else 0.0  # type: ignore[arg-type]
        alike.setdefault(key, []).append((body, x))
    found: list[Candidate] = []
    ranks: list[tuple[tuple[int, int], int, Candidate]] = []  # of slots: links, rank, candidate
    numbers: dict[tuple[str, Any], int] = {}
    for some in alike.values():
        if len(some) <= SLOTS:
            found += [x for _, x in some]
            continue
        body, first = some[0]
        manifold = NearestPoints(tuple(x.geometry for _, x in some), SLOTS)
        ground = first.name.partition(":")[2].partition(".")[0]
        begin = numbers.get((body, ground), 0)
        numbers[body, ground] = begin + SLOTS
        for k in range(SLOTS):
            name = f"{body}.nearest{begin + k}" + (f":{ground}" if ground else "")
            reach = max(x.reach for _, x in some)
            ranks.append((first.links, k, replace(first, name=name, geometry=NearestPoint(manifold, k), reach=reach)))
    return [*found, *(x for _, _, x in sorted(ranks, key=lambda x: x[:2]))]
