"""Surfaces of shapes in contacts, pairs of shapes by name, and softness of joints. Frozen data, without forces."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..errors import ModelError
from .contact_rules import is_number

_BITS = 2**31  # groups are bits of an integer of C
_DIMENSIONS = (1, 3, 4, 6)


@dataclass(frozen=True)
class Surface:
    """The surface of a shape in contacts. None: not given.

    friction: coefficient of sliding, `friction2` in the second direction where it is another one; torsion and rolling:
    torque per normal force, in m; restitution from 0 to 1; stiffness (N/m) and damping (N s/m) of compliant contact.
    A contact acts once shapes are nearer than the sum of their margins (m), and is found from margin + gap on.

    dimensions: 1 (no friction), 3 (sliding), 4 (torsion too), 6 (rolling too). Of two shapes that with the higher
    priority sets the numbers; otherwise these are mixed, solref and solimp (MuJoCo's time constants and impedances)
    with weights `mix`. Two shapes may meet if bits of `groups` of one are among those of `meets` of the other.
    """

    friction: float | None = None
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    friction2: float | None = None
    stiffness: float | None = None
    damping: float | None = None
    margin: float = 0.0
    gap: float = 0.0
    dimensions: int = 3
    priority: int = 0
    mix: float = 1.0
    solref: tuple[float, ...] | None = None
    solimp: tuple[float, ...] | None = None
    groups: int = 1
    meets: int = 1

    def __post_init__(self) -> None:
        for name in ("friction", "friction2", "torsion", "rolling", "restitution", "stiffness", "damping", "mix"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0.0 <= value < math.inf):
                raise ModelError(f"surface: {name}={value!r}: expected a finite number, not negative")
        if self.restitution is not None and self.restitution > 1.0:
            raise ModelError(f"surface: restitution={self.restitution!r}: expected a number from 0 to 1")
        for name in ("margin", "gap"):
            if not (is_number(getattr(self, name)) and math.isfinite(getattr(self, name))):
                raise ModelError(f"surface: {name}={getattr(self, name)!r}: expected a finite number, in m")
        if self.dimensions not in _DIMENSIONS:
            raise ModelError(f"surface: dimensions={self.dimensions!r}: expected one of {_DIMENSIONS}")
        for name in ("groups", "meets", "priority"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not -_BITS <= value < 2 * _BITS:
                raise ModelError(f"surface: {name}={value!r}: expected a whole number of at most 32 bits")
        for name, count in (("solref", 2), ("solimp", 5)):
            value = getattr(self, name)
            if value is not None and not _is_tuple_of_numbers(value, count):
                raise ModelError(f"surface: {name}={value!r}: expected a tuple of {count} finite numbers")

    def may_meet(self, other: Surface) -> bool:
        """Whether the groups of two surfaces let them meet."""
        return bool(self.groups & other.meets or other.groups & self.meets)


PLAIN = Surface()


@dataclass(frozen=True)
class JointSoftness:
    """The softness of the limits and the dry friction of a joint under MuJoCo's law. None: as MuJoCo has it by default.

    limit_solref, limit_solimp: of its limits, which act from a `margin` (rad, m) before them on; friction_solref,
    friction_solimp: of its dry friction.
    """

    limit_solref: tuple[float, ...] | None = None
    limit_solimp: tuple[float, ...] | None = None
    friction_solref: tuple[float, ...] | None = None
    friction_solimp: tuple[float, ...] | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self)[:-1]:
            count = 2 if field.name.endswith("solref") else 5
            value = getattr(self, field.name)
            if value is not None and not _is_tuple_of_numbers(value, count):
                raise ModelError(f"softness: {field.name}={value!r}: expected a tuple of {count} finite numbers")
        if not (is_number(self.margin) and math.isfinite(self.margin)):
            raise ModelError(f"softness: margin={self.margin!r}: expected a finite number, in rad or m")


def _is_tuple_of_numbers(value: object, count: int) -> bool:
    """Whether a value is a tuple of `count` finite numbers."""
    if not isinstance(value, tuple) or len(value) != count:
        return False
    return all(is_number(x) and math.isfinite(x) for x in value)


NUMBERS = tuple(f.name for f in fields(Surface))


@dataclass(frozen=True)
class ContactPair:
    """Two shapes that meet whatever their groups are, each by body and name, and how: the surface of the pair."""

    first: tuple[str, str]
    second: tuple[str, str]
    surface: Surface = PLAIN
    name: str = ""

    @property
    def bodies(self) -> tuple[str, str]:
        """The bodies of the two."""
        return self.first[0], self.second[0]
