"""The public algebra against 4 x 4 and 6 x 6 matrices: floats, batches, traced scalars; and a group of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import fourbar as fb
from fourbar import spatial
from fourbar.expr import Graph, cos, evaluate, sin
from fourbar.joints import Composite, GroupJoint, Helical, Prismatic
from fourbar.spatial import SE2, Ad, Inertia, Mat, Subgroup, Transform, Twist, Vec, Wrench, ad, exp, log, to_array
from fourbar.spatial.series import half_cot

RNG = np.random.default_rng(11)
SHAPES = [(), (5,), (2, 3)]


def hat(w: np.ndarray) -> np.ndarray:
    zero = np.zeros(w.shape[:-1])
    x, y, z = np.moveaxis(w, -1, 0)
    return np.stack([np.stack(row, -1) for row in ([zero, -z, y], [z, zero, -x], [-y, x, zero])], -2)


def homogeneous(V: np.ndarray) -> np.ndarray:
    """The 4 x 4 matrix of a twist."""
    top = np.concatenate([hat(V[..., :3]), V[..., 3:, None]], axis=-1)
    return np.concatenate([top, np.zeros((*V.shape[:-1], 1, 4))], axis=-2)


def twist_of(matrix: np.ndarray) -> np.ndarray:
    return np.concatenate([matrix[..., [2, 0, 1], [1, 2, 0]], matrix[..., :3, 3]], axis=-1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_exponential_is_the_exponential_of_matrices(shape: tuple[int, ...]) -> None:
    V = RNG.normal(size=(*shape, 6))
    T = exp(Twist.from_array(V))
    np.testing.assert_allclose(to_array(T), scipy.linalg.expm(homogeneous(V)), atol=1e-14)
    np.testing.assert_allclose(to_array(log(T)), V, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_adjoint_matrices_conjugate_twists(shape: tuple[int, ...]) -> None:
    V, W = RNG.normal(size=(2, *shape, 6))
    T = to_array(exp(Twist.from_array(RNG.normal(size=(*shape, 6)))))
    pose = Transform.from_array(T)
    carried = twist_of(T @ homogeneous(V) @ np.linalg.inv(T))
    np.testing.assert_allclose(np.einsum("...ij,...j->...i", to_array(Ad(pose)), V), carried, atol=1e-13)
    np.testing.assert_allclose(to_array(pose.motion_to_parent(Twist.from_array(V))), carried, atol=1e-13)
    bracket = twist_of(homogeneous(V) @ homogeneous(W) - homogeneous(W) @ homogeneous(V))
    np.testing.assert_allclose(np.einsum("...ij,...j->...i", to_array(ad(Twist.from_array(V))), W), bracket, atol=1e-13)
    np.testing.assert_allclose(to_array(Twist.from_array(V).ad(Twist.from_array(W))), bracket, atol=1e-13)


def test_dual_of_the_bracket_keeps_power() -> None:
    V, W, F = RNG.normal(size=(3, 6))
    rate = Twist.from_array(V).ad_dual(Wrench.from_array(F))
    np.testing.assert_allclose(to_array(rate), -to_array(ad(Twist.from_array(V))).T @ F, atol=1e-14)
    assert np.isclose(rate.power(Twist.from_array(W)), -F @ to_array(ad(Twist.from_array(V))) @ W)


def test_arithmetic_scales_entries() -> None:
    """NamedTuples would repeat themselves."""
    V, F = Twist.from_array(RNG.normal(size=6)), Wrench.from_array(RNG.normal(size=6))
    for value in (V, F):
        np.testing.assert_array_equal(to_array(value * 2.0), 2.0 * to_array(value))
        np.testing.assert_array_equal(to_array(2.0 * value), 2.0 * to_array(value))
        np.testing.assert_array_equal(to_array(-value), -to_array(value))


def test_poses_and_inertias_of_a_robot() -> None:
    """Composite inertias by hand equal the mass matrix."""
    robot = fb.robots.double_pendulum()
    q = robot.random(rng=0, n=7)
    T, J = Transform.from_array(robot.poses(q)), robot.jacobians(q)
    bodies = [Inertia.about_com(b.mass, b.com, b.inertia) for b in robot.mechanism.bodies]
    total = sum(np.swapaxes(J[:, k], -1, -2) @ to_array(I) @ J[:, k] for k, I in enumerate(bodies))
    np.testing.assert_allclose(total, robot.mass_matrix(q), atol=1e-13)
    np.testing.assert_allclose(to_array(T @ T.inverse()), np.broadcast_to(np.eye(4), (7, 2, 4, 4)), atol=1e-14)


def test_traced_scalars() -> None:
    symbols = Graph().inputs("V", 6)
    V = RNG.normal(size=6)
    traced = [x for row in Ad(exp(Twist.of(symbols))) for x in row]
    numbers = evaluate(traced, dict(zip(symbols, V.tolist(), strict=True)))
    np.testing.assert_allclose(np.reshape(numbers, (6, 6)), to_array(Ad(exp(Twist.from_array(V)))), atol=1e-15)


@pytest.mark.parametrize(
    ("reader", "wrong"),
    [(Twist, (3,)), (Wrench, (6, 2)), (Transform, (3, 4)), (Vec, ()), (Mat, (3,))],
    ids=["twist", "wrench", "pose", "vector", "matrix"],
)
def test_wrong_shapes_are_refused(reader: Any, wrong: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected shape \(\.\.\., .*got"):
        reader.from_array(np.zeros(wrong))


def test_arrays_of_something_else_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Twist.*got dict"):
        to_array({})


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_complement_does_no_work_on_the_subspace(n: int) -> None:
    S = spatial.Columns(tuple(Vec(x) for x in RNG.normal(size=(n, 6)).tolist()))
    W = to_array(S.complement())
    np.testing.assert_allclose(to_array(S).T @ W, 0.0, atol=1e-14)
    np.testing.assert_allclose(W.T @ W, np.eye(6 - n), atol=1e-14)
    selection = spatial.Selection(tuple(range(n)))
    np.testing.assert_array_equal(to_array(selection).T @ to_array(selection.complement()), np.zeros((n, 6 - n)))


def test_every_public_name_is_there() -> None:
    assert set(spatial.__all__) <= set(dir(spatial))
    assert all(getattr(spatial, name).__doc__ for name in spatial.__all__)


# --- a group that the library does not have --------------------------------------------------------------------------

PITCH = 0.2  # metres per radian


class ScrewingPlane(Subgroup):
    """Translations along x and y, and screws about z: the group Y of Hervé's list."""

    name = "Y"
    nq = nv = 3
    basis = ((0, 0, 1, 0, 0, PITCH), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0))

    def placement(self, a: Any) -> Transform:
        c, s = cos(a[2]), sin(a[2])
        return Transform.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], (a[0], a[1], PITCH * a[2]))

    def coordinates(self, T: Transform) -> Vec:
        return Vec((T.p[0], T.p[1], T.p[2] / PITCH))

    def log(self, a: Any) -> Vec:
        k, half = half_cot(a[2] * a[2]), 0.5 * a[2]
        return Vec((a[2], k * a[0] + half * a[1], k * a[1] - half * a[0]))


@dataclass(frozen=True)
class ScrewingPlaneJoint(GroupJoint):
    group = ScrewingPlane()
    nq = nv = 3
    q_names = ("x", "y", "angle")
    v_names = ("w", "vx", "vy")


GROUP = ScrewingPlane()


def test_subgroup_obeys_the_axioms() -> None:
    for _ in range(5):
        u, v = RNG.normal(size=(2, 3)).tolist()
        a, b = GROUP.exp(u), GROUP.exp(v)
        np.testing.assert_allclose(GROUP.log(a), u, atol=1e-13)
        np.testing.assert_allclose(GROUP.compose(GROUP.inverse(a), a), GROUP.identity(), atol=1e-14)
        conjugate = GROUP.compose(GROUP.compose(a, b), GROUP.inverse(a))
        np.testing.assert_allclose(GROUP.exp(GROUP.Ad(a) @ v), conjugate, atol=1e-13)
        np.testing.assert_allclose(
            to_array(GROUP.dexp(Vec(u))) @ to_array(GROUP.dexp_inv(Vec(u))), np.eye(3), atol=1e-13
        )
        h = 1e-6
        ahead, behind = (np.array(GROUP.plus(a, (np.array(v) * s).tolist())) for s in (h, -h))
        np.testing.assert_allclose(GROUP.rate(a, v), (ahead - behind) / (2 * h), atol=1e-8)
        np.testing.assert_allclose(to_array(GROUP.ad(u)) @ v, -to_array(GROUP.ad(v)) @ u, atol=1e-14)


def test_subgroup_agrees_with_its_kin() -> None:
    """With v = (ω, vx, vy) the plane's part of the group is SE(2), whose formulas are written out."""
    u = RNG.normal(size=3).tolist()
    for name in ("ad", "dexp", "dexp_inv", "right_dexp"):
        np.testing.assert_allclose(getattr(GROUP, name)(Vec(u)), getattr(SE2(), name)(Vec(u)), atol=1e-14)


def body_on(joint: fb.joints.Joint, gravity: tuple[float, float, float] = (0.3, 0.1, -9.81)) -> fb.System:
    b = fb.Builder("body", gravity=gravity)
    b.body("body", joint=joint, mass=1.7, com=(0.1, -0.2, 0.3), inertia=(0.2, 0.25, 0.3))
    return b.build()


def test_dynamics_on_the_group_equal_those_of_a_chain() -> None:
    """Two slides and a screw reach the same placements in other velocities: forces have the same power."""
    ours, chain = (
        body_on(ScrewingPlaneJoint()),
        body_on(Composite(Prismatic("x"), Prismatic("y"), Helical("z", pitch=PITCH))),
    )
    q, rate, rate_rate = RNG.normal(size=(3, 3))
    np.testing.assert_allclose(ours.pose(q, "body"), chain.pose(q, "body"), atol=1e-14)

    def velocities(x: np.ndarray) -> np.ndarray:
        """B with v = B q̇: from the Jacobians of both."""
        return np.linalg.lstsq(ours.jacobian(x, "body"), chain.jacobian(x, "body"), rcond=None)[0]

    h = 1e-5
    B = velocities(q)
    turn = (velocities(q + h * rate) - velocities(q - h * rate)) / (2 * h)
    tau = ours.inverse_dynamics(q, B @ rate, B @ rate_rate + turn @ rate)
    np.testing.assert_allclose(B.T @ tau, chain.inverse_dynamics(q, rate, rate_rate), rtol=1e-8)


def test_coriolis_forces_are_those_of_from() -> None:
    """From eq. 75: C(v) v = ad~_(Mv) v with M = Hᵀ I H, without gravity."""
    robot = body_on(ScrewingPlaneJoint(), gravity=(0, 0, 0))
    q, v = RNG.normal(size=(2, 3))
    M = robot.mass_matrix(q)
    H = to_array(GROUP.subspace)
    I = to_array(Inertia.about_com(1.7, (0.1, -0.2, 0.3), np.diag((0.2, 0.25, 0.3)).tolist()))
    np.testing.assert_allclose(M, H.T @ I @ H, atol=1e-14)
    C = to_array(GROUP.coadjoint_coriolis((M @ v).tolist()))
    np.testing.assert_allclose(robot.bias_force(q, v), C @ v, atol=1e-13)


def test_a_basis_of_too_few_twists_is_refused() -> None:
    class Wrong(ScrewingPlane):
        basis = ScrewingPlane.basis[:2]

    with pytest.raises(ValueError, match="nv = 3 independent twists"):
        Wrong().ad((1.0, 0.0, 0.0))
