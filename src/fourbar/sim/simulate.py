"""`simulate`: reading what is asked for, and running it, in machine code or with forces asked from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import Argument, batch_shape, refuse_lazy, to_array
from ..errors import ArgumentError, warn
from ..functions.rollout import ALWAYS
from ..system.system import System
from ..tree.closed import are_closed
from .acting import SimulationWarning, acting_on, warn_of_contacts, warn_of_limits, with_passive
from .charts import Charts
from .course import Course, PartlyIndependent, Rows
from .runge_kutta import Follower, Held, Run, State, Torque, Trajectory, warn_of_divergence
from .step import Law, Traced

_UNIT_TIME = np.array(1.0)  # an array, so that the call need not convert it
_OPEN = 1e-6  # a loop gap too large to be rounding of written coordinates, in units of its rows
Progress = Callable[[Iterable[int]], Iterable[int]]
USE_ROLLOUT = "use rollout, which works on dask arrays lazily, chunk by chunk, or "


def _check_closed(robot: System, q: np.ndarray) -> None:
    closed = are_closed(robot.model.cluster_tree, q, _OPEN)
    if not closed.all():
        gap = robot.loop_gap(q)[~closed].max()
        raise ArgumentError(
            f"q: the loops of {robot.name!r} are open by {gap:.3g} at the start; start from robot.assemble(q)"
        )


def _started(robot: System, q: np.ndarray, still: np.ndarray) -> np.ndarray:
    """q with quaternions of unit length; refuses coordinates that describe no placement. Loops stay as they are: where
    they are ill-conditioned, closing them again would move them.
    """
    start = robot.integrate(q, still, _UNIT_TIME)
    at = 0
    for cluster in robot.model.cluster_tree.clusters:
        own = slice(at, at + cluster.embedding.nq)
        at = own.stop
        if not cluster.is_free:
            start[..., own] = q[..., own]
    return start


def _is_positive(x: Any) -> bool:
    """Whether a value is a finite positive number."""
    try:
        return isinstance(x, Real) and not isinstance(x, bool) and 0.0 < float(x) < np.inf
    except OverflowError:
        return False


def check_times(duration: Any, dt: Any) -> None:
    """Refuse times that are no times, or a step longer than all of them."""
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


def read_counts(every: Any, passive: Any) -> None:
    """Refuse what is no number of steps, and what is no choice."""
    if not isinstance(every, int | np.integer) or isinstance(every, bool) or every < 1:
        raise ArgumentError(f"every={every!r}: expected a whole number of steps, at least 1")
    if not isinstance(passive, bool | np.bool_):
        raise ArgumentError(f"passive={passive!r}: expected True or False")


def read_period(period: Any, dt: float) -> int:
    """The steps of a control period."""
    if period is None:
        return 1
    steps = round(float(period) / dt) if _is_positive(period) else 0
    if steps < 1 or abs(steps * dt - period) > 1e-6 * dt:
        raise ArgumentError(f"period={period!r}: expected a multiple of dt={dt!r}, in seconds")
    return steps


def read_control(robot: System, control: Any, rows: int) -> Any:
    """A function, or an array (..., rows or more, nv); None where there is none."""
    if control is None or callable(control):
        return control
    try:
        array: Any = np.asarray(control, float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim < 2 or array.shape[-1] != robot.nv:
        raise ArgumentError(
            f"control: expected an array (..., rows, {robot.nv}) of forces, a function control(t, q, v) of arrays, or "
            f"fb.traced(function), got {f'an array of shape {array.shape}' if array.ndim else repr(control)}"
        )
    if array.shape[-2] < rows:
        raise ArgumentError(f"control has {array.shape[-2]} rows, but the motion needs {rows}: one for each period")
    return array


class CompiledRun:
    """A simulation in machine code: no forces, an array of them, traced ones, or those of a function that Python asks
    at the start of each period.
    """

    def __init__(self, course: Course, control: Any, period: int, threads: int | None) -> None:
        self.course, self._control, self._period, self._threads = course, control, period, threads
        n, nv, batch = course.n, course.robot.nv, course.batch
        self._tau = np.zeros((1, 1, nv))
        if isinstance(control, np.ndarray):
            rows = control.shape[-2]
            self._tau = np.broadcast_to(control, (*batch, rows, nv)).reshape(n, rows, nv)
        self._tau = np.broadcast_to(self._tau, (n, *self._tau.shape[1:]))

    @property
    def t(self) -> float:
        """The time reached."""
        return self.course.steps * self.course.dt

    @property
    def _asks(self) -> bool:
        return callable(self._control) and not isinstance(self._control, Traced)

    def reach(self, step: int, steps: int) -> bool:
        """Come at least to a step, and at most to `steps`; False where no sample moves any more."""
        course = self.course
        while course.steps < step and not course.is_over:
            count = min(course.several, steps - course.steps)
            if self._asks:
                count = min(count, self._period - course.steps % self._period)
                if course.steps % self._period == 0:
                    self._ask()
            hold = self._period if isinstance(self._control, np.ndarray) else ALWAYS
            law = course.law
            is_traced = law.torque is not None or law.control is not None
            course.advance(count, Rows([] if is_traced else [self._tau], hold), self._threads)
        return not course.is_over

    def _ask(self) -> None:
        """Ask for the forces of the next period."""
        course, state = self.course, self.course.seen()
        tau = Charts(course.robot).checked(state.q, self._control(self.t, state.q, state.v), "control")
        nv = course.robot.nv
        self._tau = np.broadcast_to(tau, (*course.batch, nv)).reshape(course.n, 1, nv)

    def _force(self, t: float, q: np.ndarray, v: np.ndarray, ids: np.ndarray) -> Any:
        """The forces at a time, of some samples."""
        law, dt = self.course.law, self.course.dt
        if law.torque is not None:
            return law.torque(t, q, v)
        if law.control is not None:
            return self.course.now.u[ids].reshape(v.shape)
        row = min(int(t / dt + 0.25) // self._period, self._tau.shape[1] - 1)
        return self._tau[ids, row].reshape(v.shape)

    @property
    def made(self) -> np.ndarray:
        """The steps that each sample (...) made."""
        return self.course.now.made.reshape(self.course.batch).astype(int)

    def finish(self) -> None:
        """Say why samples diverged, where the robot's functions know it."""
        self.course.explain(self._force)

    @property
    def trajectory(self) -> Trajectory:
        """The recorded states, and the last one."""
        return self.course.trajectory()

    def warn_of_divergence(self) -> None:
        """Warn when the motion diverged, and in how many samples."""
        warn_of_divergence(self.course.lost_at(), self.course.dt)


def _attach(run: Any, error: Exception) -> None:
    """Attach the states so far to an error."""
    error.trajectory = run.trajectory  # type: ignore[attr-defined]
    error.add_note(f"simulate: at t = {run.t:.6g} s; the states so far are in the error's attribute 'trajectory'")


class Staged:
    """What simulates itself: a scene, whose robot touches things."""

    simulate: Callable[..., Any]


def _staged(scene: Staged, q: Any, v: Any, torque: Any, passive: bool, **options: Any) -> Any:
    """The motion of a scene, which takes other options than a robot."""
    if torque is not None or not passive:
        raise ArgumentError("simulate: a scene takes control= instead of torque=, and springs and damping always act")
    return scene.simulate(q, v, **options)


class Asked:
    """What a simulation is asked for."""

    def __init__(
        self, robot: System, q: Any, v: Any, dt: float, steps: int, torque: Any, control: Any, period: Any, every: int,
        passive: bool, threads: int | None,
    ) -> None:  # fmt: skip
        if torque is not None and not callable(torque):
            raise ArgumentError(f"torque={torque!r}: expected a function torque(t, q, v) of arrays, or None")
        if torque is not None and control is not None:
            raise ArgumentError(
                "simulate takes torque or control, not both: torque is asked four times a step, control once per period"
            )
        self.torque: Any = torque
        self.given_q, self.given_v = _read_state(robot, q, v)
        self.period = read_period(period, dt)
        self.control = read_control(robot, control, -(-steps // self.period))
        if isinstance(self.control, np.ndarray):
            self._spread(self.control.shape[:-2])
        self.robot, self.threads = robot, threads
        self.dt, self.steps, self.every = dt, steps, every
        start = _started(robot, self.given_q, np.zeros_like(self.given_v))
        _check_closed(robot, self.given_q)
        self.start = State(start, self.given_v.copy(), np.zeros(start.shape[:-1]))
        self.acting = acting_on(robot, passive)

    def _spread(self, more: tuple[int, ...]) -> None:
        try:
            batch = np.broadcast_shapes(more, self.given_q.shape[:-1])
        except ValueError:
            raise ArgumentError(
                f"control: leading axes {more} do not fit a batch of states {self.given_q.shape[:-1]}"
            ) from None
        self.given_q, self.given_v = (
            np.broadcast_to(x, (*batch, x.shape[-1])).copy() for x in (self.given_q, self.given_v)
        )

    @property
    def is_compiled(self) -> bool:
        """Whether all steps can be machine code."""
        from_python = self.torque is not None and not isinstance(self.torque, Traced)
        return not from_python and not self.robot.model.cluster_tree.has_shared_joints

    def run(self) -> Any:
        """What makes its steps."""
        if not self.is_compiled:
            return self.python_run()
        is_traced = isinstance(self.control, Traced)
        law = Law(self.acting is with_passive, self.torque, self.control if is_traced else None,
                  self.period if is_traced else 1)  # fmt: skip
        try:
            course = Course(self.robot, law, self.start, self.dt, self.steps, self.every, self.acting)
        except PartlyIndependent:
            return self.python_run()
        course.begin_at(self.given_q, self.given_v)
        return CompiledRun(course, self.control, self.period, self.threads)

    def python_run(self) -> Run:
        """The same with forces asked from Python in every pass."""
        follower = Follower(self.robot, self._python_torque(), self.acting)
        return Run(follower, self.start, self.dt, self.every, State(self.given_q, self.given_v, self.start.lost))

    def _python_torque(self) -> Torque | None:
        """The forces as a function of time and state, asked in every pass."""
        return self.torque if self.control is None else Held(self.control, self.period)


def reached(asked: Asked, numbers: Iterable[int], run: Any = None) -> Any:
    """The run of a simulation, `run` if there is one, after the steps of these numbers, or once no sample moves."""
    run = asked.run() if run is None else run
    for i in numbers:
        try:
            is_moving = run.reach(i + 1, asked.steps)
        except PartlyIndependent:
            run = asked.python_run()
            is_moving = run.reach(i + 1, asked.steps)
        if not is_moving:
            break
    return run


def simulate(
    robot: System | Staged,
    q: Any,
    v: Any = None,
    *,
    duration: float,
    dt: float = 1e-3,
    torque: Torque | Traced | None = None,
    control: Any = None,
    period: float | None = None,
    passive: bool = True,
    every: int = 1,
    progress: Progress | None = None,
    threads: int | None = None,
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
        With `traced` it is compiled into the steps.
    control : array_like or callable, optional
        Joint forces that are held for a period, instead of `torque`: an array, shape (..., rows, nv), with a row for
        each period; a function ``control(t, q, v)`` that is called once per period and may keep state; or such a
        function of scalars with `traced`.
    period : float, optional
        Time (s) for which controls are held, a multiple of dt; dt if None.
    passive : bool, default True
        Let springs and damping of the joints act (`passive_forces`).
    every : int, default 1
        Record every so many steps; the last one is always recorded.
    progress : callable, optional
        Wraps the range of steps, e.g. tqdm.tqdm.
    threads : int, optional
        Number of threads; as many as there are CPUs for large batches if None.

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
    rollout : Many motions in one call, as arrays with the samples first.
    traced : Forces that are compiled into the steps.
    System.forward_dynamics : Accelerations of one state.
    System.inverse_passive_dynamics : Torques that cause wanted accelerations.

    Notes
    -----
    Runge-Kutta of fourth order on the group of configurations (Munthe-Kaas). Unless Python is asked for a torque, the
    steps are machine code throughout, and a sample has the same bits in any batch and on any number of threads. Where
    the independent velocities of a loop do not determine its motion, because their joints turn back, those of others
    are followed; q, v and forces keep their meaning.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> motion = fb.simulate(robot, [0.5, 0.0], duration=1.0, dt=0.01)
    >>> motion.q[-1].round(3)
    array([-0.321, -0.104])
    >>> braked = fb.simulate(robot, [0.5, 0.0], duration=1.0, control=lambda t, q, v: -0.2 * v, period=0.005)
    >>> braked.q.shape
    (1001, 2)
    """
    refuse_lazy("simulate", USE_ROLLOUT, q=q, v=v, control=control)
    if isinstance(robot, Staged):
        return _staged(robot, q, v, torque, passive, duration=duration, dt=dt, control=control, period=period,
                       every=every, progress=progress)  # fmt: skip
    check_times(duration, dt)
    read_counts(every, passive)
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress={progress!r}: expected a function that wraps the range of steps, e.g. tqdm.tqdm")
    steps = max(1, round(duration / dt))
    asked = Asked(robot, q, v, dt, steps, torque, control, period, int(every), bool(passive), threads)
    warn_of_contacts(robot)
    run = asked.run()
    try:
        run = reached(asked, progress(range(steps)) if progress is not None else (steps - 1,), run)
        run.finish()
    except KeyboardInterrupt:
        warn(f"simulate: interrupted at t = {run.t:.6g} s; the states so far are returned", SimulationWarning)
    except Exception as error:
        _attach(run, error)
        raise
    found = run.trajectory
    run.warn_of_divergence()
    warn_of_limits(robot, found.t, found.q)
    return found
