"""Forward dynamics, a = FD(q, v, τ): the articulated-body algorithm (ABA; Kim Table 3) in O(n)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..spatial.articulated import Articulated
from ..spatial.linear import Vec, zeros
from ..spatial.motion import Motion, Spin
from ..spatial.subspace import Hinge
from ..spatial.vectors import Twist, Wrench
from ..tree.clusters import GROUND, Cluster
from ..tree.embedding import EmbeddedState
from ..tree.links import Kinematics
from . import cluster_aba
from .cluster_aba import Felt
from .sweep import Outcome, Sweeps
from .wide_cluster import FreedWide, accelerate_wide, free_wide, is_wide


class Spun(NamedTuple):
    """What velocity alone does to a link: its spin, the acceleration c it gains, the force p it takes."""

    spin: Spin
    c: Twist
    p: Wrench


class Freed(NamedTuple):
    """A link's joint, freed: a = w - Y A'."""

    hinge: Hinge
    w: Vec


class Accelerated(NamedTuple):
    """Acceleration of a link's joint, and of its body."""

    a: Vec
    A: Twist


def spin_outward(k: Kinematics, parent: Spun, v: Vec, F_ext: Wrench) -> Spun:
    """V = X V_λ + S v;  c = S° v + ad_V S v;  p = -ad_Vᵀ I V - F_ext; in the classical form of `spatial.motion`."""
    spin, c = parent.spin.through(k.X, k.S.twist(v), k.c_J)
    still = Motion(spin.w, zeros(3), zeros(3), spin.W.matrix())
    return Spun(spin, c, k.I.force(still) - F_ext)


def free_inward(k: Kinematics, children: tuple[Felt, ...], own: Spun, tau: Vec) -> Outcome:
    """IA = I + Σ Xᵀ Ia X;  pA = p + Σ Xᵀ pa;  Ia = IA - U D⁻¹ Uᵀ;  pa = pA + Ia c + U D⁻¹ u."""
    IA = sum((child.Ia for child in children), Articulated.of(k.I))
    pA = sum((child.pa for child in children), own.p)
    hinge, Ia = k.S.free(IA, k.armature)
    w, left = k.S.push(hinge, pA, tau)
    return Outcome(Freed(hinge, w), Felt(Ia.to_parent(k.X), k.X.force_to_parent(left + Ia @ own.c)))


def accelerate_outward(k: Kinematics, parent: Accelerated, own: Spun, freed: Freed) -> Accelerated:
    """A' = X A_λ + c;  a = D⁻¹(u - Uᵀ A');  A = A' + S a."""
    return Accelerated(*k.S.accelerate(freed.hinge, freed.w, k.X.motion_to_child(parent.A) + own.c))


def ground(gravity: Vec) -> Accelerated:
    """The ground, accelerated against gravity."""
    return Accelerated(Vec(()), Twist(zeros(3), -gravity))


RESTING = Spun(Spin.of_ground(), Twist.zero(), Wrench.zero())


def forward_dynamics(
    s: Sweeps,
    clusters: Sequence[Cluster],
    expanded: Sequence[EmbeddedState | None],
    v: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    gravity: Sequence[float],
) -> list[Vec]:
    """Accelerations of every cluster, from velocities of all links, forces of the clusters and wrenches on bodies."""
    spun = s.outward(spin_outward, RESTING, v, F_ext)
    messages: list[list[Any]] = [[] for _ in s.tree.parents]
    freed: list[Any] = [None] * len(clusters)
    for n in reversed(range(len(clusters))):
        freed[n] = free_group(s, clusters[n], expanded[n], messages, spun, tau[n], wide=True)
    moved: dict[int, Accelerated] = {GROUND: s.known(ground, Vec(gravity))}
    return [
        accelerate_group(s, cluster, e, moved, spun, x) for cluster, e, x in zip(clusters, expanded, freed, strict=True)
    ]


def free_group(
    s: Sweeps,
    cluster: Cluster,
    e: EmbeddedState | None,
    messages: list[list[Any]],
    spun: Sequence[Spun],
    tau: Vec,
    wide: bool = False,
) -> Any:
    """Free a cluster, and send what is left to its carrier. `wide`: one with many velocities may be a `FreedWide`."""
    if e is None:
        (i,) = cluster.links
        freed, message = s.step(i, free_inward, tuple(messages[i]), spun[i], tau)
    else:
        ks = tuple(s.k[i] for i in cluster.links)
        c, p = tuple(spun[i].c for i in cluster.links), tuple(spun[i].p for i in cluster.links)
        sent = tuple(tuple(messages[i]) for i in cluster.links)
        if wide and is_wide(cluster):
            freed, message = free_wide(s, cluster, e, c, p, sent, tau)
        else:
            freed, message = s.recorder.call(cluster_aba.free_inward, ks, cluster.inner, e.G, e.g, c, p, sent, tau)
    if cluster.carrier >= 0:
        messages[cluster.carrier].insert(0, message)
    return freed


def accelerate_group(
    s: Sweeps,
    cluster: Cluster,
    e: EmbeddedState | None,
    moved: dict[int, Accelerated],
    spun: Sequence[Spun],
    freed: Any,
) -> Vec:
    """The accelerations of a cluster; `moved` gains those of its links."""
    above = moved[cluster.carrier]
    if e is None:
        (i,) = cluster.links
        moved[i] = s.step(i, accelerate_outward, above, spun[i], freed)
        return moved[i].a
    ks, c = tuple(s.k[i] for i in cluster.links), tuple(spun[i].c for i in cluster.links)
    if isinstance(freed, FreedWide):
        a, parts = accelerate_wide(s, cluster, e, c, above.A, freed)
    else:
        a, parts = s.recorder.call(cluster_aba.accelerate_outward, ks, cluster.inner, e.G, e.g, c, above.A, freed)
    moved.update({i: Accelerated(a, A) for i, A in zip(cluster.links, parts, strict=True)})
    return a
