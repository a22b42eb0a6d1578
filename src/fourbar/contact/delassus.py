"""How impulses along rows move a robot: the Delassus matrix G = J M⁻¹ Jᵀ by the sweeps of the articulated body.

Rows are written over *bases*: unit wrenches on a link (or the rows themselves where those are fewer), unit forces in a
joint. A base is felt inward once (Kim eq. 67-69, EFPA); what many points of one foot need is then its six rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithms.aba import RESTING, Accelerated, accelerate_group, free_group, ground, spin_outward
from ..algorithms.constrained.dynamics import pushed, pushed_group
from ..algorithms.constrained.rows import RowResponse, combine, gram, push_group, wrenches
from ..algorithms.minverse import FreedCluster, FreedLink
from ..algorithms.sweep import Sweeps
from ..spatial.linear import Mat, Vec
from ..spatial.vectors import Wrench
from ..tree.clusters import GROUND, Cluster
from ..tree.embedding import EmbeddedState


class Base(NamedTuple):
    """Directions in which forces act: rows of six on a link, or (`joint`) of unit forces in its joint's velocities."""

    link: int
    rows: Any
    joint: bool = False

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.rows)


class Part(NamedTuple):
    """A base, and rows written over it; None where they are its own."""

    base: int
    over: Any


class FreeMotion:
    """The motion of a robot without contacts, and how it answers to forces: sweeps over one state."""

    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        expanded: Sequence[EmbeddedState | None],
        v: Sequence[Vec],
        tau: Sequence[Vec],
        F_ext: Sequence[Wrench],
        gravity: Sequence[Any],
    ) -> None:
        self.s, self.clusters, self.expanded, self.gravity = s, clusters, expanded, gravity
        self.home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}
        self.spun = s.outward(spin_outward, RESTING, v, F_ext)
        messages: list[list[Any]] = [[] for _ in s.tree.parents]
        self.freed: list[Any] = [None] * len(clusters)
        for n in reversed(range(len(clusters))):
            self.freed[n] = free_group(s, clusters[n], expanded[n], messages, self.spun, tau[n])
        self.released = [self._released(n) for n in range(len(clusters))]

    def _released(self, n: int) -> FreedLink | FreedCluster:
        cluster, e, freed = self.clusters[n], self.expanded[n], self.freed[n]
        if e is None:
            return FreedLink(self.s.k[cluster.links[0]], freed.hinge)
        return FreedCluster(tuple(self.s.k[i] for i in cluster.links), cluster.inner, e.G, freed.W, freed.D)

    def path(self, link: int) -> list[int]:
        """The clusters from that of a link to the root."""
        found = []
        while link >= 0:
            found.append(self.home[link])
            link = self.clusters[found[-1]].carrier
        return found

    def accelerations(self, wanted: Sequence[int], force: dict[int, tuple[Vec, Vec]]) -> dict[int, Vec]:
        """Of some clusters (those that carry them among these), under u and w = D⁻¹ u of forces, by cluster."""
        call, freed = self.s.recorder.call, list(self.freed)
        for n, (u, w) in force.items():
            single = self.expanded[n] is None
            freed[n] = call(pushed, freed[n], w) if single else call(pushed_group, freed[n], u)
        moved: dict[int, Accelerated] = {GROUND: self.s.known(ground, Vec(self.gravity))}
        return {
            n: accelerate_group(self.s, self.clusters[n], self.expanded[n], moved, self.spun, freed[n]) for n in wanted
        }

    def responses(self, base: Base) -> dict[int, RowResponse]:
        """What the unit forces of a base leave in each cluster that they reach."""
        call, link, found = self.s.recorder.call, base.link, {}
        felt: Any = None
        if not base.joint:
            felt = call(wrenches, base.rows)
        first = True
        while link >= 0:
            n = self.home[link]
            cluster = self.clusters[n]
            tau = self._turned(base) if first and base.joint else (Vec([0.0] * cluster.embedding.nv),) * base.size
            on = tuple(felt if own == link else None for own in cluster.links)
            found[n], felt = call(push_group, self.released[n], on, tau)
            link, first = cluster.carrier, False
        return found

    def _turned(self, base: Base) -> tuple[Vec, ...]:
        """Unit forces in a joint as forces on the independent velocities of its cluster."""
        n = self.home[base.link]
        cluster, e = self.clusters[n], self.expanded[n]
        if e is None:
            return tuple(base.rows)
        return self.s.recorder.call(_tied, e.G[cluster.links.index(base.link)], tuple(base.rows))


def _tied(G: Mat, rows: tuple[Vec, ...]) -> tuple[Vec, ...]:
    return tuple(G.transpose_times(row) for row in rows)


def congruent(left: Any, middle: Mat, right: Any) -> Mat:
    """L Ω Rᵀ; None stands for the identity."""
    found = middle if left is None else Mat(left) @ middle
    return found if right is None else found @ Mat(right).T


def added(a: Mat, b: Mat) -> Mat:
    """Sum."""
    return a + b


def spread(rows: Any, impulse: Vec) -> Vec:
    """Impulses along rows as impulses on a base: Cᵀ λ."""
    return Vec(impulse) if rows is None else Mat(rows).transpose_times(impulse)


def together(*parts: Vec) -> Vec:
    """Sum of vectors."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class Delassus:
    """G of blocks of rows over bases, and what impulses along them do."""

    def __init__(self, free: FreeMotion, bases: Sequence[Base], blocks: Sequence[Sequence[Part]]) -> None:
        self.free, self.bases, self.blocks = free, bases, blocks
        self.responses = [free.responses(base) for base in bases]
        self._omega: dict[tuple[int, int], Any] = {}

    def _between(self, a: int, b: int) -> Any:
        """Ω of two bases; None if they do not feel each other."""
        if (a, b) in self._omega:
            return self._omega[a, b]
        call = self.free.s.recorder.call
        if (b, a) in self._omega:
            known = self._omega[b, a]
            found = None if known is None else known.T
        else:
            own, other = self.responses[a], self.responses[b]
            shared = [n for n in own if n in other]
            found = call(gram, tuple(own[n] for n in shared), tuple(other[n] for n in shared)) if shared else None
        self._omega[a, b] = found
        return found

    def matrix(self, sizes: Sequence[int]) -> list[list[Any]]:
        """G as rows of scalars, symmetric to the last bit."""
        call, total = self.free.s.recorder.call, sum(sizes)
        full: list[list[Any]] = [[0.0] * total for _ in range(total)]
        first = [sum(sizes[:k]) for k in range(len(sizes))]
        for k, own in enumerate(self.blocks):
            for m, other in enumerate(self.blocks[: k + 1]):
                block: Any = None
                for a in own:
                    for b in other:
                        middle = self._between(a.base, b.base)
                        if middle is None:
                            continue
                        direct = a.over is None and b.over is None
                        term = middle if direct else call(congruent, a.over, middle, b.over)
                        block = term if block is None else call(added, block, term)
                for i, row in enumerate(block or ()):
                    for j, x in enumerate(row):
                        at, to = first[k] + i, first[m] + j
                        if at >= to:
                            full[at][to] = full[to][at] = x
        return full

    def forces(self, impulses: Sequence[Vec]) -> dict[int, tuple[Vec, Vec]]:
        """u and w of all clusters that impulses (by block) reach."""
        call = self.free.s.recorder.call
        on: dict[int, list[Vec]] = {}
        for parts, impulse in zip(self.blocks, impulses, strict=True):
            for part in parts:
                on.setdefault(part.base, []).append(call(spread, part.over, impulse))
        acting = {base: parts[0] if len(parts) == 1 else call(together, *parts) for base, parts in on.items()}
        found = {}
        for n in sorted({n for base in acting for n in self.responses[base]}):
            used = [(self.responses[base][n], x) for base, x in acting.items() if n in self.responses[base]]
            force = tuple(x for _, x in used)
            u = call(combine, tuple(own.u for own, _ in used), force)
            w = call(combine, tuple(own.w for own, _ in used), force)
            found[n] = (u, w)
        return found
