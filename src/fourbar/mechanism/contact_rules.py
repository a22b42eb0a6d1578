"""Rules of contact: which shapes of a robot may touch, by name. Frozen data; nothing here computes forces."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from ..errors import ModelError

if TYPE_CHECKING:
    from .contact import ContactPair

ConeShape = Literal["pyramidal", "elliptic"]
Integrator = Literal["Euler", "RK4", "implicit", "implicitfast"]
_OPTIONS = ("cone", "impratio", "timestep", "integrator", "implicit_damping")  # None where not set


def is_number(x: object) -> bool:
    """Whether a value is a number, and no bool."""
    return isinstance(x, int | float) and not isinstance(x, bool)


@dataclass(frozen=True)
class ContactRules:
    """Pairs of shapes that may touch besides or despite their groups, by name, and options of a file for simulation.

    excluded: pairs of bodies whose shapes do not meet. with_parents: whether shapes of a body and of the one that
    carries it meet. enabled: False where a file switches contacts off. cone, impratio (ratio of the impedances of
    friction and of the normal force), timestep (s), integrator and implicit_damping (False: "Euler" takes the damping
    of joints as it is at the start of a step): of MuJoCo's law and step, None where not set.
    """

    pairs: tuple[ContactPair, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    with_parents: bool = False
    enabled: bool = True
    cone: ConeShape | None = None
    impratio: float | None = None
    timestep: float | None = None
    integrator: Integrator | None = None
    implicit_damping: bool | None = None

    def __post_init__(self) -> None:
        if self.cone is not None and self.cone not in get_args(ConeShape):
            raise ModelError(f"contacts: cone={self.cone!r}: expected 'pyramidal' or 'elliptic'")
        if self.integrator is not None and self.integrator not in get_args(Integrator):
            raise ModelError(f"contacts: integrator={self.integrator!r}: expected one of {get_args(Integrator)}")
        if self.implicit_damping not in (None, True, False):
            raise ModelError(f"contacts: implicit_damping={self.implicit_damping!r}: expected True or False")
        for name in ("impratio", "timestep"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0.0 < value < math.inf):
                raise ModelError(f"contacts: {name}={value!r}: expected a positive number")

    def renamed(self, body: Mapping[str, str]) -> ContactRules:
        """The rules with bodies under other names."""

        def new(name: str) -> str:
            return body.get(name, name)

        pairs = tuple(
            replace(x, first=(new(x.first[0]), x.first[1]), second=(new(x.second[0]), x.second[1])) for x in self.pairs
        )
        return replace(self, pairs=pairs, excluded=tuple((new(a), new(b)) for a, b in self.excluded))

    def among(self, bodies: Collection[str]) -> ContactRules:
        """The rules that remain if only these bodies are left."""
        pairs = tuple(x for x in self.pairs if set(x.bodies) <= set(bodies))
        return replace(self, pairs=pairs, excluded=tuple(x for x in self.excluded if set(x) <= set(bodies)))

    def join(self, other: ContactRules) -> ContactRules:
        """The rules of both; options come from the first that sets them."""
        said = {
            name: getattr(self, name) if getattr(self, name) is not None else getattr(other, name) for name in _OPTIONS
        }
        return ContactRules(
            tuple(dict.fromkeys((*self.pairs, *other.pairs))), tuple(dict.fromkeys((*self.excluded, *other.excluded))),
            self.with_parents or other.with_parents, self.enabled and other.enabled, **said,
        )  # fmt: skip

    def check(self, shapes: Mapping[str, Collection[str]], refuse: Callable[[str, str], ModelError]) -> None:
        """Refuse rules of bodies that are not there, or of shapes that they have not: `shapes` are names by body."""
        for bodies in self.excluded:
            for body in bodies:
                if body not in shapes:
                    raise refuse("contacts, excluded", body)
        for pair in self.pairs:
            for body, shape in (pair.first, pair.second):
                if body not in shapes:
                    raise refuse("contacts, pair", body)
                if shape not in shapes[body]:
                    known = ", ".join(repr(x) for x in shapes[body] if x) or "none with a name"
                    raise ModelError(f"contacts, pair: body {body!r} has no shape {shape!r}; it has {known}")


NO_RULES = ContactRules()
