"""The medium of a compiled MuJoCo model (density, viscosity, wind) as drag on its bodies.

MuJoCo gives a body the drag of the box that has its mass and inertia, at its centre of mass and along its principal
axes: with edges b, their mean d, viscosity β and density ρ the forces -3π β d v and -½ ρ b_j b_k |v_i| v_i, and the
moments -π β d³ ω and -ρ b_i (b_j⁴ + b_k⁴) |ω_i| ω_i / 64, of velocities relative to the wind; no added mass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mechanism.fluid import Fluid
from .switches import DAMPING, SPRINGS, is_off

_LEAST_MASS = 1e-15  # kg: MuJoCo's mjMINVAL, below which a body has no drag
_ALIGNED = 1e-12  # of an entry of a rotation that exchanges axes


def has_medium(model: Any) -> bool:
    """Whether bodies have drag. Wind alone does nothing, and a file may switch all passive forces off."""
    off = is_off(model, SPRINGS) and is_off(model, DAMPING)
    return not off and bool(model.opt.density > 0.0 or model.opt.viscosity > 0.0)


def ellipsoids(model: Any, i: int) -> bool:
    """Whether a body has the forces of another model: those on its geoms as ellipsoids."""
    first = model.body_geomadr[i]
    return bool((model.geom_fluid[first : first + model.body_geomnum[i], 0] > 0.0).any()) if first >= 0 else False


def drag(model: Any, i: int) -> Fluid | None:
    """The drag on a body at its centre of mass and along its principal axes; None for bodies without any."""
    mass, moments = float(model.body_mass[i]), np.array(model.body_inertia[i])
    if not has_medium(model) or mass < _LEAST_MASS or model.body_weldid[i] == 0 or ellipsoids(model, i):
        return None
    b = np.sqrt(np.maximum(moments.sum() - 2.0 * moments, _LEAST_MASS) * 6.0 / mass)  # (3,), m
    d, fourth = b.mean(), b**4
    density, viscosity = model.opt.density, model.opt.viscosity
    return Fluid(
        density=density,
        linear_drag=np.pi * viscosity * d * np.array([d * d, d * d, d * d, 3.0, 3.0, 3.0]),
        quadratic_drag=density * np.concatenate([b * (fourth.sum() - fourth) / 64.0, 0.5 * b.prod() / b]),
        current=np.array(model.opt.wind),
    )


def in_body_axes(fluid: Fluid, R: np.ndarray, com: np.ndarray) -> Fluid | None:
    """The same drag in the frame of the body, where that is a diagonal too: with the centre of mass (3) at its origin,
    and principal axes, the columns of R (3, 3), that are its own in another order. None elsewhere."""
    exchange = np.abs(R).round()
    if com.any() or np.abs(np.abs(R) - exchange).max() > _ALIGNED:
        return None
    linear, quadratic = (
        np.concatenate([exchange @ np.diag(x)[:3], exchange @ np.diag(x)[3:]])
        for x in (np.array(fluid.linear_drag), np.array(fluid.quadratic_drag))
    )
    return Fluid(density=fluid.density, linear_drag=linear, quadratic_drag=quadratic, current=fluid.current)
