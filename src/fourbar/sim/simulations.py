"""`simulate` and `rollout`: the motion of a robot alone, or of a scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..arrays import refuse_lazy
from ..errors import ArgumentError
from ..hints import with_keyword_hints
from ..system.constrained.actuated import Actuated
from ..system.constrained.robot import Constrained
from ..system.system import System
from .motions.in_chunks import any_lazy, rollout_lazily
from .motions.read_arguments import MotionRequest, check_progress, check_times, read_counts, read_hold, read_steps
from .motions.run import Run
from .robot.robot_motion import run_robot

Progress = Callable[[Iterable[int]], Iterable[int]]
USE_ROLLOUT = "use rollout, which works on dask arrays lazily, chunk by chunk, or "
DT, SCENE_DT = 1e-3, 2e-3  # the length of steps (s), if none is given: of Runge-Kutta steps, of steps with contacts


class Staged:
    """A scene, as far as a simulation knows it: the length of its steps (s), and what makes them."""

    default_dt = SCENE_DT
    robot: Any

    def _run(self, request: MotionRequest) -> Run:
        """The run of a motion that is asked for."""
        raise NotImplementedError


Movable = System | Constrained | Actuated | Staged


@with_keyword_hints
def simulate(
    robot: Movable,
    q: Any,
    v: Any = None,
    tau: Any = None,
    *,
    duration: float,
    dt: float | None = None,
    u: Any = None,
    act: Any = None,
    f_ext: Any = None,
    period: float | None = None,
    passive: bool = True,
    numbers: Any = None,
    observe: Any = None,
    every: int = 1,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Run:
    """Simulate a robot or a scene, from one state or a batch of states, with steps of fixed length.

    Parameters
    ----------
    robot : System, Constrained, Actuated or Scene
        The robot, which moves without contacts, or the scene: ``scene.simulate(q, ...)`` is the same function.
    q : array_like, shape (..., nq)
        Configuration at the start, with its loops closed.
    v : array_like, shape (..., nv), optional
        Velocity at the start (rad/s, m/s); zero if None.
    tau : array_like or callable, optional
        Joint forces (N m, N) besides springs and damping; of an actuated robot the forces of its drives. An array,
        shape (..., rows, nv), with a row for each period, or (nv,) if they are constant; a function ``tau(t, q, v)``
        of arrays that is called once per period and may keep state; or ``fb.traced(function)``, which is compiled
        into the steps.
    duration : float
        Time (s), rounded to whole steps.
    dt : float, optional
        Length of a step (s). If None 0.001 for a robot, whose steps are of fourth order, and 0.002 for a scene.
    u : array_like or callable, optional
        Controls of the actuators (`System.control_force`), shape (..., rows, nu), or a function, in the same way; joint
        forces `tau` act besides. Actuators do not act if None.
    act : array_like, shape (..., na), optional
        States of the actuators at the start (`System.names.activations`); zero if None.
    f_ext : array_like, dict or callable, optional
        Wrenches [moment; force] (N m, N) on bodies, each at the origin of its body and in its axes: constant, shape
        (..., n_bodies, 6), which may differ in each sample, or of some bodies, ``{"hand": wrench}``; or a function
        ``f_ext(t, q, v)`` that returns such wrenches, called once per period or `traced`.
    period : float, optional
        Time (s) for which `tau`, `u` and `f_ext` are held, a multiple of dt; dt if None. With zero a function `tau` is
        not held: it is called in each of the four passes of a Runge-Kutta step, and again where a step is repeated, so
        that it must depend on t, q and v only. A step of a scene has one pass.
    passive : bool, default True
        Let springs, damping, gravity compensation, drag and currents act (`passive_forces`); in a scene they always do.
    numbers : dict, optional
        Parameters that may differ in each sample: arrays (..., *shape) by name. Those of the robot as `System.varying`
        calls them ("hand.mass", "screw.pitch", "servo.kp", "rod.length"); loops are closed with theirs in each sample.
        Of a scene also "friction", shape (..., contacts), the coefficients of sliding friction of all contacts, and
        numbers of its terrain: "terrain.point" and "terrain.normal" of a plane, "terrain.heights" of a height field,
        "terrain.friction", and those of a `SignedDistance`. Terrain that follows the first is called "terrain1", ...,
        or as in the file.
    observe : dict, optional
        Observations by name, each of `fb.observe` or an ``fb.traced(function)`` of (t, q, v); see `Run.observations`.
    every : int, default 1
        Number of steps between two records; the start and the last step are always recorded.
    progress : callable, optional
        Wraps the range of steps, e.g. tqdm.tqdm.
    threads : int, optional
        Number of threads; as many as there are CPUs for large batches if None.

    Returns
    -------
    Run
        Times, states, and where they exist controls, observations, contacts and how well these were solved.

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
        If friction, contacts or limits of the model do not act on a robot without a scene; if contacts are not solved
        to the tolerance; if the motion diverges: that of a robot then ends at its last finite state, and in a batch,
        or in a scene, the samples concerned are NaN from there on.

    See Also
    --------
    rollout : Motions of a number of steps, also of dask arrays.
    traced : Forces that are compiled into the steps.
    System.forward_dynamics : Accelerations of one state.
    System.inverse_passive_dynamics : Joint forces that cause given accelerations.

    Notes
    -----
    A robot makes Runge-Kutta steps of fourth order on the group of configurations (Munthe-Kaas); a step of a scene is
    of first order, with contacts, limits and dry friction solved together at its end. Unless a function is called in
    every pass, the steps are machine code throughout, and a sample has the same bits in any batch and on any number of
    threads. Where the independent velocities of a loop do not determine its motion, because their joints turn back,
    those of others are followed; q, v and forces keep their meaning.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> run = fb.simulate(robot, [0.5, 0.0], duration=1.0, dt=0.01)
    >>> run.q[-1].round(3)
    array([-0.321, -0.104])
    >>> braked = fb.simulate(robot, [0.5, 0.0], duration=1.0, tau=lambda t, q, v: -0.2 * v, period=0.005)
    >>> braked.q.shape
    (1001, 2)
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> run = scene.simulate([0, 0, 0.5, 1, 0, 0, 0], duration=1.0)
    >>> float(run.q[-1, 2].round(6)), (run.contacts.force[-1].round(3) + 0.0).tolist()
    (0.1, [[0.0, 0.0, 9.81]])
    """
    refuse_lazy("simulate", USE_ROLLOUT, q=q, v=v, tau=tau, u=u, act=act, f_ext=f_ext)
    dt = default_dt(robot) if dt is None else dt
    check_times(duration, dt)
    check_progress(progress)
    every, (hold, is_law) = read_counts(every, passive, threads), read_hold(period, dt)
    steps = max(1, round(duration / dt))
    return _run(robot, MotionRequest(
        "simulate", q, v, tau, u, f_ext, float(dt), steps, hold, is_law, every, bool(passive), numbers, observe,
        progress, threads, act,
    ))  # fmt: skip


@with_keyword_hints
def rollout(
    robot: Movable,
    q: Any,
    v: Any = None,
    tau: Any = None,
    *,
    steps: int | None = None,
    dt: float | None = None,
    u: Any = None,
    act: Any = None,
    f_ext: Any = None,
    period: float | None = None,
    passive: bool = True,
    numbers: Any = None,
    observe: Any = None,
    every: int = 1,
    threads: int | None = None,
) -> Run:
    """Simulate many motions of a robot or a scene in one call of machine code.

    Parameters
    ----------
    robot : System, Constrained, Actuated or Scene
        The robot, or the scene: ``scene.rollout(q, ...)`` is the same function.
    q : array_like, shape (..., nq)
        Configurations at the start, with loops closed.
    v : array_like, shape (..., nv), optional
        Velocities at the start (rad/s, m/s); zero if None.
    tau : array_like or callable, optional
        Joint forces, shape (..., rows, nv), a row for each period, or (nv,); or a function, as in `simulate`.
    steps : int, optional
        Number of steps; if None as many as the rows of `tau` or `u` last.
    dt : float, optional
        Length of a step (s). If None 0.001 for a robot, 0.002 for a scene.
    u : array_like or callable, optional
        Controls of the actuators, shape (..., rows, nu), in the same way.
    act : array_like, shape (..., na), optional
        States of the actuators at the start; zero if None.
    f_ext : array_like, dict or callable, optional
        Wrenches [moment; force] (N m, N) on bodies, shape (..., n_bodies, 6), or of some by name, as in `simulate`.
    period : float, optional
        Time (s) for which controls are held, a multiple of dt; dt if None; zero as in `simulate`.
    passive : bool, default True
        Let springs, damping, gravity compensation, drag and currents act (`passive_forces`).
    numbers : dict, optional
        Parameters that may differ in each sample, by name, as in `simulate`.
    observe : dict, optional
        Observations by name, as in `simulate`.
    every : int, default 1
        Number of steps between two records; the start and the last step are always recorded.
    threads : int, optional
        Number of threads; as many as there are CPUs for large batches if None.

    Returns
    -------
    Run
        Times, states, and what else there is, time first. Leading axes of q, v, controls and numbers broadcast.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be, or a loop is open at the start.
    KeyboardInterrupt
        On Ctrl-C. As with all errors that end a motion, the states so far are in the error's attribute `run`.

    Warns
    -----
    SimulationWarning
        As `simulate`, except for limits and divergence of a robot without a scene: see `diverged` of the result.

    See Also
    --------
    simulate : Motions of some duration, with progress.

    Notes
    -----
    Where q, v, tau, u, f_ext or numbers are dask arrays, so are the results, in the same chunks along the axes of the
    samples: nothing is computed yet. Controls that are functions are then copied for each chunk, so that they may keep
    state.

    Examples
    --------
    >>> import fourbar as fb
    >>> import numpy as np
    >>> push = np.random.default_rng(0).normal(size=(8, 100, 2))
    >>> runs = fb.rollout(fb.robots.double_pendulum(), np.zeros(2), None, push, dt=0.01, every=5)
    >>> runs.q.shape, bool(runs.diverged.any())
    ((21, 8, 2), False)
    """
    dt = default_dt(robot) if dt is None else dt
    every, (hold, is_law) = read_counts(every, passive, threads), read_hold(period, dt)
    steps = read_steps(steps, hold, tau, u)
    request = MotionRequest(
        "rollout", q, v, tau, u, f_ext, float(dt), steps, hold, is_law, every, bool(passive), numbers, observe, None,
        threads, act,
    )  # fmt: skip
    if not any_lazy(q, v, tau, u, act, f_ext, numbers):
        return _run(robot, request)
    return rollout_lazily(robot, robot if isinstance(robot, Staged) else None, rollout, request, period)


def default_dt(robot: Any) -> float:
    """The length of a step (s), if none is given."""
    return robot.default_dt if isinstance(robot, Staged) else DT


def _run(robot: Any, request: MotionRequest) -> Run:
    """The run of a motion that is asked for."""
    if not isinstance(robot, Staged):
        return run_robot(robot, request)
    if not request.passive:
        raise ArgumentError(f"{request.caller}: passive=False: springs and damping always act in a scene")
    return robot._run(request)
