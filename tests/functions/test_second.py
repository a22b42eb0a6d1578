"""Second derivatives: Jacobians and gradients differentiated again, against the complex step and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .step import directional
from .test_dynamics import meaning, near
from .test_methods import BATCH, arguments, function, robot, tangents

pytestmark = pytest.mark.drawn_in_line

EACH = pytest.mark.parametrize("name", ["tree", "linkage"])
METHODS = pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])


def moved(name: str, given: dict[str, np.ndarray], moving: dict[str, np.ndarray], t: float) -> dict[str, np.ndarray]:
    return {k: robot(name).integrate(x, moving[k], t) if k == "q" else x + t * moving[k] for k, x in given.items()}


def without_forces(method: str, name: str) -> dict[str, np.ndarray]:
    return {k: x for k, x in arguments(method, name).items() if k != "f_ext"}


def tangent_of(moving: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"d_{k}": x for k, x in moving.items()}


@EACH
@METHODS
def test_jacobians_along_a_direction(method: str, name: str) -> None:
    f = function(method, name, 0)
    given = without_forces(method, name)
    moving = tangents(f, given)
    (found,) = meaning(f.jacobian.jvp, {**given, **tangent_of(moving)})
    (exact,) = directional(robot(name), f.jacobian, given, moving)
    near(found, exact, 1e-12)
    h = 1e-3
    stencil = (3 / 4, -3 / 20, 1 / 60)  # of order six
    differences: Any = 0.0
    for k, weight in enumerate(stencil, 1):
        ahead, behind = (meaning(f.jacobian, moved(name, given, moving, s * k * h))[0] for s in (1, -1))
        differences = differences + weight * (ahead - behind) / h
    near(found, differences, 1e-7)


@EACH
def test_gradients_along_a_direction(name: str, method: str = "forward_dynamics") -> None:
    f = function(method, name, 0)
    given = without_forces(method, name)
    moving = tangents(f, given)
    weight = {"w_a": np.random.default_rng(3).normal(size=(BATCH, robot(name).nv))}
    found = meaning(f.vjp.jvp, {**given, **weight, **tangent_of(moving)})
    exact = directional(robot(name), f.vjp, {**given, **weight}, moving)
    for a, b in zip(found, exact, strict=True):
        near(a, b, 1e-12)


@EACH
def test_energy_has_a_symmetric_hessian_by_velocities(name: str) -> None:
    """∂²T/∂v² = M, by the Jacobian of the Jacobian and by the gradient's."""
    f = function("kinetic_energy", name, 0)
    given = arguments("kinetic_energy", name)
    nv = robot(name).nv
    (M,) = meaning(robot(name).mass_matrix, {"q": given["q"]})
    (blocks,) = meaning(f.jacobian.jacobian, given)
    hessian = blocks.reshape(BATCH, -1)  # of (∂T/∂q, ∂T/∂v): by q, then by v
    by_v = hessian[:, -2 * nv * nv :].reshape(BATCH, 2, nv, nv)[:, 1]
    near(by_v, M, 1e-13)
    moving = tangents(f, given)
    rates = meaning(f.vjp.jvp, {**given, "w_energy": np.ones(BATCH), "d_v": moving["v"]})
    near(rates[1], np.einsum("bij,bj->bi", M, moving["v"]), 1e-13)
