"""From resolved links and joints to a builder: the tree, loops, gears, frames.

The choice between joints that carry links and joints that close loops.

Every link is carried by the first joint of the file that has it as its child. A link that is the child of two joints is
in a loop: the later joint closes it. Joints in the wrong direction are reversed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...constraints import Closure, Gear
from ...errors import ArgumentError
from ...joints import Fixed, Free
from ...joints.base import Joint
from ...mechanism.builder import MechanismBuilder
from ..element import Element
from ..numbers import quaternion
from ..report import Place, Reading
from .joints import Constraints, SdfJoint, drake_mimic, read_joint
from .links import SdfShapes, check_link, flag, ignore, number, read_inertial
from .resolve import IDENTITY, Pose, Resolver, read_pose
from .scope import NamedFrame, Scope


@dataclass
class Spanning:
    """Roots (without a joint), carrying joints, parents first and each towards its child, closing joints."""

    roots: list[NamedFrame] = field(default_factory=list)
    carrying: list[SdfJoint] = field(default_factory=list)
    closing: list[SdfJoint] = field(default_factory=list)


class _Finder:
    def __init__(self, links: Sequence[NamedFrame], joints: Sequence[SdfJoint]) -> None:
        self.links, self.joints = links, joints
        self.found = Spanning()
        self.placed: dict[NamedFrame | None, None] = {None: None}  # in order
        self.taken: set[SdfJoint] = set()
        self.touching: dict[NamedFrame | None, list[SdfJoint]] = {}
        for joint in joints:
            self.touching.setdefault(joint.parent, []).append(joint)
            self.touching.setdefault(joint.child, []).append(joint)
        self.first: dict[NamedFrame | None, SdfJoint] = {}
        for joint in joints:
            self.first.setdefault(joint.child, joint)

    def place(self, joint: SdfJoint, carried: NamedFrame | None) -> None:
        self.found.carrying.append(joint if joint.child is carried else joint.reverse())
        self.placed[carried] = None
        self.taken.add(joint)

    def grow(self, start: Iterable[NamedFrame | None], first_only: bool, turned: bool) -> None:
        """Place links outwards, each on the one that its joint is mounted on."""
        queue = list(start)
        for link in queue:
            for joint in self.touching.get(link, ()):
                facing = joint.parent is link
                other = joint.child if facing else joint.parent
                allowed = (facing or turned) and not (first_only and self.first.get(other) is not joint)
                if other not in self.placed and allowed:
                    self.place(joint, other)
                    queue.append(other)

    def settle(self, start: Iterable[NamedFrame | None]) -> None:
        """From a start, all that can be reached: by first joints, by any, by reversed ones."""
        known = len(self.placed)
        for first_only, turned in ((True, False), (False, False), (False, True)):
            self.grow([*start, *list(self.placed)[known:]], first_only, turned)


def spanning_tree(links: Sequence[NamedFrame], joints: Sequence[SdfJoint]) -> Spanning:
    """The tree: from the world, then from every link that is not a child, then from what is left."""
    finder = _Finder(links, joints)
    finder.settle([None])
    for candidates in ([link for link in links if link not in finder.first], links):
        for link in candidates:
            if link not in finder.placed:
                finder.found.roots.append(link)
                finder.placed[link] = None
                finder.settle([link])
    finder.found.closing = [joint for joint in joints if joint not in finder.taken]
    return finder.found


_NEAR = 1e-12  # metres: a joint nearer than this to the origin of a link is at its origin


class Assembly:
    """Reads all scopes of a file and adds what they hold to a builder."""

    def __init__(self, scopes: Sequence[Scope], shapes: SdfShapes, reading: Reading) -> None:
        self.resolver, self.shapes, self.reading = Resolver(), shapes, reading
        self.scopes = scopes
        for scope in scopes:
            with reading.element():
                self.resolver.declared_link(scope)
        self.links = [item for scope in scopes for item in scope.of("link")]
        self.frames = [item for scope in scopes for item in scope.of("frame")]
        held = {scope for scope in scopes if _is_static(scope)}
        self.static = {link for link in self.links if link.scope in held}
        self.pose: dict[NamedFrame, Pose] = {}
        for link in self.links:
            with reading.element():
                self.pose[link] = self.resolver.in_world(link)
        self.joints: list[SdfJoint] = []
        for item in (item for scope in scopes for item in scope.of("joint")):
            with reading.element():
                joint = read_joint(item, self.resolver)
                self.joints += [] if joint is None else [joint]
        reading.check()
        self._closing: set[str] = set()  # joints that close loops: they have no coordinates

    def add_to(self, b: MechanismBuilder, floating: bool | Joint) -> None:
        """Add everything."""
        real = [joint for joint in self.joints if joint.kind != "gearbox"]
        moving = [joint for joint in real if not self._is_held(joint)]
        links = [link for link in self.links if link not in self.static]
        for link in self.links:
            if link in self.static:
                self._add_link(b, link, "world", IDENTITY, Fixed(), link.full)
        tree = spanning_tree(links, [self._ground(joint) for joint in moving])
        self._closing = {joint.name for joint in tree.closing}
        self._add_roots(b, tree, floating)
        for joint in tree.carrying:
            with self.reading.element(), self.reading.naming(joint.element.place):
                self._add_carried(b, joint)
        for joint in tree.closing:
            with self.reading.element(), self.reading.naming(joint.element.place):
                self._add_closing(b, joint)
        for joint in self.joints:
            with self.reading.element(), self.reading.naming(joint.element.place):
                self._add_couplings(b, joint)
        for scope in self.scopes:
            Constraints(self.resolver, self.pose, self._closing).add_to(b, scope)
        self._add_frames(b)

    def _is_held(self, joint: SdfJoint) -> bool:
        return all(end is None or end in self.static for end in (joint.parent, joint.child))

    def _ground(self, joint: SdfJoint) -> SdfJoint:
        """A static model is part of the world."""
        ends = {name: None for name in ("parent", "child") if getattr(joint, name) in self.static}
        return replace(joint, **ends) if ends else joint

    # --- links and joints ---------------------------------------------------------------------------------------------

    def _add_roots(self, b: MechanismBuilder, tree: Spanning, floating: bool | Joint) -> None:
        if floating is not False and not tree.roots:
            raise ArgumentError(
                f"{self.reading.file}: joints to the world carry all links; remove floating=, or such a joint"
            )
        for root in tree.roots:
            joint = floating if isinstance(floating, Joint) else Free()
            at = self.pose[root]
            with self.reading.element(), self.reading.naming(root.element.place):
                if isinstance(joint, Free):
                    self._add_link(b, root, "world", IDENTITY, joint, self._unused_name(root.full))
                else:
                    self._add_link(b, root, "world", at, joint, self._unused_name(root.full))
        free = [r for r in tree.roots if isinstance(floating, bool)]
        if free:
            names = ", ".join(repr(r.full) for r in free[:3]) + (", ..." if len(free) > 3 else "")
            place = {self._unused_name(r.full): (*self.pose[r].p, *quaternion(self.pose[r].R)) for r in free}
            b.configuration("initial", place)
            have, them = ("has", "it") if len(free) == 1 else ("have", "them")
            self.reading.note(
                Place(self.reading.file),
                (
                    f"{names} {have} no joint to the world: a free joint is added, as SDF means it; floating=Fixed() "
                    f"fixes {them}"
                ),
            )

    def _unused_name(self, name: str) -> str:
        """A name for a joint that the file does not name."""
        used = {joint.name for joint in self.joints}
        while name in used:
            name += "_base"
        return name

    def _add_link(
        self, b: MechanismBuilder, link: NamedFrame, parent: str, at: Pose, joint: Joint, name: str, **more: Any
    ) -> None:
        element = link.element
        check_link(element)
        ignore(element)
        if joint.nv == 0 and parent == "world" and link in self.static:
            at = self.pose[link]
        b.body(
            link.full, parent=parent, joint=joint, joint_name=name, position=at.p, rotation=at.R,
            geometry=self.shapes.read(element, lambda pose: self._on_link(link, pose)),
            **read_inertial(element, link not in self.static), **more,
        )  # type: ignore[arg-type]  # fmt: skip

    def _on_link(self, link: NamedFrame, pose: Element | None) -> Pose:
        """Where on a link the <pose> of a shape is."""
        asked = pose.get("relative_to") if pose is not None else None
        if pose is None or not asked:
            return read_pose(pose)
        base = self.resolver.pose_of(link.scope, asked, pose)
        return self.resolver.in_model(link).inverse().then(base).then(read_pose(pose))

    def _add_carried(self, b: MechanismBuilder, joint: SdfJoint) -> None:
        """The link that a joint carries; through a massless body where the joint is not at the link's origin."""
        assert joint.child is not None
        base = IDENTITY if joint.parent is None else self.pose[joint.parent]
        parent = "world" if joint.parent is None else joint.parent.full
        link = self.pose[joint.child]
        if joint.start is not None:
            self._add_started(b, joint, base, joint.start)
            return
        offset = link.R.T @ (joint.pose.p - link.p)
        if joint.kind in ("fixed", "prismatic") or np.abs(offset).max() < _NEAR:
            at = base.inverse().then(link)
            motion = joint.joint(link.R)
            self._add_link(b, joint.child, parent, at, motion, joint.name, **joint.parameters())
            return
        at = base.inverse().then(Pose(link.R, joint.pose.p))
        carrier = f"{joint.child.full}/{joint.name}"
        b.body(carrier, parent=parent, joint=joint.joint(link.R), joint_name=joint.name, position=at.p, rotation=at.R,
               **joint.parameters())  # fmt: skip
        self._add_link(b, joint.child, carrier, Pose(np.eye(3), -offset), Fixed(), self._unused_name(joint.child.full))

    def _add_started(self, b: MechanismBuilder, joint: SdfJoint, base: Pose, start: Pose) -> None:
        """The link of a joint whose placements on parent and child need not meet in the file: its zero is where they
        do.
        """
        assert joint.child is not None
        parent = "world" if joint.parent is None else joint.parent.full
        at, inside = base.inverse().then(start), joint.pose.inverse().then(self.pose[joint.child])
        motion = joint.joint(joint.pose.R)
        if np.abs(inside.p).max() < _NEAR and np.abs(inside.R - np.eye(3)).max() < _NEAR:
            self._add_link(b, joint.child, parent, at, motion, joint.name, **joint.parameters())
            return
        carrier = f"{joint.child.full}/{joint.name}"
        b.body(carrier, parent=parent, joint=motion, joint_name=joint.name, position=at.p, rotation=at.R,
               **joint.parameters())  # fmt: skip
        self._add_link(b, joint.child, carrier, inside, Fixed(), self._unused_name(joint.child.full))

    def _add_closing(self, b: MechanismBuilder, joint: SdfJoint) -> None:
        """A loop: the joint's placements on both links coincide in the file's configuration."""
        ends = [IDENTITY if end is None else self.pose[end] for end in (joint.parent, joint.child)]
        names = ["world" if end is None else end.full for end in (joint.parent, joint.child)]
        places = (joint.start or joint.pose, joint.pose)
        first, second = (end.inverse().then(place) for end, place in zip(ends, places, strict=True))
        loop = Closure(
            joint.joint(joint.pose.R), *names, at_predecessor=first.p, predecessor_rotation=first.R,
            at_successor=second.p, successor_rotation=second.R,
        )  # fmt: skip
        b.loop(loop, name=joint.name)
        place = joint.element.place
        if joint.armature:
            message, fix = "the joint closes a loop: its rotor is ignored", "let another joint close it"
            self.reading.doubt(place, message, fix, "joint/drake:rotor_inertia")
        damped = any(joint.damping)
        if joint.kind == "ball" and damped:  # the format gives a ball no axis: only some readers damp it
            self.reading.warn(place, "the joint closes a loop: its damping is ignored", key="axis/dynamics")
        elif any(axis.stiffness or axis.damping for axis in joint.axes) or damped:
            message, fix = (
                "the joint closes a loop: its damping and spring are ignored",
                "let another joint close it",
            )
            self.reading.doubt(place, message, fix, "axis/dynamics")
        elif any(axis.friction for axis in joint.axes):
            self.reading.warn(place, "the joint closes a loop: its friction is ignored", key="axis/dynamics")
        if any(np.isfinite([axis.lower, axis.upper]).any() for axis in joint.axes):
            self.reading.warn(place, "the joint closes a loop: its limits are ignored", key="axis/limit")

    # --- gears --------------------------------------------------------------------------------------------------------

    def _add_couplings(self, b: MechanismBuilder, joint: SdfJoint) -> None:
        if joint.kind == "gearbox":
            self._add_gearbox(b, joint)
        gears: list[tuple[Element, str, float, float]] = []
        for tag in ("axis", "axis2"):
            axis = joint.element.child(tag)
            mimic = axis.child("mimic") if axis is not None else None
            if mimic is None:
                continue
            if len(joint.axes) != 1 or mimic.get("axis") not in (None, "axis"):
                mimic.fail("only joints with one axis can mimic, and be mimicked")
            ratio, offset = number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0)
            reference = number(mimic, "reference", 0.0)
            gears.append((mimic, mimic.require("joint"), ratio, offset - ratio * reference))
        also = drake_mimic(joint.element)
        if also is not None:
            gears.append(also)
        self._add_mimics(b, joint, gears)

    def _add_mimics(self, b: MechanismBuilder, joint: SdfJoint, gears: list[tuple[Element, str, float, float]]) -> None:
        """Add the gears of a mimic: (element, joint, ratio, offset). It may be given in SDF's way and in Drake's."""
        for n, (mimic, asked, ratio, offset) in enumerate(gears):
            leader = joint.item.scope.find(asked, mimic)
            if not leader or leader[-1].kind != "joint":
                mimic.fail(f"there is no joint {asked[:200]!r}")
            for name in (joint.name, leader[-1].full):
                if name in self._closing:
                    mimic.fail(
                        f"joint {name!r} closes a loop: it has no coordinate that could mimic or be mimicked",
                        "let another joint close it: among those with the same child the first carries it",
                    )
            if n and gears[0][1:] != (asked, ratio, offset):
                mimic.fail(
                    f"<mimic> and <drake:mimic> of joint {joint.name!r} contradict each other", "remove one of them"
                )
            if not n:
                b.loop(Gear(leader[-1].full, joint.name, ratio, offset), name=f"{joint.name}_mimic")

    def _add_gearbox(self, b: MechanismBuilder, gearbox: SdfJoint) -> None:
        """θ₂ = -ratio · θ₁, the angles from the reference body to the parent, and to the child."""
        element = gearbox.element
        reference = element.require_child("gearbox_reference_body")
        body = self.resolver.link(gearbox.item.scope, reference.words(), reference)
        ratio = number(element, "gearbox_ratio", 1.0)
        first, s1 = self._turning(body, gearbox.parent, gearbox.axes[0].direction, gearbox)
        second, s2 = self._turning(body, gearbox.child, gearbox.axes[1].direction, gearbox)
        b.loop(Gear(first, second, -ratio * s1 * s2), name=gearbox.name)

    def _turning(
        self, body: NamedFrame | None, link: NamedFrame | None, axis: np.ndarray, gearbox: SdfJoint
    ) -> tuple[str, float]:
        """The hinge between two links, and ±1: its coordinate, with that sign, is the angle from body to link."""
        for joint in self.joints:
            turns = joint.kind in ("revolute", "continuous") and joint.name not in self._closing
            if turns and {joint.parent, joint.child} == {body, link}:
                along = float(joint.axes[0].direction @ axis)
                if abs(abs(along) - 1.0) < 1e-3:
                    return joint.name, np.sign(along) * (1.0 if joint.parent is body else -1.0)
        names = ["world" if end is None else end.full for end in (body, link)]
        gearbox.element.fail(
            f"a gearbox needs a revolute joint about its axis between its reference body {names[0]!r} and "
            f"{names[1]!r}, and not one that closes a loop"
        )

    def _add_frames(self, b: MechanismBuilder) -> None:
        for item in self.frames:
            with self.reading.element(), self.reading.naming(item.element.place):
                place = self.resolver.in_world(item)
                if item.scope.element.tag == "world" and item.element.get("attached_to") in (None, "world"):
                    b.frame(item.full, "world", position=place.p, rotation=place.R)
                    continue
                link = self.resolver.link(item.scope, item.name, item.element)
                assert link is not None
                at = self.pose[link].inverse().then(place)
                b.frame(item.full, link.full, position=at.p, rotation=at.R)


def _is_static(scope: Scope | None) -> bool:
    while scope is not None:
        if scope.element.tag == "model" and flag(scope.element, "static", False):
            return True
        scope = scope.parent
    return False
