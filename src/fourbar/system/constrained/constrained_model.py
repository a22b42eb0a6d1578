"""`ConstrainedModel`: a mechanism with constraints that forces keep; their names and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from ...algorithms.constrained.rows import ConstraintRows
from ...errors import ArgumentError, ModelError
from ...functions.arguments import DeclaredArgument
from ...functions.constraint_rows import Given, group_rows, title
from ...functions.context import Context
from ...functions.model import Changes, Model
from ...hints import Hinted
from ...mechanism.mechanism import Mechanism
from ...once import cached_property
from ...tree.cluster_tree import ClusterTree
from ...tree.parameters import Parameter, parameters, parameters_of, values_of


class Frozen(Hinted):
    """Attributes are written to `__dict__` by the class itself; nobody else may."""

    _scope = "robot"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen; {name!r} cannot be set. Make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen; {name!r} cannot be deleted")


CONSTRAINTS, GAINS = "constraints", "gains"  # owners of numbers
_GAINS = tuple(Parameter(f"stabilize.{x}", (), GAINS, k, x) for k, x in enumerate(("stiffness", "damping")))


def constraint_names(mechanism: Mechanism, conditions: Sequence[Given], names: Any) -> tuple[str, ...]:
    """The names of the constraints: as given, or after their kind and position, "contact1", as for loops."""
    used = {x.name.rpartition(".")[0] for x in parameters(mechanism)} | {x.name.rpartition(".")[0] for x in _GAINS}
    if names is None:
        chosen: list[str] = []
        for place, condition in enumerate(conditions, 1):
            kind = type(condition).__name__.lower()
            chosen.append(next(x for k in count(place) if (x := f"{kind}{k}") not in used and x not in chosen))
        return tuple(chosen)
    listed = [] if isinstance(names, str) or not isinstance(names, Sequence) else list(names)
    if len(listed) != len(conditions) or not all(isinstance(x, str) and x for x in listed):
        raise ModelError(f"names={names!r}: expected a list of {len(conditions)} names, one per constraint")
    for name in listed:
        if name in used or listed.count(name) > 1:
            raise ModelError(f"names={names!r}: {name!r} is already the name of something else; choose another one")
    return tuple(listed)


@dataclass(frozen=True)
class ConstrainedModel(Model):
    """A mechanism with conditions on top; `gains` are the stiffness and damping of Baumgarte's stabilisation.

    `changing`: the mechanism's numbers are entries of a recording; `changes` are those of the conditions that are.
    """

    conditions: tuple[Given, ...] = ()
    names: tuple[str, ...] = ()
    gains: tuple[float, float] | None = None
    changing: bool = False
    changes: Changes = ()

    @property
    def numbers(self) -> tuple[Parameter, ...]:
        """The numbers of the mechanism, of the conditions, and the gains."""
        found = list(super().numbers)
        for place, (name, condition) in enumerate(zip(self.names, self.conditions, strict=True)):
            found += parameters_of(name, condition, CONSTRAINTS, place)
        return (*found, *(_GAINS if self.gains is not None else ()))

    def values(self, x: Parameter) -> list[float]:
        if x.owners == GAINS:
            assert self.gains is not None
            return [self.gains[x.place]]
        return values_of(self.conditions[x.place], x.field) if x.owners == CONSTRAINTS else super().values(x)

    def with_changes(self, cluster_tree: ClusterTree, more: Changes) -> Model:
        changes = self.changes + more
        return replace(self, cluster_tree=cluster_tree, changing=cluster_tree is not self.cluster_tree, changes=changes)

    @cached_property
    def gains_in_use(self) -> tuple[Any, Any] | None:
        """The gains of stiffness and damping, or entries of a recording in their place."""
        if self.gains is None:
            return None
        found = {number: entries[0] for number, entries in self.changes if number.owners == GAINS}
        stiffness, damping = (found.get(x, own) for x, own in zip(_GAINS, self.gains, strict=True))
        return stiffness, damping

    @cached_property
    def groups(self) -> tuple[ConstraintRows, ...]:
        rows = []
        for place, condition in enumerate(self.conditions):
            changes = tuple(x for x in self.changes if (x[0].owners, x[0].place) == (CONSTRAINTS, place))
            rows.append(group_rows(self.cluster_tree, condition, self.changing, changes))
        return tuple(rows)

    @cached_property
    def m(self) -> int:
        """Number of rows."""
        return sum(b.traced.m for b in self.groups)

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The name of each row."""
        titles = [(title(c), b.traced.m) for c, b in zip(self.conditions, self.groups, strict=True)]
        return tuple(f"{title}, row {i + 1}" for title, m in titles for i in range(m))

    @cached_property
    def touched(self) -> tuple[int, ...]:
        """Links whose frames the rows need."""
        return tuple(sorted({link for b in self.groups for link in b.links}))


class PerRow(DeclaredArgument):
    """A number for each row (m)."""

    type = "array_like, shape (..., m)"

    def shape(self, model: ConstrainedModel) -> tuple[int, ...]:
        return (model.m,)


FORCE = PerRow("force", text="Forces λ along the rows (N m, N).")
ROW_ACCELERATION = PerRow("row_acceleration", text="How the rows accelerate (rad/s², m/s²) instead of not at all.")
RESTITUTION = PerRow("restitution", text="Each row A v is -restitution times what it was afterwards; zero without it.")


class NumericRecorder:
    """A recorder that computes: arguments are numbers given by name."""

    def __init__(self, values: Mapping[str, Any], number: Callable[[Any], Any] = float) -> None:
        self._values, self._number = values, number

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[float, ...]:
        """The entries of an argument."""
        return tuple(map(self._number, self._values[name]))

    def call(self, function: Any, *args: Any) -> Any:
        """Just call it."""
        return function(*args)


def compute(model: Model, method: Any, static: Mapping[str, Any], values: Mapping[str, Any]) -> list[np.ndarray]:
    """The results of a method at values by name; NaN or infinite where one is undefined."""
    given = [a for a in method.all_arguments(model) if a.name in values]

    def results(number: Callable[[Any], Any]) -> list[np.ndarray]:
        found = method.record(Context(model, NumericRecorder(values, number), given), **static)
        return [np.array([float(x) for x in entries]).reshape(shape) for _, shape, entries in found]

    try:
        return results(float)
    except (ArithmeticError, ValueError):  # which NumPy's slower numbers do not raise
        with np.errstate(all="ignore"):
            return results(np.float64)


def read_tolerance(tolerance: Any) -> float:
    """The tolerance for rows that contradict each other, as given by a user."""
    try:
        number = float(tolerance)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not 0.0 < number < np.inf:
        raise ArgumentError(f"tolerance={tolerance!r}: expected a positive finite number")
    return number


def read_gains(gains: Any) -> tuple[float, float] | None:
    """Stiffness and damping of what has drifted, as given by a user."""
    if gains is None:
        return None
    try:
        stiffness, damping = map(float, gains)
    except (TypeError, ValueError, OverflowError):
        stiffness = damping = np.nan
    if not (0.0 <= stiffness < np.inf and 0.0 <= damping < np.inf):
        raise ArgumentError(
            f"stabilize={gains!r}: expected (stiffness, damping) of φ̈ = -stiffness φ - damping φ̇, both >= 0"
        )
    return stiffness, damping
