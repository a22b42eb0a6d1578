"""The usual ways to the dynamics of mechanisms with loops (Chignoli §II), to compare the cluster algorithms with.

All of them run on the spanning tree (`robot.spanning()`), and differ in how they treat the loops: by the map G from
independent to all velocities, by Lagrange multipliers, or only as a constant inertia. Plain NumPy, batched over leading
axes; robots without loops are allowed. With H and c the mass matrix and bias force of the spanning tree, q̇ = G ẏ and
q̈ = G ÿ + g for the independent velocities ẏ, and K q̈ = k for the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..joints import Fixed
from ..mechanism.mechanism import PlacedJoint, Placement
from ..spatial.transform import Transform
from ..system.system import System
from ..tolerances import RANK
from ..tree.embedding import LoopEmbedding

__all__ = [
    "Independent", "independent", "lagrange_accelerations", "lagrange_forward_dynamics", "loop_constraints",
    "projected_inverse_dynamics", "projected_osim", "projection_forward_dynamics", "reflected_inertia",
    "reflected_robot", "spanning_forces", "spanning_tree", "sparse_lagrange_forward_dynamics",
]  # fmt: skip


@lru_cache(maxsize=64)
def spanning_tree(robot: System) -> System:
    """`robot.spanning()`, cached, so that its methods are compiled once."""
    return robot.spanning()


class Independent(NamedTuple):
    """Which velocities of the spanning tree are independent: `places`; velocity there = scale · independent one."""

    places: np.ndarray
    scales: np.ndarray


def independent(robot: System) -> Independent:
    """Where the independent velocities are in the spanning tree, in the order of `robot.names.velocities`."""
    places: list[int] = []
    scales: list[float] = []
    for cluster in robot.model.cluster_tree.clusters:
        own, tie = _velocities(robot, cluster.links), cluster.embedding
        chosen = tie.independent if isinstance(tie, LoopEmbedding) else [(j, 1.0) for j in range(len(own))]
        places.extend(own[j] for j, _ in chosen)
        scales.extend(scale for _, scale in chosen)
    return Independent(np.array(places, int), np.array(scales, float))


def _velocities(robot: System, links: Sequence[int]) -> list[int]:
    """Places of the velocities of some links in the spanning tree."""
    tree = robot.model.cluster_tree.spanning_tree
    return [tree.first_v[i] + k for i in links for k in range(tree.links[i].joint.nv)]


def _coordinates(robot: System, links: Sequence[int]) -> list[int]:
    """Places of the coordinates of some links in the spanning tree."""
    sizes = [link.joint.nq for link in robot.model.cluster_tree.spanning_tree.links]
    return [sum(sizes[:i]) + k for i in links for k in range(sizes[i])]


def _times(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """M x, sample by sample."""
    return (M @ x[..., None])[..., 0]


def _transposed(M: np.ndarray) -> np.ndarray:
    return np.swapaxes(M, -1, -2)


def _alike(*arrays: Any) -> list[np.ndarray]:
    """Vectors with the same leading axes."""
    read = [np.asarray(x, float) for x in arrays]
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in read))
    return [np.broadcast_to(x, (*batch, x.shape[-1])) for x in read]


def projected_inverse_dynamics(robot: System, q: Any, v: Any, a: Any, f_ext: Any = None) -> np.ndarray:
    """τ (..., nv) = Gᵀ RNEA(spanning tree, q, G v, G a + g): Projected RNEA (Chignoli §II-C)."""
    every = spanning_tree(robot).inverse_dynamics(
        robot.expand(q), robot.expand_velocity(q, v), robot.expand_acceleration(q, v, a), f_ext=f_ext
    )
    return _times(_transposed(robot.loop_map(q)), every)


def spanning_forces(robot: System, tau: Any) -> np.ndarray:
    """Forces (..., n) on the joints of the spanning tree equivalent to τ (..., nv): Gᵀ times them is τ.

    Only joints with independent velocities are driven.
    """
    where, tau = independent(robot), np.asarray(tau, float)
    forces = np.zeros((*tau.shape[:-1], robot.model.cluster_tree.spanning_tree.nv))
    forces[..., where.places] = tau / where.scales
    return forces


def projection_forward_dynamics(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> np.ndarray:
    """a (..., nv) = (Gᵀ H G)⁻¹ Gᵀ (τ - c - H g): the projection method (Chignoli §II-D)."""
    tree, q_all = spanning_tree(robot), robot.expand(q)
    G, g, H = robot.loop_map(q), robot.loop_bias(q, v), tree.mass_matrix(q_all)
    c = tree.bias_force(q_all, robot.expand_velocity(q, v), f_ext=f_ext)
    force = np.asarray(tau, float) - _times(_transposed(G), c + _times(H, g))
    return np.linalg.solve(_transposed(G) @ H @ G, force[..., None])[..., 0]


def loop_constraints(robot: System, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """K (..., m, n) and k (..., m) with K q̈ = k for the velocities of the spanning tree (Chignoli eq. 2).

    Every row of every loop, also those that others imply: `robot.loop_jacobian` and `robot.loop_jacobian_bias`.
    """
    q, v = _alike(q, v)
    return robot.loop_jacobian(q), robot.loop_jacobian_bias(q, v)


def lagrange_accelerations(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """q̈ (..., n) of the spanning tree and the multipliers λ (..., m) of the rows of K (Chignoli §II-D).

    [[H, Kᵀ], [K, 0]] [q̈; -λ] = [τ - c; k], with the least λ where rows of K imply each other.
    """
    q, v, tau = _alike(q, v, tau)
    tree, q_all = spanning_tree(robot), robot.expand(q)
    H = tree.mass_matrix(q_all)
    force = spanning_forces(robot, tau) - tree.bias_force(q_all, robot.expand_velocity(q, v), f_ext=f_ext)
    K, k = loop_constraints(robot, q, v)
    U, s, Vt = np.linalg.svd(K, full_matrices=False)
    held = s > RANK * s.max(axis=-1, keepdims=True, initial=0.0)
    inverse = np.where(held, 1.0 / np.where(held, s, 1.0), 0.0)
    size = np.abs(H).max(axis=(-2, -1), initial=1e-300)[..., None]  # rows as large as H: they are as well conditioned
    rows = np.where(held[..., None], size[..., None] * Vt, 0.0)
    idle = np.where(held, 0.0, 1.0)[..., None] * np.eye(s.shape[-1])
    rates = size * inverse * _times(_transposed(U), k)
    n = force.shape[-1]
    matrix = np.block([[H, _transposed(rows)], [rows, idle]])
    solved = np.linalg.solve(matrix, np.concatenate([force, rates], axis=-1)[..., None])[..., 0]
    return solved[..., :n], -_times(U, inverse * size * solved[..., n:])


def lagrange_forward_dynamics(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> np.ndarray:
    """a (..., nv) by the Lagrange multiplier method (Chignoli §II-D)."""
    where = independent(robot)
    return lagrange_accelerations(robot, q, v, tau, f_ext)[0][..., where.places] / where.scales


def sparse_lagrange_forward_dynamics(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> np.ndarray:
    """a (..., nv) by multipliers, with H factored along the tree: (K H⁻¹ Kᵀ) λ = k - K H⁻¹ (τ - c), the least λ.

    H⁻¹ Kᵀ costs O(n) per row, and K H⁻¹ Kᵀ is small; H must be regular, so no body without mass may hang on a loop
    alone.
    """
    q, v, tau = _alike(q, v, tau)
    tree, q_all = spanning_tree(robot), robot.expand(q)
    force = spanning_forces(robot, tau) - tree.bias_force(q_all, robot.expand_velocity(q, v), f_ext=f_ext)
    K, k = loop_constraints(robot, q, v)
    free = tree.solve_mass_matrix(q_all, force)
    Y = tree.solve_mass_matrix(q_all[..., None, :], K)  # rows of K H⁻¹
    multipliers = _times(np.linalg.pinv(Y @ _transposed(K), rcond=RANK, hermitian=True), k - _times(K, free))
    where = independent(robot)
    return (free + _times(_transposed(Y), multipliers))[..., where.places] / where.scales


def projected_osim(robot: System, q: Any, frames: Sequence[str]) -> np.ndarray:
    """Ω (..., 6 k, 6 k) = J G (Gᵀ H G)⁻¹ (J G)ᵀ: inverse operational-space inertia of k frames (Chignoli §II-E).

    J stacks the spanning tree's Jacobians of the frames: [angular; linear] at their origins, in world axes.
    """
    tree, q_all, G = spanning_tree(robot), robot.expand(q), robot.loop_map(q)
    J = np.concatenate([tree.jacobian(q_all, name) for name in frames], axis=-2) @ G
    return J @ np.linalg.solve(_transposed(G) @ tree.mass_matrix(q_all) @ G, _transposed(J))


def reflected_inertia(robot: System, q: Any = None) -> np.ndarray:
    """H̃ (nv, nv): what dependent joints add to the mass matrix when only their own turning counts (Chignoli §II-C).

    Gᵀ diag(Sᵀ I S) G over the dependent joints at one configuration (the neutral one by default): N² I for a rotor of
    inertia I that turns N times as fast as its joint.
    """
    at = robot.neutral() if q is None else np.asarray(q, float)
    tree, q_all = robot.model.cluster_tree.spanning_tree, robot.expand(at)
    own = np.zeros((tree.nv, tree.nv))
    for i, link in enumerate(tree.links):
        place = _velocities(robot, [i])
        twists = link.joint.subspace(q_all[_coordinates(robot, [i])].tolist()).twists()
        S = np.array([t.six() for t in twists], float).T
        own[np.ix_(place, place)] = S.T @ np.array(link.I.matrix(), float) @ S + np.diag(link.armature)
    G = robot.loop_map(at)
    G[independent(robot).places] = 0.0
    return G.T @ own @ G


def reflected_robot(robot: System, q: Any = None) -> System:
    """The independent joints only, with the others' inertia as armature: the approximate method (Chignoli §II-C).

    Bodies on dependent joints are fixed where they are at one configuration (the neutral one by default); of
    `reflected_inertia` the diagonal is kept. Exact for rotors that sit on the ground; elsewhere the gyroscopic and
    coupling terms of the rotors are lost.
    """
    at = robot.neutral() if q is None else np.asarray(q, float)
    where, q_all, added = independent(robot), robot.expand(at), np.zeros(robot.model.cluster_tree.spanning_tree.nv)
    added[where.places] = np.diagonal(reflected_inertia(robot, at)) / where.scales**2
    kept = set(where.places.tolist())
    changed: dict[str, PlacedJoint] = {}
    for i, c in enumerate(robot.model.cluster_tree.moving):
        place = _velocities(robot, [i])
        if kept.issuperset(place):
            changed[c.name] = replace(c, armature=tuple((np.array(c.armature) + added[place]).tolist()))
        elif kept.isdisjoint(place):
            changed[c.name] = _frozen(c, q_all[_coordinates(robot, [i])])
        else:
            raise ModelError(f"joint {c.name!r} is only partly independent; it can be neither kept nor fixed")
    connections = tuple(changed.get(c.name, c) for c in robot.mechanism.joints)
    return System(replace(robot.mechanism, joints=connections, loops=()))


def _frozen(c: PlacedJoint, q: np.ndarray) -> PlacedJoint:
    """A placed joint fixed at q."""
    placed = Transform.of(c.placement.rotation, c.placement.position).then(c.joint.placement(q.tolist()))
    rotation: Any = tuple(tuple(map(float, row)) for row in placed.R)
    position: Any = tuple(map(float, placed.p))
    return PlacedJoint(c.name, Fixed(), c.parent, c.child, Placement(rotation, position), (), (), (), (), ())
