"""Inverse, forward and hybrid dynamics, mass matrix, energy and momentum agree with each other, with loops."""

from __future__ import annotations

import numpy as np
import pytest

from .looped import EACH, apply, mechanism, near, slope, spanning, state, transposed

TIGHT = 1e-12


def _size(robot, s, a):
    """Forces that balance in an equation of motion, sample by sample."""
    forces = apply(np.abs(robot.mass_matrix(s.q)), np.abs(a)) + np.abs(robot.bias_force(s.q, s.v))
    return forces.max(axis=-1)


@EACH
def test_mass_matrix_is_that_of_the_spanning_tree_projected(name: str) -> None:
    """M = Gᵀ H G, symmetric and positive definite."""
    robot, s = mechanism(name), state(name)
    M, G = robot.mass_matrix(s.q), robot.loop_map(s.q)
    near(M, transposed(G) @ spanning(robot).mass_matrix(robot.expand(s.q)) @ G, 1e-13)
    near(M, transposed(M), 1e-15)
    assert np.all(np.linalg.eigvalsh(M) > 0.0)


@EACH
def test_inverse_mass_matrix(name: str) -> None:
    robot, s = mechanism(name), state(name)
    M, W = robot.mass_matrix(s.q), robot.inverse_mass_matrix(s.q)
    lost = np.abs(W).max(axis=(1, 2)) * np.abs(M).max(axis=(1, 2))
    near(W @ M, np.broadcast_to(np.eye(robot.nv), M.shape), 1e-13, lost)
    near(W, transposed(W), 1e-15)
    near(robot.solve_mass_matrix(s.q, s.tau), apply(W, s.tau), TIGHT)


@pytest.mark.every_mechanism
@EACH
def test_forward_and_inverse_dynamics_undo_each_other(name: str) -> None:
    robot, s = mechanism(name), state(name)
    tau = robot.inverse_dynamics(s.q, s.v, s.a, f_ext=s.f_ext)
    lost = np.abs(apply(np.abs(robot.inverse_mass_matrix(s.q)), np.abs(tau))).max(axis=-1)
    near(robot.forward_dynamics(s.q, s.v, tau, f_ext=s.f_ext), s.a, TIGHT, np.abs(s.a).max(axis=-1) + lost)
    a = robot.forward_dynamics(s.q, s.v, s.tau, f_ext=s.f_ext)
    near(robot.inverse_dynamics(s.q, s.v, a, f_ext=s.f_ext), s.tau, TIGHT, _size(robot, s, a))


@EACH
def test_equation_of_motion(name: str) -> None:
    """τ = M a + bias; bias = gravity where nothing moves; M a alone without gravity."""
    robot, s = mechanism(name), state(name)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    near(apply(robot.mass_matrix(s.q), s.a) + robot.bias_force(s.q, s.v), tau, TIGHT)
    near(robot.bias_force(s.q, 0.0 * s.v), robot.gravity_force(s.q), TIGHT)


@EACH
def test_coriolis_forces_are_quadratic_in_velocity(name: str) -> None:
    """Also the bias g of the loops is."""
    robot, s = mechanism(name), state(name)
    g = robot.gravity_force(s.q)
    once, thrice = robot.bias_force(s.q, s.v) - g, robot.bias_force(s.q, -3.0 * s.v) - g
    near(thrice, 9.0 * once, TIGHT, 9.0 * np.abs(once).max(axis=-1) + np.abs(g).max(axis=-1))
    near(robot.loop_bias(s.q, -3.0 * s.v), 9.0 * robot.loop_bias(s.q, s.v), TIGHT)


@EACH
def test_hybrid_dynamics(name: str) -> None:
    """Some clusters move as prescribed, the others by given forces: one equation of motion holds for both."""
    robot, s = mechanism(name), state(name)
    clusters = [c for c in robot.clusters if c.velocity_names][::2]
    joints = {label.split(".")[0] for c in clusters for label in c.velocity_names}
    held = np.array([label.split(".")[0] in joints for label in robot.names.velocities])
    a, tau = robot.hybrid_dynamics(s.q, s.v, s.a, s.tau, f_ext=s.f_ext, prescribed=sorted(joints))
    assert np.array_equal(a[:, held], s.a[:, held]) and np.array_equal(tau[:, ~held], s.tau[:, ~held])
    near(robot.inverse_dynamics(s.q, s.v, a, f_ext=s.f_ext), tau, TIGHT, _size(robot, s, a))


@EACH
def test_hybrid_dynamics_within_clusters(name: str) -> None:
    """Every second joint held, whatever it is tied to; then the others. Against inverse dynamics and dense algebra."""
    robot, s = mechanism(name), state(name)
    of = [label.split(".")[0] for label in robot.names.velocities]
    M, bias = robot.mass_matrix(s.q), robot.bias_force(s.q, s.v, f_ext=s.f_ext)
    for joints in (sorted(set(of))[::2], sorted(set(of))[1::2]):
        held = np.array([joint in joints for joint in of])
        a, tau = robot.hybrid_dynamics(s.q, s.v, s.a, s.tau, f_ext=s.f_ext, prescribed=joints)
        assert np.array_equal(a[:, held], s.a[:, held]) and np.array_equal(tau[:, ~held], s.tau[:, ~held])
        near(robot.inverse_dynamics(s.q, s.v, a, f_ext=s.f_ext), tau, TIGHT, _size(robot, s, a))
        push = s.tau[:, ~held] - bias[:, ~held] - np.einsum("bij,bj->bi", M[:, ~held][:, :, held], s.a[:, held])
        expected = np.linalg.solve(M[:, ~held][:, :, ~held], push[..., None])[..., 0]
        near(a[:, ~held], expected, 1e-11, np.abs(a).max(axis=-1))


@EACH
def test_energy(name: str) -> None:
    """T = ½ vᵀ M v, and both energies are those of the spanning tree."""
    robot, s = mechanism(name), state(name)
    T, V = robot.kinetic_energy(s.q, s.v), robot.potential_energy(s.q)
    near(T, 0.5 * np.einsum("bi,bij,bj->b", s.v, robot.mass_matrix(s.q), s.v), 1e-13)
    tree, q = spanning(robot), robot.expand(s.q)
    near(T, tree.kinetic_energy(q, robot.expand_velocity(s.q, s.v)), 1e-13)
    near(V, tree.potential_energy(q), 1e-13)


@EACH
def test_gravity_is_the_gradient_of_potential_energy(name: str) -> None:
    robot, s = mechanism(name), state(name)
    change = slope(lambda t: robot.potential_energy(robot.integrate(s.q, s.v, t)))
    g = robot.gravity_force(s.q)
    size = np.abs(robot.potential_energy(s.q)) + (np.abs(g) * np.abs(s.v)).sum(axis=-1)
    near(change, (g * s.v).sum(axis=-1), 1e-10, size)


@EACH
def test_power_balance(name: str) -> None:
    """d/dt (T + V) = τ · v along the motion that forward dynamics predicts: loops do no work."""
    robot, s = mechanism(name), state(name)
    a = robot.forward_dynamics(s.q, s.v, s.tau)

    def energy(t: float) -> np.ndarray:
        q, v = robot.integrate(s.q, s.v, t), s.v + t * a
        return robot.kinetic_energy(q, v) + robot.potential_energy(q)

    size = np.abs(energy(0.0)) + (np.abs(s.tau) * np.abs(s.v)).sum(axis=-1) + robot.kinetic_energy(s.q, a)
    near(slope(energy, h=0.002), (s.tau * s.v).sum(axis=-1), 1e-9, size)


@EACH
def test_momentum(name: str) -> None:
    """Momentum is A v, that of the spanning tree; its linear part is mass times velocity of the centre of mass."""
    robot, s = mechanism(name), state(name)
    tree, q, v = spanning(robot), robot.expand(s.q), robot.expand_velocity(s.q, s.v)
    A, h = robot.centroidal_matrix(s.q), robot.momentum(s.q, s.v)
    size = apply(np.abs(A), np.abs(s.v)).max(axis=-1) + np.abs(h).max(axis=-1)
    near(apply(A, s.v), h, 1e-12, size)
    near(h, tree.momentum(q, v), 1e-12, size)
    mass = sum(c.I.m for c in robot.model.cluster_tree.spanning_tree.links)
    velocity = slope(lambda t: robot.center_of_mass(robot.integrate(s.q, s.v, t)))
    near(h[:, 3:] / mass, velocity, 1e-10, size / mass)
    near(apply(robot.center_of_mass_jacobian(s.q), s.v), h[:, 3:] / mass, 1e-12, size / mass)


@EACH
def test_external_forces_act_through_jacobians(name: str) -> None:
    """A wrench on one body: τ changes by -Jᵀ f, with the Jacobian of that body in its own axes."""
    robot, s = mechanism(name), state(name)
    bodies = robot.names.bodies
    for body in (bodies[len(bodies) // 2], bodies[-1]):
        f_ext = np.zeros_like(s.f_ext)
        f_ext[:, bodies.index(body)] = s.f_ext[:, 0]
        change = robot.bias_force(s.q, s.v) - robot.bias_force(s.q, s.v, f_ext=f_ext)
        J = robot.jacobian(s.q, body, expressed_in="frame")
        size = np.abs(robot.bias_force(s.q, s.v)).max(axis=-1)
        near(change, apply(transposed(J), s.f_ext[:, 0]), TIGHT, size + np.abs(change).max(axis=-1))
