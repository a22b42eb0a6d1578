"""Loops as plain data: tables of words, numbers and lists, as JSON and TOML hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from . import Closure, Constraint, Coupling, Differential, Distance, Formula, Gear, Loop, Parametric, Polynomial
from .formula import trace_formula

Check = Callable[[str, Any], Any]


def _three(what: str, value: Any) -> tuple[float, ...]:
    return tuple(numbers(what, value, 3))


def _list(what: str, value: Any) -> tuple[float, ...]:
    return tuple(numbers(what, value))


def _names(what: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ModelError(f"{what}: expected a list of words, got {shown(value)}")
    return [text(f"{what}[{i}]", x) for i, x in enumerate(value)]


def _words(what: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ModelError(f"{what}: expected a table of formulas by name, got {shown(value)}")
    return {name: text(f"{what}.{name}", x) for name, x in value.items()}


def _formula(what: str, value: Any) -> Callable[..., Any]:
    """A function of joint coordinates; one of Python stays as it is."""
    if callable(value):
        return value
    entries = table(what, value, ("arguments", "results", "where", "constants"), ("arguments", "results"))
    lists = (_names(f"{what}.{key}", entries[key]) for key in ("arguments", "results"))
    where = _words(f"{what}.where", entries.get("where", {}))
    return Formula(*lists, where=where, constants=by_joint(f"{what}.constants", entries.get("constants", {})))


def by_joint(what: str, value: Any) -> dict[str, float]:
    """Numbers by name."""
    if not isinstance(value, dict):
        raise ModelError(f"{what}: expected a table of numbers by name, got {shown(value)}")
    return {joint: number(f"{what}.{joint}", x) for joint, x in value.items()}


def read_independent(value: Any) -> dict[str, float]:
    """The independent joints of a loop, as a list or with the scales of their velocities."""
    if isinstance(value, list):
        return dict.fromkeys((text("independent", x) for x in value), 1.0)
    return by_joint("independent", value)


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


register(Constraint, {"function": _formula, "of": _names})
register(Parametric, {"function": _formula, "inputs": _names, "outputs": _names})


def to_plain(loop: Loop, sizes: Mapping[str, int]) -> Plain:
    """The table of a loop; `sizes` are the numbers of coordinates by joint."""
    data = as_data(loop, sizes)
    keys = [*_NEEDED[type(data)], *_OPTIONAL[type(data)]]
    return {"type": type(data).__name__, **{key: _value(key, getattr(data, key)) for key in keys}}


def as_data(loop: Loop, sizes: Mapping[str, int]) -> Loop:
    """The loop itself, or one that says the same without Python code: functions become formulas.

    `sizes` are the numbers of coordinates by joint. A loop of any other type becomes a `Constraint`, if it looks at
    coordinates of joints alone and does not prefer dependent ones.
    """
    if isinstance(loop, Constraint | Parametric):
        arguments = loop.of if isinstance(loop, Constraint) else loop.inputs
        formula = trace_formula(loop.function, [sizes[joint] for joint in arguments])
        return loop if formula is loop.function else replace(loop, function=formula)
    if type(loop) in _NEEDED:
        return loop
    if loop.bodies or loop.driven_joints or loop.extra_joint is not None:
        raise ModelError(
            f"a loop of type {type(loop).__name__} is made of Python code, which a file cannot hold; one that is data "
            "can be made known with fourbar.constraints.serialize.register"
        )
    return Constraint(trace_formula(_Residual(loop), [sizes[joint] for joint in loop.joints]), loop.joints)


@dataclass(frozen=True)
class _Residual:
    """φ of a loop that looks at coordinates of joints alone, as a function of these."""

    loop: Loop

    def __call__(self, *coordinates: Any) -> Sequence[Any]:
        pairs = zip(self.loop.joints, coordinates, strict=True)
        return self.loop.residual(_Coordinates({joint: Vec(x if isinstance(x, tuple) else (x,)) for joint, x in pairs}))


@dataclass(frozen=True)
class _Coordinates:
    """A mechanism of which only coordinates of joints are known."""

    by_joint: Mapping[str, Vec]

    def q(self, joint: str) -> Vec:
        return self.by_joint[joint]

    def pose(self, body: str) -> Transform:
        raise ModelError(f"the residual looks at body {body!r}, which the loop does not list among its bodies")


def _value(key: str, value: Any) -> Any:
    if key == "joint":
        return joint_to_plain(value)
    if key.startswith("at_"):
        return place_to_plain(value)
    if key in ("factors", "where", "constants"):
        return dict(value)
    if isinstance(value, Formula):
        entries = {x: _value(x, getattr(value, x)) for x in ("arguments", "where", "constants", "results")}
        return {x: entry for x, entry in entries.items() if entry}
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
