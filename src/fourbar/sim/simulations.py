"""`simulate`: reading what is asked for, and running it, in machine code or with forces asked from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..arrays import refuse_lazy
from ..errors import ArgumentError
from ..hints import hinted
from ..system.system import System
from .applied_forces import warn_of_contacts, warn_of_limits
from .read_arguments import check_progress, check_times, read_counts
from .runge_kutta import Torque, Trajectory
from .runge_kutta_step import Traced
from .simulated_robot import Simulation, SimulationRequest
from .states_so_far import states_attached

Progress = Callable[[Iterable[int]], Iterable[int]]
USE_ROLLOUT = "use rollout, which works on dask arrays lazily, chunk by chunk, or "


class Staged:
    """An object with a `simulate` of its own: a scene."""

    simulate: Callable[..., Any]


def _staged(scene: Staged, q: Any, v: Any, torque: Any, passive: bool, **options: Any) -> Any:
    """The motion of a scene, which takes other options than a robot."""
    if torque is not None or not passive:
        raise ArgumentError("simulate: a scene takes control= instead of torque=, and springs and damping always act")
    return scene.simulate(q, v, **options)


@hinted
def simulate(
    robot: System | Staged,
    q: Any,
    v: Any = None,
    *,
    duration: float,
    dt: float = 1e-3,
    torque: Torque | Traced | None = None,
    control: Any = None,
    u: Any = None,
    f_ext: Any = None,
    period: float | None = None,
    passive: bool = True,
    numbers: Any = None,
    observe: Any = None,
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
        each period, or (nv,); a function ``control(t, q, v)`` that is called once per period and may keep state; or
        such a function of scalars with `traced`.
    u : array_like or callable, optional
        Controls of the actuators (`System.control_force`) that are held for a period, shape (..., rows, nu), or a
        function, in the same way; forces of `torque` or `control` act besides. Actuators do not act if None.
    f_ext : array_like, dict or callable, optional
        Wrenches [moment; force] (N m, N) on bodies, each at the origin of its body and in its axes: constant, shape
        (..., n_bodies, 6), which may differ in each sample, or of some bodies, ``{"hand": wrench}``; or a function
        ``f_ext(t, q, v)`` that returns such wrenches, called once per period or `traced`.
    period : float, optional
        Time (s) for which controls are held, a multiple of dt; dt if None.
    passive : bool, default True
        Let springs, damping, gravity compensation, drag and currents act (`passive_forces`).
    numbers : dict, optional
        Parameters of the robot, which may differ in each sample: arrays (..., *shape) by name, as `System.varying`
        calls them ("hand.mass", "screw.pitch", "servo.kp", "rod.length"). Loops are closed with theirs in each sample.
    observe : dict, optional
        Observations by name, each of `fb.observe` or an ``fb.traced(function)`` of (t, q, v); see
        `Trajectory.observations`.
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
        If the motion reaches a singular configuration.
    KeyboardInterrupt
        On Ctrl-C. As with all errors that end a motion, the states so far are in the error's attribute `run`.

    Warns
    -----
    SimulationWarning
        If friction or contacts of the model do not act, joints leave their limits, or the motion diverges: it then ends
        at its last finite state, or in a batch the samples concerned are NaN from there on.

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
    refuse_lazy("simulate", USE_ROLLOUT, q=q, v=v, control=control, u=u, f_ext=f_ext)
    if isinstance(robot, Staged):
        return _staged(robot, q, v, torque, passive, duration=duration, dt=dt, control=control, u=u,
                       f_ext=f_ext, period=period, numbers=numbers, observe=observe, every=every, progress=progress,
                       threads=threads)  # fmt: skip
    check_times(duration, dt)
    every = read_counts(every, passive, threads)
    check_progress(progress)
    steps = max(1, round(duration / dt))
    asked = Simulation(SimulationRequest(
        robot, q, v, dt, steps, torque, control, u, f_ext, period, every, bool(passive), numbers, observe, threads
    ))  # fmt: skip
    warn_of_contacts(asked.robot)
    with states_attached("simulate", lambda: asked.motion.t, asked.states_so_far):
        asked.reach(progress(range(steps)) if progress is not None else (steps - 1,))
        asked.motion.finish()
    motion = asked.trajectory()
    asked.motion.warn_of_divergence()
    asked.motion.warn_of_folds("simulate")
    warn_of_limits(asked.robot, motion.t, motion.q)
    return motion
