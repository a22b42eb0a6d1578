"""`rollout`: many motions in one call, as arrays with the samples first."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..arrays import is_lazy
from ..chunks.apply import Result
from ..errors import ArgumentError
from ..functions.step_end import OBSERVED
from ..hints import hinted
from ..representation import counted
from ..system.system import System
from ..viewer.recorded_motion import RecordedMotion
from .applied_forces import warn_of_contacts
from .in_chunks import Lazy, any_lazy, rolled_lazily
from .read_arguments import read_counts, read_period, read_steps
from .results import Recorded
from .run_plots import Plotted
from .runge_kutta import Trajectory
from .simulated_robot import Simulation, SimulationRequest
from .states_so_far import states_attached


@dataclass(frozen=True)
class Rollouts(Recorded, Plotted):
    """States of many motions, after every so many steps.

    Parameters
    ----------
    t : ndarray, shape (rows,)
        Times (s).
    q : ndarray, shape (..., rows, nq)
        Configurations.
    v : ndarray, shape (..., rows, nv)
        Velocities (rad/s, m/s).
    lost : ndarray, shape (..., rows)
        Energy (J) that damping took since the start.
    steps : ndarray of int, shape (...)
        Steps that each sample made with a finite state.
    diverged : ndarray of bool, shape (...)
        Where these are fewer than were asked for: such samples are NaN from there on.
    robot : System, optional
        What moved: needed to show the motions.
    u : ndarray, shape (..., rows, nu), optional
        Controls of the actuators in the step that ends at each time; None if they do not act.
    observations : dict of ndarray, shape (..., rows, *shape)
        What was observed, by name.

    Examples
    --------
    >>> import fourbar as fb
    >>> import numpy as np
    >>> fb.rollout(fb.robots.double_pendulum(), np.zeros((3, 2)), dt=0.01, steps=10).q.shape
    (3, 10, 2)
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    lost: np.ndarray
    steps: np.ndarray
    diverged: np.ndarray
    robot: System | None = field(default=None, repr=False, compare=False)
    u: np.ndarray | None = None
    observations: dict[str, np.ndarray] = field(default_factory=dict)
    _time_first: ClassVar[bool] = False

    def __repr__(self) -> str:
        if is_lazy(self.q):  # to look at values would compute them
            return f"<fourbar Rollouts, not computed: {counted(len(self.t), 'time')}, q {self.q.shape}>"
        lost = f", {int(np.sum(self.diverged))} diverged" if np.any(self.diverged) else ""
        return f"<fourbar Rollouts: {counted(len(self.t), 'time')}, q {self.q.shape}, v {self.v.shape}{lost}>"

    @property
    def recording(self) -> RecordedMotion:
        """The motion as it is shown.

        Returns
        -------
        RecordedMotion
            The robot and its configurations over time, each sample in a world of its own.

        Raises
        ------
        ArgumentError
            If the motion has no robot.
        """
        return RecordedMotion.of(self.robot, self.t, np.moveaxis(self.q, -2, 0))


@hinted
def rollout(
    robot: System,
    q: Any,
    v: Any = None,
    control: Any = None,
    *,
    u: Any = None,
    f_ext: Any = None,
    dt: float,
    steps: int | None = None,
    period: float | None = None,
    every: int = 1,
    passive: bool = True,
    numbers: Any = None,
    observe: Any = None,
    threads: int | None = None,
) -> Rollouts:
    """Simulate many motions in one call of machine code.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configurations at the start, with loops closed.
    v : array_like, shape (..., nv), optional
        Velocities at the start (rad/s, m/s); zero if None.
    control : array_like or callable, optional
        Joint forces, shape (..., rows, nv), a row for each period, or (nv,); or a function, as in `simulate`.
    u : array_like or callable, optional
        Controls of the actuators, shape (..., rows, nu), in the same way.
    f_ext : array_like, dict or callable, optional
        Wrenches [moment; force] (N m, N) on bodies, shape (..., n_bodies, 6), or of some by name, as in `simulate`.
    dt : float
        Length of a step (s).
    steps : int, optional
        Number of steps; what the rows of `control` or `u` last if None.
    period : float, optional
        Time (s) for which controls are held, a multiple of dt; dt if None.
    every : int, default 1
        Record every so many steps: row k is the state after (k + 1) `every` steps.
    passive : bool, default True
        Let springs, damping, gravity compensation, drag and currents act (`passive_forces`).
    numbers : dict, optional
        Parameters of the robot, which may differ in each sample, by name, as in `simulate`.
    observe : dict, optional
        Observations by name, as in `simulate`.
    threads : int, optional
        Number of threads; as many as there are CPUs for large batches if None.

    Returns
    -------
    Rollouts
        Times and states, the samples first. Leading axes of q, v, control and f_ext broadcast.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be, or a loop is open at the start.
    KeyboardInterrupt
        On Ctrl-C. As with all errors that end a motion, the states so far are in the error's attribute `run`; later
        ones are NaN.

    See Also
    --------
    simulate : One motion or a batch, with warnings, progress and the last state.

    Notes
    -----
    Nothing is said of limits and divergence: see `diverged` of the result. Where q, v, control, u, f_ext or numbers are
    dask arrays, so are the results, in the same chunks along their leading axes: nothing is computed yet. Controls
    that are functions are then copied for each chunk, so that they may keep state.

    Examples
    --------
    >>> import fourbar as fb
    >>> import numpy as np
    >>> push = np.random.default_rng(0).normal(size=(8, 100, 2))
    >>> runs = fb.rollout(fb.robots.double_pendulum(), np.zeros(2), None, push, dt=0.01, every=5)
    >>> runs.q.shape, bool(runs.diverged.any())
    ((8, 20, 2), False)
    """
    every = read_counts(every, passive, threads)
    steps = read_steps(steps, read_period(period, dt), control, u)
    if any_lazy(q, v, control, u, f_ext, numbers):
        given = {"q": q, "v": v, "control": control, "u": u, "f_ext": f_ext, "numbers": numbers}
        return _lazy(robot, given, dt=float(dt), steps=steps, period=period, every=every, passive=passive,
                     observe=observe, threads=threads)  # fmt: skip
    asked = Simulation(SimulationRequest(
        robot, q, v, float(dt), steps, None, control, u, f_ext, period, every, bool(passive), numbers, observe,
        threads, "rollout",
    ))  # fmt: skip
    warn_of_contacts(asked.robot, "rollout")

    def so_far(error: BaseException) -> Rollouts:
        return _rollouts(asked, asked.states_so_far(error), round(asked.motion.t / asked.dt))

    with states_attached("rollout", lambda: asked.motion.t, so_far):
        asked.reach((steps - 1,))
    asked.motion.warn_of_folds("rollout")
    return _rollouts(asked, asked.trajectory(), steps)


def _rollouts(asked: Simulation, motion: Trajectory, wanted: int) -> Rollouts:
    """A trajectory as arrays with the samples first, without its start, and NaN after its end; samples with less than
    `wanted` steps have diverged.
    """
    count, axis = asked.steps // asked.every, asked.start.q.ndim - 1
    rows = slice(1, 1 + round(motion.t[-1] / asked.dt) // asked.every)  # without a last state between two records
    missing = count - len(motion.t[rows])

    def shaped(x: np.ndarray) -> np.ndarray:
        moved = np.moveaxis(x[rows], 0, axis)
        if missing <= 0:
            return moved
        end = np.full((*moved.shape[:axis], missing, *moved.shape[axis + 1 :]), np.nan)  # all have ended before
        return np.concatenate([moved, end], axis=axis)

    made, times = asked.motion.made, np.arange(1, count + 1) * (asked.every * asked.dt)
    q, v, lost = (shaped(x) for x in (motion.q, motion.v, motion.lost))
    observed = {name: shaped(x) for name, x in motion.observations.items()}
    u = None if motion.u is None else shaped(motion.u)
    return Rollouts(times, q, v, lost, made, made < wanted, asked.robot, u, observed)


def _lazy(robot: System, given: dict[str, Any], *, dt: float, steps: int, every: int, **options: Any) -> Rollouts:
    """A rollout of dask arrays."""
    if not isinstance(robot, System):
        raise ArgumentError(
            f"rollout of dask arrays takes a robot, such as fb.load(...) returns, got {robot!r}; one that is "
            "constrained or actuated is simulated chunk by chunk by fb.dask.sweep"
        )
    rows, nq, nv = steps // every, robot.nq, robot.nv
    lazy = Lazy.read(robot, given, options["observe"], -(-steps // read_period(options["period"], dt)))
    results = [
        Result("q", (rows, nq)), Result("v", (rows, nv)), Result("lost", (rows,)), Result("steps", (), int),
        Result("diverged", (), bool),
        *(() if given["u"] is None else (Result("u", (rows, robot.nu)),)),
        *(Result(f"{OBSERVED}{name}", (rows, *shape)) for name, shape in lazy.observed.items()),
    ]  # fmt: skip
    found = rolled_lazily("rollout", partial(rollout, robot), _read, lazy.given, lazy.cores, results,
                          {"dt": dt, "steps": steps, "every": every, **options})  # fmt: skip
    observed = lazy.observations(found)
    return Rollouts(np.arange(1, rows + 1) * (every * dt), **found, robot=robot, observations=observed)


def _read(runs: Rollouts) -> tuple[np.ndarray, ...]:
    driven = () if runs.u is None else (runs.u,)
    return runs.q, runs.v, runs.lost, runs.steps, runs.diverged, *driven, *runs.observations.values()
