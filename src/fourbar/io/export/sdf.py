"""SDF 1.8, or later where needed.

Loops are joints between links, so that bodies are written where these are closed. Joints with several degrees of
freedom that SDF lacks become hinges and slides in series on massless links; gears become mimics. Armatures, planar
joints and couplings of several joints are written as Drake's elements.

Loops in SDF: joints between links that have others already, mimics; and Drake's elements for planes and sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

import numpy as np

from ...constraints import Closure
from ...edit.placements import transform
from ...joints import Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ...joints.axis import rotation_from_z, unit_axis
from ...joints.registry import tag_of
from ...mechanism.mechanism import WORLD, Body, Mechanism, NamedLoop, PlacedJoint
from ...spatial.transform import IDENTITY, Transform
from ..report import Report
from .equivalents import (
    can_start_at,
    closed_coordinates,
    conditions,
    in_other_coordinates,
    leave_name,
    leave_order,
    place_parts,
    poses_at_zero,
    start_joints_at,
)
from .inertials import leave_compensation, leave_refused, refuse_fluids, without_blocks
from .sdf_model import SdfModel, add_element
from .surfaces import leave_contacts
from .written_numbers import Unsaid, as_text, child, list_names

_RIGHT = 1e-9  # cosine of what still counts as a right angle
_MIMICS = 11  # the version 1.n from which on joints mimic
End = tuple[str, Transform]  # a link, and a place on it


def planar(
    model: SdfModel, name: str, joint: Planar, parent: End, link: End, damping: Sequence[float] = (0.0,) * 3
) -> None:
    """Drake's planar joint: between frames, in the plane normal to their z."""
    A = rotation_from_z(joint.axis)
    turned = Transform(() if A is None else (A,))
    ends = []
    for side, (body, T) in (("parent", parent), ("child", link)):
        place = T.then(turned)
        ends.append(model.place(f"{name}_{side}", body, Transform.of(place.R, place.p)))
    element = model.joint(name, "planar", *ends, tag="drake:joint")
    add_element(element, "drake:damping", damping)
    model.unsaid.leave(f"joint {name!r}, a Planar, is written as Drake's, which other readers ignore")


def two_hinges(joint: Universal) -> str:
    """SDF's name for two hinges in one place: universal if they are at right angles."""
    along = sum(a * b for a, b in zip(unit_axis(joint.axis1), unit_axis(joint.axis2), strict=True))
    return "universal" if abs(along) < _RIGHT else "revolute2"


class LoopWriter:
    """Writes the loops of a mechanism. `axes`: the elements of joints with one degree of freedom, by our names."""

    def __init__(
        self,
        mechanism: Mechanism,
        model: SdfModel,
        axes: Mapping[str, ET.Element],
        free: Mapping[str, tuple[float, ...]],
        unsaid: Unsaid,
    ) -> None:
        self.mechanism, self.model, self.axes, self.unsaid = mechanism, model, axes, unsaid
        self.poses = poses_at_zero(mechanism, free)
        self.roots: dict[str, str] = {WORLD: WORLD}  # the root (world or free body) of each body
        for c in mechanism.joints:
            alone = isinstance(c.joint, Free) and c.parent == WORLD
            self.roots[c.child] = c.child if alone else self.roots[c.parent]

    def write(self) -> None:
        """Write all of them; those that cannot be expressed are refused."""
        self._check_floating()
        for named in self.mechanism.loops:
            if not self._write_condition(named):
                what = f"loop {named.name!r}, a {type(named.loop).__name__} (robot.spanning() has no loops)"
                self.unsaid.refuse(what, "loop")
        chosen = [named.name for named in self.mechanism.loops if named.independent]
        if chosen:
            self.unsaid.leave(f"the choice of independent joints in loops {list_names(chosen)} is left out")

    def _check_floating(self) -> None:
        """Refuse loops between floating and other bodies: readers would attach the former by one of the loop joints."""
        tying: dict[str, list[str]] = {}
        for named in self.mechanism.loops:
            ends = {self.roots[body] for body in named.loop.bodies} if isinstance(named.loop, Closure) else set()
            if len(ends) > 1:
                tying.setdefault(next(iter(ends - {WORLD})), []).append(named.name)
        for body, names in tying.items():
            what = f"body {body!r} floats and is in loops ({list_names(names)}): one of their joints will carry it"
            self.unsaid.refuse(what, "coordinates")

    def _write_condition(self, named: NamedLoop) -> bool:
        loop = named.loop
        if isinstance(loop, Closure):
            return self._closure(named.name, loop)
        rows = conditions(loop)
        if rows is None or any(joint not in self.axes for factors, _ in rows for joint, _ in factors):
            return False
        for factors, offset in rows:
            self._linear(named.name, factors, offset)
        return True

    # --- between joints -----------------------------------------------------------------------------------------------

    def _linear(self, name: str, factors: list[tuple[str, float]], offset: float) -> None:
        """Σ factor · q = offset: a mimic for two joints, else a rigid tendon of Drake."""
        if len(factors) == 2:
            (first, x), (second, y) = factors
            for leader, a, follower, b in ((first, x, second, y), (second, y, first, x)):
                if self._may_mimic(follower, leader):
                    self._mimic(follower, leader, -a / b, offset / b)
                    leave_name(self.unsaid, name, self.axes[follower].get("name", ""))
                    return
        tendon = child(self.model.element, "drake:tendon_constraint")
        for joint, x in factors:
            child(tendon, "drake:tendon_constraint_joint", name=self.axes[joint].get("name"), a=[x])
        values_by_tag = {
            "offset": [0.0],
            "lower_limit": [offset],
            "upper_limit": [offset],
            "stiffness": "inf",
            "damping": [0.0],
        }
        for tag, value in values_by_tag.items():
            add_element(tendon, f"drake:tendon_constraint_{tag}", value)
        self.unsaid.leave(
            f"loop {name!r} is written as Drake's tendon, which has no name, and which other readers ignore"
        )

    def _may_mimic(self, follower: str, leader: str) -> bool:
        """Whether a joint mimics nothing yet, and the other does not mimic it through others."""
        name = self.axes[follower].get("name", "")
        by_name = {element.get("name", ""): element for element in self.axes.values()}
        at = self.axes[leader].get("name", "")
        while at != name:
            mimic = by_name[at].find("axis/mimic")
            if mimic is None:
                return self.axes[follower].find("axis/mimic") is None
            at = mimic.get("joint", "")
        return False

    def _mimic(self, follower: str, leader: str, ratio: float, offset: float) -> None:
        element, name = self.axes[follower], self.axes[leader].get("name")
        axis = element.find("axis")
        assert axis is not None
        mimic = child(axis, "mimic", joint=name)
        for tag, value in (("multiplier", ratio), ("offset", offset), ("reference", 0.0)):
            add_element(mimic, tag, [value])
        child(element, "drake:mimic", joint=name, multiplier=[ratio], offset=[offset])
        self.model.version = max(self.model.version, _MIMICS)

    # --- between bodies -----------------------------------------------------------------------------------------------

    def _closure(self, name: str, loop: Closure) -> bool:
        """A joint whose child has one already, so that readers find the loop: not the world, nor a floating body."""
        joint = loop.joint.in_loop()
        ends = ((loop.predecessor, loop.at_predecessor), (loop.successor, loop.at_successor))
        kind = "continuous" if isinstance(joint, Revolute) else tag_of(type(joint), "sdf")
        if kind in (None, "screw") and not isinstance(joint, Planar):
            return False
        swapped = loop.successor in (WORLD, self.roots[loop.successor])
        parent, link = reversed(ends) if swapped else ends
        called = self.model.sdf_name(name, "loop")
        sides = [(self.model.links[body], T) for body, T in (parent, link)]
        if isinstance(joint, Planar):
            planar(self.model, called, joint, sides[0], sides[1])
            return True
        assert kind is not None
        kind = two_hinges(joint) if isinstance(joint, Universal) else kind
        element = self.model.joint(called, kind, sides[0][0], sides[1][0])
        self.model.pose(element, Transform.of(link[1].R, link[1].p))
        for tag, direction in zip(("axis", "axis2"), self._directions(joint, parent, link, swapped), strict=False):
            add_element(child(element, tag), "xyz", direction)
        return True

    def _directions(self, joint: Joint, parent: End, link: End, swapped: bool) -> list[Sequence[float]]:
        """The axes in the frame of the joint, which is at its placement on the child."""
        if isinstance(joint, Universal):
            first, second = (joint.axis2, joint.axis1) if swapped else (joint.axis1, joint.axis2)
            outer, inner = (np.array(self.poses[body].then(T).R, float) for body, T in (parent, link))
            return [(inner.T @ outer @ np.array(unit_axis(first))).tolist(), unit_axis(second)]
        return [unit_axis(joint.axis)] if isinstance(joint, Revolute | Prismatic) else []


_STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_SCREWS = 10  # the version 1.n from which on the pitch is in metres per turn
Coordinates = dict[str, tuple[float, ...]]


def write(mechanism: Mechanism, file: str, waive: tuple[str, ...] = ()) -> tuple[str, Report]:
    """The text of an SDF file, and what it does not express."""
    unsaid = Unsaid("SDF", file, waive)
    return SdfWriter(*_start_at_zero(without_blocks(mechanism, unsaid), unsaid), unsaid).write()


def _start_at_zero(mechanism: Mechanism, unsaid: Unsaid) -> tuple[Mechanism, Coordinates]:
    """The mechanism with its loops closed at zero, and the positions of its free joints."""
    first = dict(mechanism.configurations[0].coordinates) if mechanism.configurations else {}
    closed = closed_coordinates(mechanism)
    known = {**first, **closed}
    free = {c.name: known[c.name] for c in mechanism.joints if isinstance(c.joint, Free) and c.name in known}
    at = {name: q for name, q in closed.items() if name not in free}
    if not at:
        return mechanism, free
    unsaid.refuse(f"loops that are open where joints are at zero (joints {list_names(at)})", "zero")
    for c in mechanism.joints:
        if c.name in at and not can_start_at(c.joint):
            unsaid.refuse(f"joint {c.name!r}, a {type(c.joint).__name__}, in loops that are open at zero")
            return mechanism, free
    return start_joints_at(mechanism, at), free


class SdfWriter:
    """Writes one mechanism. `free`: the coordinates of free joints in the file, where they are not neutral."""

    def __init__(self, mechanism: Mechanism, free: Coordinates, unsaid: Unsaid) -> None:
        self.mechanism, self.free, self.unsaid = mechanism, free, unsaid
        self.model = SdfModel(mechanism, unsaid)
        self.axes: dict[str, ET.Element] = {}  # the element of each joint with one freedom
        self.folded = _placement_bodies(mechanism)

    def write(self) -> tuple[str, Report]:
        """The document, and the report of parts that it cannot express."""
        m, model = self.mechanism, self.model
        if not m.bodies:
            self.unsaid.refuse("a robot without bodies")
        before: PlacedJoint | None = None
        for body, c in zip(m.bodies, m.joints, strict=True):
            if body.name in self.folded:
                before = c
                continue
            self._body(body, c, before if before is not None and before.child == c.parent else None)
        for frame in m.frames:
            model.frame(model.frames[frame.name], model.links[frame.body], transform(frame.placement))
        LoopWriter(m, model, self.axes, self.free, self.unsaid).write()
        model.leave()
        self._leave()
        usual = m.gravity == _STANDARD_GRAVITY
        return as_text(model.document(None if usual else m.gravity)), self.unsaid.report()

    def _leave(self) -> None:
        m = self.mechanism
        if m.gravity != _STANDARD_GRAVITY:
            self.unsaid.leave(
                f"for gravity {m.gravity} the model is put into a world: names are prefixed with that of the model"
            )
        if any(frame.body == WORLD for frame in m.frames):
            self.unsaid.leave("frames on the world are written as massless links")
        lost = [
            named.name for named in m.configurations if any(joint not in self.free for joint, _ in named.coordinates)
        ]
        if lost or len(m.configurations) > 1:
            self.unsaid.leave("named configurations are left out; free bodies are placed as in the first one")
        if m.actuators:
            self.unsaid.leave(f"actuators ({list_names(x.name for x in m.actuators)}) are left out: SDF has none")
        leave_order(m, self.unsaid, level_by_level=True)
        leave_refused(m, self.unsaid)
        leave_compensation(m, self.unsaid)
        refuse_fluids(m, self.unsaid, added_mass=True)
        leave_contacts(m, self.unsaid)

    # --- bodies -------------------------------------------------------------------------------------------------------

    def _body(self, body: Body, c: PlacedJoint, before: PlacedJoint | None) -> None:
        """A link and its joint. `before`: the joint of a massless body that only carries this one."""
        model, name = self.model, self.model.links[body.name]
        if before is not None:
            T = transform(before.placement).then(transform(c.placement))
            model.link(name, T, model.links[before.parent], body)
            element = self._one(before, before.joint, model.links[before.parent], name, 0)
            model.pose(element, transform(c.placement).inverse())
            return
        parent = model.links[c.parent]
        if isinstance(c.joint, Free) and c.parent == WORLD:
            self._free(body, name, c)
        elif isinstance(c.joint, Planar):
            model.link(name, transform(c.placement), parent, body)
            self._planar(c, parent, name)
        elif isinstance(c.joint, Spherical):
            model.link(name, transform(c.placement), parent, body)
            self._ball(c, parent, name)
        elif isinstance(c.joint, Universal) and not any(c.armature):
            model.link(name, transform(c.placement), parent, body)
            element = model.joint(model.sdf_name(c.name, "joint"), two_hinges(c.joint), parent, name)
            for i, axis in enumerate((c.joint.axis1, c.joint.axis2)):
                self._axis(element, ("axis", "axis2")[i], axis, c, i)
        else:
            self._series(body, name, parent, c)

    def _free(self, body: Body, name: str, c: PlacedJoint) -> None:
        """A link without a joint."""
        if transform(c.placement) != IDENTITY:
            self.unsaid.leave(
                f"joint {c.name!r}: its coordinates are the pose in the world, not relative to the joint's placement"
            )
        if any(c.armature):
            self.unsaid.refuse(f"joint {c.name!r}: the armature of a free joint", "armature")
        self._lose(c, "damping", "friction", "stiffness")
        T = transform(c.placement).then(c.joint.placement(self.free.get(c.name, c.joint.neutral())))
        self.model.link(name, Transform.of(T.R, T.p), WORLD, body)

    def _ball(self, c: PlacedJoint, parent: str, name: str) -> None:
        element = self.model.joint(self.model.sdf_name(c.name, "joint"), "ball", parent, name)
        if any(c.armature):
            self.unsaid.refuse(f"joint {c.name!r}: the armature of a ball joint", "armature")
        if len(set(c.damping)) == 1 and any(c.damping):
            axis = child(element, "axis")
            add_element(axis, "xyz", (0.0, 0.0, 1.0))
            add_element(child(axis, "dynamics"), "damping", c.damping[:1])
        self._lose(c, "friction", "stiffness", *(["damping"] if len(set(c.damping)) > 1 else []))

    def _planar(self, c: PlacedJoint, parent: str, name: str) -> None:
        assert isinstance(c.joint, Planar)
        w, x, y = c.damping
        if any(c.armature):
            self.unsaid.refuse(f"joint {c.name!r}: the armature of a planar joint", "armature")
        self._lose(c, "friction", "stiffness", "max_force", "max_velocity", "lower", "upper")
        if x != y:
            self.unsaid.leave("damping that differs along x and y is left out", joint=c.name)
            x = y = 0.0
        where = transform(c.placement)
        planar(self.model, self.model.sdf_name(c.name, "joint"), c.joint, (parent, where), (name, IDENTITY), (x, y, w))

    def _lose(self, c: PlacedJoint, *names: str) -> None:
        """Report parameters that a joint of this type cannot have."""
        lost = [name for name in names if any(x and math.isfinite(x) for x in getattr(c, name))]
        if lost:
            self.unsaid.leave(f"joint {c.name!r}, a {type(c.joint).__name__}: {', '.join(lost)} left out")

    # --- hinges, slides and screws ------------------------------------------------------------------------------------

    def _series(self, body: Body, name: str, parent: str, c: PlacedJoint) -> None:
        """Joints in series, with massless links between them."""
        parts = c.joint.in_series()
        if parts is None:
            parts, what = c.joint.otherwise(), f"joint {c.name!r}, a {type(c.joint).__name__}"
            if not self.unsaid.refuse(what, "coordinates" if parts is not None else "") or parts is None:
                self.model.link(name, IDENTITY, parent, body)
                return
            c = in_other_coordinates(c, [p for p in parts if isinstance(p, Joint)], self.unsaid)
        chain, after = place_parts(parts, transform(c.placement))
        if after != IDENTITY or not chain:
            chain.append((after, Fixed()))
        for i, (T, joint) in enumerate(chain):
            last = i == len(chain) - 1
            link = name if last else self.model.new(f"{name}_{i + 1}")
            self.model.link(link, Transform.of(T.R, T.p), parent, body if last else None)
            self._one(c, joint, parent, link, i, "" if len(chain) == 1 else f"_{i + 1}")
            parent = link
        if len(chain) > 1:
            self.unsaid.leave(f"written as {len(chain)} joints in series", joint=c.name)

    def _one(self, c: PlacedJoint, joint: Joint, parent: str, link: str, i: int, ending: str = "") -> ET.Element:
        """A joint with one degree of freedom, or none, with the parameters of coordinate i."""
        name = self.model.new(f"{c.name}{ending}") if ending else self.model.sdf_name(c.name, "joint")
        endless = isinstance(joint, Revolute) and math.isinf(c.lower[i]) and math.isinf(c.upper[i])
        element = self.model.joint(name, "continuous" if endless else tag_of(type(joint), "sdf") or "", parent, link)
        if not joint.nv:
            return element
        if isinstance(joint, Helical):
            self.model.version = max(self.model.version, _SCREWS)
            add_element(element, "screw_thread_pitch", [2.0 * math.pi * joint.pitch])
        self._axis(element, "axis", joint.axis, c, i)  # type: ignore[attr-defined]
        if c.armature[i]:
            self._armature(element, c, i)
        if c.joint.nv == 1:
            self.axes[c.name] = element
        return element

    def _axis(self, element: ET.Element, tag: str, direction: object, c: PlacedJoint, i: int) -> None:
        axis = child(element, tag)
        add_element(axis, "xyz", unit_axis(direction))  # type: ignore[arg-type]
        if c.min_force:
            self.unsaid.leave(f"the lower end of the forces, {c.min_force[i]:g}, is left out", joint=c.name)
        most = {"effort": c.max_force, "velocity": c.max_velocity}
        limits = {"lower": c.lower[i], "upper": c.upper[i], **{key: x[i] for key, x in most.items() if x}}
        finite = {key: value for key, value in limits.items() if math.isfinite(value)}
        if finite:
            limit = child(axis, "limit")
            for key, value in finite.items():
                add_element(limit, key, [value])
        spring = {"spring_reference": c.rest[i], "spring_stiffness": c.stiffness[i]} if c.stiffness else {}
        forces = {"damping": c.damping[i], "friction": c.friction[i], **spring}
        if any(forces.values()):
            dynamics = child(axis, "dynamics")
            for key, value in forces.items():
                add_element(dynamics, key, [value])

    def _armature(self, element: ET.Element, c: PlacedJoint, i: int) -> None:
        if c.max_force and c.max_force[i] == 0.0:
            self.unsaid.refuse(f"joint {c.name!r}: the armature of a joint without force", "armature")
            return
        add_element(element, "drake:rotor_inertia", [c.armature[i]])
        self.unsaid.leave("the armature is written as Drake's rotor, which other readers ignore", joint=c.name)


def _placement_bodies(mechanism: Mechanism) -> set[str]:
    """Massless bodies that represent the placement of a joint away from its link, as our SDF reader makes them.

    Such a body is followed by its only child, which is fixed to it without rotation.
    """
    carried: dict[str, list[PlacedJoint]] = {}
    for c in mechanism.joints:
        carried.setdefault(c.parent, []).append(c)
    used = {frame.body for frame in mechanism.frames} | {x for loop in mechanism.loops for x in loop.loop.bodies}
    massless: set[str] = set()
    for body, c, after in zip(mechanism.bodies, mechanism.joints, mechanism.joints[1:], strict=False):
        alone = carried.get(body.name) == [after] and body.name == f"{after.child}/{c.name}" and body.name not in used
        empty = not body.mass and not any(map(any, body.inertia)) and not body.geometry and body.fluid is None
        still = isinstance(after.joint, Fixed) and not transform(after.placement).factors
        if alone and empty and still and type(c.joint) in (Revolute, Helical):
            massless.add(body.name)
    return massless
