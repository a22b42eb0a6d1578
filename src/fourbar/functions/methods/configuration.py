"""Moving on the space of configurations, and from independent coordinates to those of the spanning tree."""

from __future__ import annotations

from typing import Any

from ..arguments import DT_OR_1, Q0, Q1, THETA, A, Q, V
from ..context import Context
from ..registry import Outputs, flat, method, vector


def _step(embedding: Any, q: Any, v: Any, dt: Any) -> Any:
    return embedding.integrate(q, v * dt)


_NOT_CLOSED = "the loops could not be closed after the step: it is too long, or leads where they cannot be closed"
_TOO_FAR = "the step leads to no configuration: q, v or dt are too large"


@method(Q, V, DT_OR_1, results="q", nan=_TOO_FAR, nan_of_loops=_NOT_CLOSED)
def integrate(c: Context) -> Outputs:
    """Configuration after moving with constant velocity for a time.

    Returns
    -------
    q : ndarray, shape (..., nq)
        q ⊕ v dt; loops stay closed and quaternions of unit length.

    Raises
    ------
    SingularError
        If the loops cannot be closed after the step (NaN and a warning in a batch).

    See Also
    --------
    difference : The velocity between two configurations.
    simulate : Motion over time.

    Notes
    -----
    On a Lie group q ⊕ δ = q · exp(δ); where v = q̇ this is q + v dt.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.integrate([0.1, 0.2], [1.0, -1.0], 0.1)
    array([0.2, 0.1])
    """
    (dt,) = c.given["dt"]
    q, v = c.by_cluster("q"), c.by_cluster("v")
    parts = [c.recorder.call(_step, cluster.embedding, q[n], v[n], dt) for n, cluster in enumerate(c.clusters)]
    return [("q_next", (c.model.cluster_tree.nq,), flat(parts))]


def _rate(embedding: Any, theta: Any, v: Any) -> Any:
    return embedding.chart_rate(theta, v)


@method(THETA, V, results="rate")
def chart_rate(c: Context) -> Outputs:
    """Rate of the exponential coordinates of a step.

    Returns
    -------
    rate : ndarray, shape (..., nv)
        θ̇ (rad/s, m/s) while q moves with velocity v: what integrators need that step along the group.

    See Also
    --------
    integrate : q ⊕ v dt.

    Notes
    -----
    For a spherical or free joint of a loop of which only a part is independent, θ alone does not determine the rate,
    except at θ = 0; ``difference.jvp((q0, q), (None, v))`` does.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.chart_rate([0.1, 0.2], [1.0, 0.0])
    array([1., 0.])
    """
    theta, v = c.by_cluster("theta"), c.by_cluster("v")
    parts = [c.recorder.call(_rate, cluster.embedding, theta[n], v[n]) for n, cluster in enumerate(c.clusters)]
    return vector(c, "rate", parts)


def _between(embedding: Any, q0: Any, q1: Any) -> Any:
    return embedding.difference(q0, q1)


@method(Q0, Q1, results="v")
def difference(c: Context) -> Outputs:
    """Velocity that moves one configuration to another in unit time.

    Returns
    -------
    v : ndarray, shape (..., nv)
        q1 ⊖ q0 (rad, m), such that q0 ⊕ v = q1.

    See Also
    --------
    integrate : q ⊕ v dt.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.difference([0.1, 0.2], [0.3, 0.1]).round(3)
    array([ 0.2, -0.1])
    """
    q0, q1 = c.by_cluster("q0"), c.by_cluster("q1")
    parts = [c.recorder.call(_between, cluster.embedding, q0[n], q1[n]) for n, cluster in enumerate(c.clusters)]
    return vector(c, "v", parts)


@method(Q, results="q")
def expand(c: Context) -> Outputs:
    """Coordinates of all joints of the spanning tree.

    Returns
    -------
    q : ndarray, shape (..., n_all)
        Coordinates (rad, m) in the order of `names.joints`, fixed joints left out.

    See Also
    --------
    expand_velocity : The velocities of all joints.

    Examples
    --------
    >>> import fourbar as fb
    >>> wrist = fb.robots.differential_wrist()
    >>> wrist.expand([0.1, 0.2]).round(3)
    array([ 0.1,  0.3, -0.1,  0.2])
    """
    q = flat(c.coordinates())
    return [("q_all", (len(q),), q)]


@method(Q, V, results="v")
def expand_velocity(c: Context) -> Outputs:
    """Velocities of all joints of the spanning tree.

    Returns
    -------
    v : ndarray, shape (..., n)
        G v (rad/s, m/s), with the `loop_map` G.

    See Also
    --------
    expand : The coordinates of all joints.
    loop_map : The matrix G.

    Examples
    --------
    >>> import fourbar as fb
    >>> wrist = fb.robots.differential_wrist()
    >>> wrist.expand_velocity([0.1, 0.2], [1.0, 0.0])
    array([1., 1., 1., 0.])
    """
    v = flat(c.velocities())
    return [("v_all", (len(v),), v)]


@method(Q, V, A, results="a")
def expand_acceleration(c: Context) -> Outputs:
    """Accelerations of all joints of the spanning tree.

    Returns
    -------
    a : ndarray, shape (..., n)
        G a + g (rad/s², m/s²), with the `loop_map` G and the `loop_bias` g.

    See Also
    --------
    expand_velocity : The velocities of all joints.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.expand_acceleration(robot.neutral(), [1.0], [0.0]).round(3)
    array([0., 0., 0.])
    """
    a = flat(c.accelerations("a"))
    return [("a_all", (len(a),), a)]


@method(Q, results="G")
def loop_map(c: Context) -> Outputs:
    """Matrix that takes the independent velocities to those of the spanning tree.

    Returns
    -------
    G : ndarray, shape (..., n, nv)
        The n velocities of the spanning tree are G v.

    See Also
    --------
    loop_bias : The accelerations are G a + g.
    loop_jacobian : K with K G = 0.

    Notes
    -----
    q̇ = G ẏ (Chignoli); forces on all joints make Gᵀ τ on the independent velocities.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.loop_map(robot.neutral()).round(3)
    array([[ 1.],
           [ 1.],
           [-1.]])
    """
    n = c.tree.nv
    identity = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    return [("G", (n, c.nv), flat(c.columns(identity)))]


@method(Q, V, results="g")
def loop_bias(c: Context) -> Outputs:
    """Accelerations of the spanning tree where the independent accelerations are zero.

    Returns
    -------
    g : ndarray, shape (..., n)
        g = Ġ v (rad/s², m/s²): the accelerations of the spanning tree are G a + g.

    See Also
    --------
    loop_map : The matrix G.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> robot.loop_bias(robot.neutral(), [1.0]).round(3)
    array([0., 0., 0.])
    """
    g = flat(c.accelerations(""))
    return [("g", (len(g),), g)]
