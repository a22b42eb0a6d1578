"""`Scene`: a robot and what it may touch, ready to be stepped through time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Argument, to_array, to_count
from ...contact import selection
from ...contact.candidates import OneOf, Spec
from ...contact.contact_model import ContactModel, rows
from ...contact.contact_points import compiled_points
from ...contact.laws import Law, Rigid
from ...contact.step_problem import StepProblem, step_problem
from ...contact.step_rollout import Taken, can_rest, contact_rollout
from ...contact.terrain import Terrain
from ...errors import ArgumentError, CoordinateError, OneWarning, unknown, warn
from ...functions.charted_tree import ChartedTree
from ...functions.nan_reasons import wrong_coordinates
from ...functions.rollout import GIVEN, NONE
from ...hints import Hinted, with_keyword_hints
from ...io.formats import FORMATS
from ...io.meshes import hull_of
from ...joints.base import Joint
from ...once import cached_property, make_recent
from ...representation import html_table, quantity
from ...system.load import FileWarning, load
from ...system.system import System
from ...viewer.export import notebook
from ...viewer.recorded_motion import still
from ..loops.chart_table import Chart, ChartTable
from ..loops.folds import FIRST_ORDER
from ..loops.varied_loops import close
from ..motions.given_numbers import NOTHING, GivenNumbers, Grounds, NamedNumbers, read_numbers, refuse_moving_numbers
from ..motions.outcome import SimulationWarning
from ..motions.read_arguments import MotionRequest, check_actuators, check_step, read_constant, read_state
from ..motions.run import Run
from ..observe import Observer, cached_observer
from ..robot.constrained import Kept
from ..simulations import Staged, rollout, simulate
from .batch import Batch
from .rollout_gradient import rollout_vjp
from .scene_motion import SceneMotion, SceneStep
from .scene_start import (
    Keyframe,
    added_shapes,
    check_parts,
    home,
    home_poses,
    keyframes_of,
    largest_moves,
    lift,
    read_points,
    warn_of_selection,
)
from .step_function import StepFunction


class Scene(Staged, Hinted):
    """A robot, what does not move around it, and which of its shapes may touch.

    Parameters
    ----------
    robot : System, Constrained or Actuated
        The robot; several objects are several trees of it, each with a root of its own. Constraints of a constrained
        robot are rows of the same problem as contacts; an actuated robot has a motor on each of its drives (`u`).
    *terrains : Plane, HeightField, SignedDistance or Solid
        What does not move. Without any, what the model has fixed to the world.
    contacts : list of str or Shape, optional
        What may touch: frames and bodies by name, and shapes. A body stands for its collision shapes, or for the point
        at its origin if it has none. All collision shapes of the model if None; with more than 40 points, links
        with more than six have six slots, which their nearest points take in each step, and of pairs those take part
        that are nearest at the start, with a warning that names the others.
    pairs : str or list of pairs of names, default "objects"
        Which shapes may touch each other: "objects", those of different objects, and pairs that the model names;
        "file", all that the model allows by groups and excluded pairs, also within a robot; "all", besides those of
        added shapes of one robot whose links no joint connects; "none"; or a list of pairs of names. Groups and
        excluded pairs of the model hold, but for a list. Pairs have at most 40 points without `contacts`: those that
        are left out pass through each other, a hand and the object before it for instance, even if listed here.
    grounded : list of str, optional
        The shapes, or bodies, that may touch terrain; all that may by the groups of the model if None.
    mesh_points : int, default 8
        With how many corners of its hull a mesh touches, at most.
    law : Rigid, Compliant or MuJoCo, optional
        How hard contacts are; rigid if None.
    limits : bool, default True
        Let the limits of joints stop them.
    joint_friction : bool, default True
        Let the dry friction of joints act.
    bounce_above : float, default 0.01
        Velocity (m/s) below which nothing bounces.
    tolerance : float, default 1e-8
        Velocity (m/s, rad/s) by which a condition of contact may be missed in a step that counts as solved. The solver
        stops at a hundredth of it, if that is above 1e-10.
    iterations : int, default 200
        Passes of the solver at most.

    Raises
    ------
    ModelError
        If more points may touch than can be simulated, or a shape is of a kind that cannot.

    Warns
    -----
    SimulationWarning
        If shapes, pairs of shapes or limits of the model do not act.

    Notes
    -----
    A cylinder touches a plane with three points of each rim, the lowest one among them. Restitution is reduced where,
    together with friction or in robots with joints, it would add energy in an impact (Kane's paradox).

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

    _scope = "Scene"

    def __init__(
        self,
        robot: Any,
        *terrains: Terrain,
        contacts: Any = None,
        pairs: Any = "objects",
        grounded: Any = None,
        mesh_points: int = 8,
        law: Law | None = None,
        limits: bool = True,
        joint_friction: bool = True,
        bounce_above: float = 0.01,
        tolerance: float = 1e-8,
        iterations: int = 200,
    ) -> None:
        asked = Rigid() if law is None else law
        self.kept = Kept.of(robot)
        self.robot: System = self.kept.robot
        check_parts(self.robot, terrains, asked)
        for name, x in (("tolerance", tolerance), ("bounce_above", bounce_above)):
            if not (isinstance(x, Real) and 0.0 <= float(x) < np.inf):
                raise ArgumentError(f"{name}={x!r}: expected a velocity in m/s, not negative")
        if to_count(iterations) is None:
            raise ArgumentError(f"iterations={iterations!r}: expected a whole number, at least 1")
        tree, acting = self.robot.model.cluster_tree, asked.on(self.robot.model, self.robot.model.neutral())
        hulls = partial(hull_of, most=read_points(mesh_points))
        wanted = selection.ContactRequest(
            terrains, contacts, pairs, grounded, acting, hulls, partial(home_poses, self.robot)
        )
        chosen = selection.what_touches(self.robot.mechanism, tree, wanted)
        self.terrains, self.added, self.reach = chosen.terrains, added_shapes(contacts), chosen.reach
        joints, unkept = selection.joint_rows(tree, bool(limits), bool(joint_friction), acting)
        if self.kept.conditions and acting.integrator:
            raise ArgumentError(
                "Scene: MuJoCo's law cannot enforce constraints of a robot; use Rigid() or Compliant(...)"
            )
        more = {"rounds": int(iterations), "soft": acting.integrator, "kept": self.kept.conditions}
        self.spec = Spec(chosen.candidates, joints, float(bounce_above), float(tolerance), **more)
        self.grounds = Grounds(chosen.terrain_names, chosen.terrains, self.spec)  # whose numbers may differ
        with OneWarning("Scene", SimulationWarning):
            warn_of_selection(chosen, unkept, acting.unkept(chosen.candidates))
            if terrains and contacts is None and not (chosen.candidates or chosen.left):
                warn(f"Scene: {self.robot.name!r} has no collision shapes and will pass through the terrain; give "
                     "contacts=[fb.contact.Shape(...), ...]", SimulationWarning)  # fmt: skip
        self.closes = bool(self.kept.conditions or self.robot.mechanism.loops)
        self._named: dict[Any, NamedNumbers] = {}  # what names of numbers mean, by these names

    def __getstate__(self) -> dict[str, Any]:
        """The state that is copied and pickled: all but machine code, which is found or made again when needed."""
        return {name: x for name, x in vars(self).items() if not isinstance(vars(Scene).get(name), cached_property)}

    @property
    def contacts(self) -> tuple[str, ...]:
        """The names of all that may touch, in the order of gaps and forces."""
        return tuple(x.name for x in self.spec.candidates)

    @cached_property
    def keyframes(self) -> Mapping[str, Keyframe]:
        """The states that the file of the robot names: q (nq), v (nv) and u (nu) each."""
        return keyframes_of(self.robot)

    @property
    def friction(self) -> np.ndarray:
        """The coefficients of sliding friction (n) of the contacts."""
        return np.array([x.friction for x in self.spec.candidates])

    def contact_points(self, q: Any) -> np.ndarray:
        """Points at which the contacts act.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations.

        Returns
        -------
        ndarray, shape (..., n, 3)
            Positions (m) in the world, in the order of `contacts`.
        """
        return self._points(q)

    @cached_property
    def _points(self) -> Any:
        return compiled_points(self.robot.mechanism, self.spec)

    @property
    def n_impulses(self) -> int:
        """Number of impulses of a step: of all contacts, then of joints with limits or dry friction."""
        return rows(self.model)

    @cached_property
    def function(self) -> Any:
        """The compiled function of one step; see `contact.step_rollout.OneStep` for its arguments."""
        return self.step_of((), (), False, False).function

    @cached_property
    def _steps(self) -> dict[Any, SceneStep]:
        """Steps by the inputs that they take."""
        return {}

    def step_of(self, which: Any, terrain: Any, driven: bool, pushed: bool) -> SceneStep:
        """The step with parameters of the robot and the terrain, controls and wrenches."""

        def make() -> SceneStep:
            u, f_ext = (GIVEN if given else NONE for given in (driven, pushed))
            return SceneStep(self, self.inputs(Taken(GIVEN, u, which, (), terrain, f_ext)))

        return make_recent(self._steps, (which, terrain, driven, pushed), make, lambda x: bool(x[0] or x[1]))

    @cached_property
    def model(self) -> ContactModel:
        """The model of the robot and what it may touch."""
        return ContactModel.with_contacts(self.robot.mechanism, self.spec)

    @cached_property
    def step(self) -> StepFunction:
        """One step as a function, with its derivatives: `step(q, v, tau, dt=dt)`, `step.jacobian`, `.jvp`, `.vjp`."""
        return StepFunction(self)

    def read_numbers(self, numbers: Any) -> GivenNumbers:
        """Numbers by name as the user gives them."""
        mechanism, more = self.robot.mechanism, (self.grounds, self._named)
        return refuse_moving_numbers(
            mechanism, self.spec, bool(self.kept.conditions), read_numbers(mechanism, numbers, *more)
        )

    def problem(
        self,
        q: Any,
        v: Any = None,
        tau: Any = None,
        *,
        dt: float,
        u: Any = None,
        f_ext: Any = None,
        impulse: Any = None,
    ) -> StepProblem:
        """The problem of contacts, limits and constraints that a step from one state solves, in numbers.

        It is made in Python, without compiling anything, with all restitution. Parameters are those of the robot.

        Parameters
        ----------
        q : array_like, shape (nq,)
            Configuration.
        v : array_like, shape (nv,), optional
            Velocities (rad/s, m/s); zero if None.
        tau : array_like, shape (nv,), optional
            Joint forces (N m, N).
        dt : float
            Length of the step (s).
        u : array_like, shape (nu,), optional
            Controls of the actuators, which act only if given.
        f_ext : array_like, shape (n_bodies, 6), or dict, optional
            Wrenches [moment; force] (N m, N) on the bodies, each in the frame of its body, or on some by name.
        impulse : array_like, shape (n_impulses,), optional
            Impulses (N s) that the solver starts from; zero if None.

        Returns
        -------
        StepProblem
            G, g and the bounds of all rows, to look at, to save, and to solve alone.

        Raises
        ------
        ArgumentError
            If the law is MuJoCo's, whose forces solve another problem; or the arrays have other shapes.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("ball")
        >>> _ = b.body("ball", joint=fb.joints.Free(), mass=2.0, inertia=(0.004, 0.004, 0.004))
        >>> scene = fb.Scene(b.build(), fb.Plane(0.5), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
        >>> scene.problem([0, 0, 0.1, 1, 0, 0, 0], dt=0.001).G.round(3).tolist()
        [[0.5, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]]
        """
        check_step(dt)
        if self.spec.soft:
            raise ArgumentError("problem: MuJoCo's law has a convex problem of its own; use Rigid() or Compliant(...)")
        q, v = self.read_state("problem", q, v)
        if q.ndim != 1:
            raise ArgumentError(f"problem: expected one state, got q of shape {q.shape}")
        arrays = {"q": q, "v": v, "dt": np.array([dt]), "friction": self.friction}
        shapes = {"tau": (self.robot.nv,), "u": (self.robot.nu,), "impulse": (self.n_impulses,)}
        for name, x in (("tau", tau), ("u", u), ("impulse", np.zeros(self.n_impulses) if impulse is None else impulse)):
            if x is not None:
                arrays[name] = to_array("problem", Argument(name, shapes[name]), x)
        if u is not None:
            check_actuators(self.robot)
        if f_ext is not None:
            arrays["f_ext"] = np.ravel(read_constant("problem", self.robot, f_ext))
        return step_problem(self.model, self.spec, {name: tuple(x.tolist()) for name, x in arrays.items()})

    def start(self, q: Any = None) -> np.ndarray:
        """A configuration in which the robot stands: q with all that moves freely lift, or lowered, until it touches.

        Parameters
        ----------
        q : array_like, shape (nq,), or str, optional
            The configuration of the joints, or the name of one of `keyframes`; if None the robot's configuration
            "home", else its first, else the neutral one.

        Returns
        -------
        ndarray, shape (nq,)
            The same, with the lowest shape of everything that moves freely on the terrain.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("ball")
        >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
        >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
        >>> scene.start().tolist()
        [0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]
        """
        if isinstance(q, str):
            if q not in self.keyframes:
                raise unknown("configuration", q, list(self.keyframes))
            q = self.keyframes[q].q
        chosen = home(self.robot) if q is None else to_array("start", Argument("q", (self.robot.nq,)), q)
        return lift(self.robot, self.spec.candidates, chosen)

    def read_state(
        self, caller: str, q: Any, v: Any, numbers: GivenNumbers = NOTHING, *, strict: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """q (..., nq) and v (..., nv; zero if None) with the same leading axes, loops closed with the numbers.

        Samples of a batch that are not valid are marked later; `strict` refuses them too.
        """
        q, v = read_state(caller, self.robot, q, v)
        if strict:
            q, v = np.atleast_2d(q), np.atleast_2d(v)
        for name, x in (("q", q), ("v", v)):
            finite = np.isfinite(x).all(axis=-1)
            if x.size and not (finite.all() if strict else finite.any()):
                raise ArgumentError(f"{caller}: {name} is NaN or infinite; a motion starts from finite numbers")
        tree = self.robot.model.cluster_tree
        if (strict or q.ndim == 1) and (why := wrong_coordinates(tree, "q", np.atleast_2d(q))):
            raise CoordinateError(f"{caller}: {why}")
        if self.closes:
            q, v = close(caller, self.robot, numbers.which, numbers.by_name, q, v)
            self.kept.check(q, v, numbers.which)
        return q, v

    @cached_property
    def _rollouts(self) -> dict[tuple[Taken, System], Any]:
        """Rollouts by what they take and the velocities that they follow."""
        return {}

    def observer(self, *given: Any) -> Observer:
        """The observer of starts of motions, for parameters that are given and observations."""
        return cached_observer(self._observers, self.model, *given)

    @cached_property
    def _observers(self) -> dict[Any, Any]:
        return {}

    def inputs(self, taken: Taken) -> Taken:
        """The inputs of the steps of this scene that take these: controls of actuators are always among them, if they
        can be at rest, so that all motions run the same machine code.
        """
        return taken._replace(u=GIVEN) if self._has_controls and taken.u == NONE else taken

    @cached_property
    def _has_controls(self) -> bool:
        return can_rest(self.robot.mechanism)

    def reference_velocities(self, taken: Taken) -> tuple[np.ndarray, bool]:
        """The numbers that are `usual` of loops in the neutral configuration, and whether they do well there."""
        return ChartTable(self.robot, partial(self.chart, taken), taken.which).reference

    def chart(self, taken: Taken, now: System) -> Chart:
        """Rollouts with given inputs and observations, in the velocities of `now`."""

        def make() -> Chart:
            rollout = contact_rollout(now.mechanism, self.spec, taken, self.robot.mechanism)
            trees = ChartedTree(self.robot.model.cluster_tree, now.model.cluster_tree)
            return Chart(now, rollout, trees.loops, FIRST_ORDER)

        return make_recent(self._rollouts, (taken, now), make, lambda x: x[0].is_traced)

    @cached_property
    def may_be_apart(self) -> bool:
        """Whether some contacts are points of two shapes that are not always there."""
        return any(isinstance(x.geometry, OneOf) for x in self.spec.candidates)

    @cached_property
    def _largest_moves(self) -> np.ndarray:
        return largest_moves(self.robot, self.spec.candidates, self.reach)

    def too_fast(self, v: np.ndarray, dt: float) -> np.ndarray:
        """Whether something moves so far in a step that contacts may be missed.

        Parameters
        ----------
        v : array_like, shape (..., nv)
            Velocities (rad/s, m/s).
        dt : float
            Length of a step (s).

        Returns
        -------
        ndarray of bool, shape (...)
            True where it does; False for velocities that are NaN.
        """
        return np.asarray((np.abs(v) * dt > self._largest_moves).any(axis=-1))

    simulate = simulate
    rollout = rollout
    rollout_vjp = rollout_vjp

    def _run(self, request: MotionRequest) -> Run:
        """The run of a motion that is asked for."""
        return SceneMotion(self, request).run()

    def batch(
        self, n: int, *, dt: float = Staged.default_dt, numbers: Any = None, observe: Any = None, f_ext: Any = None
    ) -> Batch:
        """Persistent worlds, each with a state of its own, for learning.

        Parameters
        ----------
        n : int
            Number of worlds.
        dt : float, default 0.002
            Length of a step (s).
        numbers : dict, optional
            Parameters that may differ from world to world, arrays (*shape) or (n, *shape) by name, as in `simulate`.
        observe : dict, optional
            Observations by name, as in `simulate`.
        f_ext : array_like or dict, optional
            Wrenches [moment; force] (N m, N) on bodies that act in all steps to which no others are given,
            shape (n_bodies, 6) or (n, n_bodies, 6), or by name.

        Returns
        -------
        Batch
            The worlds, at rest in the neutral configuration, to be stepped and reset, all or some.
        """
        return Batch(self, n, dt, numbers, observe, f_ext)

    def __repr__(self) -> str:
        joints = {(row.link, row.entry) for row in self.spec.joints}
        return (
            f"<fourbar Scene {self.robot.name!r}: {quantity(len(self.spec.candidates), 'contact')}, "
            f"{quantity(len(joints), 'joint velocity', 'joint velocities')} with limits or friction>"
        )

    def _repr_html_(self) -> str:
        table = html_table(repr(self), ("contact or joint", "friction", "restitution", "limits"), self._rows())
        return notebook(lambda: still(self.robot, self.start(), self.terrains, self.added), table)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """Contacts, then the joints with limits or friction."""
        for x in self.spec.candidates:
            yield x.name, f"{x.friction:.6g}", f"{x.restitution:.6g}", ""
        for x in self.spec.joints:
            yield x.name, f"{x.friction:.6g}", "", f"{x.lower:.6g} to {x.upper:.6g}"


class SceneWarning(SimulationWarning, FileWarning):
    """Parts of a file were not understood, and shapes or limits of its model do not act."""


@with_keyword_hints
def load_scene(
    path: str | Path,
    *terrains: Terrain,
    format: str | None = None,
    strict: bool = False,
    waive: Iterable[str] = (),
    floating: bool | Joint = False,
    folders: Iterable[str | Path] = (),
    **options: Any,
) -> Scene:
    """Load a scene from a model file: robots and objects, what does not move, and how they touch.

    Parameters
    ----------
    path : str or Path
        MJCF with its floor, or any other file that `load` reads: a world in SDF, or a URDF with terrain of its own.
    *terrains : Plane, HeightField, SignedDistance or Solid
        What does not move, instead of what the file has fixed to the world.
    format : str, optional
        As in `load`; likewise the next four.
    strict : bool, default False
        Make errors of warnings.
    waive : iterable of str, optional
        Findings to accept.
    floating : bool or Joint, default False
        True puts the root on a free joint.
    folders : iterable of str or Path, optional
        Where packages and meshes are looked for.
    **options : object
        What `Scene` takes by name, such as contacts, pairs, law and tolerance; and options of one format, such as
        srdf="robot.srdf" beside a URDF.

    Returns
    -------
    Scene
        The scene; its `robot` is all that moves, and its `keyframes` are the configurations of the file.

    Raises
    ------
    ParseError
        If the file cannot be read.

    Warns
    -----
    FileWarning
        If parts of the file were not understood.
    SimulationWarning
        If shapes or limits of the model do not act. Several warnings are one that lists them, and is of both classes
        where they differ.

    See Also
    --------
    load : The robot alone.

    Examples
    --------
    >>> import tempfile, fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = b.build().save(f"{folder}/ball.json")
    ...     scene = fb.load_scene(f"{folder}/ball.json", fb.Plane(), contacts=["ball"])
    >>> scene.contacts
    ('ball',)
    """
    known = {name for x in FORMATS.values() for name in x.options}
    reading = {name: options.pop(name) for name in known & set(options)}
    with OneWarning(str(path), SceneWarning):
        robot = load(path, format=format, strict=strict, waive=waive, floating=floating, folders=folders, **reading)
        return Scene(robot, *terrains, **options)
