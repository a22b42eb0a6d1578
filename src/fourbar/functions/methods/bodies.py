"""All bodies at once: how they move, and what forces on them mean for the joints."""

from __future__ import annotations

from ...algorithms import kinematics
from ..arguments import F_EXT, Q, V
from ..context import Context
from ..registry import Outputs, flat, method, vector


@method(Q, V, results="V")
def twists(c: Context) -> Outputs:
    """Twists of all bodies.

    Returns
    -------
    V : ndarray, shape (..., n_bodies, 6)
        [angular; linear] (rad/s, m/s) of the origin of each body, in the axes of the body.

    See Also
    --------
    velocity : Velocity of one frame, at any point and in any axes.
    jacobians : The matrices J in J v.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.twists([0.1, 0.2], [1.0, 0.0]).round(4)
    array([[ 0.    ,  1.    ,  0.    ,  0.    ,  0.    ,  0.    ],
           [ 0.    ,  1.    ,  0.    , -0.49  ,  0.    , -0.0993]])
    """
    homes = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    found = kinematics.twists(c.sweeps(), c.velocities(), homes)
    return [("V", (len(homes), 6), flat([V.six() for V in found]))]


@method(Q, results="J")
def jacobians(c: Context) -> Outputs:
    """Jacobians of all bodies.

    Returns
    -------
    J : ndarray, shape (..., n_bodies, 6, nv)
        The `twists` of the bodies are J v.

    See Also
    --------
    jacobian : Jacobian of one frame, at any point and in any axes.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.jacobians([0.1, 0.2]).shape
    (2, 6, 2)
    """
    homes = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    rows = [row for J in kinematics.jacobians(c.sweeps(), homes) for row in c.columns(J)]
    return [("J", (len(homes), 6, c.nv), flat(rows))]


@method(Q, F_EXT, results="tau")
def generalized_force(c: Context) -> Outputs:
    """Joint forces that do the work of wrenches on bodies.

    Returns
    -------
    tau : ndarray, shape (..., nv)
        Σ Jᵀ f_ext (N m, N).

    See Also
    --------
    jacobians : The matrices J.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.generalized_force([0.1, 0.2], [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1.0, 0, 0]]).round(4)
    array([-0.49,  0.  ])
    """
    return vector(c, "tau", c.project(kinematics.generalized_force(c.sweeps(), c.F_ext())))
