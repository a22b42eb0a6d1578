"""Energies, centre of mass and momentum."""

from __future__ import annotations

from typing import Any

from ...algorithms import energy
from ...errors import ArgumentError
from ..arguments import Q, V
from ..context import Context
from ..registry import Option, Outputs, flat, method

ABOUT = Option(
    "about",
    energy.COM,
    written="POINT",
    type="{'com', 'world'}",
    text="Point about which the angular momentum is taken: the centre of mass, or the origin of the world.",
)


def _read_about(_: Any, about: Any) -> dict[str, Any]:
    if about not in (energy.COM, energy.WORLD):
        raise ArgumentError(f"about={about!r}: expected {energy.COM!r} or {energy.WORLD!r}")
    return {"about": about}


@method(Q, V, results="energy")
def kinetic_energy(c: Context) -> Outputs:
    """Kinetic energy ½ vᵀ M v.

    Returns
    -------
    energy : float or ndarray, shape (...)
        Kinetic energy (J), with that of armatures.

    See Also
    --------
    potential_energy : The energy in gravity.
    spring_energy : The energy in springs of the joints.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> float(robot.kinetic_energy([0.1, 0.2], [1.0, 0.0]).round(4))
    0.2414
    """
    return [("energy", (), [energy.kinetic_energy(c.sweeps(), c.velocities())])]


@method(Q, results="energy")
def potential_energy(c: Context) -> Outputs:
    """Potential energy in gravity.

    Returns
    -------
    energy : float or ndarray, shape (...)
        Potential energy (J), zero where every mass is at the height of the origin of the world.

    See Also
    --------
    gravity_force : Its gradient.
    kinetic_energy : The energy of motion.
    spring_energy : The energy in springs of the joints.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> float(robot.potential_energy([0.1, 0.2]).round(4))
    -7.8441
    """
    return [("energy", (), [energy.potential_energy(c.sweeps(), c.gravity)])]


@method(Q, results="position")
def center_of_mass(c: Context) -> Outputs:
    """Centre of mass of all moving bodies.

    Returns
    -------
    position : ndarray, shape (..., 3)
        Position (m) in the world.

    See Also
    --------
    center_of_mass_jacobian : Its velocity is J v.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.center_of_mass([0.1, 0.2]).round(4)
    array([-0.0623,  0.    , -0.4442])
    """
    return [("position", (3,), list(energy.center_of_mass(c.sweeps())))]


@method(Q, results="J")
def center_of_mass_jacobian(c: Context) -> Outputs:
    """Jacobian of the centre of mass.

    Returns
    -------
    J : ndarray, shape (..., 3, nv)
        The velocity (m/s) of the centre of mass, in world axes, is J v.

    See Also
    --------
    center_of_mass : The centre of mass itself.
    momentum_matrix : Linear and angular momentum.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.center_of_mass_jacobian([0.1, 0.2]).round(4)
    array([[-0.4442, -0.0849],
           [ 0.    ,  0.    ],
           [ 0.0623,  0.0263]])
    """
    return [("J", (3, c.nv), flat(c.columns(energy.center_of_mass_jacobian(c.sweeps()))))]


@method(Q, V, results="h", options=[ABOUT], read=_read_about)
def momentum(c: Context, about: str) -> Outputs:
    """Angular and linear momentum of all moving bodies.

    Returns
    -------
    h : ndarray, shape (..., 6)
        Momentum [angular; linear] (kg m²/s, kg m/s), in world axes.

    See Also
    --------
    momentum_matrix : The matrix A in h = A v.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.momentum([0.1, 0.2], [1.0, 0.0], about="world").round(4)
    array([ 0.    ,  0.4828,  0.    , -0.7996,  0.    ,  0.1122])
    """
    return [("h", (6,), list(energy.momentum(c.sweeps(), c.velocities(), about)))]


@method(Q, results="A", options=[ABOUT], read=_read_about)
def momentum_matrix(c: Context, about: str) -> Outputs:
    """Matrix that takes the velocity to the momentum.

    Parameters
    ----------
    about : {'com', 'world'}, default 'com'
        Point about which the angular momentum is taken: the centre of mass, which makes A the centroidal momentum
        matrix, or the origin of the world.

    Returns
    -------
    A : ndarray, shape (..., 6, nv)
        The `momentum` [angular; linear] in world axes is A v.

    See Also
    --------
    momentum : The momentum itself.
    centroidal_matrix : The same about the centre of mass, without options.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.momentum_matrix([0.1, 0.2], about="world").shape
    (6, 2)
    """
    return [("A", (6, c.nv), flat(c.columns(energy.momentum_matrix(c.sweeps(), about))))]


@method(Q, results="A")
def centroidal_matrix(c: Context) -> Outputs:
    """Centroidal momentum matrix.

    Returns
    -------
    A : ndarray, shape (..., 6, nv)
        The momentum [angular; linear] about the centre of mass, in world axes, is A v.

    See Also
    --------
    momentum_matrix : About the origin of the world too.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.centroidal_matrix([0.1, 0.2]).round(4)[1]
    array([0.1206, 0.0502])
    """
    return [("A", (6, c.nv), flat(c.columns(energy.momentum_matrix(c.sweeps(), energy.COM))))]
