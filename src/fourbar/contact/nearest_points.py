"""The nearest points of a link with many that may touch terrain: slots, which are taken anew in each step.

A robot of a file has hundreds of points, of which few are near the floor at a time. Each link with more than six on
some terrain, of the same material, has six slots. In each step, and for each sample, the two points with the least gaps
take the first, and the others those that lie farthest out in four directions across the normal, if they are hardly
higher: a body that rests on many points at once stands on the same ones in every step. Impulses stay with their slots:
where a point changes its slot, the solver starts from another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..expr import maximum, select
from ..expr.pytree import rebuild
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform
from .candidates import APART, Candidate, OneOf, Touch

_LEAST = 2  # slots for the points with the least gaps
_DIRECTIONS = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))  # in which the others lie farthest out
SLOTS = _LEAST + len(_DIRECTIONS)
_SLOPE = 0.02  # how much higher a point may be, for each metre that it lies farther out


class _Entry(NamedTuple):
    """A point in a slot: the number that is compared, which point it is, and its contact."""

    score: Scalar
    number: Scalar
    touch: Touch


def _either(condition: Any, a: Any, b: Any) -> Any:
    """Entry by entry a where a condition holds, else b."""
    if isinstance(a, tuple):
        return rebuild(a.__class__, [_either(condition, x, y) for x, y in zip(a, b, strict=True)])
    return a if a is b else select(condition, a, b)


def _least(entries: Sequence[_Entry], count: int) -> list[_Entry]:
    """The entries with the least scores, the least first."""
    best: list[_Entry] = []
    for entry in entries:
        new = entry
        for j, old in enumerate(best):
            closer = new.score < old.score
            best[j], new = _either(closer, new, old), _either(closer, old, new)
        if len(best) < count:
            best.append(new)
    return best


def nearest(gaps: Sequence[Scalar], places: Sequence[Vec], touches: Sequence[Touch]) -> tuple[Touch, ...]:
    """The contacts of the points that take the slots; a point that has one already leaves the others empty.

    `places` of the points (m) are along two axes of the body across its normal at the contact.
    """
    numbered = [_Entry(gap, float(k), touch) for k, (gap, touch) in enumerate(zip(gaps, touches, strict=True))]
    found = _least(numbered, _LEAST)
    for x, y in _DIRECTIONS:
        scores = [gap - _SLOPE * (x * place[0] + y * place[1]) for gap, place in zip(gaps, places, strict=True)]
        (best,) = _least([e._replace(score=score) for e, score in zip(numbered, scores, strict=True)], 1)
        gap = best.touch.gap
        for other in found:
            gap = select(maximum(best.number - other.number, other.number - best.number) < 0.5, APART, gap)
        found.append(best._replace(touch=best.touch._replace(gap=gap)))
    return tuple(x.touch for x in found)


def _places(pose: Transform, touches: Sequence[Touch]) -> list[Vec]:
    """Where points are along two axes fixed to a body, the ones that are most across the normal of the first."""
    n = pose.unrotate(touches[0].normal)
    sizes = [x * x for x in n]
    first = sizes[0] > maximum(sizes[1], sizes[2])  # the normal is most along x: y and z lie across it
    second = sizes[1] > sizes[2]
    places = []
    for touch in touches:
        x, y, z = pose.unrotate(touch.point - pose.p)
        places.append(Vec((select(first, y, x), select(first, z, select(second, z, y)))))
    return places


@dataclass(frozen=True)
class NearestPoints:
    """The contacts of the nearest points of a link on terrain."""

    points: tuple[Any, ...]

    @property
    def terrain(self) -> Any:
        """The terrain of all points."""
        return self.points[0].terrain

    def touches(self, first: Transform, second: Transform) -> tuple[Touch, ...]:
        """The contacts, in the world."""
        start = first, second
        return self.later_touches(start, start)

    def later_touches(
        self, start: tuple[Transform, Transform], later: tuple[Transform, Transform]
    ) -> tuple[Touch, ...]:
        """The contacts at later poses of the points that have the slots at the start."""
        begin = [x.touch(*start) for x in self.points]
        end = begin if later is start else [x.touch(*later) for x in self.points]
        return nearest([x.gap for x in begin], _places(start[0], begin), end)

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
        manifold = NearestPoints(tuple(x.geometry for _, x in some))
        ground = first.name.partition(":")[2].partition(".")[0]
        begin = numbers.get((body, ground), 0)
        numbers[body, ground] = begin + SLOTS
        for k in range(SLOTS):
            name = f"{body}.nearest{begin + k}" + (f":{ground}" if ground else "")
            reach = max(x.reach for _, x in some)
            ranks.append((first.links, k, replace(first, name=name, geometry=NearestPoint(manifold, k), reach=reach)))
    return [*found, *(x for _, _, x in sorted(ranks, key=lambda x: x[:2]))]
