"""Inverse kinematics: targets by frame, searches and restarts, and which samples arrived.

Joints that inverse kinematics leaves alone: read by name, as velocities and coordinates by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, AssemblyError, unknown
from ..functions.inverse_kinematics import Goals, compiled_search, leading, read_targets, spread
from ..mechanism.validate import read_rng
from ..representation import html_table
from ..tolerances import BEYOND, OPEN
from ..tree.cluster_tree import ClusterTree
from .closed_states import loop_gap, read_argument

if TYPE_CHECKING:
    from ..tree.cluster_tree import ClusterTree
    from .system import System


class HeldJoints(NamedTuple):
    """Held joints: numbers of velocities, and a mask of coordinates (nq)."""

    velocities: tuple[int, ...]
    coordinates: np.ndarray

    def keep(self, start: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Another start (nq), with held coordinates as in the first (..., nq)."""
        return np.where(self.coordinates, start, other) if self.velocities else other


NONE = HeldJoints((), np.zeros(0, bool))


def read_held(cluster_tree: ClusterTree, names: Any) -> HeldJoints:
    """Joints by name; of a loop all that are independent, or none."""
    if names == ():
        return NONE
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ArgumentError(f"inverse_kinematics: held={names!r}: expected a list of joints, such as ['base']")
    wanted = list(names)
    known = [joint.name for joint in cluster_tree.moving]
    for name in wanted:
        if name not in known:
            raise unknown("joint", name, known)
    velocities: list[int] = []
    coordinates: list[bool] = []
    at = 0
    for cluster in cluster_tree.clusters:
        tie, joints = cluster.embedding, [cluster_tree.moving[i] for i in cluster.links]
        columns = [joint.name for joint in joints for _ in range(joint.joint.nv)]
        if cluster.is_free:
            velocities += [at + j for j, name in enumerate(columns) if name in wanted]
            coordinates += [joint.name in wanted for joint in joints for _ in range(joint.joint.nq)]
            at += tie.nv
            continue
        chosen = [columns[j] for j, _ in tie.independent]
        stays = bool(chosen) and set(chosen) <= set(wanted)
        if not stays and (tied := {joint.name for joint in joints} & set(wanted)):
            raise ArgumentError(
                f"inverse_kinematics: held: a loop ties {min(tied)!r} to others; hold all of "
                f"{', '.join(dict.fromkeys(chosen))} or none"
            )
        velocities += range(at, at + tie.nv) if stays else ()
        coordinates += [stays] * tie.nq
        at += tie.nv
    return HeldJoints(tuple(velocities), np.array(coordinates, bool))


class ReachSettings:
    """Settings of the searches of inverse kinematics: how patient they are, and how many there are."""

    GAIN, PATIENCE, STIFFNESS = 1e-2, 5.0, 100.0  # of the first searches, which give up soon: there are others
    FINE, LONG, STIFF = 1e-9, 20.0, (1e5, 1e10)  # the same for the best of searches that all failed
    DAMPING = 1.0  # times the square of what is missed: how short the first step is
    FEW, MANY = 20, 100  # restarts, with and without loops that have to be closed
    BLOCK = 20  # of these are prepared together
    FIRST = 3  # of what a search reports: |e|², how far limits are passed, iterations; then what each target misses
    AT_LIMIT = 1e-6  # of the range of a coordinate, at most 1 (rad, m): as near to a limit it is at it


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Configurations that reach targets, and which do not.

    Parameters
    ----------
    q : ndarray, shape (..., nq)
        Configurations, with their loops closed, within the limits: the best that was found.
    converged : ndarray of bool, shape (...)
        Whether all targets are reached, to the tolerance.
    distance : mapping of str to ndarray, shape (...)
        By how much (m) each target with a position is missed, without what has no weight.
    angle : mapping of str to ndarray, shape (...)
        By how much (rad) each target with a rotation is missed.
    error : ndarray, shape (...)
        The largest distance (m) or angle (rad).
    outside : ndarray, shape (...)
        By how much (rad, m) a limit is passed; above 1e-9 only where no start led within the limits.
    iterations : ndarray of int, shape (...)
        Iterations of all searches.
    restarts : ndarray of int, shape (...)
        How often the search began anew.
    at_limit : mapping of str to ndarray of bool, shape (...)
        Where each coordinate of q with limits is at one of them; empty if limits were not kept.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.inverse_kinematics({"tip": (0.0, 0.0, -2.0)}, restarts=2)
    <fourbar InverseKinematics: missed, 'tip' by 1.1 m after 2 restarts>
    """

    q: np.ndarray
    converged: np.ndarray
    distance: Mapping[str, np.ndarray]
    angle: Mapping[str, np.ndarray]
    error: np.ndarray
    outside: np.ndarray
    iterations: np.ndarray
    restarts: np.ndarray
    at_limit: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        if self.converged.ndim:
            missed = f"; worst: {self._describe_errors(int(np.argmax(self.error)))}" if not self.converged.all() else ""
            said = f"{int(self.converged.sum())} of {self.converged.size} reached{missed}"
        elif self.converged:
            said = f"reached, {self.iterations} iterations"
        else:
            said = f"missed, {self._describe_errors(0)} after {self.restarts} restarts"
        return f"<fourbar InverseKinematics: {said}>"

    def _repr_html_(self) -> str:
        header = ("target", "largest distance (m)", "largest angle (rad)")
        names = {**self.distance, **self.angle}
        rows = ((name, _largest(self.distance.get(name)), _largest(self.angle.get(name))) for name in names)
        return html_table(repr(self), header, rows)

    def _describe_errors(self, sample: int) -> str:
        """The errors of one sample."""
        errors = []
        for name in {**self.distance, **self.angle}:
            both = (self.distance.get(name), "m"), (self.angle.get(name), "rad")
            by = [f"{x.reshape(-1)[sample]:.3g} {unit}" for x, unit in both if x is not None]
            errors.append(f"{name!r} by {', '.join(by)}")
        stopped = [repr(name) for name, mask in self.at_limit.items() if mask.reshape(-1)[sample]]
        return "; ".join(errors) + (f", with {', '.join(stopped)} at the limit" if stopped else "")


def _largest(missed: np.ndarray | None) -> str:
    """The largest of all samples, if there are any and the target has such a part."""
    return "-" if missed is None or not missed.size else f"{missed.max():.3g}"


class _Attempt(NamedTuple):
    """A search: where it begins (None: at the best so far; all samples, or one place for all), its settings, and
    whether it begins anew."""

    start: np.ndarray | None  # (nq,) or (n, nq)
    setting: np.ndarray  # (6,)
    anew: bool


class _Solution(NamedTuple):
    """The outcome of all samples: configurations, the report of the best search of each, iterations, restarts."""

    q: np.ndarray  # (n, nq)
    report: np.ndarray  # (n, measures)
    iterations: np.ndarray  # (n,)
    restarts: np.ndarray  # (n,)


Search = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]  # of start, goal and setting


def _solve_one(search: Search, goal: np.ndarray, attempts: Iterable[_Attempt], tolerance: float) -> _Solution:
    """One sample: attempts until one arrives."""
    best_q, best, iterations, restarts = goal, [np.inf], 0.0, 0
    for start, setting, anew in attempts:
        q, report = search(best_q if start is None else start, goal, setting)
        new = report.tolist()
        iterations, restarts = iterations + new[2], restarts + anew
        arrived = new[1] <= BEYOND and all(x <= tolerance for x in new[ReachSettings.FIRST :])
        if arrived or not anew or new[0] < best[0]:
            best_q, best = q, new
        if arrived:
            break
    return _Solution(best_q, np.array(best), np.array(iterations), np.array(restarts))


def _solve_many(search: Search, goal: np.ndarray, attempts: Iterable[_Attempt], tolerance: float) -> _Solution:
    """Samples (n, ...): each attempt is that of all samples that have not arrived yet."""
    n, left = len(goal), np.arange(len(goal))
    solution = _Solution(np.empty(0), np.empty(0), np.zeros(n), np.zeros(n))
    for start, setting, anew in attempts:
        begin = solution.q[left] if start is None else start[left] if start.ndim > 1 else start
        q, report = search(begin, goal[left], setting)
        if not solution.q.size:
            solution = solution._replace(q=np.empty((n, q.shape[1])), report=np.full((n, report.shape[1]), np.inf))
        solution.iterations[left] += report[:, 2]
        solution.restarts[left] += anew
        arrived = (report[:, ReachSettings.FIRST :] <= tolerance).all(axis=1) & (report[:, 1] <= BEYOND)
        improved = arrived | (not anew) | (report[:, 0] < solution.report[left, 0])
        solution.q[left[improved]], solution.report[left[improved]] = q[improved], report[improved]
        left = left[~arrived]
        if not left.size:
            break
    return solution


def _at_limit(robot: System, q: np.ndarray) -> dict[str, np.ndarray]:
    """Where each coordinate (...) of q (..., nq) with limits is at one of them."""
    lower, upper = robot.limits.lower, robot.limits.upper
    near = ReachSettings.AT_LIMIT * np.minimum(upper - lower, 1.0)
    at = (q <= lower + near) | (q >= upper - near)
    limited = np.isfinite(lower) | np.isfinite(upper)
    return {name: at[..., k] for k, name in enumerate(robot.names.coordinates) if limited[k]}


def _result(robot: System, goals: Goals, found: _Solution, batch: tuple[int, ...], plan: _Plan) -> InverseKinematics:
    """The result for the user."""
    q, tolerance = found.q.reshape(*batch, robot.nq), plan.tolerance
    missed = np.moveaxis(found.report[..., ReachSettings.FIRST :], -1, 0)
    each = iter(missed)
    distance: dict[str, np.ndarray] = {}
    angle: dict[str, np.ndarray] = {}
    for name, aim in zip(goals.names, goals.aims, strict=True):
        for wanted, errors_by_name in ((aim.position, distance), (aim.rotation, angle)):
            if wanted:
                errors_by_name[name] = np.array(next(each)).reshape(batch)
    error, outside = missed.max(axis=0), found.report[..., 1]
    return InverseKinematics(
        q,
        np.asarray((error <= tolerance) & (outside <= BEYOND)).reshape(batch),
        distance,
        angle,
        np.asarray(error).reshape(batch),
        np.array(outside).reshape(batch),
        found.iterations.astype(int).reshape(batch),
        found.restarts.astype(int).reshape(batch),
        _at_limit(robot, q) if plan.limits else {},
    )


def _count(name: str, x: Any, least: int) -> int:
    if (count := to_count(x, least)) is None:
        raise ArgumentError(f"inverse_kinematics: {name} must be a whole number of at least {least}, got {x!r}")
    return count


class Settings(NamedTuple):
    """The settings of all searches, as the user gives them."""

    tolerance: float
    restarts: int | None
    iterations: int
    limits: bool
    held: Iterable[str]
    rng: Any


class _Plan(NamedTuple):
    """The same, checked: how often and how long each sample is searched for."""

    tolerance: float
    iterations: int
    restarts: int
    rng: Any
    held: HeldJoints
    limits: bool


def find(robot: System, targets: Mapping[str, Any], center_of_mass: Any, q0: Any, asked: Settings) -> InverseKinematics:
    """Configurations of a robot in which frames, or the centre of mass, are where they should be."""
    if not robot.nv:
        raise ArgumentError("inverse_kinematics: no joint of this robot moves")
    goals = read_targets(robot.model, targets, center_of_mass)
    plan = _check(robot.model.cluster_tree, asked)
    start = _start(robot, q0)
    batch = leading("of the targets and of q0", goals.goal.shape[:-1], start.shape[:-1])
    compiled = _compile_search(robot, goals.aims, plan.limits, plan.held.velocities)
    found = _solve(robot, compiled, goals, start, batch, plan)
    return _result(robot, goals, found, batch, plan)


def _check(cluster_tree: ClusterTree, asked: Settings) -> _Plan:
    """The settings of all searches, checked."""
    tolerance = asked.tolerance
    if not (np.ndim(tolerance) == 0 and 0.0 < tolerance < np.inf):
        raise ArgumentError(f"inverse_kinematics: tolerance must be a positive number, got {tolerance!r}")
    loops = any(cluster.embedding.is_implicit for cluster in cluster_tree.clusters)
    most = (
        (ReachSettings.FEW if loops else ReachSettings.MANY)
        if asked.restarts is None
        else _count("restarts", asked.restarts, 0)
    )
    iterations = _count("iterations", asked.iterations, 1)
    held = read_held(cluster_tree, asked.held)
    return _Plan(float(tolerance), iterations, most, asked.rng, held, bool(asked.limits))


def _start(robot: System, q0: Any) -> np.ndarray:
    """Where the search begins, with loops closed."""
    if q0 is None:
        return robot.model.neutral()
    start = read_argument("inverse_kinematics", "q0", robot.nq, q0)
    if not np.isfinite(start).all():
        raise ArgumentError("inverse_kinematics: q0 contains NaN or infinite numbers")
    if any(cluster.embedding.is_implicit for cluster in robot.model.cluster_tree.clusters):
        gap = loop_gap(robot.model.cluster_tree, start).max(initial=0.0)
        if gap > OPEN:
            raise AssemblyError(
                f"inverse_kinematics: loops of q0 are open, by up to {gap:.3g}; robot.assemble(q0) closes them"
            )
    return start


def _compile_search(robot: System, aims: tuple[Any, ...], limits: bool, held: tuple[int, ...]) -> Any:
    """The compiled search, made once for the same aims."""
    key = (aims, limits, held)
    if key not in robot._searches:
        robot._searches.setdefault(key, compiled_search(robot.model.mechanism, aims, limits, held))
    return robot._searches[key]


def _solve(
    robot: System, compiled: Any, goals: Goals, start: np.ndarray, batch: tuple[int, ...], plan: _Plan
) -> _Solution:
    """Search for all samples."""

    def search(q: np.ndarray, goal: np.ndarray, setting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return compiled(q, goal, goals.weight, setting)

    if not batch:
        return _solve_one(search, goals.goal, _attempts(robot, start, plan), plan.tolerance)
    goal = spread(goals.goal, batch).reshape(-1, goals.goal.shape[-1])
    if not len(goal):
        return _Solution(
            np.empty((0, robot.nq)), np.empty((0, ReachSettings.FIRST + goals.error_count)), np.empty(0), np.empty(0)
        )
    if start.ndim > 1:
        start = spread(start, batch).reshape(-1, robot.nq)
    return _solve_many(search, goal, _attempts(robot, start, plan), plan.tolerance)


def _attempts(robot: System, start: np.ndarray, plan: _Plan) -> Iterator[_Attempt]:
    """From q0, then from other starts, then on from the best of those that failed."""
    tolerance, most = plan.tolerance, plan.iterations
    coarse = np.array(
        [tolerance, most, ReachSettings.GAIN, ReachSettings.PATIENCE, ReachSettings.STIFFNESS, ReachSettings.DAMPING]
    )
    yield _Attempt(start, coarse, False)
    if plan.restarts:
        patient = np.array(
            [tolerance, most, ReachSettings.GAIN, ReachSettings.LONG, ReachSettings.STIFFNESS, ReachSettings.DAMPING]
        )
        for k, other in enumerate(_starts(robot, plan.rng, plan.restarts)):
            yield _Attempt(plan.held.keep(start, other), coarse if k < ReachSettings.FEW else patient, True)
    for stiffness in ReachSettings.STIFF:
        fine = np.array(
            [tolerance, max(most, 100), ReachSettings.FINE, ReachSettings.LONG, stiffness, ReachSettings.DAMPING]
        )
        yield _Attempt(None, fine, False)


def _starts(robot: System, rng: Any, count: int) -> Iterator[np.ndarray]:
    """Random configurations, made when they are needed: those of loops take time."""
    generator = None if isinstance(rng, int) else read_rng(rng)
    for k in range(0, count, ReachSettings.BLOCK):
        n = min(ReachSettings.BLOCK, count - k)
        if generator is not None:
            yield from robot.random(generator, n=n)
            continue
        if (rng, k, n) not in robot._searches:
            seed = np.random.default_rng([rng, k]) if k else rng
            robot._searches.setdefault((rng, k, n), robot.random(seed, n=n))
        yield from robot._searches[rng, k, n]
