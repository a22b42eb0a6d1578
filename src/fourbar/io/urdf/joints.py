"""<joint>: what connects two links."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...joints import Helical, Joint, Planar, Universal
from ...joints.registry import about, axes_of, types_by_tag
from ..element import Element
from ..numbers import NotANumber, position_limit, read_number
from .pose import read_axis, read_origin

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
