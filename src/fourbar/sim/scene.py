"""`Scene`: a robot and what it may touch, ready to be stepped through time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Argument, batch_shape, to_array
from ..contact import choose
from ..contact.candidates import Spec
from ..contact.laws import Law, Rigid
from ..contact.model import compiled_step, rolled, rows
from ..contact.terrain import Terrain
from ..errors import ArgumentError, ModelError, warn
from ..once import cached_property
from ..system.system import System
from .acting import SimulationWarning
from .touching import Batch, ContactRun, Run, Torque, asked, follow


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


class Scene:
    """A robot, what does not move around it, and which of its shapes take part.

    contacts: a list of frames or bodies by name and of `Shape`s; None for all collision shapes of the model. A body
    stands for its collision shapes, or for the point at its origin if it has none. pairs: which shapes may touch each
    other: "objects" (those of different objects: trees with a root of their own), "all" (also those of one robot whose
    links no joint connects), "none", or a list of pairs of names. grounded: the names of the shapes (or bodies) that
    touch terrain; None for all. Without terrain the planes of the model are it.

    limits, joint_friction: whether limits of joints stop them, and their dry friction holds. A contact bounces if it
    closes faster than `bounce_above` (m/s) and its surfaces have restitution. `tolerance` (m/s) is the largest velocity
    by which a condition of contact may be missed, `iterations` bounds the work for it.
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
        iterations: int = 60,
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
        self.terrains = terrains or choose.floors(robot.mechanism, tree)
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
        self._tell(chosen.left, unkept)

    def _tell(self, left: tuple[str, ...], unkept: tuple[str, ...]) -> None:
        """Say what of the model does not act."""
        if left:
            shown = ", ".join(left[:6]) + (f" and {len(left) - 6} more" if len(left) > 6 else "")
            warn(f"Scene: these shapes are not simulated and touch nothing: {shown}; put simple shapes in their place "
                 "with contacts=[fb.contact.Shape(...), ...]", SimulationWarning)  # fmt: skip
        if unkept:
            warn(f"Scene: the limits of {', '.join(map(repr, unkept[:6]))} are not kept: their coordinates are not "
                 "the integrals of their velocities", SimulationWarning)  # fmt: skip

    def __repr__(self) -> str:
        return f"<fourbar scene of {self.robot.name!r}: {len(self.contacts)} contacts, {len(self.spec.joints)} joints>"

    @property
    def contacts(self) -> tuple[str, ...]:
        """The names of all that may touch, in the order of gaps and forces."""
        return tuple(x.name for x in self.spec.candidates)

    @property
    def friction(self) -> np.ndarray:
        """The coefficients of sliding friction (n) of the contacts."""
        return np.array([x.friction for x in self.spec.candidates])

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
        batch = batch_shape("simulate", arguments, [q, v])
        return np.broadcast_to(q, (*batch, self.robot.nq)).copy(), np.broadcast_to(v, (*batch, self.robot.nv)).copy()

    @cached_property
    def _rollouts(self) -> dict[bool, Any]:
        """The machine code of rollouts, without and with friction for each sample."""
        return {}

    def _started(self, q: Any, v: Any, dt: Any, friction: Any, batch: tuple[int, ...] = ()) -> Any:
        """A motion at its beginning."""
        if not (isinstance(dt, Real) and 0.0 < float(dt) < np.inf):
            raise ArgumentError(f"dt={dt!r}: expected a time step in s, above zero")
        given = friction is not None
        if given not in self._rollouts:
            self._rollouts[given] = rolled(self.robot.mechanism, self.spec, given)
        q, v = self.read_state(q, v)
        zeros = {"impulse": np.zeros(self.n_impulses), "worst": 0.0, "late": -1.0, "count": 0.0}
        numbers = {"dt": float(dt), "friction": friction} if given else {"dt": float(dt)}
        return self._rollouts[given].start({"q": q, "v": v, **zeros}, numbers, batch)

    def simulate(
        self,
        q: Any,
        v: Any = None,
        *,
        duration: float,
        dt: float = 2e-3,
        torque: Torque | None = None,
        period: int = 1,
        friction: Any = None,
        every: int = 1,
        progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
    ) -> ContactRun:
        """The motion of one state or a batch for a time, rounded to whole steps, recorded every so many of them.

        torque(t, q, v) -> (..., nv) is asked every `period` steps and held in between. friction (..., n) stands for the
        coefficients of all contacts and may differ in each sample. What diverges, or whose contacts are not solved to
        the tolerance, is marked in the result and told by a SimulationWarning.
        """
        if not all(isinstance(x, Real) and 0.0 < float(x) < np.inf for x in (duration, dt)) or dt > duration * 1.000001:
            raise ArgumentError(f"duration={duration!r}, dt={dt!r}: expected positive times, with dt the shorter one")
        if not isinstance(period, int | np.integer) or period < 1:
            raise ArgumentError(f"period={period!r}: expected a whole number of steps, at least 1")
        if torque is not None and not callable(torque):
            raise ArgumentError(
                f"torque={torque!r}: expected a function torque(t, q, v) of arrays; for arrays: rollout"
            )
        steps = max(1, round(duration / dt))
        run = Run(self, self._started(q, v, dt, friction), float(dt), steps, every)
        try:
            follow(run, torque, int(period), self.robot.nv, asked(progress, steps))
        except KeyboardInterrupt:
            warn(f"simulate: interrupted at t = {run.t:.6g} s; the states so far are returned", SimulationWarning)
        return run.finished("simulate")

    def rollout(
        self, q: Any, v: Any, tau: Any, *, dt: float = 2e-3, every: int = 1, hold: int = 1, friction: Any = None
    ) -> ContactRun:
        """The motion under given joint forces tau (..., rows, nv), one row for every `hold` steps, in one call."""
        tau = to_array("rollout", Argument("tau", (self.robot.nv,)), tau)
        if tau.ndim < 2 or tau.shape[-2] < 1:
            raise ArgumentError(f"rollout: tau must have shape (..., rows, {self.robot.nv}), got {tau.shape}")
        motion = self._started(q, v, dt, friction, tau.shape[:-2])
        steps = tau.shape[-2] * int(hold)
        run = Run(self, motion, float(dt), steps, every)
        rows = motion.rows({"tau": tau}, tau.shape[-2])
        try:
            while motion.now.steps < steps:
                run.advance(min(motion.several, steps - motion.now.steps), rows, int(hold))
        except KeyboardInterrupt:
            warn(f"rollout: interrupted at t = {run.t:.6g} s; the states so far are returned", SimulationWarning)
        return run.finished("rollout")

    def batch(self, n: int, *, dt: float = 2e-3) -> Batch:
        """n worlds with a state each, to be stepped and reset in part."""
        return Batch(self, n, float(dt))
