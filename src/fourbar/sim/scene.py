"""`Scene`: a robot and what it may touch, ready to be stepped through time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument, batch_shape, refuse_lazy, to_array
from ..contact import choose
from ..contact.candidates import Spec
from ..contact.laws import Law, Rigid
from ..contact.model import Force, compiled_step, rolled, rows
from ..contact.points import compiled_points
from ..contact.terrain import Terrain
from ..errors import ArgumentError, ModelError, warn
from ..once import cached_property
from ..system.system import System
from .acting import SimulationWarning
from .in_chunks import any_lazy
from .scenes_in_chunks import rollout_lazily
from .simulate import USE_ROLLOUT, Progress, Staged, check_times, read_control, read_counts, read_period
from .step import Traced
from .touching import Batch, ContactRun, Driver, Run, asked


class Stepped(NamedTuple):
    """After a step: the state, impulses (the start for those of the next step), the residual in m/s, gaps and forces.

    gap (..., n) is that at the start of the step, force (..., n, 3) acts on the first of the two that touch, in the
    world.
    """

    q: np.ndarray
    v: np.ndarray
    impulse: np.ndarray
    residual: np.ndarray
    gap: np.ndarray
    force: np.ndarray


def _checked(robot: Any, terrains: Iterable[Any], law: Any) -> None:
    if not isinstance(robot, System):
        raise ArgumentError(f"Scene takes a robot, such as fb.load(...) returns, and what it stands on; got {robot!r}")
    for x in terrains:
        if not isinstance(x, Terrain):
            raise ArgumentError(f"Scene: expected a Plane, HeightField or SignedDistance after the robot, got {x!r}")
    if not isinstance(law, Law):
        raise ArgumentError(f"law={law!r}: expected fb.contact.Rigid() or fb.contact.Compliant(...)")


class Scene(Staged):
    """A robot, what does not move around it, and which of its shapes may touch.

    Parameters
    ----------
    robot : System
        The robot; several objects are several trees of it, each with a root of its own.
    *terrains : Plane, HeightField or SignedDistance
        What does not move. Without any, the planes and height fields of the model that are fixed to the world.
    contacts : list of str or Shape, optional
        What may touch: frames and bodies by name, and shapes. A body stands for its collision shapes, or for the point
        at its origin if it has none. All collision shapes of the model if None.
    pairs : str or list of pairs of names, default "objects"
        Which shapes may touch each other: "objects", those of different objects; "all", also those of one robot whose
        links no joint connects; "none"; or a list of pairs of names.
    grounded : list of str, optional
        The shapes, or bodies, that may touch terrain; all if None.
    law : Rigid or Compliant, optional
        How hard contacts are; rigid if None.
    limits : bool, default True
        Let the limits of joints stop them.
    joint_friction : bool, default True
        Let the dry friction of joints act.
    bounce_above : float, default 0.01
        Velocity (m/s) below which nothing bounces.
    tolerance : float, default 1e-10
        Largest velocity (m/s, rad/s) by which a condition of contact may be missed.
    iterations : int, default 200
        Passes of the solver at most.

    Raises
    ------
    ModelError
        If more points may touch than can be simulated, or a shape is of a kind that cannot.

    Warns
    -----
    SimulationWarning
        If shapes or limits of the model do not act.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("box")
    >>> _ = b.body("box", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    >>> corners = [fb.contact.Shape("box", position=(x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    >>> scene = fb.Scene(b.build(), fb.Plane(friction=0.5), contacts=corners)
    >>> scene.contacts
    ('box#0', 'box#1', 'box#2', 'box#3')
    """

    def __init__(
        self,
        robot: System,
        *terrains: Terrain,
        contacts: Any = None,
        pairs: Any = "objects",
        grounded: Any = None,
        law: Law | None = None,
        limits: bool = True,
        joint_friction: bool = True,
        bounce_above: float = 0.01,
        tolerance: float = 1e-10,
        iterations: int = 200,
    ) -> None:
        law = Rigid() if law is None else law
        _checked(robot, terrains, law)
        for name, x in (("tolerance", tolerance), ("bounce_above", bounce_above)):
            if not (isinstance(x, Real) and 0.0 <= float(x) < np.inf):
                raise ArgumentError(f"{name}={x!r}: expected a velocity in m/s, not negative")
        if not isinstance(iterations, int | np.integer) or iterations < 1:
            raise ArgumentError(f"iterations={iterations!r}: expected a whole number, at least 1")
        tree = robot.model.cluster_tree
        self.robot = robot
        floors = choose.floors(robot.mechanism, tree)
        self.terrains = terrains or floors.terrains
        chosen = choose.choose(robot.mechanism, tree, contacts)
        candidates = choose.on_world(choose.only(chosen.shapes, grounded), self.terrains, law)
        candidates += choose.among(tree, chosen.shapes, chosen.fixed, pairs, law)
        joints, unkept = choose.joint_rows(tree, bool(limits), bool(joint_friction))
        if len(candidates) > choose.MOST:
            raise ModelError(
                f"Scene: {len(candidates)} points may touch, at most {choose.MOST} are simulated; name those that do, "
                "such as the feet, in contacts=[...], and leave pairs out with pairs='none'"
            )
        self.spec = Spec(
            tuple(candidates), joints, float(bounce_above), float(tolerance), rounds=int(iterations)
        )  # fmt: skip
        self._tell((*chosen.left, *(() if terrains else floors.left)), unkept)

    def _tell(self, left: tuple[str, ...], unkept: tuple[str, ...]) -> None:
        """Say what of the model does not act."""
        if left:
            shown = ", ".join(left[:6]) + (f" and {len(left) - 6} more" if len(left) > 6 else "")
            warn(f"Scene: these shapes are not simulated and touch nothing: {shown}; put simple shapes in their place "
                 "with contacts=[fb.contact.Shape(...), ...]", SimulationWarning)  # fmt: skip
        if unkept:
            warn(f"Scene: the limits of {', '.join(map(repr, unkept[:6]))} are not kept: their coordinates are not "
                 "the integrals of their velocities", SimulationWarning)  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """What a scene is made of, without the machine code that it found."""
        return {name: vars(self)[name] for name in ("robot", "terrains", "spec")}

    def __repr__(self) -> str:
        return f"<fourbar scene of {self.robot.name!r}: {len(self.contacts)} contacts, {len(self.spec.joints)} joints>"

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: all but machine code of rollouts, which is made anew when it is needed."""
        return {name: x for name, x in vars(self).items() if name != "_rollouts"}

    @property
    def contacts(self) -> tuple[str, ...]:
        """The names of all that may touch, in the order of gaps and forces."""
        return tuple(x.name for x in self.spec.candidates)

    @property
    def friction(self) -> np.ndarray:
        """The coefficients of sliding friction (n) of the contacts."""
        return np.array([x.friction for x in self.spec.candidates])

    def contact_points(self, q: Any) -> np.ndarray:
        """The points (..., n, 3) of the world where the contacts act at configurations (..., nq)."""
        return self._points(q)

    @cached_property
    def _points(self) -> Any:
        return compiled_points(self.robot.mechanism, self.spec)

    @property
    def n_impulses(self) -> int:
        """How many impulses a step finds: of all contacts, then of joints with limits or dry friction."""
        return rows(self.spec)

    @cached_property
    def function(self) -> Any:
        """The compiled function (q, v, tau, dt, impulse, f_ext=, friction=) of one step."""
        return compiled_step(self.robot.mechanism, self.spec)

    def step(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        dt: float,
        impulse: Any = None,
        friction: Any = None,
        threads: int | None = None,
    ) -> Stepped:
        """One step of length dt of one state or a batch, under joint forces tau (..., nv).

        impulse: those of the last step, a start that saves work; zeros if None. friction (..., n) stands for the
        coefficients of all contacts, and may differ in each sample.
        """
        tau = np.zeros(self.robot.nv) if tau is None else tau
        impulse = np.zeros(self.n_impulses) if impulse is None else impulse
        more = {} if friction is None else {"friction": friction}
        if threads is not None:
            more["threads"] = threads
        q, v, impulse, told = self.function(q, v, tau, dt, impulse, **more)
        n = len(self.spec.candidates)
        force = told[..., 1 + n :].reshape(*told.shape[:-1], n, 3)
        return Stepped(q, v, impulse, told[..., 0], told[..., 1 : 1 + n], force)

    def read_state(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """q (..., nq) and v (..., nv; zero if None) as arrays of their own, with the same leading axes."""
        arguments = [Argument("q", (self.robot.nq,)), Argument("v", (self.robot.nv,))]
        q = to_array("simulate", arguments[0], q)
        v = np.zeros(self.robot.nv) if v is None else to_array("simulate", arguments[1], v)
        for name, x in (("q", q), ("v", v)):
            if not np.isfinite(x).all(axis=-1).any():  # in a batch, samples that are not finite are marked
                raise ArgumentError(f"simulate: {name} is NaN or infinite; a motion starts from finite numbers")
        batch = batch_shape("simulate", arguments, [q, v])
        return np.broadcast_to(q, (*batch, self.robot.nq)).copy(), np.broadcast_to(v, (*batch, self.robot.nv)).copy()

    @cached_property
    def _rollouts(self) -> dict[Any, Any]:
        """The machine code of rollouts, by what they take."""
        return {}

    def _started(self, q: Any, v: Any, dt: float, friction: Any, force: Force | None, batch: tuple[int, ...]) -> Any:
        """A motion at its beginning."""
        key = (friction is not None, force)
        if key not in self._rollouts:
            self._rollouts[key] = rolled(self.robot.mechanism, self.spec, friction is not None, force)
        q, v = self.read_state(q, v)
        state = {"q": q, "v": v, "impulse": np.zeros(self.n_impulses), "worst": 0.0, "late": -1.0, "count": 0.0}
        if force is not None and force.period > 1:
            state |= {"held": np.zeros(self.robot.nv), "phase": 0.0}
        numbers = {"dt": dt} if friction is None else {"dt": dt, "friction": friction}
        return self._rollouts[key].start(state, numbers, batch)

    def _made(
        self, name: str, q: Any, v: Any, control: Any, steps: int, dt: float, period: int, every: int, friction: Any,
        progress: Progress | None,
    ) -> ContactRun:  # fmt: skip
        """A motion, made in one go."""
        batch = control.shape[:-2] if isinstance(control, np.ndarray) else ()
        force = None
        if isinstance(control, Traced):
            force = Force(partial(control.forces, name="control"), period)
        run = Run(self, self._started(q, v, dt, friction, force, batch), dt, steps, every)
        asks = callable(control) and force is None
        try:
            Driver(run, () if force else control, period, self.robot.nv).reach(asked(progress, steps), asks)
        except KeyboardInterrupt:
            warn(f"{name}: interrupted at t = {run.t:.6g} s; the states so far are returned", SimulationWarning)
        return run.finished(name)

    def simulate(
        self,
        q: Any,
        v: Any = None,
        *,
        duration: float,
        dt: float = 2e-3,
        control: Any = None,
        period: float | None = None,
        friction: Any = None,
        every: int = 1,
        progress: Progress | None = None,
    ) -> ContactRun:
        """Simulate one state or a batch, with steps of fixed length.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration at the start, with its loops closed.
        v : array_like, shape (..., nv), optional
            Velocity at the start (rad/s, m/s); zero if None.
        duration : float
            Time (s), rounded to whole steps.
        dt : float, default 0.002
            Length of a step (s).
        control : array_like or callable, optional
            Joint forces that are held for a period: an array, shape (..., rows, nv), with a row for each period; a
            function ``control(t, q, v)`` of arrays that is called once per period and may keep state; or
            ``fb.traced(function)``, which is compiled into the steps.
        period : float, optional
            Time (s) for which controls are held, a multiple of dt; dt if None.
        friction : array_like, shape (..., n), optional
            Coefficients of sliding friction of all contacts, which may differ in each sample; those of the scene if
            None.
        every : int, default 1
            Record every so many steps; the last one is always recorded.
        progress : callable, optional
            Wraps the range of steps, e.g. tqdm.tqdm.

        Returns
        -------
        ContactRun
            Times, states, contacts, and how well they were solved.

        Raises
        ------
        ArgumentError
            If an argument is not what it should be.

        Warns
        -----
        SimulationWarning
            If samples diverge, or contacts are not solved to the tolerance: which, and since when.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("ball")
        >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
        >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
        >>> run = scene.simulate([0, 0, 0.5, 1, 0, 0, 0], duration=1.0)
        >>> float(run.q[-1, 2].round(6)), run.contacts.force[-1].round(3).tolist()
        (0.1, [[0.0, 0.0, 9.81]])
        """
        refuse_lazy("simulate", USE_ROLLOUT, q=q, v=v, control=control, friction=friction)
        check_times(duration, dt)
        read_counts(every, True)
        held, steps = read_period(period, dt), max(1, round(duration / dt))
        control = read_control(self.robot, control, -(-steps // held))
        return self._made("simulate", q, v, control, steps, float(dt), held, int(every), friction, progress)

    def rollout(
        self,
        q: Any,
        v: Any = None,
        control: Any = None,
        *,
        dt: float = 2e-3,
        steps: int | None = None,
        period: float | None = None,
        every: int = 1,
        friction: Any = None,
    ) -> ContactRun:
        """Simulate one state or a batch under given joint forces, in one call of machine code.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations at the start.
        v : array_like, shape (..., nv), optional
            Velocities at the start (rad/s, m/s); zero if None.
        control : array_like or callable, optional
            Joint forces, shape (..., rows, nv), a row for each period; or a function, as in `simulate`.
        dt : float, default 0.002
            Length of a step (s).
        steps : int, optional
            Number of steps; what the rows of `control` last if None.
        period : float, optional
            Time (s) for which controls are held, a multiple of dt; dt if None.
        every : int, default 1
            Record every so many steps.
        friction : array_like, shape (..., n), optional
            As in `simulate`.

        Returns
        -------
        ContactRun
            Times (first axis), states, contacts, and how well they were solved. Where q, v, control or friction are
            dask arrays, these are too, and nothing is computed yet.

        Raises
        ------
        ArgumentError
            If an argument is not what it should be.
        """
        check_times(dt, dt)
        read_counts(every, True)
        held = read_period(period, dt)
        if steps is None:
            if control is None or callable(control) or np.ndim(control) < 2:
                raise ArgumentError("rollout: give steps=, or an array control (..., rows, nv) that says how many")
            steps = int(np.shape(control)[-2]) * held
        if any_lazy(q, v, control, friction):
            return rollout_lazily(self, q, v, control, friction, dt=float(dt), steps=int(steps), period=period,
                                  every=int(every))  # fmt: skip
        control = read_control(self.robot, control, -(-steps // held))
        return self._made("rollout", q, v, control, int(steps), float(dt), held, int(every), friction, None)

    def batch(self, n: int, *, dt: float = 2e-3) -> Batch:
        """n worlds with a state each, to be stepped and reset in part."""
        return Batch(self, n, float(dt))
