"""Links tied by loops with other numbers: symbols, or arguments of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from ..constraints.trace import LoopTrace
from ..expr import Expr, evaluate
from ..spatial.linear import Mat, Scalar, Vec
from .embedding import LoopEmbedding, expand, map_rate
from .states import Call, ClusterState


class WithOtherNumbers(LoopEmbedding):
    """Links connected by loops, with other parameters of any size, such as symbols."""

    @classmethod
    def of(cls, tie: LoopEmbedding, traced: LoopTrace, p: Sequence[Scalar] | None = None) -> Self:
        """The embedding of loops whose trace depends on parameters, at p, or before these are known."""
        other = object.__new__(cls)
        other.__dict__.update(tie.along(traced).__dict__)
        other.p = other.p if p is None else tuple(p)
        return other

    def _known(self, q: Sequence[Scalar], unchanged: bool = False) -> dict[Expr, Scalar]:
        return super()._known(q)

    def coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        return self._coordinates(q)


class WithGivenNumbers(WithOtherNumbers):
    """Links connected by loops whose parameters are arguments. Coordinates are closed where these are given; as they
    change, the dependent ones follow: a Newton step, which is zero by itself, has the right derivative.
    """

    def coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        full = self._coordinates(q)
        if self.explicit:
            return full
        known = self._known(full)
        gap = evaluate([self.traced.phi[i] for i in self.rows], known)
        return list(self.move(full, self._correction(known, gap)))


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
