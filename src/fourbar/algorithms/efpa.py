"""The inverse operational-space inertia Ω = J M⁻¹ Jᵀ of many frames (EFPA and C-EFPA, Chignoli §VIII).

A unit force somewhere reaches a frame through the link that carries both. With the propagator P of a link (A = P A_λ
for the acceleration A_λ of what carries it, when nothing else acts) and Ω_b = P Ω_λ Pᵀ + S D⁻¹ Sᵀ of each link on the
way, the block of two frames is  eχ Ω fχᵀ  at the place where their paths meet. O(n + frames · depth + frames²).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist
from ..tree.cluster_tree import Location
from ..tree.clusters import Cluster
from ..tree.states import ClusterState
from .kinematics import along, place_outward
from .minverse import release_all
from .sweep import Sweeps


class Propagators(NamedTuple):
    """The links of a cluster: their propagators P, and the square blocks 𝖲 D⁻¹ 𝖲ᵀ between any two of them."""

    P: tuple[Mat, ...]
    own: tuple[tuple[Mat, ...], ...]


def _unit_twists() -> list[Twist]:
    return [Twist.of(Vec([1.0 if i == j else 0.0 for i in range(6)])) for j in range(6)]


def propagators(cluster: Any, hinge: Any, nv: int) -> Propagators:
    """The propagation of accelerations through a freed cluster, and its own response to unit forces."""
    still = Vec([0.0] * nv)
    passed = [cluster.answer(hinge, still, A)[1] for A in _unit_twists()]
    links = len(passed[0])
    P = tuple(Mat.from_columns([column[b].six() for column in passed]) for b in range(links))
    if nv == 0:
        return Propagators(P, ((Mat.zeros(6, 6),) * links,) * links)
    S = cluster.motions()
    solved = [hinge.D.solve_columns(s.T) for s in S]
    own = tuple(tuple(a @ b for b in solved) for a in S)
    return Propagators(P, own)


def omega_outward(above: Mat, P: Mat, Q: Mat, own: Mat) -> Mat:
    """P Ω_λ Qᵀ + own."""
    return P @ above @ Q.T + own


def propagate(chi: Mat, P: Mat) -> Mat:
    """eχ_λ = eχ_k P_k."""
    return chi @ P


def meet(chi: Mat, omega: Mat, other: Mat) -> Mat:
    """eχ Ω fχᵀ."""
    return chi @ omega @ other.T


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
    return _Omega(s, clusters, states, ends, in_world).rows()


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
            self.propagators[n] = node.step(propagators, hinge, self.clusters[n].embedding.nv)
        return self.propagators[n]

    def _paths(self, home: Location, pose: Transform | None, linear: bool) -> dict[int, Mat]:
        """eχ of a frame at its link and at every link that its clusters hang on."""
        found: dict[int, Mat] = {}
        link = home.link
        if link >= 0:
            found[link] = self.s.recorder.call(start, home.pose, pose, linear)
        while link >= 0:
            n = self.home[link]
            carrier = self.clusters[n].carrier
            if carrier >= 0:
                P = self._propagators(n).P[self.clusters[n].links.index(link)]
                found[carrier] = self.s.recorder.call(propagate, found[link], P)
            link = carrier
        return found

    def _omega(self, a: int, b: int) -> Mat:
        """Ω between two links of one cluster."""
        if (a, b) not in self.omega:
            n = self.home[a]
            cluster, own = self.clusters[n], self._propagators(n)
            i, j = cluster.links.index(a), cluster.links.index(b)
            if cluster.carrier < 0:
                self.omega[a, b] = own.own[i][j]
            else:
                above = self._omega(cluster.carrier, cluster.carrier)
                self.omega[a, b] = self.s.recorder.call(omega_outward, above, own.P[i], own.P[j], own.own[i][j])
        return self.omega[a, b]

    def _meeting(self, e: int, f: int) -> tuple[int, int] | None:
        """The two links of one cluster, nearest to the frames, through which both are reached."""
        first = {self.home[link]: link for link in self.chi[e]}
        shared = [link for link in self.chi[f] if self.home[link] in first]
        if not shared:
            return None
        link = max(shared, key=lambda link: self.home[link])
        return first[self.home[link]], link

    def rows(self) -> list[list[Any]]:
        """All blocks."""
        sizes = [3 if linear else 6 for _, linear in self.ends]
        total = sum(sizes)
        M: list[list[Any]] = [[0.0] * total for _ in range(total)]
        for e in range(len(self.ends)):
            for f in range(e + 1):
                met = self._meeting(e, f)
                if met is None:
                    continue
                block = self.s.recorder.call(meet, self.chi[e][met[0]], self._omega(*met), self.chi[f][met[1]])
                for i, row in enumerate(block):
                    for j, x in enumerate(row):
                        at, to = sum(sizes[:e]) + i, sum(sizes[:f]) + j
                        if at >= to:
                            M[at][to] = M[to][at] = x
        return M
