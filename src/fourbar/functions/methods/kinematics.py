"""Where frames are, and how they move."""

from __future__ import annotations

from ...algorithms import kinematics
from ...algorithms.kinematics import Reported
from ...tree.cluster_tree import Location, pose_matrix
from ..context import Context
from ..registry import Outputs, flat, method


@method("q", "T", static="frame")
def pose(c: Context, frame: Location) -> Outputs:
    """Pose T (..., 4, 4) of a frame or body in the world, as a homogeneous matrix."""
    return [("T", (4, 4), flat(pose_matrix(kinematics.poses(c.sweeps(), [frame])[0])))]


@method("q", "T")
def poses(c: Context) -> Outputs:
    """Poses T (..., n_bodies, 4, 4) of all bodies in the world, as homogeneous matrices."""
    homes = [c.model.cluster_tree.bodies[b.name] for b in c.model.mechanism.bodies]
    placed = kinematics.poses(c.sweeps(), homes)
    return [("T", (len(homes), 4, 4), flat([flat(pose_matrix(p)) for p in placed]))]


@method("q v", "velocity", static="frame at expressed_in")
def velocity(c: Context, frame: Reported) -> Outputs:
    """Velocity (..., 6) = [angular; linear] of a frame: by default of its origin, in world axes.

    at: "origin", a point (x, y, z) fixed in the frame, or "world" (the point of the body passing the world's origin).
    expressed_in: "world", "frame" (the frame's own axes), or the name of another frame or body.
    """
    return [("velocity", (6,), list(kinematics.motion_of(c.sweeps(), c.velocities(), c.still(), frame)[0]))]


@method("q v a", "acceleration", static="frame at expressed_in")
def acceleration(c: Context, frame: Reported) -> Outputs:
    """Acceleration (..., 6) of a frame: the component-wise rate of its `velocity`, J a + J̇ v.

    In world axes that is the ordinary acceleration of the point; gravity is not included.
    """
    v, a = c.velocities(), c.accelerations("a")
    return [("acceleration", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]


@method("q", "J", static="frame at expressed_in")
def jacobian(c: Context, frame: Reported) -> Outputs:
    """Jacobian J (..., 6, nv) of a frame: its `velocity` is J v, with the same `at` and `expressed_in`."""
    return [("J", (6, c.nv), flat(c.columns(kinematics.jacobian(c.sweeps(), frame))))]


@method("q v", "Jdot_v", static="frame at expressed_in")
def jacobian_rate(c: Context, frame: Reported) -> Outputs:
    """J̇ v (..., 6): the `acceleration` of a frame when a = 0."""
    v, a = c.velocities(), c.accelerations("")
    return [("Jdot_v", (6,), list(kinematics.motion_of(c.sweeps(), v, a, frame)[1]))]
