"""Joints as tables of words, numbers and lists, as JSON and TOML hold them. No bit of a number is lost.

The table of a joint has its `type`, the name of its class, and its parameters. A joint made from a Python function has
no such table.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..errors import ModelError
from ..hints import hint
from ..spatial.transform import Transform
from .axis import Axis, Direction, unit_axis
from .base import Joint
from .composite import Composite
from .custom import CustomJoint
from .registry import TYPES

Plain = dict[str, Any]
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_AXES = ("axis", "axis1", "axis2")


def held_types() -> dict[str, type[Joint]]:
    """The joint types that a file can hold, by name: not those made of Python code."""
    return {name: kind for name, kind in TYPES.items() if kind is not CustomJoint}


def number(what: str, value: Any) -> float:
    """One finite number; strings and booleans are refused."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelError(f"{what}: expected a number, got {shorten(value)}")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ModelError(f"{what}: expected a finite number, got {shorten(value)}")
    return result


def numbers(what: str, value: Any, count: int | None = None) -> list[float]:
    """A list of finite numbers, of length `count` if that is given."""
    if not isinstance(value, list | tuple):
        raise ModelError(f"{what}: expected a list of {count or 'finite'} numbers, got {shorten(value)}")
    if count is not None and len(value) != count:
        raise ModelError(f"{what}: expected {count} numbers, got {len(value)}: {shorten(value)}")
    return [number(f"{what}[{i}]", x) for i, x in enumerate(value)]


def text(what: str, value: Any) -> str:
    """A non-empty string."""
    if not isinstance(value, str) or not value:
        raise ModelError(f"{what}: expected a non-empty text, got {shorten(value)}")
    return value


def table(what: str, value: Any, known: Sequence[str], needed: Sequence[str] = ()) -> Plain:
    """A table that has all required keys and no unknown ones."""
    if not isinstance(value, dict):
        raise ModelError(f"{what}: expected a table with {', '.join(needed or known)}, got {shorten(value)}")
    for key in needed:
        if key not in value:
            raise ModelError(f"{what}: {key!r} is missing")
    for key in value:
        if key not in known:
            raise ModelError(f"{what}: {unknown_word('key', key, known)}")
    return value


def unknown_word(kind: str, name: object, known: Iterable[str]) -> str:
    """The message for an unknown word, with the nearest known ones."""
    listed = list(known)
    return f"unknown {kind} {shorten(name)}; {hint(name, listed) or 'expected one of ' + ', '.join(listed)}"


def shorten(value: Any) -> str:
    """A value in a message, shortened."""
    words = _SHORT.repr(value)
    return words if len(words) <= 80 else words[:77] + "..."


def choose(what: str, value: Any, types: Mapping[str, type]) -> type:
    """A class by its name under `type`."""
    if not isinstance(value, dict) or "type" not in value:
        raise ModelError(f"{what}: expected a table with 'type', got {shorten(value)}")
    if not isinstance(value["type"], str) or value["type"] not in types:
        raise ModelError(f"{what}: {unknown_word('type', value['type'], types)}")
    return types[value["type"]]


def place_to_plain(T: Transform) -> Plain:
    """A placement: position and, unless it is the identity, rotation matrix."""
    found: Plain = {"position": [float(x) for x in T.p]}
    if T.factors:
        found["rotation"] = [[float(x) for x in row] for row in T.R]
    return found


def place_from_plain(what: str, value: Any) -> tuple[list[float], list[list[float]] | None]:
    """Position and rotation matrix (None for the identity) of a placement."""
    given = table(what, value, ("position", "rotation"))
    position = numbers(f"{what}.position", given.get("position", [0.0, 0.0, 0.0]), 3)
    return position, matrix(f"{what}.rotation", given["rotation"], 3, 3) if "rotation" in given else None


def matrix(what: str, value: Any, rows: int | None = None, columns: int | None = None) -> list[list[float]]:
    """A matrix as a list of rows."""
    if not isinstance(value, list | tuple) or (rows is not None and len(value) != rows):
        raise ModelError(
            f"{what}: expected {rows or 'a list of'} rows of {columns or 'equally many'} numbers, got {shorten(value)}"
        )
    return [numbers(f"{what}[{i}]", row, columns) for i, row in enumerate(value)]


def to_plain(joint: Joint) -> Plain:
    """The table of a joint."""
    if isinstance(joint, CustomJoint):
        raise ModelError(f"{joint!r} is made from a Python function, which cannot be stored in a file")
    if TYPES.get(type(joint).__name__) is not type(joint):
        raise ModelError(
            f"{joint!r} is of a user-defined type, which cannot be stored in a file unless it is registered: call "
            f"fourbar.joints.register({type(joint).__name__}) first"
        )
    name = {"type": type(joint).__name__}
    if isinstance(joint, Composite):
        parts = [to_plain(p) if isinstance(p, Joint) else place_to_plain(p) for p in joint.parts]
        return {**name, "parts": parts}
    return {**name, **{f.name: _value(getattr(joint, f.name)) for f in fields(joint)}}  # type: ignore[arg-type]


def _value(value: Any) -> Any:
    if not isinstance(value, Direction):
        return value
    word = repr(value).strip("'")
    return word if not word.startswith("(") else list(value)


def parameters(kind: type[Joint]) -> tuple[str, ...]:
    """The keys of the table of a joint of this type besides `type`."""
    return tuple(f.name for f in fields(kind))  # type: ignore[arg-type]


def from_plain(what: str, value: Any) -> Joint:
    """A joint from its table."""
    kind = choose(what, value, held_types())
    entries = table(what, value, ("type", *parameters(kind)))
    if kind is Composite:
        if not isinstance(entries.get("parts"), list):
            raise ModelError(
                f"{what}.parts: expected a list of joints and placements, got {shorten(entries.get('parts'))}"
            )
        return Composite(*(_part(f"{what}.parts[{i}]", part) for i, part in enumerate(entries["parts"])))
    read = {k: _parameter(f"{what}.{k}", k, x) for k, x in entries.items() if k != "type"}
    try:
        return kind(**read)
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None


def _part(what: str, value: Any) -> Joint | Transform:
    if isinstance(value, dict) and "type" in value:
        return from_plain(what, value)
    position, rotation = place_from_plain(what, value)
    return Transform.of(rotation or [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], position)


def _parameter(what: str, key: str, value: Any) -> Any:
    if key in _AXES:
        return _axis(what, value)
    return text(what, value) if key == "sequence" else number(what, value)


def _axis(what: str, value: Any) -> Axis:
    """A unit vector, unchanged: dividing by its rounded length would change bits."""
    if isinstance(value, str):
        return value
    a = numbers(what, value, 3)
    return Direction(a) if abs(math.fsum(x * x for x in a) - 1.0) < 1e-15 else unit_axis(a)
