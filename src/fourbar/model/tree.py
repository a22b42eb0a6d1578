"""The cluster tree: what the algorithms run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..spatial.linear import Vec
from .cluster import Cluster


def _cut(x: Sequence[Any], sizes: Sequence[int]) -> list[Vec]:
    ends = list(accumulate(sizes))
    return [Vec(x[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


@dataclass(frozen=True)
class ClusterTree:
    """Clusters in an order in which parents come first; parent -1 is the ground."""

    parents: tuple[int, ...]
    clusters: tuple[Cluster, ...]
    gravity: tuple[float, float, float]

    @property
    def nq(self) -> int:
        return sum(c.joint.nq for c in self.clusters)

    @property
    def nv(self) -> int:
        return sum(c.joint.nv for c in self.clusters)

    def split_q(self, q: Sequence[Any]) -> list[Vec]:
        """Configuration by cluster."""
        return _cut(q, [c.joint.nq for c in self.clusters])

    def split_v(self, v: Sequence[Any]) -> list[Vec]:
        """Velocities (or forces) by cluster."""
        return _cut(v, [c.joint.nv for c in self.clusters])
