"""MJCF, MuJoCo's format.

Joints of several freedoms become hinges and slides of one body, frames become sites, loops become equalities, which
MuJoCo enforces softly. Its bodies come depth first, so that coordinates may be ordered differently.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ...constraints import Gear
from ...edit.placements import transform
from ...joints import Fixed, Free, Helical, Joint, Spherical
from ...joints.axis import unit_axis
from ...joints.registry import tag_of
from ...mechanism.mechanism import WORLD, Body, Mechanism, PlacedJoint
from ...spatial.transform import IDENTITY, Transform
from ..mjcf.bodies import FLOATING
from ..report import Report
from ..rotations import quaternion
from .actuators import ActuatorWriter
from .equalities import EqualityWriter
from .inertials import Inertials, refuse_fluids
from .joint_armatures import without_blocks
from .mjcf_contacts import GeomWriter, options
from .series_joints import in_other_coordinates, leave_order
from .written_numbers import Fresh, Unsaid, as_text, child

_UNEQUAL = "joint {!r}: {} that is not the same for all its velocities"


def write(mechanism: Mechanism, file: str, waive: tuple[str, ...] = ()) -> tuple[str, Report]:
    """The text of an MJCF file, and what it does not express."""
    unsaid = Unsaid("MJCF", file, waive)
    return MjcfWriter(without_blocks(mechanism, unsaid), unsaid, Path(file).parent).write()


def place(T: Transform) -> dict[str, Any]:
    """Attributes for a placement; none for the identity."""
    found = {"pos": T.p} if any(T.p) else {}
    return {**found, "quat": quaternion(T.R)} if T.factors else found


class MjcfWriter:
    """Writes one mechanism. `folder`: where the file will be."""

    def __init__(self, mechanism: Mechanism, unsaid: Unsaid, folder: Path) -> None:
        self.mechanism, self.unsaid = mechanism, unsaid
        self.root = ET.Element("mujoco", {"model": unsaid.name(mechanism.name)})
        self.elements: dict[str, ET.Element] = {}
        self.parts: dict[str, list[str]] = {}  # the name of a joint, or of several with the same velocities
        self.inertials = Inertials(mechanism, unsaid)
        self.shapes = GeomWriter(self.root, folder, unsaid)
        self.new_joint = Fresh(c.name for c in mechanism.joints)
        self.screws: list[Gear] = []  # slides that follow the hinges of screws

    def write(self) -> tuple[str, Report]:
        """All of it."""
        m = self.mechanism
        child(self.root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        said, flags = options(m.contacts)
        option = child(self.root, "option", gravity=m.gravity, **said)
        if flags:
            child(option, "flag", **flags)
        self.elements[WORLD] = child(self.root, "worldbody")
        self.shapes.write(self.elements[WORLD], WORLD, m.world, moves=False)
        for body, c in zip(m.bodies, m.joints, strict=True):
            self._body(body, c)
        self.inertials.report()
        leave_order(m, self.unsaid)
        refuse_fluids(m, self.unsaid)
        self.shapes.report()
        self._sites()
        joints = {c.name: c for c in m.joints}
        sites = Fresh(frame.name for frame in m.frames)
        EqualityWriter(self.root, self.elements, joints, sites, self.unsaid).write(m.loops, self.screws)
        ActuatorWriter(self.root, joints, self.parts, self.unsaid).write(m.actuators)
        self.shapes.rules(m.contacts)
        if m.configurations:
            self.unsaid.leave("named configurations are left out")
        return as_text(self.root), self.unsaid.report()

    def _body(self, body: Body, c: PlacedJoint) -> None:
        name = self.unsaid.name(body.name)
        weightless = {"gravcomp": [body.gravity_compensation]} if body.gravity_compensation else {}
        element = child(self.elements[c.parent], "body", name=name, **place(transform(c.placement)), **weightless)
        self.elements[body.name] = element
        self.inertials.write(element, body, c)
        self._joints(element, c)
        self.shapes.write(element, body.name, body.geometry, bool(c.joint.nv))

    def _joints(self, element: ET.Element, c: PlacedJoint) -> None:
        if isinstance(c.joint, Free) or c.joint == FLOATING:
            self._free(element, c)
        elif isinstance(c.joint, Spherical):
            if len(set(c.armature)) > 1 and self.unsaid.refuse(_UNEQUAL.format(c.name, "armature"), "armature"):
                c = replace(c, armature=(0.0,) * 3)
            self._joint(element, c, c.name, "ball", None, None)
        elif not isinstance(c.joint, Fixed):
            self._series(element, c)

    def _free(self, element: ET.Element, c: PlacedJoint) -> None:
        if c.parent != WORLD:
            if self.unsaid.refuse(f"joint {c.name!r}: a free joint that is not attached to the world", "coordinates"):
                self._series(element, c)
            return
        if (c.joint != FLOATING and any(c.armature[3:])) or len(set(c.armature)) > 1:
            what = f"joint {c.name!r}: the armature of a free joint, whose velocity is in world axes there"
            c = replace(c, armature=(0.0,) * 6) if self.unsaid.refuse(what, "armature") else c
        if transform(c.placement) != IDENTITY:
            self.unsaid.leave(
                f"joint {c.name!r}: its coordinates are the pose in the world, not relative to the joint's placement"
            )
        self._joint(element, c, c.name, "free", None, None)

    def _series(self, element: ET.Element, c: PlacedJoint) -> None:
        parts = c.joint.in_series()
        joints = [part for part in parts or () if isinstance(part, Joint)]
        if parts is None:
            other, said = c.joint.otherwise(), f"joint {c.name!r}, a {type(c.joint).__name__}"
            joints = [part for part in other or () if isinstance(part, Joint)]
            sayable = other is not None and len(joints) == len(other)
            known = isinstance(c.joint, Free) or c.joint == FLOATING  # which was refused, and waived, before
            if not (known or self.unsaid.refuse(said, "coordinates" if sayable else "")) or not sayable:
                return
            c = in_other_coordinates(c, joints, self.unsaid)
        elif len(joints) < len(parts):
            self.unsaid.refuse(f"joint {c.name!r}, a {type(c.joint).__name__} with placements between its parts")
            return
        for i, joint in enumerate(joints):
            name = c.name if len(joints) == 1 else self.new_joint(f"{c.name}_{i + 1}")
            if parts is not None:
                self.parts.setdefault(c.name, []).append(name)
            axis = unit_axis(joint.axis)  # type: ignore[attr-defined]
            self._joint(element, c, name, tag_of(type(joint), "mjcf") or "hinge", axis, i)
            if isinstance(joint, Helical):
                slide = self.new_joint(f"{name}_slide")
                child(element, "joint", name=self.unsaid.name(slide), type="slide", axis=axis)
                self.screws.append(Gear(name, slide, joint.pitch))
                self.unsaid.leave(f"joint {name!r}, a screw, is written as a hinge and a slide that follows it")
        if len(joints) > 1:
            self.unsaid.leave(f"written as {len(joints)} joints in series", joint=c.name)

    def _joint(self, element: ET.Element, c: PlacedJoint, name: str, kind: str, axis: Any, i: int | None) -> None:
        """A joint with the parameters of coordinate i, or of all where they must be equal."""
        given: dict[str, Any] = {"axis": axis}
        for key, values in (
            ("armature", c.armature),
            ("damping", c.damping),
            ("frictionloss", c.friction),
            ("stiffness", c.stiffness),
        ):
            value = self._value(c, key, values, i)
            given[key] = [value] if value else None
        if i is not None and c.stiffness:
            given["springref"] = [c.rest[i]]
        elif c.stiffness and tuple(c.rest) != c.joint.neutral():
            self.unsaid.leave("the rest position of the spring is left out", joint=c.name)
        if i is not None:
            given |= self._limits(c, i)
        child(element, "joint", name=self.unsaid.name(name), type=kind, **given)

    def _value(self, c: PlacedJoint, key: str, values: tuple[float, ...], i: int | None) -> float:
        if not values:
            return 0.0
        if i is None and len(set(values)) > 1:
            self.unsaid.refuse(_UNEQUAL.format(c.name, key))
        return values[i or 0]

    def _limits(self, c: PlacedJoint, i: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if not (math.isinf(c.lower[i]) and math.isinf(c.upper[i])):
            found["range"] = (max(c.lower[i], -1e9), min(c.upper[i], 1e9))
        upper = c.max_force[i] if c.max_force else math.inf
        lower = c.min_force[i] if c.min_force else -upper
        if lower > -math.inf or upper < math.inf:
            found["actuatorfrcrange"] = (max(lower, -1e9), min(upper, 1e9))
        if c.max_velocity and c.max_velocity[i] < math.inf:
            self.unsaid.leave("the velocity limit is left out", joint=c.name)
        return found

    def _sites(self) -> None:
        for frame in self.mechanism.frames:
            where = place(transform(frame.placement))
            child(self.elements[frame.body], "site", name=self.unsaid.name(frame.name), **where)
