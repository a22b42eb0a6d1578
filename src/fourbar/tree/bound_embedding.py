"""Links tied by loops, some of whose numbers are arguments of a program."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec
from .embedding import LoopEmbedding, expand, map_rate
from .states import Call, ClusterState


class Bound(NamedTuple):
    """Links connected by loops, some of whose parameters change by p: works as the `LoopEmbedding` at p does."""

    tie: LoopEmbedding
    p: Vec

    def state(self, call: Call, q: Vec, v: Vec | None) -> ClusterState:
        """As for `LoopEmbedding`; what is recorded depends on p too."""
        return call(expand, self, q, v)

    def map_rates(self, call: Call, e: ClusterState) -> tuple[Mat, ...]:
        """As for `LoopEmbedding`."""
        return call(map_rate, self, e, e.v)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tie.at(self.p), name)
