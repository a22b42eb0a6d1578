"""SDF 1.8, or later where needed.

Loops are joints between links, so that bodies are written where these are closed. Joints with several degrees of
freedom that SDF lacks become hinges and slides in series on massless links; gears become mimics. Armatures, planar
joints and couplings of several joints are written as Drake's elements.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from ...edit.placements import transform
from ...joints import Fixed, Free, Helical, Joint, Planar, Revolute, Spherical, Universal
from ...joints.axis import unit_axis
from ...joints.registry import tag_of
from ...mechanism.mechanism import WORLD, Body, Mechanism, PlacedJoint
from ...spatial.transform import IDENTITY, Transform
from ..report import Report
from .inertials import leave_compensation, leave_refused, refuse_fluids
from .joint_armatures import without_blocks
from .sdf_loops import LoopWriter, planar, two_hinges
from .sdf_model import SdfModel, said
from .series_joints import in_other_coordinates, leave_order, placed
from .surfaces import leave_contacts
from .written_numbers import Unsaid, as_text, child, listed
from .zero_configuration import can_start_at, closed_at, started_at

_STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_SCREWS = 10  # the version 1.n from which on the pitch is in metres per turn
Coordinates = dict[str, tuple[float, ...]]


def write(mechanism: Mechanism, file: str, waive: tuple[str, ...] = ()) -> tuple[str, Report]:
    """The text of an SDF file, and what it does not express."""
    unsaid = Unsaid("SDF", file, waive)
    return SdfWriter(*_started(without_blocks(mechanism, unsaid), unsaid), unsaid).write()


def _started(mechanism: Mechanism, unsaid: Unsaid) -> tuple[Mechanism, Coordinates]:
    """The mechanism with its loops closed at zero, and the positions of its free joints."""
    first = dict(mechanism.configurations[0].coordinates) if mechanism.configurations else {}
    closed = closed_at(mechanism)
    known = {**first, **closed}
    free = {c.name: known[c.name] for c in mechanism.joints if isinstance(c.joint, Free) and c.name in known}
    at = {name: q for name, q in closed.items() if name not in free}
    if not at:
        return mechanism, free
    unsaid.refuse(f"loops that are open where joints are at zero (joints {listed(at)})", "zero")
    for c in mechanism.joints:
        if c.name in at and not can_start_at(c.joint):
            unsaid.refuse(f"joint {c.name!r}, a {type(c.joint).__name__}, in loops that are open at zero")
            return mechanism, free
    return started_at(mechanism, at), free


class SdfWriter:
    """Writes one mechanism. `free`: the coordinates of free joints in the file, where they are not neutral."""

    def __init__(self, mechanism: Mechanism, free: Coordinates, unsaid: Unsaid) -> None:
        self.mechanism, self.free, self.unsaid = mechanism, free, unsaid
        self.model = SdfModel(mechanism, unsaid)
        self.axes: dict[str, ET.Element] = {}  # the element of each joint with one freedom
        self.folded = _folded(mechanism)

    def write(self) -> tuple[str, Report]:
        """All of it."""
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
            self.unsaid.leave(f"actuators ({listed(x.name for x in m.actuators)}) are left out: SDF has none")
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
            element = model.joint(model.named(c.name, "joint"), two_hinges(c.joint), parent, name)
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
        element = self.model.joint(self.model.named(c.name, "joint"), "ball", parent, name)
        if any(c.armature):
            self.unsaid.refuse(f"joint {c.name!r}: the armature of a ball joint", "armature")
        if len(set(c.damping)) == 1 and any(c.damping):
            axis = child(element, "axis")
            said(axis, "xyz", (0.0, 0.0, 1.0))
            said(child(axis, "dynamics"), "damping", c.damping[:1])
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
        planar(self.model, self.model.named(c.name, "joint"), c.joint, (parent, where), (name, IDENTITY), (x, y, w))

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
        chain, after = placed(parts, transform(c.placement))
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
        name = self.model.new(f"{c.name}{ending}") if ending else self.model.named(c.name, "joint")
        endless = isinstance(joint, Revolute) and math.isinf(c.lower[i]) and math.isinf(c.upper[i])
        element = self.model.joint(name, "continuous" if endless else tag_of(type(joint), "sdf") or "", parent, link)
        if not joint.nv:
            return element
        if isinstance(joint, Helical):
            self.model.version = max(self.model.version, _SCREWS)
            said(element, "screw_thread_pitch", [2.0 * math.pi * joint.pitch])
        self._axis(element, "axis", joint.axis, c, i)  # type: ignore[attr-defined]
        if c.armature[i]:
            self._armature(element, c, i)
        if c.joint.nv == 1:
            self.axes[c.name] = element
        return element

    def _axis(self, element: ET.Element, tag: str, direction: object, c: PlacedJoint, i: int) -> None:
        axis = child(element, tag)
        said(axis, "xyz", unit_axis(direction))  # type: ignore[arg-type]
        if c.min_force:
            self.unsaid.leave(f"the lower end of the forces, {c.min_force[i]:g}, is left out", joint=c.name)
        most = {"effort": c.max_force, "velocity": c.max_velocity}
        limits = {"lower": c.lower[i], "upper": c.upper[i], **{key: x[i] for key, x in most.items() if x}}
        finite = {key: value for key, value in limits.items() if math.isfinite(value)}
        if finite:
            limit = child(axis, "limit")
            for key, value in finite.items():
                said(limit, key, [value])
        spring = {"spring_reference": c.rest[i], "spring_stiffness": c.stiffness[i]} if c.stiffness else {}
        forces = {"damping": c.damping[i], "friction": c.friction[i], **spring}
        if any(forces.values()):
            dynamics = child(axis, "dynamics")
            for key, value in forces.items():
                said(dynamics, key, [value])

    def _armature(self, element: ET.Element, c: PlacedJoint, i: int) -> None:
        if c.max_force and c.max_force[i] == 0.0:
            self.unsaid.refuse(f"joint {c.name!r}: the armature of a joint without force", "armature")
            return
        said(element, "drake:rotor_inertia", [c.armature[i]])
        self.unsaid.leave("the armature is written as Drake's rotor, which other readers ignore", joint=c.name)


def _folded(mechanism: Mechanism) -> set[str]:
    """Massless bodies that represent the placement of a joint away from its link, as our SDF reader makes them.

    Such a body is followed by its only child, which is fixed to it without rotation.
    """
    carried: dict[str, list[PlacedJoint]] = {}
    for c in mechanism.joints:
        carried.setdefault(c.parent, []).append(c)
    used = {frame.body for frame in mechanism.frames} | {x for loop in mechanism.loops for x in loop.loop.bodies}
    found: set[str] = set()
    for body, c, after in zip(mechanism.bodies, mechanism.joints, mechanism.joints[1:], strict=False):
        alone = carried.get(body.name) == [after] and body.name == f"{after.child}/{c.name}" and body.name not in used
        empty = not body.mass and not any(map(any, body.inertia)) and not body.geometry and body.fluid is None
        still = isinstance(after.joint, Fixed) and not transform(after.placement).factors
        if alone and empty and still and type(c.joint) in (Revolute, Helical):
            found.add(body.name)
    return found
