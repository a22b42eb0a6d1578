"""Actuators of MJCF: on a joint, or through a fixed tendon over several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from ...edit.placements import transform
from ...joints import Free, Spherical
from ...mechanism.actuators import Actuator, Drive
from ...mechanism.mechanism import WORLD, PlacedJoint
from ...spatial.linear import vec
from ...spatial.transform import Transform
from ..mjcf.bodies import FLOATING
from .written_numbers import Fresh, Unsaid, child

_DYNAMICS = ("integrator", "filter", "filterexact")
_ENDLESS = 1e9


class ActuatorWriter:
    """Writes the actuators of a mechanism. `parts`: the names of hinges and slides, by the joint they represent."""

    def __init__(
        self, root: ET.Element, joints: Mapping[str, PlacedJoint], parts: Mapping[str, Sequence[str]], unsaid: Unsaid
    ) -> None:
        self._root, self._joints, self._parts, self._unsaid = root, joints, parts, unsaid

    def write(self, actuators: Sequence[Actuator]) -> None:
        """Write all of them; what cannot be expressed is left out and reported."""
        section = ET.Element("actuator")
        for actuator in actuators:
            on = self._transmission(actuator)
            if on is None:
                self._unsaid.leave("left out: MJCF has no such transmission", actuator=actuator.name)
                continue
            ranges = {"ctrlrange": _finite(actuator.control_range), "forcerange": _finite(actuator.force_range)}
            name = self._unsaid.name(actuator.name)
            child(section, "general", name=name, **on, **ranges, **self._law(actuator))
        if len(section):
            self._root.append(section)

    def _transmission(self, actuator: Actuator) -> dict[str, Any] | None:
        joints = [self._joints[drive.joint].joint for drive in actuator.drives]
        if isinstance(joints[0], Free) and len(actuator.joints) == 1:
            c = self._joints[actuator.joints[0]]  # others are written as hinges and slides
            return _on_free(actuator.drives, transform(c.placement)) if c.parent == WORLD else None
        if joints[0] == FLOATING and len(actuator.joints) == 1 and self._joints[actuator.joints[0]].parent == WORLD:
            gear = [sum(x) for x in zip(*(drive.gear for drive in actuator.drives), strict=True)]
            turned = transform(self._joints[actuator.joints[0]].placement).rotate(vec(gear[:3]))
            return {"joint": actuator.joints[0], "gear": [*turned, *gear[3:]]}  # its other velocities are MuJoCo's
        if isinstance(joints[0], Spherical) and len(joints) == 1:
            drive = actuator.drives[0]
            return {"jointinparent" if drive.axes == "parent" else "joint": drive.joint, "gear": drive.gear}
        if not all(drive.joint in self._parts for drive in actuator.drives):
            return None
        terms = [
            (name, x) for drive in actuator.drives for name, x in zip(self._parts[drive.joint], drive.gear, strict=True)
        ]
        if len(terms) == 1:
            return {"joint": terms[0][0], "gear": [terms[0][1]]}
        return self._tendon(actuator.name, terms)

    def _tendon(self, name: str, terms: list[tuple[str, float]]) -> dict[str, Any]:
        name = Fresh(tendon.get("name", "") for tendon in self._root.iter("fixed"))(name)
        fixed = child(child(self._root, "tendon"), "fixed", name=name)
        for joint, x in terms:
            child(fixed, "joint", joint=joint, coef=[x])
        return {"tendon": name}

    def _law(self, actuator: Actuator) -> dict[str, Any]:
        given = dict(actuator.parameters)
        dynamics, gain, bias = (given.get(key) for key in ("dynamics", "gain", "bias"))
        if actuator.kind == "muscle":
            types: dict[str, str | None] = {"dyntype": "muscle", "gaintype": "muscle", "biastype": "muscle"}
        elif actuator.kind in ("motor", "affine", *_DYNAMICS) and set(given) <= {"dynamics", "gain", "bias"}:
            types = {
                "dyntype": actuator.kind if actuator.kind in _DYNAMICS else None,
                "gaintype": "affine" if len(gain or ()) > 1 else None,
                "biastype": "affine" if bias or actuator.kind == "affine" else None,
            }
        else:
            self._unsaid.leave(f"the control law of kind {actuator.kind!r} is left out", actuator=actuator.name)
            return {}
        return {**types, "dynprm": dynamics, "gainprm": gain, "biasprm": bias}


def _finite(ends: tuple[float, float]) -> tuple[float, float] | None:
    return None if all(map(math.isinf, ends)) else (max(ends[0], -_ENDLESS), min(ends[1], _ENDLESS))


def _on_free(drives: Sequence[Drive], at: Transform) -> dict[str, Any] | None:
    """MuJoCo expects the force in world axes, and the torque in body axes, or for jointinparent in world axes.

    Our axes of the parent are those of the joint's placement `at` in the world.
    """
    force, torque = [0.0] * 3, {"child": [0.0] * 3, "parent": [0.0] * 3}
    for drive in drives:
        turn, push = drive.gear[:3], drive.gear[3:]
        if drive.axes == "child" and any(push):
            return None
        force = [a + b for a, b in zip(force, push, strict=True)]
        torque[drive.axes] = [a + b for a, b in zip(torque[drive.axes], turn, strict=True)]
    force = at.rotate(vec(force))
    if any(torque["parent"]):
        in_world = {"jointinparent": drives[0].joint, "gear": [*force, *at.rotate(vec(torque["parent"]))]}
        return None if any(torque["child"]) else in_world
    return {"joint": drives[0].joint, "gear": [*force, *torque["child"]]}
