"""The methods of a constrained robot, as recordings, and derivatives of its forward dynamics.

A problem with unknown forces along the rows is recorded three times: solved in one go (`name`), its factor Y and
right side b alone (`name_factor`, for samples whose rows depend on each other), and with given forces (`name_apply`).

The derivatives follow from the equations that forward dynamics solves. Unknown are a and λ in r = M a + C v + g - τ -
Aᵀ λ = 0 and s = A a + Ȧ v - (what is wanted) = 0. With the changes of r and s where a and λ stay what they are:

    δu = -M⁻¹ δr,    Ω δλ = -δs - A δu,    δa = δu + M⁻¹ Aᵀ δλ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...algorithms import rnea
from ...algorithms.branch_solver import Solver, velocity_parents
from ...algorithms.constrained.dynamics import JointState, Rowed, Wanted, by_group, missing
from ...algorithms.constrained.multipliers import IndependentRows
from ...algorithms.constrained.rows import dense_rows, evaluate_rows
from ...algorithms.tiles import Rows, plus_product, transpose
from ...functions.arguments import A, DeclaredArgument
from ...functions.context import Context, Model
from ...functions.methods.dynamics import mass_matrix
from ...functions.registry import Method, Outputs, Stages, flat
from ...spatial.linear import Mat, Vec
from ...spatial.solve import Factored, factor
from .constrained_model import FORCE, ConstrainedModel

METHODS: dict[str, Method] = {}
STAGES: dict[str, Stages] = {}  # in which methods are differentiated
Prescribed = tuple[tuple[bool, ...], ...]  # by cluster, for each of its independent velocities


class RowProblem(NamedTuple):
    """Rows, b in Ω λ = -b, and the results that follow from λ."""

    rowed: Rowed
    b: Vec  # (rows,)
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
    """An argument with a number per row, by group of rows; None if it was not given."""
    return by_group(c.given[name], constrained_model(c).groups) if name in c.given else None


def wanted_accelerations(c: Context) -> Wanted:
    """The desired accelerations of the rows."""
    return Wanted(by_rows(c, "row_acceleration"), constrained_model(c).gains_in_use)


def prescribe_nothing(c: Context) -> Prescribed:
    """Nothing is prescribed."""
    return tuple((False,) * cluster.embedding.nv for cluster in c.clusters)


_AT_ONCE = 4  # directions in one step
Entries = Mapping[str, Sequence[Any]]


def _balance(c: Context, chosen: IndependentRows) -> Outputs:
    """r, s and A at given accelerations and forces."""
    m, a = constrained_model(c), c.accelerations("a")
    s = c.equations(m.touched)
    needed = c.project(rnea.inverse_dynamics(s, c.velocities(), a, c.F_ext(), c.gravity))
    rows = evaluate_rows(s, m.groups, c.coordinates(), c.velocities(), a)
    b = c.recorder.call(missing, tuple(rows), wanted_accelerations(c))
    A = c.columns([row for group, own in zip(m.groups, rows, strict=True) for row in dense_rows(s, group, own)])
    forces = Vec(c.given["tau"]), Mat(map(Vec, A)), Vec(c.given["force"])
    r = c.recorder.call(_imbalance, Vec(flat(needed)), *forces)
    return [("r", (c.nv,), list(r)), ("s", (m.m,), list(b)), ("A", (m.m, c.nv), flat(A))]


def _imbalance(needed: Vec, tau: Vec, A: Mat, force: Vec) -> Vec:
    return needed - tau - A.transpose_times(force)


def _solution(c: Context, chosen: IndependentRows) -> list[Sequence[Any]]:
    """a and λ."""
    return [entries for _, _, entries in METHODS["forward_dynamics"].record(c, chosen=chosen)[:2]]


def _rates(
    c: Context, data: Entries, rates: Sequence[Entries], chosen: IndependentRows
) -> list[dict[str, Sequence[Any]]]:
    """Changes of a and λ from those of r and s."""
    recorder, n = c.recorder, c.nv
    A = [list(data["A"][at : at + n]) for at in range(0, len(data["A"]), n)]
    ((_, _, entries),) = mass_matrix(c)
    M = Solver(recorder, [list(entries[at : at + n]) for at in range(0, n * n, n)], velocity_parents(c.clusters))
    moved = M.negative_solution(transpose(_columns(rates, "r")))
    answers = M.negative_solution(transpose(A))  # -M⁻¹ Aᵀ
    Omega = recorder.call(_factor, Mat(map(Vec, plus_product(recorder, None, A, answers))))
    left = transpose(plus_product(recorder, transpose(_columns(rates, "s")), A, moved))
    solved: list[tuple[Vec, Vec]] = []
    for first in range(0, len(rates), _AT_ONCE):
        solved += recorder.call(_solve, Omega, tuple(map(Vec, left[first : first + _AT_ONCE])))
    accelerations = plus_product(recorder, moved, answers, transpose([list(y) for y, _ in solved]))
    pairs = zip(transpose(accelerations), solved, strict=True)
    return [{"a": column, "force": force} for column, (_, force) in pairs]


def _columns(rates: Sequence[Entries], name: str) -> Rows:
    return [list(rate[name]) for rate in rates]


def _factor(negative: Mat) -> Factored:
    return factor(Mat(-row for row in negative))


def _solve(Omega: Factored, columns: tuple[Vec, ...]) -> tuple[tuple[Vec, Vec], ...]:
    """y = Ω⁻¹ x for each column x, and the forces -y."""
    found = [Omega.solve(x) for x in columns]
    return tuple((y, -y) for y in found)


def _is_direct(model: Model, chosen: IndependentRows) -> bool:
    """Whether no rows have to stand for others."""
    assert isinstance(model, ConstrainedModel)
    return len(chosen.rows) == model.m


STAGES["forward_dynamics"] = Stages(_balance, _rates, _is_direct, (A, FORCE), _solution)
