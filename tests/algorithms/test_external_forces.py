"""External wrenches act on bodies in their frames: τ = M a + C v + g - Σ Jᵀ f."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from .mechanisms import EACH, EXAMPLES, RECIPES, Recipe, condition, mechanism, near, state
from .oracle import Kinematics, grounded

TIGHT = 1e-13


def body_jacobians(number: int, q: np.ndarray) -> np.ndarray:
    """J (batch, bodies, 6, nv) of all bodies at their origins, in their own axes, from differentiated poses."""
    robot = mechanism(number)
    J, T = Kinematics(robot).jacobians(q), Kinematics(robot).poses(q)
    R = {name: np.swapaxes(T[name][..., :3, :3], -1, -2) for name in robot.names.bodies}
    turned = [np.concatenate([R[b] @ J[b][..., :3, :], R[b] @ J[b][..., 3:, :]], axis=-2) for b in robot.names.bodies]
    return np.stack(turned, axis=1).astype(float)


@EACH
@EXAMPLES
@given(RECIPES)
def test_external_forces_enter_by_the_transposed_jacobians(number: int, recipe: Recipe) -> None:
    """ID with f_ext less ID without is -Σ Jᵀ f, over moving, fixed and grounded bodies."""
    robot = mechanism(number)
    s = state(robot, recipe)
    J = body_jacobians(number, s.q)
    expected = np.einsum("bnij,bni->bj", J, s.f_ext)
    plain, pushed = robot.inverse_dynamics(s.q, s.v, s.a), robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    size = np.abs(expected).max(axis=-1) + np.abs(plain).max(axis=-1)
    near(plain - pushed, expected, TIGHT, size)


@pytest.mark.quick
def test_the_jacobian_method_gives_the_same_map() -> None:
    """The same with `jacobian(at="origin", expressed_in="frame")`, for a moving, a fixed and a welded body."""
    robot = mechanism(0)
    q = state(robot).q
    expected = body_jacobians(0, q)
    for name in ("base", "body4", "welded"):
        J = robot.jacobian(q, name, at="origin", expressed_in="frame")
        near(J, expected[:, robot.names.bodies.index(name)], TIGHT)


@EACH
@EXAMPLES
@given(RECIPES)
def test_forward_dynamics_with_external_forces(number: int, recipe: Recipe) -> None:
    """FD(τ, f_ext) = FD(τ + Σ Jᵀ f)."""
    robot = mechanism(number)
    s = state(robot, recipe)
    pushed = robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    extra = robot.inverse_dynamics(s.q, s.v, s.a) - pushed
    expected = robot.forward_dynamics(s.q, s.v, s.tau + extra)
    tol = 1e-14 * condition(robot.mass_matrix(s.q)).max()
    near(robot.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext), expected, max(tol, TIGHT))
    size = 1.0 + np.abs(expected).max(axis=-1)
    near(robot.forward_dynamics(s.q, s.v, pushed, f_ext=s.f_ext), s.a, 10.0 * max(tol, TIGHT), size)


@EACH
def test_forces_on_the_ground_do_nothing(number: int) -> None:
    robot = mechanism(number)
    s = state(robot)
    fixed = [i for i, b in enumerate(robot.names.bodies) if b in grounded(robot)]
    f = np.zeros_like(s.f_ext)
    f[:, fixed] = 1e6
    near(robot.inverse_dynamics(s.q, s.v, s.a, f_ext=f), robot.inverse_dynamics(s.q, s.v, s.a), 1e-14)


@EACH
def test_weight_as_external_force(number: int) -> None:
    """Gravity is a force m g at each centre of mass: applied by hand to a weightless robot it gives the same motion."""
    robot = mechanism(number)
    s = state(robot)
    R = robot.poses(s.q)[..., :3, :3]
    f = np.zeros_like(s.f_ext)
    for i, b in enumerate(robot.mechanism.bodies):
        f[:, i, 3:] = b.mass * np.einsum("bji,j->bi", R[:, i], robot.gravity)
        f[:, i, :3] = np.cross(b.com, f[:, i, 3:])
    weightless = robot.with_gravity((0.0, 0.0, 0.0))
    near(weightless.bias_force(s.q, s.v, f_ext=f), robot.bias_force(s.q, s.v), TIGHT)
