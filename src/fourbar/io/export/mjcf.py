"""MJCF, MuJoCo's format.

Joints of several freedoms become hinges and slides of one body, frames become sites, loops become equalities, which
MuJoCo enforces softly. Its bodies come depth first, so that coordinates may be ordered differently.

Actuators of MJCF: on a joint, or through a fixed tendon over several.

Loops as MJCF equalities: of joints (up to a quartic), of fixed tendons, and of sites, wherever these are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ...constraints import Closure, Coupling, Differential, Distance, Gear, Loop, Polynomial
from ...edit.placements import transform
from ...joints import Fixed, Free, Helical, Joint, Revolute, Spherical
from ...joints.axis import rotation_from_z, unit_axis
from ...joints.registry import tag_of
from ...mechanism.actuators import Actuator, Drive
from ...mechanism.mechanism import WORLD, Body, Mechanism, NamedLoop, PlacedJoint
from ...spatial.linear import Vec, vec
from ...spatial.transform import IDENTITY, Transform
from ..mjcf.bodies import FLOATING
from ..numbers import quaternion
from ..report import Report
from .equivalents import in_other_coordinates, leave_order
from .inertials import Inertials, refuse_fluids, without_blocks
from .mjcf_contacts import GeomWriter, options
from .written_numbers import Fresh, Unsaid, as_text, child

_ARM = 0.1  # between the two points that hold a hinge, in metres


class EqualityWriter:
    """Writes the loops of a mechanism. `new_site` gives names to sites."""

    def __init__(
        self,
        root: ET.Element,
        bodies: Mapping[str, ET.Element],
        joints: Mapping[str, PlacedJoint],
        new_site: Fresh,
        unsaid: Unsaid,
    ) -> None:
        self._root, self._bodies, self._joints, self._unsaid = root, bodies, joints, unsaid
        self._new_site, self._new = new_site, Fresh(())
        self._tendons: ET.Element | None = None
        self._by_child = {c.child: c for c in joints.values()}

    def write(self, loops: Sequence[NamedLoop], screws: Sequence[Gear] = ()) -> None:
        """Write all loops, and slides that follow hinges; those that cannot be expressed are refused."""
        if not loops and not screws:
            return
        equality = ET.Element("equality")
        self._new = Fresh(loop.name for loop in loops)
        for loop in loops:
            if not self._write_condition(equality, self._unsaid.name(loop.name), loop.loop):
                what = f"loop {loop.name!r}, a {type(loop.loop).__name__} (robot.spanning() has no loops)"
                self._unsaid.refuse(what, "loop")
        for screw in screws:
            self._polynomial(equality, self._new(screw.driven), screw.driver, screw.driven, (0.0, screw.ratio))
        self._root.append(equality)
        self._unsaid.leave("loops are written as equalities, which MuJoCo enforces softly")

    def _write_condition(self, equality: ET.Element, name: str, loop: Loop) -> bool:
        if any(self._joints[joint].joint.nv != 1 for joint in loop.joints):
            return False
        if isinstance(loop, Gear):
            self._polynomial(equality, name, loop.driver, loop.driven, (loop.offset, loop.ratio))
        elif isinstance(loop, Polynomial) and len(loop.coefficients) <= 5:
            self._polynomial(equality, name, loop.driver, loop.driven, loop.coefficients)
        elif isinstance(loop, Coupling):
            self._tendon(equality, name, loop)
        elif isinstance(loop, Differential):
            rows = zip(loop.outputs, loop.matrix, strict=True)
            for i, (out, row) in enumerate(rows, 1):
                factors = {**dict(zip(loop.inputs, row, strict=True)), out: -1.0}
                self._tendon(equality, self._new(f"{name}_{i}"), Coupling(factors))
        elif isinstance(loop, Closure) and type(loop.joint.in_loop()) in (Fixed, Revolute, Spherical):
            self._closure(equality, name, loop)
        elif isinstance(loop, Distance):
            self._rod(equality, name, loop)
        else:
            return False
        return True

    def _polynomial(self, equality: ET.Element, name: str, driver: str, driven: str, c: Sequence[float]) -> None:
        five = [*c, *(0.0,) * (5 - len(c))]
        child(equality, "joint", name=name, joint1=driven, joint2=driver, polycoef=five)

    def _section(self) -> ET.Element:
        if self._tendons is None:
            self._tendons = child(self._root, "tendon")
        return self._tendons

    def _rod(self, equality: ET.Element, name: str, loop: Distance) -> None:
        """A tendon straight from end to end, held at its length in the neutral configuration plus the missing part."""
        points = [Vec(point) for point in (loop.predecessor_point, loop.successor_point)]
        sites = [
            self._site(f"{name}_{i}", body, Transform((), point))
            for i, (body, point) in enumerate(zip(loop.bodies, points, strict=True), 1)
        ]
        spatial = child(self._section(), "spatial", name=name)
        for site in sites:
            child(spatial, "site", site=site)
        ends = [self._neutral_pose(body).point(point) for body, point in zip(loop.bodies, points, strict=True)]
        length = math.dist(*([float(x) for x in end] for end in ends))
        child(equality, "tendon", name=name, tendon1=name, polycoef=[loop.length - length, 0.0, 0.0, 0.0, 0.0])

    def _neutral_pose(self, body: str) -> Transform:
        """Where a body is in the world while all joints are neutral."""
        T = IDENTITY
        while body != WORLD:
            c = self._by_child[body]
            T = transform(c.placement).then(c.joint.placement(c.joint.neutral())).then(T)
            body = c.parent
        return T

    def _tendon(self, equality: ET.Element, name: str, loop: Coupling) -> None:
        fixed = child(self._section(), "fixed", name=name)
        for joint, x in loop.factors:
            child(fixed, "joint", joint=joint, coef=[x])
        child(equality, "tendon", name=name, tendon1=name, polycoef=[loop.offset, 0.0, 0.0, 0.0, 0.0])

    def _closure(self, equality: ET.Element, name: str, loop: Closure) -> None:
        places = (loop.at_predecessor, loop.at_successor)
        if isinstance(loop.joint, Fixed):
            ends = [
                self._site(f"{name}_{i}", body, T)
                for i, (body, T) in enumerate(zip(loop.bodies, places, strict=True), 1)
            ]
            child(equality, "weld", name=name, site1=ends[0], site2=ends[1])
            return
        shifts = [Vec((0.0, 0.0, 0.0))]
        if isinstance(loop.joint, Revolute):
            A = rotation_from_z(loop.joint.axis)
            axis = Vec((0.0, 0.0, 1.0)) if A is None else A @ Vec((0.0, 0.0, 1.0))
            shifts.append(axis * _ARM)
        for k, shift in enumerate(shifts):
            label = name if len(shifts) == 1 else self._new(f"{name}_{k + 1}")
            moved = [Transform((), T.point(shift)) for T in places]
            ends = [
                self._site(f"{label}_{i}", b, T) for i, (b, T) in enumerate(zip(loop.bodies, moved, strict=True), 1)
            ]
            child(equality, "connect", name=label, site1=ends[0], site2=ends[1])

    def _site(self, name: str, body: str, T: Transform) -> str:
        site = self._new_site(name)
        child(self._bodies[body], "site", name=site, pos=T.p, quat=quaternion(T.R))
        return site


_TIMESTEP = 0.002  # seconds, MuJoCo's own
_ENDLESS = 1e9


class ActuatorWriter:
    """Writes the actuators of a mechanism. `parts`: the names of hinges and slides, by the joint they represent."""

    def __init__(
        self, root: ET.Element, joints: Mapping[str, PlacedJoint], parts: Mapping[str, Sequence[str]], unsaid: Unsaid,
        timestep: float | None,
    ) -> None:  # fmt: skip
        self._root, self._joints, self._parts, self._unsaid = root, joints, parts, unsaid
        self._timestep = timestep or _TIMESTEP

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
            law = self._law(actuator) | _signal(actuator, self._timestep)
            child(section, "general", name=name, **on, **ranges, **law)
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
        numbers = dict(actuator.parameters)
        dynamics, gain, bias = (numbers.get(key) for key in ("dynamics", "gain", "bias"))
        if actuator.kind == "muscle":
            types: dict[str, str | None] = {"dyntype": "muscle", "gaintype": "muscle", "biastype": "muscle"}
        elif actuator.kind in ("motor", "affine") and set(numbers) <= {"gain", "bias"}:
            types = {
                "gaintype": "affine" if len(gain or ()) > 1 else None,
                "biastype": "affine" if bias or actuator.kind == "affine" else None,
            }
        else:
            self._unsaid.leave(f"the control law of kind {actuator.kind!r} is left out", actuator=actuator.name)
            return {}
        return {**types, "dynprm": dynamics, "gainprm": gain, "biasprm": bias}


def _signal(actuator: Actuator, timestep: float) -> dict[str, Any]:
    """The attributes of dynamics and of a delay."""
    attributes: dict[str, Any] = {}
    if (x := actuator.dynamics) is not None:
        attributes = {"dyntype": x.kind, "dynprm": [x.time_constant], "actrange": _finite(x.range) if x.range else None,
                 "actearly": "true" if x.early else None}  # fmt: skip
    if actuator.delay:
        attributes |= {"delay": [actuator.delay * timestep], "nsample": str(actuator.delay)}
    return attributes


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
        """The document, and the report of parts that it cannot express."""
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
        ActuatorWriter(self.root, joints, self.parts, self.unsaid, m.contacts.timestep).write(m.actuators)
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
        attributes: dict[str, Any] = {"axis": axis}
        for key, values in (
            ("armature", c.armature),
            ("damping", c.damping),
            ("frictionloss", c.friction),
            ("stiffness", c.stiffness),
        ):
            value = self._value(c, key, values, i)
            attributes[key] = [value] if value else None
        if i is not None and c.stiffness:
            attributes["springref"] = [c.rest[i]]
        elif c.stiffness and tuple(c.rest) != c.joint.neutral():
            self.unsaid.leave("the rest position of the spring is left out", joint=c.name)
        if (soft := c.softness) is not None:
            attributes |= {"solreflimit": soft.limit_solref, "solimplimit": soft.limit_solimp,
                           "solreffriction": soft.friction_solref, "solimpfriction": soft.friction_solimp,
                           "margin": [soft.margin] if soft.margin else None}  # fmt: skip
        if i is not None:
            attributes |= self._limits(c, i)
        child(element, "joint", name=self.unsaid.name(name), type=kind, **attributes)

    def _value(self, c: PlacedJoint, key: str, values: tuple[float, ...], i: int | None) -> float:
        if not values:
            return 0.0
        if i is None and len(set(values)) > 1:
            self.unsaid.refuse(_UNEQUAL.format(c.name, key))
        return values[i or 0]

    def _limits(self, c: PlacedJoint, i: int) -> dict[str, Any]:
        ranges: dict[str, Any] = {}
        if not (math.isinf(c.lower[i]) and math.isinf(c.upper[i])):
            ranges["range"] = (max(c.lower[i], -1e9), min(c.upper[i], 1e9))
        upper = c.max_force[i] if c.max_force else math.inf
        lower = c.min_force[i] if c.min_force else -upper
        if lower > -math.inf or upper < math.inf:
            ranges["actuatorfrcrange"] = (max(lower, -1e9), min(upper, 1e9))
        if c.max_velocity and c.max_velocity[i] < math.inf:
            self.unsaid.leave("the velocity limit is left out", joint=c.name)
        return ranges

    def _sites(self) -> None:
        for frame in self.mechanism.frames:
            where = place(transform(frame.placement))
            child(self.elements[frame.body], "site", name=self.unsaid.name(frame.name), **where)
