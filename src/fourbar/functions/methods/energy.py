"""Energies, centre of mass and momentum."""

from __future__ import annotations

from typing import Any

from ...algorithms import energy
from ...errors import ArgumentError
from ..arguments import Q, V
from ..context import Context
from ..registry import Option, Outputs, flat, method

ABOUT = Option("about", energy.COM)


def _read_about(_: Any, about: Any) -> dict[str, Any]:
    if about not in (energy.COM, energy.WORLD):
        raise ArgumentError(f"about={about!r}: expected {energy.COM!r} or {energy.WORLD!r}")
    return {"about": about}


@method(Q, V, results="energy")
def kinetic_energy(c: Context) -> Outputs:
    """½ vᵀ M v (...)."""
    return [("energy", (), [energy.kinetic_energy(c.sweeps(), c.velocities())])]


@method(Q, results="energy")
def potential_energy(c: Context) -> Outputs:
    """Potential energy in gravity (...); zero where every mass is at the height of the world's origin."""
    return [("energy", (), [energy.potential_energy(c.sweeps(), c.gravity)])]


@method(Q, results="position")
def center_of_mass(c: Context) -> Outputs:
    """Centre of mass (..., 3) of all that moves, in the world."""
    return [("position", (3,), list(energy.center_of_mass(c.sweeps())))]


@method(Q, results="J")
def center_of_mass_jacobian(c: Context) -> Outputs:
    """J (..., 3, nv): the velocity of the centre of mass is J v."""
    return [("J", (3, c.nv), flat(c.columns(energy.center_of_mass_jacobian(c.sweeps()))))]


@method(Q, V, results="h", options=[ABOUT], read=_read_about)
def momentum(c: Context, about: str) -> Outputs:
    """Momentum h (..., 6) = [angular; linear] of all that moves, in world axes, about="com" (default) or "world"."""
    return [("h", (6,), list(energy.momentum(c.sweeps(), c.velocities(), about)))]


@method(Q, results="A", options=[ABOUT], read=_read_about)
def momentum_matrix(c: Context, about: str) -> Outputs:
    """A (..., 6, nv) with momentum = A v; about="com" (default, the centroidal momentum matrix) or "world"."""
    return [("A", (6, c.nv), flat(c.columns(energy.momentum_matrix(c.sweeps(), about))))]


@method(Q, results="A")
def centroidal_matrix(c: Context) -> Outputs:
    """Centroidal momentum matrix A (..., 6, nv): momentum about the centre of mass = A v, in world axes."""
    return [("A", (6, c.nv), flat(c.columns(energy.momentum_matrix(c.sweeps(), energy.COM))))]
