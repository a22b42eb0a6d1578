"""Forces of drives and constraints that together cause given accelerations (Kim eq. 56-66), the least if not unique.

The forces τ that all n velocities of a tree need without constraints are shared by drives and rows A (k x n) of
constraints: τ = S_aᵀ τ_a + Aᵀ λ. In the passive velocities only λ acts, A_pᵀ λ = τ_p, and what that leaves open is
chosen: least λᵀ W λ, or least τ_aᵀ W τ_a (and then least λ). All is done by orthogonal factors, so that no condition
number is squared; which rows and velocities stand for all is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...expr import maximum
from ...spatial.linear import Mat, Scalar, Vec, dot
from .multipliers import Health, IndependentRows, spread
from .orthogonal import Orthogonal, lower_solve, orthogonal, upper_solve


class Plan(NamedTuple):
    """The structure of a problem, without its numbers: velocities and rows by number, sizes of their columns.

    `held`: passive velocities, by place in `passive`, whose forces determine those of all others. `rows`: rows that
    stand for all; `spare`: those of them, by place in `rows`, whose unit forces span the null space of
    the passive velocities.
    `root` is L in W = L Lᵀ, `every` the number of all rows; `quiet` is a force that is small for this robot.
    """

    active: tuple[int, ...]
    passive: tuple[int, ...]
    held: IndependentRows
    rows: IndependentRows
    spare: IndependentRows
    root: tuple[tuple[float, ...], ...]
    least_torque: bool
    quiet: float
    every: int

    @property
    def is_direct(self) -> bool:
        """Whether no rows have to stand for others."""
        return not self.least_torque or len(self.rows.rows) == self.every

    @property
    def held_velocities(self) -> list[int]:
        """The passive velocities whose forces determine those of all others."""
        return [self.passive[i] for i in self.held.rows]


class DriveForces(NamedTuple):
    """Forces of the drives and along all rows, and how far they may be trusted (`Health`)."""

    tau: Vec
    force: Vec
    health: Vec


def driven(tau: Vec, A: Mat, plan: Plan) -> DriveForces:
    """The forces of drives and rows for the forces τ that all velocities need."""
    return (_least_torque if plan.least_torque else _least_force)(tau, A, plan)


class Split(NamedTuple):
    """Forces along rows, and the factors that gave them: of the held velocities' columns, of their null space,
    and of the drives' forces along it."""

    force: Vec
    held: Orthogonal
    silent: Orthogonal | None = None
    effective: Orthogonal | None = None


def column(A: Sequence[Vec], j: int) -> Vec:
    """The column of a velocity."""
    return Vec([row[j] for row in A])


def share_force(tau: Vec, A: Sequence[Vec], plan: Plan) -> Split:
    """λ = L⁻ᵀ μ with the least |μ|."""
    held = plan.held_velocities
    factors = orthogonal([lower_solve(plan.root, column(A, p)) for p in held], plan.held.sizes)
    return Split(upper_solve(plan.root, factors.least([tau[p] for p in held], len(A))), factors)


def share_torque(tau: Vec, C: Sequence[Vec], plan: Plan) -> Split:
    """λ of the chosen rows C: determined by the held velocities, and in their null space the least for the drives."""
    held, r = plan.held_velocities, len(C)
    factors = orthogonal([column(C, p) for p in held], plan.held.sizes)
    force = factors.least([tau[p] for p in held], r)
    if not plan.spare.rows:
        return Split(force, factors)
    units = [Vec([1.0 if i == j else 0.0 for i in range(r)]) for j in plan.spare.rows]
    silent = orthogonal(units, plan.spare.sizes, factors.Q)
    E = orthogonal([weighed(plan, [dot(column(C, j), z) for j in plan.active]) for z in silent.Q])
    left = driven_forces(tau, C, force, plan)
    return Split(force + silent.along(E.nearest(weighed(plan, left)), r), factors, silent, E)


def _least_force(tau: Vec, A: Mat, plan: Plan) -> DriveForces:
    force, factors, _, _ = share_force(tau, A, plan)
    health = Health(factors.weakness, 0.0, _gap(tau, A, force, plan))
    return DriveForces(driven_forces(tau, A, force, plan), force, Vec(health))


def _least_torque(tau: Vec, A: Mat, plan: Plan) -> DriveForces:
    C = [A[i] for i in plan.rows.rows]
    force, factors, silent, E = share_torque(tau, C, plan)
    weakness = factors.weakness
    if silent is not None and E is not None:
        weakness = maximum(weakness, maximum(silent.weakness, E.weakness))
    gap, found = _gap(tau, C, force, plan), driven_forces(tau, C, force, plan)
    every, own, loose = _all_rows(force, A, plan)
    return DriveForces(found, every, Vec(Health(maximum(weakness, own), loose, gap)))


def weighed(plan: Plan, x: Sequence[Scalar]) -> Vec:
    """Lᵀ x."""
    return Vec([dot([row[j] for row in plan.root[j:]], x[j:]) for j in range(len(x))])


def driven_forces(tau: Vec, A: Sequence[Vec], force: Vec, plan: Plan) -> Vec:
    """τ_a - A_aᵀ λ."""
    return Vec([tau[j] - dot(column(A, j), force) for j in plan.active])


def _gap(tau: Vec, A: Sequence[Vec], force: Vec, plan: Plan) -> Scalar:
    """By how much other passive velocities than the held ones are not in balance, beside `quiet` + the largest |τ|."""
    others = [p for i, p in enumerate(plan.passive) if i not in plan.held.rows]
    if not others:
        return 0.0
    left = [tau[p] - dot(column(A, p), force) for p in others]
    return _largest(left) / (plan.quiet + _largest(tau))


def _all_rows(force: Vec, A: Mat, plan: Plan) -> tuple[Vec, Scalar, Scalar]:
    """The least forces along all rows that do what these on the chosen rows do; weakness; how loose the others are."""
    chosen = plan.rows.rows
    others = [i for i in range(len(A)) if i not in chosen]
    factors = orthogonal([A[i] for i in chosen], plan.rows.sizes)
    if not others:
        return force, factors.weakness, 0.0
    T = [factors.nearest(A[i]) for i in others]
    left = [A[i] - _times(t, [A[j] for j in chosen]) for i, t in zip(others, T, strict=True)]
    loose: Scalar = 0.0
    for i, row in zip(others, left, strict=True):
        loose = maximum(loose, _largest(row) / maximum(_largest(A[i]), plan.rows.usual[i] ** 0.5))
    return spread(force, T, chosen, others), factors.weakness, loose


def _times(t: Vec, rows: Sequence[Vec]) -> Vec:
    total = rows[0] * t[0]
    for x, row in zip(t[1:], rows[1:], strict=True):
        total = total + row * x
    return total


def _largest(values: Sequence[Scalar]) -> Scalar:
    found: Scalar = 0.0
    for x in values:
        found = maximum(found, maximum(x, -x))
    return found
