"""Derivatives of the forces of drives and constraints, from the factors that gave these forces.

The conditions that determine the forces are differentiated instead of the steps that solve them: the same factors solve
for the changes. With ρ = τ_a - A_aᵀ λ the drives' forces, B the columns of the held velocities, Z a basis of the
forces along rows that do not act on these (Bᵀ Z = 0), and E = Lᵀ A_aᵀ Z:

    Bᵀ δλ = δτ_h - δBᵀ λ =: b            and, for least torque (A_a W ρ = B μ),  with ρ' = δρ at δλ = B⁺ᵀ b
    EᵀE δw = Eᵀ Lᵀ ρ' + Zᵀ (δA_a W ρ - δB μ),   δλ = B⁺ᵀ b + Z δw;

for least force (W λ = B μ), with B̃ = L⁻¹ B = Q R:  Lᵀ δλ = Q R⁻ᵀ b + (1 - Q Qᵀ) L⁻¹ δB μ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...spatial.linear import Mat, Scalar, Vec, dot, is_zero
from .drives import Plan, Split, column, driven_forces, share_force, share_torque, weighed
from .orthogonal import lower_solve, upper_solve


class Point(NamedTuple):
    """Forces of drives (ρ) and rows, their factors, W ρ, and μ."""

    tau: Vec
    shared: Split
    weighted: Vec
    mu: Vec


class ForceChange(NamedTuple):
    """Changes of the forces that all velocities need, and of the rows."""

    tau: Vec
    A: Mat


def solve_point(tau: Vec, A: Mat, plan: Plan) -> Point:
    """The forces, and what their changes need; `plan` is direct."""
    shared = (share_torque if plan.least_torque else share_force)(tau, A, plan)
    rho = driven_forces(tau, A, shared.force, plan)
    if not plan.least_torque:
        nu = weighed(plan, shared.force)
        return Point(rho, shared, Vec(()), upper_solve(shared.held.R, [dot(q, nu) for q in shared.held.Q]))
    weighted = _times_root(plan, weighed(plan, rho))
    pulled = Vec([dot([row[j] for j in plan.active], weighted) for row in A])
    mu = upper_solve(shared.held.R, [dot(q, pulled) for q in shared.held.Q]) if shared.silent else Vec(())
    return Point(rho, shared, weighted, mu)


def _times_root(plan: Plan, x: Sequence[Scalar]) -> Vec:
    """L x."""
    return Vec([dot(row[: i + 1], x[: i + 1]) for i, row in enumerate(plan.root)])


def vary_forces(at: Point, A: Mat, plan: Plan, changes: tuple[ForceChange, ...]) -> tuple[tuple[Vec, Vec], ...]:
    """The changes of the drives' forces and of those along the rows."""
    return tuple((_vary_torque if plan.least_torque else _vary_force)(at, A, plan, change) for change in changes)


def _still(A: Mat) -> bool:
    return all(is_zero(x) for row in A for x in row)


def _drives(A: Mat, plan: Plan, at: Point, change: ForceChange, moved: Vec) -> Vec:
    """δρ = δτ_a - δA_aᵀ λ - A_aᵀ δλ."""
    left = driven_forces(change.tau, change.A, at.shared.force, plan)
    return Vec([x - dot(column(A, j), moved) for x, j in zip(left, plan.active, strict=True)])


def _needed(at: Point, plan: Plan, change: ForceChange) -> list[Scalar]:
    """b = δτ_h - δBᵀ λ."""
    return [change.tau[p] - dot(column(change.A, p), at.shared.force) for p in plan.held_velocities]


def _mixed(rows: Mat, velocities: Sequence[int], x: Sequence[Scalar]) -> Vec:
    """Σ of columns of the velocities times x."""
    return Vec([dot([row[j] for j in velocities], x) for row in rows])


def _vary_torque(at: Point, A: Mat, plan: Plan, change: ForceChange) -> tuple[Vec, Vec]:
    held, silent, effective = at.shared.held, at.shared.silent, at.shared.effective
    moved = held.least(_needed(at, plan, change), len(A))
    if silent is not None and effective is not None:
        w = effective.nearest(weighed(plan, _drives(A, plan, at, change, moved)))
        if not _still(change.A):
            g = _mixed(change.A, plan.active, at.weighted) - _mixed(change.A, plan.held_velocities, at.mu)
            w = w + upper_solve(effective.R, lower_solve(effective.R, [dot(z, g) for z in silent.Q]))
        moved = moved + silent.along(w, len(A))
    return _drives(A, plan, at, change, moved), moved


def _vary_force(at: Point, A: Mat, plan: Plan, change: ForceChange) -> tuple[Vec, Vec]:
    held = at.shared.held
    moved = held.least(_needed(at, plan, change), len(A))
    if not _still(change.A):
        across = lower_solve(plan.root, _mixed(change.A, plan.held_velocities, at.mu))
        for q in (*held.Q, *held.Q):  # twice: what is left may be small
            across = across - q * dot(q, across)
        moved = moved + across
    moved = upper_solve(plan.root, moved)
    return _drives(A, plan, at, change, moved), moved
