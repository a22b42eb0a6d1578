"""MuJoCo (`pip install mujoco`): its models as ours, and its states.

Coordinates are the same: qpos. Of a free joint MuJoCo's velocity is (linear in world axes, angular in body axes), ours
(angular, linear) in body axes: v_theirs = B(q) v_ours, hence forces Bᵀ f, and accelerations B a + Ḃ v. A `Peer` holds
one of its models, the same robot as ours, and converts between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..io.mjcf.bodies import FREE, rotation
from ..io.mjcf.convert import convert, model_name
from ..io.mjcf.names import Lines
from ..io.report import Reading, Report
from ..system.robot import System


def from_mujoco(model: Any, *, strict: bool = False, waive: tuple[str, ...] = ()) -> tuple[System, Report]:
    """The same robot, from a compiled `mujoco.MjModel`, and what of the model it has not."""
    reading = Reading(model_name(model), strict, waive)
    mechanism = convert(model, Lines(reading.file), reading)
    return System(mechanism), reading.close()


class Peer:
    """A MuJoCo model, the same robot as ours (`robot`), and the conversions of states between them.

    Arrays of ours are those of the independent velocities; MuJoCo has those of all joints. Without loops these are the
    same but for the velocities of free joints.
    """

    def __init__(self, model: Any, robot: System) -> None:
        self.model, self.robot = model, robot
        self._free = [j for j in range(model.njnt) if model.jnt_type[j] == FREE]

    def q_to_peer(self, q: np.ndarray) -> np.ndarray:
        """Our configuration (nq) as qpos."""
        return self.robot.expand(q)

    def basis(self, qpos: np.ndarray) -> np.ndarray:
        """B (nv, nv): MuJoCo's velocities of all joints from ours."""
        B = np.eye(self.model.nv)
        for j in self._free:
            dof, at = self.model.jnt_dofadr[j], self.model.jnt_qposadr[j]
            block = np.zeros((6, 6))
            block[:3, 3:], block[3:, :3] = rotation(qpos[at + 3 : at + 7]), np.eye(3)
            B[dof : dof + 6, dof : dof + 6] = block
        return B

    def v_to_peer(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Our velocity (nv) as qvel."""
        return self.basis(self.q_to_peer(q)) @ self.robot.expand_velocity(q, v)

    def a_to_peer(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Our acceleration (nv) as qacc: the linear one of a free joint is that of a point, R (a + ω x v)."""
        B, ours = self.basis(self.q_to_peer(q)), self.robot.expand_velocity(q, v)
        full = self.robot.expand_acceleration(q, v, a).copy()
        for j in self._free:
            dof = self.model.jnt_dofadr[j]
            full[dof + 3 : dof + 6] += np.cross(ours[dof : dof + 3], ours[dof + 3 : dof + 6])
        return B @ full

    def force_from_peer(self, q: np.ndarray, force: np.ndarray) -> np.ndarray:
        """MuJoCo's generalised force on all joints (nv), as one on our independent velocities."""
        return self.robot.loop_map(q).T @ (self.basis(self.q_to_peer(q)).T @ force)

    def matrix_from_peer(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """MuJoCo's matrix on the velocities of all joints (nv, nv), as one on our independent velocities."""
        J = self.basis(self.q_to_peer(q)) @ self.robot.loop_map(q)
        return J.T @ M @ J
