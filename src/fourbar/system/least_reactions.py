"""Reactions that rigid-body dynamics leaves undetermined: the least forces.

The spanning tree alone would need forces τ of all joints and transmit wrenches F. Forces λ along the rows of loops
change both: K_dᵀ λ = τ_d, so that passive joints need none, and F + Tᵀ λ. In overconstrained loops λ is determined only
up to the null space Uᵀ K = 0. The solution minimises the sum of squares of what all joints transmit, loop joints too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints import Closure, Distance
from ..expr import Graph
from ..functions.arguments import F_EXT, A, Q, V
from ..linalg import apply, balance, count, factors, pseudo_inverse, transpose
from ..spatial.linear import Vec
from ..spatial.transform import IDENTITY, Transform

if TYPE_CHECKING:
    from .system import System


def least_reactions(robot: System, q: Any, v: Any, a: Any, f_ext: Any) -> np.ndarray:
    """See `Looped.least_reactions`."""
    if not robot.mechanism.loops:
        return robot.reactions(q, v, a, f_ext=f_ext)
    read = [x.read(robot.model, "least_reactions", own) for x, own in ((Q, q), (V, v), (A, a))]
    f_ext = None if f_ext is None else F_EXT.read(robot.model, "least_reactions", f_ext)
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in read), *(() if f_ext is None else (f_ext.shape[:-2],)))
    q, v, a = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in read)
    weightless = replace(robot.mechanism, loops=(), gravity=(0.0, 0.0, 0.0))
    still = robot.__dict__.setdefault("_still", robot._without_checks(weightless))
    tree = robot.__dict__.setdefault("_open", robot.spanning())
    every = robot.expand(q), robot.expand_velocity(q, v), robot.expand_acceleration(q, v, a)
    K, pull = robot.loop_jacobian(q), robot.loop_pull(q)
    zero = np.zeros(every[1].shape[-1])
    T = still.reactions(every[0][..., None, :], zero, zero, f_ext=pull)  # of each row: (..., m, n_bodies, 6)
    F = tree.reactions(*every, f_ext=f_ext)
    alone = _transmitted_forces(robot, F[..., None, :, :], np.zeros((*shape, 1, *F.shape[-2:])))[..., 0, :]
    tau = tree.inverse_dynamics(*every, f_ext=f_ext)
    force = _least(K, tau, _passive(robot), _transmitted_forces(robot, T, pull), alone)
    return F + np.einsum("...m,...mbi->...bi", force, T)


def _passive(robot: System) -> list[int]:
    """The velocities of the spanning tree that are dependent."""
    cluster_tree, dependent = robot.model.cluster_tree, []
    first, links = cluster_tree.spanning_tree.first_v, cluster_tree.spanning_tree.links
    for cluster in cluster_tree.clusters:
        places = [first[i] + j for i in cluster.links for j in range(links[i].joint.nv)]
        dependent += [places[j] for j in cluster.embedding.dependent]
    return dependent


def _transmitted_forces(robot: System, F: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """All that joints transmit (..., m, k), from the wrenches F (..., m, n_bodies, 6) on bodies by the joints that
    carry them and those by loops: at the joint, moments and forces.
    """
    m = robot.mechanism
    moving = [b for b, c in enumerate(m.joints) if c.joint.nv]
    parts = [F[..., moving, :].reshape(*F.shape[:-2], -1)]
    for rows, body, place in _ends(robot):
        own = np.isin(np.arange(pull.shape[-3]), rows)
        W = np.where(own[:, None], pull[..., body, :], 0.0)
        W[..., :3] -= np.cross(place, W[..., 3:])
        parts.append(W)
    return np.concatenate(parts, axis=-1)


def _ends(robot: System) -> Iterator[tuple[list[int], int, np.ndarray]]:
    """For each loop between bodies its rows, one of the bodies that it holds, and where on it."""
    number = {b.name: i for i, b in enumerate(robot.mechanism.bodies)}
    loops = {loop.name: loop.loop for loop in robot.mechanism.loops}
    at = 0
    for cluster in robot.model.cluster_tree.clusters:
        for name in cluster.loops:
            loop = loops[name]
            rows = list(range(at, at + len(list(loop.residual(_RowCounter(robot))))))
            at += len(rows)
            ends = [x for x in loop.bodies if x in number]
            if ends:
                yield rows, number[ends[-1]], _place(loop, ends[-1])


class _RowCounter:
    """A loop's view of an unknown robot: it shows how many rows the loop has."""

    def __init__(self, robot: System) -> None:
        self._graph, self._joints = Graph(), {c.name: c.joint for c in robot.model.cluster_tree.moving}

    def q(self, joint: str) -> Vec:
        """Symbols for coordinates."""
        return Vec(self._graph.inputs(joint, self._joints[joint].nq))

    def pose(self, body: str) -> Transform:
        """Any pose."""
        return IDENTITY


def _place(loop: Any, body: str) -> np.ndarray:
    """Where on a body a loop acts, in its frame."""
    if isinstance(loop, Closure):
        return np.array((loop.at_successor if body == loop.successor else loop.at_predecessor).p, float)
    if isinstance(loop, Distance):
        return np.array(loop.successor_point if body == loop.successor else loop.predecessor_point, float)
    return np.zeros(3)


def _least(K: np.ndarray, tau: np.ndarray, passive: list[int], T: np.ndarray, F: np.ndarray) -> np.ndarray:
    """λ (..., m) with K_dᵀ λ = τ_d and least |F + Tᵀ λ|; T (..., m, k), F (..., k).

    Ranks are those of K in balanced units, in which radians and metres are alike.
    """
    rows, columns = balance(np.abs(K).reshape(-1, *K.shape[-2:]).max(axis=0, initial=0.0))
    K, tau, T = K / rows[:, None] / columns, tau / columns, T / rows[:, None]  # and λ times `rows`
    some = apply(pseudo_inverse(transpose(K[..., passive])), tau[..., passive])
    U, s, _ = factors(K, whole=True)
    unseen = np.where(np.arange(U.shape[-1]) >= count(s)[..., None], 1.0, 0.0)[..., None, :] * U
    left = F + apply(transpose(T), some)
    z = -apply(pseudo_inverse(transpose(T) @ unseen), left)
    return (some + apply(unseen, z)) / rows
