"""`Problem`: optimal control of a robot or a scene, as its user states it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, CoordinateError
from ..functions.nan_reasons import wrong_coordinates
from ..hints import Hinted
from ..once import cached_property
from ..sim.motions.read_arguments import check_step, read_state
from ..sim.scenes.scene import Scene
from ..system.system import System
from .descent import Descent, Feedback, Plans
from .feedback_law import compile_feedback
from .knot_cost import Bounds, KnotCost, read_bounds
from .knot_terms import KnotFunction
from .planned_motion import PlannedMotion
from .plants import make_plant
from .problem_drives import ProblemDrives, read_drives
from .random_plans import Sampling
from .reading import read_batch, read_numbers, read_references
from .receding import Receding
from .transcription import Transcription

Within = Mapping[str, tuple[Callable[..., Any], Any, Any]]


def limits(robot: System, *, positions: bool = True, velocities: bool = True) -> dict[str, tuple[Any, Any, Any]]:
    """Constraints that keep the joints within the limits of the model, for `Problem`.

    Parameters
    ----------
    robot : System
        The robot.
    positions : bool, default True
        Limit coordinates (rad, m).
    velocities : bool, default True
        Limit velocities (rad/s, m/s).

    Returns
    -------
    dict
        "joint limits" and "velocity limits", where the model has some.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("door")
    >>> _ = b.body("leaf", joint=fb.joints.Revolute("z"), mass=20.0, com=(0.4, 0, 0), limits=(0, 1.6))
    >>> list(fb.control.limits(b.build()))
    ['joint limits']
    """
    known, constraints = robot.limits, dict[str, tuple[Any, Any, Any]]()
    own = np.flatnonzero(np.isfinite(known.lower) | np.isfinite(known.upper))
    if positions and own.size:
        constraints["joint limits"] = (lambda x: x.q[own], known.lower[own], known.upper[own])
    fast = np.flatnonzero(np.isfinite(known.velocity))
    if velocities and fast.size:
        constraints["velocity limits"] = (lambda x: x.v[fast], -known.velocity[fast], known.velocity[fast])
    return constraints


class Problem(Hinted):
    """Optimal control of a robot or a scene over a number of steps: the controls with the least cost.

    Parameters
    ----------
    of : System or Scene
        The robot, or the scene with its contacts.
    cost : callable
        ``cost(x, u, t, ...)``: the running cost, per second, of a state x, controls u (nu) and the time t (s), and of
        numbers and references by name; it may leave out what it does not use. `x.q`, `x.v`, and methods as the robot
        has them: ``x.pose("hand")``, ``x.center_of_mass()``, ``x.difference(q_goal)``. A list, an array or a
        dictionary of them by name is residuals r, which cost ½ Σ r²; a single number is the cost itself; see `plain`.
    end : callable, optional
        ``end(x, t, ...)``: the cost at the end, likewise.
    dt : float
        Length of a step (s), for which controls are held.
    steps : int
        Number of steps.
    control : pair of array_like, optional
        Least and largest controls, numbers or (nu,) each; those of the model if None: ranges of actuators, or efforts.
    driven : list of str, optional
        Joints whose forces (N m, N) are the controls; if None the actuators of the model, or, if it has none, all
        joints but free ones.
    within : dict, optional
        Constraints by name: ``(function, low, high)``, where the function takes what a cost takes and returns numbers;
        low equal to high is an equality. One that does not take u holds at the end too, and not in the given first
        state. See `limits`.
    end_within : dict, optional
        Constraints of the end alone.
    numbers : dict, optional
        Numbers that functions take by name, with the values that they have unless `solve` gets others; changing them
        compiles nothing.
    references : dict, optional
        The same with a row for each knot: arrays (steps + 1, ...).
    method : {"rk4", "euler"}, optional
        The step of a robot: Runge-Kutta as in `rollout`, the default, or semi-implicit Euler.
    smoothing : float, default 0.0
        For scenes: a velocity (m/s) over which changes of contacts are rounded in derivatives.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be.

    See Also
    --------
    lqr : The regulator of a linear system, over an infinite time.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> arm = fb.robots.double_pendulum()
    >>> problem = fb.control.Problem(
    ...     arm, cost=lambda x, u: {"effort": 0.1 * u, "speed": 0.1 * x.v},
    ...     end=lambda x, goal: {"there": 30.0 * (x.q - goal), "still": 3.0 * x.v},
    ...     dt=0.02, steps=50, numbers={"goal": [0.0, 0.0]},
    ... )
    >>> found = problem.solve([0.0, 0.0], numbers={"goal": [1.0, 0.5]})
    >>> bool(found.converged), found.q[-1].round(1).tolist()
    (True, [1.0, 0.5])
    """

    _scope = "control.Problem"

    def __init__(
        self,
        of: System | Scene,
        *,
        cost: Callable[..., Any],
        end: Callable[..., Any] | None = None,
        dt: float,
        steps: int,
        control: tuple[Any, Any] | None = None,
        driven: Sequence[str] | None = None,
        within: Within | None = None,
        end_within: Within | None = None,
        numbers: Mapping[str, Any] | None = None,
        references: Mapping[str, Any] | None = None,
        method: str | None = None,
        smoothing: float = 0.0,
    ) -> None:
        if not isinstance(of, System | Scene):
            raise ArgumentError(f"Problem takes a robot or a scene, got {of!r}; constraints of a robot are for scenes, "
                                "fb.Scene(robot.constrained(...))")  # fmt: skip
        check_step(dt)
        count = to_count(steps)
        if count is None:
            raise ArgumentError(f"Problem: steps={steps!r}: expected a whole number, at least 1")
        self.robot: System = of.robot if isinstance(of, Scene) else of
        self.scene = of if isinstance(of, Scene) else None
        self.dt, self.steps = float(dt), count
        self.drives = read_drives(self.robot, driven)
        plant = make_plant(of, self.drives, method, smoothing)
        self._model, bounds = plant.model, _read_control(control, self.drives)
        self.numbers = {name: np.asarray(x, float) for name, x in (numbers or {}).items()}
        self.references = {name: np.asarray(x, float) for name, x in (references or {}).items()}
        self._check_names()
        shapes = {name: x.shape for name, x in self.numbers.items()}
        shapes |= {name: x.shape[1:] for name, x in self.references.items()} | {"t": ()}
        running, last = self._read_functions(cost, end, within or {}, end_within or {}, shapes)
        rows = ("t", *self.references, "shift", "root")
        self.transcription = Transcription(plant, running, last, rows, self.dt, self.steps, bounds)

    def _check_names(self) -> None:
        reserved = {"x", "u", "t", "q", "v", "tau", "shift", "root", "weight", "dt", "length"}
        for name in (*self.numbers, *self.references):
            if name in reserved or not name.isidentifier():
                raise ArgumentError(f"Problem: {name!r} cannot be the name of a number; names are those of "
                                    "parameters, but "
                                    f"{', '.join(sorted(reserved))}")  # fmt: skip
        if both := self.numbers.keys() & self.references.keys():
            raise ArgumentError(f"Problem: {', '.join(sorted(both))} are among numbers and references")
        for name, rows in self.references.items():
            if rows.ndim == 0 or rows.shape[0] != self.steps + 1:
                raise ArgumentError(
                    f"Problem: references[{name!r}] must have a row for each of the {self.steps + 1} knots, "
                    f"got {rows.shape}"
                )

    def _read_functions(
        self, cost: Any, end: Any, within: Within, end_within: Within, shapes: Mapping[str, tuple[int, ...]]
    ) -> tuple[KnotCost, KnotCost]:
        model, drives = self._model, self.drives
        with_u = {"u": (drives.count,), **shapes}
        running, last = list[Bounds](), list[Bounds]()
        if both := within.keys() & end_within.keys():
            raise ArgumentError(f"Problem: {', '.join(sorted(both))} are in within= and end_within= both")
        for where, named in (("within", within), ("end_within", end_within)):
            for name, given in named.items():
                if not isinstance(given, tuple) or len(given) != 3:
                    raise ArgumentError(f"Problem: {where}[{name!r}]: expected (function, low, high), got {given!r}")
                what, *ends = given
                always = where == "within"
                function = KnotFunction(f"{where}[{name!r}]", what, model, with_u if always else shapes, name)
                bounds = read_bounds(name, function, *ends)
                if always:
                    running.append(bounds)
                if "u" not in function.parameters:
                    alone = KnotFunction(function.where, what, model, shapes, name)
                    last.append(bounds._replace(function=alone))
        of_knot = KnotFunction("cost", cost, model, with_u, "cost")
        of_end = None if end is None else KnotFunction("end", end, model, shapes, "end")
        if of_end is not None and "u" in of_end.parameters:
            raise ArgumentError("Problem: the cost at the end has no controls u")
        return KnotCost(model, drives, of_knot, running, shapes, True), KnotCost(
            model, drives, of_end, last, shapes, False
        )

    # ------------------------------------------------------------------ solving

    def solve(
        self,
        q: Any,
        v: Any = None,
        *,
        u: Any = None,
        q_guess: Any = None,
        v_guess: Any = None,
        numbers: Mapping[str, Any] | None = None,
        references: Mapping[str, Any] | None = None,
        warm: PlannedMotion | None = None,
        t: float = 0.0,
        iterations: int = 200,
        tolerance: float = 1e-12,
        feasibility: float = 1e-6,
        on_progress: Callable[[dict[str, np.ndarray]], None] | None = None,
        threads: int | None = None,
    ) -> PlannedMotion:
        """Find the controls with the least cost.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            First configurations. Leading axes, of all arguments together, are a batch of problems.
        v : array_like, shape (..., nv), optional
            First velocities (rad/s, m/s); zero if None.
        u : array_like, shape (..., steps, nu) or (nu,), optional
            Controls to begin with; zero, or the nearest that bounds allow, if None.
        q_guess : array_like, shape (..., steps + 1, nq), optional
            States to begin with, which the controls need not lead to: gaps between steps are closed on the way.
        v_guess : array_like, shape (..., steps + 1, nv), optional
            Their velocities; zero if None.
        numbers : dict, optional
            Values of the problem's numbers, (..., *shape) each.
        references : dict, optional
            Values of the problem's references, (..., steps + 1, *shape) each.
        warm : PlannedMotion, optional
            A plan of this problem to begin with: controls, feedback around its states, multipliers and penalties.
        t : float, default 0.0
            Time of the first knot (s).
        iterations : int, default 200
            Iterations at most.
        tolerance : float, default 1e-12
            The decrease of the cost that a further step promises, relative to the cost, at which a problem is solved.
        feasibility : float, default 1e-6
            Violation of constraints, in their units, that counts as none.
        on_progress : callable, optional
            Called after each iteration with its row of the table, arrays by name.
        threads : int, optional
            Number of threads; as many as there are CPUs for large batches if None.

        Returns
        -------
        PlannedMotion
            The motion, its feedback gains, cost and multipliers, and why the solver stopped.

        Raises
        ------
        ArgumentError
            If an argument is invalid, a cost is not finite, or the first motion is not.
        """
        batch, start = self.read_start(
            q, v, u, warm=warm, guess=(q_guess, v_guess), numbers=numbers, references=references, t=t
        )
        states, controls, guess, values, rows = start
        solver = Descent(self.transcription, values, rows, threads, float(feasibility))
        around = None if warm is None else _read_warm(warm, batch, solver)
        it = solver.start(states[0], states[1], controls, guess, around)
        it = solver.solve(it, iterations, float(tolerance), on_progress)
        return self._solution(batch, it, solver, t)

    def mpc(self, *, iterations: int = 1, first: int = 50, threads: int | None = None) -> Receding:
        """Make a controller of this problem with a receding horizon.

        Parameters
        ----------
        iterations : int, default 1
            Iterations of every plan but the first, whatever they achieve.
        first : int, default 50
            Iterations of the first plan at most.
        threads : int, optional
            Number of threads; as many as there are CPUs for large batches if None.

        Returns
        -------
        Receding
            The controller: `step(q, v)` plans and returns controls, `feedback(q, v)` those between plans.
        """
        return Receding(self, iterations, first, threads)

    def sampling(self, **settings: Any) -> Sampling:
        """Make a controller of this problem that plans by random samples.

        Parameters
        ----------
        **settings : object
            As for `Sampling`.

        Returns
        -------
        Sampling
            The controller: `step(q, v)` plans and returns controls.
        """
        return Sampling(self, **settings)

    @cached_property
    def feedback(self) -> Any:
        """The feedback law of plans as a compiled function, which `export_c` takes too.

        feedback(q, v, q_plan, v_plan, u_plan, K) is u_plan + K [q ⊖ q_plan; v - v_plan], within the bounds.
        """
        return compile_feedback(self.robot.model, *self.transcription.bounds)

    def joint_forces(self, u: Any) -> np.ndarray:
        """Put controls that are forces on the velocities that they drive.

        Parameters
        ----------
        u : array_like, shape (..., nu)
            Controls.

        Returns
        -------
        ndarray, shape (..., nv)
            tau (N m, N), as simulations and scenes take it.
        """
        if self.drives.velocities is None:
            raise ArgumentError("joint_forces: the controls of this problem are those of actuators; give them as u=")
        array = np.asarray(u, float)
        tau = np.zeros((*array.shape[:-1], self.robot.nv))
        tau[..., list(self.drives.velocities)] = array
        return tau

    def read_start(
        self, q: Any, v: Any, u: Any, *, warm: Any = None, guess: Any = (None, None), numbers: Any = None,
        references: Any = None, t: float = 0.0,
    ) -> Any:  # fmt: skip
        """The leading axes of all arguments; states, controls, guessed states, numbers and rows of references."""
        q_guess, v_guess = guess
        robot, T, m = self.robot, self.steps, self.drives.count
        if u is None:
            u = np.zeros((T, m)) if warm is None else warm.u
        u = np.asarray(u, float)
        u = np.broadcast_to(u, (T, m)) if u.shape == (m,) else u
        if v_guess is not None and q_guess is None:
            raise ArgumentError("solve: v_guess= is for states q_guess=")
        if q_guess is not None and v_guess is None:
            v_guess = np.zeros((*np.shape(q_guess)[:-1], robot.nv))
        q, v = self._read_state(q, v)
        values = read_numbers(self.numbers, numbers)
        rows = read_references(self.references, references, T)
        rows["t"] = t + self.dt * np.arange(T + 1)
        cores: dict[str, tuple[Any, int]] = {"q": (q, 1), "v": (v, 1), "u": (u, 2)}
        shapes: dict[str, tuple[int, ...]] = {"q": (robot.nq,), "v": (robot.nv,), "u": (T, m)}
        if q_guess is not None:
            cores |= {"q_guess": (q_guess, 2), "v_guess": (v_guess, 2)}
            shapes |= {"q_guess": (T + 1, robot.nq), "v_guess": (T + 1, robot.nv)}
        for name, array in values.items():
            cores[f"number {name}"] = (array, self.numbers[name].ndim)
            shapes[f"number {name}"] = self.numbers[name].shape
        for name, array in rows.items():
            shape = () if name == "t" else self.references[name].shape[1:]
            cores[f"row {name}"], shapes[f"row {name}"] = (array, 1 + len(shape)), (T + 1, *shape)
        batch, flat = read_batch("solve", shapes, {name: array for name, (array, _) in cores.items()})
        for name in ("q", "v", "u"):
            if not np.isfinite(flat[name]).all():
                raise ArgumentError(f"solve: {name} is NaN or infinite")
        guess = (flat["q_guess"], flat["v_guess"]) if q_guess is not None else None
        by_number = {name: flat[f"number {name}"] for name in values}
        by_row = {name: flat[f"row {name}"] for name in rows}
        return batch, ((flat["q"], flat["v"]), flat["u"], guess, by_number, by_row)

    def _read_state(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """States whose coordinates are valid, with closed loops."""
        robot = self.robot
        if self.scene is not None:
            return self.scene.read_state("solve", q, v)
        q, v = read_state("solve", robot, q, v)
        if why := wrong_coordinates(robot.model.cluster_tree, "q", q.reshape(-1, robot.nq)):
            raise CoordinateError(f"solve: {why}")
        return q, v

    def _solution(self, batch: tuple[int, ...], it: Plans, solver: Descent, t: float) -> PlannedMotion:
        def spread(x: np.ndarray) -> Any:
            return x.reshape((*batch, *x.shape[1:]))

        multipliers, penalties = solver.lagrangian.multipliers()
        return PlannedMotion(
            t + self.dt * np.arange(self.steps + 1), spread(it.q), spread(it.v), spread(it.u), spread(it.gains),
            spread(it.cost), spread(it.violation), {name: spread(x) for name, x in multipliers.items()},
            spread(it.costate), spread(it.converged), spread(it.reason), spread(it.iterations),
            spread(np.abs(it.gap).max(axis=(1, 2), initial=0.0)), {name: spread(x) for name, x in penalties.items()},
            tuple(it.history), self.robot, self.scene,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<fourbar control problem of {self.robot.name!r}: {self.steps} steps of {self.dt:g} s, "
            f"{self.drives.count} controls, {len(self.transcription.running.bounds)} constraints>"
        )


def _read_warm(warm: PlannedMotion, batch: tuple[int, ...], solver: Descent) -> Feedback:
    """The feedback law of a plan; its multipliers go to a solver."""
    lead, n = warm.cost.ndim, int(np.prod(batch))

    def flat(x: np.ndarray) -> np.ndarray:
        core = x.shape[lead:]
        return np.broadcast_to(x, (*batch, *core)).reshape(n, *core)

    if warm.multipliers:
        multipliers = {name: flat(x) for name, x in warm.multipliers.items()}
        solver.lagrangian.warm_start(multipliers, {name: flat(x) for name, x in warm.penalties.items()})
    return Feedback(flat(warm.q)[:, :-1], flat(warm.v)[:, :-1], flat(warm.gains))


def _read_control(control: Any, drives: ProblemDrives) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of controls."""
    if control is None:
        return drives.low, drives.high
    if not isinstance(control, tuple | list) or len(control) != 2:
        raise ArgumentError(f"Problem: control={control!r}: expected a pair (low, high)")
    try:
        low, high = (np.broadcast_to(np.asarray(x, float), (drives.count,)) for x in control)
    except (TypeError, ValueError):
        low = high = np.full(drives.count, np.nan)
    if not (low <= high).all():
        raise ArgumentError(f"Problem: control={control!r}: expected least and largest values of the {drives.count} "
                            f"controls {', '.join(drives.names)}")  # fmt: skip
    return low, high
