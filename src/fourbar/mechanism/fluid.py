"""`Fluid`: the fluid around a body, as frozen data. Nothing here computes dynamics."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..errors import ModelError
from ..hints import with_keyword_hints
from ..linalg import is_semidefinite, is_symmetric
from .placement import Three
from .validate import read_number, read_six_by_six, read_three

Six = tuple[float, float, float, float, float, float]
SixBySix = tuple[Six, Six, Six, Six, Six, Six]

_NO_DIAGONAL = (0.0,) * 6
_ROUNDING = 1e-9  # of matrices that are to be symmetric, or to have no negative eigenvalue
WATER = 1000.0  # kg/m³


@dataclass(frozen=True, init=False)
class Fluid:
    """The fluid around a body: added mass, buoyancy, drag, and a current.

    All matrices act on twists [angular; linear] at the origin of the body and in its axes; six numbers are a diagonal.

    Parameters
    ----------
    added_mass : array_like, shape (6,) or (6, 6), optional
        Added mass M_a of the fluid that moves with the body (kg m², kg m, kg), symmetric and without negative
        eigenvalues. It belongs to the mass matrix and has Coriolis and centrifugal forces of its own, but no weight.
    volume : float, default 0.0
        Volume of the displaced fluid (m³), whose weight is the buoyancy.
    center_of_buoyancy : array_like, shape (3,), default (0, 0, 0)
        Point at which the buoyancy acts (m), in the frame of the body.
    density : float, default 1000.0
        Density of the fluid (kg/m³).
    linear_drag : array_like, shape (6,) or (6, 6), optional
        D in the drag -D V (N m s/rad, N s, N s/m) at the velocity V relative to the fluid; D + Dᵀ has no negative
        eigenvalues, so that drag takes energy.
    quadratic_drag : array_like, shape (6,) or (6, 6), optional
        D₂ in the drag -D₂ |V| V, where |V| V are the products of each entry with its magnitude. The diagonal is not
        negative.
    current : array_like, shape (3,), default (0, 0, 0)
        Velocity of the undisturbed fluid (m/s), in world axes: constant, and the same everywhere.

    See Also
    --------
    Builder.body : Takes it as `fluid`.
    System.passive_forces : Has the forces of drag and current.

    Notes
    -----
    The equations are Kirchhoff's (From eq. 11), M_a A - ad_Vᵀ M_a V, for each body, whatever carries it. Bodies do not
    disturb each other's flow. Drag and current act where springs and dampers do: in `passive_forces`,
    `passive_dynamics` and simulations; `inverse_dynamics` and `forward_dynamics` have the added mass in still fluid
    and the buoyancy.

    Examples
    --------
    A sphere of radius 0.1 m has half the mass of the displaced water as added mass.

    >>> import fourbar as fb
    >>> from math import pi
    >>> volume = 4 / 3 * pi * 0.1**3
    >>> water = fb.Fluid(added_mass=[0, 0, 0] + 3 * [500 * volume], volume=volume)
    >>> b = fb.Builder("float")
    >>> _ = b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=3 * [0.004], fluid=water)
    >>> ball = b.build()
    >>> ball.forward_dynamics(ball.neutral(), 6 * [0], 6 * [0]).round(3) + 0.0
    array([ 0.   ,  0.   ,  0.   ,  0.   ,  0.   , 10.109])
    """

    added_mass: SixBySix
    volume: float
    center_of_buoyancy: Three
    density: float
    linear_drag: SixBySix
    quadratic_drag: SixBySix
    current: Three

    @with_keyword_hints
    def __init__(
        self,
        *,
        added_mass: Any = _NO_DIAGONAL,
        volume: Any = 0.0,
        center_of_buoyancy: Any = (0.0, 0.0, 0.0),
        density: Any = WATER,
        linear_drag: Any = _NO_DIAGONAL,
        quadratic_drag: Any = _NO_DIAGONAL,
        current: Any = (0.0, 0.0, 0.0),
    ) -> None:
        vectors = {
            "added_mass": _read_added_mass(added_mass),
            "volume": _read_size("volume", volume),
            "center_of_buoyancy": read_three("center_of_buoyancy", center_of_buoyancy),
            "density": _read_size("density", density),
            "linear_drag": _read_linear_drag(linear_drag),
            "quadratic_drag": _read_quadratic_drag(quadratic_drag),
            "current": read_three("current", current),
        }
        for name, value in vectors.items():
            object.__setattr__(self, name, value)


FIELDS = tuple(f.name for f in fields(Fluid))


def read_fluid(what: str, fluid: Any) -> Fluid | None:
    """The fluid around a body; None for none."""
    if fluid is None or isinstance(fluid, Fluid):
        return fluid
    raise ModelError(f"{what}: fluid must be a fb.Fluid, such as fb.Fluid(volume=0.01), or None, got {fluid!r}")


def _read_size(what: str, value: Any) -> float:
    size = read_number(what, value)
    if size < 0.0:
        raise ModelError(f"{what}: expected a number that is not negative, got {size}")
    return size


def _rows(M: np.ndarray) -> SixBySix:
    return tuple(tuple(row) for row in M.tolist())  # type: ignore[return-value]


def _sizes(M: np.ndarray) -> np.ndarray:
    """The largest entries of the diagonal of angular motions, three times, and of linear ones: (6)."""
    return np.repeat(np.abs(np.diag(M)).reshape(2, 3).max(axis=1), 3)


def _takes_energy(M: np.ndarray) -> bool:
    """Whether Vᵀ M V of a symmetric M is negative for no V, but for rounding; whatever the units are."""
    return bool(is_semidefinite(M + _ROUNDING * np.diag(_sizes(M)), _ROUNDING))


def _read_added_mass(value: Any) -> SixBySix:
    M = read_six_by_six("added_mass", value)
    if not is_symmetric(M, _sizes(M), _ROUNDING):
        raise ModelError(f"added_mass: expected a symmetric matrix, got {M.tolist()}")
    M = 0.5 * (M + M.T)
    if not _takes_energy(M):
        raise ModelError(
            f"added_mass: some motion would have a negative kinetic energy, got {M.tolist()}; give the inertia of the "
            "fluid itself, with a positive sign (tables of hydrodynamic derivatives list its negative)"
        )
    return _rows(M)


def _read_linear_drag(value: Any) -> SixBySix:
    D = read_six_by_six("linear_drag", value)
    if not _takes_energy(0.5 * (D + D.T)):
        raise ModelError(
            f"linear_drag: some motion would gain energy, got {D.tolist()}; drag is -D V, so give positive coefficients"
        )
    return _rows(D)


def _read_quadratic_drag(value: Any) -> SixBySix:
    D = read_six_by_six("quadratic_drag", value)
    if np.diag(D).min() < 0.0:
        raise ModelError(
            f"quadratic_drag: expected a diagonal that is not negative, got {np.diag(D).tolist()}; drag is -D |V| V"
        )
    return _rows(D)
