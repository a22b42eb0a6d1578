"""The response of a robot to impulses along rows: the Delassus matrix G = J M⁻¹ Jᵀ by the articulated-body sweeps.

Rows are written over *bases*: unit wrenches on a link (or the rows themselves where those are fewer), unit forces in a
joint. A basis is propagated inward once (Kim eq. 67-69, EFPA); all points of one foot then share its six rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithms.aba import accelerate_outward, free_inward, ground, spin
from ..algorithms.articulated import Freed, over_clusters
from ..algorithms.constrained.dynamics import add_forces
from ..algorithms.constrained.rows import RowPropagation, RowResponse, combine, gram, respond_inward, wrenches
from ..algorithms.minverse import add_rows
from ..algorithms.sweep import Sweeps
from ..spatial.linear import Mat, Vec
from ..spatial.vectors import Wrench
from ..tree.clusters import Cluster
from ..tree.states import ClusterState


class ForceBasis(NamedTuple):
    """Directions in which forces act: rows of six on a link, or (`joint`) of unit forces in its joint's velocities."""

    link: int
    rows: Any
    joint: bool = False

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def responses(self, free: FreeMotion) -> dict[int, RowResponse]:
        """The response of each cluster that these unit forces reach."""
        return free.responses(self)


class RowsOnBasis(NamedTuple):
    """A base, and rows written over it; None where they are its own."""

    base: int
    over: Any


class FreeMotion:
    """The motion of a robot without contacts, and how it answers to forces: sweeps over one state."""

    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        states: Sequence[ClusterState],
        v: Sequence[Vec],
        tau: Sequence[Vec],
        F_ext: Sequence[Wrench],
        gravity: Sequence[Any],
    ) -> None:
        self.s, self.clusters, self.states = s, clusters, states
        self.sweeps = over_clusters(s, clusters, states)
        self._ground = s.fold(ground, Vec(gravity))
        p, self.bias, left, _ = spin(s, clusters, states, v, tau, F_ext, gravity)
        self.freed: list[Freed] = self.sweeps.inward(free_inward, p, self.bias, left)
        self._hinges = [freed.hinge for freed in self.freed]
        self._nv = [cluster.embedding.nv for cluster in clusters]
        self.propagation = RowPropagation(self.sweeps, states, self._hinges)

    def path(self, link: int) -> list[int]:
        """The clusters from that of a link to the root."""
        return self.sweeps.path(link)

    def accelerations(self, wanted: Sequence[int], force: dict[int, tuple[Vec, Vec]]) -> dict[int, Vec]:
        """Accelerations of some clusters (with all that carry them), under u and w = D⁻¹ u of forces, by cluster."""
        freed = list(self.freed)
        for n, (u, w) in force.items():
            freed[n] = self.s.recorder.call(add_forces, freed[n], freed[n].hinge.drive(u, w))
        return self.sweeps.outward(accelerate_outward, self._ground, freed, self.bias, only=wanted)

    def responses(self, base: ForceBasis) -> dict[int, RowResponse]:
        """The response of each cluster that the unit forces of a basis reach."""
        on = {} if base.joint else {base.link: self.s.recorder.call(wrenches, base.rows)}
        within = {self.sweeps.home[base.link]: self._turned(base)} if base.joint else {}
        return self.sweeps.inward_from(respond_inward, on, within, add_rows, self._hinges, self._nv)

    def _turned(self, base: ForceBasis) -> tuple[Vec, ...]:
        """Unit forces in a joint as forces on the independent velocities of its cluster."""
        n = self.sweeps.home[base.link]
        e = self.states[n]
        if e.is_identity:
            return tuple(base.rows)
        return self.s.recorder.call(_tied, e.G[self.clusters[n].links.index(base.link)], tuple(base.rows))


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

    def __init__(self, free: FreeMotion, bases: Sequence[Any], blocks: Sequence[Sequence[RowsOnBasis]]) -> None:
        self.free, self.bases, self.blocks = free, bases, blocks
        self.responses = [base.responses(free) for base in bases]
        self._omega: dict[tuple[int, int], Any] = {}

    def between(self, a: int, b: int) -> Any:
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
                        middle = self.between(a.base, b.base)
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
