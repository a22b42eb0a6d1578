"""Loops in SDF: joints between links that have others already, mimics; and Drake's elements for planes and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

import numpy as np

from ...constraints import Closure
from ...joints import Free, Joint, Planar, Prismatic, Revolute, Universal
from ...joints.axis import rotation_from_z, unit_axis
from ...joints.registry import tag_of
from ...mechanism.mechanism import WORLD, Mechanism, NamedLoop
from ...spatial.transform import Transform
from .linear_conditions import conditions, leave_name
from .sdf_model import SdfModel, said
from .written_numbers import Unsaid, child, listed
from .zero_configuration import poses_at_zero

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
    said(element, "drake:damping", damping)
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
            if not self._said(named):
                what = f"loop {named.name!r}, a {type(named.loop).__name__} (robot.spanning() has no loops)"
                self.unsaid.refuse(what, "loop")
        chosen = [named.name for named in self.mechanism.loops if named.independent]
        if chosen:
            self.unsaid.leave(f"the choice of independent joints in loops {listed(chosen)} is left out")

    def _check_floating(self) -> None:
        """Refuse loops between floating and other bodies: readers would attach the former by one of the loop joints."""
        tying: dict[str, list[str]] = {}
        for named in self.mechanism.loops:
            ends = {self.roots[body] for body in named.loop.bodies} if isinstance(named.loop, Closure) else set()
            if len(ends) > 1:
                tying.setdefault(next(iter(ends - {WORLD})), []).append(named.name)
        for body, names in tying.items():
            what = f"body {body!r} floats and is in loops ({listed(names)}): one of their joints will carry it"
            self.unsaid.refuse(what, "coordinates")

    def _said(self, named: NamedLoop) -> bool:
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
        given = {
            "offset": [0.0],
            "lower_limit": [offset],
            "upper_limit": [offset],
            "stiffness": "inf",
            "damping": [0.0],
        }
        for tag, value in given.items():
            said(tendon, f"drake:tendon_constraint_{tag}", value)
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
            said(mimic, tag, [value])
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
        called = self.model.named(name, "loop")
        sides = [(self.model.links[body], T) for body, T in (parent, link)]
        if isinstance(joint, Planar):
            planar(self.model, called, joint, sides[0], sides[1])
            return True
        assert kind is not None
        kind = two_hinges(joint) if isinstance(joint, Universal) else kind
        element = self.model.joint(called, kind, sides[0][0], sides[1][0])
        self.model.pose(element, Transform.of(link[1].R, link[1].p))
        for tag, direction in zip(("axis", "axis2"), self._directions(joint, parent, link, swapped), strict=False):
            said(child(element, tag), "xyz", direction)
        return True

    def _directions(self, joint: Joint, parent: End, link: End, swapped: bool) -> list[Sequence[float]]:
        """The axes in the frame of the joint, which is at its placement on the child."""
        if isinstance(joint, Universal):
            first, second = (joint.axis2, joint.axis1) if swapped else (joint.axis1, joint.axis2)
            outer, inner = (np.array(self.poses[body].then(T).R, float) for body, T in (parent, link))
            return [(inner.T @ outer @ np.array(unit_axis(first))).tolist(), unit_axis(second)]
        return [unit_axis(joint.axis)] if isinstance(joint, Revolute | Prismatic) else []
