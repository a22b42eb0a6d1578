"""Forward dynamics, a = FD(q, v, τ): the articulated-body algorithm (ABA; Kim Table 3; C-ABA, Chignoli §VII), O(n)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..spatial.linear import Vec, zeros
from ..spatial.motion import Motion, Spin
from ..spatial.vectors import Twist, Wrench
from ..tree.clusters import Cluster
from ..tree.links import Kinematics
from ..tree.states import ClusterState
from . import armature
from .articulated import Bias, Freed
from .fluid_wrenches import net_wrenches
from .sweep import ClusterSweeps, Hung, Outcome, Sweeps
from .wide_cluster import wide_nodes


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
    tau: list[Vec]
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
