"""Surfaces of shapes in URDF and SDF: friction, restitution and softness, as Gazebo, Bullet and Drake write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..mechanism.contact import PLAIN, Surface
from .element import Element

_TORSION = 3.0 * math.pi / 16.0  # torque of Gazebo's law, by coefficient, radius of the patch and force
# Numbers of a surface: where they are below <surface> of SDF.
_SDF = {
    "friction": ("friction/ode/mu", "friction/bullet/friction"),
    "friction2": ("friction/ode/mu2", "friction/bullet/friction2"),
    "rolling": ("friction/bullet/rolling_friction",),
    "restitution": ("bounce/restitution_coefficient",),
    "stiffness": ("contact/ode/kp", "contact/bullet/kp"),
    "damping": ("contact/ode/kd", "contact/bullet/kd"),
}
_DRAKE = {"friction": ("drake:mu_dynamic", "drake:mu_static"), "stiffness": ("drake:point_contact_stiffness",)}
_BULLET = {
    "friction": ("lateral_friction",),
    "torsion": ("spinning_friction",),
    "rolling": ("rolling_friction",),
    "restitution": ("restitution",),
    "stiffness": ("stiffness",),
    "damping": ("damping",),
}
_GAZEBO = {"friction": ("mu1", "mu"), "friction2": ("mu2",), "stiffness": ("kp",), "damping": ("kd",)}
_ALL = 0xFFFF


def _below(element: Element, path: str) -> Element | None:
    """The element at a path, without marking it as read."""
    at: Element | None = element
    for tag in path.split("/"):
        at = next((c for c in at.children if c.tag == tag), None) if at is not None else None
    return at


def _number(element: Element) -> float:
    return element.number("value") if "value" in element.attributes else element.text_number()


def _numbers(element: Element, table: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The numbers of a table that an element has: the first of the places where each may be."""
    by_key: dict[str, Any] = {}
    for key, paths in table.items():
        given = next((x for x in (_below(element, path) for path in paths) if x is not None), None)
        if given is not None:
            by_key[key] = _number(given)
    if by_key.get("friction2") == by_key.get("friction"):
        by_key.pop("friction2", None)
    return by_key


def _make_surface(element: Element, numbers: dict[str, Any]) -> Surface:
    with element.reading.naming(element.place):
        return Surface(**numbers)
    return PLAIN


def sdf_surface(collision: Element) -> Surface:
    """The surface of a <collision> of SDF; one that cannot be read is left out, with a warning."""
    surface = _below(collision, "surface")
    drake = _below(collision, "drake:proximity_properties")
    if surface is None and drake is None:
        return PLAIN
    if drake is not None:
        collision.mark("drake:proximity_properties")
        drake.mark("*")
    with collision.reading.lenient("collision/surface", outcome="the surface is left out"):
        numbers = {} if surface is None else _numbers(surface, _SDF) | _torsion(surface) | _bits(surface)
        return _make_surface(collision, numbers | ({} if drake is None else _numbers(drake, _DRAKE)))
    return PLAIN


def _torsion(surface: Element) -> dict[str, Any]:
    """Torsional friction with a patch of constant radius."""
    torsional = _below(surface, "friction/torsional")
    if torsional is None:
        return {}
    coefficient, radius, by_patch = (_below(torsional, x) for x in ("coefficient", "patch_radius", "use_patch_radius"))
    if coefficient is None or radius is None or (by_patch is not None and not by_patch.text_flag()):
        return {}
    return {"torsion": _TORSION * coefficient.text_number() * radius.text_number()}


def _bits(surface: Element) -> dict[str, Any]:
    mask = _below(surface, "contact/collide_bitmask")
    if mask is None:
        return {}
    words = mask.words()
    try:
        bits = int(words, 0)
    except ValueError:
        mask.fail(f"its text: {words[:60]!r} is not a whole number")
    return {"groups": bits & _ALL, "meets": bits & _ALL} if bits & _ALL != _ALL else {}


def urdf_surfaces(root: Element) -> dict[str, dict[str, Any]]:
    """The surfaces of links that <gazebo reference="..."> gives, by link."""
    by_link: dict[str, dict[str, Any]] = {}
    for element in (c for c in root.children if c.tag == "gazebo"):
        with root.reading.lenient("gazebo", outcome="its surface is left out"):
            numbers = _numbers(element, _GAZEBO)
            if numbers:
                by_link.setdefault(element.attributes.get("reference", ""), {}).update(numbers)
    return by_link


def urdf_surface(collision: Element, of_link: dict[str, Any]) -> Surface:
    """The surface of a <collision> of URDF: as Drake writes it, else Bullet (of the link), else Gazebo."""
    link = collision.parent
    bullet = None if link is None else _below(link, "contact")
    drake = _below(collision, "drake:proximity_properties")
    if bullet is None and drake is None and not of_link:
        return PLAIN
    with collision.reading.lenient("collision/surface", outcome="the surface is left out"):
        numbers = dict(of_link)
        if bullet is not None and link is not None:
            link.mark("contact")
            bullet.mark("*")
            numbers |= _numbers(bullet, _BULLET)
        if drake is not None:
            collision.mark("drake:proximity_properties")
            drake.mark("*")
            numbers |= _numbers(drake, _DRAKE)
        return _make_surface(collision, numbers)
    return PLAIN
