"""Changes of the end of a step by q, v and accelerations for trees, joint by joint.

A joint whose velocities are the rates of its coordinates ends at q + dt v⁺, v⁺ = v + dt a. Of others the maps of one
joint are differentiated, and applied to all directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms.tiles import Rows, plus_product, transpose
from ...expr import Replay, Shared, Unrolled, Value
from ...expr.pytree import flatten, unflatten
from ...spatial.linear import Mat, Vec
from .. import integration
from .known_step import KnownStep

_PIECE = 400


def _push(recorder: Any, run: Any, held: Any, moving: Sequence[Vec], ways: Sequence[Sequence[Any]]) -> list[Rows]:
    """The derivatives of the vectors `run(held, *moving)` along directions of what moves, each (entries, directions).

    The map is a program of its own, whose arguments are all values of the recorder in it: a joint has some where a mass
    is an argument.
    """
    own: Any = Shared() if isinstance(recorder, Shared) else Unrolled()
    leaves, structure = flatten(held)
    known = [x for x in leaves if x.__class__ is Value]
    given = {"moving": tuple(x for part in moving for x in part)} | ({"held": tuple(known)} if known else {})
    inputs = {name: own.input(name, (len(x),)) for name, x in given.items()}
    still, free = iter(inputs.get("held", ())), iter(inputs["moving"])
    inside = unflatten(structure, iter([next(still) if x.__class__ is Value else x for x in leaves]))
    parts = [Vec([next(free) for _ in part]) for part in moving]
    ends = own.call(run, inside, *parts)
    program = own.finish(run.__name__, [(f"y{k}", (len(x),), list(x)) for k, x in enumerate(ends)])
    rates = Replay(program, recorder, given, _PIECE).push([{"moving": way} for way in ways])[1]
    return [transpose([list(x[f"y{k}"]) for x in rates]) for k in range(len(ends))]


def _velocity_ahead(held: Any, v: Vec) -> tuple[Vec]:
    (joint, tumbles), a, dt = held
    return (integration.ahead(joint, tumbles, v, a, dt),)


def _moved(held: Any, q: Vec, v: Vec) -> tuple[Vec, Vec]:
    (joint, tumbles), embedding, dt = held
    return integration.moved(joint, tumbles, embedding, q, v, dt)


def velocity_slopes(step: KnownStep, a: Sequence[Vec]) -> dict[int, Rows]:
    """∂v⁺/∂v, in the axes at the start, of the clusters whose velocities turn, by their first velocity."""
    slopes, first = {}, 0
    for k, cluster in enumerate(step.c.clusters):
        n = cluster.embedding.nv
        turning = step.turning(k)
        if any(x is not None for x in turning):
            held = turning, Vec(a[k]), step.dt
            (slopes[first],) = _push(step.c.recorder, _velocity_ahead, held, [Vec(step.v[k])], Mat.identity(n))
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
    at, units = step.c.by_cluster("q")[k], Mat.identity(embedding.nv)
    still_q, still_v = (0.0,) * embedding.nq, (0.0,) * embedding.nv
    ways = [(*step.call(_rate, embedding, at, unit), *still_v) for unit in units]
    ways += [(*still_q, *unit) for unit in units]
    held = step.turning(k), embedding, step.dt
    by_q, by_v = _push(recorder, _moved, held, [Vec(at), Vec(ahead)], ways)
    return plus_product(recorder, None, displacement, by_q) + by_v


def _rate(embedding: Any, q: Vec, v: Vec) -> Vec:
    return embedding.rate(q, v)


def _scaled(x: Vec, dt: Any) -> Vec:
    return x * dt


def _sum(a: Any, b: Any) -> Any:
    return a + b
