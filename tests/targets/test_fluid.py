"""Functions of a robot in a fluid elsewhere: CasADi computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free


def test_casadi() -> None:
    pytest.importorskip("casadi", reason="casadi is not installed")
    to_casadi: Any = pytest.importorskip("fourbar.casadi").function
    fluid = fb.Fluid(
        added_mass=[0.1, 0.2, 0.3, 1, 2, 3], volume=1e-3, linear_drag=[1] * 6, quadratic_drag=[2] * 6, current=(1, 2, 3)
    )
    robot = fb.Builder("one").body("b", joint=Free(), mass=2.0, inertia=(0.1,) * 3, fluid=fluid).build()
    q, (v, tau) = robot.random(1), np.random.default_rng(0).normal(size=(2, 6))
    for method in (robot.passive_dynamics, robot.forward_dynamics):
        found = np.array(to_casadi(method)(q, v, tau)).ravel()
        assert np.allclose(found, method(q, v, tau), rtol=1e-12, atol=1e-12)
