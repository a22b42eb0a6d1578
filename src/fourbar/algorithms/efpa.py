"""The inverse operational-space inertia Ω = J M⁻¹ Jᵀ of many frames (EFPA and C-EFPA, Chignoli §VIII).

A unit force somewhere reaches a frame through the link that carries both. With the propagator P of a link (A = P A_λ
for the acceleration A_λ of what carries it, when nothing else acts) and Ω_b = P Ω_λ Pᵀ + S D⁻¹ Sᵀ of each link on the
way, the block of two frames is  eχ Ω fχᵀ  at the place where their paths meet. O(n + frames · depth + frames²).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist
from ..tree.cluster_tree import Location
from ..tree.clusters import Cluster
from ..tree.states import ClusterState
from .constrained.rows import assemble
from .kinematics import along, place_outward
from .minverse import release_all
from .sweep import Sweeps


class Propagators(NamedTuple):
    """The links of a cluster: their propagators P by carrier, and the square blocks 𝖲 D⁻¹ 𝖲ᵀ between two of them."""

    P: tuple[tuple[Mat, ...], ...]
    own: tuple[tuple[Mat, ...], ...]


def _unit_twists() -> list[Twist]:
    return [Twist.of(Vec([1.0 if i == j else 0.0 for i in range(6)])) for j in range(6)]


def propagators(cluster: Any, hinge: Any, nv: int, carriers: int) -> Propagators:
    """The propagation of accelerations through a freed cluster, and its own response to unit forces."""
    still, rest = Vec([0.0] * nv), [Twist.zero()] * carriers
    passed = [
        [cluster.answer(hinge, still, (*rest[:c], A, *rest[c + 1 :]))[1] for A in _unit_twists()]
        for c in range(carriers)
    ]
    links = len(passed[0][0])
    P = tuple(tuple(Mat.from_columns([column[b].six() for column in own]) for own in passed) for b in range(links))
    if nv == 0:
        return Propagators(P, ((Mat.zeros(6, 6),) * links,) * links)
    S = cluster.motions()
    solved = [hinge.D.solve_columns(s.T) for s in S]
    own = tuple(tuple(a @ b for b in solved) for a in S)
    return Propagators(P, own)


def omega_outward(above: tuple[tuple[Mat, ...], ...], P: tuple[Mat, ...], Q: tuple[Mat, ...], own: Mat) -> Mat:
    """P Ω_λ Qᵀ + own (m, n), summed over the carriers."""
    for p, row in zip(P, above, strict=True):
        for q, omega in zip(Q, row, strict=True):
            own = p @ omega @ q.T + own
    return own


def propagate(chi: tuple[Mat, ...], P: tuple[Mat, ...]) -> Mat:
    """eχ_λ = eχ_k P_k, summed over the links through which a cluster is reached."""
    return reduce(add, (x @ p for x, p in zip(chi, P, strict=True)))


def meet(chi: tuple[Mat, ...], omega: tuple[tuple[Mat, ...], ...], other: tuple[Mat, ...]) -> Mat:
    """eχ Ω fχᵀ, summed over the links through which a cluster is reached."""
    pairs = ((x, block, y) for x, row in zip(chi, omega, strict=True) for y, block in zip(other, row, strict=True))
    return reduce(add, (x @ block @ y.T for x, block, y in pairs))


def start(place: Transform, pose: Transform | None, linear_only: bool) -> Mat:
    """Rows of a frame: what its origin does when its link accelerates; in world axes if the link's pose is given."""
    columns = []
    for A in _unit_twists():
        at = Twist(A.angular, A.linear + A.angular.cross(place.p))
        w, v = (place.unrotate(x) if pose is None else pose.rotate(x) for x in at)
        columns.append(v if linear_only else Vec((*w, *v)))
    return Mat.from_columns(columns)


def osim_inverse(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[ClusterState],
    ends: Sequence[tuple[Location, bool]],
    in_world: bool,
) -> list[list[Any]]:
    """Ω as rows of scalars; `ends` are frames, each with whether only its three linear rows are wanted."""
    omega = _Omega(s, clusters, states, ends, in_world)
    return assemble([3 if linear else 6 for _, linear in ends], omega.block)


class _Omega:
    def __init__(
        self,
        s: Sweeps,
        clusters: Sequence[Cluster],
        states: Sequence[ClusterState],
        ends: Sequence[tuple[Location, bool]],
        in_world: bool,
    ) -> None:
        self.s, self.clusters, self.ends = s, clusters, ends
        self.released = release_all(s, clusters, states)
        self.home = self.released.sweeps.home
        self.propagators: dict[int, Propagators] = {}
        self.omega: dict[tuple[int, int], Mat] = {}
        poses = along(s, [home for home, _ in ends], IDENTITY, place_outward) if in_world else {}
        self.chi = [self._paths(home, poses.get(home.link), linear) for home, linear in ends]

    def _propagators(self, n: int) -> Propagators:
        if n not in self.propagators:
            node, hinge = self.released.sweeps.nodes[n], self.released.hinges[n]
            cluster = self.clusters[n]
            self.propagators[n] = node.step(propagators, hinge, cluster.embedding.nv, len(cluster.carriers))
        return self.propagators[n]

    def _paths(self, home: Location, pose: Transform | None, linear: bool) -> dict[int, dict[int, Mat]]:
        """eχ of a frame by cluster, at its link and at every link that its clusters hang on."""
        paths: dict[int, dict[int, Mat]] = {}
        if home.link < 0:
            return paths
        at = {home.link: self.s.recorder.call(start, home.pose, pose, linear)}
        while True:
            n = self.home[min(at)]
            paths[n], cluster = at, self.clusters[n]
            if cluster.carriers[0] < 0:
                return paths
            P = [self._propagators(n).P[cluster.links.index(link)] for link in at]
            chi = tuple(at.values())
            at = {
                carrier: self.s.recorder.call(propagate, chi, tuple(own[c] for own in P))
                for c, carrier in enumerate(cluster.carriers)
            }

    def _omega(self, a: int, b: int) -> Mat:
        """Ω between two links of one cluster."""
        if (a, b) not in self.omega:
            n = self.home[a]
            cluster, propagators = self.clusters[n], self._propagators(n)
            i, j = cluster.links.index(a), cluster.links.index(b)
            if cluster.carriers[0] < 0:
                self.omega[a, b] = propagators.own[i][j]
            else:
                above = self._omegas(cluster.carriers, cluster.carriers)
                self.omega[a, b] = self.s.recorder.call(
                    omega_outward, above, propagators.P[i], propagators.P[j], propagators.own[i][j]
                )
        return self.omega[a, b]

    def _reach(self, n: int) -> None:
        """Ω of the links that carry cluster n, from the root outward: chains may be longer than Python recurses."""
        carried: list[tuple[int, ...]] = []
        while self.clusters[n].carriers[0] >= 0:
            carried.append(self.clusters[n].carriers)
            n = self.home[carried[-1][0]]
        for links in reversed(carried):
            self._omegas(links, links)

    def _omegas(self, rows: Iterable[int], columns: Iterable[int]) -> tuple[tuple[Mat, ...], ...]:
        columns = tuple(columns)
        return tuple(tuple(self._omega(a, b) for b in columns) for a in rows)

    def block(self, e: int, f: int) -> Mat | None:
        """Ω between two frames, at the cluster nearest to them that reaches both."""
        shared = self.chi[e].keys() & self.chi[f].keys()
        if not shared:
            return None
        n = max(shared)
        self._reach(n)
        first, second = self.chi[e][n], self.chi[f][n]
        return self.s.recorder.call(meet, tuple(first.values()), self._omegas(first, second), tuple(second.values()))
