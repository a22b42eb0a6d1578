"""Hybrid dynamics (Kim Table 4): every independent velocity has its acceleration prescribed, or its force given.

The sweeps are those of the articulated-body algorithm, over clusters some of which are held: with nothing held it is
that algorithm, with everything held it is inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..spatial.linear import Vec
from ..spatial.vectors import Wrench
from ..tree.clusters import Cluster
from ..tree.states import ClusterState
from .aba import accelerate_outward, free_inward, ground, spin
from .articulated import Bias, FreeAndHeld, HeldNode, held_bias, make_nodes
from .sweep import ClusterSweeps, Sweeps

Prescribed = Sequence[Sequence[bool]]  # by cluster, for each independent velocity whether it moves as prescribed


def hybrid_dynamics(
    s: Sweeps,
    clusters: Sequence[Cluster],
    states: Sequence[ClusterState],
    v: Sequence[Vec],
    a: Sequence[Vec],
    tau: Sequence[Vec],
    F_ext: Sequence[Wrench],
    prescribed: Prescribed,
    gravity: Sequence[float],
) -> tuple[list[Vec], list[Vec]]:
    """All accelerations and all forces, by cluster; of what is prescribed `a` is read, of the rest `tau`."""
    p, free, left, gyroscopic = spin(s, clusters, states, v, tau, F_ext, gravity)
    nodes, held = make_nodes(s, clusters, states, prescribed)
    sweeps, bias = ClusterSweeps(s, clusters, nodes), _Biases(s, free, held, a)
    freed = sweeps.inward(free_inward, p, bias, left)
    found = sweeps.outward(accelerate_outward, s.fold(ground, Vec(gravity)), freed, bias)
    for n in (n for n in held if n in gyroscopic):
        found[n] = s.recorder.call(_add_gyroscopic, found[n], Vec([gyroscopic[n][j] for j in held[n].held]))
    both = [(found[n], tau[n]) if n not in held else _merge(held[n], found[n], a[n], tau[n]) for n in found]
    return [x for x, _ in both], [x for _, x in both]


class _Biases(dict[int, Bias]):
    """By cluster what velocity alone and, where some are held, their accelerations do. Recorded when the sweeps reach
    the cluster, so that no value waits for its use."""

    def __init__(self, s: Sweeps, free: Sequence[Bias], held: Mapping[int, HeldNode], a: Sequence[Vec]) -> None:
        super().__init__((n, own) for n, own in enumerate(free) if n not in held)
        self._recorder, self._free, self._held, self._a = s.recorder, free, held, a

    def __missing__(self, n: int) -> Bias:
        own = self._held[n]
        prescribed = Vec([self._a[n][j] for j in own.held])
        self[n] = self._recorder.call(held_bias, self._free[n], own.G_held, prescribed)
        return self[n]


def _add_gyroscopic(found: FreeAndHeld, gyroscopic: Vec) -> FreeAndHeld:
    """The forces that hold velocities, with those that turn the momenta of armatures."""
    return FreeAndHeld(found.a, found.tau + gyroscopic)


def _merge(own: HeldNode, found: FreeAndHeld, a: Vec, tau: Vec) -> tuple[Vec, Vec]:
    """All accelerations and forces of a cluster of which some are given, others found."""
    moved = dict(zip(own.held, [a[j] for j in own.held], strict=True)) | dict(zip(own.loose, found.a, strict=True))
    acting = dict(zip(own.loose, [tau[j] for j in own.loose], strict=True)) | dict(
        zip(own.held, found.tau, strict=True)
    )
    return Vec([moved[j] for j in range(len(a))]), Vec([acting[j] for j in range(len(a))])
