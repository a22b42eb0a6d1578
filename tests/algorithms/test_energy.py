"""Energy, power and momentum: what the dynamics conserves, and at which rates it changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from fourbar.algorithms.energy import COM, WORLD

from . import direct
from .mechanisms import EACH, EACH_FLOATING, EXAMPLES, RECIPES, Recipe, mechanism, near, state
from .oracle import STENCIL, apply, armature_force

TIGHT = 1e-13


@EACH
@EXAMPLES
@given(RECIPES)
def test_kinetic_energy(number: int, recipe: Recipe) -> None:
    """T = ½ vᵀ M v."""
    robot = mechanism(number)
    s = state(robot, recipe)
    expected = 0.5 * np.einsum("bi,bij,bj->b", s.v, robot.mass_matrix(s.q), s.v)
    near(robot.kinetic_energy(s.q, s.v), expected, TIGHT)


@EACH
@EXAMPLES
@given(RECIPES)
def test_gravity_is_the_gradient_of_potential_energy(number: int, recipe: Recipe) -> None:
    robot = mechanism(number)
    q = state(robot, recipe).q
    still = np.zeros(robot.nv)
    gradient = direct.gradient(robot, lambda x: direct.energies(robot, x, still)[..., 1], q)
    near(robot.gravity_force(q), gradient, TIGHT)


@EACH
@EXAMPLES
@given(RECIPES)
def test_power_balance(number: int, recipe: Recipe) -> None:
    """d/dt (T + V) = τ · v along the motion that forward dynamics predicts, by an exact derivative of the energies."""
    robot = mechanism(number)
    s = state(robot, recipe)
    a = robot.forward_dynamics(s.q, s.v, s.tau)
    change = direct.rate(robot, lambda q, v: direct.energies(robot, q, v), s.q, s.v, a).sum(axis=-1)
    M, bias = robot.mass_matrix(s.q), robot.bias_force(s.q, s.v)
    flows = (np.abs(s.v) * (apply(np.abs(M), np.abs(a)) + np.abs(bias) + np.abs(s.tau))).sum(axis=-1)
    near(change, (s.tau * s.v).sum(axis=-1), TIGHT, flows)


@EACH
def test_power_balance_by_differences(number: int) -> None:
    """The same with compiled methods only: energies along q ⊕ t v, v + t a."""
    robot = mechanism(number)
    s = state(robot)
    a = robot.forward_dynamics(s.q, s.v, s.tau)
    h = 0.002

    def energy(t: float) -> np.ndarray:
        q, v = robot.integrate(s.q, s.v, t), s.v + t * a
        return robot.kinetic_energy(q, v) + robot.potential_energy(q)

    change = sum(w * (energy(k * h) - energy(-k * h)) / h for k, w in enumerate(STENCIL, 1))
    size = np.abs(energy(0.0)) + (np.abs(s.tau) * np.abs(s.v)).sum(axis=-1) + robot.kinetic_energy(s.q, s.v)
    near(change, (s.tau * s.v).sum(axis=-1), 1e-9, size)


@EACH
@EXAMPLES
@given(RECIPES)
def test_rate_of_the_mass_matrix(number: int, recipe: Recipe) -> None:
    """vᵀ(Ṁ - 2C)v = 0: ½ vᵀ Ṁ v is the power of the Coriolis forces, which are bias less gravity."""
    robot = mechanism(number)
    s = state(robot, recipe)
    tree = robot.model.cluster_tree.spanning_tree
    rate = direct.rate(robot, lambda q, _: direct.mass_matrix(tree, q), s.q, s.v, s.a)
    g = robot.gravity_force(s.q)
    power = (s.v * (robot.bias_force(s.q, s.v) - g)).sum(axis=-1)
    size = np.einsum("bi,bij,bj->b", np.abs(s.v), np.abs(rate), np.abs(s.v)) + np.abs(s.v * g).sum(axis=-1)
    near(np.einsum("bi,bij,bj->b", s.v, rate, s.v), 2.0 * power, TIGHT, size)


@EACH
@EXAMPLES
@given(RECIPES)
def test_coriolis_forces_are_quadratic_in_velocity(number: int, recipe: Recipe) -> None:
    robot = mechanism(number)
    s = state(robot, recipe)
    g = robot.gravity_force(s.q)
    once, thrice = robot.bias_force(s.q, s.v) - g, robot.bias_force(s.q, -3.0 * s.v) - g
    near(thrice, 9.0 * once, TIGHT, 9.0 * np.abs(once).max(axis=-1) + np.abs(g).max(axis=-1))


@EACH
@EXAMPLES
@given(RECIPES)
def test_momentum_matrix(number: int, recipe: Recipe) -> None:
    """momentum = A v about the world's origin and about the centre of mass; the two differ by com × linear."""
    robot = mechanism(number)
    s = state(robot, recipe)
    h = {about: robot.momentum(s.q, s.v, about=about) for about in (COM, WORLD)}
    for about in (COM, WORLD):
        A = robot.momentum_matrix(s.q, about=about)
        near(apply(A, s.v), h[about], TIGHT, apply(np.abs(A), np.abs(s.v)).max(axis=-1))
    near(robot.centroidal_matrix(s.q), robot.momentum_matrix(s.q, about=COM), 1e-15)
    moved = h[WORLD].copy()
    moved[:, :3] -= np.cross(robot.center_of_mass(s.q), h[WORLD][:, 3:])
    near(h[COM], moved, TIGHT, np.abs(h[WORLD]).max(axis=-1))


@EACH
@EXAMPLES
@given(RECIPES)
def test_velocity_of_the_centre_of_mass(number: int, recipe: Recipe) -> None:
    """Three routes to it: linear momentum, the Jacobian, and the rate of the position."""
    robot = mechanism(number)
    s = state(robot, recipe)
    mass = sum(c.I.m for c in robot.model.cluster_tree.spanning_tree.links)
    J = robot.center_of_mass_jacobian(s.q)
    size = apply(np.abs(J), np.abs(s.v)).max(axis=-1)
    velocity = direct.rate(robot, lambda q, _: direct.center_of_mass(robot, q), s.q, s.v, s.a)
    near(apply(J, s.v), velocity, TIGHT, size)
    near(robot.momentum(s.q, s.v)[:, 3:] / mass, velocity, TIGHT, size)
    near(robot.centroidal_matrix(s.q)[:, 3:] / mass, J, 1e-15)


@EACH_FLOATING
@EXAMPLES
@given(RECIPES)
def test_momentum_changes_by_external_forces_only(number: int, recipe: Recipe) -> None:
    """A floating robot: ḣ = weight at the centre of mass + external wrenches + what its free joint applies.

    The force that an armature of that joint takes, A a - ad_vᵀ A v, does not reach the body.
    """
    robot = mechanism(number)
    s = state(robot, recipe)
    a = robot.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext)
    change = direct.rate(robot, lambda q, v: direct.momentum(robot, q, v, WORLD), s.q, s.v, a)
    T = robot.poses(s.q)
    mass = sum(c.I.m for c in robot.model.cluster_tree.spanning_tree.links)
    base = robot.names.bodies.index("base")
    pushed = s.f_ext.copy()
    joint = robot.mechanism.joints[base]
    turning = armature_force([(joint.joint, joint.armature)], s.v[:, :6])
    pushed[:, base] += s.tau[:, :6] - np.array(joint.armature) * a[:, :6] - turning
    expected = world_wrench(T, pushed).sum(axis=1)
    weight = mass * np.array(robot.gravity)
    expected[:, :3] += np.cross(robot.center_of_mass(s.q), weight)
    expected[:, 3:] += weight
    A = robot.momentum_matrix(s.q, about=WORLD)
    size = apply(np.abs(A), np.abs(a)).max(axis=-1) + np.abs(expected).max(axis=-1)
    near(change, expected, TIGHT, size + np.abs(change - apply(A, a)).max(axis=-1))


def world_wrench(T: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Wrenches [moment; force] (..., 6) in body frames, carried to the world's origin."""
    force = apply(T[..., :3, :3], f[..., 3:])
    moment = apply(T[..., :3, :3], f[..., :3]) + np.cross(T[..., :3, 3], force)
    return np.concatenate([moment, force], axis=-1)
