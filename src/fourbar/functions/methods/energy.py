"""Energies, centre of mass and momentum."""

from __future__ import annotations

from ...algorithms import energy
from ..context import Context
from ..registry import Outputs, flat, method


@method("q v", "energy")
def kinetic_energy(c: Context) -> Outputs:
    """½ vᵀ M v (...)."""
    return [("energy", (), [energy.kinetic_energy(c.sweeps(), c.velocities())])]


@method("q", "energy")
def potential_energy(c: Context) -> Outputs:
    """Potential energy in gravity (...); zero where every mass is at the height of the world's origin."""
    return [("energy", (), [energy.potential_energy(c.sweeps(), c.gravity)])]


@method("q", "position")
def center_of_mass(c: Context) -> Outputs:
    """Centre of mass (..., 3) of all that moves, in the world."""
    return [("position", (3,), list(energy.center_of_mass(c.sweeps())))]


@method("q", "J")
def center_of_mass_jacobian(c: Context) -> Outputs:
    """J (..., 3, nv): the velocity of the centre of mass is J v."""
    return [("J", (3, c.nv), flat(c.columns(energy.center_of_mass_jacobian(c.sweeps()))))]


@method("q v", "h", static="about")
def momentum(c: Context, about: str = energy.COM) -> Outputs:
    """Momentum h (..., 6) = [angular; linear] of all that moves, in world axes, about="com" (default) or "world"."""
    return [("h", (6,), list(energy.momentum(c.sweeps(), c.velocities(), about)))]


@method("q", "A", static="about")
def momentum_matrix(c: Context, about: str = energy.COM) -> Outputs:
    """A (..., 6, nv) with momentum = A v; about="com" (default, the centroidal momentum matrix) or "world"."""
    return [("A", (6, c.nv), flat(c.columns(energy.momentum_matrix(c.sweeps(), about))))]


@method("q", "A")
def centroidal_matrix(c: Context) -> Outputs:
    """Centroidal momentum matrix A (..., 6, nv): momentum about the centre of mass = A v, in world axes."""
    return [("A", (6, c.nv), flat(c.columns(energy.momentum_matrix(c.sweeps(), energy.COM))))]
