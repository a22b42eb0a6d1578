"""Simulations of robots whose constraints are enforced by forces, and of robots driven by the forces of their drives.

A Runge-Kutta step has four passes of the constrained forward dynamics, and ends with a projection onto the constraints:
q by Newton steps along M⁻¹ Aᵀ until loops and functions are closed to rounding, v by the impulse that removes what
violates a row. Rows that restrict velocities only are enforced as such: positions that follow from them have the error
of the steps. Steps are machine code (`ConstrainedRungeKutta`); where the rows that were chosen to stand for all no
longer do so, the new state is made infinite, and `ConstrainedRun` repeats the step for the samples concerned by
`ConstrainedFollower`, which solves by singular values; then they catch up with the others. An actuated robot is the
robot itself with a motor on each of its drives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...algorithms.constrained.dynamics import ForwardDynamics, Still
from ...algorithms.constrained.multipliers import IndependentRows
from ...algorithms.energy import add
from ...compile.rollout_loop import DIVERGED, RUNNING
from ...errors import ArgumentError, SingularError
from ...expr import maximum, select
from ...functions.context import Context
from ...functions.nan_reasons import describe_toggles
from ...functions.registry import flat
from ...functions.rollout import Rollout
from ...functions.varied_context import argument_names
from ...linalg import apply, inverse_in_units, transpose
from ...mechanism.actuators import Actuator, Drive
from ...spatial.linear import Vec
from ...system.constrained.actuated import Actuated
from ...system.constrained.method_recordings import given_state, prescribe_nothing, wanted_accelerations
from ...system.constrained.redundant_samples import least_force
from ...system.constrained.robot import Constrained
from ...system.system import System
from ...tolerances import CONVERGED, LOOSE, OPEN, WEAK
from ..loops.chart_table import Chart, ChartedSamples
from ..loops.charted_run import AskedSteps, ChartedRun
from ..loops.varied_loops import Which, loop_parameters
from ..motions.controlled_motion import MotionControls, force_of_controls
from ..motions.read_arguments import check_closed, on_copies
from .runge_kutta import Follower, SimulatedState, Torque, diverged, step
from .runge_kutta_step import Followed, ForceLaw, RungeKutta, RungeKuttaStage, assemble_rollout, integrate

NEWTON = 5  # steps at most that close it: two are usual
_INFINITE = float("inf")


class Trust(NamedTuple):
    """The rows that stand for all, and how far rows may contradict each other."""

    chosen: IndependentRows
    tolerance: float


def doubt(trust: Trust, health: Vec) -> Any:
    """1 where a solution needs a closer look (see `Health`), -1 where it does not."""
    weakness, loose, gap = health
    return select(weakness < WEAK, select(loose < LOOSE, select(gap <= trust.tolerance, -1.0, 1.0), 1.0), 1.0)


def _larger(a: Any, b: Any) -> Any:
    return maximum(a, b)


def _widest(*phi: Vec) -> Any:
    """The largest gap of a row, less the tolerance."""
    worst: Any = 0.0
    for x in (x for own in phi for x in own):
        worst = maximum(worst, maximum(x, -x))
    return worst - CONVERGED


def _where_open(gap: Any, old: Vec, new: Vec) -> Vec:
    return Vec([select(gap > 0.0, y, x) for x, y in zip(old, new, strict=True)])


def _mark(lost: Any, stop: Any) -> Any:
    return select(stop > 0.0, _INFINITE, lost)


class ConstrainedStage(RungeKuttaStage):
    """One pass of a step of a robot with constraints."""

    def __init__(self, held: Constrained, law: ForceLaw) -> None:
        super().__init__(Followed(held.system, held.system), law)
        self.model = held._model
        self.trust = Trust(held.choose("forward_dynamics", {}), held._tolerance)
        self._health: Any = None

    def _solve(self, c: Context, tau: list[Any]) -> list[Any]:
        m: Any = self.model
        forward = ForwardDynamics(
            c.equations(m.touched), c.clusters, c.cluster_states, m.groups, given_state(c), tau, c.F_ext(), c.gravity
        )  # fmt: skip
        force, self._health = forward.rowed.multipliers(forward.missing(wanted_accelerations(c)), self.trust.chosen)
        return flat(forward.accelerations(force))

    def _stop(self, c: Context, now: Any, given: dict[str, Any]) -> Any:
        return c.recorder.call(_larger, now.stop, c.recorder.call(doubt, self.trust, self._health))


class Met(NamedTuple):
    """A state that is put back on the constraints: v is that of q as it was, with no row broken."""

    q: Any
    v: Any
    stop: Any


class ConstrainedRungeKutta(RungeKutta):
    """A whole step of a robot with constraints."""

    def __init__(self, stage: ConstrainedStage) -> None:
        super().__init__(stage)
        self._held = stage

    def write(self, recorder: Any, given: dict[str, tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
        """Record it."""
        results = super().write(recorder, given)
        base, loose = self._held.base(recorder, given), Vec(results["v"])

        def again(now: Met) -> tuple[Met, Any]:
            return self._nearer(base, now, loose)

        (stop,), (lost,) = results.pop("stop"), results["lost"]
        end = recorder.repeat(again, Met(Vec(results["q"]), loose, stop), NEWTON)
        return {**results, "q": end.q, "v": end.v, "lost": (recorder.call(_mark, lost, end.stop),)}

    def _nearer(self, base: Context, now: Met, v: Vec) -> tuple[Met, Any]:
        """One Newton step of q where a row is open, v without what breaks a row, and how far rows were open."""
        c, m, trust = base.with_values({"q": now.q, "v": v}), self._held.model, self._held.trust
        call, groups = c.recorder.call, m.groups  # type: ignore[attr-defined]  (of a ConstrainedModel)
        s = c.equations(m.touched)  # type: ignore[attr-defined]
        still = Still(s, c.clusters, c.cluster_states, groups, given_state(c), c.still(), prescribe_nothing(c))
        rows, clusters = still.rowed.rows, c.clusters
        gap = call(_widest, *(own.phi for own in rows))
        impulse, health = still.rowed.multipliers(Vec([x for own in rows for x in own.rate]), trust.chosen)
        jumps = zip(c.by_cluster("v"), still.answers(impulse), strict=True)
        velocities = flat([call(add, *both) for both in jumps])
        back, _ = still.rowed.multipliers(Vec([x for own in rows for x in own.phi]), trust.chosen)
        moves = zip(clusters, c.by_cluster("q"), still.answers(back), strict=True)
        q = Vec(flat([call(integrate, cluster.embedding, x, step) for cluster, x, step in moves]))
        stop = call(_larger, now.stop, call(doubt, trust, health))
        return Met(call(_where_open, gap, Vec(now.q), q), Vec(velocities), stop), gap


def constrained_rollout(held: Constrained, law: ForceLaw) -> Rollout:
    """The steps of a robot with constraints, ready to run."""
    key = None if law.is_traced else ("held", held._recipe[1:], law)
    step = ConstrainedRungeKutta(ConstrainedStage(held, law))
    return assemble_rollout(Followed(held.system, held.system), law, step, 0, key)


_UNIT_TIME = np.array(1.0)


def with_motors(robot: Actuated) -> System:
    """The robot with a motor on each actuated velocity, and no bounds on the forces of joints."""
    mechanism = robot.system.mechanism
    motors = []
    for joint in mechanism.joints:
        nv = joint.joint.nv
        for k in range(nv) if joint.name in robot.joints else ():
            gear = tuple(float(i == k) for i in range(nv))
            motors.append(Actuator(f"{joint.name}.{k}" if nv > 1 else joint.name, (Drive(joint.name, gear),)))
    motors.sort(key=lambda motor: robot.joints.index(motor.joints[0]))
    free = tuple(replace(x, max_force=(), min_force=()) for x in mechanism.joints)
    named = tuple(replace(x, controls=()) for x in mechanism.configurations)  # of other actuators
    return type(robot.system)(replace(mechanism, actuators=tuple(motors), joints=free, configurations=named))


class Kept(NamedTuple):
    """The robot that moves in a scene; the same with constraints that forces keep, and these, if there are any."""

    robot: Any
    constrained: Constrained | None = None
    conditions: tuple[Any, ...] = ()

    @staticmethod
    def of(robot: Any) -> Kept:
        """From the robot of a simulation; anything that is not constrained or actuated is kept as it is."""
        if isinstance(robot, Actuated):
            return Kept(_in_motors(robot))
        return Kept(robot.system, robot, robot._model.conditions) if isinstance(robot, Constrained) else Kept(robot)

    def check(self, q: np.ndarray, v: np.ndarray, which: Which = ()) -> None:
        """Refuse states at which loops are open or constraints are not met, and one state in which a loop is at a
        toggle position, where v does not determine how it moves: of a batch it is marked. Loops that depend on
        parameters `which` were looked at where they were closed.
        """
        check_closed(self.robot, q, which)
        if (
            q.ndim == 1
            and not loop_parameters(self.robot, which)
            and (why := describe_toggles(self.robot.model.cluster_tree, q[None]))
        ):
            raise SingularError(why)
        if self.constrained is not None:
            check_met(self.constrained, q, v)


def _in_motors(robot: Actuated) -> System:
    """`with_motors`, made once."""
    kept = vars(robot)
    if "_motorised" not in kept:
        kept["_motorised"] = with_motors(robot)
    return kept["_motorised"]


def in_drives(robot: Actuated, torque: Any, control: Any, u: Any) -> tuple[System, Any, Any]:
    """The robot to simulate, its torque, and the controls of its motors."""
    if u is not None:
        raise ArgumentError("u: an actuated robot takes the forces of its drives as tau=, not u=")
    motorised_robot = _in_motors(robot)
    if torque is None:
        return motorised_robot, None, control
    if not callable(torque) or hasattr(torque, "function"):
        raise ArgumentError(
            "tau: an actuated robot takes a law of arrays with period=0; give traced forces with a period"
        )
    asked: Any = on_copies(torque)
    return motorised_robot, lambda t, q, v: motorised_robot.actuator_force(q, asked(t, q, v)), control


class ConstrainedFollower(Follower):
    """Integrates the motion of a robot with constraints."""

    def __init__(self, held: Constrained, torque: Torque | None, passive: bool) -> None:
        super().__init__(held.system, torque, self._moving)
        self._held, self._passive = held, passive

    def _moving(self, robot: System, q: np.ndarray, v: np.ndarray, tau: Any) -> tuple[np.ndarray, Any]:
        """Accelerations, and the power that damping takes."""
        return self.accelerations(q, v, tau), robot.damping_power(q, v) if self._passive else 0.0

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: Any) -> np.ndarray:
        """Accelerations under joint forces."""
        total = tau + self._held.system.passive_forces(q, v) if self._passive else tau
        return self._held.forward_dynamics(q, v, total)[0]

    def step(self, t: float, now: SimulatedState, dt: float) -> SimulatedState:
        """The next state, on the constraints."""
        after = step(self.charts.robot, t, now, dt, self._force, self.acting)
        valid = np.isfinite(after.q).all(axis=-1) & np.isfinite(after.v).all(axis=-1)
        if not valid.any():
            return after
        if after.q.ndim == 1:
            return after._replace(**dict(zip(("q", "v"), self._project(after.q, after.v), strict=True)))
        q, v = self._project_where(valid, after, now)
        return after._replace(q=q, v=v)

    def _project_where(self, valid: Any, after: SimulatedState, now: SimulatedState) -> tuple[np.ndarray, np.ndarray]:
        """The states of a batch after a step from `now`, on the constraints in the samples that are `valid`."""
        q, v = after.q.copy(), after.v.copy()
        q[valid], v[valid] = self._project(q[valid], v[valid])
        return q, v

    def _inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self._held.system.inverse_mass_matrix(q)

    def _allowed_velocity(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v without what breaks a row."""
        return self._held.impulse(q, v)[0]

    def _project(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        held = self._held
        for _ in range(NEWTON):
            phi = held.residual(q)
            if not (np.abs(phi).max(initial=0.0) > CONVERGED):
                break
            L = np.linalg.cholesky(self._inverse_mass_matrix(q))  # M⁻¹ = L Lᵀ; along M⁻¹ Aᵀ
            back = -np.einsum("...ij,...j->...i", L @ inverse_in_units(held.jacobian(q) @ L), phi)
            q = held.system.integrate(q, back, _UNIT_TIME)
        return q, self._allowed_velocity(q, v)


class VaryingFollower(ConstrainedFollower):
    """A follower with parameters that differ from sample to sample: dense problems, solved by singular values.

    `robots` has the functions of the robot with these parameters. Where rows contradict each other, there is no motion:
    NaN.
    """

    def __init__(self, held: Constrained, robots: Any, torque: Torque | None, passive: bool) -> None:
        super().__init__(held, torque, passive)
        self._robots = robots

    def _moving(self, robot: System, q: np.ndarray, v: np.ndarray, tau: Any) -> tuple[np.ndarray, Any]:
        return self.accelerations(q, v, tau), self._robots.damping_power(q, v) if self._passive else 0.0

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: Any) -> np.ndarray:
        held = self._held
        total = tau + self._robots.passive_forces(q, v) if self._passive else tau
        free, nominal = self._robots.forward_dynamics(q, v, total), held.system.forward_dynamics(q, v, total)
        _, missing = held.compiled("forward_dynamics_factor")(q, v, total)  # of the rows, at nominal accelerations
        return free + self._answer(q, missing + apply(held.jacobian(q), free - nominal))

    def _answer(self, q: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """The correction M⁻¹ Aᵀ λ (..., nv) by the least forces λ along the rows that remove what is missing there."""
        A, inverse = self._held.jacobian(q), self._inverse_mass_matrix(q)
        valid: Any = np.isfinite(inverse).all(axis=(-2, -1)) & np.isfinite(missing).all(axis=-1)
        finite = np.where(valid[..., None, None], inverse, np.eye(inverse.shape[-1]))
        Y = transpose(np.linalg.cholesky(finite)) @ np.where(valid[..., None, None], transpose(A), 0.0)
        force, gap = least_force(Y, np.where(valid[..., None], missing, 0.0), self._held.quiet_rows)
        solved = valid & (gap <= self._held._tolerance)
        return apply(inverse @ transpose(A), np.where(solved[..., None], force, np.nan))

    def _inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self._robots.inverse_mass_matrix(q)

    def _allowed_velocity(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v + self._answer(q, self._held.rate(q, v))

    def _project_where(self, valid: Any, after: SimulatedState, now: SimulatedState) -> tuple[np.ndarray, np.ndarray]:
        """All samples at once, since parameters are those of all: others are where they were meanwhile."""
        which = valid[..., None]
        met = self._project(np.where(which, after.q, now.q), np.where(which, after.v, now.v))
        return np.where(which, met[0], after.q), np.where(which, met[1], after.v)


def follower_of(held: Constrained, robots: Any, torque: Torque | None, passive: bool) -> ConstrainedFollower:
    """The integrator of a robot with constraints; `robots` is the robot, or has its functions with
    parameters that differ from sample to sample.
    """
    if robots is held.system:
        return ConstrainedFollower(held, torque, passive)
    return VaryingFollower(held, robots, torque, passive)


def check_met(held: Constrained, q: np.ndarray, v: np.ndarray) -> None:
    """Refuse states at which constraints are not met."""
    finite = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
    if not finite.any():
        return
    gap, rate = np.abs(held.residual(q[finite])), np.abs(held.rate(q[finite], v[finite]))
    for what, errors, unit in (("q", gap, "is open by"), ("v", rate, "moves by")):
        if errors.max(initial=0.0) > OPEN:
            row = int(np.argmax(errors.reshape(-1, held.m).max(axis=0)))
            raise ArgumentError(
                f"{what}: the constraint {held.rows[row]!r} {unit} {errors.max():.3g} at the start; start from "
                "constrained.project(q, v)"
            )


class ConstrainedRun(ChartedRun):
    """Samples under way of a robot with constraints."""

    def __init__(
        self, held: Constrained, chart_of: Callable[[System], Chart], state: Mapping[str, Any],
        numbers: Mapping[str, Any], law: ForceLaw, controls: MotionControls,
    ) -> None:  # fmt: skip
        super().__init__(held.system, chart_of, state, numbers, which=law.which)
        self._held, self._law, self._controls = held, law, controls

    def _switch_velocities(self, s: ChartedSamples, asked: AskedSteps) -> ChartedSamples:
        """The samples after those whose step gave no state have made it another way, and caught up."""
        while True:
            failed = (s.status == DIVERGED) & ~self.lost_at_start & (self.retried != s.made)
            if not failed.any():
                return s
            s = s.copies()
            self.start_anew()
            for made in np.unique(s.made[failed]):
                self._step_anew(s, np.flatnonzero(failed & (s.made == made)), int(made), asked)
            self.catch_up(s, 0, np.flatnonzero(failed & (s.status == RUNNING) & (s.made < asked.end)), asked)

    def _step_anew(self, s: ChartedSamples, ids: np.ndarray, made: int, asked: AskedSteps) -> None:
        """One step of some samples by `ConstrainedFollower`; those that have no state after it stay as they are."""
        self.retried[ids] = made
        which: Any = ids if self.batch else int(ids[0])  # of one sample, errors are raised
        now, law, dt = SimulatedState(*(s.state[name][which] for name in ("q", "v", "lost"))), self._law, self._dt
        held = self._acting(s, ids, made, now)
        robots = self._robots(which)

        def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            tau = np.zeros(v.shape[-1]) if law.torque is None else law.torque(t, q, v)
            return tau + force_of_controls(robots, q, v, held)

        after = follower_of(self._held, robots, force, law.passive).step(made * dt, now, dt)
        valid = np.atleast_1d(~diverged(after))
        done = ids[valid]
        found = {"q": after.q, "v": after.v, "lost": np.asarray(after.lost)}
        found |= {f"held_{name}": held[name] for name in law.traced_controls}
        for name, x in found.items():
            fresh = x.reshape(len(ids), *s.state[name].shape[1:])[valid]
            s.state[name][done] = fresh
            if (made + 1) % asked.every == 0 and name in asked.records:
                asked.records[name][done, (made + 1) // asked.every - 1] = fresh
        s.made[done], s.status[done] = made + 1, RUNNING
        counts = {"count": made + 1, "since": (made + 1) % law.period}
        for name in counts.keys() & s.state.keys():
            s.state[name][done] = counts[name]

    @property
    def _dt(self) -> float:
        return float(self._numbers["dt"][0])

    def _robots(self, which: Any) -> Any:
        """The functions of the robot with the parameters of some samples."""
        if not self._law.which:
            return self._held.system
        values = {name: self._numbers[name][which] for name in argument_names(self._law.which)}
        return self._held.system.varying(*(x.name for x in self._law.which)).at(**values)

    def _acting(self, s: ChartedSamples, ids: np.ndarray, made: int, now: SimulatedState) -> dict[str, np.ndarray]:
        """The controls of a step of some samples, by name."""
        controls = self._controls.acting(self, ids, made)
        for name, traced in self._law.traced_controls.items():
            begins = made % self._law.period == 0
            controls[name] = traced(made * self._dt, now.q, now.v) if begins else s.state[f"held_{name}"][ids]
        return {name: x.reshape(*now.v.shape[:-1], -1) for name, x in controls.items()}
