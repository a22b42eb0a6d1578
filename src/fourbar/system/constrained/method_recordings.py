"""The methods of a constrained robot, as recordings.

A problem with unknown forces along the rows is recorded three times: solved in one go (`name`), its factor Y and
right side b alone (`name_factor`, for samples whose rows depend on each other), and with given forces (`name_apply`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...algorithms.constrained.dynamics import JointState, Rowed, Wanted, by_bundle
from ...algorithms.constrained.multipliers import IndependentRows
from ...functions.arguments import DeclaredArgument
from ...functions.context import Context
from ...functions.registry import Method, Outputs, Stages, flat
from ...spatial.linear import Vec
from .constrained_model import FORCE, ConstrainedModel

METHODS: dict[str, Method] = {}
STAGES: dict[str, Stages] = {}  # in which methods are differentiated
Prescribed = tuple[tuple[bool, ...], ...]  # by cluster, for each of its independent velocities


class RowProblem(NamedTuple):
    """Rows, b in Ω λ = -b, and what follows from λ."""

    rowed: Rowed
    b: Vec
    finish: Callable[[Vec], Outputs]


def constrained_model(c: Context) -> ConstrainedModel:
    """The model of a recording of a constrained robot."""
    assert isinstance(c.model, ConstrainedModel)
    return c.model


def _record_solution(problem: Callable[..., RowProblem]) -> Callable[..., Outputs]:
    def record(c: Context, chosen: IndependentRows, **static: Any) -> Outputs:
        p = problem(c, **static)
        force, health = p.rowed.multipliers(p.b, chosen)
        return [*p.finish(force), ("force", (len(force),), list(force)), ("health", (len(health),), list(health))]

    return record


def _record_factor(problem: Callable[..., RowProblem]) -> Callable[..., Outputs]:
    def record(c: Context, **static: Any) -> Outputs:
        p = problem(c, **static)
        return [("Y", (c.nv, len(p.b)), flat(p.rowed.whitened_rows())), ("b", (len(p.b),), list(p.b))]

    return record


def _record_application(problem: Callable[..., RowProblem]) -> Callable[..., Outputs]:
    def record(c: Context, **static: Any) -> Outputs:
        return problem(c, **static).finish(Vec(c.given["force"]))

    return record


def solvable(*given: DeclaredArgument, results: str, optional: Sequence[DeclaredArgument] = ()) -> Any:
    """Register a problem as its three recordings."""

    def register(problem: Callable[..., RowProblem]) -> Callable[..., RowProblem]:
        name, names, extra = problem.__name__, tuple(results.split()), tuple(optional)
        doc = problem.__doc__ or ""
        for part, record, takes, gives, text in (
            ("", _record_solution, given, (*names, FORCE.name, "health"), doc),
            ("_factor", _record_factor, given, ("Y", "b"), ""),
            ("_apply", _record_application, (*given, FORCE), names, ""),
        ):
            METHODS[name + part] = Method(record(problem), takes, gives, extra, text=text, inverts_mass=True)
        return problem

    return register


def without_health(name: str) -> Method:
    """A method without its last result."""
    whole = METHODS[name]

    def record(c: Context, **static: Any) -> Any:
        return whole.record(c, **static)[:-1]

    return whole._replace(record=record, results=whole.results[:-1], stages=STAGES.get(name))


def given_state(c: Context) -> JointState:
    """Coordinates and velocities of the recording."""
    return JointState(c.coordinates(), c.velocities())


def by_rows(c: Context, name: str) -> tuple[Vec, ...] | None:
    """An argument with a number per row, by bundle of rows; None if it was not given."""
    return by_bundle(c.given[name], constrained_model(c).bundles) if name in c.given else None


def wanted_accelerations(c: Context) -> Wanted:
    """The desired accelerations of the rows."""
    return Wanted(by_rows(c, "row_acceleration"), constrained_model(c).gains_in_use)


def prescribe_nothing(c: Context) -> Prescribed:
    """Nothing is prescribed."""
    return tuple((False,) * cluster.embedding.nv for cluster in c.clusters)
