"""The library's algorithms on plain numbers of any kind, without tracing: longdouble, or complex for exact rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fourbar import System
from fourbar.algorithms import aba, crba, energy, rnea
from fourbar.algorithms.sweep import Sweeps
from fourbar.expr import Direct
from fourbar.spatial.vectors import Wrench
from fourbar.tree.clusters import single_clusters
from fourbar.tree.spanning_tree import SpanningTree
from fourbar.tree.states import OwnState

from .oracle import STEP, Kinematics


def columns(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The entries of the last axis, each an array over the batch."""
    return tuple(x[..., i] for i in range(x.shape[-1]))


def batched(entries: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """A vector or matrix of numbers and arrays, as an array (*batch, ...)."""
    if isinstance(entries[0], Sequence):
        return np.stack([batched(row, shape) for row in entries], axis=-2)
    return np.stack([np.broadcast_to(np.asarray(x), shape) for x in entries], axis=-1)


def _flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    return [x for part in parts for x in part]


def _no_forces(tree: SpanningTree) -> list[Wrench]:
    return [Wrench.zero()] * len(tree.links)


def inverse_dynamics(
    tree: SpanningTree, gravity: Sequence[Any], q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """τ of a tree."""
    s = Sweeps(tree, Direct(), columns(q), columns(v))
    tau = rnea.inverse_dynamics(s, tree.split_v(columns(v)), tree.split_v(columns(a)), _no_forces(tree), gravity)
    return batched(_flat(tau), q.shape[:-1])


def forward_dynamics(
    tree: SpanningTree,
    gravity: Sequence[Any],
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    physical: SpanningTree | None = None,
) -> np.ndarray:
    """a of a tree; `physical` has the bodies' true inertias, which say where rates may be dependent."""
    s = Sweeps(tree, Direct(), columns(q), columns(v))
    groups = single_clusters(physical or tree)
    links_v, forces = tree.split_v(columns(v)), tree.split_v(columns(tau))
    states = [OwnState((x,), (y,)) for x, y in zip(tree.split_q(columns(q)), links_v, strict=True)]
    a = aba.forward_dynamics(s, groups, states, links_v, forces, _no_forces(tree), gravity)
    return batched(_flat(a), q.shape[:-1])


def mass_matrix(tree: SpanningTree, q: np.ndarray) -> np.ndarray:
    """M of a tree."""
    return batched(crba.mass_matrix(Sweeps(tree, Direct(), columns(q))), q.shape[:-1])


def energies(robot: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Kinetic and potential energy, side by side."""
    tree = robot.model.cluster_tree.spanning_tree
    s = Sweeps(tree, Direct(), columns(q), columns(v))
    kinetic = energy.kinetic_energy(s, tree.split_v(columns(v)))
    return batched([kinetic, energy.potential_energy(s, robot.gravity)], q.shape[:-1])


def center_of_mass(robot: System, q: np.ndarray) -> np.ndarray:
    """The centre of mass."""
    return batched(
        energy.center_of_mass(Sweeps(robot.model.cluster_tree.spanning_tree, Direct(), columns(q))), q.shape[:-1]
    )


def momentum(robot: System, q: np.ndarray, v: np.ndarray, about: str) -> np.ndarray:
    """Momentum about the world's origin or the centre of mass."""
    tree = robot.model.cluster_tree.spanning_tree
    s = Sweeps(tree, Direct(), columns(q), columns(v))
    return batched(energy.momentum(s, tree.split_v(columns(v)), about), q.shape[:-1])


def rate(
    robot: System, function: Callable[[np.ndarray, np.ndarray], np.ndarray], q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """d/dt of function(q ⊕ t v, v + t a) at t = 0, by a complex step: exact to rounding."""
    moved = Kinematics(robot).plus(q.astype(complex), 1j * STEP * v)
    return function(moved, v + 1j * STEP * a).imag / STEP


def gradient(robot: System, function: Callable[[np.ndarray], np.ndarray], q: np.ndarray) -> np.ndarray:
    """Derivative (..., nv) of a scalar function of q along each unit velocity."""
    moved = Kinematics(robot).plus(q.astype(complex)[..., None, :], 1j * STEP * np.eye(robot.nv))
    return function(moved).imag / STEP
