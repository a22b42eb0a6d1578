"""Loops: <loop> and <coupling> of URDF+ (Chignoli 2024), which earlier files call otherwise, and the <constraint>
proposed for urdfdom in 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...constraints import Closure, Constraint, Coupling, Distance, Formula, Parametric
from ...errors import IndependenceError, unknown
from ...joints import Fixed, Joint, Prismatic, Revolute, Spherical, Universal
from ...joints.axis import rotation_from_z
from ...joints.registry import about, types_by_tag
from ...mechanism.builder import MechanismBuilder
from ...mechanism.mechanism import Mechanism
from ...mechanism.validate import read_placement
from ...tree.cluster_tree import lower
from ..element import Element
from ..report import loop_key
from .joints import ReadJoint, chain, read_axis, read_origin

_INDEPENDENT = "joint@independent"
_TOO_MANY = (
    'as joints of a loop have independent="false", the others of it without the attribute are independent; mark more, '
    f"or leave the choice to fourbar with waive=[{_INDEPENDENT!r}]"
)
_CUT = ("revolute", "prismatic", "universal", "spherical", "link")


class Closures:
    """Reads what closes loops. Knows the tree: which joints are between two links."""

    def __init__(
        self, root: Element, builder: MechanismBuilder, joints: Mapping[str, ReadJoint], links: Iterable[str]
    ) -> None:
        self._root = root
        self._builder = builder
        self._links = set(links)
        self._by_child = {joint.child: joint for joint in joints.values()}
        self._parents = {joint.child: joint.parent for joint in joints.values()}
        self._tied: set[str] = set()

    def read(self) -> None:
        """All loops of the file."""
        readers = {
            "loop": self._loop,
            "coupling": self._coupling,
            "constraint": self._constraint,
            "loop_constraint": self._loop_constraint,
            "joint_constraint": self._joint_constraint,
        }
        for tag, reader in readers.items():
            for element in self._root.all(tag):
                with self._root.reading.element(), self._root.reading.naming(element.place):
                    name = element.require("name")
                    self._root.reading.places[loop_key(name)] = element.place
                    reader(element, name)
        for joint in self._by_child.values():
            if joint.independent is False and joint.name not in self._tied:
                place = joint.element.place
                text = f"joint {joint.name!r} is in no loop, so that it is independent anyway"
                self._root.reading.warn(place, text, "remove independent=", _INDEPENDENT)

    # --- URDF+ --------------------------------------------------------------------------------------------------------

    def _loop(self, element: Element, name: str) -> None:
        """A joint between two links, with a placement on each, about one axis in both."""
        kind, known = element.require("type"), types_by_tag("urdf+")
        readers = {"distance": self._distance, "constraint": self._function, "parametric": self._function}
        if kind in readers:
            return readers[kind](element, name)
        if kind not in known:
            element.fail(f"unknown loop type {kind[:60]!r}", f"expected one of {', '.join([*known, *readers])}")
        first, second = self._end(element, "predecessor"), self._end(element, "successor")
        places = [_place(read_origin(end)) for _, end in (first, second)]
        joint = about(known[kind], read_axis(element))
        self._close(name, joint, first[0], second[0], *places)

    def _distance(self, element: Element, name: str) -> None:
        """A rod: points of two links that stay at a distance. An extension of URDF+."""
        (first, at_first), (second, at_second) = (self._end(element, x) for x in ("predecessor", "successor"))
        points = [_place(read_origin(end))[1] for end in (at_first, at_second)]
        rod = Distance(first, second, *points, length=element.require_child("length").number("value"))
        self._builder.loop(rod, name=name, independent=self._independent(first, second))

    def _function(self, element: Element, name: str) -> None:
        """A function of joint coordinates as formulas. An extension of URDF+."""
        arguments = {x.require("name"): self._joint(x) for x in element.all("argument")}
        function = Formula(
            list(arguments),
            [x.require("value") for x in element.all("result")],
            where={x.require("name"): x.require("value") for x in element.all("where")},
            constants={x.require("name"): x.number("value") for x in element.all("constant")},
        )
        of = list(arguments.values())
        if element.require("type") == "constraint":
            loop: Constraint | Parametric = Constraint(function, of)
        else:
            loop = Parametric(function, of, [self._joint(x) for x in element.all("output")])
        self._builder.loop(loop, name=name, independent=self._choose_independent(loop.joints))

    def _joint(self, element: Element) -> str:
        """The joint that an element names."""
        joint, known = element.require("joint"), [x.name for x in self._by_child.values()]
        if joint not in known:
            element.fail(str(unknown("joint", joint, known)))
        return joint

    def _coupling(self, element: Element, name: str) -> None:
        """ratio · (angle of the predecessor) = angle of the successor, both relative to their common ancestor.

        The type, if given, is rolling: that of two wheels.
        """
        kind = element.get("type")
        if kind not in (None, "rolling"):
            element.fail(f"unknown coupling type {kind[:60]!r}", "expected rolling, or no type")
        (first, _), (second, _) = self._end(element, "predecessor"), self._end(element, "successor")
        given = element.child("ratio")
        self._couple(element, name, first, second, 1.0 if given is None else given.number("value"))

    def _couple(self, element: Element, name: str, first: str, second: str, ratio: float) -> None:
        before, after = self._between(first, second)
        factors = {**dict.fromkeys(before, ratio), **dict.fromkeys(after, -1.0)}
        if not before or not after:
            element.fail(
                f"no joint moves {first if not before else second!r} relative to the common ancestor of both links"
            )
        self._builder.loop(Coupling(factors), name=name, independent=self._independent(first, second))

    def _end(self, element: Element, tag: str) -> tuple[str, Element]:
        """The link of <predecessor link> or <successor link>; some writers call the attribute name."""
        end = element.require_child(tag)
        link = end.get("link") or end.require("name") if "name" in end.attributes else end.require("link")
        return self._known_link(end, link), end

    def _known_link(self, element: Element, link: str) -> str:
        if link not in self._links:
            element.fail(str(unknown("link", link, self._links)))
        return link

    # --- the first files of URDF+ -------------------------------------------------------------------------------------

    def _loop_constraint(self, element: Element, name: str) -> None:
        """Points of two links that coincide."""
        first, second = self._links_of(element)
        places = [_place(read_origin(element, f"{side}_origin")) for side in ("parent", "child")]
        self._close(name, Spherical(), first, second, *places)

    def _joint_constraint(self, element: Element, name: str) -> None:
        """gear_ratio · (angle of the parent) = angle of the child: a coupling."""
        first, second = self._links_of(element)
        self._couple(element, name, first, second, element.require_child("gear_ratio").number("value"))

    def _links_of(self, element: Element) -> tuple[str, str]:
        """The links of <parent link> and <child link>."""
        first, second = (
            self._known_link(element, element.require_child(x).require("link")) for x in ("parent", "child")
        )
        return first, second

    # --- urdfdom ------------------------------------------------------------------------------------------------------

    def _constraint(self, element: Element, name: str) -> None:
        """A cut joint, or a cut link: a placement and an axis on each of two links. Earlier files of URDF+ called their
        couplings so (rolling), and points of two links that coincide (position).
        """
        kind = element.require("type")
        if kind == "rolling":
            return self._coupling(element, name)
        if kind == "position":
            (first, at_first), (second, at_second) = (self._end(element, x) for x in ("predecessor", "successor"))
            return self._close(
                name, Spherical(), first, second, *(_place(read_origin(x)) for x in (at_first, at_second))
            )
        if kind not in _CUT:
            element.fail(f"unknown constraint type {kind[:60]!r}", f"expected one of {', '.join(_CUT)}")
        first, second = self._links_of(element)
        at_first, at_second = (_place(read_origin(element, f"{side}_origin")) for side in ("parent", "child"))
        axis1, axis2 = (read_axis(element, f"{side}_axis") for side in ("parent", "child"))
        if kind == "revolute":
            at_first, at_second = (_turn_to_axis(p, axis) for p, axis in ((at_first, axis1), (at_second, axis2)))
            joint: Joint = Revolute("z")
        elif kind == "prismatic":
            if not np.allclose(axis1, axis2, rtol=0.0, atol=1e-9):
                fix = "rotate the origins so that the axis is the same in both"
                element.fail(f"a prismatic constraint about {axis1} in one frame and {axis2} in the other", fix)
            joint = Prismatic(axis1)
        else:
            joint = Universal(axis1, axis2) if kind == "universal" else Spherical() if kind == "spherical" else Fixed()
        self._close(name, joint, first, second, at_first, at_second)

    # --- both ---------------------------------------------------------------------------------------------------------

    def _close(self, name: str, joint: Joint, first: str, second: str, at_first: Any, at_second: Any) -> None:
        (R1, p1), (R2, p2) = at_first, at_second
        closure = Closure(
            joint, first, second,
            at_predecessor=p1, predecessor_rotation=R1, at_successor=p2, successor_rotation=R2,
        )  # fmt: skip
        self._builder.loop(closure, name=name, independent=self._independent(first, second))

    def _between(self, first: str, second: str) -> tuple[list[str], list[str]]:
        """The moving joints from the common ancestor of both links to each of them."""
        paths = [chain(self._parents, link) for link in (first, second)]
        shared = set(paths[0]) & set(paths[1])
        own = [[self._by_child[link] for link in path if link not in shared] for path in paths]
        before, after = ([j.name for j in joints if j.joint.nv] for joints in own)
        return before, after

    def _independent(self, first: str, second: str) -> dict[str, float]:
        """The joints between two links that the file declares independent, with the scales of their velocities."""
        before, after = self._between(first, second)
        return self._choose_independent([*before, *after])

    def _choose_independent(self, joints: Iterable[str]) -> dict[str, float]:
        """The joints of a loop that the file declares independent, with the scales of their velocities.

        In URDF+ a joint without the attribute is independent. That is applied in loops with a joint that is not: where
        none has the attribute, the choice is left open.
        """
        loop = set(joints)
        self._tied |= loop
        said = {j.name: j.independent for j in self._by_child.values()}
        complete = any(said[name] is False for name in loop)
        if complete and self._root.reading.is_waived(_INDEPENDENT):
            message = (
                f"the choice of other independent joints than {', '.join(map(repr, joints))} is left open (waived)"
            )
            self._root.reading.note(self._root.place, message, key=_INDEPENDENT)
            complete = False
        chosen = {name for name in loop if said[name] or (complete and said[name] is None)}
        return {j.name: j.scale for j in self._by_child.values() if j.name in chosen}


def report_not_dependent(root: Element, mechanism: Mechanism) -> None:
    """Joints that are independent although the file denies it, since its loops leave more freedom."""
    said = {e.get("name"): e for e in root.all("joint") if e.get("independent") and not e.flag("independent", True)}
    if not said or not mechanism.loops:
        return
    place = root.reading.places.get(loop_key(mechanism.loops[0].name), root.place)
    with root.reading.naming(place, {IndependenceError: _TOO_MANY}):
        cluster_tree = lower(mechanism)
    for cluster, tie, _ in cluster_tree.tied_clusters:
        links = [cluster_tree.moving[i] for i in cluster.links]
        owner = [c.name for c in links for _ in range(c.joint.nv)]
        for name in dict.fromkeys(owner[j] for j, _ in tie.independent):
            if name in said:
                text = (
                    f"joint {name!r} is independent nevertheless: loops {', '.join(map(repr, cluster.loops))} have "
                    f"{tie.nv} degrees of freedom, and too few joints may be independent"
                )
                fix = 'remove independent="false" where it does not apply'
                root.reading.warn(said[name].place, text, fix, _INDEPENDENT)


def _place(origin: dict[str, Any]) -> tuple[Any, Any]:
    """Rotation matrix and position of an origin."""
    at = read_placement(
        "origin", origin.get("position", (0.0, 0.0, 0.0)), origin.get("rotation"), origin.get("rpy")
    )  # fmt: skip
    return np.array(at.rotation), at.position


def _turn_to_axis(place: tuple[Any, Any], axis: tuple[float, ...]) -> tuple[Any, Any]:
    """The placement with its z along the axis."""
    A = rotation_from_z(axis)
    return (place[0] if A is None else place[0] @ np.array(A, float), place[1])
