"""Loops as plain data: tables of words, numbers and lists, as JSON and TOML hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ModelError
from ..joints.serialize import (
    Plain,
    choose,
    matrix,
    number,
    numbers,
    place_from_plain,
    place_to_plain,
    shown,
    table,
    text,
)
from ..joints.serialize import from_plain as joint_from_plain
from ..joints.serialize import to_plain as joint_to_plain
from . import Closure, Coupling, Differential, Distance, Gear, Loop, Polynomial

Check = Callable[[str, Any], Any]


def _three(what: str, value: Any) -> tuple[float, ...]:
    return tuple(numbers(what, value, 3))


def _list(what: str, value: Any) -> tuple[float, ...]:
    return tuple(numbers(what, value))


def _names(what: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ModelError(f"{what}: expected a list of joints, got {shown(value)}")
    return [text(f"{what}[{i}]", x) for i, x in enumerate(value)]


def by_joint(what: str, value: Any) -> dict[str, float]:
    """Numbers by joint."""
    if not isinstance(value, dict):
        raise ModelError(f"{what}: expected a table of numbers by joint, got {shown(value)}")
    return {joint: number(f"{what}.{joint}", x) for joint, x in value.items()}


TYPES: dict[str, type[Loop]] = {}  # what files may hold, by name
_NEEDED: dict[type[Loop], dict[str, Check]] = {}
_OPTIONAL: dict[type[Loop], dict[str, Check]] = {}


def register(kind: type[Loop], needed: dict[str, Check], optional: dict[str, Check] | None = None) -> None:
    """Let files hold a type of loop: what its table needs, and what has a default, each with how it is read."""
    if TYPES.get(kind.__name__, kind) is not kind:
        raise ModelError(
            f"register: another type of loop is called {kind.__name__!r} already: {TYPES[kind.__name__]!r}"
        )
    TYPES[kind.__name__], _NEEDED[kind], _OPTIONAL[kind] = kind, needed, optional or {}


register(Gear, {"driver": text, "driven": text, "ratio": number}, {"offset": number})
register(Polynomial, {"driver": text, "driven": text, "coefficients": _list})
register(Coupling, {"factors": by_joint}, {"offset": number})
register(Differential, {"inputs": _names, "outputs": _names, "matrix": matrix})
_ENDS: dict[str, Check] = {"predecessor": text, "successor": text}
register(Distance, {**_ENDS, "predecessor_point": _three, "successor_point": _three, "length": number})
_PLACES: dict[str, Check] = {"at_predecessor": place_from_plain, "at_successor": place_from_plain}
register(Closure, {"joint": joint_from_plain, **_ENDS}, _PLACES)


def to_plain(loop: Loop) -> Plain:
    """The table of a loop."""
    if type(loop) not in _NEEDED:
        raise ModelError(
            f"a loop of type {type(loop).__name__} is made of Python code, which a file cannot hold; one that is data "
            "can be made known with fourbar.constraints.serialize.register"
        )
    keys = [*_NEEDED[type(loop)], *_OPTIONAL[type(loop)]]
    return {"type": type(loop).__name__, **{key: _value(key, getattr(loop, key)) for key in keys}}


def _value(key: str, value: Any) -> Any:
    if key == "joint":
        return joint_to_plain(value)
    if key.startswith("at_"):
        return place_to_plain(value)
    if key == "factors":
        return dict(value)
    if isinstance(value, tuple):
        return [_value("", x) for x in value]
    return value


def from_plain(what: str, value: Any, also: tuple[str, ...] = ()) -> Loop:
    """A loop from its table, in which there may `also` be other keys."""
    kind = choose(what, value, TYPES)
    needed, optional = _NEEDED[kind], _OPTIONAL[kind]
    given = table(what, value, ("type", *needed, *optional, *also), tuple(needed))
    read = {k: check(f"{what}.{k}", given[k]) for k, check in {**needed, **optional}.items() if k in given}
    for key in [k for k in read if k.startswith("at_")]:
        read[key], read[f"{key.removeprefix('at_')}_rotation"] = read[key]
    try:
        return kind(**read)
    except (ModelError, ValueError) as error:
        raise ModelError(f"{what}: {error}") from None
