"""Loops as plain data: tables of words, numbers and lists, as JSON and TOML hold them; and loops of any kind in an
edited robot, each of which sees the robot as it was before the edit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..errors import ModelError
from ..joints.mirror import Mirror
from ..joints.mirror_image import Rows
from ..joints.serialize import (
    Plain,
    choose,
    matrix,
    number,
    numbers,
    place_from_plain,
    place_to_plain,
    shorten,
    table,
    text,
)
from ..joints.serialize import from_plain as joint_from_plain
from ..joints.serialize import to_plain as joint_to_plain
from ..spatial.linear import Scalar, Vec, dot
from ..spatial.transform import Transform
from . import Closure, Constraint, Coupling, Differential, Distance, Formula, Gear, Loop, Parametric, Polynomial
from .function_loops import trace_formula
from .loop import EDITED, MechanismView


@dataclass(frozen=True)
class EditedLoop(Loop):
    """A loop of an edited robot, which it sees through `_view`."""

    inner: Loop

    @property
    def joints(self) -> tuple[str, ...]:
        return self.inner.joints

    @property
    def bodies(self) -> tuple[str, ...]:
        return self.inner.bodies

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return self.inner.driven_joints

    def residual(self, view: MechanismView) -> Sequence[Scalar]:
        return self.inner.residual(self._view(view))

    def minimal_residual(self, view: MechanismView) -> Sequence[Scalar]:
        return self.inner.minimal_residual(self._view(view))

    @abstractmethod
    def _view(self, view: MechanismView) -> MechanismView:
        """The robot as the loop knows it."""


@dataclass(frozen=True)
class Renamed(EditedLoop):
    """A loop whose joints and bodies have other names: pairs (old, new)."""

    joint_names: tuple[tuple[str, str], ...]
    body_names: tuple[tuple[str, str], ...]

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(dict(self.joint_names).get(x, x) for x in self.inner.joints)

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(dict(self.body_names).get(x, x) for x in self.inner.bodies)

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return tuple(dict(self.joint_names).get(x, x) for x in self.inner.driven_joints)

    def _view(self, view: MechanismView) -> MechanismView:
        return _RenamedView(view, dict(self.joint_names), dict(self.body_names))


class _RenamedView:
    def __init__(self, view: MechanismView, joints: dict[str, str], bodies: dict[str, str]) -> None:
        self._inner, self._joints, self._bodies = view, joints, bodies

    def q(self, joint: str) -> Vec:
        return self._inner.q(self._joints.get(joint, joint))

    def pose(self, body: str) -> Transform:
        return self._inner.pose(self._bodies.get(body, body))


@dataclass(frozen=True)
class LoopWithLockedJoints(EditedLoop):
    """A loop with locked joints: (joint, coordinates)."""

    at: tuple[tuple[str, tuple[float, ...]], ...]

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(x for x in self.inner.joints if x not in dict(self.at))

    @property
    def driven_joints(self) -> tuple[str, ...]:
        return tuple(x for x in self.inner.driven_joints if x not in dict(self.at))

    def _view(self, view: MechanismView) -> MechanismView:
        return _LockedView(view, dict(self.at))


class _LockedView:
    def __init__(self, view: MechanismView, at: dict[str, tuple[float, ...]]) -> None:
        self._inner, self._at = view, at
        self.pose = view.pose

    def q(self, joint: str) -> Vec:
        return Vec(self._at[joint]) if joint in self._at else self._inner.q(joint)


@dataclass(frozen=True)
class Reflected(EditedLoop):
    """The mirror image of a loop; `maps` are the orthogonal maps of its joints' coordinates to those of the image."""

    mirror: Mirror
    maps: tuple[tuple[str, Rows], ...]

    def _view(self, view: MechanismView) -> MechanismView:
        return _ReflectedView(view, self.mirror, dict(self.maps))


class _ReflectedView:
    def __init__(self, view: MechanismView, mirror: Mirror, maps: dict[str, Rows]) -> None:
        self._inner, self._mirror, self._maps = view, mirror, maps

    def q(self, joint: str) -> Vec:
        image = self._inner.q(joint)
        return Vec([dot(column, image) for column in zip(*self._maps[joint], strict=True)])

    def pose(self, body: str) -> Transform:
        return self._mirror.transform(self._inner.pose(body))


EDITED.update(renamed=Renamed, held=LoopWithLockedJoints, reflected=Reflected)


Check = Callable[[str, Any], Any]


def _three(what: str, value: Any) -> tuple[float, ...]:
    return tuple(numbers(what, value, 3))


def _list(what: str, value: Any) -> tuple[float, ...]:
    return tuple(numbers(what, value))


def _names(what: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ModelError(f"{what}: expected a list of words, got {shorten(value)}")
    return [text(f"{what}[{i}]", x) for i, x in enumerate(value)]


def _words(what: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ModelError(f"{what}: expected a table of formulas by name, got {shorten(value)}")
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
        raise ModelError(f"{what}: expected a table of numbers by name, got {shorten(value)}")
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
    coordinates of joints alone and does not prefer dependent ones; an edited loop that does becomes a `Parametric`.
    """
    if isinstance(loop, Constraint | Parametric):
        if isinstance(loop.function, Formula):
            return loop
        arguments = loop.of if isinstance(loop, Constraint) else loop.inputs
        return replace(loop, function=trace_formula(loop.function, [sizes[joint] for joint in arguments]))
    if type(loop) in _NEEDED:
        return loop
    is_edited = isinstance(loop, EditedLoop)
    if loop.bodies or (loop.driven_joints and not is_edited) or loop.extra_joint is not None:
        raise ModelError(
            f"a loop of type {type(loop).__name__} is made of Python code, which a file cannot hold; a type whose "
            "fields are plain data can be registered with fourbar.constraints.serialize.register"
        )
    outputs = loop.driven_joints
    inputs = tuple(joint for joint in loop.joints if joint not in outputs)
    function, constants = _Residual(loop, inputs, outputs), dict(_function(loop).constants) if is_edited else {}
    formula = trace_formula(function if constants else partial(function, {}), [sizes[x] for x in inputs], constants)
    return Parametric(formula, inputs, outputs) if outputs else Constraint(formula, inputs)


def _function(loop: Loop) -> Formula:
    """The formula of a loop, edited or not; one without constants if it is none."""
    while isinstance(loop, EditedLoop):
        loop = loop.inner
    function = loop.function if isinstance(loop, Constraint | Parametric) else None
    return function if isinstance(function, Formula) else _NO_CONSTANTS


_NO_CONSTANTS = Formula("q", "q")


def _with_constants(loop: Loop, constants: Mapping[str, Any]) -> Loop:
    """A loop whose formula has other constants, which may be symbols."""
    if isinstance(loop, EditedLoop):
        return replace(loop, inner=_with_constants(loop.inner, constants))
    assert isinstance(loop, Constraint | Parametric)
    function = copy(loop.function)
    object.__setattr__(function, "constants", tuple(constants.items()))  # its own checks expect floats
    return replace(loop, function=function)


@dataclass(frozen=True)
class _Residual:
    """φ of a loop that looks at coordinates of joints alone, as a function of these; of a loop with outputs, which are
    its dependent joints, their coordinates as a function of the others.
    """

    loop: Loop
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __call__(self, constants: Mapping[str, Any], *coordinates: Any) -> Sequence[Any]:
        loop = _with_constants(self.loop, constants) if constants else self.loop
        rows = self._rows(loop, coordinates, 0.0)
        if not self.outputs:
            return rows
        at = [tuple(0.3 + 0.1 * i for i in range(len(x))) if isinstance(x, tuple) else 0.3 for x in coordinates]
        still, moved, twice = (self._rows(self.loop, at, x) for x in (0.0, 1.0, 2.0))
        slopes = [b - a for a, b in zip(still, moved, strict=True)]
        linear = all(abs(c - a - 2 * s) < 1e-9 for a, c, s in zip(still, twice, slopes, strict=True))
        if len(rows) != len(self.outputs) or not linear or not all(slopes):
            raise ModelError(
                f"the loop of {', '.join(map(repr, self.outputs))} was edited to one that a file cannot hold"
            )
        signs = [1.0 if s > 0.0 else -1.0 for s in slopes]
        scales = [s if abs(abs(s) - 1.0) < 1e-12 else x for s, x in zip(signs, slopes, strict=True)]
        return [-(row / scale) for row, scale in zip(rows, scales, strict=True)]

    def _rows(self, loop: Loop, coordinates: Sequence[Any], output: float) -> Sequence[Any]:
        """φ, with the coordinate of every output at one number."""
        pairs = zip(self.inputs, coordinates, strict=True)
        q = {joint: Vec(x if isinstance(x, tuple) else (x,)) for joint, x in pairs}
        return loop.residual(_Coordinates(q | {joint: Vec((output,)) for joint in self.outputs}))


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
