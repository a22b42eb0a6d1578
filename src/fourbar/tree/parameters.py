"""The parameters of a mechanism: one list of names for derivatives, varying robots, rollouts and identification.

"gravity"; "body.mass", "body.com", "body.inertia" (about the centre of mass), "body.gravity_compensation" where there
is some; "joint.placement", "joint.armature", "joint.damping", "joint.stiffness" and "joint.rest" of a spring,
"joint.friction" where there is some; "belts.matrix" of armature that couples joints; numbers of a joint's own type,
"screw.pitch"; "frame.placement"; every number of a loop by the name of its field, "gear.ratio", "rod.length",
"loop.at_successor"; gains of an actuator, "servo.kp". A user's function has parameters too if it is a (frozen)
dataclass. Constraints on top of a mechanism follow the same rule. The parameter of a placement is the twist [angular;
linear] in its own axes by which it is displaced, T exp(ξ), zero as built; all others are the values themselves. They
may be symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from math import prod
from typing import Any, NamedTuple

from ..constraints.loop import Loop
from ..errors import ArgumentError, UnknownNameError, unknown
from ..joints.base import Joint
from ..joints.variable import (
    entries_of,
    innermost,
    shape_of,
    why_axis_is_constant,
    why_constant,
    with_entries,
    with_field,
    with_innermost,
    with_number,
)
from ..mechanism.actuators import Actuator, law_form, law_numbers, with_law_number
from ..mechanism.fluid import FIELDS as FLUID
from ..mechanism.mechanism import Body, Frame, Mechanism, NamedLoop, PlacedJoint, Placement
from ..once import once_per_object
from ..spatial.linear import Scalar, Vec
from ..spatial.transform import Transform

_OWNERS = (
    "bodies",
    "joints",
    "frames",
    "loops",
    "armatures",
    "actuators",
)  # fields of a Mechanism that hold named things
_COMPENSATION = "gravity_compensation"
_OF_BODIES = ("mass", "com", "inertia", _COMPENSATION)
_OF_JOINTS = ("placement", "armature", "damping", "stiffness", "rest", "friction")  # besides those of their types
_PASSIVE = ("damping", "stiffness", "rest", "friction")


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

    @property
    def is_inertia(self) -> bool:
        """Whether it is an inertia, and may be zero."""
        return self.owners == "armatures" or self.field in ("mass", "inertia", "added_mass", "armature")

    @property
    def moves_links(self) -> bool:
        """Whether poses at given coordinates depend on it, or the loops do, or rows of constraints."""
        if self.owners == "joints":
            return self.field == "placement" or self.is_joint_types
        return self.owners not in ("", "bodies", "armatures", "actuators", "gains")

    @property
    def is_joint_types(self) -> bool:
        """Whether it is a number of a joint's own type, such as the pitch of a screw."""
        return self.owners == "joints" and self.field not in _OF_JOINTS

    @property
    def is_passive(self) -> bool:
        """Whether it is a number of passive forces of a joint."""
        return self.owners == "joints" and self.field in _PASSIVE

    def is_placement(self, mechanism: Mechanism) -> bool:
        """Whether it is the displacement of a placement."""
        return self != GRAVITY and isinstance(
            _value(getattr(mechanism, self.owners)[self.place], self.field), Transform | Placement
        )

    def values(self, mechanism: Mechanism) -> list[float]:
        """The entries as built, one after the other; of a placement the twist by which it is displaced, zero."""
        if self == GRAVITY:
            return list(mechanism.gravity)
        return values_of(getattr(mechanism, self.owners)[self.place], self.field)


GRAVITY = Parameter("gravity", (3,))


def _inner(thing: Any) -> Any:
    """The object whose fields are the parameters: a loop may wrap another one, or a function."""
    return innermost(thing.loop if isinstance(thing, NamedLoop) else thing, Loop)


def _value(thing: Any, field: str) -> Any:
    if isinstance(thing, Actuator):
        return law_numbers(thing)[field]
    if isinstance(thing, PlacedJoint):
        return getattr(thing, field) if field in _OF_JOINTS else thing.joint.variable[field]
    return _fields(thing)[field]


def values_of(thing: Any, field: str) -> list[float]:
    """The entries of a parameter of a thing as built."""
    value = _value(thing, field)
    return [0.0] * 6 if isinstance(value, Placement) else list(entries_of(value))


def _fields(thing: Any) -> dict[str, Any]:
    """The parameters of a thing by the names of their fields, and their values."""
    if isinstance(thing, Body):
        own = {name: getattr(thing, name) for name in _OF_BODIES if name != _COMPENSATION or thing.gravity_compensation}
        return own | ({name: getattr(thing.fluid, name) for name in FLUID} if thing.fluid is not None else {})
    if isinstance(thing, Frame):
        return {"placement": thing.placement}
    if isinstance(thing, Actuator):
        return dict(law_numbers(thing))
    if isinstance(thing, PlacedJoint):
        by_field = {name: getattr(thing, name) for name in _OF_JOINTS if not _missing(thing, name)}
        return by_field | {name: x for name, x in thing.joint.variable.items() if not why_constant(thing.joint, name)}
    inner = _inner(thing)
    values = {f.name: getattr(inner, f.name) for f in fields(inner)} if is_dataclass(inner) else {}
    if callable(inner):  # an integer in a function may be an exponent, or count something
        values = {name: x for name, x in values.items() if not isinstance(x, int)}
    by_field = {name: x for name, x in values.items() if shape_of(x) is not None}
    closing = [x for x in values.values() if isinstance(x, Joint)]  # whose numbers are those of the loop
    return by_field | {
        name: x for joint in closing for name, x in joint.variable.items() if not why_constant(joint, name)
    }


def _missing(joint: PlacedJoint, field: str) -> str:
    """The reason for which a joint has no such parameter; empty if it has."""
    if field != "placement" and not joint.joint.nv:
        return "it does not move"
    if field in ("stiffness", "rest") and not any(joint.stiffness):
        return "it has no spring; build it with a stiffness above zero"
    if field == "friction" and not any(joint.friction):
        return "it has no dry friction; build it with some"
    return ""


def _shape(thing: Any, value: Any) -> tuple[int, ...]:
    """The shape of a parameter. One number per velocity is a scalar if there is one velocity."""
    if isinstance(value, Placement):
        return (6,)
    shape = shape_of(value)
    assert shape is not None
    return () if isinstance(thing, PlacedJoint) and shape == (1,) else shape


@once_per_object
def parameters(mechanism: Mechanism) -> tuple[Parameter, ...]:
    """All parameters of a mechanism. Found once."""
    listed = [GRAVITY]
    for owners in _OWNERS:
        for place, thing in enumerate(getattr(mechanism, owners)):
            listed += parameters_of(thing.name, thing, owners, place)
    return tuple(listed)


def parameters_of(name: str, thing: Any, owners: str, place: int) -> list[Parameter]:
    """The parameters of one thing."""
    own = _fields(thing).items()
    return [Parameter(f"{name}.{field}", _shape(thing, x), owners, place, field) for field, x in own]


_MOMENTS = ("Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")


def find(every: Sequence[Parameter], names: Iterable[str], mechanism: Mechanism | None = None) -> tuple[Parameter, ...]:
    """Parameters by name; what the mechanism has that cannot vary is refused with the reason."""
    chosen = []
    for name in names:
        called = [x for x in every if x.name == name]
        if not called:
            why = _reason(mechanism, str(name)) if mechanism is not None else ""
            if why:
                raise ArgumentError(f"parameter {name!r} cannot vary: {why}")
            raise UnknownNameError(f"{unknown('parameter', name, [x.name for x in every])}{_of_regressors(str(name))}")
        if len(called) > 1:
            owners = " and one of its ".join(x.owners for x in called)
            raise ArgumentError(f"parameter {name!r} belongs to one of the robot's {owners}; rename one of them")
        chosen += called
    return tuple(chosen)


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


def _reason(mechanism: Mechanism, name: str) -> str:
    """The reason for which something that a mechanism has, by the name of a field, cannot vary; empty if unknown."""
    owner, _, field = name.rpartition(".")
    for owners in _OWNERS:
        for thing in getattr(mechanism, owners):
            if thing.name == owner and (why := _why_not(thing, field)):
                return why
    return ""


def _why_not(thing: Any, field: str) -> str:
    """The reason for which a field of a thing cannot vary; empty where there is no such field."""
    places = [_inner(thing)]
    if isinstance(thing, Body) and field == _COMPENSATION:
        return f"of body {thing.name!r}, it has none; build it with some"
    if isinstance(thing, Body) and field in FLUID:
        return f"of body {thing.name!r}, it is in no fluid; build it with one"
    if isinstance(thing, PlacedJoint):
        if field in ("limits", "lower", "upper"):
            return "the equations of motion do not depend on limits"
        if field in _OF_JOINTS:
            return f"of joint {thing.name!r}, {_missing(thing, field)}"
        if field in thing.joint.variable:
            return why_constant(thing.joint, field)
        if why := thing.joint.why_constant(field):
            return why
        places = [thing, thing.joint, innermost(thing.joint)]
    owner = next((x for x in places if is_dataclass(x) and field in {f.name for f in fields(x)}), None)
    if owner is None or field.startswith("_"):
        return ""
    value = getattr(owner, field)
    if isinstance(owner, Joint) and field.startswith("axis"):
        return f"{why_axis_is_constant(owner)}; turn the joint by {f'{thing.name}.placement'!r}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{field} = {value} is a whole number, which may count something; write {float(value)} if it is a number"
    if shape_of(value) is not None:
        return f"the equations of motion do not depend on {field}"
    return f"{field} = {value!r:.60} is not made of numbers"


def change_parameters(mechanism: Mechanism, which: Sequence[Parameter], p: Sequence[Scalar]) -> Mechanism:
    """The mechanism with other parameters: p holds their entries, one after the other."""
    left, origin = iter(p), mechanism
    for parameter in which:
        if parameter == GRAVITY:
            mechanism = replace(mechanism, gravity=tuple(islice(left, 3)))  # type: ignore[arg-type]
            continue
        things = list(getattr(mechanism, parameter.owners))
        entries = tuple(islice(left, parameter.size))
        if parameter.owners == "actuators":
            form = law_form(origin.actuators[parameter.place])
            things[parameter.place] = with_law_number(things[parameter.place], form, parameter.field, entries)
        elif parameter.is_joint_types:
            joint = things[parameter.place]
            things[parameter.place] = replace(
                joint, joint=with_number(joint.joint, parameter.field, parameter.shape, entries)
            )
        else:
            things[parameter.place] = with_parameter(things[parameter.place], parameter.field, iter(entries))
        mechanism = replace(mechanism, **{parameter.owners: tuple(things)})
    return mechanism


def with_parameter(thing: Any, field: str, entries: Iterator[Scalar]) -> Any:
    """A thing with the next of the entries as one of its parameters."""
    if isinstance(thing, NamedLoop):
        return with_field(thing, "loop", with_parameter(thing.loop, field, entries))
    if isinstance(thing, Body) and field in FLUID:
        value = with_entries(getattr(thing.fluid, field), entries)
        return with_field(thing, "fluid", with_field(thing.fluid, field, value))
    inner = _inner(thing)
    if hasattr(inner, field):
        return with_innermost(thing, with_field(inner, field, _with_entries(getattr(inner, field), entries)), Loop)
    closing, joint = next(
        (f.name, x) for f in fields(inner) if isinstance(x := getattr(inner, f.name), Joint) and field in x.variable
    )
    size = len(list(entries_of(joint.variable[field])))
    other = joint.with_numbers({field: tuple(islice(entries, size))})
    return with_innermost(thing, with_field(inner, closing, other), Loop)


def _with_entries(value: Any, entries: Iterator[Scalar]) -> Any:
    if not isinstance(value, Placement):
        return with_entries(value, entries)
    moved = with_entries(Transform.of(value.rotation, Vec(value.position)), entries)
    return replace(value, rotation=moved.R, position=moved.p)
