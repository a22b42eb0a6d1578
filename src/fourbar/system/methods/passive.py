"""Forces of springs and dampers in the joints, which the rigid-body dynamics does not contain."""

from __future__ import annotations

from typing import Any

from ...algorithms import passive
from ...algorithms.energy import add
from ...spatial.linear import Vec
from ..context import Context
from .registry import Outputs, method, vector


def _springs(c: Context, of: Any) -> dict[int, Any]:
    """Something of each spring, by link."""
    q, call = c.coordinates(), c.recorder.call
    return {
        i: call(of, joint.joint, q[i], Vec(joint.rest), Vec(joint.stiffness))
        for i, joint in enumerate(c.model.lowered.moving)
        if any(joint.stiffness)
    }


@method("q v", "tau")
def passive_forces(c: Context) -> Outputs:
    """Forces (..., nv) of the joints' springs, -stiffness (q - rest), and of viscous damping, -damping v.

    Springs of balls and free joints act on the rotation vector from `rest`, those of free joints also on the way. In
    loops all joints count, also those that are not independent. Coulomb friction (`friction`) is left out.
    """
    v, forces = c.velocities(), c.still()
    for i, joint in enumerate(c.model.lowered.moving):
        if any(joint.damping):
            forces[i] = c.recorder.call(passive.damping_force, v[i], Vec(joint.damping))
    for i, force in _springs(c, passive.spring_force).items():
        forces[i] = c.recorder.call(add, forces[i], force) if any(c.model.lowered.moving[i].damping) else force
    return vector(c, "tau", c.project(forces))


@method("q", "energy")
def spring_energy(c: Context) -> Outputs:
    """Energy (...) in the joints' springs, ½ Σ stiffness (q - rest)²; `potential_energy` is that in gravity only."""
    total: Any = 0.0
    for energy in _springs(c, passive.spring_energy).values():
        total = c.recorder.call(add, total, energy)
    return [("energy", (), [total])]
