"""Hybrid dynamics (Kim Table 4): every independent velocity has its acceleration prescribed, or its force given.

With all forces given it is the articulated-body algorithm, with all accelerations prescribed it is inverse dynamics.
Within a cluster of tied links, what is prescribed moves the links as the loops' own accelerations g do: with the
columns of G split into free and held ones, q̈ = G_f a_f + (g + G_h a_h).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..spatial.articulated import Articulated
from ..spatial.linear import Mat, Vec
from ..spatial.vectors import Twist, Wrench
from ..tree.clusters import GROUND, Cluster
from ..tree.embedding import EmbeddedState
from ..tree.links import Kinematics
from . import cluster_aba
from .aba import RESTING, Accelerated, Spun, accelerate_group, free_group, ground, spin_outward
from .cluster_aba import Felt, FreedGroup
from .sweep import Outcome, Sweeps


def check_held(clusters: Sequence[Cluster], held: Sequence[Sequence[bool]]) -> None:
    """Refuse to hold a joint without loops in part: its velocities are freed together."""
    for cluster, own in zip(clusters, held, strict=True):
        if len(own) != cluster.embedding.nv or (cluster.is_free and any(own) and not all(own)):
            raise ValueError(
                f"links {cluster.links} with {cluster.embedding.nv} velocities: a joint without loops is held "
                f"as a whole or not at all, got {tuple(own)}"
            )


class Held(NamedTuple):
    """What a prescribed link pushes against: F = IA A + pA."""

    IA: Articulated
    pA: Wrench


def hold_inward(k: Kinematics, children: tuple[Felt, ...], own: Spun, a: Vec) -> Outcome:
    """The joint moves as prescribed: the parent feels all of it, Ia = IA and pa = pA + IA (c + S a)."""
    IA = sum((child.Ia for child in children), Articulated.of(k.I))
    pA = sum((child.pa for child in children), own.p)
    felt = Felt(IA.to_parent(k.X), k.X.force_to_parent(pA + IA @ (own.c + k.S.twist(a))))
    return Outcome(Held(IA, pA), felt)


def drive_outward(k: Kinematics, parent: Accelerated, own: Spun, held: Held, a: Vec) -> tuple[Accelerated, Vec]:
    """A = X A_λ + c + S a;  τ = Sᵀ(IA A + pA), plus what the armature takes."""
    A = k.X.motion_to_child(parent.A) + own.c + k.S.twist(a)
    tau = k.S.project(held.IA @ A + held.pA) + [j * x for j, x in zip(k.armature, a, strict=True)]
    return Accelerated(a, A), tau


class Divided(NamedTuple):
    """A cluster's map in two: G_f of what moves freely, G_h of what is held, and g with held accelerations in it."""

    free: tuple[Mat, ...]
    held: tuple[Mat, ...]
    g: tuple[Vec, ...]


class HeldGroup(NamedTuple):
    """A cluster of which some velocities are held: the others freed, and what each link pushes against."""

    freed: FreedGroup
    links: tuple[Held, ...]


def divide(G: tuple[Mat, ...], g: tuple[Vec, ...], a: Vec, free: tuple[int, ...], held: tuple[int, ...]) -> Divided:
    """Split the columns of G."""
    free_G, held_G = (
        tuple(Mat(Vec([row[j] for j in which]) for row in block) for block in G) for which in (free, held)
    )
    moved = tuple(bias + block @ [a[j] for j in held] for bias, block in zip(g, held_G, strict=True))
    return Divided(free_G, held_G, moved)


def hold_group_inward(
    ks: tuple[Kinematics, ...],
    inner: tuple[int, ...],
    d: Divided,
    c: tuple[Twist, ...],
    p: tuple[Wrench, ...],
    children: tuple[tuple[Felt, ...], ...],
    tau: Vec,
) -> Outcome:
    """Free what is free, and keep what the held ones will need."""
    freed, felt = cluster_aba.free_inward(ks, inner, d.free, d.g, c, p, children, tau)
    IA, pA = cluster_aba.gathered(ks, p, children)
    return Outcome(HeldGroup(freed, tuple(map(Held, IA, pA))), felt)


def drive_group_outward(
    ks: tuple[Kinematics, ...], inner: tuple[int, ...], d: Divided, c: tuple[Twist, ...], A: Twist, own: HeldGroup
) -> tuple[Vec, tuple[Twist, ...], Vec]:
    """Accelerations of the free velocities and of all links, and what holds the others: G_hᵀ (Sᵀ F + armature)."""
    a, moved = cluster_aba.accelerate_outward(ks, inner, d.free, d.g, c, A, own.freed)
    F, _ = cluster_aba.gather(ks, inner, [x.IA @ t + x.pA for x, t in zip(own.links, moved, strict=True)])
    rates = [block @ a + bias for block, bias in zip(d.free, d.g, strict=True)]
    taken = [cluster_aba.spun_up(k, rate) for k, rate in zip(ks, rates, strict=True)]
    return a, moved, cluster_aba.projected(ks, d.held, F, taken)


class _Group:
    """One cluster in both sweeps, with the velocities that are held."""

    def __init__(
        self, s: Sweeps, cluster: Cluster, e: EmbeddedState | None, spun: Sequence[Spun], held: Sequence[bool]
    ) -> None:
        self.s, self.cluster, self.e, self.spun = s, cluster, e, spun
        self.held = tuple(j for j, x in enumerate(held) if x)
        self.free = tuple(j for j, x in enumerate(held) if not x)

    def inward(self, messages: list[list[Any]], a: Vec, tau: Vec) -> None:
        """Free and hold, and send what is left to the carrier."""
        if not self.held:
            self.kept = free_group(self.s, self.cluster, self.e, messages, self.spun, tau)
            return
        if self.e is None:
            (i,) = self.cluster.links
            self.kept, message = self.s.step(i, hold_inward, tuple(messages[i]), self.spun[i], a)
        else:
            call, links = self.s.recorder.call, self.cluster.links
            self.divided = call(divide, self.e.G, self.e.g, a, self.free, self.held)
            self.ks, self.c = tuple(self.s.k[i] for i in links), tuple(self.spun[i].c for i in links)
            p, sent = tuple(self.spun[i].p for i in links), tuple(tuple(messages[i]) for i in links)
            given = Vec([tau[j] for j in self.free])
            self.kept, message = call(
                hold_group_inward, self.ks, self.cluster.inner, self.divided, self.c, p, sent, given
            )
        if self.cluster.carrier >= 0:
            messages[self.cluster.carrier].insert(0, message)

    def outward(self, moved: dict[int, Accelerated], a: Vec, tau: Vec) -> tuple[Vec, Vec]:
        """All accelerations and forces of the cluster; `moved` gains the accelerations of its links."""
        if not self.held:
            return accelerate_group(self.s, self.cluster, self.e, moved, self.spun, self.kept), tau
        above, links = moved[self.cluster.carrier], self.cluster.links
        if self.e is None:
            (i,) = links
            moved[i], force = self.s.step(i, drive_outward, above, self.spun[i], self.kept, a)
            return a, force
        found, parts, forces = self.s.recorder.call(
            drive_group_outward, self.ks, self.cluster.inner, self.divided, self.c, above.A, self.kept
        )
        moved.update({i: Accelerated(found, A) for i, A in zip(links, parts, strict=True)})
        every, acted = dict(zip(self.free, found, strict=True)), dict(zip(self.held, forces, strict=True))
        n = range(len(a))
        return Vec([every[j] if j in every else a[j] for j in n]), Vec([acted[j] if j in acted else tau[j] for j in n])


def hybrid_dynamics(
    s: Sweeps,
    clusters: Sequence[Cluster],
    expanded: Sequence[EmbeddedState | None],
    v: Sequence[Vec],
    a: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    prescribed: Sequence[Sequence[bool]],
    gravity: Sequence[float],
) -> tuple[list[Vec], list[Vec]]:
    """All accelerations and all forces, by cluster; of what is prescribed `a` is read, of the rest `tau`.

    `prescribed`: for each cluster, for each of its independent velocities; a joint without loops all or none of them.
    """
    check_held(clusters, prescribed)
    spun = s.outward(spin_outward, RESTING, v, F_ext)
    messages: list[list[Any]] = [[] for _ in s.tree.parents]
    parts = [_Group(s, *x) for x in zip(clusters, expanded, [spun] * len(clusters), prescribed, strict=True)]
    for part, own_a, own_tau in reversed(list(zip(parts, a, tau, strict=True))):
        part.inward(messages, own_a, own_tau)
    moved: dict[int, Accelerated] = {GROUND: s.known(ground, Vec(gravity))}
    found = [part.outward(moved, own_a, own_tau) for part, own_a, own_tau in zip(parts, a, tau, strict=True)]
    return [x for x, _ in found], [x for _, x in found]
