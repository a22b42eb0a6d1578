"""The projection method as a rival of the recursive algorithms: Gᵀ H G of the spanning tree, recorded for one robot.

Of a robot with few velocities its program may have fewer operations than that of ABA, C-ABA, PV-OSIMr or C-EFPA; which
one is kept, `Recording.write` decides. The limits here say where it is worth recording at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..algorithms import crba, mass_matrix_solver, rnea
from ..algorithms.sweep import Sweeps
from ..spatial.linear import Mat, Vec
from ..tree.cluster_tree import is_solid
from .context import Context
from .model import Model
from .nan_reasons import has_locking_joints

_MOST_VELOCITIES = 12  # with more, a program of a few operations less takes longer: the entries of M wait in memory
_MOST_OF_TREE = 48  # velocities of the spanning tree
_MOST_LINKS = 5  # of robots without loops: ABA of more has fewer operations


def may_win_for_matrices(model: Model) -> bool:
    """Whether M⁻¹ or Ω may take fewer operations by projection, and be NaN for the same states.

    The recursive algorithms notice joints that move no inertia, and gimbal lock, joint by joint.
    """
    tree = model.cluster_tree
    small = tree.nv <= _MOST_VELOCITIES and tree.spanning_tree.nv <= _MOST_OF_TREE
    return small and not has_locking_joints(tree) and is_solid(tree)


def may_win_for_vectors(model: Model) -> bool:
    """The same of accelerations, M⁻¹ times one vector."""
    tree = model.cluster_tree
    looped = any(not cluster.is_free for cluster in tree.clusters)
    return (looped or len(tree.spanning_tree.links) <= _MOST_LINKS) and may_win_for_matrices(model)


def mass_matrix(c: Context, s: Sweeps) -> list[list[Any]]:
    """M = Gᵀ H G of the independent velocities as rows of scalars, with H of a tree."""
    H = crba.mass_matrix(s)
    if not c.is_looped:
        return c.columns(H)
    half = c.columns(H)
    return c.columns([list(row) for row in zip(*half, strict=True)])


def accelerations(c: Context, tau: Sequence[Vec]) -> list[Vec]:
    """M⁻¹ (τ - bias force) at the given state, in one part; τ by cluster."""
    s = c.equations()
    M = _matrix(mass_matrix(c, s))
    bias = c.project(rnea.inverse_dynamics(s, c.velocities(), c.accelerations(""), c.F_ext(), c.gravity))
    return [c.recorder.call(mass_matrix_solver.accelerations, M, _vector(tau), _vector(bias))]


def solution(c: Context, b: Sequence[Vec]) -> list[Vec]:
    """M⁻¹ b, in one part; b by cluster."""
    M = _matrix(mass_matrix(c, c.equations()))
    return [c.recorder.call(mass_matrix_solver.accelerations, M, _vector(b), Vec((0.0,) * c.nv))]


def inverse_mass_matrix(c: Context) -> Mat:
    """M⁻¹."""
    return c.recorder.call(mass_matrix_solver.inverse, _matrix(mass_matrix(c, c.equations())))


def osim_inverse(c: Context, s: Sweeps, J: Sequence[Sequence[Any]]) -> Mat:
    """Ω = J G M⁻¹ (J G)ᵀ, with the rows of J on the velocities of all links."""
    M = _matrix(mass_matrix(c, s))
    return c.recorder.call(mass_matrix_solver.osim_inverse, M, _matrix(c.columns([list(row) for row in J])))


def _matrix(rows: Sequence[Sequence[Any]]) -> Mat:
    return Mat(map(Vec, rows))


def _vector(parts: Sequence[Vec]) -> Vec:
    return Vec([x for part in parts for x in part])
