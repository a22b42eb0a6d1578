"""<joint> elements, which connect two links: with the links they form a tree. Poses and axes as URDF writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import unknown
from ...joints import Helical, Joint, Planar, Universal
from ...joints.registry import about, axes_of, types_by_tag
from ...mechanism.mechanism import WORLD
from ..element import Element
from ..numbers import NotANumber, position_limit, read_number

Three = tuple[float, ...]
_ZERO = (0.0, 0.0, 0.0)
_SHORT = 1e-6  # an axis shorter than this has no direction
_ROUNDED = 2e-3  # error of the length of an axis written with three digits


def read_origin(element: Element, tag: str = "origin") -> dict[str, Any]:
    """<origin xyz rpy> inside an element, as arguments of `Builder`: position and rpy, or rotation (w, x, y, z)."""
    origin = element.child(tag)
    if origin is None:
        return {}
    placed: dict[str, Any] = {"position": origin.numbers("xyz", 3, _ZERO)}
    quaternion = origin.get("quat_xyzw")
    if quaternion is not None:
        if origin.get("rpy") is not None:
            origin.fail("both rpy and quat_xyzw are given", "keep one of them")
        x, y, z, w = origin.numbers("quat_xyzw", 4)
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if abs(length - 1.0) > _ROUNDED:
            origin.fail(f"quat_xyzw has length {length:.6g}", "a unit quaternion is expected")
        placed["rotation"] = (w / length, x / length, y / length, z / length)
    else:
        rpy = origin.numbers("rpy", 3, _ZERO)
        if any(rpy):
            placed["rpy"] = rpy
    return placed


def read_origin_numbers(origin: Element) -> Three:
    """xyz and rpy of an origin."""
    return (*origin.numbers("xyz", 3, _ZERO), *origin.numbers("rpy", 3, _ZERO))


def read_axis(element: Element, tag: str = "axis") -> Three:
    """<axis xyz> inside an element, of unit length; x by default."""
    axis = element.child(tag)
    if axis is None:
        return (1.0, 0.0, 0.0)
    xyz = axis.numbers("xyz", 3)
    length = math.sqrt(sum(x * x for x in xyz))
    if length < _SHORT:
        axis.fail(f"the axis {' '.join(map(repr, xyz))} has no direction", "give a vector of length 1")
    unit = tuple(x / length for x in xyz)
    if abs(length - 1.0) > _ROUNDED:
        shown = " ".join(f"{x:.9g}" for x in unit)
        axis.reading.warn(
            axis.place, f"the axis has length {length:.6g}; it is normalised to {shown}", "write that", axis.key
        )
    return unit


_DRAKE = "drake:joint"


@dataclass(frozen=True)
class Mimic:
    """q = multiplier · q of another joint + offset."""

    joint: str
    multiplier: float
    offset: float
    element: Element


@dataclass(frozen=True)
class ReadJoint:
    """A joint of the file; `arguments` are those of `Builder.body`; `independent` is the attribute of URDF+, or None,
    and `scale` the velocity of the joint per unit of the independent velocity.
    """

    element: Element
    name: str
    parent: str
    child: str
    joint: Joint
    arguments: dict[str, Any]
    mimic: Mimic | None
    independent: bool | None
    scale: float


def read_joint(element: Element) -> ReadJoint:
    """One joint."""
    name, kind = element.require("name"), element.require("type")
    known = types_by_tag("drake" if element.tag == _DRAKE else "urdf")
    if kind not in known:
        element.fail(f"unknown joint type {kind[:60]!r}", f"expected one of {', '.join(known)}")
    parent = element.require_child("parent").require("link")
    child = element.require_child("child").require("link")
    if parent == child:
        element.fail(f"the joint connects link {parent!r} with itself")
    with element.reading.naming(element.place):
        joint = _read_type(element, known[kind])
    arguments = {**read_origin(element), **_read_dynamics(element, joint), **_read_limit(element, kind)}
    for tag in ("safety_controller", "calibration"):
        for unused in element.all(tag):
            unused.mark("*")
            element.reading.note(unused.place, "concerns a controller and is ignored", key=unused.key)
    mimic = element.child("mimic") or element.child("drake:mimic")
    independent = None if element.get("independent") is None else element.flag("independent", True)
    scale = element.number("independent_scale", 1.0)
    if not scale or (scale != 1.0 and not independent):
        fix = 'it is the velocity of a joint with independent="true" per unit of the independent velocity'
        element.fail(f"independent_scale={scale:g}", fix)
    read = None if mimic is None else _read_mimic(mimic)
    return ReadJoint(element, name, parent, child, joint, arguments, read, independent, scale)


def _read_type(element: Element, kind: type[Joint]) -> Joint:
    """The joint with its axis. Drake's universal joint has none; the pitch of its screw is the displacement along the
    axis per turn."""
    if axes_of(kind) != ("axis",):
        for unused in element.all("axis"):
            unused.mark("*")
        return Universal("x", "y") if kind is Universal else kind()
    axis = read_axis(element)
    if kind is Helical:
        return Helical(axis, element.require_child("drake:screw_thread_pitch").number("value") / (2.0 * math.pi))
    return about(kind, axis)


def _read_dynamics(element: Element, joint: Joint) -> dict[str, Any]:
    dynamics = element.child("dynamics")
    if dynamics is None:
        return {}
    friction = dynamics.number("friction", 0.0)
    if _is_zero(dynamics.attributes.get("stiffness", "")):  # whatever it would mean
        dynamics.mark("@stiffness")
    coefficients: dict[str, Any] = {"damping": _damping(element, dynamics, joint), "friction": friction}
    if "spring_stiffness" in dynamics.attributes or "spring_reference" in dynamics.attributes:
        coefficients["stiffness"] = dynamics.number("spring_stiffness", 0.0)
        if joint.nq == 1:
            coefficients["rest"] = dynamics.number("spring_reference", 0.0)
    for name, value in coefficients.items():
        if name != "rest" and (min(value) if isinstance(value, tuple) else value) < 0.0:
            said = "spring_stiffness" if name == "stiffness" else name
            message = f"{said}={value} is negative; if accepted, it counts as zero"
            dynamics.reading.doubt(dynamics.place, message, "write a number ≥ 0", f"{dynamics.key}@{said}")
            coefficients[name] = 0.0
    return coefficients if joint.nv else {}


def _is_zero(text: str) -> bool:
    try:
        return read_number(text) == 0.0
    except NotANumber:
        return False


def _damping(element: Element, dynamics: Element, joint: Joint) -> Any:
    """One damping for all velocities; Drake's planar joint has three: x, y and the angle."""
    if element.tag == _DRAKE and isinstance(joint, Planar) and len((dynamics.get("damping") or "").split()) == 3:
        x, y, angle = dynamics.numbers("damping", 3)
        if x != y:
            message = f"dampings {x} along x and {y} along y, which rotate with the child here but not in Drake"
            dynamics.reading.doubt(dynamics.place, message, "make them equal", dynamics.key)
        return (angle, x, y)
    return dynamics.number("damping", 0.0)


def _read_limit(element: Element, kind: str) -> dict[str, Any]:
    limit = element.child("limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            fix = 'write <limit lower="..." upper="..." effort="..." velocity="...">'
            fix += ', or type="continuous"' if kind == "revolute" else ""
            element.reading.warn(element.place, f"a {kind} joint without <limit>; it moves freely", fix, "joint/limit")
        return {}
    limits: dict[str, Any] = {
        "max_force": _most(limit, "effort"),
        "max_velocity": _most(limit, "velocity"),
    }
    if kind in ("revolute", "prismatic"):
        limits["limits"] = _read_range(limit, kind)
    elif kind == "continuous" and any(_read_bound(limit, name, 0.0, 0.0) for name in ("lower", "upper")):
        message = "a continuous joint has no position limits; lower and upper are ignored"
        limit.reading.note(limit.place, message, key=limit.key)
    else:
        limit.mark("@lower", "@upper")
    return {} if kind == "fixed" else limits


def _most(limit: Element, name: str) -> float:
    """The force or velocity limit; none where it is invalid and that is waived."""
    value = _read_bound(limit, name, math.inf, math.inf)
    if value < 0.0:
        fix = "write a positive number, or remove it for no limit"
        limit.reading.doubt(limit.place, f"{name}={value} is negative; if accepted, there is no limit", fix, limit.key)
        return math.inf
    return value


def _read_bound(limit: Element, name: str, default: float, none: float) -> float:
    """A number of a limit: `default` where it is not given, `none` where it is not a number and that is waived."""
    with limit.reading.lenient(limit.key, doubt=True, outcome="if accepted, there is no limit"):
        return limit.number(name, default)
    return none


def _read_range(limit: Element, kind: str) -> tuple[float, float]:
    """The lowest and highest position. Where only one is given the other is zero, as URDF specifies; where none is,
    URDF would hold the joint at zero, which nobody intends.
    """
    named_ends = [name for name in ("lower", "upper") if limit.get(name) is not None]
    lower, upper = _read_bound(limit, "lower", 0.0, -math.inf), _read_bound(limit, "upper", 0.0, math.inf)
    if not named_ends:
        message = "<limit> has neither lower nor upper; the joint moves freely"
        fix = 'write lower="..." upper="..."'
        fix += ', or type="continuous" if there are none' if kind == "revolute" else ""
        limit.reading.warn(limit.place, message, fix, limit.key)
        return -math.inf, math.inf
    if len(named_ends) == 1:
        missing = "upper" if named_ends == ["lower"] else "lower"
        limit.reading.note(limit.place, f"<limit> has no {missing}; URDF assumes 0", key=limit.key)
    if lower > upper:
        message = f"the lower limit {lower} is above the upper one {upper}; without them the joint moves freely"
        fix = "exchange them" if len(named_ends) == 2 else "write both"
        limit.reading.doubt(limit.place, message, fix, limit.key)
        return -math.inf, math.inf
    return position_limit(lower, -1.0), position_limit(upper, 1.0)


def _read_mimic(mimic: Element) -> Mimic:
    return Mimic(mimic.require("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0), mimic)


def check_tree(root: Element, links: Mapping[str, Element], joints: Sequence[ReadJoint]) -> list[str]:
    """The links, parents first, otherwise in the order of the file. All wrong joints are reported."""
    reading = root.reading
    carried: dict[str, ReadJoint] = {}
    for joint in joints:
        with reading.element():
            _check_ends(joint, links, carried)
            carried[joint.child] = joint
    reading.check()
    roots = [name for name in links if name not in carried]
    order = _reach(roots[:1], carried)
    for name in roots[1:]:
        with reading.element():
            fix = "connect it with a joint, or remove it"
            links[name].fail(f"link {name!r} is not connected: the root is {roots[0]!r}", fix)
    reading.check()
    for name in links:
        if name not in order:
            joint = carried[name]
            joint.element.fail(f"joints form a cycle: {_circle(carried, name)}", _ONE_PARENT)
    return list(order)


def with_ground(root: Element, links: dict[str, Element], joints: Iterable[ReadJoint]) -> dict[str, Element]:
    """The links, and the ground where joints refer to it without it being declared, as in Drake's files, and that is
    waived.
    """
    grounded = next((joint for joint in joints if joint.parent == WORLD), None)
    if WORLD in links or grounded is None:
        return links
    place, text = grounded.element.place, f"there is no link {WORLD!r}; URDF does not declare it implicitly"
    root.reading.doubt(place, text, f'declare the ground: <link name="{WORLD}"/>', WORLD)
    return {WORLD: Element("link", {"name": WORLD}, root, grounded.element.line, root.reading), **links}


_ONE_PARENT = "a link has one parent, and all have one root; close a loop with <loop>, or in a side-car file"


def _check_ends(joint: ReadJoint, links: Mapping[str, Element], carried: Mapping[str, ReadJoint]) -> None:
    for end in (joint.parent, joint.child):
        if end not in links:
            joint.element.fail(str(unknown("link", end, links)))
    if joint.child in carried:
        other = carried[joint.child]
        joint.element.fail(
            f"link {joint.child!r} already has a joint, {other.name!r} (line {other.element.line})", _ONE_PARENT
        )


def _reach(roots: Sequence[str], carried: Mapping[str, ReadJoint]) -> dict[str, None]:
    """The given links and all their descendants, parents first, depth first."""
    children: dict[str, list[str]] = {}
    for joint in carried.values():
        children.setdefault(joint.parent, []).append(joint.child)
    order: dict[str, None] = {}
    stack = list(roots)
    while stack:
        name = stack.pop()
        order[name] = None
        stack.extend(reversed(children.get(name, ())))
    return order


def _circle(carried: Mapping[str, ReadJoint], name: str) -> str:
    """The cycle that contains a link or its ancestors, as text."""
    seen: dict[str, int] = {}
    while name not in seen:
        seen[name] = len(seen)
        name = carried[name].parent
    shown = [*list(seen)[seen[name] :], name]
    return " <- ".join(shown[:12]) + (" <- ..." if len(shown) > 12 else "")


def chain(parents: Mapping[str, str], link: str) -> list[str]:
    """The link, its parent, and so on to the root."""
    path = [link]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path
