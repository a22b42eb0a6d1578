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
    except (TypeError, ValueError):
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


FRAME = Option("frame", required=True)
_REPORTED = (FRAME, Option("at", "origin"), Option("expressed_in", "world"))


@method(Q, results="T", options=[FRAME], read=_read_pose)
def pose(c: Context, frame: Location) -> Outputs:
    """Pose T (..., 4, 4) of a frame or body in the world, as a homogeneous matrix."""
    return [("T", (4, 4), flat(pose_matrix(kinematics.poses(c.sweeps(), [frame])[0])))]


@method(Q, results="T")
def poses(c: Context) -> Outputs:
    """Poses T (..., n_bodies, 4, 4) of all bodies in the world, as homogeneous matrices."""
    homes = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    placed = kinematics.poses(c.sweeps(), homes)
    return [("T", (len(homes), 4, 4), flat([flat(pose_matrix(p)) for p in placed]))]


@method(Q, V, results="velocity", options=_REPORTED, read=_read_reported)
def velocity(c: Context, frame: Reported) -> Outputs:
    """Velocity (..., 6) = [angular; linear] of a frame: by default of its origin, in world axes.

    at: "origin", a point (x, y, z) fixed in the frame, or "world" (the point of the body passing the world's origin).
    expressed_in: "world", "frame" (the frame's own axes), or the name of another frame or body.
    """
    return [("velocity", (6,), list(kinematics.motion_of(c.sweeps(), c.velocities(), c.still(), frame)[0]))]


@method(Q, V, A, results="acceleration", options=_REPORTED, read=_read_reported)
def acceleration(c: Context, frame: Reported) -> Outputs:
    """Acceleration (..., 6) of a frame: the component-wise rate of its `velocity`, J a + J̇ v.

    In world axes that is the ordinary acceleration of the point; gravity is not included.
    """
    v, a = c.velocities(), c.accelerations("a")
    return [("acceleration", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]


@method(Q, results="J", options=_REPORTED, read=_read_reported)
def jacobian(c: Context, frame: Reported) -> Outputs:
    """Jacobian J (..., 6, nv) of a frame: its `velocity` is J v, with the same `at` and `expressed_in`."""
    return [("J", (6, c.nv), flat(c.columns(kinematics.jacobian(c.sweeps(), frame))))]


@method(Q, V, results="Jdot_v", options=_REPORTED, read=_read_reported)
def jacobian_rate(c: Context, frame: Reported) -> Outputs:
    """J̇ v (..., 6): the `acceleration` of a frame when a = 0."""
    v, a = c.velocities(), c.accelerations("")
    return [("Jdot_v", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]
