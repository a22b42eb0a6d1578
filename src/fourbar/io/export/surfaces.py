"""Surfaces of shapes in SDF and URDF, and what of contacts these cannot say."""

from __future__ import annotations

import math
from dataclasses import fields
from xml.etree import ElementTree as ET

from ...mechanism.contact import PLAIN, Surface
from ...mechanism.contact_rules import NO_RULES
from ...mechanism.mechanism import Body, Mechanism
from .written_numbers import Unsaid, child, words

_TORSION = 3.0 * math.pi / 16.0
_SHOWN = 6
_SDF = ("friction", "friction2", "torsion", "rolling", "restitution", "stiffness", "damping", "groups", "meets")
_BULLET = {
    "friction": "lateral_friction",
    "torsion": "spinning_friction",
    "rolling": "rolling_friction",
    "restitution": "restitution",
    "stiffness": "stiffness",
    "damping": "damping",
}


class Losses:
    """Properties of surfaces that are left out, and where: reported once for each."""

    def __init__(self, unsaid: Unsaid) -> None:
        self._unsaid = unsaid
        self._where: dict[str, list[str]] = {}

    def add(self, what: str, where: str) -> None:
        """Something that is left out somewhere."""
        self._where.setdefault(what, []).append(where)

    def report(self) -> None:
        """Report everything."""
        for what, names in self._where.items():
            listed = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
            self._unsaid.leave(f"{what} of surfaces are left out (of {listed})")


def _unwritten_numbers(surface: Surface, said: tuple[str, ...]) -> list[str]:
    """The numbers of a surface that are not said."""
    names = [f.name for f in fields(Surface) if f.name not in said]
    return [name for name in names if getattr(surface, name) != getattr(PLAIN, name)]


def write_surface(collision: ET.Element, surface: Surface, losses: Losses) -> None:
    """<surface> of SDF."""
    if surface == PLAIN:
        return
    name, element = collision.get("name", ""), ET.Element("surface")
    for what in _unwritten_numbers(surface, _SDF):
        losses.add(what, name)
    second = surface.friction if surface.friction2 is None else surface.friction2
    _numbers(element, "friction/ode", mu=surface.friction, mu2=second)
    _numbers(element, "friction/bullet", rolling_friction=surface.rolling)
    if surface.torsion is not None:
        torsional = child(_at(element, "friction"), "torsional")
        _add_number(torsional, "coefficient", surface.torsion / _TORSION)
        _add_number(torsional, "patch_radius", 1.0)
        child(torsional, "use_patch_radius").text = "true"
    _numbers(element, "bounce", restitution_coefficient=surface.restitution)
    _numbers(element, "contact/ode", kp=surface.stiffness, kd=surface.damping)
    if surface.groups == surface.meets != PLAIN.groups:
        child(_at(element, "contact"), "collide_bitmask").text = str(surface.groups)
    elif surface.groups != surface.meets:
        losses.add("groups and meets, which differ and are one mask in SDF,", name)
    if len(element):
        collision.append(element)


def _at(element: ET.Element, path: str) -> ET.Element:
    for tag in path.split("/"):
        found = element.find(tag)
        element = child(element, tag) if found is None else found
    return element


def _add_number(element: ET.Element, tag: str, value: float) -> None:
    child(element, tag).text = words([value])


def _numbers(surface: ET.Element, path: str, **values: float | None) -> None:
    for tag, value in values.items():
        if value is not None:
            _add_number(_at(surface, path), tag, value)


def write_contact(link: ET.Element, body: Body, losses: Losses) -> None:
    """<contact> of a link, which Bullet reads: one for all of its shapes."""
    surfaces = list(dict.fromkeys(x.surface for x in body.geometry if x.role == "collision"))
    if not surfaces or surfaces == [PLAIN]:
        return
    if len(surfaces) > 1:
        losses.add("numbers that differ between shapes of a body, which has one for all in URDF,", body.name)
        return
    for what in _unwritten_numbers(surfaces[0], tuple(_BULLET)):
        losses.add(what, body.name)
    given = {tag: getattr(surfaces[0], name) for name, tag in _BULLET.items()}
    if any(x is not None for x in given.values()):
        contact = child(link, "contact")
        for tag, value in given.items():
            if value is not None:
                child(contact, tag, value=[value])


def leave_contacts(mechanism: Mechanism, unsaid: Unsaid) -> None:
    """Report that shapes of the world and rules of contact are left out."""
    if mechanism.world:
        n = len(mechanism.world)
        unsaid.leave(
            f"{n} shape{'s' if n > 1 else ''} of the world, such as a floor, {'are' if n > 1 else 'is'} left out"
        )
    if mechanism.contacts != NO_RULES:
        unsaid.leave("rules of contact (pairs, exclusions, options) are left out")
