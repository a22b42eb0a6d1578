"""Moving on the space of configurations, and from independent coordinates to those of the spanning tree."""

from __future__ import annotations

from typing import Any

from ...spatial.linear import Mat, Vec
from ..arguments import DT, Q0, Q1, THETA, A, Q, V
from ..context import Context
from ..registry import Outputs, flat, method, vector


def _step(embedding: Any, q: Any, v: Any, dt: Any) -> Any:
    return embedding.integrate(q, v * dt)


_NOT_CLOSED = "the loops could not be closed after the step: it is too long, or leads where they cannot be closed"
_TOO_FAR = "the step leads to no configuration: q, v or dt are too large"


@method(Q, V, DT, results="q", nan=_TOO_FAR, nan_of_loops=_NOT_CLOSED)
def integrate(c: Context) -> Outputs:
    """q ⊕ v dt (..., nq): the configuration after moving with constant velocity v for a time dt; loops stay closed."""
    (dt,) = c.given["dt"]
    q, v = c.by_cluster("q"), c.by_cluster("v")
    parts = [c.recorder.call(_step, cluster.embedding, q[n], v[n], dt) for n, cluster in enumerate(c.clusters)]
    return [("q_next", (c.model.cluster_tree.nq,), flat(parts))]


def _rate(embedding: Any, theta: Any, v: Any) -> Any:
    return embedding.chart_rate(theta, v)


@method(THETA, V, results="rate")
def chart_rate(c: Context) -> Outputs:
    """θ̇ (..., nv) where q(t) = q₀ ⊕ θ(t) moves with velocity v: for integrators that step along the group.

    Of a ball or a free joint that is independent in part, in a loop, θ alone does not tell it (but at θ = 0):
    `difference.jvp((q0, q), (None, v))` does.
    """
    theta, v = c.by_cluster("theta"), c.by_cluster("v")
    parts = [c.recorder.call(_rate, cluster.embedding, theta[n], v[n]) for n, cluster in enumerate(c.clusters)]
    return vector(c, "rate", parts)


def _between(embedding: Any, q0: Any, q1: Any) -> Any:
    return embedding.difference(q0, q1)


@method(Q0, Q1, results="v")
def difference(c: Context) -> Outputs:
    """q1 ⊖ q0 (..., nv): the velocity that moves q0 to q1 in unit time."""
    q0, q1 = c.by_cluster("q0"), c.by_cluster("q1")
    parts = [c.recorder.call(_between, cluster.embedding, q0[n], q1[n]) for n, cluster in enumerate(c.clusters)]
    return vector(c, "v", parts)


@method(Q, results="q")
def expand(c: Context) -> Outputs:
    """Coordinates of all joints of the spanning tree, in the order of `names.joints` without fixed ones."""
    q = flat(c.coordinates())
    return [("q_all", (len(q),), q)]


@method(Q, V, results="v")
def expand_velocity(c: Context) -> Outputs:
    """Velocities G v of all joints of the spanning tree."""
    v = flat(c.velocities())
    return [("v_all", (len(v),), v)]


@method(Q, V, A, results="a")
def expand_acceleration(c: Context) -> Outputs:
    """Accelerations G a + g of all joints of the spanning tree."""
    a = flat(c.accelerations("a"))
    return [("a_all", (len(a),), a)]


@method(Q, results="G")
def loop_map(c: Context) -> Outputs:
    """G (..., n, nv): the velocities of all n velocities of the spanning tree are G v."""
    n = c.tree.nv
    identity = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    return [("G", (n, c.nv), flat(c.columns(identity)))]


@method(Q, V, results="g")
def loop_bias(c: Context) -> Outputs:
    """g (..., n): the accelerations of the spanning tree are G a + g."""
    g = flat(c.accelerations(""))
    return [("g", (len(g),), g)]


def _every_row(tie: Any, q: Any) -> Any:
    return Mat(Vec(row) for row in tie.loop_rows([x for own in q for x in own], every=True))


def _every_rate(tie: Any, q: Any, v: Any) -> Any:
    return Vec(tie.loop_rates([x for own in q for x in own], [x for own in v for x in own]))


def _tied(c: Context) -> list[Any]:
    """The clusters with loops."""
    return [cluster for cluster in c.clusters if not cluster.is_free]


@method(Q, results="K")
def loop_jacobian(c: Context) -> Outputs:
    """K (..., m, n): ∂φ/∂q of every condition of every loop, also those that others imply, over all n velocities of the
    spanning tree; K q̇ = 0, K q̈ = k (Chignoli eq. 2). k is `loop_jacobian_bias`, and K `loop_map` = 0.
    """
    q, first, found = c.coordinates(), c.tree.first_v, []
    for cluster in _tied(c):
        rows = c.recorder.call(_every_row, cluster.embedding, tuple(q[i] for i in cluster.links))
        places = [first[i] + j for i in cluster.links for j in range(c.tree.links[i].joint.nv)]
        for own in rows:
            row: list[Any] = [0.0] * c.tree.nv
            for place, x in zip(places, own, strict=True):
                row[place] = x
            found.append(row)
    return [("K", (len(found), c.tree.nv), flat(found))]


@method(Q, V, results="k")
def loop_jacobian_bias(c: Context) -> Outputs:
    """k (..., m) = -K̇ q̇, with K q̈ = k for the accelerations of the spanning tree; see `loop_jacobian`."""
    q, v = c.coordinates(), c.velocities()
    found = [
        c.recorder.call(_every_rate, cluster.embedding, *(tuple(x[i] for i in cluster.links) for x in (q, v)))
        for cluster in _tied(c)
    ]
    k = flat(found)
    return [("k", (len(k),), k)]
