"""<link>: the name and the matter of a body."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.read import read_placement
from ...spatial.inertia import unphysical
from ..element import Element
from .pose import read_origin, read_origin_numbers
from .shapes import Shapes

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_link(link: Element, shapes: Shapes) -> dict[str, Any]:
    """A link as arguments of `Builder.body`: mass, com, inertia about it in the link's axes, geometry."""
    _check_origin(link)
    matter = _read_inertial(link)
    matter["geometry"] = shapes.read(link)
    return matter


def _check_origin(link: Element) -> None:
    """A link has no <origin>; one that moves nothing is harmless, any other is left to be reported."""
    if all(c.text == "" and not any(read_origin_numbers(c)) for c in link.children if c.tag == "origin"):
        for origin in link.all("origin"):
            origin.mark("*")


def _read_inertial(link: Element) -> dict[str, Any]:
    inertial = link.child("inertial")
    if inertial is None:
        return {}
    place = read_origin(inertial)
    mass = inertial.required("mass").number("value")
    tensor = inertial.required("inertia")
    xx, xy, xz, yy, yz, zz = (tensor.number(name) for name in _MOMENTS)
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    matter: dict[str, Any] = {"mass": mass, "com": place.get("position", (0.0, 0.0, 0.0))}
    if mass < 0.0:
        inertial.required("mass").fail(f"mass {mass} is negative")
    _check_matter(tensor, mass, I)
    if "rpy" in place or "rotation" in place:
        R = np.array(read_placement("", (0.0, 0.0, 0.0), place.get("rotation"), place.get("rpy")).rotation)
        I = R @ I @ R.T
        I = 0.5 * (I + I.T)
    return {**matter, "inertia": I, "allow_unphysical": True}


def _check_matter(tensor: Element, mass: float, I: np.ndarray) -> None:
    """What no matter can have: a warning where only the triangle inequality fails, else an error unless waived."""
    problem = unphysical(mass, I)
    if problem is None:
        return
    report = tensor.reading.warn if "triangle" in problem else tensor.reading.doubt
    report(tensor.place, problem, "correct the numbers", "inertia")
