"""Inverse kinematics as a compiled function: targets as arrays, and a search in machine code for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import energy, inverse_kinematics
from ..algorithms.inverse_kinematics import Missed, NormalEquations, Pattern, Search, StepBounds
from ..algorithms.kinematics import Reported, along, jacobian_columns, place, place_outward
from ..arrays import refuse_lazy, tracing_advice
from ..errors import ArgumentError
from ..joints.euclidean import is_flat
from ..mechanism.mechanism import Mechanism
from ..spatial.linear import Mat, Vec
from ..spatial.transform import IDENTITY
from ..tolerances import BEYOND
from ..tree.cluster_tree import ClusterTree, Location
from .arguments import Q0, SizedArgument
from .context import Context
from .function import make_method
from .model import Model
from .options import read_frame
from .registry import Method, Option, Outputs, flat

CENTER_OF_MASS = "center_of_mass"
_ROTATION = 1e-6  # how far a matrix may be from a rotation
_LAST_ROW = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Target:
    """Where a frame, or the centre of mass, is to be.

    Parameters
    ----------
    position : array_like, shape (..., 3), optional
        Position (m) in the world; any if None.
    rotation : array_like, shape (..., 3, 3) or (..., 4), optional
        Matrix, or quaternion (w, x, y, z), from the axes of the frame to those of the world; any if None.
    position_weight : array_like, shape () or (3,), default 1.0
        Weights of the position, one for all or along the axes of the world; one that is zero leaves it free there.
    rotation_weight : array_like, shape () or (3,), default 1.0
        Weights of the rotation (1 rad counts as much as 1 m), one for all or about the axes of the target; one that is
        zero leaves the frame free to turn about that axis.

    See Also
    --------
    System.inverse_kinematics : Configurations that reach targets.

    Notes
    -----
    Weights do not change a configuration that reaches everything; they say what counts where that is impossible.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> level = fb.Target(position=(0.3, 0.0, -0.5), position_weight=(1, 0, 1))
    >>> bool(robot.inverse_kinematics({"tip": level}).converged)
    True
    """

    position: Any = None
    rotation: Any = None
    position_weight: Any = 1.0
    rotation_weight: Any = 1.0


class Goals(NamedTuple):
    """Targets as arrays: what the compiled function is made for, and what it is given."""

    names: tuple[str, ...]
    aims: tuple[Any, ...]
    goal: np.ndarray  # (..., entries of all targets)
    weight: np.ndarray  # (3 for each position or rotation,)

    @property
    def error_count(self) -> int:
        """Number of distances and angles."""
        return sum(aim.position + aim.rotation for aim in self.aims)


def _numbers(what: str, x: Any, shapes: tuple[tuple[int, ...], ...], expected: str) -> np.ndarray:
    refuse_lazy("inverse_kinematics", **{what: x})
    try:
        array = np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):
        if advice := tracing_advice(x):
            raise ArgumentError(f"inverse_kinematics: {what} cannot be read as an array of numbers{advice}") from None
        array = np.zeros(())
    if not any(array.shape[array.ndim - len(s) :] == s for s in shapes):
        raise ArgumentError(f"inverse_kinematics: {what} must be {expected}, finite numbers; got {_describe(x)}")
    if not (isfinite(array.sum()) or np.isfinite(array).all()):
        core = next(len(s) for s in shapes if array.shape[array.ndim - len(s) :] == s)
        first = np.argwhere(~np.isfinite(array))[0][: array.ndim - core].tolist()
        sample = f" in sample {first[0] if len(first) == 1 else tuple(first)}" if first else ""
        raise ArgumentError(f"inverse_kinematics: {what} contains NaN or infinite numbers{sample}: {_describe(x)}")
    return array


def _describe(x: Any) -> str:
    shape = np.shape(x) if not isinstance(x, str) else ()
    return f"an array of shape {shape}" if shape and np.size(x) > 9 else repr(x)


def _rotation(name: str, x: Any) -> np.ndarray:
    """Matrices (..., 9) of rotations."""
    array = _numbers(f"the rotation of {name!r}", x, ((3, 3), (4,)), "a matrix (..., 3, 3) or a quaternion (..., 4)")
    if array.shape[-1] == 4:
        length = np.linalg.norm(array, axis=-1, keepdims=True)
        if not (np.abs(length - 1.0) < _ROTATION).all():
            raise ArgumentError(
                f"inverse_kinematics: the quaternion of {name!r} must have unit length, got {_describe(x)}"
            )
        w, x_, y, z = np.moveaxis(array / length, -1, 0)
        rows = [1 - 2 * (y * y + z * z), 2 * (x_ * y - w * z), 2 * (x_ * z + w * y)]
        rows += [2 * (x_ * y + w * z), 1 - 2 * (x_ * x_ + z * z), 2 * (y * z - w * x_)]
        rows += [2 * (x_ * z - w * y), 2 * (y * z + w * x_), 1 - 2 * (x_ * x_ + y * y)]
        return np.stack(rows, axis=-1)
    if not _turns(array):
        raise ArgumentError(
            f"inverse_kinematics: the rotation of {name!r} must be a rotation matrix (orthonormal, determinant 1), got "
            f"{_describe(x)}"
        )
    return array.reshape(*array.shape[:-2], 9)


def _turns(R: np.ndarray) -> bool:
    """Whether matrices (..., 3, 3) are rotations: two rows orthonormal, and the third their cross product."""
    if R.ndim == 2:  # of one, Python's numbers are quicker
        (a, b, c), (d, e, f), (g, h, i) = R.tolist()
        missed = [a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, a * d + b * e + c * f]
        missed += [b * f - c * e - g, c * d - a * f - h, a * e - b * d - i]
        return max(map(abs, missed)) <= _ROTATION
    first, second, third = np.moveaxis(R, -2, 0)
    missed = [(first * first).sum(-1) - 1.0, (second * second).sum(-1) - 1.0, (first * second).sum(-1)]
    return max(np.abs(x).max(initial=0.0) for x in (*missed, np.cross(first, second) - third)) <= _ROTATION


def _weight(name: str, what: str, x: Any) -> np.ndarray:
    if x.__class__ is float and 0.0 < x < np.inf:
        return np.full(3, x)
    try:
        array = np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):
        array = np.full(3, np.nan)
    if array.shape not in ((), (3,)) or not (array >= 0.0).all() or not array.any() or not np.isfinite(array).all():
        raise ArgumentError(
            f"inverse_kinematics: {what}_weight of {name!r} must be one number or three, none negative and not all "
            f"zero (leave out the {what} for that), got {_describe(x)}"
        )
    return np.broadcast_to(array, (3,))


def _target(name: str, given: Any) -> Target:
    """A target from a pose, a position, or as it is."""
    if isinstance(given, Target):
        return given
    array = _numbers(
        f"the target of {name!r}", given, ((4, 4), (3,)), "a pose (..., 4, 4), a position (..., 3), or a Target"
    )
    if array.shape[-1] == 3:
        if array.shape[-2:] == (3, 3) and array.size and _turns(array):
            raise ArgumentError(
                f"inverse_kinematics: the target of {name!r} is a rotation matrix: give fb.Target(rotation=R), or, if "
                "its rows are three positions, fb.Target(position=...)"
            )
        return Target(array)
    if (np.abs(array[..., 3, :] - _LAST_ROW) > _ROTATION).any():
        raise ArgumentError(f"inverse_kinematics: the last row of the pose of {name!r} must be (0, 0, 0, 1)")
    return Target(array[..., :3, 3], array[..., :3, :3])


def read_targets(model: Any, targets: Any, center_of_mass: Any) -> Goals:
    """Targets as arrays."""

    if not isinstance(targets, Mapping):
        raise ArgumentError(
            f"inverse_kinematics: targets must map frames to targets, such as {{'hand': T}}, got {_describe(targets)}"
        )
    listed: list[tuple[str, Any, Target]] = [
        (name, read_frame(model.cluster_tree, name), _target(name, x)) for name, x in targets.items()
    ]
    if center_of_mass is not None:
        listed.append((CENTER_OF_MASS, None, _target(CENTER_OF_MASS, center_of_mass)))
    if not listed:
        raise ArgumentError("inverse_kinematics: no target was given; expected frames with targets, or center_of_mass")
    aims, goal, weight = [], [], []
    for name, home, target in listed:
        if target.position is None and target.rotation is None:
            raise ArgumentError(f"inverse_kinematics: the target of {name!r} has neither a position nor a rotation")
        if home is None and target.rotation is not None:
            raise ArgumentError("inverse_kinematics: the centre of mass has no rotation: give it a position only")
        aims.append(Aim(home, target.position is not None, target.rotation is not None))
        if target.position is not None:
            goal.append(_numbers(f"the position of {name!r}", target.position, ((3,),), "three numbers (..., 3)"))
            weight.append(_weight(name, "position", target.position_weight))
        if target.rotation is not None:
            goal.append(_rotation(name, target.rotation))
            weight.append(_weight(name, "rotation", target.rotation_weight))
    batch = leading("of the targets", *(x.shape[:-1] for x in goal))
    whole = np.concatenate([spread(x, batch) for x in goal], axis=-1)
    return Goals(tuple(name for name, _, _ in listed), tuple(aims), whole, np.concatenate(weight))


def leading(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Leading axes together."""
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ArgumentError(f"inverse_kinematics: leading axes {listed} {what} do not fit together") from None


def spread(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """An array (..., n) with the leading axes of a batch."""
    return x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, x.shape[-1]))


_MOST = 1 << 30  # passes: the search itself knows when to end
_INFINITE = float("inf")
_NONE = 1e8  # a limit beyond it is none
SETTINGS = ("tolerance", "passes", "gain", "patience", "stiffness", "damping")


class Aim(NamedTuple):
    """Something that has a goal: a frame, or (None) the centre of mass; whether its position and rotation matter."""

    home: Location | None
    position: bool
    rotation: bool

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Numbers of entries of its goal, its weights and its errors."""
        p, R = int(self.position), int(self.rotation)
        return 3 * p + 9 * R, 3 * p + 3 * R, p + R


class Wall(NamedTuple):
    """A coordinate with limits: its link, its place among the joint's coordinates, and which velocity it is (or -1)."""

    link: int
    entry: int
    lower: float
    upper: float
    velocity: int
    scale: float


def _independent(cluster_tree: ClusterTree) -> dict[tuple[int, int], tuple[int, float]]:
    """The independent velocities that are rates of a coordinate: number and scale, by link and entry."""
    scaled_velocities: dict[tuple[int, int], tuple[int, float]] = {}
    at = 0
    for cluster in cluster_tree.clusters:
        tie = cluster.embedding
        every = [(i, k) for i in cluster.links for k in range(cluster_tree.moving[i].joint.nv)]
        for n, (j, scale) in enumerate(tie.independent):
            if is_flat(cluster_tree.moving[every[j][0]].joint):
                scaled_velocities[every[j]] = at + n, scale
        at += tie.nv
    return scaled_velocities


def walls(cluster_tree: ClusterTree) -> tuple[Wall, ...]:
    """All coordinates with limits."""
    independent, limits = _independent(cluster_tree), []
    for i, c in enumerate(cluster_tree.moving):
        for k, (lower, upper) in enumerate(zip(c.lower, c.upper, strict=True)):
            low, high = lower if lower > -_NONE else -_INFINITE, upper if upper < _NONE else _INFINITE
            if low == -_INFINITE and high == _INFINITE:
                continue
            velocity, scale = independent.get((i, k), (-1, 1.0))
            margin = 0.0 if velocity >= 0 else min(BEYOND, 0.25 * (high - low))
            limits.append(Wall(i, k, low + margin, high - margin, velocity, scale))
    return tuple(limits)


def _pattern(c: Context, aims: Sequence[Aim], held: frozenset[int]) -> Pattern:
    """The pattern of Jᵀ J: velocities meet that move the same frame, or are tied by loops; none that is held."""
    first, of_link = [], {}
    for cluster in c.clusters:
        own = list(range(sum(map(len, first)), sum(map(len, first)) + cluster.embedding.nv))
        of_link.update(dict.fromkeys(cluster.links, own))
        first.append(own)
    sets = [*first]
    for aim in aims:
        if aim.home is None:
            sets.append(list(range(c.nv)))
            continue
        link, moving = aim.home.link, set()
        while link >= 0:
            moving |= set(of_link[link])
            link = c.tree.parents[link]
        sets.append(sorted(moving))
    met = {(i, j) for own in sets for i in own for j in own if i >= j and (i == j or not held & {i, j})}
    return tuple(sorted(met))


class Searcher:
    """Records one search."""

    def __init__(self, c: Context, aims: tuple[Aim, ...], limits: bool, held: tuple[int, ...]) -> None:
        self.c, self.aims, self.call, self.held = c, aims, c.recorder.call, frozenset(held)
        self.walls = walls(c.model.cluster_tree) if limits else ()
        self.box = tuple(x for x in self.walls if x.velocity >= 0 and x.velocity not in self.held)
        self.pattern = _pattern(c, aims, self.held)
        self.setting = dict(zip(SETTINGS, c.given["setting"], strict=True))

    def _target_errors(self, c: Context) -> list[Missed]:
        """The errors of all aims at a configuration."""
        s, errors = c.sweeps(), []
        goal, weight = list(c.given["goal"]), list(c.given["weight"])
        homes = [aim.home for aim in self.aims if aim.home is not None]
        placed = along(s, homes, IDENTITY, place_outward)
        for aim in self.aims:
            if aim.home is None:
                point, pose = energy.center_of_mass(s), None
                rows = [[0.0] * s.tree.nv] * 3 + energy.center_of_mass_jacobian(s)
            else:
                pose = self.call(place, placed[aim.home.link], aim.home.pose)
                point, rows = pose.p, self._jacobian(s, placed, aim.home)
            J = self._columns(c, rows)
            for wanted, of, steps, n in (
                (aim.position, (point, Mat(J[3:])), inverse_kinematics.missed_position, 3),
                (aim.rotation, (pose, Mat(J[:3])), inverse_kinematics.missed_rotation, 9),
            ):
                if wanted:
                    errors.append(self.call(steps, *of, Vec(goal[:n]), Vec(weight[:3])))
                    del goal[:n], weight[:3]
        return errors

    def _columns(self, c: Context, rows: list[list[Any]]) -> list[Vec]:
        """Rows by independent velocities, without those that are held."""
        found = [Vec(row) for row in c.columns(rows)]
        if not self.held:
            return found
        return [Vec([0.0 if k in self.held else x for k, x in enumerate(row)]) for row in found]

    def _jacobian(self, s: Any, placed: dict[int, Any], home: Location) -> list[list[Any]]:
        J: list[list[Any]] = [[0.0] * s.tree.nv for _ in range(6)]
        i, reported = home.link, Reported(home, (0.0, 0.0, 0.0), None)
        while i >= 0:
            columns = s.step(i, jacobian_columns, placed[i], placed[home.link], None, reported)
            for b, column in enumerate(columns):
                for row in range(6):
                    J[row][s.tree.first_v[i] + b] = column[row]
            i = s.tree.parents[i]
        return J

    def _walls(self, c: Context) -> tuple[Mat, Vec]:
        """Rows of all coordinates with limits, and how far they are beyond these."""
        q, passed, rows = c.coordinates(), [], []
        rates: dict[int, Mat] = {}
        for wall in self.walls:
            joint = c.model.cluster_tree.moving[wall.link].joint
            row = [0.0] * c.tree.nv
            first = c.tree.first_v[wall.link]
            if is_flat(joint):
                row[first + wall.entry] = 1.0
            else:
                if wall.link not in rates:
                    rates[wall.link] = self.call(inverse_kinematics.coordinate_rates, joint, q[wall.link])
                row[first : first + joint.nv] = rates[wall.link][wall.entry]
            rows.append(row)
            passed.append(self._limit_excess(q[wall.link][wall.entry], wall))
        return Mat(self._columns(c, rows)), Vec(passed)

    def _limit_excess(self, x: Any, wall: Wall) -> Any:
        """The excess of a coordinate over its upper limit, or, negative, below its lower one."""
        if wall.lower == -_INFINITE:
            return self.call(inverse_kinematics.above, x, wall.upper)
        if wall.upper == _INFINITE:
            return self.call(inverse_kinematics.below, x, wall.lower)
        return self.call(inverse_kinematics.between, x, wall.lower, wall.upper)

    def problem(self, q: Vec) -> tuple[NormalEquations, Vec]:
        """The normal equations at a configuration, and the errors there."""
        given = {**self.c.given, "q": tuple(q)}
        c = Context.at(self.c.model, self.c.recorder, given)
        missed, (rows, passed) = self._target_errors(c), self._walls(c)
        J, e = Mat(row for x in missed for row in x.rows), Vec([x for own in missed for x in own.e])
        made = self.call(
            inverse_kinematics.normal_equations, J, e, rows, passed, self.setting["stiffness"], self.pattern, c.nv
        )
        return made, Vec([x for own in missed for x in own.report])

    def _bounds(self, q: Vec) -> StepBounds:
        """The bounds of each velocity with limits."""
        c = Context.at(self.c.model, self.c.recorder, {"q": tuple(q)})
        at = c.coordinates()
        lower, upper = [], []
        for wall in self.box:
            ends = (wall.lower, wall.upper) if wall.scale > 0.0 else (wall.upper, wall.lower)
            for end, far, bounds in zip(ends, (-_INFINITE, _INFINITE), (lower, upper), strict=True):
                none = abs(end) == _INFINITE
                place = at[wall.link][wall.entry]
                bounds.append(far if none else self.call(inverse_kinematics.room, place, end, wall.scale))
        return StepBounds(Vec(lower), Vec(upper))

    def _step(self, search: Search) -> tuple[Vec, Any]:
        """The next step, and the decrease that it predicts. Velocities that meet a bound are held there, the others
        solved again.
        """
        call, problem, pattern = self.call, search.problem, self.pattern
        bounded, box = tuple(x.velocity for x in self.box), self._bounds(search.q)
        damped_problem = problem.A, problem.g, call(inverse_kinematics.damping, problem, search.mu, pattern)
        hold = call(inverse_kinematics.hold_at_bounds, problem.g, box, bounded)
        step = call(inverse_kinematics.free_step, *damped_problem, hold, pattern)
        if bounded:
            hold = call(inverse_kinematics.caught, step, hold, box, bounded)
            step = call(inverse_kinematics.free_step, *damped_problem, hold, pattern)
            step = call(inverse_kinematics.within, step, box, bounded)
        return step, call(inverse_kinematics.predicted_decrease, problem, step, pattern)

    def trial(self, search: Search) -> tuple[Vec, Any]:
        """The configuration after the next step, and the decrease that is predicted."""
        step, promised = self._step(search)
        q, delta = list(search.q), list(step)
        parts = []
        for cluster in self.c.clusters:
            tie, own = cluster.embedding, Vec(q[: cluster.embedding.nq])
            first = len(step) - len(delta)
            stays = bool(tie.nv) and all(j in self.held for j in range(first, first + tie.nv))
            parts.append(own if stays else self.call(_integrate, tie, own, Vec(delta[: tie.nv])))
            del q[: tie.nq], delta[: tie.nv]
        return Vec(flat(parts)), promised

    def run(self) -> Search:
        """Search until all samples have ended."""
        call, setting = self.call, self.setting
        q = Vec(self.c.given["q0"])
        problem, report = self.problem(q)
        start = Search(q, problem, report, setting["damping"], 0.0, 0.0, 0.0)
        left = (setting["tolerance"], BEYOND, setting["passes"], setting["patience"])

        def once_more(search: Search) -> tuple[Search, Any]:
            q, promised = self.trial(search)
            problem, report = self.problem(q)
            found = call(
                inverse_kinematics.judge, search._replace(promised=promised), q, problem, report, setting["gain"]
            )
            return found._replace(promised=0.0), call(inverse_kinematics.goes_on, found, *left)

        going = call(inverse_kinematics.goes_on, start, *left)
        return self.c.recorder.repeat(once_more, start, _MOST, going)


def _integrate(embedding: Any, q: Vec, delta: Vec) -> Vec:
    return embedding.integrate(q, delta)


def search(c: Context, aims: tuple[Aim, ...], limits: bool, held: tuple[int, ...]) -> Outputs:
    """The end of a search from q0, and its errors: |e|², limits, passes, then each distance and angle."""
    found = Searcher(c, aims, limits, held).run()
    report = [found.problem.cost, found.problem.outside, found.passes, *found.report]
    return [("q", (len(found.q),), list(found.q)), ("report", (len(report),), report)]


def _static(cluster_tree: ClusterTree, aims: tuple[Aim, ...], limits: bool, held: tuple[int, ...]) -> dict[str, Any]:
    return {"aims": aims, "limits": limits, "held": held}


def compiled_search(mechanism: Mechanism, aims: tuple[Aim, ...], limits: bool, held: tuple[int, ...] = ()) -> Any:
    """The function (q0, goal, weight, setting) -> q, report; with joint limits or without; some velocities held."""
    sizes = [sum(x) for x in zip(*(aim.numbers for aim in aims), strict=True)]
    inputs = (
        Q0,
        SizedArgument("goal", sizes[0]),
        SizedArgument("weight", sizes[1]),
        SizedArgument("setting", len(SETTINGS)),
    )
    options = (Option("aims"), Option("limits", True), Option("held", ()))
    method = Method(search, inputs, ("q", "report"), (), options, text=search.__doc__ or "")
    static = partial(_static, aims=aims, limits=limits, held=held)
    rebuild = (compiled_search, mechanism, aims, limits, held)
    return make_method(Model.of(mechanism), "inverse_kinematics", method, static, rebuild)
