"""The usual ways to the dynamics of mechanisms with loops (Chignoli §II), to compare the cluster algorithms with.

All of them run on the spanning tree (`robot.spanning()`), and differ in how they treat the loops: by the map G from
independent to all velocities, or by Lagrange multipliers; `reflected` takes them as a constant inertia. Plain NumPy,
batched over leading axes; robots without loops are allowed. With H and c the mass matrix and bias force of the spanning
tree, q̇ = G ẏ and q̈ = G ÿ + g for the independent velocities ẏ, and K q̈ = k for the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..linalg import apply, count, factors, in_own_units, inverse_in_units, singular_values, transpose
from ..system.system import System

__all__ = [
    "Independent", "independent", "lagrange_accelerations", "lagrange_forward_dynamics", "loop_constraints",
    "projected_inverse_dynamics", "projected_osim", "projection_forward_dynamics",
    "spanning_forces", "spanning_tree", "sparse_lagrange_forward_dynamics",
]  # fmt: skip


@lru_cache(maxsize=64)
def spanning_tree(robot: System) -> System:
    """The spanning tree of a robot, kept, so that its methods are compiled once.

    Parameters
    ----------
    robot : System
        The robot.

    Returns
    -------
    System
        ``robot.spanning()``.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.spanning_tree(robot).nv
    3
    """
    return robot.spanning()


class Independent(NamedTuple):
    """The independent velocities of the spanning tree.

    Parameters
    ----------
    places : ndarray of int, shape (nv,)
        Their places among the velocities of the spanning tree.
    scales : ndarray, shape (nv,)
        The velocity there is scale times the independent one.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> fb.baselines.independent(robot).places
    array([0])
    """

    places: np.ndarray
    scales: np.ndarray


def independent(robot: System) -> Independent:
    """Where the independent velocities are in the spanning tree.

    Parameters
    ----------
    robot : System
        The robot.

    Returns
    -------
    Independent
        Places and scales, in the order of `names.velocities`.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.independent(robot).places
    array([0])
    """
    places: list[int] = []
    scales: list[float] = []
    for cluster in robot.model.cluster_tree.clusters:
        of_cluster, chosen = velocities_of(robot, cluster.links), cluster.embedding.independent
        places.extend(of_cluster[j] for j, _ in chosen)
        scales.extend(scale for _, scale in chosen)
    return Independent(np.array(places, int), np.array(scales, float))


def velocities_of(robot: System, links: Sequence[int]) -> list[int]:
    """Places of the velocities of some links in the spanning tree."""
    tree = robot.model.cluster_tree.spanning_tree
    return [tree.first_v[i] + k for i in links for k in range(tree.links[i].joint.nv)]


def coordinates_of(robot: System, links: Sequence[int]) -> list[int]:
    """Places of the coordinates of some links in the spanning tree."""
    sizes = [link.joint.nq for link in robot.model.cluster_tree.spanning_tree.links]
    return [sum(sizes[:i]) + k for i in links for k in range(sizes[i])]


def _alike(*arrays: Any) -> list[np.ndarray]:
    """Vectors with the same leading axes."""
    read = [np.asarray(x, float) for x in arrays]
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in read))
    return [np.broadcast_to(x, (*batch, x.shape[-1])) for x in read]


def projected_inverse_dynamics(robot: System, q: Any, v: Any, a: Any, f_ext: Any = None) -> np.ndarray:
    """Inverse dynamics by projecting those of the spanning tree (Chignoli §II-C).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    a : array_like, shape (..., nv)
        Acceleration (rad/s², m/s²).
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.

    Returns
    -------
    ndarray, shape (..., nv)
        τ = Gᵀ RNEA(spanning tree, q, G v, G a + g) (N m, N).

    See Also
    --------
    System.inverse_dynamics : By clusters.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.projected_inverse_dynamics(robot, q, [0.0], [1.0]).round(4)
    array([0.9103])
    """
    every = spanning_tree(robot).inverse_dynamics(
        robot.expand(q), robot.expand_velocity(q, v), robot.expand_acceleration(q, v, a), f_ext=f_ext
    )
    return apply(transpose(robot.loop_map(q)), every)


def spanning_forces(robot: System, tau: Any) -> np.ndarray:
    """Forces on the joints of the spanning tree that do what forces on the independent velocities do.

    Parameters
    ----------
    robot : System
        The robot.
    tau : array_like, shape (..., nv)
        Joint forces (N m, N).

    Returns
    -------
    ndarray, shape (..., n)
        Forces (N m, N), such that Gᵀ times them is τ; only joints with independent velocities are driven.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.spanning_forces(robot, [2.0])
    array([2., 0., 0.])
    """
    where, tau = independent(robot), np.asarray(tau, float)
    forces = np.zeros((*tau.shape[:-1], robot.model.cluster_tree.spanning_tree.nv))
    forces[..., where.places] = tau / where.scales
    return forces


def projection_forward_dynamics(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> np.ndarray:
    """Forward dynamics by the projection method (Chignoli §II-D).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    tau : array_like, shape (..., nv)
        Joint forces (N m, N).
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.

    Returns
    -------
    ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²) of the independent velocities.

    See Also
    --------
    System.forward_dynamics : By clusters.

    Notes
    -----
    a = (Gᵀ H G)⁻¹ Gᵀ (τ - c - H g), with H and c of the spanning tree.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.projection_forward_dynamics(robot, q, [0.0], [1.0]).round(4)
    array([1.0985])
    """
    tree, q_all = spanning_tree(robot), robot.expand(q)
    G, g, H = robot.loop_map(q), robot.loop_bias(q, v), tree.mass_matrix(q_all)
    c = tree.bias_force(q_all, robot.expand_velocity(q, v), f_ext=f_ext)
    force = np.asarray(tau, float) - apply(transpose(G), c + apply(H, g))
    return np.linalg.solve(transpose(G) @ H @ G, force[..., None])[..., 0]


def loop_constraints(robot: System, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every condition of every loop on the accelerations of the spanning tree.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).

    Returns
    -------
    K : ndarray, shape (..., m, n)
        Rows, also those that others imply: `System.loop_jacobian`.
    k : ndarray, shape (..., m)
        Right-hand side of K q̈ = k (Chignoli eq. 2): `System.loop_jacobian_bias`.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> K, k = fb.baselines.loop_constraints(robot, q, [1.0])
    >>> K.shape, k.shape
    ((6, 3), (6,))
    """
    q, v = _alike(q, v)
    return robot.loop_jacobian(q), robot.loop_jacobian_bias(q, v)


def lagrange_accelerations(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations of the spanning tree and Lagrange multipliers of the loops (Chignoli §II-D).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    tau : array_like, shape (..., nv)
        Joint forces (N m, N).
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.

    Returns
    -------
    a : ndarray, shape (..., n)
        Accelerations q̈ of the spanning tree (rad/s², m/s²).
    multipliers : ndarray, shape (..., m)
        Multipliers λ of the rows of K, the least where rows imply each other.

    Notes
    -----
    [[H, Kᵀ], [K, 0]] [q̈; -λ] = [τ - c; k].

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> a, multipliers = fb.baselines.lagrange_accelerations(robot, q, [0.0], [1.0])
    >>> a.round(4)
    array([ 1.0985,  1.0985, -1.0985])
    """
    q, v, tau = _alike(q, v, tau)
    tree, q_all = spanning_tree(robot), robot.expand(q)
    H = tree.mass_matrix(q_all)
    force = spanning_forces(robot, tau) - tree.bias_force(q_all, robot.expand_velocity(q, v), f_ext=f_ext)
    K, k = loop_constraints(robot, q, v)
    U, s, Vt = factors(K)
    held = np.arange(s.shape[-1]) < count(singular_values(in_own_units(K)))[..., None]
    inverse = np.where(held, 1.0 / np.where(held, s, 1.0), 0.0)
    size = np.abs(H).max(axis=(-2, -1), initial=1e-300)[..., None]  # rows as large as H: they are as well conditioned
    rows = np.where(held[..., None], size[..., None] * Vt, 0.0)
    idle = np.where(held, 0.0, 1.0)[..., None] * np.eye(s.shape[-1])
    rates = size * inverse * apply(transpose(U), k)
    n = force.shape[-1]
    matrix = np.block([[H, transpose(rows)], [rows, idle]])
    solved = np.linalg.solve(matrix, np.concatenate([force, rates], axis=-1)[..., None])[..., 0]
    return solved[..., :n], -apply(U, inverse * size * solved[..., n:])


def lagrange_forward_dynamics(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> np.ndarray:
    """Forward dynamics by Lagrange multipliers (Chignoli §II-D).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    tau : array_like, shape (..., nv)
        Joint forces (N m, N).
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.

    Returns
    -------
    ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²) of the independent velocities.

    See Also
    --------
    System.forward_dynamics : By clusters.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.lagrange_forward_dynamics(robot, q, [0.0], [1.0]).round(4)
    array([1.0985])
    """
    where = independent(robot)
    return lagrange_accelerations(robot, q, v, tau, f_ext)[0][..., where.places] / where.scales


def sparse_lagrange_forward_dynamics(robot: System, q: Any, v: Any, tau: Any, f_ext: Any = None) -> np.ndarray:
    """Forward dynamics by Lagrange multipliers, with the mass matrix factored along the tree.

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    v : array_like, shape (..., nv)
        Velocity (rad/s, m/s).
    tau : array_like, shape (..., nv)
        Joint forces (N m, N).
    f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
        Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
        ``{"hand": wrench}``.

    Returns
    -------
    ndarray, shape (..., nv)
        Accelerations (rad/s², m/s²) of the independent velocities.

    See Also
    --------
    lagrange_forward_dynamics : With a dense mass matrix.

    Notes
    -----
    (K H⁻¹ Kᵀ) λ = k - K H⁻¹ (τ - c), with the least λ. H⁻¹ Kᵀ costs O(n) per row, and K H⁻¹ Kᵀ is small; H must be
    regular, so no body without mass may hang on a loop alone.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.sparse_lagrange_forward_dynamics(robot, q, [0.0], [1.0]).round(4)
    array([1.0985])
    """
    q, v, tau = _alike(q, v, tau)
    tree, q_all = spanning_tree(robot), robot.expand(q)
    force = spanning_forces(robot, tau) - tree.bias_force(q_all, robot.expand_velocity(q, v), f_ext=f_ext)
    K, k = loop_constraints(robot, q, v)
    free = tree.solve_mass_matrix(q_all, force)
    Y = tree.solve_mass_matrix(q_all[..., None, :], K)  # rows of K H⁻¹
    multipliers = apply(inverse_in_units(Y @ transpose(K)), k - apply(K, free))
    where = independent(robot)
    return (free + apply(transpose(Y), multipliers))[..., where.places] / where.scales


def projected_osim(robot: System, q: Any, frames: Sequence[str]) -> np.ndarray:
    """Inverse operational-space inertia of frames by projection (Chignoli §II-E).

    Parameters
    ----------
    robot : System
        The robot.
    q : array_like, shape (..., nq)
        Configuration, with its loops closed.
    frames : sequence of str
        The k frames or bodies.

    Returns
    -------
    ndarray, shape (..., 6 k, 6 k)
        Ω = J G (Gᵀ H G)⁻¹ (J G)ᵀ, with the Jacobians J of the spanning tree: [angular; linear] at the origins, in world
        axes.

    See Also
    --------
    System.osim_inverse : By propagation of forces.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.four_bar()
    >>> q = robot.neutral()
    >>> fb.baselines.projected_osim(robot, q, ["ee"]).shape
    (6, 6)
    """
    tree, q_all, G = spanning_tree(robot), robot.expand(q), robot.loop_map(q)
    J = np.concatenate([tree.jacobian(q_all, name) for name in frames], axis=-2) @ G
    return J @ np.linalg.solve(transpose(G) @ tree.mass_matrix(q_all) @ G, transpose(J))
