"""Observations: what is computed in the steps of a simulation, besides the state, and recorded with it.

    run = fb.simulate(scene, q, duration=1.0, observe={"imu": fb.observe.imu("base"), "hand": fb.observe.pose("hand")})
    run.observations["imu"]  # (n, ..., 6)

An observation belongs to the state at the end of a step. Accelerations and forces of a scene are means over the step
that ends there, in axes as they were at its start, like the forces of its contacts; those of a robot alone are of that
instant. An `Observer` evaluates them at the start of a motion, and for a robot alone. At the start, where no step has
been made yet, forces and the rates of the robot's velocities count as zero: `acceleration` and `imu` show what the
velocities alone contribute, and the IMU gravity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..algorithms.energy import add
from ..errors import ArgumentError, unknown
from ..expr import Graph, Unrolled, select
from ..functions import actuator_recording as actuation
from ..functions.context import Context
from ..functions.method_table import SUBJECTS
from ..functions.methods.dynamics import accelerations
from ..functions.methods.passive import passive_parts
from ..functions.options import read_choice
from ..functions.registry import METHODS, flat
from ..functions.rollout import Rollout, Step
from ..functions.step_end import OBSERVED, Observation, StepEnd
from ..functions.varied_context import VariedContext, argument_names
from ..hints import with_keyword_hints
from ..mechanism.mechanism import Mechanism
from ..once import cached_property, make_recent
from ..spatial.linear import Vec
from ..tree.parameters import Parameter
from .robot.runge_kutta_step import Commands, ForceLaw, Traced, symbols
from .terrain_observations import height_scan, ray

__all__ = [
    "acceleration", "actuator_force", "contact_force", "contact_found", "energy", "height_scan", "imu", "joint_force",
    "method", "pose", "ray", "velocity",
]  # fmt: skip
_KNOWN = ("q", "v", "a", "tau", "u")


@dataclass(frozen=True)
class OfMethod:
    """A function of the robot at the state, the accelerations, and the forces that acted."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def shape(self, subject: Any) -> tuple[int, ...]:
        """The shape of its result, found once for a model."""
        known: dict[OfMethod, tuple[int, ...]] = vars(subject).setdefault("_observed_shapes", {})
        if self not in known:
            recorder = Unrolled()
            given = {x.name: recorder.input(x.name, x.shape(subject)) for x in METHODS[self.name].inputs}
            known[self] = self.outputs(Context.at(subject, recorder, given))[0][1]
        return known[self]

    def write(self, end: StepEnd) -> list[Any]:
        """The entries of its result: those per velocity of the robot are on its own velocities."""
        _, shape, found = self._at(end)
        if end.now.nv in shape and end.own is not end:
            _, shape, found = self._at(end.own)
        return list(found)

    def _at(self, end: StepEnd) -> Any:
        """Name, shape and entries of its result."""
        return self.outputs(end.moving if "a" in METHODS[self.name].arguments else end.now)[0]

    def outputs(self, c: Context) -> Any:
        """The name, shape and entries of each result at a recording of a state."""
        method = METHODS[self.name]
        if "tau" in method.arguments and "tau" not in c.given:
            c = c.with_values({**c.given, "tau": (0.0,) * c.nv})
        if "f_ext" in c.given and "f_ext" not in method.optional:
            c = c.with_values({name: x for name, x in c.given.items() if name != "f_ext"})
        return method.record(c, **method.read_options(c.model.cluster_tree, **dict(self.options)))


@dataclass(frozen=True)
class Imu:
    """[angular velocity; specific force] of a frame in its own axes."""

    frame: str

    def shape(self, subject: Any) -> tuple[int, ...]:
        """Six."""
        OfMethod("pose", (("frame", self.frame),)).shape(subject)  # which says what is wrong with the name
        return (6,)

    def write(self, end: StepEnd) -> list[Any]:
        """The entries of the observation."""
        frame = ("frame", self.frame)
        spin = OfMethod("velocity", (frame, ("expressed_in", "frame"))).write(end)[:3]
        linear = OfMethod("acceleration", (frame,)).write(end)[3:]
        c = end.moving
        T = METHODS["pose"].record(c, **METHODS["pose"].read_options(c.model.cluster_tree, frame=self.frame))[0][2]
        return [*spin, *c.recorder.call(_specific_force, Vec(T), Vec(linear), Vec(c.gravity))]


def _specific_force(T: Vec, linear: Vec, gravity: Vec) -> Vec:
    """Acceleration less gravity, in the axes of a frame."""
    force = linear - gravity
    return Vec([T[k] * force[0] + T[4 + k] * force[1] + T[8 + k] * force[2] for k in range(3)])


@dataclass(frozen=True)
class OfContacts:
    """Forces of contacts, or whether they press: of all, or of those of a name."""

    contact: str | None
    found: bool

    def _places(self, subject: Any) -> list[int]:
        spec = getattr(subject, "spec", None)
        if spec is None:
            raise ArgumentError("observe: a robot alone has no contacts; simulate a Scene of it")
        names = [x.name for x in spec.candidates]
        places = [k for k, name in enumerate(names) if self.contact in (None, name)]
        if not places and self.contact is not None:
            raise ArgumentError(f"observe: {unknown('contact', self.contact, names)}")
        return places

    def shape(self, subject: Any) -> tuple[int, ...]:
        """A row for each of them; none for one that is named."""
        count = self._places(subject)
        return (*(() if self.contact is not None else (len(count),)), *(() if self.found else (3,)))

    def write(self, end: StepEnd) -> list[Any]:
        """The entries of the observation."""
        places, contacts = self._places(end.now.model), end.contacts or {}
        forces = [Vec(contacts["force"][3 * k : 3 * k + 3]) for k in places]
        if not self.found:
            return [x for force in forces for x in force]
        return [end.now.recorder.call(_presses, force) for force in forces]


def _presses(force: Vec) -> Any:
    return select(force.dot(force) > 0.0, 1.0, 0.0)


@dataclass(frozen=True)
class OfActuators:
    """The forces of all actuators that acted."""

    def shape(self, subject: Any) -> tuple[int, ...]:
        """One for each."""
        return (len(subject.mechanism.actuators),)

    def write(self, end: StepEnd) -> list[Any]:
        """The entries of the observation."""
        return end.actuator_forces


@dataclass(frozen=True)
class OfJoints:
    """The forces of controls and actuators on the independent velocities."""

    def shape(self, subject: Any) -> tuple[int, ...]:
        """One for each velocity."""
        return (subject.cluster_tree.nv,)

    def write(self, end: StepEnd) -> list[Any]:
        """The entries of the observation."""
        now = end.own.now
        return list(now.given.get("tau", (0.0,) * now.nv))


@dataclass(frozen=True)
class Energies:
    """Kinetic and potential energy, and that of springs."""

    def shape(self, subject: Any) -> tuple[int, ...]:
        """Three."""
        return (3,)

    def write(self, end: StepEnd) -> list[Any]:
        """The entries of the observation."""
        return [OfMethod(x).write(end)[0] for x in ("kinetic_energy", "potential_energy", "spring_energy")]


@dataclass(frozen=True)
class OfFunction:
    """A traced function (t, q, v) of the user's."""

    traced: Traced

    def shape(self, subject: Any) -> tuple[int, ...]:
        """As many as it returns."""
        tree, graph = subject.cluster_tree, Graph()
        given = [graph.inputs(name, n) for name, n in (("q", tree.nq), ("v", tree.nv))]
        return (len(symbols(self.traced.function, graph.inputs("t", 1)[0], *given)),)

    def write(self, end: StepEnd) -> list[Any]:
        """The entries of the observation."""
        c = end.own.now
        return list(c.recorder.call(symbols, self.traced.function, end.t, Vec(c.given["q"]), Vec(c.given["v"])))


def _check_frame(frame: Any) -> str:
    if not isinstance(frame, str):
        raise ArgumentError(f"observe: frame={frame!r}: expected the name of a frame or body")
    return frame


def method(name: str, **options: Any) -> Observation:
    """Observe any function of the robot that takes q, v, a, tau and u.

    Parameters
    ----------
    name : str
        Name of the function, e.g. "center_of_mass".
    **options
        Its options, e.g. frame="hand".

    Returns
    -------
    Observation
        The first of its results. tau are all forces of controls and actuators.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> observed = {"com": fb.observe.method("center_of_mass")}
    >>> fb.simulate(robot, [0.5, 0.0], duration=0.1, dt=0.01, observe=observed).observations["com"].shape
    (11, 3)
    """
    if name not in SUBJECTS:
        raise ArgumentError(f"observe.method: {unknown('function of a robot', name, SUBJECTS)}")
    missing = [x for x in METHODS[name].arguments if x not in _KNOWN]
    if missing:
        raise ArgumentError(
            f"observe.method: {name} needs {', '.join(missing)}, which are not available in a step; "
            f"available: {', '.join(_KNOWN)}"
        )
    known = METHODS[name].options
    if strange := [x for x in options if x not in METHODS[name].static]:
        raise ArgumentError(f"observe.method: {unknown(f'option of {name}', strange[0], METHODS[name].static)}")
    if lacking := [x.name for x in known if x.required and x.name not in options]:
        raise ArgumentError(f"observe.method: {name} needs {lacking[0]!r}, e.g. method({name!r}, {lacking[0]}=...)")
    return OfMethod(name, tuple(read_choice(name, known, options).items()))


@with_keyword_hints
def pose(frame: str) -> Observation:
    """Observe the pose of a frame or body: a homogeneous matrix (4, 4), as `System.pose` gives it.

    Parameters
    ----------
    frame : str
        Name of a frame or body.

    Returns
    -------
    Observation
        The pose (4, 4).

    Examples
    --------
    >>> import fourbar as fb
    >>> observed = {"tip": fb.observe.pose("tip")}
    >>> run = fb.simulate(fb.robots.double_pendulum(), [0.5, 0.0], duration=0.1, dt=0.01, observe=observed)
    >>> run.observations["tip"].shape
    (11, 4, 4)
    """
    return OfMethod("pose", (("frame", _check_frame(frame)),))


@with_keyword_hints
def velocity(frame: str, at: Any = "origin", expressed_in: str = "world") -> Observation:
    """Observe the velocity of a frame or body: [angular; linear] (6), as `System.velocity` gives it.

    Parameters
    ----------
    frame : str
        Name of a frame or body.
    at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
        Point whose motion is meant.
    expressed_in : str, default 'world'
        Axes of the result: 'world', 'frame', or the name of another frame or body.

    Returns
    -------
    Observation
        The velocity (6) (rad/s, m/s).

    Examples
    --------
    >>> import fourbar as fb
    >>> observed = {"tip": fb.observe.velocity("tip")}
    >>> run = fb.simulate(fb.robots.double_pendulum(), [0.5, 0.0], duration=0.1, dt=0.01, observe=observed)
    >>> run.observations["tip"].shape
    (11, 6)
    """
    return method("velocity", frame=_check_frame(frame), at=at, expressed_in=expressed_in)


@with_keyword_hints
def acceleration(frame: str, at: Any = "origin", expressed_in: str = "world") -> Observation:
    """Observe the acceleration of a frame or body: [angular; linear] (6), as `System.acceleration` gives it.

    Parameters
    ----------
    frame : str
        Name of a frame or body.
    at : {'origin', 'world'} or array_like, shape (3,), default 'origin'
        Point whose motion is meant.
    expressed_in : str, default 'world'
        Axes of the result: 'world', 'frame', or the name of another frame or body.

    Returns
    -------
    Observation
        The acceleration (6) (rad/s², m/s²), without gravity.

    Examples
    --------
    >>> import fourbar as fb
    >>> observed = {"tip": fb.observe.acceleration("tip")}
    >>> run = fb.simulate(fb.robots.double_pendulum(), [0.5, 0.0], duration=0.1, dt=0.01, observe=observed)
    >>> run.observations["tip"].shape
    (11, 6)
    """
    return method("acceleration", frame=_check_frame(frame), at=at, expressed_in=expressed_in)


@with_keyword_hints
def imu(frame: str) -> Observation:
    """Observe an inertial measurement unit: [angular velocity; specific force] in its own axes.

    Parameters
    ----------
    frame : str
        Name of the frame or body whose axes and origin are those of the unit.

    Returns
    -------
    Observation
        Six numbers (rad/s, m/s²): at rest the specific force is 9.81 upwards, in free fall zero.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> run = scene.simulate([0, 0, 0.11, 1, 0, 0, 0], duration=0.5, observe={"imu": fb.observe.imu("ball")})
    >>> abs(run.observations["imu"][[2, -1], 5].round(6)).tolist()
    [0.0, 9.81]
    """
    return Imu(_check_frame(frame))


@with_keyword_hints
def contact_force(contact: str | None = None) -> Observation:
    """Observe forces of contacts, in the world (N): (contacts, 3), or (3) of one that is named.

    Parameters
    ----------
    contact : str, optional
        Name of a contact, see `Scene.contacts`; all if None.

    Returns
    -------
    Observation
        The forces, means over a step, on the first of the two that touch.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> run = scene.simulate([0, 0, 0.2, 1, 0, 0, 0], duration=0.5, observe={"floor": fb.observe.contact_force("ball")})
    >>> (run.observations["floor"][[0, -1]].round(3) + 0.0).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 9.81]]
    """
    return OfContacts(contact, False)


@with_keyword_hints
def contact_found(contact: str | None = None) -> Observation:
    """Observe which contacts press: 1 or 0, (contacts), or one number for one that is named.

    Parameters
    ----------
    contact : str, optional
        Name of a contact, see `Scene.contacts`; all if None.

    Returns
    -------
    Observation
        1 where there was a force in the step, else 0.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> run = scene.simulate([0, 0, 0.2, 1, 0, 0, 0], duration=0.5, observe={"floor": fb.observe.contact_found("ball")})
    >>> run.observations["floor"][[0, -1]]
    array([0., 1.])
    """
    return OfContacts(contact, True)


def actuator_force() -> Observation:
    """Observe the forces of the actuators (nu), before their gears, that acted.

    Returns
    -------
    Observation
        The forces (N m, N); of a scene with the gains of servos acting implicitly, as they do there.

    Examples
    --------
    >>> import fourbar as fb
    >>> import numpy as np
    >>> b = fb.Builder("lift", gravity=(0, 0, -10))
    >>> _ = b.body("mass", joint=fb.joints.Prismatic("z"), mass=2.0)
    >>> robot = b.position_servo("servo", drives="mass", kp=1e5, kd=1e3, gear=4.0).build()
    >>> run = fb.Scene(robot).rollout([0.0], u=np.zeros((500, 1)), observe={"force": fb.observe.actuator_force()})
    >>> run.observations["force"][-1].round(6)
    array([5.])
    """
    return OfActuators()


def joint_force() -> Observation:
    """Observe the joint forces (nv) of controls and actuators that acted; springs and damping are not among them.

    Returns
    -------
    Observation
        The forces (N m, N) on the independent velocities.

    Examples
    --------
    >>> import fourbar as fb
    >>> import numpy as np
    >>> b = fb.Builder("lift", gravity=(0, 0, -10))
    >>> _ = b.body("mass", joint=fb.joints.Prismatic("z"), mass=2.0)
    >>> robot = b.position_servo("servo", drives="mass", kp=1e5, kd=1e3, gear=4.0).build()
    >>> run = fb.Scene(robot).rollout([0.0], u=np.zeros((500, 1)), observe={"force": fb.observe.joint_force()})
    >>> run.observations["force"][-1].round(6)
    array([20.])
    """
    return OfJoints()


def energy() -> Observation:
    """Observe energies (3): kinetic, potential in gravity, in springs.

    Returns
    -------
    Observation
        The energies (J).

    Examples
    --------
    >>> import fourbar as fb
    >>> run = fb.simulate(
    ...     fb.robots.double_pendulum(), [0.5, 0.0], duration=1.0, dt=0.01, observe={"energy": fb.observe.energy()}
    ... )
    >>> bool(abs(run.observations["energy"].sum(axis=-1) - run.observations["energy"].sum(axis=-1)[0]).max() < 1e-6)
    True
    """
    return Energies()


def read_observations(observe: Any, subject: Any) -> tuple[tuple[str, Observation], ...]:
    """The observations asked for, by name, checked against a model."""
    if observe is None:
        return ()
    if not isinstance(observe, Mapping):
        raise ArgumentError(
            f"observe={observe!r}: expected observations by name, such as {{'imu': fb.observe.imu('base')}}"
        )
    observations = []
    for name, asked in observe.items():
        observation = OfFunction(asked) if isinstance(asked, Traced) else asked
        if not isinstance(name, str) or not hasattr(observation, "write"):
            raise ArgumentError(
                f"observe: {name!r}: {asked!r} is not an observation; expected one of fb.observe, such as "
                "fb.observe.pose('hand'), or fb.traced(function) of (t, q, v)"
            )
        observation.shape(subject)
        observations.append((name, observation))
    return tuple(observations)


def check_driven(observed: Iterable[tuple[str, Observation]], mechanism: Mechanism) -> None:
    """Refuse to look at actuators that have no controls."""
    for name, x in observed:
        if isinstance(x, OfActuators) or (isinstance(x, OfMethod) and "u" in METHODS[x.name].arguments):
            raise ArgumentError(
                f"observe: {name!r} observes the actuators of {mechanism.name!r}, which have no controls here; "
                "give them as u="
            )


class Start:
    """The start of a motion; see `StepEnd`. Controls are not known yet: NaN."""

    t = 0.0

    def __init__(self, c: Context) -> None:
        still = (0.0,) * c.nv
        self.now = self.moving = c.with_values(
            {**c.given, "a": still, "tau": still, "u": (float("nan"),) * len(c.actuators)}
        )

    @property
    def own(self) -> StepEnd:
        """The same end: velocities are the robot's own."""
        return self

    @property
    def actuator_forces(self) -> list[Any]:
        """None act."""
        return [0.0] * len(self.now.actuators)

    @property
    def contacts(self) -> dict[str, Any] | None:
        """None press."""
        spec = getattr(self.now.model, "spec", None)
        return None if spec is None else {"force": [0.0] * (3 * len(spec.candidates))}


class Present:
    """A state of a robot alone, with what acts there; see `StepEnd`."""

    def __init__(self, c: Context, t: Any, law: ForceLaw) -> None:
        self.t, self._law = t, law
        if law.torque is not None:
            own = Commands(law.torque, "tau", c.nv)
            c.given["tau"] = tuple(c.recorder.call(own, t, Vec(c.given["q"]), Vec(c.given["v"])))
        total = c.by_cluster("tau")
        if "u" in c.given:
            driven = c.project(actuation.joint_forces(c))
            total = [c.recorder.call(add, *both) for both in zip(total, driven, strict=True)]
        self.now = c.with_values({**c.given, "tau": tuple(flat(total))})

    @cached_property
    def moving(self) -> Context:
        """A recording with accelerations: the given ones, if there are any."""
        c = self.now
        if "a" in c.given:
            return c
        tau = c.by_cluster("tau")
        if self._law.passive:
            tau = [c.recorder.call(add, *both) for both in zip(tau, passive_parts(c), strict=True)]
        return c.with_values({**c.given, "a": tuple(flat(accelerations(c, c.velocities(), tau, c.gravity)))})

    @property
    def own(self) -> StepEnd:
        """The same end: velocities are the robot's own."""
        return self

    @property
    def actuator_forces(self) -> list[Any]:
        """The forces of the actuators."""
        return actuation.forces(self.now)

    @property
    def contacts(self) -> None:
        """There are none."""
        return


def cached_observer(cache: dict[Any, Any], model: Any, *given: Any) -> Observer:
    """An observer of a model, found in a cache of such observers, or a new one."""
    return make_recent(cache, given, partial(Observer, model, *given))


class Observer:
    """Observations of states: of those at which motions begin, or, under a `law`, of a robot alone at any time.

    `which` are parameters that differ from sample to sample.
    """

    def __init__(
        self,
        model: Any,
        which: tuple[Parameter, ...],
        observed: tuple[tuple[str, Observation], ...],
        law: ForceLaw | None = None,
    ) -> None:
        self._model, self._which, self._observed, self._law = model, which, observed, law
        self._rollouts: dict[tuple[str, ...], Rollout] = {}  # by the controls that are given

    def _write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        c = VariedContext.with_parameters(self._model, recorder, given, self._which)
        end = Start(c) if self._law is None else Present(c, given["t"][0], self._law)
        found = {f"{OBSERVED}{name}": x.write(end) for name, x in self._observed}
        return {"q": given["q"], "v": given["v"], **found}

    def observe(
        self, q: np.ndarray, v: np.ndarray, numbers: Mapping[str, Any], t: Any = None,
        controls: Mapping[str, Any] | None = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Observations at states q (..., nq) and v (..., nv), by name; under a law at times t (...), with controls
        (..., size) that are given to it. Leading axes broadcast.
        """
        if not self._observed:
            return {}
        controls = controls or {}
        if tuple(controls) not in self._rollouts:
            self._rollouts[tuple(controls)] = self._rollout(controls)
        times = {} if self._law is None else {"t": t}
        rolled = self._rollouts[tuple(controls)].run({"q": q, "v": v}, {}, {**times, **controls, **numbers}, steps=1)
        axis = rolled.made.ndim
        return {name: np.take(rolled.records[f"{OBSERVED}{name}"], 0, axis=axis) for name, _ in self._observed}

    def _rollout(self, controls: Mapping[str, Any]) -> Rollout:
        tree, law = self._model.cluster_tree, self._law
        shapes: dict[str, tuple[int, ...]] = {} if law is None else {"t": ()}
        shapes |= {name: x.shape[-1:] for name, x in controls.items()}
        shapes |= {name: x.shape for name, x in zip(argument_names(self._which), self._which, strict=True)}
        records = {f"{OBSERVED}{name}": x.shape(self._model) for name, x in self._observed}
        acting = None if law is None else (law.passive, law.torque, tuple(controls))
        key = (self._model.mechanism, getattr(self._model, "spec", None), self._which, self._observed, acting)
        return Rollout(Step("observe", self._write, {"q": (tree.nq,), "v": (tree.nv,)}, {}, shapes, records, key=key))
