"""Simulations of robots whose constraints are enforced by forces, and of robots driven by the forces of their drives.

`ConstrainedFollower` makes Runge-Kutta steps of a constrained robot's `forward_dynamics`, called from Python;
`constrained_step` is the same in machine code. Each step ends with a projection onto the constraints: q by Newton steps
until loops and functions are closed to rounding, v by the impulse that removes what violates a row. Rows that restrict
velocities only are enforced as such: positions that follow from them have the error of the steps. An actuated robot is
the robot itself with a motor on each of its drives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, SingularError
from ..functions.nan_reasons import describe_toggles
from ..linalg import apply, inverse_in_units, transpose
from ..mechanism.actuators import Actuator, Drive
from ..system.constrained.actuated import Actuated
from ..system.constrained.dense_solvers import least_force
from ..system.constrained.robot import Constrained
from ..system.system import System
from ..tolerances import CONVERGED, OPEN
from .constrained_step import NEWTON
from .loops.varied_loops import Which, loop_parameters
from .read_arguments import check_closed, on_copies
from .runge_kutta import Follower, SimulatedState, Torque, step

_UNIT_TIME = np.array(1.0)


def motorised(robot: Actuated) -> System:
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
    """`motorised`, made once."""
    kept = vars(robot)
    if "_motorised" not in kept:
        kept["_motorised"] = motorised(robot)
    return kept["_motorised"]


def in_drives(robot: Actuated, torque: Any, control: Any, u: Any) -> tuple[System, Any, Any]:
    """The robot to simulate, its torque, and the controls of its motors."""
    if u is not None:
        raise ArgumentError("u: an actuated robot takes the forces of its drives as tau=, not u=")
    made = _in_motors(robot)
    if torque is None:
        return made, None, control
    if not callable(torque) or hasattr(torque, "function"):
        raise ArgumentError(
            "tau: an actuated robot takes a law of arrays with period=0; give traced forces with a period"
        )
    asked: Any = on_copies(torque)
    return made, lambda t, q, v: made.actuator_force(q, asked(t, q, v)), control


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
            return after._replace(**dict(zip(("q", "v"), self._met(after.q, after.v), strict=True)))
        q, v = self._met_where(valid, after, now)
        return after._replace(q=q, v=v)

    def _met_where(self, valid: Any, after: SimulatedState, now: SimulatedState) -> tuple[np.ndarray, np.ndarray]:
        """The states of a batch after a step from `now`, on the constraints in the samples that are `valid`."""
        q, v = after.q.copy(), after.v.copy()
        q[valid], v[valid] = self._met(q[valid], v[valid])
        return q, v

    def _inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self._held.system.inverse_mass_matrix(q)

    def _kept(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v without what breaks a row."""
        return self._held.impulse(q, v)[0]

    def _met(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        held = self._held
        for _ in range(NEWTON):
            phi = held.residual(q)
            if not (np.abs(phi).max(initial=0.0) > CONVERGED):
                break
            L = np.linalg.cholesky(self._inverse_mass_matrix(q))  # M⁻¹ = L Lᵀ; along M⁻¹ Aᵀ
            back = -np.einsum("...ij,...j->...i", L @ inverse_in_units(held.jacobian(q) @ L), phi)
            q = held.system.integrate(q, back, _UNIT_TIME)
        return q, self._kept(q, v)


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
        """The correction M⁻¹ Aᵀ λ by the least forces λ along the rows that remove what is missing there."""
        A, inverse = self._held.jacobian(q), self._inverse_mass_matrix(q)
        valid: Any = np.isfinite(inverse).all(axis=(-2, -1)) & np.isfinite(missing).all(axis=-1)
        finite = np.where(valid[..., None, None], inverse, np.eye(inverse.shape[-1]))
        Y = transpose(np.linalg.cholesky(finite)) @ np.where(valid[..., None, None], transpose(A), 0.0)
        force, gap = least_force(Y, np.where(valid[..., None], missing, 0.0), self._held.quiet_rows)
        solved = valid & (gap <= self._held._tolerance)
        return apply(inverse @ transpose(A), np.where(solved[..., None], force, np.nan))

    def _inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self._robots.inverse_mass_matrix(q)

    def _kept(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return v + self._answer(q, self._held.rate(q, v))

    def _met_where(self, valid: Any, after: SimulatedState, now: SimulatedState) -> tuple[np.ndarray, np.ndarray]:
        """All samples at once, since parameters are those of all: others are where they were meanwhile."""
        which = valid[..., None]
        met = self._met(np.where(which, after.q, now.q), np.where(which, after.v, now.v))
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
    for what, x, unit in (("q", gap, "is open by"), ("v", rate, "moves by")):
        if x.max(initial=0.0) > OPEN:
            row = int(np.argmax(x.reshape(-1, held.m).max(axis=0)))
            raise ArgumentError(
                f"{what}: the constraint {held.rows[row]!r} {unit} {x.max():.3g} at the start; start from "
                "constrained.project(q, v)"
            )
