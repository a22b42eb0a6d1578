"""The inverse mass matrix M⁻¹(q) in O(n²), from articulated inertias; M itself is never formed.

Column j is the acceleration of everything by a unit force in j. The force is felt by the clusters that carry j (inward
along one path), and the acceleration spreads from the root. By symmetry only clusters up to that of j are visited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..spatial.articulated import Articulated
from ..spatial.linear import Mat, Vec
from ..spatial.solve import Factored
from ..spatial.subspace import Hinge
from ..spatial.vectors import Twist, Wrench
from ..tree.clusters import Cluster
from ..tree.embedding import EmbeddedState
from ..tree.links import Kinematics
from . import cluster_aba
from .sweep import Outcome, Sweeps


class FreedLink(NamedTuple):
    """A free link, released."""

    k: Kinematics
    hinge: Hinge

    def push(self, pA: Wrench, tau: Vec) -> tuple[Vec, Wrench]:
        """Its own answer w to forces on its body and in its joint, and what its carrier feels."""
        w, left = self.k.S.push(self.hinge, pA, tau)
        return w, self.k.X.force_to_parent(left)

    def answer(self, w: Vec, A: Twist) -> tuple[Vec, tuple[Twist, ...]]:
        """Accelerations of the joint and of the link, for that of the carrier."""
        a, moved = self.k.S.accelerate(self.hinge, w, self.k.X.motion_to_child(A))
        return a, (moved,)


class FreedCluster(NamedTuple):
    """A cluster of tied links, released."""

    ks: tuple[Kinematics, ...]
    inner: tuple[int, ...]
    G: tuple[Mat, ...]
    W: tuple[Wrench, ...]
    D: Factored

    def push(self, pA: tuple[Wrench, ...], tau: Vec) -> tuple[Vec, Wrench]:
        """As for `FreedLink`, with a force on each link."""
        F, P = cluster_aba.gather(self.ks, self.inner, pA)
        none = [Vec([0.0] * k.S.nv) for k in self.ks]
        w = self.D.solve(tau - cluster_aba.projected(self.ks, self.G, F, none))
        return w, P + cluster_aba.weighted(self.W, w)

    def answer(self, w: Vec, A: Twist) -> tuple[Vec, tuple[Twist, ...]]:
        """As for `FreedLink`."""
        a = w - self.D.solve([x.power(A) for x in self.W])
        own = [k.S.twist(block @ a) for k, block in zip(self.ks, self.G, strict=True)]
        return a, tuple(cluster_aba.spread(self.ks, self.inner, own, A))


Released = FreedLink | FreedCluster


def release_single(k: Kinematics, children: tuple[Articulated, ...]) -> Outcome:
    """IA = I + Σ Xᵀ Ia X, and what is left of it when the joint moves freely."""
    hinge, Ia = k.S.free(sum(children, Articulated.of(k.I)), k.armature)
    return Outcome(FreedLink(k, hinge), Ia.to_parent(k.X))


def release_stack(
    ks: tuple[Kinematics, ...],
    inner: tuple[int, ...],
    G: tuple[Mat, ...],
    children: tuple[tuple[Articulated, ...], ...],
) -> Outcome:
    """The same for tied links."""
    IA = [sum(sent, Articulated.of(k.I)) for k, sent in zip(ks, children, strict=True)]
    W, D, Ia = cluster_aba.release(ks, inner, G, IA)
    return Outcome(FreedCluster(ks, inner, G, W, D), Ia)


def kinematics_of(k: Kinematics) -> Kinematics:
    """The kinematics of a link as a value of its own."""
    return k


class Releaser:
    """Releases clusters one after the other, from the leaves to the root."""

    def __init__(self, s: Sweeps, clusters: Sequence[Cluster], expanded: Sequence[EmbeddedState | None]) -> None:
        self._s = s
        self._groups = clusters
        self._expanded = expanded
        self._messages: list[list[Articulated]] = [[] for _ in s.tree.parents]

    def release(self, n: int) -> Released:
        """Release cluster n; those that it carries must have been released before."""
        cluster, e, sent = self._groups[n], self._expanded[n], self._messages
        if e is None:
            (i,) = cluster.links
            found, message = self._s.step(i, release_single, tuple(sent[i]))
        else:
            ks = tuple(self._s.step(i, kinematics_of) for i in cluster.links)
            children = tuple(tuple(sent[i]) for i in cluster.links)
            found, message = self._s.recorder.call(release_stack, ks, cluster.inner, e.G, children)
        self._send(cluster, message)
        return found

    def keep(self, n: int, step: Callable[..., Outcome], *args: Any) -> Any:
        """Let another step say what cluster n leaves to its carrier, from what its links carry."""
        cluster = self._groups[n]
        children = tuple(tuple(self._messages[i]) for i in cluster.links)
        found, message = self._s.recorder.call(step, *args, children)
        self._send(cluster, message)
        return found

    def _send(self, cluster: Cluster, message: Articulated) -> None:
        if cluster.carrier >= 0:
            self._messages[cluster.carrier].insert(0, message)


def release_all(s: Sweeps, clusters: Sequence[Cluster], expanded: Sequence[EmbeddedState | None]) -> list[Released]:
    """Every cluster released."""
    releaser = Releaser(s, clusters, expanded)
    return [releaser.release(n) for n in reversed(range(len(clusters)))][::-1]


class Pushed(NamedTuple):
    """The cluster's own answer w to each unit force, and the force that its carrier feels."""

    w: tuple[Vec, ...]
    pa: tuple[Wrench, ...]


def push_source(released: Released, links: int, nv: int) -> Pushed:
    """Unit forces in this cluster itself."""
    none: Any = Wrench.zero() if isinstance(released, FreedLink) else (Wrench.zero(),) * links
    unit = [Vec([1.0 if i == j else 0.0 for i in range(nv)]) for j in range(nv)]
    both = [released.push(none, tau) for tau in unit]
    return Pushed(tuple(w for w, _ in both), tuple(p for _, p in both))


def push_inward(released: Released, at: int, links: int, nv: int, below: Pushed) -> Pushed:
    """The forces that come from further out, on link `at` of the cluster."""
    both = []
    for pa in below.pa:
        on: Any = (
            pa if isinstance(released, FreedLink) else tuple(pa if b == at else Wrench.zero() for b in range(links))
        )
        both.append(released.push(on, Vec([0.0] * nv)))
    return Pushed(tuple(w for w, _ in both), tuple(p for _, p in both))


class Spread(NamedTuple):
    """For each unit force the accelerations of the cluster's velocities, and of its links."""

    a: tuple[Vec, ...]
    A: tuple[tuple[Twist, ...], ...]


def spread_outward(released: Released, w: tuple[Vec, ...], A: tuple[Twist, ...]) -> Spread:
    """Answer to the carrier's accelerations A; clusters off the path have w = 0."""
    both = [released.answer(x, y) for x, y in zip(w, A, strict=True)]
    return Spread(tuple(a for a, _ in both), tuple(A for _, A in both))


class _Columns:
    """Columns of M⁻¹, cluster by cluster."""

    def __init__(self, s: Sweeps, clusters: Sequence[Cluster], released: list[Released]) -> None:
        self.s = s
        self.clusters = clusters
        self.released = released
        self.home = {link: n for n, cluster in enumerate(clusters) for link in cluster.links}

    def path(self, n: int) -> list[int]:
        """The cluster, the cluster that carries it, ..., the root."""
        found = [n]
        while self.clusters[found[-1]].carrier >= 0:
            found.append(self.home[self.clusters[found[-1]].carrier])
        return found

    def of(self, n: int) -> dict[int, Spread]:
        """Accelerations by unit forces in cluster n, of the clusters up to n that share its root."""
        call, path = self.s.recorder.call, self.path(n)
        nv = [cluster.embedding.nv for cluster in self.clusters]
        pushed = {n: call(push_source, self.released[n], len(self.clusters[n].links), nv[n])}
        for above, below in zip(path[1:], path, strict=False):
            at = self.clusters[above].links.index(self.clusters[below].carrier)
            links = len(self.clusters[above].links)
            pushed[above] = call(push_inward, self.released[above], at, links, nv[above], pushed[below])
        spread: dict[int, Spread] = {}
        for m in range(n + 1):
            if self.path(m)[-1] != path[-1]:
                continue
            quiet = tuple(Vec([0.0] * nv[m]) for _ in range(nv[n]))
            w = pushed[m].w if m in pushed else quiet
            spread[m] = call(spread_outward, self.released[m], w, self._carrier(spread, m, nv[n]))
        return spread

    def _carrier(self, spread: dict[int, Spread], m: int, columns: int) -> tuple[Twist, ...]:
        """Accelerations of the link that carries cluster m."""
        carrier = self.clusters[m].carrier
        if carrier < 0:
            return (Twist.zero(),) * columns
        above = self.home[carrier]
        at = self.clusters[above].links.index(carrier)
        return tuple(A[at] for A in spread[above].A)


def inverse_mass_matrix(
    s: Sweeps, clusters: Sequence[Cluster], expanded: Sequence[EmbeddedState | None]
) -> list[list[Any]]:
    """M⁻¹ as rows of scalars."""
    sizes = [cluster.embedding.nv for cluster in clusters]
    first = [sum(sizes[:n]) for n in range(len(sizes))]
    columns = _Columns(s, clusters, release_all(s, clusters, expanded))
    M: list[list[Any]] = [[0.0] * sum(sizes) for _ in range(sum(sizes))]
    for n in range(len(clusters)):
        for m, spread in columns.of(n).items():
            for b, column in enumerate(spread.a):
                for a, x in enumerate(column):
                    row, at = first[m] + a, first[n] + b
                    if row <= at:
                        M[row][at] = M[at][row] = x
    return M


def push_once(released: Released, sent: tuple[tuple[Wrench, ...], ...], tau: Vec) -> tuple[Vec, Wrench]:
    """A cluster's own answer to forces in its joints and from what it carries, by link; and what its carrier feels."""
    on = tuple(sum(wrenches, Wrench.zero()) for wrenches in sent)
    return released.push(on[0], tau) if isinstance(released, FreedLink) else released.push(on, tau)


def answer_once(released: Released, w: Vec, A: Twist) -> tuple[Vec, tuple[Twist, ...]]:
    """Accelerations of a cluster's velocities and of its links, for that of its carrier."""
    return released.answer(w, A)


def solve_released(
    s: Sweeps, clusters: Sequence[Cluster], released: Sequence[Released], tau: Sequence[Vec]
) -> list[Vec]:
    """M⁻¹ τ by cluster, in O(n), with what `release_all` has found."""
    call = s.recorder.call
    sent: list[list[Wrench]] = [[] for _ in s.tree.parents]
    w: list[Any] = [None] * len(clusters)
    for n in reversed(range(len(clusters))):
        messages = tuple(tuple(sent[link]) for link in clusters[n].links)
        w[n], felt = call(push_once, released[n], messages, tau[n])
        if clusters[n].carrier >= 0:
            sent[clusters[n].carrier].insert(0, felt)
    moved: dict[int, Twist] = {}
    found: list[Vec] = []
    for n, cluster in enumerate(clusters):
        A = moved[cluster.carrier] if cluster.carrier >= 0 else Twist.zero()
        a, links = call(answer_once, released[n], w[n], A)
        found.append(a)
        moved.update(zip(cluster.links, links, strict=True))
    return found
