"""Forces of actuators anywhere in a mechanism, from those on its independent velocities: least ones, if not unique.

Actuated joints move with B v (B: their rows of G), so τ_independent = Bᵀ τ_actuators. With W = L Lᵀ the least τᵀ W τ is
τ = L⁻ᵀ Q R⁻ᵀ τ_independent for the factors Q R of L⁻¹ B; for as many actuators as velocities that is B⁻ᵀ.
"""

from __future__ import annotations

from typing import NamedTuple

from ...spatial.linear import Mat, Scalar, Vec
from .orthogonal import lower_solve, orthogonal, upper_solve


class LeastActuatorForces(NamedTuple):
    """Forces of the actuators, and the largest ratio of the size of a column of B to what is left of it by others."""

    tau: Vec
    weakness: Scalar


def actuator_forces(B: Mat, L: Mat, sizes: Vec, tau: Vec) -> LeastActuatorForces:
    """The least forces with Bᵀ τ_actuators = τ. `sizes` are the squares of the columns where all is well."""
    found = orthogonal([lower_solve(L, column) for column in B.T], sizes)
    return LeastActuatorForces(upper_solve(L, found.least(tau, len(B))), found.weakness)
