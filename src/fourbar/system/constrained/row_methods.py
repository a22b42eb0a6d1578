"""The rows of a constrained robot as methods: what they are, how far from closed, how they move."""

from __future__ import annotations

from typing import Any

from ...algorithms import rnea
from ...algorithms.constrained.dynamics import Still
from ...algorithms.constrained.rows import dense_rows, evaluate_rows
from ...functions.arguments import DT_OR_1, TAU_PASSIVE, A, Q, V
from ...functions.context import Context
from ...functions.methods.configuration import integrate
from ...functions.methods.passive import passive_by_link
from ...functions.registry import Outputs, flat, method
from ...spatial.linear import Mat, Vec
from ...tree.embedding import LoopEmbedding
from .method_recordings import METHODS, constrained_model, given_state, nothing_prescribed


def _rows(c: Context, a: str = "") -> Any:
    """The rows at the given state, on the true tree."""
    s = c.sweeps()
    return s, evaluate_rows(s, constrained_model(c).bundles, c.coordinates(), c.velocities(), c.accelerations(a))


@method(Q, results="A", into=METHODS)
def jacobian(c: Context) -> Outputs:
    """Rows of the constraints.

    Returns
    -------
    A : ndarray, shape (..., m, nv)
        The rows: A v is zero while the constraints hold.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.jacobian([0.1, 0.2]).round(4)
    array([[0.1681, 0.1182]])
    """
    s, rows = _rows(c)
    full = [row for b, own in zip(constrained_model(c).bundles, rows, strict=True) for row in dense_rows(s, b, own)]
    return [("A", (len(full), c.nv), flat(c.columns(full)))]


@method(Q, results="phi", into=METHODS)
def residual(c: Context) -> Outputs:
    """Residuals of loops and functions, zero where they are closed.

    Parameters
    ----------
    q : array_like, shape (..., nq)
        Configuration.

    Returns
    -------
    phi : ndarray, shape (..., m)
        Residual φ (m, rad); zero for rows that hold velocities only.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.residual([0.1, 0.2])
    array([0.])
    """
    found = flat([own.phi for own in _rows(c)[1]])
    return [("phi", (len(found),), found)]


@method(Q, V, DT_OR_1, results="q", into=METHODS)
def moved(c: Context) -> Outputs:
    """The robot's own `integrate` (..., nq), without a warning for NaN: a trial step that fails."""
    return integrate(c)


@method(Q, V, results="rate", into=METHODS)
def rate(c: Context) -> Outputs:
    """Rates of the rows.

    Returns
    -------
    rate : ndarray, shape (..., m)
        A v (rad/s, m/s), zero while the constraints hold.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.rate([0.1, 0.2], [1.0, 0.0]).round(4)
    array([0.1681])
    """
    found = flat([own.rate for own in _rows(c)[1]])
    return [("rate", (len(found),), found)]


@method(Q, V, A, results="acceleration", into=METHODS)
def acceleration(c: Context) -> Outputs:
    """Accelerations of the rows.

    Returns
    -------
    acceleration : ndarray, shape (..., m)
        A a + Ȧ v (rad/s², m/s²).

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.acceleration([0.1, 0.2], [1.0, 0.0], [0.0, 0.0]).round(4)
    array([0.8796])
    """
    found = flat([own.acceleration for own in _rows(c, "a")[1]])
    return [("acceleration", (len(found),), found)]


@method(Q, results="Omega", into=METHODS, inverts_mass=True)
def osim_inverse(c: Context) -> Outputs:
    """Inverse inertia along the rows.

    Returns
    -------
    Omega : ndarray, shape (..., m, m)
        Ω = A M⁻¹ Aᵀ, without forming M.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> held = robot.constrained(fb.constraints.Contact("tip", "touch"))
    >>> held.osim_inverse([0.1, 0.2]).round(4)
    array([[0.5285]])
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    still = Still(s, c.clusters, c.cluster_states, m.bundles, given_state(c), c.still(), nothing_prescribed(c))
    rows = still.rowed.omega()
    return [("Omega", (len(rows), len(rows)), flat(rows))]


def spanning(c: Context, passive: bool = False) -> tuple[list[Any], list[list[Any]]]:
    """Forces (n) of all n velocities of the spanning tree without any constraint, and rows (k, n) of all that
    constrains them: the conditions', then the embedded loops'. Forces that are given, and those of springs, dampers and
    friction where these are wanted, are taken off.
    """
    m = constrained_model(c)
    s = c.equations(m.touched)
    tau = rnea.inverse_dynamics(s, c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity)
    for i, force in passive_by_link(c).items() if passive else ():
        tau[i] = c.recorder.call(_less, tau[i], force)
    if TAU_PASSIVE.name in c.given:
        given = c.given[TAU_PASSIVE.name]
        tau = [
            c.recorder.call(_less, x, Vec(given[at : at + len(x)])) for x, at in zip(tau, c.tree.first_v, strict=False)
        ]
    rows = evaluate_rows(s, m.bundles, c.coordinates(), c.velocities(), c.still())
    full = [row for b, own in zip(m.bundles, rows, strict=True) for row in dense_rows(s, b, own)]
    return flat(tau), full + _loop_rows(c)


def _less(a: Vec, b: Vec) -> Vec:
    return a - b


def _loop_rows(c: Context) -> list[list[Any]]:
    """K of all embedded loops over the velocities of all links."""
    q, rows = c.coordinates(), []
    for cluster in c.clusters:
        if not isinstance(cluster.embedding, LoopEmbedding):
            continue
        K = c.recorder.call(tied_rows, cluster.embedding, tuple(q[i] for i in cluster.links))
        places = [c.tree.first_v[i] + j for i in cluster.links for j in range(c.tree.links[i].joint.nv)]
        for own in K:
            row: list[Any] = [0.0] * c.tree.nv
            for place, x in zip(places, own, strict=True):
                row[place] = x
            rows.append(row)
    return rows


def tied_rows(tie: LoopEmbedding, q: tuple[Vec, ...]) -> Mat:
    """The independent rows of K of a tied cluster."""
    return Mat(Vec(row) for row in tie.loop_rows([x for part in q for x in part]))
