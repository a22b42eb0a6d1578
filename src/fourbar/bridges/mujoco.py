"""MuJoCo (`pip install mujoco`): its models as ours, and its states.

Coordinates are the same: qpos. The velocity of a free joint is (linear in world axes, angular in body axes) for MuJoCo,
(angular, linear) in body axes for us; applied wrenches are [force; torque] in world axes at the centre of mass. A
`Peer` holds one of its models, the same robot as ours, and converts between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..functions.arguments import F_EXT
from ..interop import PeerJoint, convention, pose_from_quaternion, swapped, wrench_from_world, wrench_to_world
from ..interop.batched_vectors import read
from ..io.loop_repair import report_loops, straighten_axes
from ..io.mjcf.convert import convert, model_name
from ..io.mjcf.lines import ElementLines, MjcfNames
from ..io.report import Reading, Report
from ..io.source import Options
from ..system.system import System
from .peer import RobotPeer

__all__ = ["Peer", "from_mujoco"]


def from_mujoco(model: Any, *, strict: bool = False, waive: tuple[str, ...] = ()) -> tuple[System, Report]:
    """The robot of a compiled MuJoCo model.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    strict : bool, default False
        Make errors of warnings: of all that is not understood.
    waive : tuple of str, default ()
        Findings to accept, by their keys; see `load`.

    Returns
    -------
    robot : System
        The same robot.
    report : Report
        What of the model it has not.

    Raises
    ------
    ParseError
        If what is not understood would change the dynamics and is not waived.

    Examples
    --------
    >>> import mujoco
    >>> from fourbar.bridges.mujoco import from_mujoco
    >>> text = '''<mujoco><worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/>
    ... <inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.01"/></body></worldbody></mujoco>'''
    >>> robot, report = from_mujoco(mujoco.MjModel.from_xml_string(text))
    >>> robot.names.joints
    ('hinge',)
    """
    reading = Reading(model_name(model), strict, waive)
    lines = ElementLines(reading.file)
    mechanism = straighten_axes(convert(model, lines, reading), Options(), reading)
    report_loops(mechanism, reading, lines.of_ours)
    return System(mechanism), reading.close()


class Peer(RobotPeer):
    """A MuJoCo model, the same robot as ours (`robot`), and the conversions of states between them.

    It has the conversions of `StateMap`. Our arrays are those of the independent velocities; MuJoCo has those of all
    joints. Without loops these are the same but for the velocities of free joints, whose conversion needs our q, and
    that of accelerations our v too.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    robot : System, optional
        The same robot, if it was made before.

    Examples
    --------
    >>> import mujoco
    >>> from fourbar.bridges.mujoco import Peer
    >>> text = '''<mujoco><worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/>
    ... <inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.01"/></body></worldbody></mujoco>'''
    >>> Peer(mujoco.MjModel.from_xml_string(text)).q_to_peer([0.3])
    array([0.3])
    """

    def __init__(self, model: Any, robot: System | None = None) -> None:
        robot = from_mujoco(model)[0] if robot is None else robot
        names = MjcfNames(model)
        number, parts, q, v = {name: j for j, name in enumerate(names.joints)}, [], 0, 0
        for c in robot.model.cluster_tree.moving:
            j = number[c.name]
            at = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
            parts.append(PeerJoint(c.name, convention("mujoco", c.joint), q, v, *at))
            q, v = q + c.joint.nq, v + c.joint.nv
        super().__init__("mujoco", model, robot, parts)
        self.bodies = [robot.names.bodies.index(name) for name in list(names.bodies)[1:]]  # its bodies among ours

    def jacobian_from_peer(self, jacp: Any, jacr: Any, q: Any = None) -> np.ndarray:
        """Pair of Jacobians of a point as one of ours.

        Parameters
        ----------
        jacp : array_like, shape (..., 3, nv)
            Its Jacobian of the position, in world axes.
        jacr : array_like, shape (..., 3, nv)
            Its Jacobian of the rotation, in world axes.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., 6, nv)
            Our Jacobian, rows [angular; linear].
        """
        J = np.concatenate([np.asarray(jacr, float), np.asarray(jacp, float)], axis=-2)
        return self.columns_from_peer(J, q)

    def jacobian_to_peer(self, J: Any, q: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Our Jacobians in world axes as pairs of MuJoCo.

        Parameters
        ----------
        J : array_like, shape (..., 6, nv)
            Our Jacobians, rows [angular; linear].
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        jacp : ndarray, shape (..., 3, nv)
            Jacobian of the position.
        jacr : ndarray, shape (..., 3, nv)
            Jacobian of the rotation.
        """
        theirs = self.columns_to_peer(J, q)
        return theirs[..., 3:, :], theirs[..., :3, :]

    def wrenches_to_peer(self, f_ext: Any, q: Any) -> np.ndarray:
        """Our wrenches on bodies as `xfrc_applied`.

        Parameters
        ----------
        f_ext : array_like, shape (..., n_bodies, 6), or dict
            Our wrenches [moment; force] (N m, N) on the bodies, in their frames; or on some, ``{"hand": wrench}``.
        q : array_like, shape (..., nq)
            Our configuration.

        Returns
        -------
        ndarray, shape (..., nbody, 6)
            [force; torque] in world axes, the force at the centre of mass; the world first.

        Raises
        ------
        ArgumentError
            If a body carries a wrench that stands between several joints of one body of MuJoCo.
        """
        F = F_EXT.read(self.robot.model, "wrenches_to_peer", f_ext)
        between = [i for i in range(F.shape[-2]) if i not in set(self.bodies)]
        if np.any(F[..., between, :]):
            loaded = next(i for i in between if np.any(F[..., i, :]))
            raise ArgumentError(f"MuJoCo has no body {self.robot.names.bodies[loaded]!r} to apply a wrench to")
        poses = self.robot.poses(q)[..., self.bodies, :, :]
        world = swapped(wrench_to_world(F[..., self.bodies, :], poses, self.model.body_ipos[1:]))
        return np.concatenate([np.zeros_like(world[..., :1, :]), world], axis=-2)

    def wrenches_from_peer(self, xfrc_applied: Any, q: Any) -> np.ndarray:
        """`xfrc_applied` as our wrenches on bodies.

        Parameters
        ----------
        xfrc_applied : array_like, shape (..., nbody, 6)
            [force; torque] in world axes, the force at the centre of mass; the world first.
        q : array_like, shape (..., nq)
            Our configuration.

        Returns
        -------
        ndarray, shape (..., n_bodies, 6)
            Our wrenches [moment; force] (N m, N) on the bodies, in their frames.
        """
        world = swapped(xfrc_applied)[..., 1:, :]
        own = wrench_from_world(world, self.robot.poses(q)[..., self.bodies, :, :], self.model.body_ipos[1:])
        found = np.zeros((*own.shape[:-2], len(self.robot.names.bodies), 6))
        found[..., self.bodies, :] = own
        return found

    def momentum_from_peer(self, linvel: Any, angmom: Any, com: Any, q: Any) -> np.ndarray:
        """Momentum of the whole as ours.

        Parameters
        ----------
        linvel : array_like, shape (..., 3)
            Its `subtree_linvel` of the world (m/s).
        angmom : array_like, shape (..., 3)
            Its `subtree_angmom` of the world (kg m²/s).
        com : array_like, shape (..., 3)
            Its `subtree_com` of the world (m).
        q : array_like, shape (..., nq)
            Our configuration.

        Returns
        -------
        ndarray, shape (..., 6)
            Our momentum [angular; linear] (kg m²/s, kg m/s).

        Notes
        -----
        Their centre of mass counts bodies that never move; ours does not.
        """
        p = float(np.sum(self.model.body_mass)) * read("linvel", linvel, 3)
        arm = read("com", com, 3) - self.robot.center_of_mass(q)
        return np.concatenate([read("angmom", angmom, 3) + np.cross(arm, p), p], axis=-1)

    def poses_from_peer(self, xpos: Any, xquat: Any) -> np.ndarray:
        """Poses of its bodies.

        Parameters
        ----------
        xpos : array_like, shape (..., nbody, 3)
            Their positions (m).
        xquat : array_like, shape (..., nbody, 4)
            Their quaternions (w, x, y, z).

        Returns
        -------
        ndarray, shape (..., nbody - 1, 4, 4)
            Those of ``robot.poses(q)[..., peer.bodies, :, :]``, without the world.
        """
        return pose_from_quaternion(read("xpos", xpos, 3), read("xquat", xquat, 4))[..., 1:, :, :]
