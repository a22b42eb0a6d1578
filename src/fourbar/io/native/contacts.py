"""Surfaces of shapes, shapes of the world and rules of contact, from plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from ...errors import ModelError
from ...joints.serialize import Plain, matrix, number, numbers, shorten, text
from ...mechanism.builder import MechanismBuilder
from ...mechanism.contact import PLAIN, JointSoftness, Surface
from ...mechanism.contact_rules import ContactRules
from ..report import Reading

Checked = Callable[[Reading, str, Any, tuple[str, ...], tuple[str, ...]], Plain]
_WHOLE = ("dimensions", "priority", "groups", "meets")
_LISTS = {"solref": 2, "solimp": 5}
_LISTS |= {f"{kind}_{key}": count for kind in ("limit", "friction") for key, count in _LISTS.items()}
SURFACE = tuple(f.name for f in fields(Surface))
RULES = tuple(f.name for f in fields(ContactRules))
SOFTNESS = tuple(f.name for f in fields(JointSoftness))
_WORDS = ("cone", "integrator")
_SWITCHES = ("with_parents", "enabled", "implicit_damping")


def read_surface(reading: Reading, what: str, value: Any, checked: Checked) -> Surface:
    """The surface of a shape or pair."""
    fields = _numbers_by_name(what, checked(reading, what, value, SURFACE, ()))
    try:
        return Surface(**fields)
    except ModelError as error:
        raise ModelError(f"{what}: {str(error).removeprefix('surface: ')}") from None


def read_softness(reading: Reading, what: str, value: Any, checked: Checked) -> JointSoftness:
    """The softness of a joint."""
    return JointSoftness(**_numbers_by_name(what, checked(reading, what, value, SOFTNESS, ())))


def _numbers_by_name(what: str, table: Plain) -> Plain:
    """The entries of a table: numbers, whole numbers, and lists of numbers as tuples."""
    fields: Plain = {}
    for key, entry in table.items():
        if key in _LISTS:
            fields[key] = tuple(numbers(f"{what}.{key}", entry, _LISTS[key]))
        elif key in _WHOLE:
            fields[key] = _whole(f"{what}.{key}", entry)
        else:
            fields[key] = number(f"{what}.{key}", entry)
    return fields


def _whole(what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ModelError(f"{what}: expected a whole number, got {shorten(value)}")
    return value


def read_heights(what: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """The heights of a height field."""
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        raise ModelError(f"{what}: expected rows of numbers, got {shorten(value)}")
    return tuple(map(tuple, matrix(what, value, len(value), len(value[0]))))


def add_contacts(b: MechanismBuilder, value: Any, reading: Reading, checked: Checked) -> None:
    """The rules of contact."""
    rules = checked(reading, "contacts", value, RULES, ())
    for k, bodies in enumerate(_list("contacts.excluded", rules.get("excluded", []))):
        first, second = _two(f"contacts.excluded[{k}]", bodies, "two bodies")
        b.exclude_contact(first, second)
    for k, item in enumerate(_list("contacts.pairs", rules.get("pairs", []))):
        what = f"contacts.pairs[{k}]"
        pair = checked(reading, what, item, ("first", "second", "surface", "name"), ("first", "second"))
        first, second = (
            _two(f"{what}.{end}", pair[end], "a body and the name of a shape") for end in ("first", "second")
        )
        surface = read_surface(reading, f"{what}.surface", pair["surface"], checked) if "surface" in pair else PLAIN
        b.contact_pair(first, second, surface, text(f"{what}.name", pair["name"]) if "name" in pair else "")
    options: Plain = {}
    for key in _SWITCHES:
        if key in rules:
            if not isinstance(rules[key], bool):
                raise ModelError(f"contacts.{key}: expected true or false, got {shorten(rules[key])}")
            options[key] = rules[key]
    options |= {key: text(f"contacts.{key}", rules[key]) for key in _WORDS if key in rules}
    options |= {key: number(f"contacts.{key}", rules[key]) for key in ("impratio", "timestep") if key in rules}
    b.contact_options(**options)


def _list(what: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelError(f"{what}: expected a list, got {shorten(value)}")
    return value


def _two(what: str, value: Any, meant: str) -> tuple[str, str]:
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(x, str) for x in value)):
        raise ModelError(f"{what}: expected {meant}, got {shorten(value)}")
    return value[0], value[1]
