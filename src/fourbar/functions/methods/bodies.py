"""All bodies at once: how they move, how they resist (articulated inertias), and the joint forces of wrenches."""

from __future__ import annotations

from typing import Any

from ...algorithms import kinematics
from ...algorithms.articulated import Handle
from ...algorithms.articulated_bodies import ArticulatedBody, articulated_bodies
from ...spatial.fluid_inertia import FluidInertia
from ...spatial.inertia import Articulated
from ...spatial.linear import Vec
from ...spatial.transform import Transform
from ...spatial.vectors import Wrench
from ...tree.cluster_tree import GROUND, ClusterTree, Location
from ..arguments import F_EXT, TAU, Q, V
from ..context import Context
from ..options import read_frame
from ..registry import Option, Outputs, flat, method, vector


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


_FRAME = Option(
    "frame",
    written="FRAME",
    type="str",
    text="Name of a frame or body; without it the result has an axis of all bodies, in the order of `names.bodies`.",
)


def _read_places(cluster_tree: ClusterTree, frame: str | None) -> dict[str, Any]:
    """One frame or body, or None for all bodies."""
    return {"frame": None if frame is None else read_frame(cluster_tree, frame)}


def _with_inertia(total: Articulated, I: Any, home: Transform, own: Transform) -> Articulated:
    """With the inertia of a body, from its link's frame in which the body is at `own` and in the world at `home`."""
    return total + Articulated.of(I.to_parent(home.then(own.inverse())))


def _with_buoyancy(total: Wrench, I: Any, home: Transform, own: Transform, gravity: Vec) -> Wrench:
    """A wrench plus the weightless part of a body in a fluid (`FluidInertia.weightless`)."""
    return total + I.to_parent(home.then(own.inverse())).weightless(gravity)


def _with_force(total: Wrench, pose: Transform, six: Vec) -> Wrench:
    return total - pose.force_to_parent(Wrench.of(six))


def _ground(c: Context) -> Handle:
    """Inertia of the bodies that are fixed to the ground, and the bias of external forces on them, in the world."""
    (tree, poses), Ia, pa = c.every_body(), Articulated.of_rows([[0.0] * 6] * 6), Wrench.zero()
    for b, body in enumerate(c.model.mechanism.bodies):
        home = c.model.cluster_tree.bodies[body.name]
        if home.link != GROUND:
            continue
        Ia = c.recorder.call(_with_inertia, Ia, tree.links[b].I, home.pose, poses[b])
        if isinstance(tree.links[b].I, FluidInertia):
            pa = c.recorder.call(_with_buoyancy, pa, tree.links[b].I, home.pose, poses[b], Vec(c.gravity))
        if "f_ext" in c.given:
            pa = c.recorder.call(_with_force, pa, home.pose, Vec(c.given["f_ext"][6 * b : 6 * b + 6]))
    return Handle(Ia, pa)


def _articulated_bodies(c: Context, frame: Location | None) -> tuple[tuple[int, ...], list[ArticulatedBody]]:
    """The leading axis of the result, and the articulated bodies along it."""
    every = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    homes = every if frame is None else [frame]
    v, tau = c.velocities(), c.by_cluster("tau")
    found = articulated_bodies(
        c.sweeps(), c.clusters, c.cluster_states, v, tau, c.F_ext(), c.gravity, _ground(c), homes
    )
    return ((len(homes),) if frame is None else ()), found


@method(Q, results="I_A", options=[_FRAME], read=_read_places, inverts_mass=True)
def articulated_inertia(c: Context, frame: Location | None) -> Outputs:
    """Articulated inertia of one body or of all bodies.

    Returns
    -------
    I_A : ndarray, shape (..., 6, 6) or (..., n_bodies, 6, 6)
        Symmetric matrix [[kg m², kg m], [kg m, kg]] for twists [angular; linear] at the origin of the frame and in its
        axes.

    See Also
    --------
    articulated_bias : The wrench at acceleration zero.
    osim : The inertia of a frame while it hangs on the joints that carry it.

    Notes
    -----
    The wrench F = I_A A + p_A accelerates a body by A, cut from the joint that carries it, while all joints that it
    carries move freely: Î of Kim's Table 3. Bodies joined by fixed joints are one body; those fixed to the ground are
    one with all that stands on it. Links that loops tie together form a cluster: a body among them has its block of
    Chignoli's 𝖨ᴬ, the body with what it carries outside the cluster; forces of the loops are part of F.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.articulated_inertia([0.1, 0.2], "upper").shape, robot.articulated_inertia([0.1, 0.2]).shape
    ((6, 6), (2, 6, 6))
    """
    shape, found = _articulated_bodies(c, frame)
    return [("I_A", (*shape, 6, 6), flat([flat(x.IA.rows()) for x in found]))]


@method(Q, V, TAU, results="p_A", optional=[F_EXT], options=[_FRAME], read=_read_places, inverts_mass=True)
def articulated_bias(c: Context, frame: Location | None) -> Outputs:
    """Bias force of the articulated body of one body or of all bodies.

    Returns
    -------
    p_A : ndarray, shape (..., 6) or (..., n_bodies, 6)
        Wrench [moment; force] (N m, N) at the origin of the frame and in its axes.

    See Also
    --------
    articulated_inertia : I_A in F = I_A A + p_A.
    acceleration : A, with ``expressed_in="frame"``.

    Notes
    -----
    B̂ of Kim's Table 3. A is the component-wise rate of the twist less gravity, ``acceleration(q, v, a, frame,
    expressed_in="frame")`` minus (0, g) in the axes of the frame, since gravity acts as an acceleration of the ground.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.articulated_bias([0.1, 0.2], [0.0, 0.0], [0.0, 1.0]).round(3) + 0.0
    array([[ 0.   ,  2.838,  0.   , -3.675,  0.   ,  0.745],
           [ 0.   ,  0.   ,  0.   ,  0.   ,  0.   ,  0.   ]])
    """
    shape, found = _articulated_bodies(c, frame)
    return [("p_A", (*shape, 6), flat([x.pA.six() for x in found]))]
