"""Drake's additions to SDF: planar joints, balls that close loops, tendons that couple joints, mimics, rotors behind
gears.

What a mechanism cannot represent although its motion depends on it (bushings, springs between points, soft bodies) is
an error unless waived; what concerns contact, visuals and controllers is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...constraints import Closure, Coupling
from ...joints import Spherical
from ...mechanism.builder import MechanismBuilder
from ..element import Element
from .poses import IDENTITY, Pose
from .resolve import Resolver
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
            way = scope.find(joint.require("name"), joint)
            if not way or way[-1].kind != "joint":
                joint.fail(f"there is no joint {joint.require('name')[:200]!r}")
            if way[-1].full in self.closing:
                joint.fail(f"joint {way[-1].full!r} closes a loop: it has no coordinate that could be coupled")
            yield way[-1].full, joint


_TENDON = {"lower_limit": -np.inf, "upper_limit": np.inf, "stiffness": np.inf, "offset": 0.0, "damping": 0.0}


def _number(element: Element, tag: str, default: float) -> float:
    """The number in a child element, possibly infinite."""
    child = element.child(tag)
    if child is None:
        return default
    infinite = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf}
    word = child.words().lower()
    return infinite[word] if word in infinite else child.text_number()
