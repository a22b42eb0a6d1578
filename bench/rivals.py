"""Projection and Lagrange multipliers compiled by fourbar, beside the recursive algorithms: recorded, folded, sparse.

All programs are recorded on one robot with the same recorder, from the same kinematics, and zeros that are known then
cost nothing. Projection is `fourbar.functions.projection`, without its limit on size. Multipliers are those of
`fourbar.baselines.sparse_lagrange_forward_dynamics`: H of the spanning tree is factored from the tips inward, and
(K H⁻¹ Kᵀ) λ = k - K H⁻¹ (τ - c) has as many rows as there are dependent velocities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fourbar as fb
from fourbar.algorithms import crba, mass_matrix_solver, rnea
from fourbar.expr import Program
from fourbar.functions.context import Context
from fourbar.functions.function import Variant
from fourbar.spatial.linear import Mat, Vec, dot
from fourbar.spatial.solve import factor
from fourbar.system.program_text import count


class Compiled:
    """The program of one algorithm of a robot, and its machine code."""

    def __init__(self, recording: Any, algorithm: Any, given: tuple[str, ...]) -> None:
        self.program: Program = recording.record_algorithm(algorithm, recording.select_arguments(given))
        self.operations = sum(count(self.program).values())
        self._variant = Variant(self.program, {})

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        """The result of a batch, on one thread."""
        (result,) = self._variant.run(list(arrays), arrays[0].shape[:1], None, 1)
        return result


def forward_dynamics(robot: fb.System, all_of_them: bool = True) -> dict[str, Compiled]:
    """C-ABA and its rivals by name; without those that factor matrices, if not all are wanted."""
    recording = robot.forward_dynamics.state[0].recording
    projected, merged = recording.method.rivals
    algorithms = {"cluster": recording.method.record}
    if merged.may_win(robot.model):
        algorithms["merged clusters"] = merged.record
    if all_of_them:
        algorithms |= {"folded projection": projected.record, "folded Lagrange": multipliers}
    return {name: Compiled(recording, x, ("q", "v", "tau")) for name, x in algorithms.items()}


def osim_inverse(robot: fb.System, frames: list[str], all_of_them: bool = True) -> dict[str, Compiled]:
    """C-EFPA and its rivals by name; `all_of_them=False` leaves out the rival that factors the mass matrix."""
    recording = robot.osim_inverse.specialise(frames=frames).state[0].recording
    efpa, projected, merged = recording.method.rivals
    algorithms = {"cluster": efpa.record, "PV-OSIMr": recording.method.record}
    if merged.may_win(robot.model):
        algorithms["merged clusters"] = merged.record
    if all_of_them:
        algorithms["folded projection"] = projected.record
    return {name: Compiled(recording, x, ("q",)) for name, x in algorithms.items()}


def kept(programs: dict[str, Compiled], function: Any) -> str:
    """The name of the program that a function of the robot runs."""
    operations = function.program().operations
    return next(name for name, x in programs.items() if x.program.operations == operations)


def multipliers(c: Context) -> list[tuple[str, tuple[int, ...], list[Any]]]:
    """Forward dynamics by multipliers, recorded."""
    s, call = c.equations(), c.recorder.call
    H = Mat(map(Vec, crba.mass_matrix(s)))
    bias = rnea.inverse_dynamics(s, c.velocities(), c.still(), c.F_ext(), c.gravity)
    places, scales = _independent(c)
    force: list[Any] = [0.0] * c.tree.nv
    for j, tau in zip(places, call(_scaled, Vec([x for own in c.by_cluster("tau") for x in own]), scales), strict=True):
        force[j] = tau
    K, k = _rows(c)
    a = call(_accelerations, H, Vec(force), Vec([x for own in bias for x in own]), K, k)
    return [("a", (c.nv,), list(call(_scaled, Vec([a[j] for j in places]), scales)))]


def _independent(c: Context) -> tuple[list[int], Vec]:
    """Places of the independent velocities in the spanning tree, and the inverse scales between the two."""
    places, scales = [], []
    for cluster in c.clusters:
        own = _places(c, cluster)
        chosen = [(j, 1.0) for j in range(len(own))] if cluster.is_free else cluster.embedding.independent
        places += [own[j] for j, _ in chosen]
        scales += [1.0 / scale for _, scale in chosen]
    return places, Vec(scales)


def _places(c: Context, cluster: Any) -> list[int]:
    return [c.tree.first_v[i] + j for i in cluster.links for j in range(c.tree.links[i].joint.nv)]


def _rows(c: Context) -> tuple[Mat, Vec]:
    """K and k of the rows that determine the dependent velocities."""
    q, v = c.coordinates(), c.velocities()
    K: list[Vec] = []
    k: list[Any] = []
    for cluster in c.clusters:
        if cluster.is_free:
            continue
        state = (tuple(x[i] for i in cluster.links) for x in (q, v))
        rows, rates = c.recorder.call(_loop, cluster.embedding, *state)
        places = _places(c, cluster)
        for own in rows:
            entries: list[Any] = [0.0] * c.tree.nv
            for place, x in zip(places, own, strict=True):
                entries[place] = x
            K.append(Vec(entries))
        k += rates
    return Mat(K), Vec(k)


def _loop(tie: Any, q: tuple[Vec, ...], v: tuple[Vec, ...]) -> tuple[Mat, Vec]:
    positions, velocities = ([x for own in part for x in own] for part in (q, v))
    rates = tie.loop_rates(positions, velocities)
    return Mat(map(Vec, tie.loop_rows(positions))), Vec([rates[i] for i in tie.rows])


def _scaled(x: Vec, scales: Vec) -> Vec:
    return Vec([a * b for a, b in zip(x, scales, strict=True)])


def _accelerations(H: Mat, force: Vec, bias: Vec, K: Mat, k: Vec) -> Vec:
    """q̈ of the spanning tree."""
    factored = factor(Mat(Vec(row[::-1]) for row in H[::-1]))
    push = factored.reduce((force - bias)[::-1])
    half = [factored.reduce(row[::-1]) for row in K]
    scaled = [Vec([x * d for x, d in zip(row, factored.inverse_pivots, strict=True)]) for row in half]
    A = Mat(Vec([dot(row, other) for other in scaled[: i + 1]]) for i, row in enumerate(half))
    gap = Vec([x - dot(row, push) for x, row in zip(k, scaled, strict=True)])
    full = Mat(Vec([A[max(i, j)][min(i, j)] for j in range(len(A))]) for i in range(len(A)))
    forces = mass_matrix_solver.accelerations(full, gap, Vec((0.0,) * len(gap)))
    moved = [x + sum((row[j] * y for row, y in zip(half, forces, strict=True)), 0.0) for j, x in enumerate(push)]
    return Vec(factored.expand(moved)[::-1])
