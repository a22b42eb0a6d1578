"""Passive forces on the joints of a compiled MuJoCo model, except for those that the file switches off
(<option><flag>); and armature as the rotor it stands for, where the gear ratio is known.

An armature A on the diagonal is the inertia J = A/n² of a rotor that turns n times as fast as its joint, reflected
through the gear; but the diagonal ignores how the body that carries the rotor turns. With the ratio given the rotor
becomes a body: it turns about the joint's axis on the parent. The parent's inertia in the file holds the rotor locked,
and loses J about that axis, so that only the spin is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...constraints import Gear
from ...errors import ArgumentError, unknown
from ...joints import Revolute
from ...mechanism.builder import MechanismBuilder
from ...spatial.inertia import unphysical
from .actuators import with_reflected
from .bodies import HINGE, rotation
from .lines import MjcfNames
from .switches import ACTUATION, CLAMPING, DAMPING, FRICTION, LIMITS, SPRINGS, compensation, is_off


class Passive(NamedTuple):
    """Damping and friction of each velocity, stiffness of each joint and whether it has limits."""

    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    limited: np.ndarray


# The switches that turn each off, and its name.
_OFF = {
    "damping": (DAMPING, "damping is"),
    "friction": (FRICTION, "friction is"),
    "stiffness": (SPRINGS, "springs are"),
    "limited": (LIMITS, "limits are"),
}


def _file_numbers(model: Any) -> Passive:
    damping = with_reflected(model, model.dof_damping, "damping")
    return Passive(damping, model.dof_frictionloss, model.jnt_stiffness, model.jnt_limited)


def passive(model: Any) -> Passive:
    """The passive forces that act: zero where the file switches them off, or where they are negative."""
    return Passive(*(np.maximum(x, 0) for x in with_signs(model)))


def with_signs(model: Any) -> Passive:
    """The same with the signs of the file."""
    written = _file_numbers(model)._asdict()
    return Passive(**{key: np.zeros_like(x) if is_off(model, _OFF[key][0]) else x for key, x in written.items()})


def switched_off(model: Any) -> list[str]:
    """Messages about what the file contains and switches off."""
    messages = []
    for key, x in _file_numbers(model)._asdict().items():
        switches, words = _OFF[key]
        if is_off(model, switches) and np.any(x):
            messages.append(f"{words} disabled in the file: ignored")
    if model.body_gravcomp.any() and not compensation(model).any():
        messages.append("gravity compensation is disabled in the file, with springs and damping: ignored")
    if is_off(model, CLAMPING) and np.any(model.actuator_ctrllimited):
        messages.append("control ranges are disabled in the file: ignored")
    disabled = [group for group in range(31) if model.opt.disableactuator >> group & 1]
    if model.nu and is_off(model, ACTUATION):
        messages.append("actuation is disabled in the file; the actuators are read nevertheless")
    elif np.isin(model.actuator_group, disabled).any():
        messages.append("some groups of actuators are disabled in the file; they are read nevertheless")
    return messages


class Rotors:
    """The joints whose armature becomes a rotor: by number, with the rotor's inertia and the ratio."""

    def __init__(self, model: Any, names: MjcfNames, armature: np.ndarray, ratios: Any) -> None:
        self.model, self.names = model, names
        self.inertia: dict[int, float] = {}
        self.ratio: dict[int, float] = {}
        self.armature = armature.copy()  # what stays on the diagonal
        for name, ratio in _read_ratios(ratios).items():
            if name not in names.joints:
                raise ArgumentError(f"ratios: {unknown('joint', name, names.joints)}")
            j = names.joints.index(name)
            dof = model.jnt_dofadr[j]
            if model.jnt_type[j] != HINGE or not armature[dof] or model.body_jntadr[model.jnt_bodyid[j]] != j:
                raise ArgumentError(
                    f"ratios: joint {name!r} has no rotor: expected a hinge with armature, the first joint of its body"
                )
            self.inertia[j], self.ratio[j] = float(armature[dof]) / ratio**2, ratio
            self.armature[dof] = 0.0

    def add(self, b: MechanismBuilder, j: int, parent: str, R: np.ndarray, p: np.ndarray) -> None:
        """Add the rotor of a joint, if it has one, at the joint's placement (R, p) on the parent."""
        if j not in self.inertia:
            return
        name, J, axis = f"{self.names.joints[j]}_rotor", self.inertia[j], np.array(self.model.jnt_axis[j])
        b.body(
            name, parent=parent, joint=Revolute(tuple(axis.tolist())), position=p, rotation=R,
            inertia=J * np.outer(axis, axis), allow_unphysical=True,
        )  # fmt: skip
        joint = self.names.joints[j]
        b.loop(Gear(joint, name, self.ratio[j]), name=f"{name}_gear", independent=[joint])

    def without(self, body: int, tensor: np.ndarray) -> np.ndarray:
        """The inertia of a body about its centre of mass, without that of the rotors it carries."""
        m = self.model
        for j in self.inertia:
            child = m.jnt_bodyid[j]
            if m.body_parentid[child] != body:
                continue
            axis = rotation(m.body_quat[child]) @ m.jnt_axis[j]
            tensor = tensor - self.inertia[j] * np.outer(axis, axis)
            problem = unphysical(float(m.body_mass[body]), tensor)
            if problem is not None:
                names = self.names.bodies[body], self.names.joints[j]
                raise ArgumentError(f"ratios: body {names[0]!r} cannot contain the rotor of {names[1]!r}: {problem}")
        return tensor


def _read_ratios(ratios: Any) -> dict[str, float]:
    if not isinstance(ratios, Mapping):
        raise ArgumentError(f"ratios={ratios!r}: expected gear ratios by joint, such as {{'knee': 9.0}}")
    for name, ratio in ratios.items():
        if not isinstance(ratio, int | float) or not (np.isfinite(ratio) and ratio != 0.0):
            raise ArgumentError(f"ratios: the ratio of {name!r} must be a nonzero number; got {ratio!r}")
    return {str(name): float(ratio) for name, ratio in ratios.items()}
