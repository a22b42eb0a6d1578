"""Changes of the end of a step by q, v and accelerations for trees, joint by joint.

A joint whose velocities are the rates of its coordinates ends at q + dt v⁺, v⁺ = v + dt a. Of others the maps of one
joint are differentiated, and applied to all directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms.tiles import Rows, plus_product, transpose
from ...expr import Replay, Shared, Unrolled
from ...spatial.linear import Mat, Vec
from .. import integration
from .known_step import KnownStep

_PIECE = 400


def _recorder_like(recorder: Any) -> Any:
    return Shared() if isinstance(recorder, Shared) else Unrolled()


def velocity_slopes(step: KnownStep, a: Sequence[Vec]) -> dict[int, Rows]:
    """∂v⁺/∂v, in the axes at the start, of the clusters whose velocities turn, by their first velocity."""
    slopes, first = {}, 0
    for k, cluster in enumerate(step.c.clusters):
        n = cluster.embedding.nv
        turning = step.turning(k)
        if any(x is not None for x in turning):
            own = _recorder_like(step.c.recorder)
            v, a_in, (dt,) = (own.input(name, shape) for name, shape in (("v", (n,)), ("a", (n,)), ("dt", ())))
            ahead = own.call(integration.ahead, *turning, Vec(v), Vec(a_in), dt)
            program = own.finish("ahead", [("ahead", (n,), list(ahead))])
            values = {"v": tuple(step.v[k]), "a": tuple(a[k]), "dt": (step.dt,)}
            ways = [{"v": [float(i == j) for i in range(n)]} for j in range(n)]
            rates = Replay(program, step.c.recorder, values, _PIECE).push(ways)[1]
            slopes[first] = transpose([list(x["ahead"]) for x in rates])
        first += n
    return slopes


def end_rates(step: KnownStep, a: Sequence[Vec], displacements: Sequence[Rows], da: Rows) -> tuple[Rows, Rows]:
    """Changes of q and v (nv, directions) at the end, from those of accelerations along unit changes of q, then of v,
    then of what acts through accelerations alone. `displacements`: the tangent by each coordinate there, by cluster.
    """
    call, recorder = step.call, step.c.recorder
    turns, ahead = velocity_slopes(step, a), step.ahead(a)
    n, first = step.c.nv, 0
    dq: Rows = []
    dv: Rows = []
    for k, cluster in enumerate(step.c.clusters):
        own = range(first, first + cluster.embedding.nv)
        rows = [list(call(_scaled, Vec(da[i]), step.dt)) for i in own]
        for i, row in zip(own, rows, strict=True):
            slopes = turns[first][i - first] if first in turns else [float(i == j) for j in own]
            for j, x in zip(own, slopes, strict=True):
                row[n + j] = call(_sum, row[n + j], x)
        if first not in turns and cluster.embedding.is_additive:
            dv += rows
            for i, row in zip(own, rows, strict=True):
                moved = list(call(_scaled, Vec(row), step.dt))
                moved[i] = call(_sum, moved[i], 1.0)
                dq.append(moved)
        else:
            units = [[float(i == j) for j in range(len(da[0]))] for i in own]
            both = plus_product(recorder, None, _moved_slopes(step, k, ahead[k], displacements[k]), units + rows)
            dq, dv = dq + both[: len(own)], dv + both[len(own) :]
        first = own.stop
    return dq, dv


def _moved_slopes(step: KnownStep, k: int, ahead: Vec, displacement: Rows) -> Rows:
    """The tangent at the end and the velocity (2 nv) of a cluster by its q and its velocity after the step (2 nv)."""
    embedding, recorder = step.c.clusters[k].embedding, step.c.recorder
    own, n = _recorder_like(recorder), embedding.nv
    q, v, (dt,) = (own.input(name, shape) for name, shape in (("q", (embedding.nq,)), ("v", (n,)), ("dt", ())))
    ends = own.call(integration.moved, *step.turning(k), embedding, Vec(q), Vec(v), dt)
    program = own.finish("moved", [(name, (len(x),), list(x)) for name, x in zip(("q", "v"), ends, strict=True)])
    at = step.c.by_cluster("q")[k]
    ways: list[Any] = [{"q": step.call(_rate, embedding, at, unit)} for unit in Mat.identity(n)]
    ways += [{"v": tuple(unit)} for unit in Mat.identity(n)]
    values = {"q": tuple(at), "v": tuple(ahead), "dt": (step.dt,)}
    rates = Replay(program, recorder, values, _PIECE).push(ways)[1]
    by_q = plus_product(recorder, None, displacement, transpose([list(x["q"]) for x in rates]))
    return by_q + transpose([list(x["v"]) for x in rates])


def _rate(embedding: Any, q: Vec, v: Vec) -> Vec:
    return embedding.rate(q, v)


def _scaled(x: Vec, dt: Any) -> Vec:
    return x * dt


def _sum(a: Any, b: Any) -> Any:
    return a + b
