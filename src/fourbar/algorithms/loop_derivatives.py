"""Derivatives of the map from independent to all velocities of a cluster: q̇ = G ẏ, q̈ = G ÿ + g, Gᵀ τ.

K G = 0 and K q̈ + κ = 0 (κ: the curvature of the loops at the velocities q̇) are differentiated, so every change of the
dependent part is found with K_d again: K_d δG_d = -δK G and K_d δq̈_d = -(δK q̈ + δκ).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..constraints.trace import cut
from ..expr import Graph, evaluate, jvp, prepare
from ..spatial.linear import Mat, Scalar, Vec, dot
from ..tree.embedding import LoopEmbedding
from ..tree.states import EmbeddedState


class ClusterVariation(NamedTuple):
    """By link, as blocks (velocities of the link x independent velocities): derivatives at constant ẏ and ÿ.

    velocity: of G ẏ along y;  acceleration: of G ÿ + g along y;  bias: of g by ẏ;  force: of Gᵀ τ along y.
    """

    velocity: tuple[Mat, ...]
    acceleration: tuple[Mat, ...]
    bias: tuple[Mat, ...]
    force: Mat


class _Curved:
    """Derivatives of K and κ along a motion u of all joints, as functions of numbers or symbols."""

    def __init__(self, tie: LoopEmbedding) -> None:
        t = tie.traced
        graph = Graph()
        n, m = len(t.v), len(tie.rows)
        q, v = graph.inputs("q", len(t.q)), graph.inputs("v", n)
        u, w, weight = graph.inputs("u", n), graph.inputs("w", n), graph.inputs("weight", m)
        known: dict[Any, Any] = dict(zip((*t.q, *t.v), (*q, *v), strict=True))
        K = [evaluate(t.K[i], known) for i in tie.rows]
        kappa = evaluate([t.curvature[i] for i in tie.rows], known)
        nq, nv = [j.nq for j in tie.joints], [j.nv for j in tie.joints]
        moved = zip(tie.joints, cut(q, nq), cut(u, nv), strict=True)
        rates = [x for joint, own, step in moved for x in joint.rate(own, step)]
        along: dict[Any, Any] = dict(zip(q, rates, strict=True))
        columns = [dot(weight, [row[j] for row in K]) for j in range(n)]
        self.K_along: Callable[..., list[Any]] = prepare(jvp([dot(row, w) for row in K], along), (*q, *u, *w))
        self.weighted_along: Callable[..., list[Any]] = prepare(jvp(columns, along), (*q, *u, *weight))
        self.kappa_along: Callable[..., list[Any]] = prepare(jvp(kappa, along), (*q, *v, *u))
        by_v: dict[Any, Any] = dict(zip(v, u, strict=True))
        self.kappa_by_v: Callable[..., list[Any]] = prepare(jvp(kappa, by_v), (*q, *v, *u))


@lru_cache(maxsize=64)
def _curvature(tie: LoopEmbedding) -> _Curved:
    return _Curved(tie)


def _negative_sum(*parts: Sequence[Scalar]) -> list[Scalar]:
    return [-sum(x[1:], x[0]) for x in zip(*parts, strict=True)]


def vary_cluster(tie: LoopEmbedding, e: EmbeddedState, a: Vec, tau: tuple[Vec, ...]) -> ClusterVariation:
    """The derivatives at a state, for independent accelerations a and forces tau of all joints."""
    curved, n, nv = _curvature(tie), len(tie.traced.v), tie.nv
    q, v, G = ([x for part in parts for x in part] for parts in (e.q, e.v, e.G))
    bias = [x for part in e.g for x in part]
    acceleration = [dot(row, a) + b for row, b in zip(G, bias, strict=True)]
    steps = [[row[k] for row in G] for k in range(nv)]
    turn = [curved.K_along((*q, *u, *v)) for u in steps]
    dv = tie.follow(q, [_negative_sum(x) for x in turn])
    dg = tie.follow(q, [_negative_sum(curved.kappa_by_v((*q, *v, *u))) for u in steps])
    pulls = [
        _negative_sum(
            curved.K_along((*q, *u, *acceleration)), curved.kappa_along((*q, *v, *u)), curved.kappa_by_v((*q, *v, *x))
        )
        for u, x in zip(steps, dv, strict=True)
    ]
    da = tie.follow(q, pulls)
    held = tie.hold(q, [x for part in tau for x in part])
    force = []
    for u in steps:
        change = curved.weighted_along((*q, *u, *held))
        force.append([-dot(change, column) for column in steps])
    sizes = [j.nv for j in tie.joints]

    def blocks(columns: list[list[Scalar]]) -> tuple[Mat, ...]:
        rows = [Vec([column[i] for column in columns]) for i in range(n)]
        return tuple(Mat(part) for part in cut(rows, sizes))

    return ClusterVariation(blocks(dv), blocks(da), blocks(dg), Mat.from_columns(force))
