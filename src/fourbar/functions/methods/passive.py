"""Springs and dampers in the joints, which the rigid-body dynamics does not contain: their forces, and the motion."""

from __future__ import annotations

from typing import Any

from ...algorithms import passive
from ...algorithms.energy import add
from ...spatial.linear import Vec
from ..arguments import F_EXT, TAU, A, Q, V
from ..context import Context
from ..registry import Outputs, method, vector
from .dynamics import accelerations, inverse_parts


def _acts(numbers: tuple[Any, ...]) -> bool:
    """Whether some of the numbers are not zero, as far as that is known while recording."""
    return any(not isinstance(x, float | int) or x for x in numbers)


def _springs(c: Context, of: Any) -> dict[int, Any]:
    """Something of each spring, by link."""
    q, call = c.coordinates(), c.recorder.call
    return {
        i: call(of, joint.joint, q[i], Vec(joint.rest), Vec(joint.stiffness))
        for i, joint in enumerate(c.model.cluster_tree.moving)
        if _acts(joint.stiffness)
    }


def _forces(c: Context) -> list[Vec]:
    """Forces of springs and dampers on the independent velocities, by cluster."""
    v, forces = c.velocities(), c.still()
    for i, joint in enumerate(c.model.cluster_tree.moving):
        if _acts(joint.damping):
            forces[i] = c.recorder.call(passive.damping_force, v[i], Vec(joint.damping))
    for i, force in _springs(c, passive.spring_force).items():
        forces[i] = c.recorder.call(add, forces[i], force) if _acts(c.model.cluster_tree.moving[i].damping) else force
    return c.project(forces)


@method(Q, V, results="tau")
def passive_forces(c: Context) -> Outputs:
    """Forces (..., nv) of the joints' springs, -stiffness (q - rest), and of viscous damping, -damping v.

    Springs of balls and free joints act on the rotation vector from `rest`, those of free joints also on the way. In
    loops all joints count, also those that are not independent. Coulomb friction (`friction`) is left out.
    """
    return vector(c, "tau", _forces(c))


@method(Q, V, TAU, results="a", optional=[F_EXT], inverts_mass=True)
def passive_dynamics(c: Context) -> Outputs:
    """Accelerations a (..., nv) caused by joint forces τ and by the `passive_forces`: forward dynamics of both (ABA).

    f_ext (..., n_bodies, 6): wrench [moment; force] on each body, in its frame.
    """
    tau = [c.recorder.call(add, *both) for both in zip(c.by_cluster("tau"), _forces(c), strict=True)]
    return vector(c, "a", accelerations(c, c.velocities(), tau, c.gravity))


@method(Q, V, A, results="tau", optional=[F_EXT])
def inverse_passive_dynamics(c: Context) -> Outputs:
    """Joint forces τ (..., nv) that, with the `passive_forces`, cause accelerations a (RNEA).

    The inverse of `passive_dynamics`, and what a drive must give where springs and damping act, as in `simulate`
    (`inverse_dynamics` knows the rigid bodies only). f_ext (..., n_bodies, 6): wrench [moment; force] on each body.
    """
    forces = [c.recorder.call(_negated, part) for part in _forces(c)]
    return vector(c, "tau", [c.recorder.call(add, *both) for both in zip(inverse_parts(c), forces, strict=True)])


def _negated(x: Vec) -> Vec:
    return -x


@method(Q, results="energy")
def spring_energy(c: Context) -> Outputs:
    """Energy (...) in the joints' springs, ½ Σ stiffness (q - rest)²; `potential_energy` is that in gravity only."""
    total: Any = 0.0
    for energy in _springs(c, passive.spring_energy).values():
        total = c.recorder.call(add, total, energy)
    return [("energy", (), [total])]


@method(Q, V, results="power")
def damping_power(c: Context) -> Outputs:
    """Power (...) that the joints' viscous damping takes, Σ damping v² over all joints: never negative."""
    v = c.velocities()
    total: Any = 0.0
    for i, joint in enumerate(c.model.cluster_tree.moving):
        if _acts(joint.damping):
            total = c.recorder.call(add, total, c.recorder.call(passive.damping_power, v[i], Vec(joint.damping)))
    return [("power", (), [total])]
