"""The spanning tree of links: what the algorithms run on; and its joints whose rates may be dependent, as at gimbal
lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from ..expr.pytree import leaves
from ..joints.base import Joint, suspect_columns
from ..once import cached_property
from ..spatial.linear import Vec, is_zero
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


class Locking(NamedTuple):
    """A joint whose rates may be dependent, as at gimbal lock: its position in a cluster, and which columns of S are.

    Of a massless link, the columns of S of all links in series from it to one that has inertia, `below`. Loops that
    only see where bodies are do not prevent this: rates that move nothing leave them closed. Those that use the
    coordinates of the joint, `tied`, may.
    """

    place: int
    suspect: tuple[tuple[int, ...], ...]
    below: tuple[int, ...] = ()
    tied: bool = False


def locking(joints: Sequence[Joint], tied: Container[int] = ()) -> tuple[Locking, ...]:
    """The joints whose rates may be dependent; loops use the coordinates of those at the positions `tied`."""
    found = [Locking(b, suspect_columns(joint), (), b in tied) for b, joint in enumerate(joints)]
    return tuple(own for own in found if own.suspect)


def _massless_chains(tree: SpanningTree, alone: Container[int]) -> dict[int, tuple[int, ...]]:
    """By massless link the links in series up to the first one with inertia, of links that are clusters of one: all
    that moves when all of them move is that one."""
    count = Counter(tree.parents)
    sole = {parent: i for i, parent in enumerate(tree.parents) if count[parent] == 1}
    hollow = {i for i, link in enumerate(tree.links) if i in sole and all(map(is_zero, leaves(link.I)))}
    chains: dict[int, tuple[int, ...]] = {}
    for i in sorted(hollow, reverse=True):
        if i in alone and sole[i] in alone:
            chains[i] = (sole[i], *chains.pop(sole[i], ()))
    return {i: own for i, own in chains.items() if own[-1] not in hollow}


def series_joint(tree: SpanningTree, links: Sequence[int]) -> Joint:
    """The joints of links in series as one joint, its coordinates those of all."""
    from ..joints.composite import Composite  # which few robots need

    own = [tree.links[i] for i in links]
    return Composite.redundant(own[0].joint, *(part for link in own[1:] for part in (link.placement, link.joint)))


def chain_locking(tree: SpanningTree, alone: Container[int]) -> dict[int, Locking]:
    """By the first link of a massless chain, the sets of columns of all its links that may be dependent."""
    locks = {}
    for first, below in _massless_chains(tree, alone).items():
        suspect = suspect_columns(series_joint(tree, (first, *below)))
        if suspect:
            locks[first] = Locking(0, suspect, below)
    return locks
