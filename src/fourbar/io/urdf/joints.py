"""<joint>: what connects two links."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from ..element import Element
from .pose import read_axis, read_origin

_BY_TYPE: dict[str, Callable[[tuple[float, ...]], Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": lambda axis: Fixed(),
    "floating": lambda axis: Free(),
    "planar": Planar,
}


_ENDLESS = 1e9  # a limit this far away is a way to write that there is none
_ALONG = ("revolute", "continuous", "prismatic", "planar")


@dataclass(frozen=True)
class Mimic:
    """q = multiplier · q of another joint + offset."""

    joint: str
    multiplier: float
    offset: float
    element: Element


@dataclass(frozen=True)
class ReadJoint:
    """A joint of the file; `arguments` are those of `Builder.body`; `independent` is what URDF+ says, or None."""

    element: Element
    name: str
    parent: str
    child: str
    joint: Joint
    arguments: dict[str, Any]
    mimic: Mimic | None
    independent: bool | None


def read_joint(element: Element) -> ReadJoint:
    """One joint."""
    name, kind = element.require("name"), element.require("type")
    if kind not in _BY_TYPE:
        element.fail(f"joint type {kind[:60]!r} is not known", f"expected one of {', '.join(_BY_TYPE)}")
    parent = element.required("parent").require("link")
    child = element.required("child").require("link")
    if parent == child:
        element.fail(f"the joint connects link {parent!r} with itself")
    axis = read_axis(element) if kind in _ALONG else _unused_axis(element)
    with element.reading.naming(element.place):
        joint = _BY_TYPE[kind](axis)
    arguments = {**read_origin(element), **_read_dynamics(element, joint), **_read_limit(element, kind)}
    for tag in ("safety_controller", "calibration"):
        for unused in element.all(tag):
            unused.mark("*")
            element.reading.note(unused.place, "concerns a controller, and is not kept", key=unused.key)
    mimic = element.child("mimic")
    independent = None if element.get("independent") is None else element.flag("independent", True)
    read = None if mimic is None else _read_mimic(mimic)
    return ReadJoint(element, name, parent, child, joint, arguments, read, independent)


def _unused_axis(element: Element) -> tuple[float, ...]:
    for axis in element.all("axis"):
        axis.mark("*")
    return (1.0, 0.0, 0.0)


def _read_dynamics(element: Element, joint: Joint) -> dict[str, Any]:
    dynamics = element.child("dynamics")
    if dynamics is None:
        return {}
    found = {name: dynamics.number(name, 0.0) for name in ("damping", "friction")}
    for name, value in found.items():
        if value < 0.0:
            dynamics.fail(f"{name}={value} is negative")
    return found if joint.nv else {}


def _read_limit(element: Element, kind: str) -> dict[str, Any]:
    limit = element.child("limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            fix = 'write <limit lower="..." upper="..." effort="..." velocity="...">, or type="continuous"'
            element.reading.warn(element.place, f"a {kind} joint without <limit>; it moves freely", fix, "joint/limit")
        return {}
    found: dict[str, Any] = {
        "max_force": limit.number("effort", math.inf),
        "max_velocity": limit.number("velocity", math.inf),
    }
    for name, value in (("effort", found["max_force"]), ("velocity", found["max_velocity"])):
        if value < 0.0:
            limit.fail(f"{name}={value} is negative")
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    if kind in ("revolute", "prismatic"):
        if lower > upper:
            limit.fail(f"the lower limit {lower} is above the upper one {upper}")
        found["limits"] = (-math.inf if lower <= -_ENDLESS else lower, math.inf if upper >= _ENDLESS else upper)
    elif (lower or upper) and kind == "continuous":
        limit.reading.note(limit.place, "a continuous joint has no position limits; lower and upper are not used")
    return {} if kind == "fixed" else found


def _read_mimic(mimic: Element) -> Mimic:
    return Mimic(mimic.require("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0), mimic)
