"""Derivatives of a joint's own motion by its coordinates, for joints whose S depends on q."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..expr import Graph, jvp, prepare
from ..joints.base import Joint
from ..joints.rates import rate_of, subspace_rate_of
from ..spatial.linear import Vec, dot
from ..spatial.vectors import Twist


class Bend(NamedTuple):
    """For every velocity k of a joint, in the child's axes: derivatives along its unit motion.

    D: of the columns of S;  sigma: of S v;  alpha: of S a + S° v;  and gamma: of S° v by v_k.
    """

    D: tuple[tuple[Twist, ...], ...]
    sigma: tuple[Twist, ...]
    alpha: tuple[Twist, ...]
    gamma: tuple[Twist, ...]


@cache
def has_constant_subspace(joint: Joint) -> bool:
    """Whether S does not depend on q."""
    q = Graph().inputs("q", joint.nq)
    return all(x.__class__ is float for s in joint.subspace(q).twists() for x in s.six())


@cache
def _traced(joint: Joint) -> Any:
    """q, v, a -> all entries of a `Bend`, one after the other."""
    graph, n = Graph(), joint.nv
    q, v, a = (graph.inputs(name, size) for name, size in (("q", joint.nq), ("v", n), ("a", n)))
    c = list(joint.bias(q, v).six())
    roots: list[Any] = []
    for k in range(n):
        unit = tuple(1.0 if i == k else 0.0 for i in range(n))
        D, slope = subspace_rate_of(joint, unit).at(q, ()), rate_of([joint], q, c, v, unit).at(q, (), v)
        bent = [[dot(D[i::6], x) for i in range(6)] for x in (v, a)]
        roots += [*D, *bent[0], *(x + y for x, y in zip(bent[1], slope, strict=True))]
    for x in v:
        roots += jvp(c, {x: 1.0})
    return prepare(roots, (*q, *v, *a))


def bend(joint: Joint, q: Vec, v: Vec, a: Vec) -> Bend:
    """The derivatives of a joint's motion at a state."""
    n = joint.nv
    flat = _traced(joint)((*q, *v, *a))
    twists = [Twist.of(flat[6 * i : 6 * i + 6]) for i in range(len(flat) // 6)]
    rows = [twists[k * (n + 2) : (k + 1) * (n + 2)] for k in range(n)]
    return Bend(
        tuple(tuple(row[:n]) for row in rows),
        tuple(row[n] for row in rows),
        tuple(row[n + 1] for row in rows),
        tuple(twists[n * (n + 2) :]),
    )
