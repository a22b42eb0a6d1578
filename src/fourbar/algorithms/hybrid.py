"""Hybrid dynamics (Kim Table 4): every independent velocity has its acceleration prescribed, or its force given.

The sweeps are those of the articulated-body algorithm, over clusters some of which are held: with nothing held it is
that algorithm, with everything held it is inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..spatial.linear import Vec
from ..spatial.vectors import Wrench
from ..tree.clusters import Cluster
from ..tree.states import State
from .aba import accelerate_outward, free_inward, ground, spin
from .articulated import Driven, HeldNode, held_bias, node
from .sweep import ClusterSweeps, Sweeps

Held = Sequence[Sequence[bool]]  # by cluster, for each independent velocity whether it moves as prescribed


def hybrid_dynamics(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[State],
    v: Sequence[Vec],
    a: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    prescribed: Held,
    gravity: Sequence[float],
) -> tuple[list[Vec], list[Vec]]:
    """All accelerations and all forces, by cluster; of what is prescribed `a` is read, of the rest `tau`."""
    p, bias = spin(s, clusters, states, v, F_ext)
    nodes: list[Any] = [node(s, *x) for x in zip(clusters, states, strict=True)]
    held = {n: HeldNode(s, clusters[n], states[n], own) for n, own in enumerate(prescribed) if any(own)}
    for n, own in held.items():
        nodes[n] = own
        bias[n] = s.recorder.call(held_bias, bias[n], own.G_held, Vec([a[n][j] for j in own.held]))
    sweeps = ClusterSweeps(s, clusters, nodes)
    freed = sweeps.inward(free_inward, p, bias, tau)
    found = sweeps.outward(accelerate_outward, s.known(ground, Vec(gravity)), freed, bias)
    both = [(found[n], tau[n]) if n not in held else _merged(held[n], found[n], a[n], tau[n]) for n in found]
    return [x for x, _ in both], [x for _, x in both]


def _merged(own: HeldNode, found: Driven, a: Vec, tau: Vec) -> tuple[Vec, Vec]:
    """All accelerations and forces of a cluster of which some are given, others found."""
    moved = dict(zip(own.held, [a[j] for j in own.held], strict=True)) | dict(zip(own.loose, found.a, strict=True))
    acting = dict(zip(own.loose, [tau[j] for j in own.loose], strict=True)) | dict(
        zip(own.held, found.tau, strict=True)
    )
    return Vec([moved[j] for j in range(len(a))]), Vec([acting[j] for j in range(len(a))])
