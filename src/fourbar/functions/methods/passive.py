"""Springs and dampers in the joints, which the rigid-body dynamics does not contain: their forces, and the motion."""

from __future__ import annotations

from typing import Any

from ...algorithms import passive
from ...algorithms.energy import add
from ...spatial.linear import Vec
from ..context import Context
from ..registry import Outputs, method, vector
from .dynamics import accelerations, inverse_parts


def _springs(c: Context, of: Any) -> dict[int, Any]:
    """Something of each spring, by link."""
    q, call = c.coordinates(), c.recorder.call
    return {
        i: call(of, joint.joint, q[i], Vec(joint.rest), Vec(joint.stiffness))
        for i, joint in enumerate(c.model.cluster_tree.moving)
        if any(joint.stiffness)
    }


def passive_parts(c: Context) -> list[Vec]:
    """Forces of springs and dampers on the independent velocities, by cluster."""
    v, forces = c.velocities(), c.still()
    for i, joint in enumerate(c.model.cluster_tree.moving):
        if any(joint.damping):
            forces[i] = c.recorder.call(passive.damping_force, v[i], Vec(joint.damping))
    for i, force in _springs(c, passive.spring_force).items():
        forces[i] = c.recorder.call(add, forces[i], force) if any(c.model.cluster_tree.moving[i].damping) else force
    return c.project(forces)


@method("q v", "tau")
def passive_forces(c: Context) -> Outputs:
    """Forces (..., nv) of the joints' springs, -stiffness (q - rest), and of viscous damping, -damping v.

    Springs of balls and free joints act on the rotation vector from `rest`, those of free joints also on the way. In
    loops all joints count, also those that are not independent. Coulomb friction (`friction`) is left out.
    """
    return vector(c, "tau", passive_parts(c))


@method("q v tau", "a", optional="f_ext")
def passive_dynamics(c: Context) -> Outputs:
    """Accelerations a (..., nv) caused by joint forces τ and by the `passive_forces`: forward dynamics of both (ABA).

    f_ext (..., n_bodies, 6): wrench [moment; force] on each body, in its frame.
    """
    tau = [c.recorder.call(add, *both) for both in zip(c.by_cluster("tau"), passive_parts(c), strict=True)]
    return vector(c, "a", accelerations(c, c.velocities(), tau, c.gravity))


@method("q v a", "tau", optional="f_ext")
def inverse_passive_dynamics(c: Context) -> Outputs:
    """Joint forces τ (..., nv) that, with the `passive_forces`, cause accelerations a (RNEA).

    The inverse of `passive_dynamics`, and what a drive must give where springs and damping act, as in `simulate`
    (`inverse_dynamics` knows the rigid bodies only). f_ext (..., n_bodies, 6): wrench [moment; force] on each body.
    """
    forces = [c.recorder.call(_negated, part) for part in passive_parts(c)]
    return vector(c, "tau", [c.recorder.call(add, *both) for both in zip(inverse_parts(c), forces, strict=True)])


def _negated(x: Vec) -> Vec:
    return -x


@method("q", "energy")
def spring_energy(c: Context) -> Outputs:
    """Energy (...) in the joints' springs, ½ Σ stiffness (q - rest)²; `potential_energy` is that in gravity only."""
    total: Any = 0.0
    for energy in _springs(c, passive.spring_energy).values():
        total = c.recorder.call(add, total, energy)
    return [("energy", (), [total])]


@method("q v", "power")
def damping_power(c: Context) -> Outputs:
    """Power (...) that the joints' viscous damping takes, Σ damping v² over all joints: never negative."""
    return [("power", (), [power_lost(c)])]


def power_lost(c: Context) -> Any:
    """The power that damping takes."""
    v = c.velocities()
    total: Any = 0.0
    for i, joint in enumerate(c.model.cluster_tree.moving):
        if any(joint.damping):
            total = c.recorder.call(add, total, c.recorder.call(passive.damping_power, v[i], Vec(joint.damping)))
    return total
