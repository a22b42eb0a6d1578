"""Drake (`pip install drake`): the tree of a finalized MultibodyPlant as ours, and its states.

Drake orders spatial vectors as we do, [angular; linear], but in world axes; a quaternion precedes the position; and
velocities of ball, planar and floating joints are in the axes of the joint's parent. A `Peer` holds a plant and the
same robot as ours, and converts between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import joints
from ..errors import ModelError
from ..functions.arguments import F_EXT
from ..interop import PeerJoint, convention, wrench_from_world, wrench_to_world
from ..interop.robot_states import Convention
from ..joints import Joint
from ..system.system import Builder, System
from .peer import RobotPeer, constant_pose, in_series

__all__ = ["Peer", "from_drake"]

_TURN = 2.0 * np.pi


def _screw_axis(joint: Any) -> list[float]:
    """The axis, which Drake does not expose: read from the rotation by a quarter turn."""
    plant = joint.GetParentPlant()
    context = plant.CreateDefaultContext()
    q = np.array(plant.GetPositions(context))
    q[joint.position_start()] = np.pi / 2.0
    plant.SetPositions(context, q)
    R = joint.frame_on_child().CalcPose(context, joint.frame_on_parent()).rotation().matrix()
    return [(R[2, 1] - R[1, 2]) / 2.0, (R[0, 2] - R[2, 0]) / 2.0, (R[1, 0] - R[0, 1]) / 2.0]


_JOINTS: dict[str, Callable[[Any], Joint]] = {
    "weld": lambda j: joints.Fixed(),
    "revolute": lambda j: joints.Revolute(j.revolute_axis()),
    "prismatic": lambda j: joints.Prismatic(j.translation_axis()),
    "screw": lambda j: joints.Helical(_screw_axis(j), pitch=j.screw_pitch() / _TURN),
    "universal": lambda j: joints.Universal("x", "y"),
    "planar": lambda j: joints.Planar(),
    "ball_rpy": lambda j: joints.Spherical(),
    "quaternion_floating": lambda j: joints.Free(),
    "rpy_floating": lambda j: joints.Free(),
}


def _joint(joint: Any) -> Joint:
    kind = joint.type_name()
    if kind not in _JOINTS:
        raise ModelError(f"Drake joint {joint.name()!r} has type {kind!r}, which this bridge does not support")
    return _JOINTS[kind](joint)


def _convention(joint: Any) -> Convention:
    variant = "rpy" if joint.type_name() == "rpy_floating" else ""
    return convention("drake", _joint(joint), variant)


def _tree(plant: Any) -> list[Any]:
    """The joints that carry bodies, parents first."""
    from pydrake.multibody.tree import JointIndex  # type: ignore[import-not-found]

    left = [plant.get_joint(JointIndex(i)) for i in range(plant.num_joints())]
    ordered, done = [], {0}
    while left:
        ready = [j for j in left if int(j.parent_body().index()) in done]
        if not ready:
            raise ModelError(
                f"Drake joint {left[0].name()!r} is reversed: its child is closer to the world than its parent, which "
                "this bridge does not support; exchange the two"
            )
        done |= {int(j.child_body().index()) for j in ready}
        ordered += ready
        left = [j for j in left if j not in ready]
    return ordered


def _name(plant: Any, body: Any) -> str:
    """A body's name, with its model instance where another body has the same."""
    if int(body.index()) == 0:
        return "world"
    return body.name() if plant.NumBodiesWithName(body.name()) == 1 else body.scoped_name().get_full()


def _armature(plant: Any, joint: Any) -> list[float]:
    """Reflected inertia of the motors that drive a joint of one velocity."""
    from pydrake.multibody.tree import JointActuatorIndex  # type: ignore[import-not-found]

    motors = [plant.get_joint_actuator(JointActuatorIndex(i)) for i in range(plant.num_actuators())]
    own = [m for m in motors if m.joint().index() == joint.index()]
    reflected = sum(m.default_gear_ratio() ** 2 * m.default_rotor_inertia() for m in own)
    return [float(reflected)] * joint.num_velocities()


def _damping(joint: Any) -> list[float]:
    """The damping of a joint's velocities; it must be zero for joints that Drake stores in other axes."""
    values = [float(x) for x in joint.default_damping_vector()]
    if any(values) and _convention(joint).turns:
        raise ModelError(f"Drake joint {joint.name()!r} has damping in axes other than ours; set its damping to zero")
    return values


def _limits(joint: Any) -> tuple[Any, Any] | None:
    """The range of a joint with one coordinate."""
    return (joint.position_lower_limits(), joint.position_upper_limits()) if joint.num_positions() == 1 else None


def _check(plant: Any) -> None:
    """Refuse elements that would change the equations of motion but are not part of a tree of bodies."""
    if not plant.is_finalized():
        raise ModelError("the MultibodyPlant is not finalized; call plant.Finalize() first")
    if plant.num_constraints():
        raise ModelError(
            f"the MultibodyPlant has {plant.num_constraints()} constraints, but this bridge translates the tree only: "
            "remove them, and declare loops on the robot"
        )
    if plant.num_force_elements() > 1:
        raise ModelError(
            "the MultibodyPlant has force elements other than gravity, which this bridge does not support: remove "
            "them, and add their force to tau or f_ext"
        )


def from_drake(plant: Any, name: str = "robot") -> System:
    """The robot of a Drake plant.

    Parameters
    ----------
    plant : pydrake.multibody.plant.MultibodyPlant
        The plant, finalized; its default parameters are taken.
    name : str, default 'robot'
        Name of the robot.

    Returns
    -------
    System
        The same bodies and joints; frames of bodies are those of Drake.

    Raises
    ------
    ModelError
        If the plant has constraints, springs, or force elements other than gravity.

    Examples
    --------
    >>> from pydrake.multibody.plant import MultibodyPlant
    >>> from pydrake.multibody.parsing import Parser
    >>> from fourbar.bridges.drake import from_drake
    >>> text = '''<robot name="arm"><link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
    ...   <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="world"/><child link="rod"/><axis xyz="0 1 0"/></joint>
    ... </robot>'''
    >>> plant = MultibodyPlant(0.0)
    >>> _ = Parser(plant).AddModelsFromString(text, "urdf")
    >>> plant.Finalize()
    >>> from_drake(plant).nv
    1
    """
    _check(plant)
    b = Builder(name, gravity=plant.gravity_field().gravity_vector())
    for j in _tree(plant):
        before = j.frame_on_parent().GetFixedPoseInBodyFrame()
        after = j.frame_on_child().GetFixedPoseInBodyFrame().inverse()
        child = j.child_body()
        inertia = child.default_spatial_inertia()
        joint = _joint(j)
        rest = constant_pose(after.rotation().matrix(), after.translation())
        fixed = joint.nv == 0
        start = before.multiply(j.X_FM()).multiply(after) if fixed else before
        central = inertia.Shift(inertia.get_com())
        b.body(
            _name(plant, child),
            parent=_name(plant, j.parent_body()),
            joint=joint if fixed else in_series([joint, rest]),
            joint_name=f"joint of {_name(plant, child)}",
            position=start.translation(),
            rotation=start.rotation().matrix(),
            mass=inertia.get_mass(),
            com=inertia.get_com(),
            inertia=central.CalcRotationalInertia().CopyToFullMatrix3(),
            armature=_armature(plant, j),
            damping=_damping(j),
            limits=_limits(j),
            allow_unphysical=True,
        )
    return b.build()


class Peer(RobotPeer):
    """A Drake plant, the same robot as ours (`robot`), and the conversions of states between them.

    It has the conversions of `StateMap`. Where the robot has spherical, planar or floating joints, conversions of
    velocities need our q, those of accelerations our v too.

    Parameters
    ----------
    model : pydrake.multibody.plant.MultibodyPlant
        The plant, finalized.
    name : str, default 'robot'
        Name of the robot.

    Examples
    --------
    >>> from pydrake.multibody.plant import MultibodyPlant
    >>> from pydrake.multibody.parsing import Parser
    >>> from fourbar.bridges.drake import Peer
    >>> text = '''<robot name="arm"><link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
    ...   <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="world"/><child link="rod"/><axis xyz="0 1 0"/></joint>
    ... </robot>'''
    >>> plant = MultibodyPlant(0.0)
    >>> _ = Parser(plant).AddModelsFromString(text, "urdf")
    >>> plant.Finalize()
    >>> Peer(plant).q_to_peer([0.3])
    array([0.3])
    """

    def __init__(self, model: Any, name: str = "robot") -> None:
        parts, q, v = [], 0, 0
        ordered = _tree(model)
        robot = from_drake(model, name)
        for j in ordered:
            stored = _convention(j)
            if stored.nv:
                body = _name(model, j.child_body())
                parts.append(PeerJoint(body, stored, q, v, j.position_start(), j.velocity_start()))
            q, v = q + stored.nq, v + stored.nv
        super().__init__("drake", model, robot, parts)
        self.joints = tuple(ordered)  # Drake's bodies in our order
        self.bodies = tuple(j.child_body() for j in ordered)

    def jacobian_from_peer(self, J: Any, q: Any = None) -> np.ndarray:
        """Jacobians of spatial velocity as ours: only the columns differ.

        Parameters
        ----------
        J : array_like, shape (..., 6, nv)
            Its Jacobians with respect to v.
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., 6, nv)
            Our Jacobians, rows [angular; linear].
        """
        return self.columns_from_peer(J, q)

    def jacobian_to_peer(self, J: Any, q: Any = None) -> np.ndarray:
        """Our Jacobians as those of Drake with respect to v.

        Parameters
        ----------
        J : array_like, shape (..., 6, nv)
            Our Jacobians, rows [angular; linear].
        q : array_like, shape (..., nq), optional
            Our configuration; needed where the peer has velocities in other axes.

        Returns
        -------
        ndarray, shape (..., 6, nv)
            Its Jacobians.
        """
        return self.columns_to_peer(J, q)

    def wrenches_to_peer(self, f_ext: Any, q: Any) -> np.ndarray:
        """Our wrenches on bodies as spatial forces of Drake.

        Parameters
        ----------
        f_ext : array_like, shape (..., n_bodies, 6), or dict
            Our wrenches [moment; force] (N m, N) on the bodies, in their frames; or on some, ``{"hand": wrench}``.
        q : array_like, shape (..., nq)
            Our configuration.

        Returns
        -------
        ndarray, shape (..., n_bodies, 6)
            [torque; force] at the origins of the bodies in world axes, in the order of `bodies`.
        """
        return wrench_to_world(F_EXT.read(self.robot.model, "wrenches_to_peer", f_ext), self.robot.poses(q))

    def wrenches_from_peer(self, forces: Any, q: Any) -> np.ndarray:
        """Spatial forces of Drake as our wrenches on bodies.

        Parameters
        ----------
        forces : array_like, shape (..., n_bodies, 6)
            [torque; force] at the origins of the bodies in world axes, in the order of `bodies`.
        q : array_like, shape (..., nq)
            Our configuration.

        Returns
        -------
        ndarray, shape (..., n_bodies, 6)
            Our wrenches [moment; force] (N m, N) on the bodies, in their frames.
        """
        return wrench_from_world(forces, self.robot.poses(q))

    def momentum_from_peer(self, h: Any) -> np.ndarray:
        """Its spatial momentum as ours: the same, in world axes about the same point.

        Parameters
        ----------
        h : array_like, shape (..., 6)
            Its momentum.

        Returns
        -------
        ndarray, shape (..., 6)
            Our momentum [angular; linear] (kg m²/s, kg m/s).
        """
        return np.asarray(h, float)
