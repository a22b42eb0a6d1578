"""A single body on each Lie group: From's Coriolis matrices C(v) = ad~_(Mv) (Tables 1 and 2), M v̇ + C(v) v = τ.

From orders velocities [linear; angular] where we write [angular; linear]: the matrices below are his, permuted, as
functions of the momentum p = M v. (His Table 1 prints the one of SO(3) with the wrong sign; his eq. 68 and Table 2 have
it right.) M need not be diagonal: the body's centre of mass is off the joint and its principal axes are oblique.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from fourbar import Builder, System, joints
from fourbar.joints.axis import rotation_from_z
from fourbar.spatial.flow import Flow
from fourbar.spatial.inertia import Inertia
from fourbar.spatial.linear import Vec
from fourbar.spatial.vectors import Twist

from .mechanisms import near, random_inertia, random_rotation
from .oracle import apply, skew

ODD = (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)
PITCH = 0.3


def _se3(p: np.ndarray) -> np.ndarray:
    """From eq. 73."""
    angular, linear = skew(p[:3]), skew(p[3:])
    return -np.block([[angular, linear], [linear, np.zeros((3, 3))]])


def _se2(p: np.ndarray) -> np.ndarray:
    """From eq. 82."""
    _, x, y = p
    return np.array([[0.0, y, -x], [-y, 0.0, 0.0], [x, 0.0, 0.0]])


def _x(p: np.ndarray) -> np.ndarray:
    """From eq. 93: motion along z takes no part."""
    C = np.zeros((4, 4))
    C[:3, :3] = _se2(p[:3])
    return C


def _none(p: np.ndarray) -> np.ndarray:
    return np.zeros((len(p), len(p)))


# Joint about z; columns of H as entries of the twist (From eq. 58; a screw has two); C as a function of p = M v.
UNITS = np.eye(6)
TABLE: dict[str, tuple[Callable[..., joints.Joint], np.ndarray, Callable[[np.ndarray], np.ndarray]]] = {
    "SE(3)": (joints.Free, UNITS, _se3),
    "X(z)": (joints.Schoenflies, UNITS[[2, 3, 4, 5]], _x),
    "SE(2)": (joints.Planar, UNITS[[2, 3, 4]], _se2),
    "SO(3)": (joints.Spherical, UNITS[[0, 1, 2]], lambda p: -skew(p)),
    "R3": (joints.Translation3, UNITS[[3, 4, 5]], _none),
    "R2": (joints.Translation2, UNITS[[3, 4]], _none),
    "R": (joints.Prismatic, UNITS[[5]], _none),
    "H": (lambda *axis: joints.Helical(*axis, pitch=PITCH), UNITS[[2]] + PITCH * UNITS[[5]], _none),
    "SO(2)": (joints.Revolute, UNITS[[2]], _none),
}
WITHOUT_AXIS = ("SE(3)", "SO(3)", "R3")
CASES = [(group, axis) for group in TABLE for axis in ("z", "y", ODD) if axis == "z" or group not in WITHOUT_AXIS]
EACH_CASE = pytest.mark.parametrize("group, axis", CASES, ids=[f"{g}-{'odd' if a == ODD else a}" for g, a in CASES])
pytestmark = pytest.mark.quick


@cache
def body(group: str, axis: str | tuple[float, ...]) -> tuple[System, np.ndarray]:
    """A weightless body on the joint, and its spatial inertia (6 x 6) in its own frame."""
    rng = np.random.default_rng(1)
    mass, com = 1.7, np.array([0.2, -0.1, 0.3])
    inertia = random_inertia(rng, mass)
    joint = TABLE[group][0](*(() if group in WITHOUT_AXIS else (axis,)))
    b = Builder(group, gravity=(0.0, 0.0, 0.0))
    b.body("body", joint=joint, position=(1, 2, 3), rotation=random_rotation(rng), mass=mass, com=com, inertia=inertia)
    c = skew(com)
    return b.build(), np.block([[inertia + mass * c @ c.T, mass * c], [mass * c.T, mass * np.eye(3)]])


def selection(group: str, axis: str | tuple[float, ...]) -> np.ndarray:
    """H (6 x nv), turned from z to the axis."""
    A = rotation_from_z(axis)
    turn = np.eye(3) if A is None else np.array(A, float)
    return np.kron(np.eye(2), turn) @ TABLE[group][1].T


def states(robot: System) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return robot.random(rng, 5), 3.0 * rng.normal(size=(5, robot.nv))


@EACH_CASE
def test_mass_matrix_is_constant(group: str, axis: str | tuple[float, ...]) -> None:
    """M = Hᵀ I H at every configuration, not diagonal."""
    robot, inertia = body(group, axis)
    H = selection(group, axis)
    q, _ = states(robot)
    M = H.T @ inertia @ H
    near(robot.mass_matrix(q), np.broadcast_to(M, (len(q), *M.shape)), 1e-14)
    assert len(M) < 3 or group.startswith("R") or np.abs(M - np.diag(np.diag(M))).max() > 0.01


@EACH_CASE
def test_coriolis_table(group: str, axis: str | tuple[float, ...]) -> None:
    """bias = C(v) v, with C from the table."""
    robot, _ = body(group, axis)
    q, v = states(robot)
    p = apply(robot.mass_matrix(q), v)
    C = np.array([TABLE[group][2](x) for x in p])
    near(robot.bias_force(q, v), apply(C, v), 1e-14, (np.abs(v) * np.abs(p)).sum(axis=-1))


@EACH_CASE
def test_newton_euler(group: str, axis: str | tuple[float, ...]) -> None:
    """bias = -Hᵀ ad_Vᵀ I V with V = H v (From eq. 11, 76), and M v̇ = τ - bias."""
    robot, inertia = body(group, axis)
    H = selection(group, axis)
    q, v = states(robot)
    V = v @ H.T
    W, U = skew(V[:, :3]), skew(V[:, 3:])
    ad = np.block([[W, np.zeros_like(W)], [U, W]])
    bias = -apply(np.swapaxes(ad, -1, -2), V @ inertia) @ H
    size = (np.abs(V) @ np.abs(inertia)).max(axis=-1) * np.abs(V).max(axis=-1)
    near(robot.bias_force(q, v), bias, 1e-14, size)
    tau = np.random.default_rng(3).normal(size=v.shape)
    a = np.linalg.solve(H.T @ inertia @ H, (tau - bias).T).T
    near(robot.forward_dynamics(q, v, tau), a, 1e-13)


@pytest.mark.parametrize("group", [g for g in TABLE if g not in ("R", "H", "SO(2)")])
def test_the_group_says_the_same(group: str) -> None:
    """`coadjoint_coriolis` of the joint's group is the matrix of the table."""
    robot, _ = body(group, "z")
    joint = robot.mechanism.joints[0].joint
    p = np.random.default_rng(4).normal(size=robot.nv)
    C = np.array(joint.group.coadjoint_coriolis(p.tolist()), float)
    near(C[None], TABLE[group][2](p)[None], 1e-15)


def test_kirchhoff() -> None:
    """Kirchhoff's equations (From eq. 7-11): ṗ = p × ω + f, π̇ = π × ω + p × v + τ for momenta p, π in the body."""
    robot, inertia = body("SE(3)", "z")
    q, V = states(robot)
    wrench = np.random.default_rng(5).normal(size=V.shape)
    momentum = V @ inertia
    rate = robot.forward_dynamics(q, V, wrench) @ inertia
    w, u, spin, p = V[:, :3], V[:, 3:], momentum[:, :3], momentum[:, 3:]
    near(rate[:, 3:], np.cross(p, w) + wrench[:, 3:], 1e-13, np.abs(rate).max(axis=-1))
    near(rate[:, :3], np.cross(spin, w) + np.cross(p, u) + wrench[:, :3], 1e-13, np.abs(rate).max(axis=-1))


def test_the_matrix_of_a_body_is_that_of_the_literature() -> None:
    """B(I, V) = ½ [(V ×*) I + (I V) ×̄* - I (V ×)], where (F ×̄*) V = V ×* F."""
    rng = np.random.default_rng(0)
    A, com, V = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=6)
    body = Inertia.about_com(2.0, com.tolist(), (A @ A.T + 3.0 * np.eye(3)).tolist())
    I = np.array(body.matrix(), float)

    def cross(V: np.ndarray) -> np.ndarray:
        return np.block([[skew(V[:3]), np.zeros((3, 3))], [skew(V[3:]), skew(V[:3])]])

    barred = np.stack([-cross(e).T @ I @ V for e in np.eye(6)], -1)
    flow = Flow.of(body, Twist.of(Vec(V.tolist())))
    found = np.stack([np.array(flow.force(Twist.of(Vec(e.tolist()))).six(), float) for e in np.eye(6)], -1)
    near(found, 0.5 * (-cross(V).T @ I + barred - I @ cross(V)), 1e-14)
