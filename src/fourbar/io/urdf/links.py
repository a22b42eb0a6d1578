"""<link>: the name and the inertia of a body."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mechanism.validate import read_placement
from ...spatial.inertia import is_usable, unphysical
from ..element import Element
from .pose import read_origin, read_origin_numbers
from .shapes import UrdfShapes

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_link(link: Element, shapes: UrdfShapes) -> dict[str, Any]:
    """A link as arguments of `Builder.body`: mass, com, inertia about it in the link's axes, geometry."""
    _check_origin(link)
    body = _read_inertial(link)
    body["geometry"] = shapes.read(link)
    return body


def _check_origin(link: Element) -> None:
    """A link has no <origin>; an identity is harmless, any other is left to be reported."""
    if all(c.text == "" and not any(read_origin_numbers(c)) for c in link.children if c.tag == "origin"):
        for origin in link.all("origin"):
            origin.mark("*")


def _read_inertial(link: Element) -> dict[str, Any]:
    inertial = link.child("inertial")
    if inertial is None:
        return {}
    place = read_origin(inertial)
    mass, I = _read_mass(inertial), _read_moments(inertial)
    body: dict[str, Any] = {"mass": mass, "com": place.get("position", (0.0, 0.0, 0.0))}
    if inertial.children:
        _check_inertia(inertial.child("inertia") or inertial, mass, I)
    if "rpy" in place or "rotation" in place:
        with inertial.reading.naming(inertial.place):
            placed = read_placement("origin", (0.0, 0.0, 0.0), place.get("rotation"), place.get("rpy"))
        R = np.array(placed.rotation)
        with np.errstate(over="ignore", invalid="ignore"):  # the builder refuses what is not finite
            I = R @ I @ R.T
            I = 0.5 * (I + I.T)
    return {**body, "inertia": I, "allow_unphysical": True}


def _read_mass(inertial: Element) -> float:
    """The mass; zero where it is missing and that is waived."""
    given = inertial.child("mass")
    if given is None:
        fix = 'write <mass value="...">, or remove <inertial>'
        inertial.reading.doubt(
            inertial.place, "<mass> is missing; without it the mass is zero", fix, _key(inertial, "mass")
        )
        return 0.0
    mass = given.number("value")
    if mass < 0.0:
        given.fail(f"mass {mass} is negative")
    return mass


def _read_moments(inertial: Element) -> np.ndarray:
    """The inertia about the centre of mass; zero, that of a point, where it is missing and that is waived, as are
    moments that are.
    """
    tensor = inertial.child("inertia")
    if tensor is None:
        message, fix = "<inertia> is missing; without it the mass is a point", "write its six moments"
        inertial.reading.doubt(inertial.place, message, fix, _key(inertial, "inertia"))
        return np.zeros((3, 3))
    missing = [name for name in _MOMENTS if tensor.get(name) is None]
    if missing:
        some = f"attribute {missing[0]!r} is" if len(missing) == 1 else f"attributes {', '.join(missing)} are"
        message = f"{some} missing; if accepted, missing moments count as zero"
        tensor.reading.doubt(tensor.place, message, "write all six moments", tensor.key)
    xx, xy, xz, yy, yz, zz = (tensor.number(name, 0.0) for name in _MOMENTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _key(inertial: Element, tag: str) -> str:
    return f"{inertial.key}/{tag}"


def _check_inertia(tensor: Element, mass: float, I: np.ndarray) -> None:
    """Physically inconsistent inertias: a warning where equations of motion make sense with them, else an error unless
    waived.
    """
    problem = unphysical(mass, I)
    if problem is None:
        return
    report = tensor.reading.warn if is_usable(mass, I) else tensor.reading.doubt
    report(tensor.place, problem, "correct the numbers", "inertia")
