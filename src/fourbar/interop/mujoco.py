"""MuJoCo (`pip install mujoco`): its models as ours, and its states.

Coordinates are the same: qpos. The velocity of a free joint is (linear in world axes, angular in body axes) for MuJoCo,
(angular, linear) in body axes for us; applied wrenches are [force; torque] in world axes at the centre of mass. A
`Peer` holds one of its models, the same robot as ours, and converts between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..io.closing import report_loops, straightened
from ..io.mjcf.convert import convert, model_name
from ..io.mjcf.lines import Lines
from ..io.mjcf.names import Names
from ..io.report import Reading, Report
from ..io.source import Options
from ..system.system import System
from . import Part, convention, pose_from_quaternion, swapped, wrench_from_world, wrench_to_world
from .arrays import read
from .peer import RobotPeer

__all__ = ["Peer", "from_mujoco"]


def from_mujoco(model: Any, *, strict: bool = False, waive: tuple[str, ...] = ()) -> tuple[System, Report]:
    """The same robot, from a compiled `mujoco.MjModel`, and a report of what was not translated."""
    reading = Reading(model_name(model), strict, waive)
    lines = Lines(reading.file)
    mechanism = straightened(convert(model, lines, reading), Options(), reading)
    report_loops(mechanism, reading, lines.of_ours)
    return System(mechanism), reading.close()


class Peer(RobotPeer):
    """A MuJoCo model, the same robot as ours (`robot`), and the conversions of states between them.

    Arrays of ours are those of the independent velocities; MuJoCo has those of all joints. Without loops these are the
    same but for the velocities of free joints, whose conversion needs our q, and of accelerations our v too.
    """

    def __init__(self, model: Any, robot: System | None = None) -> None:
        robot = from_mujoco(model)[0] if robot is None else robot
        names = Names(model)
        number, parts, q, v = {name: j for j, name in enumerate(names.joints)}, [], 0, 0
        for c in robot.model.cluster_tree.moving:
            j = number[c.name]
            at = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
            parts.append(Part(c.name, convention("mujoco", c.joint), q, v, *at))
            q, v = q + c.joint.nq, v + c.joint.nv
        super().__init__("mujoco", model, robot, parts)
        self.bodies = [robot.names.bodies.index(name) for name in list(names.bodies)[1:]]  # its bodies among ours

    def jacobian_from_peer(self, jacp: Any, jacr: Any, q: Any = None) -> np.ndarray:
        """The pair of Jacobians (..., 3, nv) of a point in world axes as ours (..., 6, nv): [angular; linear]."""
        J = np.concatenate([np.asarray(jacr, float), np.asarray(jacp, float)], axis=-2)
        return self.columns_from_peer(J, q)

    def jacobian_to_peer(self, J: Any, q: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Our Jacobians (..., 6, nv) in world axes as the pair (jacp, jacr) of MuJoCo, each (..., 3, nv)."""
        theirs = self.columns_to_peer(J, q)
        return theirs[..., 3:, :], theirs[..., :3, :]

    def wrenches_to_peer(self, f_ext: Any, q: Any) -> np.ndarray:
        """Our wrenches on bodies (..., n_bodies, 6) as `xfrc_applied` (..., nbody, 6), the world first.

        [force; torque] in world axes, the force at the centre of mass. Our bodies between the joints of one MuJoCo body
        must have no wrench.
        """
        F = read("f_ext", f_ext, len(self.robot.names.bodies), 6)
        between = [i for i in range(F.shape[-2]) if i not in set(self.bodies)]
        if np.any(F[..., between, :]):
            loaded = next(i for i in between if np.any(F[..., i, :]))
            raise ArgumentError(f"MuJoCo has no body {self.robot.names.bodies[loaded]!r} to apply a wrench to")
        poses = self.robot.poses(q)[..., self.bodies, :, :]
        world = swapped(wrench_to_world(F[..., self.bodies, :], poses, self.model.body_ipos[1:]))
        return np.concatenate([np.zeros_like(world[..., :1, :]), world], axis=-2)

    def wrenches_from_peer(self, xfrc_applied: Any, q: Any) -> np.ndarray:
        """`xfrc_applied` (..., nbody, 6), the world first, as our wrenches on bodies (..., n_bodies, 6)."""
        world = swapped(xfrc_applied)[..., 1:, :]
        own = wrench_from_world(world, self.robot.poses(q)[..., self.bodies, :, :], self.model.body_ipos[1:])
        found = np.zeros((*own.shape[:-2], len(self.robot.names.bodies), 6))
        found[..., self.bodies, :] = own
        return found

    def momentum_from_peer(self, linvel: Any, angmom: Any, com: Any, q: Any) -> np.ndarray:
        """`subtree_linvel`, `subtree_angmom` and `subtree_com` of the world (..., 3) as our momentum (..., 6).

        Their centre of mass counts bodies that never move; ours does not.
        """
        p = float(np.sum(self.model.body_mass)) * read("linvel", linvel, 3)
        arm = read("com", com, 3) - self.robot.center_of_mass(q)
        return np.concatenate([read("angmom", angmom, 3) + np.cross(arm, p), p], axis=-1)

    def poses_from_peer(self, xpos: Any, xquat: Any) -> np.ndarray:
        """`xpos` (..., nbody, 3) and `xquat` (..., nbody, 4) as poses (..., nbody - 1, 4, 4), without the world.

        They are those of `robot.poses(q)[..., peer.bodies, :, :]`.
        """
        return pose_from_quaternion(read("xpos", xpos, 3), read("xquat", xquat, 4))[..., 1:, :, :]
