"""Loops as MJCF equalities: of joints (up to a quartic), of fixed tendons, and of sites, wherever these are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from ...constraints import Closure, Coupling, Differential, Distance, Gear, Loop, Polynomial
from ...edit.placements import transform
from ...joints import Fixed, Revolute, Spherical
from ...joints.axis import rotation_from_z
from ...mechanism.mechanism import WORLD, NamedLoop, PlacedJoint
from ...spatial.linear import Vec
from ...spatial.transform import IDENTITY, Transform
from ..rotations import quaternion
from .written_numbers import Fresh, Unsaid, child

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
            if not self._said(equality, self._unsaid.name(loop.name), loop.loop):
                what = f"loop {loop.name!r}, a {type(loop.loop).__name__} (robot.spanning() has no loops)"
                self._unsaid.refuse(what, "loop")
        for screw in screws:
            self._polynomial(equality, self._new(screw.driven), screw.driver, screw.driven, (0.0, screw.ratio))
        self._root.append(equality)
        self._unsaid.leave("loops are written as equalities, which MuJoCo enforces softly")

    def _said(self, equality: ET.Element, name: str, loop: Loop) -> bool:
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
