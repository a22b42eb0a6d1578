"""The numbers that a mechanism is made of, by name, and the mechanism in which they have changed.

"gravity"; "body.mass", "body.com", "body.inertia" (about the centre of mass); "joint.placement", "joint.armature";
"frame.placement"; and every number of a loop by the name of its field: "gear.ratio", "rod.length", "loop.at_successor".
Places change by a twist [angular; linear] in their own axes. Changes may be symbols, and are meant to be small: only
derivatives at zero are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from math import prod
from typing import Any, NamedTuple

from ..errors import ArgumentError, unknown
from ..loops.base import Loop
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform, nudge
from ..spatial.vectors import Twist
from .mechanism import Body, Connection, Frame, Mechanism, NamedLoop, Placement

_OWNERS = ("bodies", "connections", "frames", "loops")  # fields of a Mechanism that hold things with names
_Thing = Body | Connection | Frame | NamedLoop


class Number(NamedTuple):
    """A number of a mechanism, or several under one name: the field of the thing at a place of one of `_OWNERS`."""

    name: str
    shape: tuple[int, ...]
    owners: str = ""
    place: int = 0
    field: str = ""

    @property
    def size(self) -> int:
        """How many entries it has."""
        return prod(self.shape)

    def _value(self, mechanism: Mechanism) -> Any:
        return getattr(_inner(getattr(mechanism, self.owners)[self.place]), self.field)

    def is_place(self, mechanism: Mechanism) -> bool:
        """Whether it is the place of something, which changes by a twist."""
        return isinstance(self._value(mechanism), Transform | Placement)

    def values(self, mechanism: Mechanism) -> list[float]:
        """The entries, one after the other, of a number that is no place."""
        return list(_entries(self._value(mechanism)))


GRAVITY = Number("gravity", (3,))


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of the changes of a value; None if it is not made of numbers."""
    if isinstance(value, Transform | Placement):
        return (6,)
    if isinstance(value, float | int):
        return None if isinstance(value, bool) else ()
    if not isinstance(value, tuple) or not value:
        return None
    if len(value) == 2 and isinstance(value[0], str):  # the number of a joint
        return _shape(value[1])
    shapes = {_shape(x) for x in value}
    inner = shapes.pop()
    return None if shapes or inner is None else (len(value), *inner)


def _entries(value: Any) -> Iterator[float]:
    if isinstance(value, tuple):
        for x in value:
            yield from _entries(x)
    elif not isinstance(value, str):
        yield float(value)


def _changed(value: Any, by: Iterator[Scalar]) -> Any:
    """A value with the next of the changes added."""
    if isinstance(value, Transform):
        return value.then(nudge(Twist.of(Vec(islice(by, 6)))))
    if isinstance(value, Placement):
        moved = _changed(Transform.of(value.rotation, Vec(value.position)), by)
        return replace(value, rotation=moved.R, position=moved.p)
    if isinstance(value, tuple):
        return tuple(_changed(x, by) for x in value)
    return value if isinstance(value, str) else value + next(by)


def _inner(thing: Any) -> Any:
    """What the numbers of a thing are fields of: a loop may be another one seen differently."""
    if isinstance(thing, NamedLoop):
        return _inner(thing.loop)
    inside = [getattr(thing, f.name) for f in fields(thing)] if is_dataclass(thing) else []
    loops = [x for x in inside if isinstance(x, Loop)] if isinstance(thing, Loop) else []
    return _inner(loops[0]) if loops else thing


def _with(thing: Any, inner: Any) -> Any:
    """A thing whose numbers are fields of another `inner`."""
    if not isinstance(thing, Loop | NamedLoop) or _inner(thing) is thing:
        return inner
    other = copy(thing)
    for f in fields(thing):  # type: ignore[arg-type]
        value = getattr(thing, f.name)
        if isinstance(value, Loop):
            object.__setattr__(other, f.name, _with(value, inner))
    return other


def _fields(thing: _Thing) -> dict[str, tuple[int, ...]]:
    """The numbers of a thing, and their shapes. One number a velocity is a plain number if there is one velocity."""
    if isinstance(thing, Body):
        return {"mass": (), "com": (3,), "inertia": (3, 3)}
    if isinstance(thing, Connection):
        nv = thing.joint.nv
        return {"placement": (6,), **({"armature": (nv,) if nv > 1 else ()} if nv else {})}
    if isinstance(thing, Frame):
        return {"placement": (6,)}
    inner = _inner(thing)
    shapes = {f.name: _shape(getattr(inner, f.name)) for f in fields(inner)} if is_dataclass(inner) else {}
    return {name: shape for name, shape in shapes.items() if shape is not None}


def numbers(mechanism: Mechanism) -> list[Number]:
    """All numbers of a mechanism that a change can be asked of."""
    found = [GRAVITY]
    for owners in _OWNERS:
        for place, thing in enumerate(getattr(mechanism, owners)):
            for field, shape in _fields(thing).items():
                found.append(Number(f"{thing.name}.{field}", shape, owners, place, field))
    return found


def find(mechanism: Mechanism, names: Iterable[str]) -> tuple[Number, ...]:
    """Numbers by name."""
    every = numbers(mechanism)
    found = []
    for name in names:
        called = [x for x in every if x.name == name]
        if not called:
            raise unknown("parameter", name, [x.name for x in every])
        if len(called) > 1:
            owners = " and one of its ".join(x.owners for x in called)
            raise ArgumentError(f"parameter {name!r} belongs to one of the robot's {owners}; rename one of them")
        found += called
    return tuple(found)


def changed(mechanism: Mechanism, which: Sequence[Number], by: Sequence[Scalar]) -> Mechanism:
    """The mechanism whose numbers have changed: `by` are the entries of all changes, one after the other."""
    left = iter(by)
    for number in which:
        if number == GRAVITY:
            mechanism = replace(mechanism, gravity=_changed(mechanism.gravity, left))
            continue
        things = list(getattr(mechanism, number.owners))
        things[number.place] = _with_changed(things[number.place], number.field, left)
        mechanism = replace(mechanism, **{number.owners: tuple(things)})
    return mechanism


def _with_changed(thing: _Thing, field: str, left: Iterator[Scalar]) -> Any:
    inner = copy(_inner(thing))
    object.__setattr__(inner, field, _changed(getattr(inner, field), left))  # its own checks are for plain numbers
    return _with(thing, inner)
