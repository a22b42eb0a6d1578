"""Derivatives of a step along directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms.tiles import Rows, plus_product, transpose
from ...arrays import Argument
from ...functions.context import Context
from ...functions.registry import flat
from ...spatial.linear import Mat, Vec
from ...tree.clusters import split
from .response import negative
from .step_derivative import DISPLACEMENT, FREE, Entries, Known, LinearStep, StepDerivative, over, times


class DirectionalStep(StepDerivative):
    """Derivatives along directions."""

    def push(self, c: Context, directions: Sequence[Entries], piece: int) -> tuple[Rows, Rows, Known, LinearStep]:
        """The rates of q (nv, directions) and v (nv, directions)."""
        known, linear = self.solve(c)
        da = self._accelerations(known, linear, directions, piece)
        return *self._ends(known, directions, da, piece), known, linear

    def _ends(self, known: Known, directions: Sequence[Entries], da: Rows, piece: int) -> tuple[Rows, Rows]:
        """The rates of q and v at the end from those of accelerations."""
        c = known.c
        ways: list[Entries] = [{**way, "a": column} for way, column in zip(directions, transpose(da), strict=True)]
        if known.displacement is not None:
            some = self.recovery_equations(known, piece).push(ways)[1]
            dw = known.displacement.rates(columns_of(some, "r"), columns_of(some, "c"), c.given["dt"][0])
            ways = [{**way, DISPLACEMENT: column} for way, column in zip(ways, transpose(dw), strict=True)]
        rates = self.end(known, piece).push(ways)[1]
        dq, at, moved = columns_of(rates, "q"), 0, list[list[Any]]()
        for slopes, cluster in zip(self.displacement_slopes(known), c.clusters, strict=True):
            n = cluster.embedding.nq
            moved += _moved(c.recorder, slopes, dq[at : at + n])
            at += n
        return moved, columns_of(rates, "v")

    def _accelerations(self, known: Known, linear: LinearStep, directions: Sequence[Entries], piece: int) -> Rows:
        """Changes of a (nv, directions)."""
        recorder, (dt,) = known.c.recorder, known.c.given["dt"]
        M, J, answers, response, free = linear
        ways = directions
        if self.has_free:
            without = self.free_equations(known, piece).push(directions)[1]
            moved = transpose(free.negative_solution(columns_of(without, "r")))
            ways = [{**way, FREE: column} for way, column in zip(directions, moved, strict=True)]
        rates = self.equations(known, piece).push(ways)[1]
        du = M.negative_solution(columns_of(rates, "r"))
        if response is None:
            return du
        dc = columns_of(rates, "c")
        if not self.of.spec.soft:  # whose rows look at the free accelerations alone
            dc = plus_product(recorder, dc, [list(row) for row in recorder.call(times, Mat(map(Vec, J)), dt)], du)
        dimpulse = response.impulses(dc, columns_of(rates, "bounds") if response.has_bounds else None)
        pushes = [list(row) for row in recorder.call(over, Mat(map(Vec, negative(recorder, answers))), dt)]
        return plus_product(recorder, du, pushes, dimpulse)


def _moved(recorder: Any, slopes: Rows, dq: Rows) -> Rows:
    """Tangents from rates of coordinates."""
    same = all(x.__class__ is float and x == (i == j) for i, row in enumerate(slopes) for j, x in enumerate(row))
    return dq if same and len(dq) == len(slopes) else plus_product(recorder, None, slopes, dq)


def columns_of(rates: Sequence[Entries], name: str) -> Rows:
    """Rates of some entries along directions as (entries, directions)."""
    return transpose([list(rate[name]) for rate in rates])


def rate_of(c: Context, argument: Argument, tangent: Sequence[Any]) -> Sequence[Any]:
    """The rates of an argument's entries along a tangent: of a configuration along the group."""
    if not argument.is_configuration:
        return tangent
    parts = zip(c.clusters, c.by_cluster(argument.name), split(c.clusters, tangent, "nv"), strict=True)
    return flat([c.recorder.call(_rate, x.embedding, q, own) for x, q, own in parts])


def _rate(embedding: Any, q: Any, v: Any) -> Any:
    return embedding.rate(q, v)
