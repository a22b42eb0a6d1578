"""Motions that make parameters identifiable: Fourier series within limits, optimised for a small condition number.

Every independent coordinate moves as y(t) = y₀ + Σ_k (a_k sin k ω t + b_k cos k ω t), at rest where a period starts and
ends, so that velocity and acceleration are known exactly and a repeated motion can be averaged. Scaling keeps the
limits, so that the search is unconstrained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, FourbarError
from ..hints import with_keyword_hints
from ..joints.euclidean import is_flat
from ..linalg import condition
from ..mechanism.inertial_parameters import KINDS, RIGID
from ..mechanism.mechanism import PlacedJoint
from ..mechanism.validate import read_rng
from ..once import cached_property
from ..representation import html_table, quantity
from ..system.system import System
from ..tree.clusters import Cluster
from .base_parameters import (
    check_robot,
    has_implicit_loops,
    mean_length,
    random_configurations,
    random_triangle,
    read_kinds,
    regroup,
)
from .parameter_coordinates import make_coordinates


@dataclass(frozen=True)
class Fourier:
    """A motion as a Fourier series.

    y(t) = offset + Σ_k (coefficients[:, k, 0] sin k ω t + coefficients[:, k, 1] cos k ω t), with ω = 2π / period.

    Parameters
    ----------
    offset : ndarray, shape (m,)
        Mean of each coordinate (rad, m).
    coefficients : ndarray, shape (m, harmonics, 2)
        Amplitudes of sines and cosines (rad, m).
    period : float
        Period (s).

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar.identification import Fourier
    >>> y, v, a = Fourier(np.zeros(1), np.array([[[1.0, 0.0]]]), 2 * np.pi).at([0.0])
    >>> y, v
    (array([[0.]]), array([[1.]]))
    """

    offset: np.ndarray
    coefficients: np.ndarray
    period: float

    def __repr__(self) -> str:
        m, harmonics, _ = self.coefficients.shape
        coordinates = quantity(m, "coordinate")
        return f"<fourbar Fourier: {coordinates}, {quantity(harmonics, 'harmonic')} of {self.period:g} s>"

    def at(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, velocities and accelerations at given times, exactly.

        Parameters
        ----------
        t : array_like, shape (n,)
            Times (s).

        Returns
        -------
        y : ndarray, shape (n, m)
            Coordinates (rad, m).
        v : ndarray, shape (n, m)
            Velocities (rad/s, m/s).
        a : ndarray, shape (n, m)
            Accelerations (rad/s², m/s²).
        """
        w = 2.0 * np.pi / self.period * np.arange(1, self.coefficients.shape[1] + 1)
        angles = np.multiply.outer(np.asarray(t, float), w)
        s, c = np.sin(angles), np.cos(angles)
        a, b = self.coefficients[..., 0].T, self.coefficients[..., 1].T
        y = self.offset + s @ a + c @ b
        return y, (w * c) @ a - (w * s) @ b, -(w**2 * s) @ a - (w**2 * c) @ b

    def scaled(self, factor: np.ndarray | float) -> Fourier:
        """The same shape around the same offset, larger or smaller.

        Parameters
        ----------
        factor : array_like, shape () or (m,)
            One factor, or one per coordinate.

        Returns
        -------
        Fourier
            The scaled motion.
        """
        wide = np.broadcast_to(np.asarray(factor, float), self.offset.shape)[:, None, None]
        return replace(self, coefficients=wide * self.coefficients)

    def at_rest(self) -> Fourier:
        """The nearest series that is at rest at t = 0, hence after every period.

        Returns
        -------
        Fourier
            The motion whose velocity and acceleration vanish there.

        Notes
        -----
        At t = 0, ẏ = ω Σ k a_k and ÿ = -ω² Σ k² b_k: two linear conditions per coordinate.
        """
        k = np.arange(1.0, self.coefficients.shape[1] + 1.0)
        weights = np.stack([k, k**2], axis=1)
        sums = np.einsum("mki,ki->mi", self.coefficients, weights) / np.sum(weights**2, axis=0)
        return replace(self, coefficients=self.coefficients - sums[:, None, :] * weights)


_UNLIMITED = np.pi  # range of a coordinate without limits


@dataclass(frozen=True)
class ExcitedAxis:
    """An independent velocity that moves: its number, that of its coordinate, its middle, and limits around it."""

    joint: str
    v: int
    q: int
    offset: float
    reach: float
    velocity: float
    force: float


def _independent_joints(robot: System, cluster: Cluster) -> list[tuple[PlacedJoint, int, float]]:
    """The joints of the independent velocities of a cluster: placed joint, which of its velocities, and its scale."""
    connections = [robot.model.cluster_tree.moving[i] for i in cluster.links]
    every = [(c, k) for c in connections for k in range(c.joint.nv)]
    return [(*every[j], scale) for j, scale in cluster.embedding.independent]


def _offset(robot: System, cluster: Cluster, c: PlacedJoint, k: int, lower: float, upper: float) -> float:
    """The middle between limits; where loops are closed implicitly, the configuration in which they were closed."""
    tie = cluster.tie
    if tie is not None and tie.is_implicit:
        connections = [robot.model.cluster_tree.moving[i] for i in cluster.links]
        first = sum(x.joint.nq for x in connections[: connections.index(c)])
        return float(tie.closed[first + k]) if tie.closed is not None else 0.0
    middle = 0.5 * (lower + upper) if np.isfinite(lower) and np.isfinite(upper) else 0.0
    return float(np.clip(middle, lower, upper))


def _axis(robot: System, cluster: Cluster, c: PlacedJoint, k: int, scale: float, v: int, q: int) -> ExcitedAxis:
    lower, upper, size = c.lower[k], c.upper[k], abs(scale)
    offset = _offset(robot, cluster, c, k, lower, upper)
    fastest = c.max_velocity[k] if c.max_velocity else np.inf
    strongest = c.max_force[k] if c.max_force else np.inf
    reach = min(_UNLIMITED, upper - offset, offset - lower) / size
    return ExcitedAxis(c.name, v, q, offset / scale, reach, fastest / size, strongest * size)


@dataclass(frozen=True)
class Axes:
    """The axes that move, and the names of the joints that are held: free ones whose coordinates are not additive."""

    robot: System
    moved: tuple[ExcitedAxis, ...]
    held: tuple[str, ...]
    implicit: bool

    @cached_property
    def velocities(self) -> list[int]:
        """Numbers of the velocities that move."""
        return [axis.v for axis in self.moved]

    @cached_property
    def offset(self) -> np.ndarray:
        """The coordinates (m) in the middle."""
        return np.array([axis.offset for axis in self.moved])

    @cached_property
    def _still(self) -> np.ndarray:
        """Mask of the robot's coordinates that belong to held joints."""
        tree, mask = self.robot.model.cluster_tree, []
        for cluster in tree.clusters:
            connections = [tree.moving[i] for i in cluster.links]
            if cluster.is_free:
                mask += [c.name in self.held for c in connections for _ in range(c.joint.nq)]
            else:
                mask += [connections[0].name in self.held] * cluster.embedding.nq
        return np.array(mask, bool)

    def wide(self, x: np.ndarray) -> np.ndarray:
        """Velocities or accelerations (n, nv) of the robot from those that move (n, m); others are zero."""
        found = np.zeros((len(x), self.robot.nv))
        found[:, self.velocities] = x
        return found

    def configurations(self, y: np.ndarray) -> np.ndarray:
        """q (n, nq) from the moving coordinates (n, m); held joints are neutral, loops are closed step by step."""
        if not self.implicit:
            q = np.tile(self.robot.model.neutral(), (len(y), 1))
            q[:, [axis.q for axis in self.moved]] = y
            return q
        q, now, every_q = self.robot.model.neutral(), self.offset, []
        approach = np.linspace(now, y[0], 20)[1:]
        for number, target in enumerate([*approach, *y[1:]]):
            q = self.robot.integrate(q, self.wide((target - now)[None])[0], 1.0)
            now = target
            if number >= len(approach) - 1:
                every_q.append(q)
        return np.array(every_q)

    def states(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random states q, v, a in which held joints stay fixed."""
        q, (v, a) = random_configurations(self.robot, rng, n), rng.normal(size=(2, n, len(self.moved)))
        q[:, self._still] = self.robot.model.neutral()[self._still]
        return q, self.wide(v), self.wide(a)


def _place(robot: System, cluster: Cluster, c: PlacedJoint) -> int:
    """The place of a joint's first coordinate among those of a cluster without loops."""
    own = [robot.model.cluster_tree.moving[i] for i in cluster.links]
    return sum(x.joint.nq for x in own[: own.index(c)])


def find_axes(robot: System) -> Axes:
    """The joints of a robot that move, and those that are held."""
    moved: list[ExcitedAxis] = []
    held: list[str] = []
    q = v = 0
    for cluster in robot.model.cluster_tree.clusters:
        for n, (c, k, scale) in enumerate(_independent_joints(robot, cluster)):
            if is_flat(c.joint):
                at = _place(robot, cluster, c) + k if cluster.is_free else n
                moved.append(_axis(robot, cluster, c, k, scale, v + n, q + at))
            elif cluster.is_free:
                held.append(c.name)
            else:
                raise ArgumentError(
                    f"joint {c.name!r} is a {type(c.joint).__name__}, whose coordinates are not additive, and its "
                    "velocities are independent in a loop: a Fourier series cannot move it. Choose others with "
                    "with_independent(...), or pass your own motion to identify(...)"
                )
        q, v = q + cluster.embedding.nq, v + cluster.embedding.nv
    if not moved:
        named = ", ".join(map(repr, dict.fromkeys(held)))
        raise ArgumentError(
            f"nothing is left to move: joints {named} are held, since their coordinates are not additive"
        )
    stuck = [axis.joint for axis in moved if not axis.reach > 0.0]
    if stuck:
        raise ArgumentError(f"joints {', '.join(map(repr, stuck))} have no room to move between their limits")
    return Axes(robot, tuple(moved), tuple(dict.fromkeys(held)), has_implicit_loops(robot))


class Allowed:
    """Whether a motion satisfies the limits that scaling alone does not: of joints in loops, and of forces (nv)."""

    def __init__(self, robot: System, force: np.ndarray) -> None:
        self.robot, self.force = robot, force
        cluster_tree = robot.model.cluster_tree
        self._tied = any(not cluster.is_free for cluster in cluster_tree.clusters)
        self._lower, self._upper = (
            np.concatenate([getattr(c, name) for c in cluster_tree.moving]) for name in ("lower", "upper")
        )
        self._fastest = np.concatenate([c.max_velocity or (np.inf,) * c.joint.nv for c in cluster_tree.moving])
        self._kinds = tuple(kind for kind in KINDS if kind not in RIGID and np.any(robot.inertial_parameters(kind)))
        self._friction = robot.inertial_parameters(self._kinds) if self._kinds else np.zeros(0)

    def forces(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Forces (n, nv) of the robot with its current parameters, including friction and springs of its joints."""
        tau = self.robot.inverse_dynamics(q, v, a)
        if self._kinds:
            tau = tau + self.robot.regressor(q, v, a, columns=self._kinds) @ self._friction
        return tau

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> bool:
        if np.any(np.isfinite(self.force)) and np.any(np.abs(self.forces(q, v, a)) > self.force):
            return False
        if not self._tied:
            return True
        full, rates = self.robot.expand(q), self.robot.expand_velocity(q, v)
        inside = np.all((full >= self._lower) & (full <= self._upper))
        return bool(inside and np.all(np.abs(rates) <= self._fastest))

    def check_middle(self, q: np.ndarray, moved: tuple[ExcitedAxis, ...]) -> None:
        """Refuse force limits that cannot even hold the robot in the middle of its range."""
        still = np.zeros((1, self.robot.nv))
        needed = np.abs(self.forces(q, still, still))[0]
        for axis in moved:
            if needed[axis.v] > self.force[axis.v]:
                raise ArgumentError(
                    f"joint {axis.joint!r} needs a force of {needed[axis.v]:.4g} to stay in the middle of its range, "
                    f"but only {self.force[axis.v]:.4g} is allowed; raise force=, or the robot's max_force"
                )


def read_limit(what: str, value: Any, own: np.ndarray, n: int) -> np.ndarray:
    """A limit for each velocity (n): one number, n of them, or None for the limits of the robot's joints."""
    if value is None:
        return own
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        array = np.full(n + 1, np.nan)
    if array.shape not in ((), (n,)) or not np.all(array > 0.0):
        raise ArgumentError(f"{what}={value!r}: expected a positive number, or {n} of them, one per velocity")
    return np.broadcast_to(array, (n,))


_MARGIN = 0.99  # fraction of every limit: peaks may lie between samples
_FINE = 40  # samples per shortest wave where limits are checked
_COARSE = 2  # every second one of these samples enters the condition number
_SMALLER, _TRIES = 0.8, 14  # a motion that exceeds a limit is scaled by this, at most this often


State = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, v, a


@dataclass(frozen=True)
class Excitation:
    """A motion that makes parameters visible.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times (s).
    q : ndarray, shape (n, nq)
        Configurations.
    v : ndarray, shape (n, nv)
        Velocities (rad/s, m/s).
    a : ndarray, shape (n, nv)
        Accelerations (rad/s², m/s²).
    tau : ndarray, shape (n, nv)
        Joint forces (N m, N) that it takes, of the robot as it is known.
    fourier : Fourier
        The coordinates of the velocities `moved` at any time.
    condition : float
        Condition number of the regressor of the base parameters.
    first : float
        The same of a random motion within the same limits.
    moved : tuple of str
        Velocities that move.
    held : tuple of str
        Joints that stay neutral.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> motion = fb.exciting_trajectory(robot, period=4.0, velocity=3.0, evaluations=5)
    >>> motion.q.shape
    (200, 2)
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    fourier: Fourier
    condition: float
    first: float
    moved: tuple[str, ...]
    held: tuple[str, ...]

    def __repr__(self) -> str:
        moved = f"{quantity(len(self.moved), 'velocity', 'velocities')} moved"
        span = f"{quantity(len(self.t), 'sample')} over {self.fourier.period:g} s"
        return f"<fourbar Excitation: {span}, {moved}, condition number {self.condition:.3g}>"

    def _repr_html_(self) -> str:
        rows = ((name, "moved") for name in self.moved), ((name, "held") for name in self.held)
        return html_table(repr(self), ("velocity or joint", "is"), (row for kind in rows for row in kind))


class _Search:
    """Maps unconstrained numbers to motions within limits, and motions to condition numbers."""

    def __init__(
        self, axes: Axes, kinds: tuple[str, ...], period: float, harmonics: int, limits: Any, allowed: Allowed
    ) -> None:
        robot = axes.robot
        self.axes, self.allowed = axes, allowed
        self.period, self.harmonics = period, harmonics
        self.limits = [np.array([axis.reach for axis in axes.moved]), *(x[axes.velocities] for x in limits)]
        c = make_coordinates(robot, kinds, np.zeros(len(robot.parameter_names(kinds))))
        R = random_triangle(robot, kinds, measured=axes.velocities, states=axes.states)
        base = regroup(R[:, c.estimated], tuple(c.names[j] for j in c.estimated), mean_length(robot))
        self.columns = c.estimated[list(base.independent)]
        self.scales = np.linalg.norm(c.T, axis=1)[list(base.independent)]
        self.regressor = robot.regressor.specialise(columns=kinds)
        count = max(_FINE * harmonics, 4 * base.rank // len(axes.moved))
        self.fine = np.linspace(0.0, period, count, endpoint=False)

    def state(self, series: Fourier, t: np.ndarray) -> State:
        """q, v, a of the robot at times t (n)."""
        y, v, a = series.at(t)
        return self.axes.configurations(y), self.axes.wide(v), self.axes.wide(a)

    def motion(self, z: np.ndarray) -> tuple[Fourier, State] | None:
        """A series within all limits, from unconstrained numbers (m, 2 harmonics + 1); the last scales the motion."""
        shape = z[:, :-1].reshape(len(z), self.harmonics, 2) / np.arange(1, self.harmonics + 1)[:, None]
        free = Fourier(np.zeros(len(z)), shape, self.period).at_rest()
        peaks = [np.abs(x).max(axis=0) for x in free.at(self.fine)]
        rooms = [limit / np.maximum(peak, 1e-300) for limit, peak in zip(self.limits, peaks, strict=True)]
        part = _MARGIN / (1.0 + np.exp(-2.0 - z[:, -1]))
        series = Fourier(self.axes.offset, free.coefficients, self.period).scaled(part * np.min(rooms, axis=0))
        return self._within(series)

    def _within(self, series: Fourier) -> tuple[Fourier, State] | None:
        """The series, scaled so that joints in loops and forces satisfy their limits too; and its fine samples."""
        for _ in range(_TRIES):
            state = self.state(series, self.fine)
            if self.allowed(*state):
                return series, state
            series = series.scaled(_SMALLER)
        return None

    def condition(self, z: np.ndarray) -> float:
        """The condition number of the regressor of all base parameters; infinite where limits or loops allow no such
        motion.
        """
        try:
            found = self.motion(z)
            if found is None:
                return np.inf
            Y = self.regressor(*(x[::_COARSE] for x in found[1]))[:, self.axes.velocities]
        except FourbarError:
            return np.inf
        number = condition(Y.reshape(-1, Y.shape[-1])[:, self.columns] * self.scales)
        return float(number) if np.isfinite(number) else np.inf


@with_keyword_hints
def exciting_trajectory(
    robot: System,
    *,
    period: float,
    velocity: Any = None,
    acceleration: Any = None,
    force: Any = None,
    columns: Any = "inertia",
    harmonics: int = 5,
    samples: int = 200,
    evaluations: int = 400,
    rng: np.random.Generator | int | None = 0,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Excitation:
    """Find a periodic motion from which parameters can be identified well.

    Parameters
    ----------
    robot : System
        The robot as it is known.
    period : float
        Period of the motion (s); it starts and ends at rest.
    velocity : array_like, shape () or (nv,), optional
        Largest velocities (rad/s, m/s); `max_velocity` of the joints if None.
    acceleration : array_like, shape () or (nv,), optional
        Largest accelerations (rad/s², m/s²); not limited if None.
    force : array_like, shape () or (nv,), optional
        Largest joint forces (N m, N) of the robot as it is known; `max_force` of the joints if None.
    columns : str or sequence of str, default 'inertia'
        Kinds of parameters, see `System.regressor`.
    harmonics : int, default 5
        Number of waves per coordinate.
    samples : int, default 200
        Samples to return, from start to end.
    evaluations : int, default 400
        Motions to try.
    rng : Generator or int, default 0
        Generator of random motions, or its seed.
    progress : callable, optional
        Wraps the evaluations, e.g. tqdm.tqdm.

    Returns
    -------
    Excitation
        The best motion that was found, within the limits of all joints.

    Raises
    ------
    FourbarError
        If no motion within the limits excites all base parameters.

    See Also
    --------
    identify : Parameters from the data of such a motion.

    Notes
    -----
    Floating bases and other joints whose coordinates do not add up are held neutral, as on a stand: pass
    ``measured=motion.moved`` to `identify` then.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> motion = fb.exciting_trajectory(robot, period=4.0, velocity=3.0, evaluations=20)
    >>> motion.condition < motion.first
    True
    """
    check_robot(robot)
    kinds, axes, generator = read_kinds(columns), find_axes(robot), read_rng(rng)
    for name, number, least in (("harmonics", harmonics, 2), ("samples", samples, 2), ("evaluations", evaluations, 1)):
        if to_count(number, least) is None:
            why = ": a single wave cannot start at rest" if name == "harmonics" else ""
            raise ArgumentError(f"{name}={number!r}: expected a whole number, at least {least}{why}")
    if not (isinstance(period, Real) and np.isfinite(period) and period > 0.0):
        raise ArgumentError(f"period={period!r}: expected a positive number of seconds")
    fastest, strongest = _limits(axes, velocity, force)
    quickest = read_limit("acceleration", acceleration, np.full(robot.nv, np.inf), robot.nv)
    allowed = Allowed(robot, strongest)
    allowed.check_middle(axes.configurations(axes.offset[None]), axes.moved)
    search = _Search(axes, kinds, float(period), harmonics, (fastest, quickest), allowed)
    best, first, least = _search_motion(search, generator, evaluations, progress)
    motion = search.motion(best) if np.isfinite(least) else None
    if motion is None:
        raise FourbarError(
            "no motion was found within the limits that excites all base parameters; relax limits or add harmonics"
        )
    series, t = motion[0], np.linspace(0.0, float(period), samples)
    state = search.state(series, t)
    moved = tuple(robot.names.velocities[i] for i in axes.velocities)
    return Excitation(t, *state, allowed.forces(*state), series, least, first, moved, axes.held)


def _limits(axes: Axes, velocity: Any, force: Any) -> tuple[np.ndarray, np.ndarray]:
    """Allowed velocities and forces (nv)."""
    n = axes.robot.nv
    own = np.full((2, n), np.inf)
    own[:, axes.velocities] = [[a.velocity for a in axes.moved], [a.force for a in axes.moved]]
    fastest, strongest = read_limit("velocity", velocity, own[0], n), read_limit("force", force, own[1], n).copy()
    unknown = [a.joint for a in axes.moved if not np.isfinite(fastest[a.v])]
    if unknown:
        raise ArgumentError(
            f"velocity={velocity!r}: joints {', '.join(map(repr, unknown))} have no max_velocity; give a limit"
        )
    still = np.setdiff1d(np.arange(n), axes.velocities)
    strongest[still] = np.inf  # a stand that holds the base has no force limit
    return fastest, strongest


def _search_motion(
    search: _Search, rng: np.random.Generator, evaluations: int, progress: Any
) -> tuple[np.ndarray, float, float]:
    """Random motions first, then steps from the best, which grow on success and shrink on failure."""
    shape = (len(search.axes.moved), 2 * search.harmonics + 1)
    best = rng.normal(size=shape)
    first = least = search.condition(best)
    step = 0.5
    steps: Iterable[int] = range(evaluations - 1)
    for k in progress(steps) if progress is not None else steps:
        wide = k < evaluations // 5
        trial = rng.normal(size=shape) if wide else best + step * rng.normal(size=shape)
        condition = search.condition(trial)
        if condition < least:
            best, least = trial, condition
        if not wide:
            step *= 1.5 if condition <= least and best is trial else 0.92
    return best, first, least
