"""Forward dynamics, a = FD(q, v, τ): the articulated-body algorithm (ABA; Kim Table 3; C-ABA, Chignoli §VII), O(n).

Of a cluster with many independent velocities the node is made in tiles, in steps that share code. With M
the mass matrix of the cluster's joints when its carrier rests, and the dependent rows d of G, which are
few: D = Gᵀ M G, W = Gᵀ (Ic S) and u = τ - Gᵀ f. All of it is made of tiles of a few sizes.

Hybrid dynamics (Kim Table 4), where some accelerations are prescribed: the same sweeps over clusters some of which are
held. With nothing held it is that algorithm, with everything held it is inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..expr import Recorder, select
from ..spatial.inertia import Articulated
from ..spatial.linear import Mat, Scalar, Vec, dot, is_zero, zeros
from ..spatial.motion import Motion, Spin
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.clusters import Cluster
from ..tree.links import Kinematics
from ..tree.states import ClusterState
from . import armature
from .articulated import (
    ArticulatedCluster,
    Bias,
    FreeAndHeld,
    Freed,
    Handle,
    HeldNode,
    held_bias,
    make_nodes,
    node,
    spun_up,
)
from .crba import couple_all, diagonal
from .fluid_wrenches import net_wrenches
from .sweep import CarrierMessages, ClusterSweeps, Hung, Node, Outcome, Sweeps, inward, outward
from .tiles import BLOCK, Rows, negative_solution, plus_product, transpose

_FEW = 12  # independent velocities up to which a cluster is freed in one step


class Spun(NamedTuple):
    """The effect of velocity alone on a link: its spin, the acceleration c it gains, the force p it takes."""

    spin: Spin
    c: Twist
    p: Wrench


def spin_outward(k: Kinematics, parent: Spun, v: Vec, F_ext: Wrench) -> Spun:
    """V = X V_λ + S v;  c = S° v + ad_V S v;  p = -ad_Vᵀ I V - F_ext; in the classical form of `spatial.motion`."""
    spin, c = parent.spin.through(k.X, k.S.twist(v), k.c_J)
    still = Motion(spin.w, zeros(3), zeros(3), spin.W.matrix())
    return Spun(spin, c, k.I.force(still) - F_ext)


def free_inward(cluster: Any, children: Hung, p: tuple[Wrench, ...], bias: Bias, tau: Vec) -> Outcome:
    """IA = I + Σ Xᵀ Ia X;  pA = p + Σ Xᵀ pa;  Ia = IA - U D⁻¹ Uᵀ;  pa = pA + Ia c + U D⁻¹ u."""
    return cluster.free(children, p, bias, tau)


def accelerate_outward(cluster: Any, above: tuple[Twist, ...], freed: Freed, bias: Bias) -> Outcome:
    """A' = X A_λ + c;  a = D⁻¹(u - Uᵀ A');  A = A' + S a."""
    return cluster.accelerate(freed, bias, above)


def ground(gravity: Vec) -> Twist:
    """The ground, accelerated against gravity."""
    return Twist(zeros(3), -gravity)


RESTING = Spun(Spin.of_ground(), Twist.zero(), Wrench.zero())


class Biased(NamedTuple):
    """The effect of velocity alone on all clusters, by cluster: forces p on their links, and accelerations; forces of
    the clusters less those that turn the momenta of armatures, and these, where there are any."""

    p: list[tuple[Wrench, ...]]
    bias: list[Bias]
    tau: list[Vec]  # (nv of the cluster) each, N m or N
    gyroscopic: dict[int, Vec]


def spin(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[ClusterState],
    v: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    gravity: Sequence[Any],
) -> Biased:
    """The first sweep, outward over all links."""
    spun = s.outward(spin_outward, RESTING, v, net_wrenches(s, v, F_ext, gravity))
    by_cluster = [[spun[i] for i in cluster.links] for cluster in clusters]
    bias = [Bias(tuple(x.c for x in links), e.g) for links, e in zip(by_cluster, states, strict=True)]
    gyroscopic = armature.forces_by_cluster(s, clusters, states, v)
    left = [s.recorder.call(_less, x, gyroscopic[n]) if n in gyroscopic else x for n, x in enumerate(tau)]
    return Biased([tuple(x.p for x in links) for links in by_cluster], bias, left, gyroscopic)


def _less(a: Vec, b: Vec) -> Vec:
    return a - b


def forward_dynamics(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[ClusterState],
    v: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    gravity: Sequence[float],
) -> list[Vec]:
    """Accelerations of every cluster, from velocities of all links, forces of the clusters and wrenches on bodies."""
    sweeps = ClusterSweeps(s, clusters, wide_nodes(s, clusters, states))
    p, bias, left, _ = spin(s, clusters, states, v, tau, F_ext, gravity)
    freed = sweeps.inward(free_inward, p, bias, left)
    return list(sweeps.outward(accelerate_outward, s.fold(ground, Vec(gravity)), freed, bias).values())


Prescribed = Sequence[Sequence[bool]]  # by cluster, for each independent velocity whether it moves as prescribed


def hybrid_dynamics(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[ClusterState],
    v: Sequence[Vec],
    a: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    prescribed: Prescribed,
    gravity: Sequence[float],
) -> tuple[list[Vec], list[Vec]]:
    """All accelerations and all forces, by cluster; of what is prescribed `a` is read, of the rest `tau`."""
    p, free, left, gyroscopic = spin(s, clusters, states, v, tau, F_ext, gravity)
    nodes, held = make_nodes(s, clusters, states, prescribed)
    sweeps, bias = ClusterSweeps(s, clusters, nodes), _Biases(s, free, held, a)
    freed = sweeps.inward(free_inward, p, bias, left)
    found = sweeps.outward(accelerate_outward, s.fold(ground, Vec(gravity)), freed, bias)
    for n in (n for n in held if n in gyroscopic):
        found[n] = s.recorder.call(_add_gyroscopic, found[n], Vec([gyroscopic[n][j] for j in held[n].held]))
    both = [(found[n], tau[n]) if n not in held else _merge(held[n], found[n], a[n], tau[n]) for n in found]
    return [x for x, _ in both], [x for _, x in both]


class _Biases(dict[int, Bias]):
    """Bias accelerations and forces by cluster: of velocities and, where some are held, of their accelerations.
    Recorded when the sweeps reach the cluster, so that no value waits for its use."""

    def __init__(self, s: Sweeps, free: Sequence[Bias], held: Mapping[int, HeldNode], a: Sequence[Vec]) -> None:
        super().__init__((n, own) for n, own in enumerate(free) if n not in held)
        self._recorder, self._free, self._held, self._a = s.recorder, free, held, a

    def __missing__(self, n: int) -> Bias:
        own = self._held[n]
        prescribed = Vec([self._a[n][j] for j in own.held])
        self[n] = self._recorder.call(held_bias, self._free[n], own.G_held, prescribed)
        return self[n]


def _add_gyroscopic(found: FreeAndHeld, gyroscopic: Vec) -> FreeAndHeld:
    """The forces that hold velocities, with those that turn the momenta of armatures."""
    return FreeAndHeld(found.a, found.tau + gyroscopic)


def _merge(own: HeldNode, found: FreeAndHeld, a: Vec, tau: Vec) -> tuple[Vec, Vec]:
    """All accelerations and forces of a cluster of which some are given, others found."""
    moved = dict(zip(own.held, [a[j] for j in own.held], strict=True)) | dict(zip(own.loose, found.a, strict=True))
    acting = dict(zip(own.loose, [tau[j] for j in own.loose], strict=True)) | dict(
        zip(own.held, found.tau, strict=True)
    )
    return Vec([moved[j] for j in range(len(a))]), Vec([acting[j] for j in range(len(a))])


class FreedWide(NamedTuple):
    """-D⁻¹ [W, u], rows of seven: a = D⁻¹ (u - W A) for the acceleration A of the carrier."""

    rows: Rows


class _Link(NamedTuple):
    """A link in its own frame and, with `pose`, in that of the carrier: IA and pA with what hangs on it outside the
    cluster, its motions S, and the acceleration that it gains by velocity alone."""

    pose: Transform
    S: tuple[Twist, ...]
    IA: Articulated
    F: Wrench
    gained: Twist


class _Carrier(NamedTuple):
    """The carrier of the cluster: a link at the origin that rests."""

    pose: Transform
    gained: Twist


class _Sent(NamedTuple):
    """The messages of links to the one that carries them."""

    Ic: Articulated
    F: Wrench


def is_wide(cluster: Cluster) -> bool:
    """Whether a cluster has too many velocities to be freed in one step."""
    return cluster.embedding.nv > _FEW


def _link(
    k: Kinematics, pose: Transform, above: Twist, c: Twist, g: Vec, p: Wrench, children: tuple[Handle, ...]
) -> _Link:
    here = pose.then(k.X)
    here = Transform((here.R,), here.p)
    IA = sum((m.Ia for m in children), Articulated.of(k.I))
    pA = sum((m.pa for m in children), p)
    gained = k.X.motion_to_child(above) + (c + k.S.twist(g))
    return _Link(here, tuple(here.motion_to_parent(s) for s in k.S.twists()), IA, pA + IA @ gained, gained)


def _compose(
    k: Kinematics, own: _Link, g: Vec, children: tuple[_Sent, ...]
) -> tuple[tuple[Wrench, ...], Mat, Vec, _Sent]:
    """The momenta Ic S of unit motions in the carrier's frame, their part of M, the forces f, the message onward."""
    Ic = sum((sent.Ic for sent in children), own.IA)
    F = sum((sent.F for sent in children), own.F)
    twists = k.S.twists()
    momenta = tuple(Ic @ s for s in twists)
    f = k.S.project(F) + spun_up(k, g)
    sent = _Sent(Ic.to_parent(k.X), k.X.force_to_parent(F))
    return tuple(own.pose.force_to_parent(h) for h in momenta), diagonal(k, twists, momenta), f, sent


def _regular_block(cluster: ArticulatedCluster, block: Mat) -> Mat:
    """A joint's part (nv, nv) of M, NaN where velocities are dependent: then D has no inverse."""
    for regular in cluster.regular():
        block = Mat(Vec([select(regular, x, float("nan")) for x in row]) for row in block)
    return block


def _scale(rows: tuple[Vec, ...], scales: tuple[Scalar, ...]) -> tuple[Vec, ...]:
    return tuple(Vec([x * y for x in row]) for row, y in zip(rows, scales, strict=True))


def _minus(u: Vec, f: Vec) -> Vec:
    return u - f


def _add(x: _Sent, y: _Sent) -> _Sent:
    return _Sent(x.Ic + y.Ic, x.F + y.F)


def _handle(sent: _Sent, product: tuple[Vec, ...]) -> Handle:
    """Ia = Ic - Wᵀ D⁻¹ W and pa = F + Wᵀ D⁻¹ u, where the product is -Wᵀ D⁻¹ [W, u]."""
    rows = [[x + y for x, y in zip(row, own, strict=False)] for row, own in zip(sent.Ic.rows(), product, strict=True)]
    return Handle(Articulated.of_rows(rows), sent.F - Wrench.of(Vec([own[6] for own in product])))


class _Map:
    """G: one entry in the row of each independent velocity, and the rows of the dependent ones."""

    def __init__(self, recorder: Recorder, cluster: Cluster, G: Sequence[Mat]) -> None:
        self._recorder = recorder
        rows = [row for block in G for row in block]
        tie: Any = cluster.embedding
        self.independent = [j for j, _ in tie.independent]
        self._scales = [float(scale) for _, scale in tie.independent]
        self._dependent = tuple(tie.dependent)
        self._G_d: Rows = [list(rows[j]) for j in self._dependent]

    def transpose_times(self, X: Rows, lower: bool = False) -> Rows:
        """Gᵀ X; `lower`: of a square result only the lower triangle, the rest is left out."""
        product: Rows = []
        independent_rows = self._times_scales([X[j] for j in self.independent])
        right, left = [X[j] for j in self._dependent], transpose(self._G_d)
        for first in range(0, len(independent_rows), BLOCK):
            width = first + BLOCK if lower else len(X[0])
            some = [row[:width] for row in independent_rows[first : first + BLOCK]]
            part = left[first : first + BLOCK]
            product += plus_product(self._recorder, some, part, [row[:width] for row in right], large=True)
        return product

    def _times_scales(self, rows: Rows) -> Rows:
        scaled_rows = [list(row) for row in rows]
        unlike = [j for j, scale in enumerate(self._scales) if scale != 1.0]
        for first in range(0, len(unlike), BLOCK):
            some = unlike[first : first + BLOCK]
            given = tuple(Vec(rows[j]) for j in some), tuple(self._scales[j] for j in some)
            for j, row in zip(some, self._recorder.call(_scale, *given), strict=True):
                scaled_rows[j] = list(row)
        return scaled_rows


class WideCluster:
    """Steps on a cluster with many independent velocities, and what they are run on: it records its own parts."""

    def __init__(self, s: Sweeps, cluster: Cluster, e: ClusterState) -> None:
        self._s, self._recorder, self._cluster, self._G = s, s.recorder, cluster, e.G

    def step(self, step: Callable[..., Any], *args: Any) -> Any:
        """step(cluster, *args), of which the parts are recorded."""
        return step(self, *args)

    def free(self, children: Hung, p: Sequence[Wrench], bias: Bias, tau: Vec) -> Outcome:
        """As for `ArticulatedCluster`."""
        call, inner = self._recorder.call, self._cluster.inner
        ks = tuple(self._s.kinematics(i) for i in self._cluster.links)
        suspects = ArticulatedCluster(ks, inner, self._G, (), self._cluster.locking)

        def place(b: int, above: _Link | _Carrier) -> _Link:
            return call(_link, ks[b], above.pose, above.gained, bias.c[b], bias.g[b], p[b], children.on[b])

        def compose(b: int, sent: tuple[_Sent, ...]) -> tuple[Any, _Sent]:
            momenta, block, f, message = call(_compose, ks[b], links[b], bias.g[b], sent)
            if any(b == own.place for own in self._cluster.locking):
                block = call(_regular_block, suspects, block)
            return (momenta, block, f), message

        links: list[_Link] = outward(inner, _Carrier(IDENTITY, Twist.zero()), place)
        found, sent = inward(inner, compose)
        composed, forces = [(momenta, diagonal) for momenta, diagonal, _ in found], [f for *_, f in found]
        first_v = [0, *accumulate(len(link.S) for link in links)]
        M: Rows = [[0.0] * first_v[-1] for _ in range(first_v[-1])]
        couple_all(self._recorder, inner, first_v, M, [link.S for link in links], composed)
        carried = [
            [*h.six(), x]
            for (momenta, _), f in zip(composed, forces, strict=True)
            for h, x in zip(momenta, f, strict=True)
        ]
        G = _Map(self._recorder, self._cluster, self._G)
        freed, handle = _eliminate(self._recorder, G, M, carried, sent, tau)
        return Outcome(freed, CarrierMessages((handle,)))

    def accelerate(self, freed: FreedWide, bias: Bias, above: Sequence[Twist]) -> Outcome:
        """As for `ArticulatedCluster`."""
        (A,), a = above, []
        for first in range(0, len(freed.rows), BLOCK):
            a += self._recorder.call(_free_accelerations, tuple(map(Vec, freed.rows[first : first + BLOCK])), A)

        def move(b: int, above: Twist) -> Twist:
            used = [[j for j, x in enumerate(row) if not is_zero(x)] for row in self._G[b]]
            rows = zip(self._G[b], used, strict=True)
            follow = tuple((Vec([row[j] for j in own]), Vec([a[j] for j in own])) for row, own in rows)
            k = self._s.kinematics(self._cluster.links[b])
            return self._recorder.call(_link_acceleration, k, above, bias.c[b], bias.g[b], follow)

        return Outcome(Vec(a), outward(self._cluster.inner, A, move))


def wide_nodes(s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState]) -> list[Node]:
    """Where steps on clusters run, of which those with many velocities are freed in parts.

    Not if they hang on several links, or if one that does hangs on them: then several inertias couple. Nor if armature
    couples their joints.
    """
    several = [cluster for cluster in clusters if len(cluster.carriers) > 1]
    coupled = {link for cluster in several for link in (*cluster.links, *cluster.carriers)}
    coupled.update(link for coupling in s.tree.couplings for link in coupling.links)
    nodes: list[Node] = []
    for cluster, e in zip(clusters, states, strict=True):
        alone = coupled.isdisjoint(cluster.links)
        nodes.append(WideCluster(s, cluster, e) if alone and is_wide(cluster) else node(s, cluster, e))
    return nodes


def _eliminate(
    recorder: Recorder, G: _Map, M: Rows, carried: Rows, sent: Sequence[_Sent], tau: Vec
) -> tuple[FreedWide, Handle]:
    """D⁻¹ [W, u] and the inertia and force passed on to the carrier. `carried`: [Ic S, f] by velocity of all joints."""
    D = G.transpose_times(transpose(G.transpose_times(M)), lower=True)
    pulled = G.transpose_times(carried)
    u = recorder.call(_minus, Vec(tau), Vec([row[6] for row in pulled]))
    right = [[*row[:6], x] for row, x in zip(pulled, u, strict=True)]
    rows, product = negative_solution(recorder, D, right)
    total = sent[0]
    for other in sent[1:]:
        total = recorder.call(_add, total, other)
    return FreedWide(rows), recorder.call(_handle, total, tuple(map(Vec, product[:6])))


def _free_accelerations(rows: tuple[Vec, ...], A: Twist) -> Vec:
    """D⁻¹ u - D⁻¹ W A, from rows -D⁻¹ [W, u]."""
    six = A.six()
    return Vec([dot(row[:6], six) - row[6] for row in rows])


def _link_acceleration(k: Kinematics, above: Twist, c: Twist, g: Vec, follow: tuple[tuple[Vec, Vec], ...]) -> Twist:
    """X A + c + S (G a + g), from the entries of rows of G that are not zero and those of a that belong to them."""
    rate = Vec([dot(row, a) + x for (row, a), x in zip(follow, g, strict=True)])
    return k.X.motion_to_child(above) + (c + k.S.twist(rate))
