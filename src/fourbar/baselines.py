"""The usual ways to the dynamics of mechanisms with loops (Chignoli §II), to compare the cluster algorithms with.

All of them run on the spanning tree (`robot.spanning()`), and differ in how they bring the loops in: by the map G from
independent to all velocities, by Lagrange multipliers, or not at all but for a constant inertia. Plain NumPy, batched over
leading axes; robots without loops are allowed. With H and c the mass matrix and bias force of the spanning tree,
q̇ = G ẏ and q̈ = G ÿ + g for the independent velocities ẏ, and K q̈ = k for the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .errors import ModelError
from .expr import evaluate
from .joints import Fixed
from .model.embedding import Tied
from .model.mechanism import Connection, Placement
from .spatial.transform import Transform
from .system.robot import System

_RANK = 1e-9  # singular values of K below this, relative to the largest, belong to rows that other rows imply


@lru_cache(maxsize=64)
def spanning_tree(robot: System) -> System:
    """`robot.spanning()`, kept, so that its methods are compiled once."""
    return robot.spanning()


class Independent(NamedTuple):
    """Where the independent velocities are among those of the spanning tree: joint velocity = scale · independent one."""

    places: np.ndarray
    scales: np.ndarray


def independent(robot: System) -> Independent:
    """Which velocities of the spanning tree are the independent ones, in the order of `robot.names.velocities`."""
    lowered = robot.model.lowered
    places: list[int] = []
    scales: list[float] = []
    for group in lowered.groups:
        own = _velocities(robot, group.links)
        tie = group.embedding
        chosen = tie.independent if isinstance(tie, Tied) else [(j, 1.0) for j in range(len(own))]
        places.extend(own[j] for j, _ in chosen)
        scales.extend(scale for _, scale in chosen)
    return Independent(np.array(places, int), np.array(scales, float))


def _velocities(robot: System, links: Sequence[int]) -> list[int]:
    """Numbers of the velocities of some links in the spanning tree."""
    tree = robot.model.lowered.tree
    return [tree.first_v[i] + k for i in links for k in range(tree.clusters[i].joint.nv)]


def _coordinates(robot: System, links: Sequence[int]) -> list[int]:
    """Numbers of the coordinates of some links in the spanning tree."""
    sizes = [cluster.joint.nq for cluster in robot.model.lowered.tree.clusters]
    return [sum(sizes[:i]) + k for i in links for k in range(sizes[i])]


def spanning_forces(robot: System, tau: Any) -> np.ndarray:
    """Forces (..., n) on all joints of the spanning tree that do what τ (..., nv) does: Gᵀ of them is τ.

    Only independent joints are driven.
    """
    found = independent(robot)
    tau = np.asarray(tau, float)
    forces = np.zeros((*tau.shape[:-1], robot.model.lowered.tree.nv))
    forces[..., found.places] = tau / found.scales
    return forces


def loop_constraints(robot: System, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """K (..., m, n) and k (..., m) with K q̈ = k for the velocities of the spanning tree (Chignoli eq. 2).

    Every row of every loop is here, also those that others imply.
    """
    q_all, v_all = robot.expand(q), robot.expand_velocity(q, v)
    q_all, v_all = np.broadcast_arrays(*(np.moveaxis(x, -1, 0)[..., None] for x in (q_all, v_all))) if False else (q_all, v_all)
    batch = np.broadcast_shapes(q_all.shape[:-1], v_all.shape[:-1])
    q_all, v_all = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q_all, v_all))
    blocks, rates = [], []
    for group in robot.model.lowered.groups:
        if isinstance(group.embedding, Tied):
            K, k = _rows(group.embedding, q_all[..., _coordinates(robot, group.links)], v_all[..., _velocities(robot, group.links)])
            wide = np.zeros((*K.shape[:-1], v_all.shape[-1]))
            wide[..., _velocities(robot, group.links)] = K
            blocks.append(wide)
            rates.append(k)
    if not blocks:
        return np.zeros((*batch, 0, v_all.shape[-1])), np.zeros((*batch, 0))
    return np.concatenate(blocks, axis=-2), np.concatenate(rates, axis=-1)
