"""The inverse mass matrix M⁻¹(q) in O(n²), from articulated inertias; M itself is never formed.

Column j is the acceleration of everything by a unit force in j. The force reaches the clusters that carry j (inward
along one path), and the acceleration spreads from the root. By symmetry only clusters up to that of j are visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..spatial.linear import Vec
from ..spatial.vectors import Twist, Wrench
from ..tree.clusters import Cluster
from ..tree.states import ClusterState
from .articulated import over_clusters
from .sweep import CarrierMessages, ClusterSweeps, Hung, Outcome, Sweeps

Columns = tuple[Vec, ...]  # one for each force


def release_inward(cluster: Any, children: Hung) -> Outcome:
    """IA = I + Σ Xᵀ Ia X;  U = IA S;  D = Sᵀ U;  Ia = IA - U D⁻¹ Uᵀ."""
    return cluster.release(children)


def push_rows_inward(
    cluster: Any, on: tuple[tuple[Wrench, ...] | None, ...], tau: Columns | None, hinge: Any, nv: int
) -> tuple[Columns, Columns, tuple[tuple[Wrench, ...], ...]]:
    """u, w = D⁻¹ u and pa (by carrier) for several forces at once: `on` are biases by link and force, `tau` act in the
    joints.
    """
    sent = next(len(x) for x in (tau, *on) if x is not None)
    none = (Vec([0.0] * nv),) * sent
    found = []
    for r, own in enumerate(none if tau is None else tau):
        found.append(cluster.push(hinge, [Wrench.zero() if x is None else x[r] for x in on], own))
    return tuple(x.u for x in found), tuple(x.w for x in found), tuple(zip(*(x.pa for x in found), strict=True))


def push_units_inward(
    cluster: Any, hinge: Any, on: tuple[tuple[Wrench, ...] | None, ...], tau: Columns | None, nv: int
) -> Outcome:
    """`push_rows_inward` without u."""
    _, w, pa = push_rows_inward(cluster, on, tau, hinge, nv)
    return Outcome(w, pa)


def add_rows(a: tuple[Wrench, ...], b: tuple[Wrench, ...]) -> tuple[Wrench, ...]:
    """Sum by force."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def answer_rows_outward(cluster: Any, hinge: Any, above: tuple[tuple[Twist, ...], ...], w: Columns) -> Outcome:
    """a = w - D⁻¹ Uᵀ A' and the links' accelerations, for several forces; where none of them reaches, w = 0.

    `above` are the accelerations of the carriers, of each for every force.
    """
    found = [cluster.answer(hinge, x, A) for x, A in zip(w, zip(*above, strict=True), strict=True)]
    return Outcome(tuple(a for a, _ in found), tuple(zip(*(moved for _, moved in found), strict=True)))


def push_inward(cluster: Any, hinge: Any, children: Hung, tau: Vec) -> Outcome:
    """w = D⁻¹ (τ - Sᵀ pA), and the forces pa on the carriers."""
    _, w, pa = cluster.push(hinge, tuple(sum(sent, Wrench.zero()) for sent in children.on), tau)
    return Outcome(w, CarrierMessages(pa))


def answer_outward(cluster: Any, hinge: Any, above: tuple[Twist, ...], w: Vec) -> Outcome:
    """a = w - D⁻¹ Uᵀ A', and the accelerations of the links."""
    return cluster.answer(hinge, w, above)


class Released:
    """All clusters of a tree with their joints free."""

    def __init__(self, sweeps: ClusterSweeps) -> None:
        self.sweeps = sweeps
        self.hinges = sweeps.inward(release_inward)
        self.nv = [cluster.embedding.nv for cluster in sweeps.clusters]
        self._hinged = sweeps.keeping(self.hinges)

    def solve(self, tau: Sequence[Vec]) -> list[Vec]:
        """M⁻¹ τ by cluster, in O(n)."""
        w = self._hinged.inward(push_inward, tau)
        return self.answers(w)

    def answers(self, w: Sequence[Vec]) -> list[Vec]:
        """The accelerations that the clusters' own responses w cause outward, by cluster."""
        return list(self._hinged.outward(answer_outward, Twist.zero(), w).values())

    def columns(self, n: int) -> dict[int, Columns]:
        """M⁻¹ of unit forces in cluster n: accelerations of the clusters up to n that share its root."""
        sweeps, nv = self._hinged, self.nv
        units = tuple(Vec([1.0 if i == j else 0.0 for i in range(nv[n])]) for j in range(nv[n]))
        if not units:
            return {}
        pushed = sweeps.inward_from(push_units_inward, {}, {n: units}, add_rows, nv)
        (root,) = (m for m in pushed if sweeps.clusters[m].carriers[0] < 0)
        reached = [m for m in range(n + 1) if sweeps.path(sweeps.clusters[m].links[0])[-1] == root]
        w = {m: pushed.get(m, (Vec([0.0] * nv[m]),) * nv[n]) for m in reached}
        still = (Twist.zero(),) * nv[n]
        return sweeps.outward(answer_rows_outward, still, w, only=reached)


def release_all(s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState]) -> Released:
    """Every cluster released."""
    return Released(over_clusters(s, clusters, states))


def inverse_mass_matrix(s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState]) -> list[list[Any]]:
    """M⁻¹ as rows of scalars."""
    released = release_all(s, clusters, states)
    first = [sum(released.nv[:n]) for n in range(len(clusters) + 1)]
    M: list[list[Any]] = [[0.0] * first[-1] for _ in range(first[-1])]
    for n in range(len(clusters)):
        for m, columns in released.columns(n).items():
            for b, column in enumerate(columns):
                for a, x in enumerate(column):
                    row, at = first[m] + a, first[n] + b
                    if row <= at:
                        M[row][at] = M[at][row] = x
    return M
