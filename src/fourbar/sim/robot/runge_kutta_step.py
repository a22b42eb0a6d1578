"""A Runge-Kutta step on the configuration group, as a program: four passes of one stage, in machine code.

Within a step q(t) = q₀ ⊕ θ(t). A pass is at (θ, q, v); it finds the rates there, adds them to the sums that make the
step, and goes where the next pass begins, which after the fourth is the end of the step. The passes are one `repeat`:
their code is that of one evaluation. The same stage alone is a function too (`StageRecording`): for forces that Python
is asked for, and for libraries that differentiate, which make the four passes themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ...algorithms.activation import Signals
from ...algorithms.energy import add
from ...arrays import Argument
from ...constraints.trace import cut
from ...errors import ArgumentError
from ...expr import Expr, Program, flatten, leaves, select, traced_array, unflatten
from ...functions import actuator_recording as actuation
from ...functions.charted_tree import ChartedTree
from ...functions.context import Context, record_program
from ...functions.function import make
from ...functions.methods.dynamics import Solver, cheapest_solver, recursive_solver
from ...functions.methods.passive import dissipated_power, passive_parts
from ...functions.recording import BLOCK, Recording
from ...functions.registry import flat
from ...functions.rollout import GIVEN, NONE, Rollout, Step, held_control, steps_since
from ...functions.varied_context import VariedContext, argument_names
from ...joints.euclidean import FlatJoint
from ...once import cached_property
from ...spatial.linear import Vec
from ...system.system import System
from ...tree.clusters import split
from ...tree.parameters import Parameter


@dataclass(frozen=True)
class Traced:
    """A function (t, q, v) -> forces (nv) that is written over scalars, and becomes part of the machine code."""

    function: Callable[..., Any]

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The forces of each sample (...), as numbers."""
        every = [np.asarray(self.function(t, q[i], v[i]), float).ravel() for i in np.ndindex(v.shape[:-1])]
        return np.array(every).reshape(*v.shape[:-1], -1)


@dataclass(frozen=True)
class Commands:
    """A traced function as controls of a step: `size` numbers, and their name in messages."""

    traced: Traced
    name: str
    size: int

    def __call__(self, t: Any, q: Sequence[Any], v: Sequence[Any]) -> Vec:
        """The controls as scalars of a trace."""
        entries = symbols(self.traced.function, t, q, v)
        if len(entries) != self.size:
            what = "controls" if self.name == "u" else "forces"
            raise ArgumentError(f"{self.name}(t, q, v) must give {self.size} {what}, got {len(entries)}")
        return entries


def control_sizes(robot: System) -> dict[str, int]:
    """How many numbers each of the controls has, by name; wrenches on all bodies are one row of numbers."""
    return {"tau": robot.nv, "u": robot.nu, "f_ext": 6 * len(robot.mechanism.bodies)}


def symbols(function: Callable[..., Any], t: Any, q: Sequence[Any], v: Sequence[Any]) -> Vec:
    """The result of a function of scalars on traced scalars, as flat entries."""
    given = [traced_array([*x]) for x in (q, v)]
    result = function(t, *given)
    try:
        entries = np.asarray(result, dtype=object).ravel().tolist()
    except ValueError:
        raise ArgumentError(f"{function!r}: expected a list or an array of numbers, got {result!r}") from None
    for x in entries:
        if not isinstance(x, Expr | Real):
            raise ArgumentError(f"{function!r}: expected a list or an array of numbers, got {x!r} among them")
    return Vec([x if isinstance(x, Expr) else float(x) for x in entries])


def traced(function: Callable[..., Any]) -> Traced:
    """Mark a function of scalars to be compiled into the steps of a simulation.

    Parameters
    ----------
    function : callable
        ``function(t, q, v)``, which returns nv joint forces, nu controls or wrenches. It is called once, with symbols:
        t, and arrays q (nq) and v (nv) of them. Write it with + - * /, `sin`, `sqrt`, ..., and `select` instead of if.
        Numbers and arrays that it uses are constants from then on.

    Returns
    -------
    Traced
        The function, as `simulate` and `rollout` take it for `tau`, `u` or `f_ext`.

    Raises
    ------
    ArgumentError
        If it is not a function.

    Examples
    --------
    >>> import fourbar as fb
    >>> spring = fb.traced(lambda t, q, v: -20.0 * q - 2.0 * v)
    >>> fb.simulate(fb.robots.double_pendulum(), [0.5, 0.0], duration=5.0, tau=spring).q[-1].round(3)
    array([-0., -0.])
    """
    if not callable(function):
        raise ArgumentError(f"traced takes a function of (t, q, v), got {function!r}")
    return function if isinstance(function, Traced) else Traced(function)


class ForceLaw(NamedTuple):
    """The forces on a robot: springs and damping too (`passive`); a traced `torque`, asked in every pass; joint forces
    `tau`, controls `u` of actuators and wrenches `f_ext` on bodies that are held, each either traced, asked at the
    start of every `period` steps, or GIVEN as controls of the rollout, or NONE. `which` are parameters that differ from
    sample to sample.
    """

    passive: bool
    torque: Traced | None = None
    tau: Any = GIVEN
    u: Any = NONE
    period: int = 1
    which: tuple[Parameter, ...] = ()
    f_ext: Any = NONE

    @property
    def _controls(self) -> tuple[tuple[str, Any], ...]:
        return ("tau", self.tau), ("u", self.u), ("f_ext", self.f_ext)

    @property
    def traced_controls(self) -> dict[str, Traced]:
        """The controls that are traced, by name."""
        return {name: x for name, x in self._controls if isinstance(x, Traced)}

    @property
    def given_controls(self) -> list[str]:
        """The controls of the rollout, by name."""
        return [name for name, x in self._controls if x == GIVEN]

    @property
    def is_traced(self) -> bool:
        """Whether functions of the user's are part of the step."""
        return self.torque is not None or bool(self.traced_controls)


def signals_of(robot: System, law: ForceLaw) -> Signals:
    """How the actuators of a robot come by their signals; those of none where actuators do not act."""
    return Signals.of(() if law.u == NONE else robot.mechanism.actuators, euler=False)


class Followed(NamedTuple):
    """A robot as its user knows it, and the same in the velocities that are followed."""

    robot: System
    now: System

    @property
    def trees(self) -> ChartedTree:
        """Their cluster trees."""
        return ChartedTree(self.robot.model.cluster_tree, self.now.model.cluster_tree)

    @property
    def loops(self) -> list[int]:
        """The velocities of all joints, by number, of the loops that are solved while moving."""
        return self.trees.loops

    @property
    def reference_size(self) -> int:
        """How many numbers say what is usual of these loops."""
        return self.trees.reference_size


class Pass(NamedTuple):
    """Where a pass begins, and the sums so far: of the chart's rates, accelerations and the power lost."""

    number: Any
    theta: Any
    q: Any
    v: Any
    way: Any
    change: Any
    lost: Any
    stop: Any


def integrate(embedding: Any, q: Any, theta: Any) -> Any:
    """q ⊕ θ of a cluster."""
    return embedding.integrate(q, theta)


def _chart_rate(embedding: Any, theta: Any, v: Any) -> Any:
    return embedding.chart_rate(theta, v)


def _difference_rate(embedding: Any, q0: Any, q: Any, speeds: Any) -> Any:
    """The rate of θ in q = q₀ ⊕ θ as all joints of a loop that is solved move with velocities (by link)."""
    sizes = [joint.nq for joint in embedding.joints]
    parts = zip(embedding.joints, cut(q0, sizes), cut(q, sizes), speeds, strict=True)
    every = [x for joint, a, b, v in parts for x in joint.chart_rate(joint.difference(a, b), v)]
    return Vec([every[j] * (1.0 / scale) for j, scale in embedding.independent])


def _onward(now: Pass, v0: Any, rates: tuple[Any, Any, Any], dt: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """The sums with the rates of this pass, and θ and v where the next one begins."""
    number, (chart, a, power) = now.number, rates
    is_last = number > 2.5
    weight = dt * select(number < 0.5, 1.0 / 6.0, select(is_last, 1.0 / 6.0, 1.0 / 3.0))
    ahead = dt * select(number > 1.5, 1.0, 0.5)
    tangent = Vec([total + weight * x for total, x in zip(now.way, chart, strict=True)])
    change = Vec([total + weight * x for total, x in zip(now.change, a, strict=True)])
    theta = Vec([select(is_last, total, ahead * x) for total, x in zip(tangent, chart, strict=True)])
    v = Vec([x + select(is_last, total, ahead * y) for x, total, y in zip(v0, change, a, strict=True)])
    return number + 1.0, theta, v, tangent, change, now.lost + weight * power


def _time(n: Any, number: Any, dt: Any) -> Any:
    """The time of a pass of step n."""
    return (n + select(number < 0.5, 0.0, select(number > 2.5, 1.0, 0.5))) * dt


class RungeKuttaStage:
    """One pass of a step of a robot that is followed in some velocities."""

    def __init__(self, followed: Followed, law: ForceLaw) -> None:
        self.followed, self.law = followed, law
        self.model = followed.now.model
        self.clusters = self.model.cluster_tree.clusters
        joints = [[self.model.cluster_tree.moving[i].joint for i in cluster.links] for cluster in self.clusters]
        self.signals = signals_of(followed.robot, law)
        self._flat = [all(isinstance(joint, FlatJoint) for joint in own) for own in joints]

    def base(self, recorder: Any, given: Mapping[str, tuple[Any, ...]]) -> Context:
        """A recording with the parameters that are given, to be used at states (`with_values`)."""
        base = VariedContext.with_parameters(self.model, recorder, given, self.law.which)
        return self.followed.trees.watch(base, given["usual"]) if "usual" in given else base

    def write(self, base: Context, now: Pass, given: dict[str, Any]) -> Pass:
        """Record it. `given`: q0 and v0, where the step begins, `dt`, and what the law and the loops need."""
        recorder = base.recorder
        acting = {name: tuple(given[name]) for name in ("u", "f_ext") if name in given}
        if "act" in given:
            acting["u"] = tuple(recorder.call(self.signals.signals, given["act"], given["u"], given["dt"], now.number))
        c = base.with_values({"q": now.q, "v": now.v, **acting})
        a, power = self.accelerations(c, self._forces(c, now, given))
        ties = [cluster.embedding for cluster in c.clusters]
        rates = (Vec(self._chart_rates(c, now, given["q0"])), Vec(a), power)
        number, theta, v, tangent, change, lost = recorder.call(_onward, now, given["v0"], rates, given["dt"])
        starts = split(self.clusters, given["q0"], "nq")
        thetas = split(self.clusters, theta, "nv")
        q = flat([recorder.call(integrate, *x) for x in zip(ties, starts, thetas, strict=True)])
        return Pass(number, self._curved_parts(thetas), Vec(q), v, tangent, change, lost, self._stop(c, now, given))

    def _chart_rates(self, c: Context, now: Pass, q0: Any) -> list[Any]:
        """The rates of θ."""
        call, rates = c.recorder.call, []
        starts, ends, speeds = (split(self.clusters, *x) for x in ((q0, "nq"), (now.q, "nq"), (now.v, "nv")))
        for k, (cluster, theta) in enumerate(zip(c.clusters, now.theta, strict=True)):
            tie, state = cluster.embedding, c.cluster_states[k]
            if state is not None and tie.is_implicit and tie.has_shared_joints:
                rates.append(call(_difference_rate, tie, starts[k], ends[k], state.v))
            else:
                rates.append(call(_chart_rate, tie, theta, speeds[k]) if theta else speeds[k])
        return flat(rates)

    def _curved_parts(self, parts: Sequence[Vec]) -> tuple[Vec, ...]:
        """θ by cluster, of those whose chart is not flat: only there the rate of θ depends on it."""
        return tuple(Vec() if flat else part for part, flat in zip(parts, self._flat, strict=True))

    def begin(self, given: dict[str, Any]) -> Pass:
        """The first pass of a step from q0 and v0."""
        still = Vec([0.0] * len(given["v0"]))
        theta = self._curved_parts(split(self.clusters, still, "nv"))
        return Pass(0.0, theta, given["q0"], given["v0"], still, still, 0.0, -1.0)

    def accelerations(self, c: Context, tau: list[Any]) -> tuple[list[Any], Any]:
        """The accelerations that forces by cluster cause, with those of springs and dampers, and the power lost."""
        power: Any = 0.0
        if self.law.passive:
            tau = [c.recorder.call(add, *both) for both in zip(tau, passive_parts(c), strict=True)]
            power = dissipated_power(c)
        return self._solve(c, tau), power

    def _solve(self, c: Context, tau: list[Any]) -> list[Any]:
        """The accelerations that forces by cluster cause."""
        return flat(self._solver(c, tau))

    @cached_property
    def _solver(self) -> Solver:
        """How it finds them: other algorithms do not look for joints that move no inertia."""
        return recursive_solver if any(x.is_inertia for x in self.law.which) else cheapest_solver(self.model)

    def _forces(self, c: Context, now: Pass, given: dict[str, Any]) -> list[Any]:
        """The forces on the velocities that are followed, by cluster."""
        tau: Any = given.get("tau")
        if self.law.torque is not None:
            t = c.recorder.call(_time, given["count"], now.number, given["dt"])
            own = Commands(self.law.torque, "tau", self.followed.robot.nv)
            tau = c.recorder.call(own, t, now.q, Vec(self.robot_velocities(c)))
        total = self.followed.trees.forces(c, (0.0,) * self.followed.robot.nv if tau is None else tau)
        if "u" not in c.given:
            return total
        driven = c.project(actuation.joint_forces(c))
        return [c.recorder.call(add, *both) for both in zip(total, driven, strict=True)]

    def robot_velocities(self, c: Context) -> list[Any]:
        """The robot's own velocities."""
        return self.followed.trees.robot_velocities(c)

    def _stop(self, c: Context, now: Pass, given: dict[str, Any]) -> Any:
        """Above zero where a loop should be looked at closely."""
        return self.followed.trees.growth(c, now.stop, given.get("usual"))


class RungeKutta:
    """A whole step."""

    def __init__(self, stage: RungeKuttaStage) -> None:
        self._stage, self._law = stage, stage.law

    def write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
        """Record it."""
        known: dict[str, Any] = {"q0": Vec(given["q"]), "v0": Vec(given["v"]), "dt": given["dt"][0]}
        known |= {name: Vec(given[name]) for name in self._law.given_controls}
        results: dict[str, Sequence[Any]] = {}
        if "count" in given:
            known["count"] = given["count"][0]
            results["count"] = (recorder.call(add, given["count"][0], 1.0),)
        if "usual" in given:
            known["usual"] = Vec(given["usual"])
        base = self._stage.base(recorder, given)
        if self._law.traced_controls:
            results |= self._ask(base, known, given)
            known |= {name: results[f"held_{name}"] for name in self._law.traced_controls}
            results["since"] = (recorder.call(steps_since, given["since"][0], float(self._law.period)),)

        if "act" in given:
            known["act"] = Vec(given["act"])
            results["act"] = recorder.call(self._stage.signals.following, known["act"], known["u"], known["dt"])

        def body(now: Pass) -> tuple[Pass, None]:
            return self._stage.write(base, now, known), None

        end = recorder.repeat(body, self._stage.begin(known), 4)
        lost = recorder.call(add, given["lost"][0], end.lost)
        return {**results, "q": end.q, "v": end.v, "lost": (lost,), "stop": (end.stop,)}

    def _ask(self, base: Context, known: dict[str, Any], given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """The controls that are held during this step: new ones at the start of every period."""
        sizes, call = control_sizes(self._stage.followed.robot), base.recorder.call
        c = base.with_values({"q": known["q0"], "v": known["v0"]})
        t = call(_time, known["count"], 0.0, known["dt"])
        controls: dict[str, Any] = {}
        for name, function in self._law.traced_controls.items():
            own = Commands(function, name, sizes[name])
            new = call(own, t, known["q0"], Vec(self._stage.robot_velocities(c)))
            old = Vec(given[f"held_{name}"])
            controls[f"held_{name}"] = new if self._law.period == 1 else call(held_control, given["since"][0], new, old)
        return controls


def rollout_of(followed: Followed, law: ForceLaw) -> Rollout:
    """The steps of a robot, ready to run."""
    key = None if law.is_traced else ("runge_kutta", followed.now.mechanism, followed.robot.mechanism, law)
    return assemble_rollout(followed, law, RungeKutta(RungeKuttaStage(followed, law)), followed.reference_size, key)


def assemble_rollout(followed: Followed, law: ForceLaw, step: RungeKutta, watched: int, key: Any) -> Rollout:
    """Steps as a rollout. State: q, v, lost, and where functions are traced count, held controls and since. Controls:
    tau, u and f_ext where they are given. Numbers: dt, and the `watched` numbers that are usual of loops.
    """
    now, sizes = followed.now, {name: (size,) for name, size in control_sizes(followed.robot).items()}
    state: dict[str, tuple[int, ...]] = {"q": (now.nq,), "v": (now.nv,), "lost": ()}
    if size := signals_of(followed.robot, law).size:
        state["act"] = (size,)
    if law.is_traced:
        state["count"] = ()
    if law.traced_controls:
        state |= {f"held_{name}": sizes[name] for name in law.traced_controls} | {"since": ()}
    numbers: dict[str, tuple[int, ...]] = {"dt": ()} | ({"usual": (watched,)} if watched else {})
    numbers |= {name: x.shape for name, x in zip(argument_names(law.which), law.which, strict=True)}
    controls = {name: sizes[name] for name in law.given_controls}
    return Rollout(
        Step("runge_kutta", step.write, state, controls, numbers, key=key, stop=bool(watched), thresholds=("usual",))
    )


_SCALARS = ("number", "lost", "stop")  # of a pass
Shapes = dict[str, tuple[int, ...]]


class StageRecording(Recording):
    """The recording of a stage: a pass, where the step starts, controls, dt, `usual` of loops, and
    parameters, to the next pass.

    A pass is several arguments and results, called as the fields of `Pass` are, without those that are empty; the
    start is q0 and v0. If it is `packed`, these are arrays `now` (N) and `start` (nq + nv). Derivatives are by entries.
    """

    name = "runge_kutta_stage"

    def __init__(self, followed: Followed, law: ForceLaw, packed: bool) -> None:
        super().__init__()
        now = followed.now
        self.model = now.model
        self._followed, self._law, self.packed = followed, law, packed
        self._stage, self._nq, self.reference_size = RungeKuttaStage(followed, law), now.nq, followed.reference_size
        begin = self._stage.begin({"q0": Vec([0.0] * now.nq), "v0": Vec([0.0] * now.nv)})
        self._structure = flatten(begin)[1]
        sizes = {name: len(leaves(part)) for name, part in zip(Pass._fields, begin, strict=True)}
        self.parts_of_pass: Shapes = {name: () if name in _SCALARS else (n,) for name, n in sizes.items() if n}
        ends = dict(zip(sizes, np.cumsum([*sizes.values()]).tolist(), strict=True))
        self.places = {name: slice(end - sizes[name], end) for name, end in ends.items()}  # in a packed pass
        self.size = sum(sizes.values())
        shapes: Shapes = {"now": (self.size,), "start": (now.nq + now.nv,)}
        if not packed:
            shapes = {**self.parts_of_pass, "q0": (now.nq,), "v0": (now.nv,)}
        self.results = ("next",) if packed else tuple(f"next_{name}" for name in self.parts_of_pass)
        self.arguments = tuple(Argument(name, shape) for name, shape in (shapes | self._rest()).items())

    def _rest(self) -> Shapes:
        """The other arguments of a pass."""
        robot, law = self._followed.robot, self._law
        sizes = control_sizes(robot)
        found: Shapes = {name: (sizes[name],) for name in law.given_controls}
        found |= {"dt": ()} | ({"usual": (self.reference_size,)} if self.reference_size else {})
        return found | {name: x.shape for name, x in zip(argument_names(law.which), law.which, strict=True)}

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        return record_program(self.name, self._record, block)

    def _record(self, recorder: Any) -> list[tuple[str, tuple[int, ...], list[Any]]]:
        inputs = {a.name: recorder.input(a.name, a.shape) for a in self.arguments}
        if self.packed:
            entries, start = inputs.pop("now"), inputs.pop("start")
            q0, v0 = start[: self._nq], start[self._nq :]
        else:
            entries = tuple(x for name in self.parts_of_pass for x in inputs.pop(name))
            q0, v0 = inputs.pop("q0"), inputs.pop("v0")
        known: dict[str, Any] = {"q0": Vec(q0), "v0": Vec(v0), "dt": inputs["dt"][0]}
        known |= {name: Vec(inputs[name]) for name in (*self._law.given_controls, "usual") if name in inputs}
        now = unflatten(self._structure, iter(entries))
        after = leaves(self._stage.write(self._stage.base(recorder, inputs), now, known))
        if self.packed:
            return [("next", (self.size,), after)]
        shapes = self.parts_of_pass.items()
        return [(f"next_{name}", shape, after[self.places[name]]) for name, shape in shapes]

    @property
    def parts(self) -> tuple[Any, ...]:
        return "stage", self._followed.now.mechanism, self._followed.robot.mechanism, self._law, self.packed

    @property
    def nan(self) -> str:
        return ""

    def pickle_recipe(self) -> tuple[Any, ...]:
        return unpickle_stage, self._followed, self._law, self.packed


def unpickle_stage(followed: Followed, law: ForceLaw, packed: bool) -> Any:
    """The compiled function of a stage, in another process."""
    return make(StageRecording(followed, law, packed))


class StageResult(NamedTuple):
    """q, v and the energy lost after a step, whether loops should be examined, and whether everything is finite."""

    q: np.ndarray  # (..., nq)
    v: np.ndarray  # (..., nv)
    lost: Any
    stop: bool
    finite: bool


class StageFunction:
    """One pass as a compiled function of arrays, in steps with forces tau that Python is asked for."""

    def __init__(self, followed: Followed, law: ForceLaw) -> None:
        recording = StageRecording(followed, law, packed=True)
        self._size, self._loops = recording.size, followed.loops
        self._q, self._v = recording.places["q"], recording.places["v"]
        self._lost, self._stop = (recording.places[name].start for name in ("lost", "stop"))
        self._call = make(recording)

    def step(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        dt: float,
        force: Any,
        usual: np.ndarray | None,
        folds: np.ndarray,
    ) -> StageResult:
        """The state after a step of length dt, with force(t, q, v) asked four times.

        `usual` (..., n): the velocities of all joints, for unit velocities, when loops were last examined; None if they
        have not been. `folds` (..., m): the numbers of branches near folds.
        """
        now, length = np.zeros((*v.shape[:-1], self._size)), np.array(dt)
        now[..., self._q], now[..., self._v], now[..., self._stop] = q, v, -1.0
        start = np.concatenate([q, v], axis=-1)
        reference: tuple[Any, ...] = ()
        if self._loops:
            sizes = np.full((*v.shape[:-1], len(self._loops)), np.inf) if usual is None else usual[..., self._loops]
            reference = (np.concatenate([sizes, folds], axis=-1),)
        for time in (t, t + 0.5 * dt, t + 0.5 * dt, t + dt):
            now = self._call(now, start, force(time, now[..., self._q], now[..., self._v]), length, *reference)
        stop = bool(self._loops) and bool((now[..., self._stop] > 0.0).any())
        finite = bool(np.isfinite(now).all())
        return StageResult(now[..., self._q], now[..., self._v], now[..., self._lost], stop, finite)
