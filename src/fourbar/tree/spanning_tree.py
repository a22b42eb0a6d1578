"""The spanning tree of links: what the algorithms run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..once import cached_property
from ..spatial.linear import Vec
from .links import CoupledLinks, Link, couplings


def _cut(x: Sequence[Any], sizes: Sequence[int]) -> list[Vec]:
    ends = list(accumulate(sizes))
    return [Vec(x[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


@dataclass(frozen=True)
class SpanningTree:
    """Links in an order in which parents come first; parent -1 is the ground."""

    parents: tuple[int, ...]
    links: tuple[Link, ...]

    @cached_property
    def first_v(self) -> tuple[int, ...]:
        """Number of the first velocity of each link."""
        ends = list(accumulate(c.joint.nv for c in self.links))
        return tuple(end - c.joint.nv for end, c in zip(ends, self.links, strict=True))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """For each link the one on the ground that carries it."""
        found: list[int] = []
        for i, parent in enumerate(self.parents):
            found.append(i if parent < 0 else found[parent])
        return tuple(found)

    @cached_property
    def couplings(self) -> tuple[CoupledLinks, ...]:
        """The sets of links whose velocities armature couples."""
        return couplings([c.coupled for c in self.links], [c.joint.nv for c in self.links])

    def ancestors(self, i: int) -> list[int]:
        """The links that carry link i, nearest first."""
        carriers = []
        while self.parents[i] >= 0:
            i = self.parents[i]
            carriers.append(i)
        return carriers

    @property
    def nq(self) -> int:
        return sum(c.joint.nq for c in self.links)

    @property
    def nv(self) -> int:
        return sum(c.joint.nv for c in self.links)

    def split_q(self, q: Sequence[Any]) -> list[Vec]:
        """Configuration by link."""
        return _cut(q, [c.joint.nq for c in self.links])

    def split_v(self, v: Sequence[Any]) -> list[Vec]:
        """Velocities (or forces) by link."""
        return _cut(v, [c.joint.nv for c in self.links])
