"""The articulated node: a cluster of links whose joints move freely, are held, or some of each.

Written once for every algorithm that frees joints. Of a link alone (Featherstone, Kim Table 3), in its own frame:

    U = IA S,   D = Sᵀ U,   u = τ - Sᵀ pA,   Ia = IA - U D⁻¹ Uᵀ,   pa = pA + Ia c + U D⁻¹ u,   a = D⁻¹ (u - Uᵀ A').

Of links tied by loops (C-ABA, Chignoli §VII), in the frame of their carrier: with 𝖲_j the motion of every link for a
unit of the independent velocity j, and all links' inertias and biases IA, pA,

    D = 𝖲ᵀ IA 𝖲,   W = Σ Xᵀ IA 𝖲,   Ia = Σ Xᵀ IA X - W D⁻¹ Wᵀ,   pa = Σ Xᵀ (pA + IA c) + W D⁻¹ u,   a = D⁻¹ (u - Wᵀ A).

Sums over links are formed by small sweeps inside the cluster, so nothing of size 6 n x 6 n ever exists. A cluster on
several carriers (Chignoli's output bodies, §IV-B) has sums and W for each; then - W D⁻¹ Wᵀ couples them, and stays a
product until one link carries all of it (`YieldingTerm`). What is held moves the links as the loops' own accelerations
g do: with the columns of G split into free and held ones, q̈ = G_f a_f + (g + G_h a_h).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, NamedTuple

from ..constraints.trace import cut
from ..spatial.fluid_inertia import AnyInertia
from ..spatial.inertia import Articulated
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..spatial.solve import Factored, factor, independent_motions
from ..spatial.subspace import ColumnSets, Hinge, series
from ..spatial.vectors import Twist, Wrench
from ..tree.clusters import Cluster
from ..tree.links import Kinematics
from ..tree.spanning_tree import Locking
from ..tree.states import ClusterState
from .sweep import CarrierMessages, ClusterSweeps, Hung, Node, Outcome, Sweeps, outward, summed_inward


class Handle(NamedTuple):
    """The handle by which a cluster is carried: F = Ia A + pa, with all that hangs on it.

    Of a cluster on several carriers Ia is that of each alone, as if its velocities were locked; see `YieldingTerm`.
    """

    Ia: Articulated
    pa: Wrench


class Bias(NamedTuple):
    """Accelerations c that the links of a cluster gain by velocity alone, and g of their joints that loops add."""

    c: tuple[Twist, ...]
    g: tuple[Vec, ...]  # (nv of the link,) each


class YieldingTerm(NamedTuple):
    """The force - W D⁻¹ Wᵀ A by which free velocities lower the resistance of several links: W by link and velocity."""

    W: tuple[tuple[Wrench, ...], ...]
    D: Factored


class ClusterHinge(NamedTuple):
    """A freed cluster, as `Hinge` is a freed joint: W by carrier and independent velocity, and D factored."""

    W: tuple[tuple[Wrench, ...], ...]
    D: Factored

    def drive(self, u: Vec, w: Vec) -> Vec:
        """The kept one of u and w = D⁻¹ u to accelerate the cluster: u, as one solution with D is enough then."""
        return u


class Freed(NamedTuple):
    """A freed cluster: its hinge, and how forces drive it (see `drive` of the hinge)."""

    hinge: Any
    drive: Vec


class Pushed(NamedTuple):
    """The response of a cluster to forces: u = τ - Sᵀ pA, w = D⁻¹ u, and the forces pa on its carriers."""

    u: Vec  # (independent velocities,), N m or N
    w: Vec  # (independent velocities,), accelerations
    pa: tuple[Wrench, ...]


class Resistance(NamedTuple):
    """IA of the links of a cluster with all that hangs on them: by link, and less what yields between some of them."""

    IA: tuple[Articulated | AnyInertia, ...]  # rigid bodies stay such: they are cheaper to carry to another frame
    yielding: tuple[tuple[tuple[int, ...], YieldingTerm], ...] = ()

    @staticmethod
    def of(ks: Sequence[Kinematics], children: Hung) -> Resistance:
        """IA = I + Σ Xᵀ Ia X of every link: its own, and what hangs on it outside the cluster."""
        IA = tuple(sum(sent, k.I) for k, sent in zip(ks, children.on, strict=True))
        return Resistance(IA, children.across)

    def blocks(self) -> tuple[Articulated, ...]:
        """The square block of each link: its resistance while the others are still."""
        diagonal = [Articulated.of(I) for I in self.IA]
        for places, term in self.yielding:
            for b, W in zip(places, term.W, strict=True):
                diagonal[b] = _less(diagonal[b], [_loss(W, term.D)])
        return tuple(diagonal)

    def push(self, pA: Sequence[Wrench], A: Sequence[Twist]) -> list[Wrench]:
        """pA + IA A, by link."""
        wrenches = [p + Articulated.of(I) @ t for p, I, t in zip(pA, self.IA, A, strict=True)]
        for places, term in self.yielding:
            y = term.D.solve(tuple(_powers(term.W, [A[b] for b in places])))
            for b, W in zip(places, term.W, strict=True):
                wrenches[b] = wrenches[b] - _weighted_sum(W, y)
        return wrenches


def _gather_links(ks: Sequence[Kinematics], p: Sequence[Wrench], children: Hung) -> tuple[Resistance, list[Wrench]]:
    """IA, and pA = p + Σ Xᵀ pa, of every link."""
    inertias = Hung(tuple(tuple(handle.Ia for handle in sent) for sent in children.on), children.across)
    IA = Resistance.of(ks, inertias)
    return IA, [sum((handle.pa for handle in sent), own) for own, sent in zip(p, children.on, strict=True)]


class ArticulatedLink(NamedTuple):
    """A link alone. Its rates may be dependent in some sets of columns of S; if it is massless, of the S of all links
    in series with it, `below`, up to one that has inertia. `varies`: inertias are no constants, and may be zero."""

    k: Kinematics
    suspect: ColumnSets = ()
    below: tuple[Kinematics, ...] = ()
    varies: bool = False

    def gather(self, children: Hung, p: Sequence[Wrench]) -> tuple[Resistance, list[Wrench]]:
        """IA and pA of every link, with those of the links that it carries."""
        return _gather_links((self.k,), p, children)

    def release(self, children: Hung) -> Outcome:
        """Let the joint move freely: its hinge, and the inertia Ia that is left to its carrier."""
        ((IA,), _) = Resistance.of((self.k,), children)
        hinge, Ia = self._free(Articulated.of(IA))
        return Outcome(hinge, CarrierMessages((Ia.to_parent(self.k.X),)))

    def free(self, children: Hung, p: Sequence[Wrench], bias: Bias, tau: Vec) -> Outcome:
        """`release` under forces p that velocity takes, and tau: the `Freed` cluster, and the force on its carrier."""
        k, (c,) = self.k, bias.c
        ((IA,), _), (pA,) = self.gather(children, p)
        hinge, Ia = self._free(Articulated.of(IA))
        w, left = k.S.push(hinge, pA, tau)
        handle = Handle(Ia.to_parent(k.X), k.X.force_to_parent(left + Ia @ c))
        return Outcome(Freed(hinge, w), CarrierMessages((handle,)))

    def accelerate(self, freed: Freed, bias: Bias, above: Sequence[Twist]) -> Outcome:
        """A' = X A + c;  a = D⁻¹(u - Uᵀ A'), and the link's acceleration A' + S a."""
        (c,), (A,) = bias.c, above
        a, moved = self.k.S.accelerate(freed.hinge, freed.drive, self.k.X.motion_to_child(A) + c)
        return Outcome(a, (moved,))

    def push(self, hinge: Hinge, on: Sequence[Wrench], tau: Vec) -> Pushed:
        """Forces `on` the link (as a bias pA) and in its joint."""
        (pA,) = on
        u = tau - self.k.S.project(pA)
        w, left = self.k.S.push(hinge, pA, tau)
        return Pushed(u, w, (self.k.X.force_to_parent(left),))

    def answer(self, hinge: Hinge, w: Vec, above: Sequence[Twist]) -> Outcome:
        """a = w - D⁻¹ Uᵀ A', and the link's acceleration, for that of the carrier."""
        (A,) = above
        a, moved = self.k.S.accelerate(hinge, w, self.k.X.motion_to_child(A))
        return Outcome(a, (moved,))

    def whiten(self, hinge: Hinge, u: Vec) -> Vec:
        """D^-½ u."""
        return hinge.D.whiten(u)

    def _free(self, IA: Articulated) -> tuple[Hinge, Articulated]:
        k = self.k
        twists = zip(k.S.twists(), k.armature, strict=True) if self.varies else ()
        sizes = [IA.largest_resistance(t) + inertia for t, inertia in twists]
        return k.S.free(IA, k.armature, regular((k, *self.below), self.suspect), sizes)

    def motions(self) -> list[Mat]:
        """The motion subspace, one 6 x nv block per link."""
        return [Mat.from_columns([t.six() for t in self.k.S.twists()])]


class CoupledJoints(NamedTuple):
    """Armature off the diagonal, between all velocities of the links at some places in a cluster."""

    places: tuple[int, ...]
    A: Mat  # (velocities, velocities) of these links


class ArticulatedCluster(NamedTuple):
    """Links tied by loops, `inner` the parent of each within the cluster (as in `Cluster`); or any that move with some
    columns of G only: with none if they are held. Armature may couple the velocities of some."""

    ks: tuple[Kinematics, ...]
    inner: tuple[int, ...]
    G: tuple[Mat, ...]  # (nv of the link, independent velocities) each
    coupled: tuple[CoupledJoints, ...] = ()
    locking: tuple[Locking, ...] = ()  # as in `Cluster`
    varies: bool = False  # inertias are no constants, and may be zero

    def gather(self, children: Hung, p: Sequence[Wrench]) -> tuple[Resistance, list[Wrench]]:
        """As for `ArticulatedLink`."""
        return _gather_links(self.ks, p, children)

    def release(self, children: Hung) -> Outcome:
        """As for `ArticulatedLink`."""
        return Outcome(*self._release(Resistance.of(self.ks, children)))

    def free(self, children: Hung, p: Sequence[Wrench], bias: Bias, tau: Vec) -> Outcome:
        """As for `ArticulatedLink`; loops add S g to the accelerations c that links gain by velocity alone."""
        IA, pA = self.gather(children, p)
        hinge, sent = self._release(IA)
        gained = self._spread([x + k.S.twist(b) for x, k, b in zip(bias.c, self.ks, bias.g, strict=True)])
        u, _, pa = self._push(hinge, IA.push(pA, gained), tau, bias.g)
        return Outcome(Freed(hinge, u), CarrierMessages(tuple(map(Handle, sent.on, pa)), sent.across))

    def accelerate(self, freed: Freed, bias: Bias, above: Sequence[Twist]) -> Outcome:
        """a = D⁻¹ (u - Wᵀ A), and the acceleration of every link."""
        W, D = freed.hinge
        a = D.solve([u - x for u, x in zip(freed.drive, _powers(W, above), strict=True)])
        rates = [block @ a + b for block, b in zip(self.G, bias.g, strict=True)]
        own = [x + k.S.twist(r) for x, k, r in zip(bias.c, self.ks, rates, strict=True)]
        return Outcome(a, tuple(self._spread(own, above)))

    def push(self, hinge: ClusterHinge, on: Sequence[Wrench], tau: Vec) -> Pushed:
        """As for `ArticulatedLink`."""
        return self._push(hinge, on, tau, [Vec([0.0] * k.S.nv) for k in self.ks])

    def answer(self, hinge: ClusterHinge, w: Vec, above: Sequence[Twist]) -> Outcome:
        """a = w - D⁻¹ Wᵀ A, and the acceleration of every link."""
        a = w - hinge.D.solve(tuple(_powers(hinge.W, above)))
        own = [k.S.twist(block @ a) for k, block in zip(self.ks, self.G, strict=True)]
        return Outcome(a, tuple(self._spread(own, above)))

    def whiten(self, hinge: ClusterHinge, u: Vec) -> Vec:
        """D^-½ u."""
        return hinge.D.whiten(u)

    def motions(self) -> list[Mat]:
        """The stacked motion subspace 𝖲, one 6 x nv block per link."""
        columns = [self._motion(j)[1] for j in range(len(self.G[0][0]))]
        return [Mat.from_columns([column[b].six() for column in columns]) for b in range(len(self.ks))]

    def reactions(self, held: tuple[Mat, ...], F: Sequence[Wrench], rates: Sequence[Vec]) -> Vec:
        """G_hᵀ (Sᵀ F + armature): the forces in velocities that are held, from those on links and rates of joints."""
        return self._project(held, self._gather(F)[0], self._spun_up(rates))

    def _release(self, IA: Resistance) -> tuple[ClusterHinge, CarrierMessages]:
        """W, D, and the inertia that is left to the carriers when the cluster moves freely: on each and between."""
        W: list[tuple[Wrench, ...]] = []
        D: list[Vec] = []
        motions: list[list[Twist]] = []
        for j in range(len(self.G[0][0])):
            rates, S_j = self._motion(j)
            motions.append(S_j)
            F, on_carriers = self._gather([Articulated.of(I) @ t for I, t in zip(IA.IA, S_j, strict=True)])
            W.append(on_carriers)
            D.append(self._project(self.G, F, self._spun_up(rates)))
        carried = []
        for places, term in IA.yielding:
            carried.append(self._at_carriers(places, term))
            B = [tuple(_powers(term.W, [S_j[b] for b in places])) for S_j in motions]
            for j, own in enumerate(B):
                y = term.D.solve(own)
                D[j] = D[j] - Vec([dot(other, y) for other in B])
                W[j] = tuple(w - _weighted_sum(x, y) for w, x in zip(W[j], carried[-1].W, strict=True))
        sizes = [self._largest_resistance(IA, *self._motion(j)) for j in range(len(D))] if self.varies else ()
        factored = factor(Mat(D)).where(self.regular()).above_rounding(sizes)
        hinge = ClusterHinge(tuple(zip(*W, strict=True)) or ((),) * -min(self.inner), factored)
        yielding = [YieldingTerm(*hinge), *carried] if W else carried
        if min(self.inner) < -1:
            return hinge, CarrierMessages(self._composite(IA.IA), tuple(yielding))
        losses = [_loss(own, factored) for (own,), factored in yielding]
        (whole,) = self._composite(IA.IA)
        return hinge, CarrierMessages((_less(Articulated.of(whole), losses),))

    def _largest_resistance(self, IA: Resistance, rates: list[Vec], motion: list[Twist]) -> Scalar:
        """An upper bound of the resistance to rates of the joints, with the twists of the links at these rates."""
        bodies = sum(Articulated.of(I).largest_resistance(t) for I, t in zip(IA.IA, motion, strict=True))
        pairs = [(x, y) for k, own in zip(self.ks, rates, strict=True) for x, y in zip(k.armature, own, strict=True)]
        return bodies + sum(x * y * y for x, y in pairs)

    def regular(self) -> list[Any]:
        """Conditions on the state under which the velocities are independent, of those that may fail."""
        if any(own.tied for own in self.locking):
            condition = independent_motions([k.S for k in self.ks], self.G, [k.armature for k in self.ks])
            return [] if condition is True else [condition]
        return [x for own in self.locking for x in regular((self.ks[own.place],), own.suspect)]

    def _at_carriers(self, places: tuple[int, ...], term: YieldingTerm) -> YieldingTerm:
        """The term of some links, expressed at the carriers."""
        by_place = dict(zip(places, term.W, strict=True))
        none = (Wrench.zero(),) * len(term.W[0])
        columns = zip(*(by_place.get(b, none) for b in range(len(self.ks))), strict=True)
        return YieldingTerm(tuple(zip(*(self._gather(own)[1] for own in columns), strict=True)), term.D)

    def _push(self, hinge: ClusterHinge, on: Sequence[Wrench], tau: Vec, rates: Sequence[Vec]) -> Pushed:
        """`push`, with armatures that accelerate already."""
        F, P = self._gather(on)
        u = Vec(tau) - self._project(self.G, F, self._spun_up(rates))
        w = hinge.D.solve(u)
        return Pushed(u, w, tuple(p + _weighted_sum(W, w) for p, W in zip(P, hinge.W, strict=True)))

    def _motion(self, j: int) -> tuple[list[Vec], list[Twist]]:
        """Rates of all joints, and twists of all links beside the carriers', for a unit of independent velocity j."""
        rates = [Vec([row[j] for row in block]) for block in self.G]
        return rates, self._spread([k.S.twist(r) for k, r in zip(self.ks, rates, strict=True)])

    def _spread(self, own: Sequence[Twist], carriers: Sequence[Twist] | None = None) -> list[Twist]:
        """V_b = X_b V_parent + own_b; carriers rest if not given."""

        def step(b: int, inside: Twist | None) -> Twist:
            above = carriers[-1 - self.inner[b]] if inside is None and carriers is not None else inside
            return own[b] if above is None else self.ks[b].X.motion_to_child(above) + own[b]

        return outward(self.inner, None, step)

    def _gather(self, own: Sequence[Wrench]) -> tuple[list[Wrench], tuple[Wrench, ...]]:
        """F_b = own_b + Σ Xᵀ F of the links it carries; and the wrenches on the carriers."""
        return summed_inward(self.inner, own, lambda b, F: self.ks[b].X.force_to_parent(F))

    def _composite(self, IA: Sequence[Articulated | AnyInertia]) -> tuple[Articulated | AnyInertia, ...]:
        """Σ Xᵀ IA X in the frames of the carriers; where nothing is taken from it yet, a rigid body stays such."""
        own = IA if min(self.inner) < -1 else tuple(map(Articulated.of, IA))
        return summed_inward(self.inner, own, lambda b, I: I.to_parent(self.ks[b].X))[1]

    def _project(self, G: Sequence[Mat], F: Sequence[Wrench], applied: Sequence[Vec]) -> Vec:
        """Gᵀ (Sᵀ F + applied)."""
        both = zip(self.ks, G, F, applied, strict=True)
        parts = [block.transpose_times(k.S.project(f) + x) for k, block, f, x in both]
        return sum(parts[1:], parts[0])

    def _spun_up(self, rates: Sequence[Sequence[Scalar]]) -> list[Vec]:
        """The forces that accelerate the armatures."""
        torques = [spun_up(k, rate) for k, rate in zip(self.ks, rates, strict=True)]
        for places, A in self.coupled:
            parts = cut(A @ [x for b in places for x in rates[b]], [len(rates[b]) for b in places])
            for b, part in zip(places, parts, strict=True):
                torques[b] = torques[b] + part
        return torques


def _powers(W: Sequence[Sequence[Wrench]], A: Sequence[Twist]) -> Iterator[Scalar]:
    """Wᵀ A by velocity, summed over links."""
    for wrenches in zip(*W, strict=True):
        total, *rest = (x.power(t) for x, t in zip(wrenches, A, strict=True))
        yield sum(rest, total)


def _loss(W: Sequence[Wrench], D: Factored) -> tuple[list[Vec], Mat]:
    """Wᵀ and D⁻¹ Wᵀ by rows, of which W D⁻¹ Wᵀ is the product."""
    rows = [w.six() for w in W]
    return rows, D.solve_columns(Mat(rows))


def _less(I: Articulated, losses: Sequence[tuple[Sequence[Vec], Mat]]) -> Articulated:
    """I - Σ W D⁻¹ Wᵀ, each as `_loss` gives it."""
    left = [list(row) for row in I.rows()]
    for rows, Y in losses:
        for i in range(6):
            for k in range(i, 6):
                left[i][k] = left[i][k] - dot([row[i] for row in rows], [y[k] for y in Y])
    return Articulated.of_rows(left)


def _weighted_sum(W: Sequence[Wrench], w: Sequence[Scalar]) -> Wrench:
    """Σ W_j w_j; nothing for a cluster that cannot move."""
    return Wrench.of(Mat(x.six() for x in W).transpose_times(w)) if W else Wrench.zero()


def spun_up(k: Kinematics, rate: Sequence[Scalar]) -> Vec:
    """The force that accelerates the armature."""
    return Vec([j * x for j, x in zip(k.armature, rate, strict=True)])


class HeldFreed(NamedTuple):
    """A cluster of which some velocities are held: the others freed, and what each link pushes against."""

    freed: Freed
    IA: Resistance
    pA: tuple[Wrench, ...]


class FreeAndHeld(NamedTuple):
    """Accelerations of velocities that are free, and the forces that hold the others."""

    a: Vec  # (independent velocities,)
    tau: Vec  # (independent velocities,)


class HeldCluster(NamedTuple):
    """A cluster of whose velocities only the `loose` ones answer to forces; all others move as prescribed."""

    moving: ArticulatedCluster  # with the columns of the loose velocities
    held: tuple[Mat, ...]  # the other columns of G: (nv of the link, held velocities) each
    loose: tuple[int, ...]
    nv: int

    def free(self, children: Hung, p: Sequence[Wrench], bias: Bias, tau: Vec) -> Outcome:
        """As for `ArticulatedLink`, with the accelerations of what is held in the bias (see `held_bias`)."""
        freed, sent = self.moving.free(children, p, bias, self.loose_entries(tau))
        IA, pA = self.moving.gather(children, p)
        return Outcome(HeldFreed(freed, IA, tuple(pA)), sent)

    def accelerate(self, kept: HeldFreed, bias: Bias, above: Sequence[Twist]) -> Outcome:
        """`FreeAndHeld`, and the acceleration of every link; τ = G_hᵀ (Sᵀ (IA A + pA) + armature)."""
        a, moved = self.moving.accelerate(kept.freed, bias, above)
        F = kept.IA.push(kept.pA, moved)
        rates = [block @ a + b for block, b in zip(self.moving.G, bias.g, strict=True)]
        return Outcome(FreeAndHeld(a, self.moving.reactions(self.held, F, rates)), moved)

    def release(self, children: Hung) -> Outcome:
        """As for `ArticulatedLink`."""
        return self.moving.release(children)

    def push(self, hinge: ClusterHinge, on: Sequence[Wrench], tau: Vec) -> Pushed:
        """As for `ArticulatedLink`: nothing is left where velocities are held."""
        u, w, pa = self.moving.push(hinge, on, self.loose_entries(tau))
        return Pushed(self.scatter(u), self.scatter(w), pa)

    def answer(self, hinge: ClusterHinge, w: Vec, above: Sequence[Twist]) -> Outcome:
        """As for `ArticulatedLink`: what is held does not accelerate."""
        a, moved = self.moving.answer(hinge, self.loose_entries(w), above)
        return Outcome(self.scatter(a), moved)

    def whiten(self, hinge: ClusterHinge, u: Vec) -> Vec:
        """D^-½ u."""
        return self.scatter(self.moving.whiten(hinge, self.loose_entries(u)))

    def loose_entries(self, x: Vec) -> Vec:
        """The entries of the loose velocities."""
        return Vec([x[j] for j in self.loose])

    def scatter(self, x: Vec) -> Vec:
        """Entries of the loose velocities among zeros."""
        found: list[Scalar] = [0.0] * self.nv
        for j, y in zip(self.loose, x, strict=True):
            found[j] = y
        return Vec(found)


def _columns(G: Sequence[Mat], which: Sequence[int]) -> tuple[Mat, ...]:
    """Some columns of a map, by link."""
    return tuple(Mat(Vec([row[j] for j in which]) for row in block) for block in G)


def held_bias(bias: Bias, held: tuple[Mat, ...], a: Vec) -> Bias:
    """Held accelerations move the links as those of loops do: g + G_h a_h."""
    return Bias(bias.c, tuple(own + block @ a for own, block in zip(bias.g, held, strict=True)))


def regular(ks: Sequence[Kinematics], suspect: ColumnSets) -> list[Any]:
    """Conditions on the state under which the rates of links in series are independent."""
    if not suspect:
        return []
    return series((k.X, k.S) for k in ks).regular([x for k in ks for x in k.armature], suspect)


def _on_link(
    k: Kinematics,
    suspect: ColumnSets,
    below: tuple[Kinematics, ...],
    varies: bool,
    step: Callable[..., Any],
    *args: Any,
) -> Any:
    return step(ArticulatedLink(k, suspect, below, varies), *args)


def coupled_joints(s: Sweeps, cluster: Cluster) -> tuple[CoupledJoints, ...]:
    """The armature that couples velocities of a cluster."""
    own = [x for x in s.tree.couplings if x.links[0] in cluster.links]
    return tuple(CoupledJoints(tuple(cluster.links.index(i) for i in x.links), x.A) for x in own)


class LinkNode:
    """Steps on a link alone; links below it may be `held`, whose rates are then not among those that are dependent."""

    def __init__(self, s: Sweeps, cluster: Cluster, held: Container[int]) -> None:
        self._s, self._varies = s, cluster.varies
        (self._link,) = cluster.links
        suspect, self._below = cluster.locking[0][1:3] if cluster.locking else ((), ())
        owners = [i for i in (self._link, *self._below) for _ in range(s.tree.links[i].joint.nv)]
        self._suspect = tuple(tuple(j for j in columns if owners[j] not in held) for columns in suspect)

    def step(self, step: Callable[..., Any], *args: Any) -> Any:
        """step(link, *args)."""
        below = tuple(map(self._s.kinematics, self._below))
        return self._s.step(self._link, _on_link, self._suspect, below, self._varies, step, *args)


class ClusterNode:
    """Steps on tied links."""

    def __init__(self, s: Sweeps, cluster: Cluster, G: tuple[Mat, ...], locking: tuple[Locking, ...]) -> None:
        self._s, self._cluster, self._G, self._locking = s, cluster, G, locking

    def whole(self) -> ArticulatedCluster:
        """The cluster itself."""
        ks = tuple(self._s.kinematics(i) for i in self._cluster.links)
        coupled = coupled_joints(self._s, self._cluster)
        return ArticulatedCluster(ks, self._cluster.inner, self._G, coupled, self._locking, self._cluster.varies)

    def step(self, step: Callable[..., Any], *args: Any) -> Any:
        """step(cluster, *args)."""
        return self._s.recorder.call(step, self.whole(), *args)


class HeldNode:
    """Steps on a cluster of which some velocities are `held`: a flag for each."""

    def __init__(self, s: Sweeps, cluster: Cluster, e: ClusterState, held: Sequence[bool]) -> None:
        if len(held) != cluster.embedding.nv:
            raise ValueError(
                f"links {cluster.links} have {cluster.embedding.nv} velocities, got {tuple(held)} for them"
            )
        self._recorder = s.recorder
        self.loose, self.held = (tuple(j for j, x in enumerate(held) if bool(x) is which) for which in (False, True))
        locking = tuple(own._replace(tied=True) for own in cluster.locking)  # some rates are held, as if by loops
        self._moving = ClusterNode(s, cluster, _columns(e.G, self.loose), locking)
        self.G_held = _columns(e.G, self.held)

    def step(self, step: Callable[..., Any], *args: Any) -> Any:
        """step(cluster, *args)."""
        nv = len(self.loose) + len(self.held)
        return self._recorder.call(step, HeldCluster(self._moving.whole(), self.G_held, self.loose, nv), *args)


def node(s: Sweeps, cluster: Cluster, e: ClusterState, held: Container[int] = ()) -> Node:
    """Where steps on a cluster at a state run: the only place that distinguishes single links from tied ones."""
    alone = e.is_identity and not coupled_joints(s, cluster)
    return LinkNode(s, cluster, held) if alone else ClusterNode(s, cluster, e.G, cluster.locking)


def make_nodes(
    s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState], prescribed: Sequence[Sequence[bool]]
) -> tuple[list[Node], dict[int, HeldNode]]:
    """Where steps run on clusters of which some velocities, a flag for each, are held; and those nodes by number."""
    given = list(enumerate(zip(clusters, states, prescribed, strict=True)))
    held = {n: HeldNode(s, *own) for n, own in given if any(own[2])}
    links = {link for n in held for link in clusters[n].links}
    return [held.get(n) or node(s, cluster, e, links) for n, (cluster, e, _) in given], held


def over_clusters(s: Sweeps, clusters: Sequence[Cluster], states: Sequence[ClusterState]) -> ClusterSweeps:
    """Sweeps over clusters that all move freely."""
    return ClusterSweeps(s, clusters, [node(s, *x) for x in zip(clusters, states, strict=True)])
