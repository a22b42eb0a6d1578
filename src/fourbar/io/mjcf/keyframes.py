"""Keyframes of a compiled MuJoCo model: named configurations with velocities and controls."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mechanism.builder import MechanismBuilder
from .actuators import ActuatorReader
from .bodies import FREE, rotation


def add_keyframes(b: MechanismBuilder, actuators: ActuatorReader) -> None:
    """Add the configuration in which MuJoCo compiles the model, then the keyframes; report what is not kept of them."""
    model, names, lines, reading = actuators.model, actuators.names, actuators.lines, actuators.reading
    if model.njnt:
        b.configuration("qpos0", _by_joint(actuators, model.qpos0, model.jnt_qposadr))
    for k, name in enumerate(names.keys):
        place = lines.of("key", name)
        controls = _controls(actuators, model.key_ctrl[k])
        if model.njnt:
            q = _by_joint(actuators, model.key_qpos[k], model.jnt_qposadr)
            with reading.element(), reading.naming(place):
                b.configuration(name, q, velocities=_velocities(actuators, model.key_qvel[k], q), controls=controls)
        for attribute, lost in (
            ("act", model.key_act[k]),
            ("time", model.key_time[k]),
            ("ctrl", np.count_nonzero(model.key_ctrl[k]) > len(controls)),
        ):
            if np.any(lost):
                which = "ctrl of an actuator that is not read" if attribute == "ctrl" else f"{attribute} of a keyframe"
                message = f"{which} is ignored; qpos, qvel and ctrl of keyframes are in scene.keyframes"
                reading.add("note", place, message, "", f"key@{attribute}")


def _by_joint(actuators: ActuatorReader, values: np.ndarray, starts: np.ndarray) -> dict[str, np.ndarray]:
    """The entries of an array of all joints, by joint."""
    parts = np.split(np.array(values), starts[1:])
    return dict(zip(actuators.names.joints, parts, strict=True))


def _velocities(actuators: ActuatorReader, qvel: np.ndarray, q: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The velocities by joint that are not zero.

    Those of a free joint are (linear in world axes, angular in body axes) in MuJoCo and (angular, linear) in body axes
    here, unless it has armature.
    """
    model = actuators.model
    by_joint = _by_joint(actuators, qvel, model.jnt_dofadr)
    for j, (name, v) in enumerate(by_joint.items()):
        if model.jnt_type[j] == FREE and not actuators.floating[j]:
            by_joint[name] = np.concatenate([v[3:], rotation(q[name][3:]).T @ v[:3]])
    return {name: v for name, v in by_joint.items() if v.any()}


def _controls(actuators: ActuatorReader, ctrl: np.ndarray) -> dict[str, Any]:
    """The controls that are not zero, by actuator; actuators with several controls have none here."""
    model = actuators.model
    by_actuator = {
        actuators.names.actuators[a]: float(ctrl[model.actuator_ctrladr[a]])
        for a in actuators.read
        if model.actuator_ctrlnum[a] == 1
    }
    return {name: u for name, u in by_actuator.items() if u}
