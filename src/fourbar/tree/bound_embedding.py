"""Links tied by loops with other numbers: symbols, or arguments of a program."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from ..constraints.trace import LoopTrace
from ..expr import evaluate
from ..spatial.linear import Mat, Scalar, Vec
from .embedding import LoopEmbedding, expand, map_rate
from .states import Call, ClusterState


class WithNumbers(LoopEmbedding):
    """Links connected by loops whose trace depends on parameters p: values of a recording, symbols or numbers."""

    built: LoopEmbedding

    @classmethod
    def of(cls, tie: LoopEmbedding, traced: LoopTrace, p: Sequence[Any] = ()) -> Self:
        """The same choice of velocities and rows for loops with another trace, at p, or before these are known."""
        other = object.__new__(cls)
        other.__dict__.update(tie.__dict__)
        for name in ("_key", "K_rate", "_runs", "_varying", "constants"):
            other.__dict__.pop(name, None)
        other.traced = traced if tie.kept is None else traced.only(tie.kept)
        other.p, other.built = tuple(p), tie
        return other

    @property
    def as_built(self) -> LoopEmbedding:
        return self.built

    def at(self, p: Sequence[Any]) -> Self:
        """The loops with parameters p; arrays (n) in computations of n samples."""
        other = copy(self)
        other.p = tuple(p)
        return other

    def slopes_at(self, q: np.ndarray, p: Sequence[np.ndarray]) -> np.ndarray:
        """K (n, m, columns) at the coordinates (n, nq) of all joints and parameters (n)."""
        _ = self._runs, self.constants  # which are those of all p
        return self.at(p).slopes(q)


class Following(WithNumbers):
    """The same where stored coordinates are closed at p and p is what derivatives are taken by: the dependent
    coordinates follow, by a Newton step, which is zero by itself and has the right derivative.
    """

    def coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        full = super().coordinates(q)
        if self.explicit:
            return full
        known = self._point(full)
        gap = evaluate([self.traced.phi[i] for i in self.rows], known)
        return list(self.move(full, self._correction(known, gap)))


class Bound(NamedTuple):
    """Links connected by loops with parameters p: works as the `LoopEmbedding` at p does."""

    tie: WithNumbers
    p: Vec  # (entries of all parameters,)

    def state(self, call: Call, q: Vec, v: Vec | None) -> ClusterState:
        """As for `LoopEmbedding`; what is recorded depends on p too."""
        return call(expand, self, q, v)

    def map_rates(self, call: Call, e: ClusterState) -> tuple[Mat, ...]:
        """As for `LoopEmbedding`."""
        return call(map_rate, self, e, e.v)

    def in_steps(self) -> Bound:
        """As for `LoopEmbedding`."""
        return Bound(self.tie.in_steps(), self.p)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tie.at(self.p), name)
