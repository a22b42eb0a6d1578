"""The parameters of a mechanism by name, and the mechanism after a change.

"gravity"; "body.mass", "body.com", "body.inertia" (about the centre of mass), and those of the fluid around a body,
"body.added_mass", "body.volume", "body.linear_drag", ...; "joint.placement", "joint.armature";
"frame.placement"; "belts.matrix" of armature that couples joints; and every number of a loop by the name of its field:
"gear.ratio", "rod.length", "loop.at_successor".
A user's function has parameters too if it is a (frozen) dataclass. Constraints on top of a mechanism follow the same
rule. Placements change by a twist [angular; linear] in their own axes. Changes may be symbols, and are meant to be
small: only derivatives at zero are exact. Parameters that are not placements may also be given as such (`given=True`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from math import prod
from typing import Any, NamedTuple

from ..constraints.loop import Loop
from ..errors import ArgumentError, UnknownNameError, unknown
from ..mechanism.actuators import law_form, law_numbers, with_law_number
from ..mechanism.fluid import FIELDS as FLUID
from ..mechanism.mechanism import Body, Frame, Mechanism, NamedLoop, PlacedJoint, Placement
from ..once import once_per_object
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform, nudge
from ..spatial.vectors import Twist

_OWNERS = ("bodies", "joints", "frames", "loops", "armatures")  # fields of a Mechanism that hold named things
_ACTUATORS = "actuators"  # another one, whose numbers are those of their laws


class Parameter(NamedTuple):
    """A parameter of a mechanism, possibly with several entries: a field of the thing at a position in one of
    `_OWNERS`.

    With other `owners` it belongs to something on top of the mechanism, which handles it.
    """

    name: str
    shape: tuple[int, ...]
    owners: str = ""
    place: int = 0
    field: str = ""

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)

    @property
    def is_mechanisms(self) -> bool:
        """Whether it belongs to the mechanism itself."""
        return self.owners in ("", *_OWNERS)

    @property
    def is_symmetric(self) -> bool:
        """Whether it is a matrix that has to stay symmetric."""
        symmetric = (("bodies", "inertia"), ("bodies", "added_mass"), ("armatures", "matrix"))
        return (self.owners, self.field) in symmetric

    def _value(self, mechanism: Mechanism) -> Any:
        if self.owners == _ACTUATORS:
            return law_numbers(mechanism.actuators[self.place])[self.field]
        return getattr(_inner(getattr(mechanism, self.owners)[self.place], self.field), self.field)

    def is_place(self, mechanism: Mechanism) -> bool:
        """Whether it is a placement, which changes by a twist."""
        return isinstance(self._value(mechanism), Transform | Placement)

    def values(self, mechanism: Mechanism) -> list[float]:
        """The entries, one after the other, of a parameter that is not a placement."""
        return list(_entries(self._value(mechanism)))


GRAVITY = Parameter("gravity", (3,))


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


def _changed(value: Any, by: Iterator[Scalar], given: bool = False) -> Any:
    """A value with the next of the changes added, or replaced by the next ones if they are `given` as such."""
    if isinstance(value, Transform):
        return value.then(nudge(Twist.of(Vec(islice(by, 6)))))
    if isinstance(value, Placement):
        moved = _changed(Transform.of(value.rotation, Vec(value.position)), by)
        return replace(value, rotation=moved.R, position=moved.p)
    if isinstance(value, tuple):
        return tuple(_changed(x, by, given) for x in value)
    return value if isinstance(value, str) else next(by) if given else value + next(by)


def _deeper(thing: Any, parameter: str = "") -> str | None:
    """The field that holds the object with the parameters, or with one of these: a loop may wrap another one, or a
    function that is a dataclass; a body has a fluid around it.
    """
    if isinstance(thing, Body):
        return "fluid" if parameter in FLUID else None
    if isinstance(thing, NamedLoop):
        return "loop"
    for f in fields(thing) if is_dataclass(thing) else ():
        value = getattr(thing, f.name)
        if isinstance(thing, Loop) and isinstance(value, Loop):
            return f.name
        if f.name == "function" and is_dataclass(value) and not isinstance(value, type):
            return f.name
    return None


def _inner(thing: Any, parameter: str = "") -> Any:
    """The object whose fields are the parameters, or one of these."""
    field = _deeper(thing, parameter)
    return thing if field is None else _inner(getattr(thing, field), parameter)


def _with(thing: Any, inner: Any, parameter: str) -> Any:
    """A thing with the object that has a parameter replaced by another, `inner`."""
    field = _deeper(thing, parameter)
    if field is None:
        return inner
    other = copy(thing)
    object.__setattr__(other, field, _with(getattr(thing, field), inner, parameter))
    return other


def _fields(thing: Any) -> dict[str, tuple[int, ...]]:
    """The parameters of a thing, and their shapes. One number per velocity is a scalar if there is one velocity."""
    if isinstance(thing, Body):
        around = {name: _shape(getattr(thing.fluid, name)) or () for name in FLUID} if thing.fluid is not None else {}
        return {"mass": (), "com": (3,), "inertia": (3, 3), **around}
    if isinstance(thing, PlacedJoint):
        nv = thing.joint.nv
        return {"placement": (6,), **({"armature": (nv,) if nv > 1 else ()} if nv else {})}
    if isinstance(thing, Frame):
        return {"placement": (6,)}
    inner = _inner(thing)
    values = {f.name: getattr(inner, f.name) for f in fields(inner)} if is_dataclass(inner) else {}
    if callable(inner):  # an integer in a function may be an exponent, or count something
        values = {name: x for name, x in values.items() if not isinstance(x, int)}
    shapes = {name: _shape(x) for name, x in values.items()}
    return {name: shape for name, shape in shapes.items() if shape is not None}


def numbers(mechanism: Mechanism) -> list[Parameter]:
    """All parameters of a mechanism that can be changed."""
    found = [GRAVITY]
    for owners in _OWNERS:
        for place, thing in enumerate(getattr(mechanism, owners)):
            found += numbers_of(thing.name, thing, owners, place)
    return found


@once_per_object
def variable(mechanism: Mechanism) -> tuple[Parameter, ...]:
    """All parameters that may differ from sample to sample: those that are not placements, what joints do by
    themselves, and the laws of actuators. Found once for a mechanism.
    """
    found = [x for x in numbers(mechanism) if x == GRAVITY or not x.is_place(mechanism)]
    for place, body in enumerate(mechanism.bodies):
        if body.gravity_compensation:
            field = "gravity_compensation"
            found.append(Parameter(f"{body.name}.{field}", (), "bodies", place, field))
    for place, joint in enumerate(mechanism.joints):
        for field in ("damping", "stiffness", "rest"):
            n = len(getattr(joint, field))
            if n and (field == "damping" or any(joint.stiffness)):
                found.append(Parameter(f"{joint.name}.{field}", (n,) if n > 1 else (), "joints", place, field))
        if any(joint.friction):
            n = len(joint.friction)
            found.append(Parameter(f"{joint.name}.friction", (n,) if n > 1 else (), "joints", place, "friction"))
    for place, actuator in enumerate(mechanism.actuators):
        for field, x in law_numbers(actuator).items():
            shape = (len(x),) if isinstance(x, tuple) else ()
            found.append(Parameter(f"{actuator.name}.{field}", shape, _ACTUATORS, place, field))
    return tuple(found)


def numbers_of(name: str, thing: Any, owners: str, place: int) -> list[Parameter]:
    """The parameters of one thing."""
    return [Parameter(f"{name}.{field}", shape, owners, place, field) for field, shape in _fields(thing).items()]


_MOMENTS = ("Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")


def find(every: Sequence[Parameter], names: Iterable[str]) -> tuple[Parameter, ...]:
    """Parameters by name."""
    found = []
    for name in names:
        called = [x for x in every if x.name == name]
        if not called:
            raise UnknownNameError(f"{unknown('parameter', name, [x.name for x in every])}{_of_regressors(str(name))}")
        if len(called) > 1:
            owners = " and one of its ".join(x.owners for x in called)
            raise ArgumentError(f"parameter {name!r} belongs to one of the robot's {owners}; rename one of them")
        found += called
    return tuple(found)


def _of_regressors(name: str) -> str:
    """A hint where a name may be one of `names.parameters`."""
    owner, _, entry = name.rpartition(".")
    meant = {"m": "mass", "mx": "com", "my": "com", "mz": "com"} | dict.fromkeys(_MOMENTS, "inertia")
    if not owner or entry not in meant:
        return ""
    return (
        f"; {name!r} is a parameter of the regressor (names.parameters); here it is called "
        f"{f'{owner}.{meant[entry]}'!r}"
    )


def changed(mechanism: Mechanism, which: Sequence[Parameter], by: Sequence[Scalar], given: bool = False) -> Mechanism:
    """The mechanism after changes: `by` holds the entries of all changes, one after the other, or of the parameters
    themselves if they are `given`.
    """
    left, origin = iter(by), mechanism
    for number in which:
        if number == GRAVITY:
            mechanism = replace(mechanism, gravity=_changed(mechanism.gravity, left, given))
            continue
        things = list(getattr(mechanism, number.owners))
        if number.owners == _ACTUATORS:
            form = law_form(origin.actuators[number.place])
            entries = tuple(islice(left, number.size))
            things[number.place] = with_law_number(things[number.place], form, number.field, entries)
        else:
            things[number.place] = with_changed(things[number.place], number.field, left, given)
        mechanism = replace(mechanism, **{number.owners: tuple(things)})
    return mechanism


def with_changed(thing: Any, field: str, left: Iterator[Scalar], given: bool = False) -> Any:
    """A thing with the next of the changes added to one of its parameters, or with that replaced by them."""
    inner = copy(_inner(thing, field))
    object.__setattr__(inner, field, _changed(getattr(inner, field), left, given))  # its own checks expect floats
    return _with(thing, inner, field)
