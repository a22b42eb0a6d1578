"""Forces and accelerations, and the mass matrix between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...algorithms import aba, crba, hybrid, minverse, rnea
from ...errors import ArgumentError, unknown
from ...tree.assembly import independent_joints
from ...tree.cluster_tree import ClusterTree
from ..arguments import F_EXT, TAU, A, B, Q, V
from ..context import Context
from ..registry import Option, Outputs, flat, method, vector


def inverse_parts(c: Context) -> list[Any]:
    """The inverse dynamics of the given state and accelerations, by cluster."""
    return c.project(rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity))


@method(Q, V, A, results="tau", optional=[F_EXT])
def inverse_dynamics(c: Context) -> Outputs:
    """Joint forces τ (..., nv) that cause accelerations a: τ = M a + C v + g - Jᵀ f_ext (RNEA).

    Of the rigid bodies alone: `inverse_passive_dynamics` also overcomes springs and damping of the joints.
    f_ext (..., n_bodies, 6): wrench [moment; force] on each body, in its frame.
    q is not looked at: loops must be closed there, which `robot.check(q, v)` tells and `robot.assemble(q)` does.
    """
    return vector(c, "tau", inverse_parts(c))


def accelerations(c: Context, v: list[Any], tau: list[Any], gravity: Sequence[float]) -> list[Any]:
    """The forward dynamics of all links' velocities and the clusters' forces, by cluster."""
    return aba.forward_dynamics(c.equations(), c.clusters, c.expanded, v, tau, c.F_ext(), gravity)


def acceleration_parts(c: Context) -> list[Any]:
    """The forward dynamics of the given state, by cluster."""
    return accelerations(c, c.velocities(), c.by_cluster("tau"), c.gravity)


@method(Q, V, TAU, results="a", optional=[F_EXT], inverts_mass=True)
def forward_dynamics(c: Context) -> Outputs:
    """Accelerations a (..., nv) caused by joint forces τ (ABA, O(n)).

    f_ext (..., n_bodies, 6): wrench [moment; force] on each body, in its frame.
    q is not looked at: loops must be closed there, which `robot.check(q, v)` tells and `robot.assemble(q)` does.
    """
    return vector(c, "a", acceleration_parts(c))


def hybrid_parts(c: Context, prescribed: tuple[tuple[bool, ...], ...]) -> tuple[list[Any], list[Any]]:
    """All accelerations and all forces, by cluster."""
    return hybrid.hybrid_dynamics(
        c.equations(), c.clusters, c.expanded, c.velocities(), c.by_cluster("a"), c.by_cluster("tau"), c.F_ext(),
        prescribed, c.gravity,
    )  # fmt: skip


def _is_list(prescribed: Any) -> bool:
    return isinstance(prescribed, Iterable) and not isinstance(prescribed, str)


def _listed(prescribed: Any) -> Any:
    """The names as a tuple: their order, and what holds them, does not matter."""
    return tuple(prescribed) if _is_list(prescribed) else prescribed


def read_prescribed(cluster_tree: ClusterTree, prescribed: Any) -> dict[str, Any]:
    """Which independent velocities are prescribed, by cluster, from the names of their joints."""
    if not _is_list(prescribed):
        example = prescribed if isinstance(prescribed, str) else "hip"
        raise ArgumentError(f"prescribed={prescribed!r}: expected a list of joint names, e.g. [{example!r}]")
    names = list(prescribed)
    by_cluster = [independent_joints(cluster_tree, cluster) for cluster in cluster_tree.clusters]
    known = list(dict.fromkeys(name for own in by_cluster for name in own))
    for name in names:
        if name not in known:
            raise unknown("independent moving joint", name, known)
    return {"prescribed": tuple(tuple(joint in names for joint in own) for own in by_cluster)}


PRESCRIBED = Option("prescribed", required=True, keep=_listed)


@method(Q, V, A, TAU, results="a tau", optional=[F_EXT], options=[PRESCRIBED], read=read_prescribed)
def hybrid_dynamics(c: Context, prescribed: tuple[tuple[bool, ...], ...]) -> Outputs:
    """All accelerations and all joint forces (a, τ), when some joints have their acceleration prescribed.

    prescribed: names of these joints. Their entries of `a` are read, and the other joints' entries of `tau`.
    q is not looked at: loops must be closed there, which `robot.check(q, v)` tells and `robot.assemble(q)` does.
    """
    moved, forces = hybrid_parts(c, prescribed)
    return vector(c, "a_all", moved) + vector(c, "tau_all", forces)


@method(Q, V, results="tau", optional=[F_EXT])
def bias_force(c: Context) -> Outputs:
    """C v + g - Jᵀ f_ext (..., nv): the joint forces at acceleration zero (nonlinear effects)."""
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations(""), c.F_ext(), c.gravity)
    return vector(c, "tau", c.project(tau))


@method(Q, results="tau")
def gravity_force(c: Context) -> Outputs:
    """g(q) (..., nv): the joint forces that hold the robot still."""
    tau = rnea.inverse_dynamics(c.equations(), c.still(), c.still(), c.F_ext(), c.gravity)
    return vector(c, "tau", c.project(tau))


@method(Q, results="M")
def mass_matrix(c: Context) -> Outputs:
    """Mass matrix M (..., nv, nv), symmetric and full (CRBA)."""
    M = crba.mass_matrix(c.equations())
    if c.is_looped:
        half = c.columns(M)
        M = c.columns([list(row) for row in zip(*half, strict=True)])
    return [("M", (c.nv, c.nv), flat(M))]


@method(Q, results="M_inverse", inverts_mass=True)
def inverse_mass_matrix(c: Context) -> Outputs:
    """M⁻¹ (..., nv, nv) in O(n²), without forming M."""
    return [("M_inverse", (c.nv, c.nv), flat(minverse.inverse_mass_matrix(c.equations(), c.clusters, c.expanded)))]


@method(Q, B, results="x", inverts_mass=True)
def solve_mass_matrix(c: Context) -> Outputs:
    """x = M⁻¹ b (..., nv) in O(n), without forming M."""
    return vector(c, "x", accelerations(c, c.still(), c.by_cluster("b"), (0.0, 0.0, 0.0)))
