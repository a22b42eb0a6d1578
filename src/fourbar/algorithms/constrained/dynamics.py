"""Dynamics under constraints A v = 0 on top of a tree or link tree (Kim §3), in the sweeps of the articulated body.

Forward dynamics goes inward once, outward only to where the constraints look, then along their rows inward, and outward
once more with the forces λ: the joints' own answers w are known by then, so M⁻¹ Aᵀ λ costs no sweep of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...once import cached_property
from ...spatial.linear import Vec
from ...spatial.vectors import Wrench
from ...tree.clusters import Cluster
from ...tree.states import ClusterState
from ..aba import accelerate_outward, free_inward, ground, spin
from ..articulated import Freed, over_clusters
from ..sweep import Sweeps
from .multipliers import IndependentRows, Multipliers, multipliers
from .rows import (
    ConstraintRows,
    RowPropagation,
    RowResponse,
    RowValues,
    combine,
    evaluate_rows,
    omega,
    release_or_hold,
)


class JointState(NamedTuple):
    """q and v of each link's joint."""

    q: Sequence[Vec]
    v: Sequence[Vec]


class Wanted(NamedTuple):
    """Desired accelerations of the rows: φ̈ = target - stiffness φ - damping φ̇ (Baumgarte); `gains` are these two."""

    target: tuple[Vec, ...] | None = None
    gains: tuple[float, float] | None = None


def missing(rows: tuple[RowValues, ...], wanted: Wanted) -> Vec:
    """b: by how much the accelerations of the rows differ from what is wanted."""
    differences = []
    for e, values in enumerate(rows):
        b = values.acceleration
        if wanted.gains is not None:
            stiffness, damping = wanted.gains
            b = b + values.phi * stiffness + values.rate * damping
        differences.extend(b if wanted.target is None else b - wanted.target[e])
    return Vec(differences)


def add_forces(freed: Freed, more: Vec) -> Freed:
    """A freed cluster with additional forces."""
    return Freed(freed.hinge, freed.drive + more)


def whiten(cluster: Any, hinge: Any, u: tuple[Vec, ...]) -> tuple[Vec, ...]:
    """D^-½ u for each row u: then Ω = Σ of their products, and its factor is known without squaring."""
    return tuple(cluster.whiten(hinge, row) for row in u)


def by_group(x: Sequence[Any], groups: Sequence[ConstraintRows]) -> tuple[Vec, ...]:
    """A vector over all rows, in parts."""
    parts, at = [], 0
    for group in groups:
        parts.append(Vec(x[at : at + group.traced.m]))
        at += group.traced.m
    return tuple(parts)


class Rowed:
    """Groups of rows at a state, and the responses of the clusters to forces along them."""

    def __init__(self, reach: RowPropagation, groups: Sequence[ConstraintRows], rows: Sequence[RowValues]) -> None:
        self.reach, self.groups, self.rows = reach, groups, rows
        self.replies: list[dict[int, RowResponse]] = [reach.replies(b, r) for b, r in zip(groups, rows, strict=True)]

    @cached_property
    def _omega(self) -> list[list[Any]]:
        return omega(self.reach.s, self.replies, [b.traced.m for b in self.groups])

    def omega(self) -> list[list[Any]]:
        """Ω = A M⁻¹ Aᵀ, recorded once."""
        return self._omega

    def multipliers(self, b: Vec, chosen: IndependentRows) -> Multipliers:
        """λ with Ω λ = -b."""
        rows = tuple(Vec(row) for row in self.omega())
        return self.reach.s.recorder.call(multipliers, rows, b, chosen)

    def whitened_rows(self) -> list[list[Any]]:
        """Y with Ω = Yᵀ Y, (number of velocities) x m, as rows of scalars."""
        Y: list[list[Any]] = []
        for n, cluster in enumerate(self.reach.clusters):
            columns: list[Vec] = []
            for group, own in zip(self.groups, self.replies, strict=True):
                none = (Vec([0.0] * cluster.embedding.nv),) * group.traced.m
                columns += self._white(n, own[n]) if n in own else none
            Y += [[column[i] for column in columns] for i in range(cluster.embedding.nv)]
        return Y

    def _white(self, n: int, reply: RowResponse) -> tuple[Vec, ...]:
        return self.reach.sweeps.nodes[n].step(whiten, self.reach.hinges[n], reply.u)

    def combine(self, what: str, force: tuple[Vec, ...]) -> dict[int, Vec]:
        """Σ λ u or Σ λ w (`what`) of the clusters that the rows reach."""
        sums = {}
        for n in sorted({n for own in self.replies for n in own}):
            used = [(getattr(own[n], what), lam) for own, lam in zip(self.replies, force, strict=True) if n in own]
            columns, forces = tuple(c for c, _ in used), tuple(lam for _, lam in used)
            sums[n] = self.reach.s.recorder.call(combine, columns, forces)
        return sums


class ForwardDynamics:
    """Forward dynamics up to the forces of the constraints."""

    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        states: Sequence[ClusterState],
        groups: Sequence[ConstraintRows],
        state: JointState,
        tau: Sequence[Vec],
        F_ext: Sequence[Wrench],
        gravity: Sequence[float],
    ) -> None:
        self.s, self.states, self.groups = s, states, groups
        self.sweeps = over_clusters(s, clusters, states)
        self._ground = s.fold(ground, Vec(gravity))
        p, self.bias, left, _ = spin(s, clusters, states, state.v, tau, F_ext, gravity)
        self.freed: list[Freed] = self.sweeps.inward(free_inward, p, self.bias, left)
        reach = RowPropagation(self.sweeps, states, [freed.hinge for freed in self.freed])
        a = self._unconstrained_accelerations(reach.needed_clusters(groups))
        self.rowed = Rowed(reach, groups, evaluate_rows(s, groups, state.q, state.v, a))

    def _unconstrained_accelerations(self, needed: Sequence[int]) -> list[Any]:
        """The accelerations without constraints of the joints that carry what these look at."""
        by_link: list[Any] = [None] * len(self.s.tree.parents)
        for n, a in self._accelerate(self.freed, needed).items():
            parts = self.states[n].accelerations(self.s.recorder.call, a)
            for link, own in zip(self.sweeps.clusters[n].links, parts, strict=True):
                by_link[link] = own
        return by_link

    def _accelerate(self, freed: Sequence[Freed], only: Sequence[int] | None = None) -> dict[int, Vec]:
        return self.sweeps.outward(accelerate_outward, self._ground, freed, self.bias, only=only)

    def missing(self, wanted: Wanted) -> Vec:
        """b = A a + Ȧ v - (what the rows should do), for the accelerations a without constraints."""
        return self.s.recorder.call(missing, tuple(self.rowed.rows), wanted)

    def accelerations(self, force: Vec) -> list[Vec]:
        """The accelerations of all clusters under forces along the rows."""
        lam = by_group(force, self.groups)
        w, u = self.rowed.combine("w", lam), self.rowed.combine("u", lam)
        freed = list(self.freed)
        for n in w:
            freed[n] = self.s.recorder.call(add_forces, freed[n], freed[n].hinge.drive(u[n], w[n]))
        return list(self._accelerate(freed).values())


class Still:
    """Rows of a robot by its configuration (and velocity) alone: no forces act but those along the rows.

    What is `held` (by cluster, for each independent velocity) answers to no force.
    """

    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        states: Sequence[ClusterState],
        groups: Sequence[ConstraintRows],
        state: JointState,
        a: Sequence[Vec],
        held: Sequence[Sequence[bool]],
    ) -> None:
        self.groups = groups
        self.released = release_or_hold(s, clusters, states, held)
        reach = RowPropagation(self.released.sweeps, states, self.released.hinges)
        self.rowed = Rowed(reach, groups, evaluate_rows(s, groups, state.q, state.v, a))

    def answers(self, force: Vec) -> list[Vec]:
        """M⁻¹ Aᵀ λ, by cluster."""
        w = self.rowed.combine("w", by_group(force, self.groups))
        return self.released.answers([w.get(n, Vec([0.0] * nv)) for n, nv in enumerate(self.released.nv)])
