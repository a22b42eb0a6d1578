"""Forces of drives and constraints that together cause given accelerations (Kim eq. 56-66), the least if not unique.

The forces τ that all n velocities of a tree need without constraints are shared by drives and rows A (k x n) of
constraints: τ = S_aᵀ τ_a + Aᵀ λ. In the passive velocities only λ acts, A_pᵀ λ = τ_p, and what that leaves open is
chosen: least λᵀ W λ, or least τ_aᵀ W τ_a (and then least λ). All is done by orthogonal factors, so that no condition
number is squared; which rows and velocities stand for all is known beforehand.

Actuators anywhere in a mechanism take the least forces that give those on its independent velocities. Actuated joints
move with B v (B: their rows of G), so τ_independent = Bᵀ τ_actuators. With W = L Lᵀ the least τᵀ W τ is τ = L⁻ᵀ Q R⁻ᵀ
τ_independent for the factors Q R of L⁻¹ B; for as many actuators as velocities that is B⁻ᵀ.

Derivatives come from the factors that gave the forces. The conditions that determine the forces are differentiated
instead of the steps that solve them: the same factors solve for the changes. With ρ = τ_a - A_aᵀ λ the drives' forces,
B the columns of the held velocities, Z a basis of the forces along rows that do not act on these (Bᵀ Z = 0), and E = Lᵀ
A_aᵀ Z:

    Bᵀ δλ = δτ_h - δBᵀ λ =: b            and, for least torque (A_a W ρ = B μ),  with ρ' = δρ at δλ = B⁺ᵀ b
    EᵀE δw = Eᵀ Lᵀ ρ' + Zᵀ (δA_a W ρ - δB μ),   δλ = B⁺ᵀ b + Z δw;

for least force (W λ = B μ), with B̃ = L⁻¹ B = Q R:  Lᵀ δλ = Q R⁻ᵀ b + (1 - Q Qᵀ) L⁻¹ δB μ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...expr import maximum, select, sqrt
from ...spatial.linear import Mat, Scalar, Vec, dot, is_zero
from .multipliers import Health, IndependentRows, spread

_INFINITE = float("inf")


class Orthogonal(NamedTuple):
    """Q R of some columns: those of Q, and the rows of Rᵀ, which is lower triangular.

    `weakness` is the largest squared ratio of the size of a column to what the others leave of it.
    """

    Q: tuple[Vec, ...]  # (size,) each
    R: tuple[Vec, ...]  # row k has k + 1 entries
    weakness: Scalar

    def along(self, y: Sequence[Scalar], size: int) -> Vec:
        """Q y, a vector of a size."""
        total = Vec([0.0] * size)
        for q, x in zip(self.Q, y, strict=True):
            total = total + q * x
        return total

    def least(self, b: Sequence[Scalar], size: int) -> Vec:
        """The least x of a size with (Q R)ᵀ x = b."""
        return self.along(lower_solve(self.R, b), size)

    def nearest(self, b: Vec) -> Vec:
        """The x for which Q R x is nearest to b."""
        y, left = [], b
        for q in self.Q:
            y.append(dot(q, left))
            left = left - q * y[-1]
        return upper_solve(self.R, y)


def orthogonal(columns: Sequence[Vec], sizes: Sequence[float] | None = None, across: Sequence[Vec] = ()) -> Orthogonal:
    """Orthonormal columns, across others that are so already.

    `sizes` are the squares of the columns where all is well; without them their own count.
    """
    Q: list[Vec] = []
    R: list[Vec] = []
    weakness: Scalar = 1.0
    for k, column in enumerate(columns):
        size = dot(column, column) if sizes is None else sizes[k]
        for q in (*across, *across):  # twice: unit vectors are far from these
            column = column - q * dot(q, column)
        row: list[Scalar] = []
        for q in Q:
            row.append(dot(q, column))
            column = column - q * row[-1]
        left = dot(column, column)
        ratio = size / left
        weakness = maximum(weakness, select(ratio > 0.0, ratio, _INFINITE))  # NaN is not larger
        length = sqrt(left)
        Q.append(column * (1.0 / length))
        R.append(Vec((*row, length)))
    return Orthogonal(tuple(Q), tuple(R), weakness)


def lower_solve(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> Vec:
    """L⁻¹ b."""
    x: list[Scalar] = []
    for i, row in enumerate(L):
        x.append((b[i] - dot(row[:i], x)) * (1.0 / row[i]))
    return Vec(x)


def upper_solve(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> Vec:
    """L⁻ᵀ b."""
    solution = list(b)
    for i in reversed(range(len(solution))):
        for k in range(i + 1, len(solution)):
            solution[i] = solution[i] - L[k][i] * solution[k]
        solution[i] = solution[i] * (1.0 / L[i][i])
    return Vec(solution)


class LeastActuatorForces(NamedTuple):
    """Forces of the actuators, and the largest ratio of a column of B to its part outside the span of the others."""

    tau: Vec  # (actuators,)
    weakness: Scalar


def actuator_forces(B: Mat, L: Mat, sizes: Vec, tau: Vec) -> LeastActuatorForces:
    """The least forces with Bᵀ τ_actuators = τ, B (actuators, nv), L (actuators, actuators), τ (nv,).

    `sizes` are the squares of the columns where all is well.
    """
    found = orthogonal([lower_solve(L, column) for column in B.T], sizes)
    return LeastActuatorForces(upper_solve(L, found.least(tau, len(B))), found.weakness)


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

    tau: Vec  # (drives,), N m or N
    force: Vec  # (rows,)
    health: Vec  # (3,)


def solve_drives(tau: Vec, A: Mat, plan: Plan) -> DriveForces:
    """The forces of drives and rows A (rows, nv) for the forces τ (nv,) that all velocities need."""
    return (_least_torque if plan.least_torque else _least_force)(tau, A, plan)


class Split(NamedTuple):
    """Forces along rows, and the factors that gave them: of the held velocities' columns, of their null space,
    and of the drives' forces along it."""

    force: Vec  # (rows,)
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
    """λ (r,) of the chosen rows C (r, nv): determined by the held velocities, and in their null space the least for the
    drives.
    """
    held, r = plan.held_velocities, len(C)
    factors = orthogonal([column(C, p) for p in held], plan.held.sizes)
    force = factors.least([tau[p] for p in held], r)
    if not plan.spare.rows:
        return Split(force, factors)
    units = [Vec([1.0 if i == j else 0.0 for i in range(r)]) for j in plan.spare.rows]
    silent = orthogonal(units, plan.spare.sizes, factors.Q)
    E = orthogonal([weigh(plan, [dot(column(C, j), z) for j in plan.active]) for z in silent.Q])
    left = driven_forces(tau, C, force, plan)
    return Split(force + silent.along(E.nearest(weigh(plan, left)), r), factors, silent, E)


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


def weigh(plan: Plan, x: Sequence[Scalar]) -> Vec:
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
    """The least forces along all rows with the effect of these on the chosen rows; weakness; looseness of others."""
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


class Point(NamedTuple):
    """Forces of drives (ρ) and rows, their factors, W ρ, and μ."""

    tau: Vec  # (drives,)
    shared: Split
    weighted: Vec  # (drives,); empty where forces along rows are least
    mu: Vec  # (held velocities,)


class ForceChange(NamedTuple):
    """Changes of the forces that all velocities need, and of the rows."""

    tau: Vec  # (nv,)
    A: Mat  # (rows, nv)


def solve_point(tau: Vec, A: Mat, plan: Plan) -> Point:
    """The forces, and the quantities that their derivatives use; A (rows, nv), and `plan` is direct."""
    shared = (share_torque if plan.least_torque else share_force)(tau, A, plan)
    rho = driven_forces(tau, A, shared.force, plan)
    if not plan.least_torque:
        nu = weigh(plan, shared.force)
        return Point(rho, shared, Vec(()), upper_solve(shared.held.R, [dot(q, nu) for q in shared.held.Q]))
    weighted = _times_root(plan, weigh(plan, rho))
    pulled = Vec([dot([row[j] for j in plan.active], weighted) for row in A])
    mu = upper_solve(shared.held.R, [dot(q, pulled) for q in shared.held.Q]) if shared.silent else Vec(())
    return Point(rho, shared, weighted, mu)


def _times_root(plan: Plan, x: Sequence[Scalar]) -> Vec:
    """L x."""
    return Vec([dot(row[: i + 1], x[: i + 1]) for i, row in enumerate(plan.root)])


def vary_forces(at: Point, A: Mat, plan: Plan, changes: tuple[ForceChange, ...]) -> tuple[tuple[Vec, Vec], ...]:
    """The changes of the drives' forces and of those along the rows A (rows, nv)."""
    return tuple((_vary_torque if plan.least_torque else _vary_force)(at, A, plan, change) for change in changes)


def _still(A: Mat) -> bool:
    return all(is_zero(x) for row in A for x in row)


def _drives(A: Mat, plan: Plan, at: Point, change: ForceChange, moved: Vec) -> Vec:
    """δρ = δτ_a - δA_aᵀ λ - A_aᵀ δλ."""
    left = driven_forces(change.tau, change.A, at.shared.force, plan)
    return Vec([x - dot(column(A, j), moved) for x, j in zip(left, plan.active, strict=True)])


def _right_side(at: Point, plan: Plan, change: ForceChange) -> list[Scalar]:
    """b = δτ_h - δBᵀ λ."""
    return [change.tau[p] - dot(column(change.A, p), at.shared.force) for p in plan.held_velocities]


def _combine(rows: Mat, velocities: Sequence[int], x: Sequence[Scalar]) -> Vec:
    """Σ of columns of the velocities, of rows (m, nv), times x."""
    return Vec([dot([row[j] for j in velocities], x) for row in rows])


def _vary_torque(at: Point, A: Mat, plan: Plan, change: ForceChange) -> tuple[Vec, Vec]:
    held, silent, effective = at.shared.held, at.shared.silent, at.shared.effective
    moved = held.least(_right_side(at, plan, change), len(A))
    if silent is not None and effective is not None:
        w = effective.nearest(weigh(plan, _drives(A, plan, at, change, moved)))
        if not _still(change.A):
            g = _combine(change.A, plan.active, at.weighted) - _combine(change.A, plan.held_velocities, at.mu)
            w = w + upper_solve(effective.R, lower_solve(effective.R, [dot(z, g) for z in silent.Q]))
        moved = moved + silent.along(w, len(A))
    return _drives(A, plan, at, change, moved), moved


def _vary_force(at: Point, A: Mat, plan: Plan, change: ForceChange) -> tuple[Vec, Vec]:
    held = at.shared.held
    moved = held.least(_right_side(at, plan, change), len(A))
    if not _still(change.A):
        across = lower_solve(plan.root, _combine(change.A, plan.held_velocities, at.mu))
        for q in (*held.Q, *held.Q):  # twice: what is left may be small
            across = across - q * dot(q, across)
        moved = moved + across
    moved = upper_solve(plan.root, moved)
    return _drives(A, plan, at, change, moved), moved
