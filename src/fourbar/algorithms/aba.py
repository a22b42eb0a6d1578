"""Forward dynamics, a = FD(q, v, τ): the articulated-body algorithm (ABA; Kim Table 3) in O(n)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model.cluster import Kinematics
from ..spatial.articulated import Articulated
from ..spatial.linear import Vec
from ..spatial.motion import Motion, Spin
from ..spatial.subspace import Passed
from ..spatial.vectors import Twist, Wrench
from .sweep import Outcome, Sweeps


class Spun(NamedTuple):
    """What velocity alone does to a cluster: its spin, the acceleration c it gains, the force p it takes."""

    spin: Spin
    c: Twist
    p: Wrench


class Felt(NamedTuple):
    """How a cluster and all that hangs on it answers to a push: F = Ia A + pa."""

    Ia: Articulated
    pa: Wrench


class Freed(NamedTuple):
    """A cluster's acceleration."""

    a: Vec
    A: Twist


def spin_outward(k: Kinematics, parent: Spun, v: Vec, F_ext: Wrench) -> Spun:
    """Velocity, c = S° v + ad_V S v, p = -ad_Vᵀ I V - F_ext; all with a = v̇ + ω × v for the linear part."""
    spin, c = parent.spin.through(k.X, k.S.twist(v), k.c_J)
    still = Motion(spin.w, Vec((0.0, 0.0, 0.0)), Vec((0.0, 0.0, 0.0)), spin.W.matrix())
    return Spun(spin, c, k.I.force(still) - F_ext)


def inward(k: Kinematics, children: tuple[Felt, ...], own: Spun, tau: Vec) -> Outcome:
    """IA = I + Σ Xᵀ Ia X;  pA = p + Σ Xᵀ pa;  the joint is eliminated, and what is left goes to the parent."""
    IA = sum((child.Ia for child in children), Articulated.of(k.I))
    pA = sum((child.pa for child in children), own.p)
    passed, Ia, pa = k.S.eliminate(IA, pA, own.c, tau, k.armature)
    return Outcome(passed, Felt(Ia.to_parent(k.X), k.X.force_to_parent(pa)))


def outward(k: Kinematics, parent: Freed, own: Spun, passed: Passed) -> Freed:
    """A' = X A_λ + c;  a = D⁻¹(u - Uᵀ A');  A = A' + S a."""
    a, A = k.S.accelerate(passed, k.X.motion_to_child(parent.A) + own.c)
    return Freed(a, A)


def forward_dynamics(s: Sweeps, v: Sequence[Vec], tau: Sequence[Vec], F_ext: Sequence[Wrench]) -> list[Vec]:
    """Accelerations of every cluster, from velocities, joint forces and external wrenches on its body."""
    ground = Spun(Spin.of_ground(), Twist.zero(), Wrench.zero())
    spun = s.outward(spin_outward, ground, v, F_ext)
    passed = s.inward(inward, spun, tau)
    start = Freed(Vec(()), Twist(Vec((0.0, 0.0, 0.0)), -Vec(s.tree.gravity)))
    return [freed.a for freed in s.outward(outward, start, spun, passed)]
