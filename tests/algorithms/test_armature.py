"""Armature of joints whose velocities do not commute: the equations are those of one Lagrangian."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Joint, Planar, Revolute, Spherical
from fourbar.reference.lagrange import Lagrangian

BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.3), "inertia": (0.3, 0.4, 0.2)}
JOINTS = {
    "ball": (Spherical(), (0.5, 2.0, 7.0)),
    "planar": (Planar(), (0.4, 3.0, 9.0)),
    "free": (Free(), (0.1, 2.0, 5.0, 3.0, 8.0, 12.0)),
}
EACH = pytest.mark.parametrize("name", list(JOINTS))


def robot_on(joint: Joint, armature: tuple[float, ...], **settings: object) -> fb.System:
    return fb.Builder("one", **settings).body("body", joint=joint, armature=armature, **BODY).build()


@pytest.mark.quick
def test_momenta_of_a_hinge() -> None:
    """∂T/∂v = M v = 1.1, of inertia 0.05 and armature 0.5 at 2 rad/s."""
    robot = fb.Builder("hinge").body("b", joint=Revolute("z"), mass=1.0, inertia=(0.05,) * 3, armature=0.5).build()
    momenta = Lagrangian(robot).momenta([0.3], [2.0])
    assert np.allclose(momenta, 1.1, rtol=1e-15)
    assert np.allclose(momenta, robot.momentum_regressor([0.3], [2.0]) @ robot.inertial_parameters(), rtol=1e-15)


@pytest.mark.quick
@EACH
def test_momentum_without_forces(name: str) -> None:
    """The pose carries M v to a constant momentum in the world, and the energy is constant."""
    joint, armature = JOINTS[name]
    robot = robot_on(joint, armature, gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(0)
    run = fb.simulate(robot, robot.neutral(), rng.normal(size=robot.nv), duration=2.0, dt=0.002)
    p = (robot.mass_matrix(run.q) @ run.v[..., None])[..., 0]
    momentum = in_world(robot.poses(run.q)[..., 0, :, :], as_wrench(name, p))
    assert np.abs(momentum - momentum[0]).max() < 1e-8 * np.abs(momentum).max()
    energy = robot.kinetic_energy(run.q, run.v)
    assert np.ptp(energy) < 1e-8 * energy[0]


def as_wrench(name: str, p: np.ndarray) -> np.ndarray:
    """Momenta of a joint's velocities as [angular; linear] (..., 6) in the body's axes."""
    wrench = np.zeros((*p.shape[:-1], 6))
    wrench[..., {"ball": [0, 1, 2], "planar": [2, 3, 4], "free": [0, 1, 2, 3, 4, 5]}[name]] = p
    return wrench


def in_world(pose: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Momenta [angular; linear] in fixed axes about the world's origin."""
    R = pose[..., :3, :3]
    spin, linear = (R @ p[..., :3, None])[..., 0], (R @ p[..., 3:, None])[..., 0]
    return np.concatenate([spin + np.cross(pose[..., :3, 3], linear), linear], axis=-1)


@EACH
def test_forces_are_those_of_the_energies(name: str) -> None:
    """Inverse, forward and hybrid dynamics, C and the regressor beside the Lagrangian, on a moving carrier."""
    joint, armature = JOINTS[name]
    b = fb.Builder("two").body("base", joint=Spherical(), armature=(0.2, 0.5, 0.9), **BODY)
    robot = b.body("body", parent="base", joint=joint, armature=armature, position=(0.2, 0.1, 0.4), **BODY).build()
    rng = np.random.default_rng(1)
    q, v, a = robot.random(2, 5), *rng.normal(size=(2, 5, robot.nv))
    tau = Lagrangian(robot).inverse_dynamics(q, v, a)
    assert np.allclose(robot.inverse_dynamics(q, v, a), tau, rtol=1e-11, atol=1e-11)
    assert np.allclose(robot.forward_dynamics(q, v, tau), a, rtol=1e-10, atol=1e-10)
    assert np.allclose(robot.regressor(q, v, a) @ robot.inertial_parameters(), tau, rtol=1e-11, atol=1e-11)
    C = robot.coriolis_matrix(q, v)
    assert np.allclose((C @ v[..., None])[..., 0] + robot.gravity_force(q), robot.bias_force(q, v), atol=1e-11)
    assert np.allclose(np.einsum("...ijk,...k->...ij", robot.christoffel(q), v), C, atol=1e-11)
