"""<joint>: its type and axes as a joint of ours, and its parameters, one entry per axis; and Drake's additions:
planar joints, balls that close loops, tendons that couple joints.

What a mechanism cannot represent although its motion depends on it (bushings, springs between points, soft bodies) is
an error unless waived; what concerns contact, visuals and controllers is noted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...constraints import Closure, Coupling
from ...joints import Helical, Joint, Planar, Spherical
from ...joints.registry import axes_of, types_by_tag
from ...mechanism.builder import MechanismBuilder
from ..element import Element
from ..numbers import position_limit
from .links import flag, number
from .resolve import IDENTITY, WORLD, Pose, Resolver, joint_end
from .scope import NamedFrame, Scope

# Unread elements of Drake below these would change the motion.
MATTERS = ("model/drake:*", "link/drake:*", "joint/drake:*", "axis/drake:*", "axis2/drake:*", "limit/drake:*")
# Except for these, which concern controllers, contact or visuals.
_CONTROL, _CONTACT, _PICTURES = (f"for {what}, is ignored" for what in ("controllers", "contact", "visuals"))
OTHERS = {
    "drake:controller_gains": _CONTROL,
    "drake:acceleration": _CONTROL,
    "drake:collision_filter_group": _CONTACT,
    "drake:proximity_properties": "for contact: only friction and stiffness are read",
    "drake:perception_properties": _PICTURES,
    "drake:illustration_properties": _PICTURES,
    "drake:accepting_renderer": _PICTURES,
    "drake:diffuse_map": _PICTURES,
    "drake:visual": _PICTURES,
    "drake:declare_convex": _CONTACT,
}
ROTOR = ("drake:rotor_inertia", "drake:gear_ratio")


def note_others(root: Element) -> None:
    """A note for each element that concerns controllers, contact or visuals."""
    pending = [root]
    while pending:
        element = pending.pop()
        if element.tag in OTHERS and element.parent is not None:
            element.parent.mark(element.tag)
            element.mark("*")
            message = f"<{element.tag}>, {OTHERS[element.tag]}"
            element.reading.add("note", element.place, message, "", element.key)
        else:
            pending.extend(element.children)


def armature(joint: Element, axes: int, effort: float) -> float:
    """The inertia that a rotor behind a gear adds to a joint. As in Drake, only an actuator has one."""
    inertia, ratio = (
        default if child is None else child.text_number()
        for child, default in ((joint.child(tag), default) for tag, default in zip(ROTOR, (0.0, 1.0), strict=True))
    )
    if inertia < 0.0:
        joint.require_child(ROTOR[0]).fail(f"the rotor inertia {inertia} is negative")
    if inertia and axes != 1:
        message = f"a rotor on a joint of {axes} axes is ignored"
        joint.reading.doubt(joint.place, message, "only joints with one axis can have one", f"joint/{ROTOR[0]}")
        return 0.0
    if inertia and effort == 0.0:
        message = "the effort is 0: there is no actuator, and its rotor is ignored"
        joint.reading.add("note", joint.place, message, "", f"joint/{ROTOR[0]}")
        return 0.0
    return ratio * ratio * inertia


def drake_mimic(joint: Element) -> tuple[Element, str, float, float] | None:
    """The <drake:mimic> of a joint: the element, the other joint, multiplier and offset."""
    mimic = joint.child("drake:mimic")
    if mimic is None:
        return None
    return mimic, mimic.require("joint"), mimic.number("multiplier"), mimic.number("offset", 0.0)


@dataclass
class Constraints:
    """Adds what connects bodies and couples joints. `poses` of the links, in the world of the file's configuration."""

    resolver: Resolver
    poses: Mapping[NamedFrame, Pose]
    closing: set[str]  # joints without coordinates

    def add_to(self, b: MechanismBuilder, scope: Scope) -> None:
        """The constraints of a model."""
        for n, element in enumerate(scope.element.all("drake:ball_constraint"), 1):
            with element.reading.element(), element.reading.naming(element.place):
                b.loop(self._ball(element, scope), name=f"{scope.prefix}ball_constraint_{n}")
        for n, element in enumerate(scope.element.all("drake:tendon_constraint"), 1):
            with element.reading.element(), element.reading.naming(element.place):
                loop = self._tendon(element, scope)
                if loop is not None:
                    b.loop(loop, name=f"{scope.prefix}tendon_constraint_{n}")

    def _ball(self, element: Element, scope: Scope) -> Closure:
        """A point of one body stays at a point of another; without a second point, at that of the file's
        configuration.
        """
        names, places, point = [], [], np.zeros(3)
        for side, tag in (("A", "p_AP"), ("B", "p_BQ")):
            body = element.require_child(f"drake:ball_constraint_body_{side}")
            link = self.resolver.link(scope, body.words(), body)
            pose = IDENTITY if link is None else self.poses[link]
            said = element.child(f"drake:ball_constraint_{tag}")
            if said is None and side == "A":
                element.fail(f"<drake:ball_constraint_{tag}> is missing", "write the point on the first body")
            place = pose.inverse().R @ (point - pose.p) if said is None else np.array(said.text_numbers(3))
            point = pose.R @ place + pose.p
            names.append("world" if link is None else link.full)
            places.append(place)
        return Closure(Spherical(), *names, at_predecessor=places[0], at_successor=places[1])

    def _tendon(self, element: Element, scope: Scope) -> Coupling | None:
        """Σ a q + offset, held at one length by a rigid tendon; other tendons are reported."""
        factors = {name: joint.number("a") for name, joint in self._tied(element, scope)}
        numbers = {tag: _number(element, f"drake:tendon_constraint_{tag}", default) for tag, default in _TENDON.items()}
        low, high = numbers["lower_limit"], numbers["upper_limit"]
        if not (low == high and np.isfinite(low) and numbers["stiffness"] == np.inf):
            message = "an elastic tendon, or one with a range of lengths, is not supported"
            fix = "equal limits and a stiffness of inf are supported"
            element.reading.doubt(element.place, message, fix, "model/drake:tendon_constraint")
            return None
        return Coupling(factors, low - numbers["offset"])

    def _tied(self, element: Element, scope: Scope) -> Iterator[tuple[str, Element]]:
        for joint in element.all("drake:tendon_constraint_joint"):
            chain = scope.find(joint.require("name"), joint)
            if not chain or chain[-1].kind != "joint":
                joint.fail(f"there is no joint {joint.require('name')[:200]!r}")
            if chain[-1].full in self.closing:
                joint.fail(f"joint {chain[-1].full!r} closes a loop: it has no coordinate that could be coupled")
            yield chain[-1].full, joint


_TENDON = {"lower_limit": -np.inf, "upper_limit": np.inf, "stiffness": np.inf, "offset": 0.0, "damping": 0.0}


def _number(element: Element, tag: str, default: float) -> float:
    """The number in a child element, possibly infinite."""
    child = element.child(tag)
    if child is None:
        return default
    infinite = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf}
    word = child.words().lower()
    return infinite[word] if word in infinite else child.text_number()


PLANAR = "planar"  # Drake's
GEARBOX = "gearbox"  # which couples joints, about two axes


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a joint: direction in world axes (of the file's configuration), and parameters."""

    direction: np.ndarray
    lower: float = -np.inf
    upper: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    max_force: float = np.inf
    max_velocity: float = np.inf


@dataclass(frozen=True, eq=False)
class SdfJoint:
    """A joint between two links (None: the world), at a pose in the world of the file's configuration.

    `start`: where the joint is on its parent, if that is another place (Drake's joints only). `damping`: of all
    velocities of a joint without axes.
    """

    item: NamedFrame
    kind: str
    parent: NamedFrame | None
    child: NamedFrame | None
    pose: Pose
    axes: tuple[Axis, ...]
    pitch: float = 0.0
    armature: float = 0.0
    start: Pose | None = None
    damping: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        return self.item.full

    @property
    def element(self) -> Element:
        return self.item.element

    def reverse(self) -> SdfJoint:
        """The same joint, from the child's point of view: T⁻¹(q) is the motion by q about the opposite axes, last
        first.
        """
        if self.kind == PLANAR:
            self.element.fail(
                "the child of this planar joint would carry its parent, which would change its coordinates",
                "exchange <drake:parent> and <drake:child>",
            )
        axes = tuple(replace(axis, direction=-axis.direction) for axis in reversed(self.axes))
        return replace(self, parent=self.child, child=self.parent, axes=axes)

    def joint(self, R: np.ndarray) -> Joint:
        """The joint in frames with axes R (in the world)."""
        axes = [tuple((R.T @ axis.direction).tolist()) for axis in self.axes]
        if self.kind == PLANAR:
            return Planar("z")
        kind = types_by_tag("sdf")[self.kind]
        return Helical(axes[0], pitch=self.pitch) if kind is Helical else kind(*axes)

    def parameters(self) -> dict[str, Any]:
        """The builder arguments for limits, damping, springs."""
        if not self.axes:
            return {"damping": list(self.damping)} if any(self.damping) else {}
        of = lambda name: [getattr(axis, name) for axis in self.axes]  # noqa: E731
        found = {name: of(name) for name in ("damping", "friction", "stiffness", "max_force", "max_velocity", "rest")}
        rotor = {"armature": self.armature} if self.armature else {}
        return {**found, **rotor, "limits": (of("lower"), of("upper"))}


def read_joint(item: NamedFrame, resolver: Resolver) -> SdfJoint | None:
    """A joint, with all its frames resolved; None for one of Drake's that is not supported, which is reported."""
    element = item.element
    kind = element.require("type")
    is_standard = element.tag == "joint"
    known = [*types_by_tag("sdf"), GEARBOX]
    if is_standard and kind not in known:
        element.fail(f"unknown joint type {kind[:60]!r}", f"expected one of {', '.join(known)}")
    if not is_standard and kind != PLANAR:
        element.mark("*")
        message = f"Drake's joint type {kind[:60]!r} is not supported: without it the bodies it holds are free"
        element.reading.doubt(element.place, message, f"only {PLANAR!r} is read", "model/drake:joint")
        return None
    ends = [joint_end(element, side) for side in ("parent", "child")]
    parent, child = (resolver.link(item.scope, end.words(), end) for end in ends)
    if parent is child:
        name = "world" if parent is None else parent.full
        element.fail(f"the joint connects {name[:200]!r} with itself")
    pose = resolver.in_world(item)
    if not is_standard:
        start = _on_parent(item, ends[0], resolver)
        return SdfJoint(item, kind, parent, child, pose, (), start=start, damping=_planar_damping(element))
    axes = _axes(item, kind, pose, resolver)
    for unused in element.all("physics") + element.all("sensor"):
        unused.mark("*")
    rotor = armature(element, len(axes), axes[0].max_force if axes else np.inf)
    damping = _ball_damping(element) if kind == "ball" else ()
    pitch = _pitch(element) if kind == "screw" else 0.0
    return SdfJoint(item, kind, parent, child, pose, axes, pitch, rotor, damping=damping)


def _on_parent(item: NamedFrame, parent: Element, resolver: Resolver) -> Pose:
    """The frame on the parent, in the world: Drake's joints are at zero where that of the child meets it."""
    name = parent.words()
    if name == WORLD:
        return IDENTITY
    return resolver.scope_pose(item.scope).then(resolver.pose_of(item.scope, name, parent))


def _planar_damping(element: Element) -> tuple[float, ...]:
    """Damping of angle, x, y (in the axes of the child, so that it must be equal for x and y)."""
    said = element.child("drake:damping")
    x, y, angle = (0.0, 0.0, 0.0) if said is None else said.text_numbers(3)
    if min(x, y, angle) < 0.0:
        element.require_child("drake:damping").fail(f"damping {min(x, y, angle)} is negative")
    if x != y:
        message = f"damping {x:g} along x and {y:g} along y: ignored, as it must be equal for both here"
        element.reading.doubt(element.place, message, "make them equal", "drake:joint/drake:damping")
        x = y = 0.0
    return (angle, x, y)


def _ball_damping(element: Element) -> tuple[float, ...]:
    """The damping of a ball, the same about all axes."""
    axis = element.child("axis")
    dynamics = axis.child("dynamics") if axis is not None else None
    return (0.0 if dynamics is None else number(dynamics, "damping", 0.0),) * 3


def _pitch(element: Element) -> float:
    """Metres per radian: from metres per turn, or the older radians per metre of a left-handed thread."""
    modern, old = element.child("screw_thread_pitch"), element.child("thread_pitch")
    if modern is not None:
        return modern.text_number() / (2.0 * np.pi)
    value = 1.0 if old is None else old.text_number()
    if value == 0.0:
        element.fail(
            "thread_pitch is zero: the screw would advance infinitely", "write screw_thread_pitch in metres per turn"
        )
    return -1.0 / value


def _axes(item: NamedFrame, kind: str, pose: Pose, resolver: Resolver) -> tuple[Axis, ...]:
    count = 2 if kind == GEARBOX else len(axes_of(types_by_tag("sdf")[kind]))
    joint_axes = []
    for tag in ("axis", "axis2")[: max(count, 1)]:
        element = item.element.child(tag)
        if count == 0:
            if element is not None:
                _report_unused(element, kind)
            continue
        if element is None:
            item.element.fail(f"<{tag}> is missing: a {kind} joint has {count}")
        joint_axes.append(_axis(element, item, kind, pose, resolver))
    return tuple(joint_axes)


def _report_unused(axis: Element, kind: str) -> None:
    dynamics = axis.child("dynamics")
    tags = ("friction", "spring_stiffness") if kind == "ball" else ("damping", "friction", "spring_stiffness")
    if dynamics is not None and any(number(dynamics, tag, 0.0) for tag in tags):
        axis.reading.warn(dynamics.place, f"<dynamics> of a {kind} joint is ignored", key="axis/dynamics")
    axis.mark("*")


def _resistance(dynamics: Element | None, tag: str) -> float:
    """A number of <dynamics> that is not negative; none where it is, and that is waived."""
    value = 0.0 if dynamics is None else number(dynamics, tag, 0.0)
    if value < 0.0 and dynamics is not None:
        message = f"<{tag}> {value:g} is negative; if accepted, it counts as zero"
        dynamics.reading.doubt(dynamics.place, message, "write a number ≥ 0", f"{dynamics.key}/{tag}")
    return max(value, 0.0)


def _axis(element: Element, item: NamedFrame, kind: str, pose: Pose, resolver: Resolver) -> Axis:
    direction = _direction(element, item, pose, resolver)
    dynamics, limit = element.child("dynamics"), element.child("limit")
    lower, upper = (_read_bound(limit, tag, sign) for tag, sign in (("lower", -1.0), ("upper", 1.0)))
    if limit is not None:
        limit.mark("stiffness", "dissipation")
        for child in limit.children:
            child.mark("")
    if kind == "continuous":
        lower, upper = -np.inf, np.inf
    if lower > upper:
        message = f"the lower limit {lower:g} is above the upper one {upper:g}; both are ignored"
        element.reading.doubt((limit or element).place, message, "exchange them", "axis/limit")
        lower, upper = -np.inf, np.inf
    if number(element, "initial_position", 0.0):
        element.reading.warn(element.place, "initial_position is ignored", key="axis/initial_position")
    return Axis(
        direction, lower, upper,
        damping=_resistance(dynamics, "damping"), friction=_resistance(dynamics, "friction"),
        stiffness=_resistance(dynamics, "spring_stiffness"),
        rest=0.0 if dynamics is None else number(dynamics, "spring_reference", 0.0),
        max_force=_most(limit, "effort"), max_velocity=_most(limit, "velocity"),
    )  # fmt: skip


def _direction(element: Element, item: NamedFrame, pose: Pose, resolver: Resolver) -> np.ndarray:
    """The axis in world axes: given in the joint's frame, or in a named one."""
    xyz = element.child("xyz")
    vector = np.array((0.0, 0.0, 1.0) if xyz is None else xyz.text_numbers(3))
    length = math.hypot(*vector)
    if not 0.0 < length < math.inf:
        element.fail(f"the axis is {'zero' if length == 0.0 else 'too long to have a length'}", "write a unit vector")
    if abs(length - 1.0) > 1e-3:
        element.reading.note(element.place, f"the axis has length {length:.6g}; only its direction is used")
    frame, asked = pose, xyz.get("expressed_in") if xyz is not None else None
    of_model = flag(element, "use_parent_model_frame", False)
    if asked:
        inside = resolver.pose_of(item.scope, asked, xyz or element)
        frame = resolver.scope_pose(item.scope).then(inside)
    elif of_model:
        frame = resolver.scope_pose(item.scope)
    return frame.R @ (vector / length)


def _read_bound(limit: Element | None, tag: str, sign: float) -> float:
    """A limit of the position; infinite where there is none (the format itself writes 1e16), and where it is not a
    number and that is waived.
    """
    child = limit.child(tag) if limit is not None else None
    if child is None or child.words().lower() in ("inf", "-inf", "+inf"):
        return sign * np.inf
    with child.reading.lenient("axis/limit", doubt=True, outcome="if accepted, there is no limit"):
        return position_limit(child.text_number(), sign)
    return sign * np.inf


def _most(limit: Element | None, tag: str) -> float:
    """A force or speed limit: infinite where it is negative, or not given."""
    value = _read_bound(limit, tag, 1.0)
    return value if value >= 0.0 else np.inf
