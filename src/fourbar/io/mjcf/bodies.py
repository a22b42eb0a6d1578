"""Bodies and joints of a compiled MuJoCo model, as a Builder takes them.

MuJoCo places a body by pos and quat, then moves it by its joints in turn, each about an anchor in the body's frame: T =
T_body Π Trans(p) J(q - ref) Trans(-p). J(q - ref) = J(-ref) J(q), so J(-ref) belongs to the constant part, and our
coordinates are MuJoCo's. Several joints, or a joint whose anchor is not the body's origin, each carry a massless body,
so that all keep their names; bodies fixed to each other cost nothing. So does the drag of a body whose principal axes
are not its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...joints import Composite, Joint, Spherical, Translation3
from ...joints.registry import about, types_by_tag
from ...mechanism.builder import MechanismBuilder
from ...mechanism.geometry import Geometry
from ..numbers import position_limit
from ..report import Reading
from .contacts import joint_softness
from .fluids import drag, in_body_axes
from .lines import ElementLines, MjcfNames
from .switches import compensation

if TYPE_CHECKING:
    from .passive import Passive, Rotors

FREE, BALL, SLIDE, HINGE = range(4)
_TYPES = ("free", "ball", "slide", "hinge")
# A free joint with armature: MuJoCo adds it to the velocity in world axes, and to the angular one in the body's. These
# are the velocities of this joint, and its coordinates are the same.
FLOATING = Composite(Translation3(), Spherical())


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix of a quaternion (w, x, y, z)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    half = 0.5 * angle
    return rotation(np.array([np.cos(half), *(np.sin(half) * axis)]))


class Bodies:
    """Adds all bodies of a model to a builder, parents first."""

    def __init__(
        self,
        model: Any,
        names: MjcfNames,
        lines: ElementLines,
        reading: Reading,
        rotors: Rotors,
        passive: Passive,
        geometry: Mapping[int, list[Geometry]],
    ) -> None:
        self.model, self.names, self.lines, self.reading = model, names, lines, reading
        self.rotors, self.passive, self.geometry = rotors, passive, geometry

    def add_to(self, b: MechanismBuilder) -> None:
        """Add them."""
        for i in range(1, self.model.nbody):
            with self.reading.element(), self.reading.naming(self.lines.of("body", self.names.bodies[i])):
                self._add(b, i)
                self._add_drag(b, i)

    def _add_drag(self, b: MechanismBuilder, i: int) -> None:
        """A massless body with the drag of a body, at its centre of mass and along its principal axes, if need be."""
        m, name = self.model, self.names.bodies[i]
        R, com = rotation(m.body_iquat[i]), np.array(m.body_ipos[i])
        fluid = drag(m, i)
        if fluid is not None and in_body_axes(fluid, R, com) is None:
            b.body(self.names.drag(i), parent=name, position=com, rotation=R, fluid=fluid)

    def _add(self, b: MechanismBuilder, i: int) -> None:
        m, name = self.model, self.names.bodies[i]
        parent = self.names.bodies[m.body_parentid[i]]
        R, p = rotation(m.body_quat[i]), np.array(m.body_pos[i])
        first = m.body_jntadr[i]
        joints = range(first, first + m.body_jntnum[i])
        at = np.zeros(3)  # the frame of the last carrier, in the body's frame
        for j in joints:
            anchor = m.jnt_pos[j] if m.jnt_type[j] in (BALL, HINGE) else at
            if m.jnt_type[j] == FREE:  # its coordinates are the pose in the world, whatever pos and quat are
                R, p = np.eye(3), np.zeros(3)
            R, p = self._without_reference(j, R, p + R @ (anchor - at))
            last = j == joints[-1] and not anchor.any()
            child = name if last else self.names.carrier(i, j)
            mass = self._mass(i) if last else {}
            b.body(child, parent=parent, joint=self._joint(j), joint_name=self.names.joints[j], position=p, rotation=R,
                   **self._parameters(j), **mass)  # fmt: skip
            self.rotors.add(b, j, parent, R, p)
            if last:
                return
            parent, at = child, anchor
            R, p = np.eye(3), np.zeros(3)
        b.body(
            name, parent=parent, joint_name=self.names.fixed_joint(i), position=p - R @ at, rotation=R, **self._mass(i)
        )

    def _without_reference(self, j: int, R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pose (R, p) followed by J(-ref)."""
        m = self.model
        axis, ref = m.jnt_axis[j], m.qpos0[m.jnt_qposadr[j]]
        if m.jnt_type[j] == SLIDE:
            return R, p - ref * (R @ axis)
        return (R @ _turn(axis, -ref), p) if m.jnt_type[j] == HINGE and ref else (R, p)

    def _joint(self, j: int) -> Joint:
        kind, axis = self.model.jnt_type[j], tuple(self.model.jnt_axis[j].tolist())
        return FLOATING if kind == FREE and self.has_armature(j) else about(types_by_tag("mjcf")[_TYPES[kind]], axis)

    def has_armature(self, j: int) -> bool:
        """Whether something is added to the inertia of a joint."""
        return bool(self.rotors.armature[self.model.jnt_dofadr[j]])

    def _mass(self, i: int) -> dict[str, Any]:
        m = self.model
        R = rotation(m.body_iquat[i])
        tensor = R @ np.diag(m.body_inertia[i]) @ R.T
        tensor = self.rotors.without(i, 0.5 * (tensor + tensor.T))
        shapes, fluid = self.geometry.get(i, []), drag(m, i)
        fluid = fluid and in_body_axes(fluid, R, np.array(m.body_ipos[i]))
        return {"mass": m.body_mass[i], "com": m.body_ipos[i], "inertia": tensor, "geometry": shapes,
                "gravity_compensation": compensation(m)[i], "fluid": fluid}  # fmt: skip

    def _parameters(self, j: int) -> dict[str, Any]:
        m = self.model
        kind, dof, at = m.jnt_type[j], m.jnt_dofadr[j], m.jnt_qposadr[j]
        nv, nq = ((6, 7), (3, 4), (1, 1), (1, 1))[kind]
        order = (
            [3, 4, 5, 0, 1, 2] if kind == FREE and not self.has_armature(j) else list(range(nv))
        )  # Free: angular first
        dofs = np.arange(dof, dof + nv)[order]
        low, high = m.jnt_range[j].tolist()
        is_limited = kind in (SLIDE, HINGE) and self.passive.limited[j]
        return {
            "armature": self.rotors.armature[dofs],
            "damping": self.passive.damping[dofs],
            "friction": self.passive.friction[dofs],
            "stiffness": self.passive.stiffness[j],
            "rest": m.qpos_spring[at : at + nq],
            "limits": (position_limit(low, -1.0), position_limit(high, 1.0)) if is_limited else None,
            "softness": joint_softness(m, j),
            **_forces(m.jnt_actfrcrange[j].tolist(), bool(m.jnt_actfrclimited[j])),
        }


def _forces(ends: list[float], limited: bool) -> dict[str, float]:
    """Limits of the actuators' forces on a joint; a range on one side of zero is widened to it, which is reported."""
    if not limited:
        return {}
    lower, upper = ends
    return {"max_force": max(upper, 0.0), "min_force": min(lower, 0.0)}
