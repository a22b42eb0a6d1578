"""Plants: the dynamics of a problem, as a step that is part of larger steps, with A and B of many steps at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algorithms.energy import add
from ..contact.step_rollout import DRIVEN, ContactRollout, Taken
from ..errors import ArgumentError
from ..functions import actuator_recording as actuation
from ..functions.context import Context
from ..functions.methods.passive import is_passive, passive_parts
from ..functions.registry import flat
from ..functions.rollout import GIVEN, NONE
from ..once import cached_property
from ..sim.loops.folds import FIRST_ORDER, RUNGE_KUTTA, Folds
from ..sim.motions.given_numbers import NOTHING
from ..sim.robot.runge_kutta_step import Followed, ForceLaw, RungeKutta, RungeKuttaStage, integrate
from ..sim.scenes.scene import Scene
from ..sim.scenes.scene_motion import StepArguments
from ..sim.scenes.step_derivatives import MovingNumbers
from ..spatial.linear import Vec
from ..system.system import System
from ..tree.clusters import split
from .problem_drives import ProblemDrives
from .robot_slopes import RobotSlopes

Shape = tuple[int, ...]
IMPULSE = "impulse"


class Plant(ABC):
    """A step of length dt under controls u: of a robot or of a scene.

    `model` is that of recordings, `state` the shapes of what a step carries besides q and v, `key` what decides the
    program; `needed` names what of the state A and B need to know besides.
    """

    needed: tuple[str, ...] = ()

    def __init__(self, robot: System, drives: ProblemDrives, model: Any) -> None:
        self.robot, self.drives, self.model = robot, drives, model
        self.state: dict[str, Shape] = {}

    @property
    @abstractmethod
    def key(self) -> tuple[Any, ...]:
        """All that decides the program."""

    @abstractmethod
    def write(self, recorder: Any, given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """Record a step from q, v, u, dt and the state: all of these after it but u and dt."""

    @abstractmethod
    def slopes(self, q: Any, v: Any, u: Any, needed: Mapping[str, Any], dt: float, threads: int | None) -> np.ndarray:
        """[A B] (..., 2 nv, 2 nv + nu) of steps from states, with the `needed` part of the state after them."""

    def first_state(self) -> dict[str, np.ndarray]:
        """The state besides q and v at the start of a motion."""
        return {name: np.zeros(shape) for name, shape in self.state.items()}

    @cached_property
    def usual(self) -> tuple[float, ...]:
        """The numbers that loops are watched by: steps follow the velocities of the robot, whatever these become."""
        count = len(Followed(self.robot, self.robot).loops)
        stride = RUNGE_KUTTA if isinstance(self, RobotPlant) else FIRST_ORDER
        return (float("inf"),) * count + (tuple(Folds.of(self.robot).first(stride).tolist()) if count else ())


class RobotPlant(Plant):
    """A robot without contacts: a Runge-Kutta step as `rollout` makes it, or a semi-implicit Euler step, v⁺ = v + dt a
    and q⁺ = q ⊕ dt v⁺."""

    def __init__(self, robot: System, drives: ProblemDrives, method: str) -> None:
        if robot.model.cluster_tree.has_shared_joints:
            raise ArgumentError(
                f"Problem: a joint of a loop of {robot.name!r} is independent in part; choose other velocities with "
                "robot.with_independent(...)"
            )
        super().__init__(robot, drives, robot.model)
        self.method = method
        tau, u = (NONE, GIVEN) if drives.by_actuators else (GIVEN, NONE)
        self._stage = RungeKuttaStage(Followed(robot, robot), ForceLaw(True, tau=tau, u=u))

    @property
    def key(self) -> tuple[Any, ...]:
        return "robot plant", self.robot.mechanism, self.drives.velocities, self.method

    def _controls(self, u: Sequence[Any]) -> dict[str, Any]:
        return {"u": tuple(u)} if self.drives.by_actuators else {"tau": self.drives.forces(u, self.robot.nv)}

    def write(self, recorder: Any, given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        inputs: dict[str, Any] = {name: given[name] for name in ("q", "v", "dt")} | self._controls(given["u"])
        inputs |= {"usual": self.usual} if self.usual else {}
        if self.method == "rk4":
            after = RungeKutta(self._stage).write(recorder, {**inputs, "lost": (0.0,)})
            return {"q": after["q"], "v": after["v"]}
        base, call = self._stage.base(recorder, inputs), recorder.call
        c = base.with_values({name: tuple(inputs[name]) for name in ("q", "v", "u") if name in inputs})
        forces = self._by_cluster(c, inputs)
        a = self._stage.accelerations(c, forces)[0]
        v, moved = call(_euler, Vec(given["v"]), Vec(a), given["dt"][0])
        parts = zip(c.clusters, c.by_cluster("q"), split(c.clusters, moved, "nv"), strict=True)
        return {"q": flat([call(integrate, x.embedding, *own_parts) for x, *own_parts in parts]), "v": v}

    def _by_cluster(self, c: Context, own: Mapping[str, Any]) -> list[Any]:
        """The forces of the controls, by cluster."""
        if self.drives.by_actuators:
            return c.project(actuation.joint_forces(c))
        return list(split(c.clusters, Vec(own["tau"]), "nv"))

    @property
    def has_other_forces(self) -> bool:
        """Whether more acts than forces of controls."""
        still = Context.at(self.model, None, {})
        return self.drives.by_actuators or is_passive(still)

    def forces(self, recorder: Any, given: Mapping[str, Any]) -> list[Any]:
        """Forces on the velocities (nv) at a state."""
        c = Context.at(self.model, recorder, {"q": given["q"], "v": given["v"], "u": given["u"]})
        tau = self._by_cluster(c, self._controls(given["u"]))
        return flat([recorder.call(add, *x) for x in zip(tau, passive_parts(c), strict=True)])

    @cached_property
    def _slopes(self) -> Any:
        return RobotSlopes.compile(self)

    def slopes(self, q: Any, v: Any, u: Any, needed: Mapping[str, Any], dt: float, threads: int | None) -> np.ndarray:
        return self._slopes(q, v, u, np.array(dt), **({} if threads is None else {"threads": threads}))


class ScenePlant(Plant):
    """A scene: a step with contacts, limits and dry friction."""

    needed = (IMPULSE,)

    def __init__(self, scene: Scene, drives: ProblemDrives, smoothing: float) -> None:
        taken = scene.inputs(Taken(u=GIVEN if drives.by_actuators else NONE))
        self.scene, self._smoothing, self._taken = scene, smoothing, taken
        self._inner = ContactRollout(scene.robot.mechanism, scene.spec, taken, scene.robot.mechanism)
        super().__init__(scene.robot, drives, self._inner.model)
        self.state = {name: x for name, x in self._inner.state.items() if name not in ("q", "v")}
        self.patience = self._inner.patience

    @property
    def key(self) -> tuple[Any, ...]:
        return "scene plant", self.robot.mechanism, self.scene.spec, self._taken, self.drives.velocities

    def first_state(self) -> dict[str, np.ndarray]:
        return super().first_state() | {"late": np.array(-1.0)}

    def write(self, recorder: Any, given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        drives, uses = self.drives, self._taken
        inputs = {name: tuple(given[name]) for name in ("q", "v", "dt", *self.state)}
        inputs["friction"] = tuple(self.scene.friction.tolist())
        inputs["tau"] = (0.0,) * self.robot.nv if drives.by_actuators else drives.forces(given["u"], self.robot.nv)
        if uses.u == GIVEN:
            inputs["u"] = tuple(given["u"]) if drives.by_actuators else (0.0,) * self.robot.nu
        if DRIVEN in self._inner.controls:
            inputs[DRIVEN] = (float(drives.by_actuators),)
        if self.usual:
            inputs["usual"] = self.usual
        after = self._inner.write(recorder, inputs)
        return {name: after[name] for name in ("q", "v", *self.state)}

    def slopes(self, q: Any, v: Any, u: Any, needed: Mapping[str, Any], dt: float, threads: int | None) -> np.ndarray:
        drives, nv = self.drives, self.robot.nv
        tau, control = None, u
        if not drives.by_actuators:
            tau, control = np.zeros((*np.shape(u)[:-1], nv)), None
            tau[..., list(drives.velocities or ())] = u
        x = StepArguments(q, v, tau, dt, control, None, needed[IMPULSE], NOTHING, threads)
        wanted = ("q", "v", "u" if drives.by_actuators else "tau")
        derivatives = self.scene.step.derivatives
        matrix, _ = derivatives.evaluate("jacobian", x, MovingNumbers(NOTHING, {}, {}), wanted, self._smoothing)
        if drives.by_actuators:
            return matrix
        columns = [*range(2 * nv), *(2 * nv + k for k in drives.velocities or ())]
        return np.ascontiguousarray(matrix[..., columns])


def _euler(v: Vec, a: Vec, dt: Any) -> tuple[Vec, Vec]:
    ahead = v + a * dt
    return ahead, ahead * dt


def make_plant(of: System | Scene, drives: ProblemDrives, method: str | None, smoothing: float) -> Plant:
    """The plant of a robot or a scene."""
    if isinstance(of, Scene):
        if method not in (None, "step"):
            raise ArgumentError(f"Problem: method={method!r}: the steps of a scene are those with contacts, 'step'")
        return ScenePlant(of, drives, float(smoothing))
    if method not in (None, "rk4", "euler"):
        raise ArgumentError(f"Problem: method={method!r}: expected 'rk4' or 'euler', of a robot without contacts")
    if smoothing:
        raise ArgumentError("Problem: smoothing= rounds changes of contacts, and a robot alone has none; give a Scene")
    return RobotPlant(of, drives, method or "rk4")
