"""Hybrid dynamics (Kim Table 4): each joint has either its acceleration prescribed or its force given.

With all joints given it is the articulated-body algorithm, with all prescribed it is inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..model.cluster import Kinematics
from ..spatial.articulated import Articulated
from ..spatial.linear import Vec
from ..spatial.vectors import Wrench
from .aba import RESTING, Accelerated, Felt, Spun, accelerate_outward, free_inward, ground, spin_outward
from .sweep import Outcome, Sweeps


class Held(NamedTuple):
    """What a prescribed cluster pushes against: F = IA A + pA."""

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


def hybrid_dynamics(
    s: Sweeps,
    v: Sequence[Vec],
    a: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    prescribed: Sequence[bool],
    gravity: Sequence[float],
) -> tuple[list[Vec], list[Vec]]:
    """All accelerations and all joint forces; where a cluster is prescribed its `a` is read, else its `tau`."""
    spun = s.outward(spin_outward, RESTING, v, F_ext)
    n = len(prescribed)
    messages: list[list[Felt]] = [[] for _ in range(n)]
    kept: list[object] = [None] * n
    for i in reversed(range(n)):
        step, given = (hold_inward, a[i]) if prescribed[i] else (free_inward, tau[i])
        kept[i], message = s.step(i, step, tuple(messages[i]), spun[i], given)
        if s.tree.parents[i] >= 0:
            messages[s.tree.parents[i]].insert(0, message)
    moved: list[Accelerated] = []
    forces: list[Vec] = []
    for i, parent in enumerate(s.tree.parents):
        above = ground(gravity) if parent < 0 else moved[parent]
        if prescribed[i]:
            here, force = s.step(i, drive_outward, above, spun[i], kept[i], a[i])
        else:
            here, force = s.step(i, accelerate_outward, above, spun[i], kept[i]), tau[i]
        moved.append(here)
        forces.append(force)
    return [x.a for x in moved], forces
