"""Hybrid dynamics (Kim Table 4): each group has either its acceleration prescribed or its force given.

With all forces given it is the articulated-body algorithm, with all accelerations prescribed it is inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.cluster import Kinematics
from ..model.embedding import Expanded
from ..model.grouping import GROUND
from ..model.groups import Group
from ..spatial.articulated import Articulated
from ..spatial.linear import Vec
from ..spatial.vectors import Wrench
from . import cluster
from .aba import RESTING, Accelerated, Spun, accelerate_group, free_group, ground, spin_outward
from .cluster import Felt
from .sweep import Outcome, Sweeps


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


def hybrid_dynamics(
    s: Sweeps,
    groups: Sequence[Group],
    expanded: Sequence[Expanded | None],
    v: Sequence[Vec],
    a: Sequence[Vec],
    links_a: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    prescribed: Sequence[bool],
    gravity: Sequence[float],
) -> tuple[list[Vec], list[Vec]]:
    """All accelerations and all forces, by group; where a group is prescribed its `a` is read, else its `tau`.

    `links_a` are the accelerations of all links that follow from `a`. Inside a prescribed group every joint moves as
    these say, so its links are held one by one.
    """
    spun = s.outward(spin_outward, RESTING, v, F_ext)
    messages: list[list[Any]] = [[] for _ in s.tree.parents]
    kept: list[Any] = [None] * len(groups)
    for n in reversed(range(len(groups))):
        group = groups[n]
        if prescribed[n]:
            kept[n] = [None] * len(group.links)
            for b in reversed(range(len(group.links))):
                i = group.links[b]
                kept[n][b], message = s.step(i, hold_inward, tuple(messages[i]), spun[i], links_a[i])
                if s.tree.parents[i] >= 0:
                    messages[s.tree.parents[i]].insert(0, message)
        else:
            kept[n] = free_group(s, group, expanded[n], messages, spun, tau[n])
    moved: dict[int, Accelerated] = {GROUND: ground(gravity)}
    accelerations: list[Vec] = []
    forces: list[Vec] = []
    for n, group in enumerate(groups):
        if not prescribed[n]:
            accelerations.append(accelerate_group(s, group, expanded[n], moved, spun, kept[n]))
            forces.append(tau[n])
            continue
        own = []
        for b, i in enumerate(group.links):
            moved[i], force = s.step(i, drive_outward, moved[s.tree.parents[i]], spun[i], kept[n][b], links_a[i])
            own.append(force)
        e = expanded[n]
        accelerations.append(a[n])
        forces.append(own[0] if e is None else s.recorder.call(cluster.project_forces, e.G, tuple(own)))
    return accelerations, forces
