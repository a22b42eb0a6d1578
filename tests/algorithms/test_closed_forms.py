"""Motions that can be written down."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Prismatic, Revolute, Spherical, SphericalEuler
from fourbar.robots.chains import closed_form, double_pendulum

from .mechanisms import near, random_inertia
from .oracle import skew

pytestmark = pytest.mark.quick


def exp_rotation(w: np.ndarray) -> np.ndarray:
    """exp([w]) (..., 3, 3) by Rodrigues' formula."""
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    K = skew(w)
    return np.eye(3) + np.sin(angle) / angle * K + (1.0 - np.cos(angle)) / angle**2 * K @ K


def test_double_pendulum() -> None:
    robot = double_pendulum()
    rng = np.random.default_rng(0)
    q, v = robot.random(rng, 200), 5.0 * rng.normal(size=(200, 2))
    a = robot.forward_dynamics(q, v, np.zeros_like(v))
    near(a, closed_form(q, v), 1e-12)


def test_double_pendulum_of_other_sizes() -> None:
    lengths, masses = (1.3, 0.2), (0.1, 5.0)
    robot = double_pendulum(lengths, masses)
    rng = np.random.default_rng(1)
    q, v = robot.random(rng, 200), rng.normal(size=(200, 2))
    near(robot.forward_dynamics(q, v, 0.0 * v), closed_form(q, v, lengths, masses), 1e-11)


def test_pendulum() -> None:
    """A physical pendulum: (I + m l²) a = τ - m g l sin q."""
    mass, length, inertia = 1.5, 0.7, 0.2
    b = fb.Builder("pendulum")
    b.body("rod", joint=Revolute("y"), mass=mass, com=(0, 0, -length), inertia=[inertia] * 3, armature=0.1)
    q = np.linspace(-4.0, 4.0, 17)[:, None]
    tau = np.cos(q)
    expected = (tau - mass * 9.81 * length * np.sin(q)) / (inertia + mass * length**2 + 0.1)
    near(b.build().forward_dynamics(q, 3.0 * q, tau), expected, 1e-14)


def test_cart_and_pole() -> None:
    """(M + m) ẍ + m l θ̈ cos θ - m l θ̇² sin θ = F;  m l ẍ cos θ + m l² θ̈ + m g l sin θ = 0."""
    M, m, length = 2.0, 0.5, 0.8
    b = fb.Builder("cart_pole")
    b.body("cart", joint=Prismatic("x"), mass=M)
    b.body("pole", parent="cart", joint=Revolute("-y"), mass=m, com=(0, 0, -length))
    rng = np.random.default_rng(2)
    q, v, F = rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), rng.normal(size=20)
    c, s = np.cos(q[:, 1]), np.sin(q[:, 1])
    mass = np.array([[np.full(20, M + m), m * length * c], [m * length * c, np.full(20, m * length**2)]])
    force = np.array([F + m * length * v[:, 1] ** 2 * s, -m * 9.81 * length * s])
    expected = np.linalg.solve(np.moveaxis(mass, -1, 0), force.T[..., None])[..., 0]
    near(b.build().forward_dynamics(q, v, np.stack([F, 0 * F], axis=-1)), expected, 1e-13)


# --- tops -------------------------------------------------------------------------------------------------------------

ACROSS, ALONG = 0.3, 0.2  # principal moments of a symmetric top


def top(joint: object, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0), height: float = 0.0) -> fb.System:
    """A symmetric top about z with its centre of mass above the joint, about which its moments are taken."""
    b = fb.Builder("top", gravity=gravity)
    across = ACROSS - 1.0 * height**2
    b.body("top", joint=joint, mass=1.0, com=(0.0, 0.0, height), inertia=(across, across, ALONG))
    return b.build()


@pytest.mark.parametrize("joint", [Free(), Spherical()], ids=["free", "spherical"])
def test_free_symmetric_top(joint: object) -> None:
    """Body rates precess with Ω = (C - A) / A ω₃; R(t) = exp([L] t / A) R₀ exp([e₃] (1 - C / A) ω₃ t)."""
    robot = top(joint)
    rng = np.random.default_rng(3)
    v = np.zeros((4, robot.nv))
    v[:, :3] = 2.0 * rng.normal(size=(4, 3))
    q = robot.random(rng, 4)
    motion = fb.simulate(robot, q, v, duration=1.0, dt=5e-3, every=50)
    R0 = robot.pose(q, "top")[:, :3, :3]
    L = np.einsum("bij,j,bj->bi", R0, [ACROSS, ACROSS, ALONG], v[:, :3])
    for i, t in enumerate(motion.t[1:], 1):
        turned = (ALONG - ACROSS) / ACROSS * v[:, 2] * t
        c, s = np.cos(turned), np.sin(turned)
        rates = np.stack([c * v[:, 0] - s * v[:, 1], s * v[:, 0] + c * v[:, 1], v[:, 2]], axis=-1)
        near(motion.v[i][:, :3], rates, 1e-8)
        about_own_axis = np.stack([0 * c, 0 * c, (1.0 - ALONG / ACROSS) * v[:, 2] * t], axis=-1)
        expected = exp_rotation(L * t / ACROSS) @ R0 @ exp_rotation(about_own_axis)
        near(robot.pose(motion.q[i], "top")[:, :3, :3], expected, 1e-8)


def test_steady_precession_of_a_heavy_top() -> None:
    """C ω₃ φ̇ - A φ̇² cos θ = m g l: precession φ̇ and spin ψ̇ stay as they are, and θ too."""
    height = 0.4
    robot = top(SphericalEuler("zxz"), gravity=(0.0, 0.0, -9.81), height=height)
    precession = np.array([0.5, 1.0, 2.0, -1.5])
    theta = np.array([0.4, 1.0, 2.0, 0.7])
    along = (9.81 * height + ACROSS * precession**2 * np.cos(theta)) / (ALONG * precession)
    q = np.stack([0.3 + 0 * theta, theta, 1.0 + 0 * theta], axis=-1)
    v = np.stack([precession, 0 * theta, along - precession * np.cos(theta)], axis=-1)
    a = robot.forward_dynamics(q, v, np.zeros_like(v))
    near(a, np.zeros_like(a), 1e-12, 1.0 + np.abs(v).max(axis=-1) ** 2)


def test_heavy_top_keeps_its_three_integrals() -> None:
    """Energy, and angular momentum along the vertical and along the top's own axis."""
    robot = top(Spherical(), gravity=(0.0, 0.0, -9.81), height=0.4)
    rng = np.random.default_rng(4)
    q, v = robot.random(rng, 3), np.array([1.0, 1.0, 10.0]) * rng.normal(size=(3, 3))
    motion = fb.simulate(robot, q, v, duration=0.5, dt=1e-3, every=100)
    energy = robot.kinetic_energy(motion.q, motion.v) + robot.potential_energy(motion.q)
    vertical = robot.momentum(motion.q, motion.v, about="world")[..., 2]
    for integral in (energy, vertical, motion.v[..., 2]):
        near(integral, np.broadcast_to(integral[0], integral.shape), 1e-9)


def test_thrown_body_flies_on_a_parabola() -> None:
    """However it tumbles, the centre of mass of a free body moves as a point; momentum about it and energy stay."""
    rng = np.random.default_rng(5)
    b = fb.Builder("stone")
    b.body("stone", joint=Free(), mass=2.0, com=(0.1, -0.2, 0.3), inertia=random_inertia(rng, 2.0))
    robot = b.build()
    q, v = robot.random(rng, 3), 2.0 * rng.normal(size=(3, 6))
    motion = fb.simulate(robot, q, v, duration=1.0, dt=5e-3, every=40)
    start, h = robot.center_of_mass(q), robot.momentum(q, v)
    t = motion.t[:, None, None]
    path = start + h[:, 3:] / 2.0 * t + 0.5 * np.array([0.0, 0.0, -9.81]) * t**2
    near(robot.center_of_mass(motion.q), path, 1e-8)
    spin = robot.momentum(motion.q, motion.v)[..., :3]
    near(spin, np.broadcast_to(h[:, :3], spin.shape), 1e-8)
    energy = robot.kinetic_energy(motion.q, motion.v) + robot.potential_energy(motion.q)
    near(energy, np.broadcast_to(energy[0], energy.shape), 1e-8)
