"""Forces and accelerations, and the mass matrix between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms import aba, crba, hybrid, minverse, rnea
from ..context import Context
from ..registry import Outputs, flat, method, vector


def inverse_parts(c: Context) -> list[Any]:
    """The inverse dynamics of the given state and accelerations, by cluster."""
    return c.project(rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations("a"), c.F_ext(), c.gravity))


@method("q v a", "tau", optional="f_ext")
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


@method("q v tau", "a", optional="f_ext")
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


@method("q v a tau", "a tau", optional="f_ext", static="prescribed")
def hybrid_dynamics(c: Context, prescribed: tuple[tuple[bool, ...], ...]) -> Outputs:
    """All accelerations and all joint forces (a, τ), when some joints have their acceleration prescribed.

    prescribed: names of these joints. Their entries of `a` are read, and the other joints' entries of `tau`.
    q is not looked at: loops must be closed there, which `robot.check(q, v)` tells and `robot.assemble(q)` does.
    """
    moved, forces = hybrid_parts(c, prescribed)
    return vector(c, "a_all", moved) + vector(c, "tau_all", forces)


@method("q v", "tau", optional="f_ext")
def bias_force(c: Context) -> Outputs:
    """C v + g - Jᵀ f_ext (..., nv): the joint forces at acceleration zero (nonlinear effects)."""
    tau = rnea.inverse_dynamics(c.equations(), c.velocities(), c.accelerations(""), c.F_ext(), c.gravity)
    return vector(c, "tau", c.project(tau))


@method("q", "tau")
def gravity_force(c: Context) -> Outputs:
    """g(q) (..., nv): the joint forces that hold the robot still."""
    tau = rnea.inverse_dynamics(c.equations(), c.still(), c.still(), c.F_ext(), c.gravity)
    return vector(c, "tau", c.project(tau))


@method("q", "M")
def mass_matrix(c: Context) -> Outputs:
    """Mass matrix M (..., nv, nv), symmetric and full (CRBA)."""
    M = crba.mass_matrix(c.equations())
    if c.is_looped:
        half = c.columns(M)
        M = c.columns([list(row) for row in zip(*half, strict=True)])
    return [("M", (c.nv, c.nv), flat(M))]


@method("q", "M_inverse")
def inverse_mass_matrix(c: Context) -> Outputs:
    """M⁻¹ (..., nv, nv) in O(n²), without forming M."""
    return [("M_inverse", (c.nv, c.nv), flat(minverse.inverse_mass_matrix(c.equations(), c.clusters, c.expanded)))]


@method("q b", "x")
def solve_mass_matrix(c: Context) -> Outputs:
    """x = M⁻¹ b (..., nv) in O(n), without forming M."""
    return vector(c, "x", accelerations(c, c.still(), c.by_cluster("b"), (0.0, 0.0, 0.0)))
