"""Simulations of robots whose constraints are kept by forces, and of robots in the forces of their drives.

`ConstrainedFollower` makes Runge-Kutta steps of a constrained robot's `forward_dynamics`, called from Python;
`held_step` has the same as machine code. After each step the state is put back on the constraints: q by Newton's steps
until loops and functions are closed to rounding, v by the impulse that takes out what breaks a row. Rows that hold
velocities only are kept as such: places that follow from them have the error of the steps. An actuated robot is the
robot itself with a motor on each of its drives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..linalg import inverse_in_units
from ..mechanism.actuators import Actuator, Drive
from ..system.constrained.actuated import Actuated
from ..system.constrained.robot import Constrained
from ..system.system import System
from .held_step import CLOSED, NEWTON
from .runge_kutta import Follower, State, Torque, step

_MET = 1e-6  # how far a start may be from the constraints
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
    return type(robot.system)(replace(mechanism, actuators=tuple(motors), joints=free))


class Kept(NamedTuple):
    """The robot that moves in a scene; the same with constraints that forces keep, and these, if there are any."""

    robot: Any
    constrained: Constrained | None = None
    conditions: tuple[Any, ...] = ()

    @staticmethod
    def of(robot: Any) -> Kept:
        """What is no robot stays as it is."""
        if isinstance(robot, Actuated):
            return Kept(_in_motors(robot))
        return Kept(robot.system, robot, robot._model.conditions) if isinstance(robot, Constrained) else Kept(robot)

    def check(self, q: np.ndarray, v: np.ndarray) -> None:
        """Refuse states at which the constraints are not met."""
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
        raise ArgumentError("simulate: an actuated robot takes the forces of its drives as control=, not u=")
    made = _in_motors(robot)
    if torque is None:
        return made, None, control
    if not callable(torque) or hasattr(torque, "function"):
        raise ArgumentError(
            "simulate: of an actuated robot torque= is a function of arrays; give traced forces as control="
        )
    asked: Any = torque
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

    def step(self, t: float, now: State, dt: float) -> State:
        """The next state, on the constraints."""
        after = step(self.charts.robot, t, now, dt, self._force, self.acting)
        sound = np.isfinite(after.q).all(axis=-1) & np.isfinite(after.v).all(axis=-1)
        if not sound.any():
            return after
        if after.q.ndim == 1:
            return after._replace(**dict(zip(("q", "v"), self._met(after.q, after.v), strict=True)))
        q, v = after.q.copy(), after.v.copy()
        q[sound], v[sound] = self._met(q[sound], v[sound])
        return after._replace(q=q, v=v)

    def _met(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        held = self._held
        for _ in range(NEWTON):
            phi = held.residual(q)
            if not (np.abs(phi).max(initial=0.0) > CLOSED):
                break
            L = np.linalg.cholesky(held.system.inverse_mass_matrix(q))  # M⁻¹ = L Lᵀ: along M⁻¹ Aᵀ, as `held_step`
            back = -np.einsum("...ij,...j->...i", L @ inverse_in_units(held.jacobian(q) @ L), phi)
            q = held.system.integrate(q, back, _UNIT_TIME)
        return q, held.impulse(q, v)[0]


def check_met(held: Constrained, q: np.ndarray, v: np.ndarray) -> None:
    """Refuse states at which constraints are not met."""
    finite = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
    if not finite.any():
        return
    gap, rate = np.abs(held.residual(q[finite])), np.abs(held.rate(q[finite], v[finite]))
    for what, x, unit in (("q", gap, "is open by"), ("v", rate, "moves by")):
        if x.max(initial=0.0) > _MET:
            row = int(np.argmax(x.reshape(-1, held.m).max(axis=0)))
            raise ArgumentError(
                f"{what}: the constraint {held.rows[row]!r} {unit} {x.max():.3g} at the start; start from "
                "constrained.project(q, v)"
            )
