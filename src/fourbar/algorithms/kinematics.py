"""Where frames are, how they move, and how joints move them (poses, velocities, accelerations, Jacobians, J̇ v).

What is reported of a frame is a pair: *at* which point (the frame's origin, a point fixed in the frame, or the point of
the body that is passing the world's origin), and *expressed in* whose axes. Velocities are J v; accelerations are the
component-wise rate of that, J a + J̇ v.

Twists, Jacobians, and the joint forces that do the work of wrenches on bodies are also for all bodies at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..spatial.linear import Mat, Vec, zeros
from ..spatial.motion import Motion
from ..spatial.transform import IDENTITY, Transform
from ..spatial.vectors import Twist, Wrench
from ..tree.cluster_tree import GROUND, Location
from ..tree.links import Kinematics
from .sweep import Outcome, Sweeps, outward, velocity_outward


def to_place(pose: Transform, V: Twist) -> Twist:
    """The twist of a place on a link's body, in the axes of that place."""
    return pose.motion_to_child(V)


def twists(s: Sweeps, v: Sequence[Vec], homes: Sequence[Location]) -> list[Twist]:
    """V = X V_λ + S v, at every home."""
    V = s.outward(velocity_outward, Twist.zero(), v)
    return [
        Twist.zero() if home.link == GROUND else s.recorder.call(to_place, home.pose, V[home.link]) for home in homes
    ]


Columns = tuple[Twist, ...]


def own_columns(k: Kinematics) -> Columns:
    """S: what the joint of a link does to its body."""
    return k.S.twists()


def carry(k: Kinematics, columns: Columns) -> Columns:
    """X J_λ: what a joint that carries the link does to its body, from what it does to the parent."""
    return tuple(k.X.motion_to_child(column) for column in columns)


def columns_at(pose: Transform, columns: Columns) -> Columns:
    """The columns of a place on a link's body."""
    return tuple(pose.motion_to_child(column) for column in columns)


def _all_columns(s: Sweeps) -> list[dict[int, Columns]]:
    """For each link the columns of its own joint and of those that carry it, by number."""

    def columns_outward(i: int, above: dict[int, Columns]) -> dict[int, Columns]:
        carried = {j: s.step(i, carry, columns) for j, columns in above.items()}
        return {**carried, i: s.step(i, own_columns)}

    return outward(s.tree.parents, {}, columns_outward)


def jacobians(s: Sweeps, homes: Sequence[Location]) -> list[list[list[Any]]]:
    """J (6 x nv, rows of scalars) of every home, on the velocities of all links."""
    carried, J_by_home = _all_columns(s), []
    for home in homes:
        J: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(6)]
        for i, columns in carried[home.link].items() if home.link != GROUND else ():
            for b, column in enumerate(s.recorder.call(columns_at, home.pose, columns)):
                for row, x in enumerate(column.six()):
                    J[row][s.tree.first_v[i] + b] = x
        J_by_home.append(J)
    return J_by_home


def force_inward(k: Kinematics, children: tuple[Wrench, ...], F_ext: Wrench) -> Outcome:
    """F = F_ext + Σ Xᵀ F of the children;  τ = Sᵀ F."""
    F = sum(children, F_ext)
    return Outcome(k.S.project(F), k.X.force_to_parent(F))


def generalized_force(s: Sweeps, F_ext: Sequence[Wrench]) -> list[Vec]:
    """Joint forces of every link that do the work of external wrenches on its body."""
    return s.inward(force_inward, F_ext)


WORLD_POINT = "world"


def place_outward(k: Kinematics, parent: Transform) -> Transform:
    """World pose of a link's body, multiplied out."""
    pose = parent.then(k.X)
    return Transform((pose.R,), pose.p)


def place(pose: Transform, inner: Transform) -> Transform:
    """World pose of a place on a body."""
    placed = pose.then(inner)
    return Transform((placed.R,), placed.p)


def along(
    s: Sweeps, homes: Sequence[Location | None], ground: Any, step: Any, *inputs: Sequence[Any]
) -> dict[int, Any]:
    """An outward sweep over just the links that carry the given homes; -1 is the ground."""
    found = {GROUND: ground}
    s.outward_to([home.link for home in homes if home is not None], step, found, *inputs)
    return found


def poses(s: Sweeps, homes: Sequence[Location]) -> list[Transform]:
    """World poses of bodies or frames."""
    found = along(s, homes, IDENTITY, place_outward)
    return [s.recorder.call(place, found[home.link], home.pose) for home in homes]


class MovingBody(NamedTuple):
    """A body in the world: pose, twist and second-order motion in its own axes."""

    pose: Transform
    V: Twist
    motion: Motion


STILL = MovingBody(IDENTITY, Twist.zero(), Motion(zeros(3), zeros(3), zeros(3), Mat.zeros(3, 3)))


def move_outward(k: Kinematics, parent: MovingBody, v: Vec, a: Vec) -> MovingBody:
    """T = T_λ T_J;  V = X V_λ + S v;  and the same to second order, without gravity."""
    V_J = k.S.twist(v)
    V = k.X.motion_to_child(parent.V) + V_J
    return MovingBody(place_outward(k, parent.pose), V, parent.motion.through(k.X, V_J, k.S.twist(a) + k.c_J))


class Reported(NamedTuple):
    """A point of a frame, and axes: `point` in the frame or "world"; `axes` a location, None for the world's."""

    frame: Location
    point: tuple[float, float, float] | str
    axes: Location | None


def _world_motion(body: MovingBody, reported: Reported) -> tuple[Vec, Vec, Vec, Vec]:
    """ω, velocity, α, acceleration of the reported point, in world axes."""
    if reported.point == WORLD_POINT:
        w, al = body.pose.rotate(body.V.angular), body.pose.rotate(body.motion.al)
        p, v = body.pose.p, body.pose.rotate(body.V.linear)
        return w, v - w.cross(p), al, body.pose.rotate(body.motion.acc) - al.cross(p) - w.cross(v)
    r = reported.frame.pose.point(Vec(reported.point))
    v = body.V.linear + body.V.angular.cross(r)
    acc = body.motion.acc + body.motion.G @ r
    return tuple(body.pose.rotate(x) for x in (body.V.angular, v, body.motion.al, acc))  # type: ignore[return-value]


def report(body: MovingBody, axes: MovingBody | None, reported: Reported) -> tuple[Vec, Vec]:
    """The six numbers of velocity, and of its rate."""
    w, v, al, acc = _world_motion(body, reported)
    if axes is None or reported.axes is None:
        return Vec((*w, *v)), Vec((*al, *acc))
    turned = axes.pose.then(reported.axes.pose)
    w_axes = axes.pose.rotate(axes.V.angular)
    rates = (al - w_axes.cross(w), acc - w_axes.cross(v))
    velocity, rate = [turned.unrotate(x) for x in (w, v)], [turned.unrotate(x) for x in rates]
    return Vec((*velocity[0], *velocity[1])), Vec((*rate[0], *rate[1]))


def motion_of(s: Sweeps, v: Sequence[Vec], a: Sequence[Vec], reported: Reported) -> tuple[Vec, Vec]:
    """Velocity of a frame and its rate."""
    moving = along(s, (reported.frame, reported.axes), STILL, move_outward, v, a)
    axes = None if reported.axes is None else moving[reported.axes.link]
    return s.recorder.call(report, moving[reported.frame.link], axes, reported)


def jacobian_columns(
    k: Kinematics, pose: Transform, body: Transform, axes: Transform | None, reported: Reported
) -> tuple[Vec, ...]:
    """Columns of one joint: what each of its unit motions does to the reported point."""
    point = zeros(3) if reported.point == WORLD_POINT else body.point(reported.frame.pose.point(Vec(reported.point)))
    columns = []
    for s in k.S.twists():
        w = pose.rotate(s.angular)
        v = pose.rotate(s.linear) + w.cross(point - pose.p)
        if axes is not None and reported.axes is not None:
            turned = axes.then(reported.axes.pose)
            w, v = turned.unrotate(w), turned.unrotate(v)
        columns.append(Vec((*w, *v)))
    return tuple(columns)


def jacobian(s: Sweeps, reported: Reported) -> list[list[Any]]:
    """J (6 x nv) as rows of scalars: velocity = J v."""
    J: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(6)]
    placed = along(s, (reported.frame, reported.axes), IDENTITY, place_outward)
    axes = None if reported.axes is None else placed[reported.axes.link]
    i = reported.frame.link
    while i >= 0:
        columns = s.step(i, jacobian_columns, placed[i], placed[reported.frame.link], axes, reported)
        for b, column in enumerate(columns):
            for row in range(6):
                J[row][s.tree.first_v[i] + b] = column[row]
        i = s.tree.parents[i]
    return J
