"""Inverse dynamics, τ = ID(q, v, a): the recursive Newton-Euler algorithm (RNEA; Kim Table 2, Zhang, Liu-Jain §7).

The lines of the table stand at the steps, which compute them in the classical form of `spatial.motion`: with
Γ = [α] + [ω]² and the acceleration of the origin in place of A, so that V itself is not needed.

Reactions, the wrench that every body receives from its parent through its joint, are inverse dynamics over all bodies,
fixed ones too. A loop acts on the bodies it ties with the forces (∂φ/∂ξ)ᵀ λ, ξ their displacements, where λ makes the
forces of all passive (dependent) joints vanish: K_dᵀ λ = τ_d. Where loops hold more than is needed λ is not unique:
here it is zero for rows that others imply.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import NamedTuple

from ..spatial.linear import Vec
from ..spatial.motion import Motion
from ..spatial.transform import Transform
from ..spatial.vectors import Wrench
from ..tree.embedding import LoopEmbedding
from ..tree.links import Kinematics
from . import armature
from .fluid_wrenches import net_wrenches
from .sweep import Outcome, Sweeps


class Moved(NamedTuple):
    """A link's motion and the force that it takes."""

    motion: Motion
    F: Wrench


def outward(k: Kinematics, parent: Moved, v: Vec, a: Vec, F_ext: Wrench) -> Moved:
    """V = X V_λ + S v;  A = X A_λ + S a + S° v + ad_V S v;  F = I A - ad_Vᵀ I V - F_ext."""
    motion = parent.motion.through(k.X, k.S.twist(v), k.S.twist(a) + k.c_J)
    return Moved(motion, k.I.force(motion) - F_ext)


def inward(k: Kinematics, children: tuple[Wrench, ...], own: Moved, a: Vec) -> Outcome:
    """F = own + Σ Xᵀ F of the children;  τ = Sᵀ F, plus the force of the armature."""
    F = sum(children, own.F)
    tau = k.S.project(F) + [j * x for j, x in zip(k.armature, a, strict=True)]
    return Outcome(tau, k.X.force_to_parent(F))


def inverse_dynamics(
    s: Sweeps, v: Sequence[Vec], a: Sequence[Vec], F_ext: Sequence[Wrench], gravity: Sequence[float]
) -> list[Vec]:
    """Joint forces of every link, from velocities, accelerations and external wrenches on its body."""
    ground = Moved(s.fold(Motion.of_ground, Vec(gravity)), Wrench.zero())
    moved = s.outward(outward, ground, v, a, net_wrenches(s, v, F_ext, gravity))
    tau: list[Vec] = s.inward(inward, moved, a)
    for more in (armature.coupled_momenta(s, a), armature.forces(s, v)):
        for i, own in more.items():
            tau[i] = s.recorder.call(add, tau[i], own)
    return tau


def pass_inward(k: Kinematics, children: tuple[Wrench, ...], own: Moved) -> Outcome:
    """F = own + Σ Xᵀ F of the children."""
    F = sum(children, own.F)
    return Outcome(F, k.X.force_to_parent(F))


def loop_wrenches(tie: LoopEmbedding, q: tuple[Vec, ...], tau: tuple[Vec, ...]) -> tuple[Wrench, ...]:
    """The wrench on each body that the cluster's loops touch, in its own frame, from the forces of all joints."""
    return tie.wrenches([x for part in q for x in part], [x for part in tau for x in part])


def to_body(pose: Transform, F: Wrench) -> Wrench:
    """A wrench from a link's frame to that of the body placed in it."""
    return pose.inverse().force_to_parent(F)


def add_wrench(pose: Transform, F: Wrench, total: Wrench) -> Wrench:
    """A wrench in a body's frame, added to the wrench on its link."""
    return total + pose.force_to_parent(F)


def reactions(
    s: Sweeps,
    v: Sequence[Vec],
    a: Sequence[Vec],
    F_ext: Sequence[Wrench],
    poses: Sequence[Transform],
    gravity: Sequence[float],
) -> list[Wrench]:
    """Wrenches on all bodies by their joints, in the bodies' frames; `poses` are those of the bodies in their links."""
    start = Moved(s.fold(Motion.of_ground, Vec(gravity)), Wrench.zero())
    moved = s.outward(outward, start, v, a, net_wrenches(s, v, F_ext, gravity))
    forces = s.inward(pass_inward, moved)
    return [s.recorder.call(to_body, pose, F) for pose, F in zip(poses, forces, strict=True)]
