"""Dynamics under constraints A v = 0 on top of a tree or link tree (Kim §3), in the sweeps of the articulated body.

Forward dynamics goes inward once, outward only to where the constraints look, then along their rows inward, and outward
once more with the forces λ: the joints' own answers w are known by then, so M⁻¹ Aᵀ λ costs no sweep of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...spatial.linear import Vec
from ...spatial.solve import Factored
from ...spatial.vectors import Wrench
from ...tree.clusters import GROUND, Cluster
from ...tree.embedding import EmbeddedState
from .. import cluster_aba
from ..aba import RESTING, Accelerated, Freed, accelerate_group, free_group, ground, spin_outward
from ..cluster_aba import FreedGroup
from ..minverse import FreedCluster, FreedLink
from ..sweep import Sweeps
from .multipliers import Chosen, Multipliers, multipliers, whitened
from .rows import (
    ConstraintRows,
    Held,
    Partly,
    RowPropagation,
    RowResponse,
    Rows,
    answers,
    combine,
    evaluate_rows,
    omega,
    release_or_hold,
)


class State(NamedTuple):
    """q and v of each link's joint."""

    q: Sequence[Vec]
    v: Sequence[Vec]


class Wanted(NamedTuple):
    """How the rows should accelerate: φ̈ = target - stiffness φ - damping φ̇ (Baumgarte); `gains` are these two."""

    target: tuple[Vec, ...] | None = None
    gains: tuple[float, float] | None = None


def missing(rows: tuple[Rows, ...], wanted: Wanted) -> Vec:
    """b: by how much the accelerations of the rows differ from what is wanted."""
    found = []
    for e, own in enumerate(rows):
        b = own.acceleration
        if wanted.gains is not None:
            stiffness, damping = wanted.gains
            b = b + own.phi * stiffness + own.rate * damping
        found.extend(b if wanted.target is None else b - wanted.target[e])
    return Vec(found)


def pushed(freed: Freed, w: Vec) -> Freed:
    """A freed link, pushed by more forces."""
    return Freed(freed.hinge, freed.w + w)


def pushed_group(freed: FreedGroup, u: Vec) -> FreedGroup:
    """A freed cluster, pushed by more forces."""
    return FreedGroup(freed.W, freed.D, freed.u + u)


def by_bundle(x: Sequence[Any], bundles: Sequence[ConstraintRows]) -> tuple[Vec, ...]:
    """A vector over all rows, in parts."""
    parts, at = [], 0
    for bundle in bundles:
        parts.append(Vec(x[at : at + bundle.traced.m]))
        at += bundle.traced.m
    return tuple(parts)


def whitened_partly(released: Partly, u: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """The same as `whitened` for a cluster that is held in part."""
    return tuple(map(released.scattered, whitened(released.stack.D, tuple(map(released.freed, u)))))


class Rowed:
    """Rows of bundles at a state, and how the clusters answer to forces along them."""

    def __init__(self, reach: RowPropagation, bundles: Sequence[ConstraintRows], rows: Sequence[Rows]) -> None:
        self.reach, self.bundles, self.rows = reach, bundles, rows
        self.replies: list[dict[int, RowResponse]] = [reach.replies(b, r) for b, r in zip(bundles, rows, strict=True)]

    def omega(self) -> list[list[Any]]:
        """Ω = A M⁻¹ Aᵀ."""
        return omega(self.reach.s, self.replies, [b.traced.m for b in self.bundles])

    def multipliers(self, b: Vec, chosen: Chosen) -> Multipliers:
        """λ with Ω λ = -b."""
        rows = tuple(Vec(row) for row in self.omega())
        return self.reach.s.recorder.call(multipliers, rows, b, chosen)

    def whitened(self) -> list[list[Any]]:
        """Y with Ω = Yᵀ Y, (number of velocities) x m, as rows of scalars."""
        found: list[list[Any]] = []
        for n, cluster in enumerate(self.reach.clusters):
            columns: list[Vec] = []
            for bundle, own in zip(self.bundles, self.replies, strict=True):
                none = (Vec([0.0] * cluster.embedding.nv),) * bundle.traced.m
                columns += self._white(n, own[n]) if n in own else none
            found += [[column[i] for column in columns] for i in range(cluster.embedding.nv)]
        return found

    def _white(self, n: int, reply: RowResponse) -> tuple[Vec, ...]:
        released = self.reach.released[n]
        if isinstance(released, Held):
            return reply.u
        if isinstance(released, Partly):
            return self.reach.s.recorder.call(whitened_partly, released, reply.u)
        D: Factored = released.hinge.D if isinstance(released, FreedLink) else released.D
        return self.reach.s.recorder.call(whitened, D, reply.u)

    def combined(self, what: str, force: tuple[Vec, ...]) -> dict[int, Vec]:
        """Σ λ u or Σ λ w (`what`) of the clusters that the rows reach."""
        found = {}
        for n in sorted({n for own in self.replies for n in own}):
            used = [(getattr(own[n], what), lam) for own, lam in zip(self.replies, force, strict=True) if n in own]
            columns, forces = tuple(c for c, _ in used), tuple(lam for _, lam in used)
            found[n] = self.reach.s.recorder.call(combine, columns, forces)
        return found


class Forward:
    """Forward dynamics up to the forces of the constraints."""

    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        expanded: Sequence[EmbeddedState | None],
        bundles: Sequence[ConstraintRows],
        state: State,
        tau: Sequence[Vec],
        F_ext: Sequence[Wrench],
        gravity: Sequence[float],
    ) -> None:
        self.s, self.clusters, self.expanded, self.bundles, self.gravity = s, clusters, expanded, bundles, gravity
        self.spun = s.outward(spin_outward, RESTING, state.v, F_ext)
        messages: list[list[Any]] = [[] for _ in s.tree.parents]
        self.freed: list[Any] = [None] * len(clusters)
        for n in reversed(range(len(clusters))):
            self.freed[n] = free_group(s, clusters[n], expanded[n], messages, self.spun, tau[n])
        reach = RowPropagation(s, clusters, expanded, [self._released(n) for n in range(len(clusters))])
        a = self._unconstrained(reach.needed(bundles))
        self.rowed = Rowed(reach, bundles, evaluate_rows(s, bundles, state.q, state.v, a))

    def _released(self, n: int) -> FreedLink | FreedCluster:
        cluster, e, freed = self.clusters[n], self.expanded[n], self.freed[n]
        if e is None:
            return FreedLink(self.s.k[cluster.links[0]], freed.hinge)
        return FreedCluster(tuple(self.s.k[i] for i in cluster.links), cluster.inner, e.G, freed.W, freed.D)

    def _unconstrained(self, needed: Sequence[int]) -> list[Any]:
        """The accelerations without constraints of the joints that carry what these look at."""
        moved: dict[int, Accelerated] = {GROUND: self.s.known(ground, Vec(self.gravity))}
        found: list[Any] = [None] * len(self.s.tree.parents)
        for n in needed:
            cluster, e = self.clusters[n], self.expanded[n]
            a = accelerate_group(self.s, cluster, e, moved, self.spun, self.freed[n])
            parts = (a,) if e is None else self.s.recorder.call(cluster_aba.accelerations, e.G, e.g, a)
            for link, own in zip(cluster.links, parts, strict=True):
                found[link] = own
        return found

    def missing(self, wanted: Wanted) -> Vec:
        """b = A a + Ȧ v - (what the rows should do), for the accelerations a without constraints."""
        return self.s.recorder.call(missing, tuple(self.rowed.rows), wanted)

    def accelerations(self, force: Vec) -> list[Vec]:
        """The accelerations of all clusters under forces along the rows."""
        lam = by_bundle(force, self.bundles)
        w, u = self.rowed.combined("w", lam), self.rowed.combined("u", lam)
        call, freed = self.s.recorder.call, list(self.freed)
        for n in w:
            single = self.expanded[n] is None
            freed[n] = call(pushed, freed[n], w[n]) if single else call(pushed_group, freed[n], u[n])
        moved: dict[int, Accelerated] = {GROUND: self.s.known(ground, Vec(self.gravity))}
        pairs = zip(self.clusters, self.expanded, freed, strict=True)
        return [accelerate_group(self.s, cluster, e, moved, self.spun, x) for cluster, e, x in pairs]


class Still:
    """Rows of a robot by its configuration (and velocity) alone: no forces act but those along the rows.

    What is `held` (by cluster, for each independent velocity) answers to no force.
    """

    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        expanded: Sequence[EmbeddedState | None],
        bundles: Sequence[ConstraintRows],
        state: State,
        a: Sequence[Vec],
        held: Sequence[Sequence[bool]],
    ) -> None:
        self.s, self.clusters, self.bundles = s, clusters, bundles
        self.released = release_or_hold(s, clusters, expanded, held)
        reach = RowPropagation(s, clusters, expanded, self.released)
        self.rowed = Rowed(reach, bundles, evaluate_rows(s, bundles, state.q, state.v, a))

    def answers(self, force: Vec) -> list[Vec]:
        """M⁻¹ Aᵀ λ, by cluster."""
        w = self.rowed.combined("w", by_bundle(force, self.bundles))
        return answers(self.s, self.clusters, self.released, w)
