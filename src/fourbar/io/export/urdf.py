"""URDF, with the loops of URDF+.

Joints with several degrees of freedom become hinges and slides in series on massless links, frames become such links
too; gears become mimics, an armature becomes the rotor of a transmission.
"""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree as ET

from ...constraints import Closure, Constraint, Distance, Formula, Loop, Parametric, Polynomial
from ...constraints.serialize import as_data
from ...edit.placements import transform
from ...errors import ModelError
from ...joints import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Universal,
)
from ...joints.axis import unit_axis
from ...joints.registry import tag_of
from ...mechanism.actuators import Actuator
from ...mechanism.geometry import Geometry
from ...mechanism.mechanism import WORLD, Body, Mechanism, NamedLoop, PlacedJoint
from ...spatial.transform import IDENTITY, Transform
from ..report import Report
from .equivalents import conditions, in_other_coordinates, leave_name, leave_order, place_parts
from .inertials import leave_compensation, leave_refused, refuse_fluids, without_blocks
from .shape_parts import write_parts
from .surfaces import Losses, leave_contacts, write_contact
from .written_numbers import Fresh, Unsaid, as_text, child, rpy

_ENDLESS = 1e9
_STANDARD_GRAVITY = (0.0, 0.0, -9.81)


def write(mechanism: Mechanism, file: str, waive: tuple[str, ...] = ()) -> tuple[str, Report]:
    """The text of a URDF file, and what it does not express."""
    unsaid = Unsaid("URDF", file, waive)
    return UrdfWriter(without_blocks(mechanism, unsaid), unsaid).write()


def _origin(parent: ET.Element, T: Transform) -> None:
    child(parent, "origin", xyz=T.p, rpy=rpy(T))


class UrdfWriter:
    """Writes one mechanism."""

    def __init__(self, mechanism: Mechanism, unsaid: Unsaid) -> None:
        self.mechanism, self.unsaid = mechanism, unsaid
        self.root = ET.Element("robot", {"name": unsaid.name(mechanism.name)})
        self.last: dict[str, ET.Element] = {}  # the element of each joint with one freedom
        self.joint_of = {c.name: c for c in mechanism.joints}
        self.new_joint = Fresh(c.name for c in mechanism.joints)
        self.new_link = Fresh([WORLD, *(x.name for x in (*mechanism.bodies, *mechanism.frames))])
        self.new_loop = Fresh(loop.name for loop in mechanism.loops)
        self.new_transmission = Fresh(())
        self.losses = Losses(unsaid)

    def write(self) -> tuple[str, Report]:
        """The document, and the report of parts that it cannot express."""
        m = self.mechanism
        child(self.root, "link", name=WORLD)
        for body, c in zip(m.bodies, m.joints, strict=True):
            self._link(body)
            self._joints(c)
        for frame in m.frames:
            child(self.root, "link", name=self.unsaid.name(frame.name))
            self._joint(
                self.new_joint(f"{frame.name}_frame"), Fixed(), frame.body, frame.name, transform(frame.placement)
            )
        for loop in m.loops:
            self._loop(loop)
        for actuator in m.actuators:
            self._actuator(actuator)
        self._leave()
        return as_text(self.root), self.unsaid.report()

    def _leave(self) -> None:
        m = self.mechanism
        if m.frames:
            self.unsaid.leave("frames are written as massless links")
        if m.gravity != _STANDARD_GRAVITY:
            self.unsaid.leave(f"gravity {m.gravity} is left out", "set it where the file is read")
        if m.configurations:
            self.unsaid.leave("named configurations are left out")
        self.losses.report()
        leave_order(m, self.unsaid)
        leave_refused(m, self.unsaid)
        leave_compensation(m, self.unsaid)
        refuse_fluids(m, self.unsaid)
        leave_contacts(m, self.unsaid)

    def _link(self, body: Body) -> None:
        link = child(self.root, "link", name=self.unsaid.name(body.name))
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia
        if body.mass or any(map(any, body.inertia)):
            inertial = child(link, "inertial")
            child(inertial, "origin", xyz=body.com)
            child(inertial, "mass", value=[body.mass])
            child(inertial, "inertia", ixx=[xx], ixy=[xy], ixz=[xz], iyy=[yy], iyz=[yz], izz=[zz])
        for shape in body.geometry:
            self._shape(link, body, shape)
        write_contact(link, body, self.losses)

    def _shape(self, link: ET.Element, body: Body, shape: Geometry) -> None:
        parts = None if shape.mesh else write_parts(shape.form)
        if not shape.mesh and parts is None:
            self.unsaid.leave(f"body {body.name!r}: a {shape.form.title} is left out")
            return
        element = child(link, shape.role, name=shape.name or None)
        _origin(element, transform(shape.placement))
        geometry = child(element, "geometry")
        if parts is None:
            child(geometry, "mesh", filename=shape.mesh, scale=shape.scale)
        else:
            child(geometry, parts.tag, **parts.numbers)
        if shape.colour is not None:
            material = child(element, "material", name=f"{body.name}_{len(link)}")
            child(material, "color", rgba=shape.colour)

    def _joints(self, c: PlacedJoint) -> None:
        """The joint of a body, or several in series with massless links between them."""
        if any(c.stiffness):
            self.unsaid.leave("the spring is left out", joint=c.name)
            c = replace(c, stiffness=(), rest=())
        if isinstance(c.joint, Free | Planar):
            self._parameters(self._joint(c.name, c.joint, c.parent, c.child, transform(c.placement)), c, None)
            return
        parts = c.joint.in_series()
        if parts is None:
            parts, said = c.joint.otherwise(), f"joint {c.name!r}, a {type(c.joint).__name__}"
            if not self.unsaid.refuse(said, "coordinates" if parts is not None else "") or parts is None:
                return
            c = in_other_coordinates(c, [p for p in parts if isinstance(p, Joint)], self.unsaid)
        chain, after = place_parts(parts, transform(c.placement))
        if after != IDENTITY or not chain:
            chain.append((after, Fixed()))
        self._chain(c, chain)
        if len(chain) > 1:
            self.unsaid.leave(f"written as {len(chain)} joints in series", joint=c.name)

    def _chain(self, c: PlacedJoint, chain: list[tuple[Transform, Joint]]) -> None:
        """Joints in series, each with the parameters of its coordinate."""
        parent = c.parent
        for i, (T, joint) in enumerate(chain):
            last = i == len(chain) - 1
            name = c.name if len(chain) == 1 else self.new_joint(f"{c.name}_{i + 1}")
            if isinstance(joint, Helical):
                between = self._link_between(f"{c.child}_{i + 1}_turned")
                element = self._joint(name, Revolute(joint.axis), parent, between, T)
                self._parameters(element, c, i)
                link = c.child if last else self._link_between(f"{c.child}_{i + 1}")
                self._slide(name, joint, between, link)
            else:
                link = c.child if last else self._link_between(f"{c.child}_{i + 1}")
                element = self._joint(name, joint, parent, link, T)
                if joint.nv:
                    self._parameters(element, c, i)
            parent = link

    def _slide(self, hinge: str, screw: Helical, parent: str, link: str) -> None:
        """The translation of a screw: a slide along its axis that follows its hinge."""
        slide = self._joint(self.new_joint(f"{hinge}_slide"), Prismatic(screw.axis), parent, link, IDENTITY)
        wide = {key: [sign * _ENDLESS] for key, sign in (("lower", -1), ("upper", 1), ("effort", 1), ("velocity", 1))}
        child(slide, "limit", **wide)
        child(slide, "mimic", joint=hinge, multiplier=[screw.pitch], offset=[0.0])
        self.unsaid.leave(f"joint {hinge!r}, a screw, is written as a hinge and a slide that mimics it")

    def _link_between(self, name: str) -> str:
        """A new massless link."""
        link = self.new_link(name)
        child(self.root, "link", name=link)
        return link

    def _joint(self, name: str, joint: Joint, parent: str, link: str, T: Transform) -> ET.Element:
        element = child(self.root, "joint", name=self.unsaid.name(name), type=tag_of(type(joint), "urdf"))
        _origin(element, T)
        child(element, "parent", link=parent)
        child(element, "child", link=link)
        if isinstance(joint, Revolute | Prismatic | Planar):
            child(element, "axis", xyz=unit_axis(joint.axis))
        return element

    def _parameters(self, element: ET.Element, c: PlacedJoint, i: int | None) -> None:
        """Limits, damping, friction and armature of coordinate i of a joint."""
        if element.get("type") not in ("revolute", "prismatic") or i is None:
            if any(c.armature):
                self.unsaid.refuse(f"joint {c.name!r}: the armature of a {type(c.joint).__name__}", "armature")
            if any(c.damping) or any(c.friction):
                self.unsaid.leave("damping and friction are left out", joint=c.name)
            return
        lower, upper = c.lower[i], c.upper[i]
        effort, velocity = ((x[i] if x else math.inf) for x in (c.max_force, c.max_velocity))
        if c.min_force:
            self.unsaid.leave(f"the lower end of the forces, {c.min_force[i]:g}, is left out", joint=c.name)
        drive = {"effort": [min(effort, _ENDLESS)], "velocity": [min(velocity, _ENDLESS)]}
        if math.isinf(lower) and math.isinf(upper) and element.get("type") == "revolute":
            element.set("type", "continuous")
            if min(effort, velocity) < math.inf:
                child(element, "limit", **drive)
        else:
            child(element, "limit", lower=[max(lower, -_ENDLESS)], upper=[min(upper, _ENDLESS)], **drive)
        if c.damping[i] or c.friction[i]:
            child(element, "dynamics", damping=[c.damping[i]], friction=[c.friction[i]])
        if c.armature[i]:
            self._transmission(element.get("name", ""), c.armature[i])
        if c.joint.nv == 1:
            self.last[c.name] = element

    def _transmission(self, joint: str, armature: float) -> None:
        transmission = child(self.root, "transmission", name=self.new_transmission(f"{joint}_transmission"))
        child(transmission, "type").text = "transmission_interface/SimpleTransmission"
        child(child(transmission, "joint", name=joint), "rotorInertia").text = repr(armature)
        self.unsaid.leave(
            "the armature is written as the rotor of a transmission, which many readers ignore", joint=joint
        )

    def _actuator(self, actuator: Actuator) -> None:
        """A transmission with an actuator; several joints, ranges and control laws cannot be expressed."""
        drive, *others = actuator.drives
        if others or drive.joint not in self.last:
            self.unsaid.leave("left out: in URDF an actuator drives a single joint", actuator=actuator.name)
            return
        name = self.new_transmission(f"{self.unsaid.name(actuator.name)}_transmission")
        transmission = child(self.root, "transmission", name=name)
        child(transmission, "type").text = "transmission_interface/SimpleTransmission"
        child(transmission, "joint", name=self.last[drive.joint].get("name"))
        motor = child(transmission, "actuator", name=actuator.name)
        child(motor, "mechanicalReduction").text = repr(drive.gear[0])
        if actuator != Actuator(actuator.name, actuator.drives):
            self.unsaid.leave("ranges and control law are left out", actuator=actuator.name)

    def _loop(self, loop: NamedLoop) -> None:
        said = loop.loop
        if isinstance(said, Closure) and (isinstance(said.joint, Universal) or _kind(said.joint)):
            self._closure(loop.name, said)
        elif isinstance(said, Distance):
            self._distance(loop.name, said)
        elif not self._linear(loop) and not self._function(loop.name, said):
            several = [joint for joint in said.joints if self.joint_of[joint].joint.nq > 1]
            reason = f" of joint {several[0]!r}, which has several coordinates" if several else ""
            what = f"loop {loop.name!r}, a {type(said).__name__}{reason} (robot.spanning() has no loops)"
            self.unsaid.refuse(what, "loop")
            return
        for joint, scale in loop.independent:
            if joint not in self.last:
                self.unsaid.leave(f"the choice of its velocities in loop {loop.name!r} is left out", joint=joint)
                continue
            self.last[joint].set("independent", "true")
            if scale != 1.0:
                self.last[joint].set("independent_scale", repr(scale))

    def _distance(self, name: str, rod: Distance) -> None:
        element = child(self.root, "loop", name=self.unsaid.name(name), type="distance")
        for tag, (body, point) in zip(("predecessor", "successor"), rod.attachments, strict=True):
            child(child(element, tag, link=body), "origin", xyz=point)
        child(element, "length", value=[rod.length])
        self._extend(name, "a rod")

    def _function(self, name: str, loop: Loop) -> bool:
        """A function of joints with one coordinate each, as formulas; False if the loop is no such function."""
        if loop.bodies or any(joint not in self.last for joint in loop.joints):
            return False
        if isinstance(loop, Polynomial):
            loop = Parametric(loop.value, [loop.driver], [loop.driven])
        try:
            data = as_data(loop, dict.fromkeys(loop.joints, 1))
        except ModelError:  # made of Python code
            return False
        if not isinstance(data, Constraint | Parametric):  # all others are written by their own rules
            return False
        inputs, outputs = (data.of, ()) if isinstance(data, Constraint) else (data.inputs, data.outputs)
        formula = data.function
        assert isinstance(formula, Formula)
        element = child(self.root, "loop", name=self.unsaid.name(name), type=type(data).__name__.lower())
        for argument, joint in zip(formula.arguments, inputs, strict=True):
            child(element, "argument", name=argument, joint=joint)
        for joint in outputs:
            child(element, "output", joint=joint)
        for key, number in formula.constants:
            child(element, "constant", name=key, value=[number])
        for key, text in formula.where:
            child(element, "where", name=key, value=text)
        for text in formula.results:
            child(element, "result", value=text)
        self._extend(name, "a function of joints")
        return True

    def _extend(self, name: str, what: str) -> None:
        self.unsaid.leave(f"loop {name!r}, {what}, is written as an extension of URDF+, which other readers ignore")

    def _linear(self, loop: NamedLoop) -> bool:
        """Conditions Σ factor · q = offset: mimics, or couplings with links that add up the angles."""
        rows = conditions(loop.loop)
        if rows is None or any(joint not in self.last for factors, _ in rows for joint, _ in factors):
            return False
        for n, (factors, offset) in enumerate(rows, 1):
            (*others, (driven, f)) = factors
            sums = [(joint, -x / f) for joint, x in others]
            if len(sums) == 1 and self.last[driven].find("mimic") is None and not self._follows(sums[0][0], driven):
                (joint, ratio) = sums[0]
                child(self.last[driven], "mimic", joint=joint, multiplier=[ratio], offset=[offset / f])
                leave_name(self.unsaid, loop.name, driven)
            else:
                name = loop.name if len(rows) == 1 else self.new_loop(f"{loop.name}_{n}")
                self._coupling(name, sums, driven, offset / f)
        return True

    def _follows(self, joint: str, driver: str) -> bool:
        """Whether a joint mimics another, directly or through others."""
        while (mimic := self.last[joint].find("mimic")) is not None:
            joint = mimic.get("joint", "")
            if joint == driver:
                return True
            if joint not in self.last:
                return False
        return joint == driver

    def _coupling(self, name: str, sums: list[tuple[str, float]], driven: str, offset: float) -> None:
        """q_driven = Σ ratio · q + offset: massless links, one on the other, mimic the summands; URDF+ couples."""
        element = self.last[driven]
        link = child_link(element, "parent")
        for i, (joint, ratio) in enumerate(sums, 1):
            carrier, link = link, self._link_between(f"{name}_sum{i}")
            hinge = self._joint(self.new_joint(f"{name}_sum{i}"), Revolute("z"), carrier, link, IDENTITY)
            hinge.set("type", "continuous")
            child(hinge, "mimic", joint=joint, multiplier=[ratio], offset=[offset if i == len(sums) else 0.0])
        coupling = child(self.root, "coupling", name=self.unsaid.name(name))
        child(coupling, "predecessor", link=link)
        child(coupling, "successor", link=child_link(element, "child"))
        child(coupling, "ratio", value=[1.0])
        self.unsaid.leave(f"loop {name!r} is written as a coupling of URDF+, with massless links that mimic and add up")

    def _closure(self, name: str, loop: Closure) -> None:
        ends = (_end(loop, 0), _end(loop, 1))
        if isinstance(loop.joint, Universal):
            element = child(self.root, "constraint", name=self.unsaid.name(name), type="universal")
            for side, (body, T), axis in zip(
                ("parent", "child"), ends, (loop.joint.axis1, loop.joint.axis2), strict=True
            ):
                child(element, side, link=body)
                child(element, f"{side}_origin", xyz=T.p, rpy=rpy(T))
                child(element, f"{side}_axis", xyz=unit_axis(axis))
            return
        element = child(self.root, "loop", name=self.unsaid.name(name), type=_kind(loop.joint))
        for tag, (body, T) in zip(("predecessor", "successor"), ends, strict=True):
            _origin(child(element, tag, link=body), T)
        if isinstance(loop.joint, Revolute | Prismatic | Cylindrical | Planar):
            child(element, "axis", xyz=unit_axis(loop.joint.axis))


def child_link(joint: ET.Element, tag: str) -> str:
    """The parent or child link of a joint element."""
    found = joint.find(tag)
    assert found is not None
    return found.get("link", "")


def _kind(closing: Joint) -> str | None:
    """URDF+'s name for a joint that closes a loop."""
    return tag_of(type(closing.in_loop()), "urdf+")


def _end(loop: Closure, i: int) -> tuple[str, Transform]:
    return loop.bodies[i], (loop.at_predecessor, loop.at_successor)[i]
