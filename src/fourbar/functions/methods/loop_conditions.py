"""Conditions of the loops of a robot, φ(q) = 0, and their first and second derivatives in time."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentError
from ...spatial.linear import Mat, Vec
from ...tree.clusters import split
from ..arguments import COORDINATES, Q, V
from ..context import Context
from ..registry import Option, Outputs, flat, method

_ROWS = ("all", "independent")


def _read_rows(cluster_tree: Any, rows: Any) -> dict[str, Any]:
    if rows not in _ROWS:
        raise ArgumentError(f"loop_residual: rows={rows!r}: expected 'all' or 'independent'")
    return {"every": rows == "all"}


def _residual(tie: Any, q: Any, every: bool) -> Any:
    return Vec(tie.loop_residual(q, every))


@method(COORDINATES, results="phi", options=[Option("rows", "all")], read=_read_rows)
def loop_residual(c: Context, every: bool) -> Outputs:
    """Conditions φ(q) of all loops, zero where these are closed.

    Parameters
    ----------
    rows : str
        ``"all"``: every condition of every loop, in the order of the rows of `loop_jacobian`. ``"independent"``: the
        conditions that hold the dependent coordinates stored in q, as many as there are of these and none that others
        imply: the equality constraints of an optimisation over q. Explicit loops, which every q satisfies, have none.

    Returns
    -------
    phi : ndarray, shape (..., m)
        Residuals: metres for points that coincide, sines of angles for axes that align, and the coordinate's own unit
        for gears and couplings.

    See Also
    --------
    loop_jacobian : The derivative K along the velocities of the spanning tree.
    loop_gap : The largest residual.
    assemble : A configuration with φ = 0.

    Notes
    -----
    φ(q) = 0 is Chignoli's eq. 2. Derivatives are by the nq entries of q as they are, not along the nv independent
    velocities, along which φ does not change: `jacobian` gives ∂φ/∂q (m, nq). Where all joints are hinges and slides
    with implicit loops and q is in the order of the joints, that is K.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.loop_residual([0.1, 0.0, 0.0], rows="independent").shape
    (2,)
    >>> robot.loop_residual.jacobian([0.1, 0.0, 0.0]).q.shape
    (6, 3)
    """
    q = split(c.clusters, c.given["q"], "nq")
    parts = [
        c.recorder.call(_residual, cluster.embedding, own, every)
        for cluster, own in zip(c.clusters, q, strict=True)
        if not cluster.is_free
    ]
    phi = flat(parts)
    return [("phi", (len(phi),), phi)]


def _every_row(tie: Any, q: Any) -> Any:
    return Mat(Vec(row) for row in tie.loop_rows([x for own in q for x in own], every=True))


def _every_rate(tie: Any, q: Any, v: Any) -> Any:
    return Vec(tie.loop_rates([x for own in q for x in own], [x for own in v for x in own]))


def _looped_clusters(c: Context) -> list[Any]:
    """The clusters with loops."""
    return [cluster for cluster in c.clusters if not cluster.is_free]


@method(Q, results="K")
def loop_jacobian(c: Context) -> Outputs:
    """Jacobian of the conditions of all loops.

    Returns
    -------
    K : ndarray, shape (..., m, n)
        ∂φ/∂q of every condition of every loop, also those that others imply, over all n velocities of the spanning
        tree.

    See Also
    --------
    loop_jacobian_bias : k in K q̈ = k.
    loop_map : G with K G = 0.
    loop_pull : The wrenches along the conditions.

    Notes
    -----
    K q̇ = 0 and K q̈ = k (Chignoli eq. 2).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> K, G = robot.loop_jacobian(robot.neutral()), robot.loop_map(robot.neutral())
    >>> K.shape, bool(abs(K @ G).max() < 1e-9)
    ((6, 3), True)
    """
    q, first, jacobian = c.coordinates(), c.tree.first_v, []
    for cluster in _looped_clusters(c):
        rows = c.recorder.call(_every_row, cluster.embedding, tuple(q[i] for i in cluster.links))
        places = [first[i] + j for i in cluster.links for j in range(c.tree.links[i].joint.nv)]
        for own in rows:
            row: list[Any] = [0.0] * c.tree.nv
            for place, x in zip(places, own, strict=True):
                row[place] = x
            jacobian.append(row)
    return [("K", (len(jacobian), c.tree.nv), flat(jacobian))]


@method(Q, V, results="k")
def loop_jacobian_bias(c: Context) -> Outputs:
    """Right-hand side of the conditions of all loops on accelerations.

    Returns
    -------
    k : ndarray, shape (..., m)
        k = -K̇ q̇, with K q̈ = k for the accelerations q̈ of the spanning tree.

    See Also
    --------
    loop_jacobian : The matrix K.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.loop_jacobian_bias(robot.neutral(), [1.0]).shape
    (6,)
    """
    q, v = c.coordinates(), c.velocities()
    biases = [
        c.recorder.call(_every_rate, cluster.embedding, *(tuple(x[i] for i in cluster.links) for x in (q, v)))
        for cluster in _looped_clusters(c)
    ]
    k = flat(biases)
    return [("k", (len(k),), k)]
