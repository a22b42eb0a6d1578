"""Where frames are, and how they move."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms import kinematics
from ...algorithms.kinematics import WORLD_POINT, Reported
from ...errors import ArgumentError, UnknownNameError
from ...tree.cluster_tree import ClusterTree, Location, pose_matrix
from ..arguments import A, Q, V
from ..context import Context
from ..options import read_frame
from ..registry import Option, Outputs, flat, method


def _read_pose(cluster_tree: ClusterTree, frame: Any) -> dict[str, Any]:
    return {"frame": read_frame(cluster_tree, frame)}


def _read_point(at: Any) -> tuple[float, float, float] | str:
    if isinstance(at, str):
        if at == "origin":
            return (0.0, 0.0, 0.0)
        if at == "world":
            return WORLD_POINT
        raise ArgumentError(f"at={at!r}: expected 'origin', 'world', or a point (x, y, z) fixed in the frame")
    try:
        point = np.asarray(at, float)
    except (TypeError, ValueError, OverflowError):
        point = np.full(3, np.nan)
    if point.shape != (3,) or not np.all(np.isfinite(point)):
        raise ArgumentError(f"at={at!r}: a point is three finite numbers")
    x, y, z = point.tolist()
    return (x, y, z)


def _read_axes(cluster_tree: ClusterTree, home: Location, expressed_in: Any) -> Location | None:
    """The frame whose axes a result is expressed in; None is the world."""
    if expressed_in in ("world", "frame"):
        return None if expressed_in == "world" else home
    try:
        return read_frame(cluster_tree, expressed_in)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"expressed_in={expressed_in!r}: expected 'world', 'frame' (the axes of the frame itself), or the name of "
            f"another frame or body; {error}"
        ) from None


def _read_reported(cluster_tree: ClusterTree, frame: Any, at: Any, expressed_in: Any) -> dict[str, Any]:
    home = read_frame(cluster_tree, frame)
    axes = _read_axes(cluster_tree, home, expressed_in)
    return {"frame": Reported(home, _read_point(at), axes)}


FRAME = Option("frame", required=True, written="FRAME", type="str", text="Name of a frame or body.")
_AT = Option(
    "at",
    "origin",
    written="POINT",
    type="{'origin', 'world'} or array_like, shape (3,)",
    text="Point of the body whose motion is meant: the origin of the frame, the point that passes the origin of the "
    "world, or a point (m) in the axes of the frame.",
)
_EXPRESSED_IN = Option(
    "expressed_in",
    "world",
    written="AXES",
    type="str",
    text="Axes of the result: 'world', 'frame' (those of the frame itself), or the name of another frame or body.",
)
_REPORTED = (FRAME, _AT, _EXPRESSED_IN)


@method(Q, results="T", options=[FRAME], read=_read_pose)
def pose(c: Context, frame: Location) -> Outputs:
    """Pose of a frame or body in the world.

    Returns
    -------
    T : ndarray, shape (..., 4, 4)
        Homogeneous matrix [[R, p], [0, 1]]: rotation from the axes of the frame to those of the world, and position
        (m).

    See Also
    --------
    poses : Poses of all bodies.
    velocity : Velocity of a frame.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.pose([0.1, 0.2], "tip").round(3)
    array([[ 0.955,  0.   ,  0.296, -0.168],
           [ 0.   ,  1.   ,  0.   ,  0.   ],
           [-0.296,  0.   ,  0.955, -0.88 ],
           [ 0.   ,  0.   ,  0.   ,  1.   ]])
    """
    return [("T", (4, 4), flat(pose_matrix(kinematics.poses(c.sweeps(), [frame])[0])))]


@method(Q, results="T")
def poses(c: Context) -> Outputs:
    """Poses of all bodies in the world.

    Returns
    -------
    T : ndarray, shape (..., n_bodies, 4, 4)
        Homogeneous matrices [[R, p], [0, 1]] in the order of `names.bodies`, positions in m.

    See Also
    --------
    pose : Pose of one frame or body.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.poses([0.1, 0.2]).shape
    (2, 4, 4)
    """
    homes = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    placed = kinematics.poses(c.sweeps(), homes)
    return [("T", (len(homes), 4, 4), flat([flat(pose_matrix(p)) for p in placed]))]


@method(Q, V, results="velocity", options=_REPORTED, read=_read_reported)
def velocity(c: Context, frame: Reported) -> Outputs:
    """Velocity of a frame or body.

    Returns
    -------
    velocity : ndarray, shape (..., 6)
        [angular; linear] (rad/s, m/s).

    See Also
    --------
    jacobian : The matrix J in J v.
    acceleration : Its rate.
    twists : Twists of all bodies, in their own axes.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.velocity([0.1, 0.2], [1.0, 0.0], "tip").round(4)
    array([ 0.    ,  1.    ,  0.    , -0.8796,  0.    ,  0.1681])
    >>> robot.velocity([0.1, 0.2], [1.0, 0.0], "tip", expressed_in="frame").round(4)
    array([ 0.    ,  1.    ,  0.    , -0.89  ,  0.    , -0.0993])
    """
    return [("velocity", (6,), list(kinematics.motion_of(c.sweeps(), c.velocities(), c.still(), frame)[0]))]


@method(Q, V, A, results="acceleration", options=_REPORTED, read=_read_reported)
def acceleration(c: Context, frame: Reported) -> Outputs:
    """Acceleration of a frame or body.

    Returns
    -------
    acceleration : ndarray, shape (..., 6)
        [angular; linear] (rad/s², m/s²): J a + J̇ v, the component-wise rate of the `velocity`. Gravity is not
        included.

    See Also
    --------
    jacobian_rate : J̇ v alone.

    Notes
    -----
    In world axes this is the ordinary acceleration of the point.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.acceleration([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], "tip").round(4)
    array([0.    , 0.    , 0.    , 0.1681, 0.    , 0.8796])
    """
    v, a = c.velocities(), c.accelerations("a")
    return [("acceleration", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]


@method(Q, results="J", options=_REPORTED, read=_read_reported)
def jacobian(c: Context, frame: Reported) -> Outputs:
    """Jacobian of a frame or body.

    Returns
    -------
    J : ndarray, shape (..., 6, nv)
        The `velocity` [angular; linear] of the frame is J v, with the same `at` and `expressed_in`.

    See Also
    --------
    jacobians : Jacobians of all bodies.
    jacobian_rate : J̇ v.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.jacobian([0.1, 0.2], "tip").round(4)[3:]
    array([[-0.8796, -0.3821],
           [ 0.    ,  0.    ],
           [ 0.1681,  0.1182]])
    """
    return [("J", (6, c.nv), flat(c.columns(kinematics.jacobian(c.sweeps(), frame))))]


@method(Q, V, results="Jdot_v", options=_REPORTED, read=_read_reported)
def jacobian_rate(c: Context, frame: Reported) -> Outputs:
    """Rate of the Jacobian of a frame, times the velocity.

    Returns
    -------
    Jdot_v : ndarray, shape (..., 6)
        J̇ v (rad/s², m/s²): the `acceleration` of the frame where a = 0.

    See Also
    --------
    jacobian : The Jacobian J.
    acceleration : J a + J̇ v.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.jacobian_rate([0.1, 0.2], [1.0, 0.0], "tip").round(4)
    array([0.    , 0.    , 0.    , 0.1681, 0.    , 0.8796])
    """
    v, a = c.velocities(), c.accelerations("")
    return [("Jdot_v", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]
