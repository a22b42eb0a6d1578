"""Articulated inertias and bias forces of bodies (Î, B̂ of Kim Table 3; 𝖨ᴬ, 𝗉ᴬ of Chignoli §VII) as results.

A body of a cluster with loops has the block of 𝖨ᴬ that belongs to it: itself and what hangs on it outside the cluster.
Where something hangs on several bodies of a cluster, the block of one is its resistance while the others are still.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..spatial.inertia import Articulated
from ..spatial.linear import Vec, zeros
from ..spatial.transform import Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.cluster_tree import GROUND, Location
from ..tree.clusters import Cluster
from ..tree.states import ClusterState
from .aba import spin
from .articulated import Bias, Handle, over_clusters
from .energy import add
from .sweep import Hung, Outcome, Sweeps, velocity_outward


class ArticulatedLinks(NamedTuple):
    """A cluster on the way inward: IA and pA of every link, and the handles by which its carriers hold it."""

    IA: tuple[Articulated, ...]
    pA: tuple[Wrench, ...]
    handles: tuple[Handle, ...]


class ArticulatedBody(NamedTuple):
    """F = IA A + pA for the wrench F on a link, with the component-wise rate A of its twist, both in its own frame."""

    IA: Articulated
    pA: Wrench


def gather_inward(cluster: Any, children: Hung, p: tuple[Wrench, ...], bias: Bias, tau: Vec) -> Outcome:
    """IA = I + Σ Xᵀ Ia X and pA = p + Σ Xᵀ pa of every link, before the joints are freed."""
    IA, pA = cluster.gather(children, p)
    sent = cluster.free(children, p, bias, tau).message
    return Outcome(ArticulatedLinks(IA.blocks(), tuple(pA), sent.on), sent)


def _of_rates(IA: Articulated, pA: Wrench, V: Twist) -> ArticulatedBody:
    """From the acceleration of the origin, v̇ + ω × v, to the component-wise rate v̇: pA + IA (0, ω × v)."""
    return ArticulatedBody(IA, pA + IA @ Twist(zeros(3), V.angular.cross(V.linear)))


def _move_to_place(IA: Articulated, pA: Wrench, pose: Transform) -> ArticulatedBody:
    """At a place on the body, in the axes of that place."""
    back = pose.inverse()
    return ArticulatedBody(IA.to_parent(back), back.force_to_parent(pA))


def articulated_bodies(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[ClusterState],
    v: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    gravity: Sequence[Any],
    ground: Handle,
    homes: Sequence[Location],
) -> list[ArticulatedBody]:
    """IA and pA at each home. `ground` is that of the bodies fixed to the ground, to which what it carries is added."""
    p, bias, left, _ = spin(s, clusters, states, v, tau, F_ext, gravity)
    gathered = over_clusters(s, clusters, states).inward(gather_inward, p, bias, left)
    V = s.outward(velocity_outward, Twist.zero(), v)
    of_link: dict[int, ArticulatedBody] = {}
    for cluster, own in zip(clusters, gathered, strict=True):
        for link, IA, pA in zip(cluster.links, own.IA, own.pA, strict=True):
            of_link[link] = s.recorder.call(_of_rates, IA, pA, V[link])
    on_ground = [n for n, cluster in enumerate(clusters) if cluster.carriers == (GROUND,)]
    roots = [handle for n in on_ground for handle in gathered[n].handles]
    Ia = s.recorder.call(add, ground.Ia, *(x.Ia for x in roots))
    pa = s.recorder.call(add, ground.pa, *(x.pa for x in roots))
    of_link[GROUND] = ArticulatedBody(Ia, pa)
    return [s.recorder.call(_move_to_place, *of_link[home.link], home.pose) for home in homes]
