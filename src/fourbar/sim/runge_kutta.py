"""Fixed-step fourth-order Runge-Kutta on the configuration group (Runge-Kutta-Munthe-Kaas).

Within a step the configuration is written as q(t) = q₀ ⊕ θ(t) with θ in the tangent space, where the classic scheme
applies; quaternions therefore stay of unit length without being renormalised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument, batch_shape, to_array
from ..errors import ArgumentError, CoordinateError, SingularError, warn
from ..representation import counted, html_table
from ..system.system import System
from ..tree.closed import are_closed
from .acting import Acting, SimulationWarning, acting_on, warn_of_contacts, warn_of_limits
from .charts import Charts, chart_rate

_UNIT_TIME = np.array(1.0)  # an array, so that the call need not convert it
_OPEN = 1e-6  # a loop gap too large to be rounding of written coordinates, in units of its rows
Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Trajectory:
    """States of a simulated motion at the recorded times.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times (s).
    q : ndarray, shape (n, ..., nq)
        Configurations.
    v : ndarray, shape (n, ..., nv)
        Velocities (rad/s, m/s).
    lost : ndarray, shape (n, ...)
        Energy (J) that damping took since the start, integrated like the motion: the sum of kinetic, potential and
        spring energy falls by this, and changes otherwise by the work of `torque` only.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> fb.simulate(robot, [0.5, 0.0], duration=0.1, dt=0.01).q.shape
    (11, 2)
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    lost: np.ndarray

    def __repr__(self) -> str:
        span = f"from t = {self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "without times"
        return f"<fourbar Trajectory: {counted(len(self.t), 'state')} {span}, q {self.q.shape}, v {self.v.shape}>"

    def _repr_html_(self) -> str:
        arrays = ((name, getattr(self, name)) for name in ("t", "q", "v", "lost"))
        return html_table(repr(self), ("array", "shape", "least", "largest"), (_summary(*pair) for pair in arrays))


def _summary(name: str, x: np.ndarray) -> tuple[str, ...]:
    """An array as a row of a table: its shape and its range, of what is finite."""
    finite = x[np.isfinite(x)]
    extremes = (f"{finite.min():.6g}", f"{finite.max():.6g}") if finite.size else ("-", "-")
    return name, str(x.shape), *extremes


class State(NamedTuple):
    """Configuration, velocity, and dissipated energy."""

    q: np.ndarray
    v: np.ndarray
    lost: Any


class Rates(NamedTuple):
    """The rate of a state: in the chart of the step, the acceleration, and the dissipated power."""

    theta: np.ndarray
    a: np.ndarray
    lost: Any


def _rates(
    robot: System, t: float, q0: np.ndarray, theta: np.ndarray, v: np.ndarray, torque: Torque, acting: Acting
) -> Rates:
    q = robot.integrate(q0, theta, _UNIT_TIME)
    return Rates(chart_rate(robot, q0, q, theta, v), *acting(robot, q, v, torque(t, q, v)))


def step(robot: System, t: float, now: State, dt: float, torque: Torque, acting: Acting) -> State:
    """One step of length dt from a state at time t."""
    q, v, lost = now
    k1 = _rates(robot, t, q, np.zeros_like(v), v, torque, acting)
    k2 = _rates(robot, t + dt / 2, q, dt / 2 * k1.theta, v + dt / 2 * k1.a, torque, acting)
    k3 = _rates(robot, t + dt / 2, q, dt / 2 * k2.theta, v + dt / 2 * k2.a, torque, acting)
    k4 = _rates(robot, t + dt, q, dt * k3.theta, v + dt * k3.a, torque, acting)
    theta, change, power = (dt / 6 * (a + 2 * (b + c) + d) for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
    return State(robot.integrate(q, theta, _UNIT_TIME), v + change, lost + power)


class Follower:
    """Integrates a motion, switching to the velocities of other joints where those of the robot are ill-conditioned."""

    def __init__(self, robot: System, torque: Torque | None, acting: Acting) -> None:
        self.charts, self.torque, self.acting = Charts(robot), torque, acting

    def step(self, t: float, now: State, dt: float) -> State:
        """The next state; velocities are those in use."""
        now = now._replace(v=self.charts.looked_at(now.q, now.v))
        try:
            return self._followed(t, now, dt)
        except SingularError:
            changed = self.charts.better(now.q, now.v, poor=1.0)
            if changed is None:
                raise
            return self._followed(t, now._replace(v=changed), dt)

    def _followed(self, t: float, now: State, dt: float) -> State:
        return step(self.charts.now, t, now, dt, self._force, self.acting)

    def _force(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self.torque is None:
            return np.zeros_like(w)
        return self.charts.force(q, self.torque(t, q, self.charts.seen(q, w)))


def _diverged(state: State) -> np.ndarray:
    """The samples (...) that are not finite."""
    return np.asarray(~(np.isfinite(state.q).all(axis=-1) & np.isfinite(state.v).all(axis=-1)))


class Run:
    """A running simulation: its state, and what was recorded."""

    def __init__(self, follower: Follower, start: State, dt: float) -> None:
        self._follower, self._now, self._dt = follower, start, dt
        self._steps = 0
        self._times, self._states = [0.0], [start]
        self._given_up = _diverged(start)
        self._lost_at = np.full(start.q.shape[:-1], np.inf)  # when each sample diverged that was finite at the start

    @property
    def t(self) -> float:
        """The time reached."""
        return self._steps * self._dt

    def advance(self, record: bool) -> bool:
        """Make a step, and record it if requested; False where no finite sample is left."""
        try:
            after = self._follower.step(self.t, self._now, self._dt)
        except CoordinateError:  # those at the start are valid
            self._lost_at[...] = self.t
            return False
        lost = _diverged(after)
        self._lost_at[lost & ~self._given_up & np.isinf(self._lost_at)] = self.t
        if lost.all():
            return False
        self._now, self._steps = after, self._steps + 1
        if record:
            self._record()
        return True

    def _record(self) -> None:
        if self._times[-1] != self.t:
            self._times.append(self.t)
            self._states.append(self._now._replace(v=self._follower.charts.seen(self._now.q, self._now.v)))

    @property
    def trajectory(self) -> Trajectory:
        """The recorded states, and the last one."""
        self._record()
        return Trajectory(np.array(self._times), *(np.array(x) for x in zip(*self._states, strict=True)))

    def attach(self, error: Exception) -> None:
        """Attach the states so far to an error."""
        error.trajectory = self.trajectory  # type: ignore[attr-defined]
        error.add_note(f"simulate: at t = {self.t:.6g} s; the states so far are in the error's attribute 'trajectory'")

    def warn_of_divergence(self) -> None:
        """Warn when the motion diverged, and in how many samples."""
        lost = np.isfinite(self._lost_at)
        if lost.any():
            which = f"{lost.sum()} of {lost.size} samples diverged, the first" if lost.ndim else "the motion diverged"
            warn(
                f"simulate: {which} at t = {self._lost_at.min():.6g} s. Try a shorter step than dt = {self._dt:g} s, "
                "and look for gains, stiffnesses or torques that are too large for it",
                SimulationWarning,
            )


def _check_closed(robot: System, q: np.ndarray) -> None:
    closed = are_closed(robot.model.cluster_tree, q, _OPEN)
    if not closed.all():
        gap = robot.loop_gap(q)[~closed].max()
        raise ArgumentError(
            f"q: the loops of {robot.name!r} are open by {gap:.3g} at the start; start from robot.assemble(q)"
        )


def _is_positive(x: Any) -> bool:
    """Whether a value is a finite positive number."""
    try:
        return isinstance(x, Real) and not isinstance(x, bool) and 0.0 < float(x) < np.inf
    except OverflowError:
        return False


def _check_times(duration: Any, dt: Any) -> None:
    if not (_is_positive(duration) and _is_positive(dt) and np.isfinite(float(duration) / float(dt))):
        raise ArgumentError(f"duration and dt must be positive and finite, got duration={duration!r}, dt={dt!r}")
    if dt > (1.0 + 1e-9) * duration:
        raise ArgumentError(f"dt={dt!r} is longer than duration={duration!r}: no whole step fits")


def _read_state(robot: Any, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """q (..., nq) and v (..., nv; zero if None) as new arrays with the same leading axes."""
    if not isinstance(robot, System):
        raise ArgumentError(
            f"simulate takes a robot, such as fb.load(...) returns, got {robot!r}. With constraints enforced by "
            "forces, integrate its forward_dynamics yourself, or embed the loops with Builder.loop"
        )
    q = to_array("simulate", Argument("q", (robot.nq,)), q)
    v = np.zeros(robot.nv) if v is None else to_array("simulate", Argument("v", (robot.nv,)), v)
    arguments = [Argument("q", (robot.nq,)), Argument("v", (robot.nv,))]
    batch = batch_shape("simulate", arguments, [q, v])
    return np.broadcast_to(q, (*batch, robot.nq)).copy(), np.broadcast_to(v, (*batch, robot.nv)).copy()


def simulate(
    robot: System,
    q: Any,
    v: Any = None,
    *,
    duration: float,
    dt: float = 1e-3,
    torque: Torque | None = None,
    passive: bool = True,
    every: int = 1,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Trajectory:
    """Simulate a robot, or a batch of states of it, with steps of fixed length.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration at the start, with its loops closed.
    v : array_like, shape (..., nv), optional
        Velocity at the start (rad/s, m/s); zero if None.
    duration : float
        Time (s), rounded to whole steps.
    dt : float, default 0.001
        Length of a step (s).
    torque : callable, optional
        Joint forces ``torque(t, q, v)`` (N m, N), shape (..., nv), besides springs and damping; none if None. It is
        called four times per step, and again where a step is repeated: its result must depend on t, q and v only.
    passive : bool, default True
        Let springs and damping of the joints act (`passive_forces`).
    every : int, default 1
        Record every so many steps; the last one is always recorded.
    progress : callable, optional
        Wraps the range of steps, e.g. tqdm.tqdm.

    Returns
    -------
    Trajectory
        Times, states, and the energy lost to damping.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be, or a loop is open at the start.
    SingularError
        If the motion reaches a singular configuration; the states before it are in the error's attribute `trajectory`.

    Warns
    -----
    SimulationWarning
        If friction or contacts of the model do not act, joints leave their limits, or the motion diverges: it then ends
        at its last finite state, or in a batch the samples concerned are NaN from there on. Ctrl-C ends it likewise.

    See Also
    --------
    System.forward_dynamics : Accelerations of one state.
    System.inverse_passive_dynamics : Torques that cause wanted accelerations.

    Notes
    -----
    Runge-Kutta of fourth order on the group of configurations (Munthe-Kaas). Where the independent velocities of a loop
    do not determine its motion, because their joints turn back, those of others are followed; q, v and torque keep
    their meaning.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> motion = fb.simulate(robot, [0.5, 0.0], duration=1.0, dt=0.01)
    >>> motion.q[-1].round(3)
    array([-0.321, -0.104])
    """
    _check_times(duration, dt)
    if not isinstance(every, int | np.integer) or isinstance(every, bool) or every < 1:
        raise ArgumentError(f"every={every!r}: expected a whole number of steps, at least 1")
    if not isinstance(passive, bool | np.bool_):
        raise ArgumentError(f"passive={passive!r}: expected True or False")
    if torque is not None and not callable(torque):
        raise ArgumentError(f"torque={torque!r}: expected a function torque(t, q, v) of arrays, or None")
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress={progress!r}: expected a function that wraps the range of steps, e.g. tqdm.tqdm")
    q, v = _read_state(robot, q, v)
    robot.integrate(q, np.zeros_like(v), _UNIT_TIME)  # refuses coordinates that describe no placement
    _check_closed(robot, q)
    warn_of_contacts(robot)
    steps = max(1, round(duration / dt))
    follower = Follower(robot, torque, acting_on(robot, passive))
    run = Run(follower, State(q, v, np.zeros(q.shape[:-1])), dt)
    try:
        for i in progress(range(steps)) if progress is not None else range(steps):
            if not run.advance(record=(i + 1) % every == 0 or i + 1 == steps):
                break
    except KeyboardInterrupt:
        warn(f"simulate: interrupted at t = {run.t:.6g} s; the states so far are returned", SimulationWarning)
    except Exception as error:
        run.attach(error)
        raise
    found = run.trajectory
    run.warn_of_divergence()
    warn_of_limits(robot, found.t, found.q)
    return found
