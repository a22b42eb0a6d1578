"""Transforms, twists, wrenches, inertias and subspaces against their 6 x 6 matrices (docs/notation.md)."""

import numpy as np
import pytest

from fourbar.spatial.inertia import Articulated, Inertia, is_usable, unphysical
from fourbar.spatial.linear import Mat, Sym, Vec
from fourbar.spatial.motion import Motion, Spin
from fourbar.spatial.rotation import RotationZ, quaternion_matrix
from fourbar.spatial.solve import factor
from fourbar.spatial.subspace import Columns, Selection
from fourbar.spatial.transform import Transform
from fourbar.spatial.vectors import Twist, Wrench

RNG = np.random.default_rng(7)


def close(a, b, tolerance=1e-13):
    a, b = np.array(a, float), np.array(b, float)
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


def hat(a):
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def random_vec(n=3):
    return Vec(RNG.normal(size=n).tolist())


def random_transform():
    q = RNG.normal(size=4)
    angle = RNG.normal()
    turn = RotationZ(float(np.cos(angle)), float(np.sin(angle)))
    return Transform((quaternion_matrix(Vec(q.tolist())), turn, quaternion_matrix(random_vec(4))), random_vec())


def motion_matrix(T):
    """X = [[Rᵀ, 0], [-Rᵀ[p], Rᵀ]]."""
    R = np.array(T.R, float)
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ hat(T.p), R.T]])


def random_inertia():
    return Inertia.about_com(1.5, RNG.normal(size=3) * 0.2, _solid(RNG.uniform(0.1, 0.2, 3)))


def _solid(principal):
    R = np.array(quaternion_matrix(random_vec(4)), float)
    return R @ np.diag(principal) @ R.T


def random_articulated():
    A = RNG.normal(size=(6, 6))
    return Articulated.of_rows((A @ A.T + 6 * np.eye(6)).tolist())


def ad(V):
    w, v = hat(V.angular), hat(V.linear)
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def test_rotation_factors_equal_their_product():
    T, a = random_transform(), random_vec()
    R = np.array(T.R, float)
    close(R @ R.T, np.eye(3))
    close(T.rotate(a), R @ a)
    close(T.unrotate(a), R.T @ a)


def test_quaternion_of_any_length_gives_a_rotation():
    q = random_vec(4)
    close(quaternion_matrix(q), quaternion_matrix(Vec([3.0 * x for x in q])))


def test_motions_and_forces_are_carried_by_x_and_its_transpose():
    T, V, F = random_transform(), Twist.of(random_vec(6)), Wrench.of(random_vec(6))
    X = motion_matrix(T)
    close(T.motion_to_child(V).six(), X @ V.six())
    close(T.motion_to_parent(T.motion_to_child(V)).six(), V.six())
    close(T.force_to_parent(F).six(), X.T @ F.six())


def test_power_does_not_depend_on_the_frame():
    T, V, F = random_transform(), Twist.of(random_vec(6)), Wrench.of(random_vec(6))
    close(F.power(T.motion_to_child(V)), T.force_to_parent(F).power(V))


def test_composition_and_inverse():
    A, B = random_transform(), random_transform()
    close(motion_matrix(A.then(B)), motion_matrix(B) @ motion_matrix(A))
    close(motion_matrix(A.inverse()), np.linalg.inv(motion_matrix(A)))


def test_ad_is_the_bracket():
    V, W = Twist.of(random_vec(6)), Twist.of(random_vec(6))
    close(V.ad(W).six(), ad(V) @ W.six())


def test_inertia_matrix_momentum_and_transformation():
    I, T, V = random_inertia(), random_transform(), Twist.of(random_vec(6))
    X, M = motion_matrix(T), np.array(I.matrix(), float)
    close(M, M.T)
    close(I.momentum(V).six(), M @ V.six())
    close(I.to_parent(T).matrix(), X.T @ M @ X)
    assert np.linalg.eigvalsh(I.pseudo_inertia()).min() > 0


def test_classical_newton_euler_equals_the_spatial_form():
    """m a + Γ h, ... equals I A - ad_Vᵀ I V with A = (α, a - ω × v)."""
    I, V, al, acc = random_inertia(), Twist.of(random_vec(6)), random_vec(), random_vec()
    w, M = np.array(V.angular), np.array(I.matrix(), float)
    G = hat(al) + hat(w) @ hat(w)
    A = np.r_[al, np.array(acc) - np.cross(w, V.linear)]
    expected = M @ A - ad(V).T @ M @ np.array(V.six())
    close(I.force(Motion(V.angular, al, acc, Mat.of(G))).six(), expected)


def test_motion_through_a_joint_equals_the_spatial_recursion():
    """V = X V_λ + V_J,  A = X A_λ + A_J + ad_V V_J, with gravity as the acceleration of the ground."""
    T, V_J, A_J = random_transform(), Twist.of(random_vec(6)), Twist.of(random_vec(6))
    w, al, acc, v = (np.array(random_vec()) for _ in range(4))
    parent = Motion(Vec(w), Vec(al), Vec(acc), Mat.of(hat(al) + hat(w) @ hat(w)))
    child = parent.through(T, V_J, A_J)
    X = motion_matrix(T)
    V = X @ np.r_[w, v] + V_J.six()
    A = X @ np.r_[al, acc - np.cross(w, v)] + A_J.six() + ad(Twist.of(Vec(V))) @ V_J.six()
    close(child.w, V[:3])
    close(child.al, A[:3])
    close(child.acc, A[3:] + np.cross(V[:3], V[3:]))
    close(child.G, hat(child.al) + hat(child.w) @ hat(child.w))


def test_spin_is_the_part_of_motion_that_velocity_makes():
    T, V_J, c_J = random_transform(), Twist.of(random_vec(6)), Twist.of(random_vec(6))
    w = np.array(random_vec())
    W = hat(w) @ hat(w)
    spin, c = Spin(Vec(w), Sym.of(W.tolist())).through(T, V_J, c_J)
    still = Motion(Vec(w), Vec((0.0,) * 3), Vec((0.0,) * 3), Mat.of(W)).through(T, V_J, c_J)
    close(spin.w, still.w)
    close(c.six(), (*still.al, *still.acc))


def test_articulated_inertia_moves_like_a_matrix():
    I, T, V = random_articulated(), random_transform(), Twist.of(random_vec(6))
    X, M = motion_matrix(T), np.array(I.rows(), float)
    close((I @ V).six(), M @ V.six())
    close(I.to_parent(T).rows(), X.T @ M @ X)
    rigid = random_inertia()
    close(Articulated.of(rigid).rows(), rigid.matrix())


@pytest.mark.parametrize("armature", [0.0, 0.3])
@pytest.mark.parametrize("S", [*map(Selection, [(2,), (5,), (0, 1, 2), (2, 3, 4, 5), (0, 1, 2, 3, 4, 5)]), None])
def test_freeing_a_joint_equals_the_dense_formulas(S, armature):
    """Ia = IA - U D⁻¹ Uᵀ, pa = pA + U D⁻¹ u, a = D⁻¹(u - Uᵀ A'), A = A' + S a (Kim Table 3)."""
    S = S or Columns(tuple(random_vec(6) for _ in range(2)))
    matrix = np.array([t.six() for t in S.twists()]).T
    IA, pA, A, tau = random_articulated(), Wrench.of(random_vec(6)), Twist.of(random_vec(6)), random_vec(S.nv)
    M, p = np.array(IA.rows(), float), np.array(pA.six())
    U = M @ matrix
    D = matrix.T @ U + armature * np.eye(S.nv)
    u = np.array(tau) - matrix.T @ p
    a = np.linalg.solve(D, u - U.T @ np.array(A.six()))
    hinge, Ia = S.free(IA, (armature,) * S.nv)
    w, pa = S.push(hinge, pA, tau)
    found_a, found_A = S.accelerate(hinge, w, A)
    close(Ia.rows(), M - U @ np.linalg.solve(D, U.T), 1e-12)
    close(pa.six(), p + U @ np.linalg.solve(D, u), 1e-12)
    close(found_a, a, 1e-12)
    close(found_A.six(), np.array(A.six()) + matrix @ a, 1e-12)


def test_small_symmetric_systems():
    A = RNG.normal(size=(5, 5))
    D, b = A @ A.T + 5 * np.eye(5), RNG.normal(size=5)
    close(factor(Mat.of(D)).solve(Vec(b.tolist())), np.linalg.solve(D, b))
    close(factor(Mat.of(D)).solve_columns(Mat.of(np.eye(5))), np.linalg.inv(D))


@pytest.mark.parametrize(
    ("mass", "principal", "problem"),
    [
        (1.0, (1.0, 2.0, 2.5), None),
        (1.0, (0.0, 1.0, 1.0), None),
        (1.0, (0.0, 0.0, 0.0), None),
        (0.0, (0.0, 0.0, 0.0), None),
        (1.0, (1.0, 1.0, 2.1), "triangle"),
        (1.0, (-1.0, 1.0, 1.0), "negative principal"),
        (-1.0, (1.0, 1.0, 1.0), "negative"),
        (0.0, (1.0, 1.0, 1.0), "mass is zero"),
        (float("nan"), (1.0, 1.0, 1.0), "finite"),
        (1.0, (float("inf"), 1.0, 1.0), "finite"),
    ],
)
def test_which_inertias_are_physical(mass, principal, problem):
    found = unphysical(mass, np.diag(principal))
    assert (found is None) == (problem is None)
    assert problem is None or problem in found


@pytest.mark.parametrize(
    ("mass", "principal", "usable"),
    [
        (1.0, (1.0, 2.0, 2.5), True),
        (1.0, (0.0, 0.0, 1.0), True),
        (0.0, (1.0, 1.0, 1.0), True),
        (0.0, (0.0, 0.0, 0.0), True),
        (1.0, (-1e-3, 1.0, 1.0), False),
        (-1.0, (1.0, 1.0, 1.0), False),
        (1.0, (float("nan"), 1.0, 1.0), False),
        (1.0, (1e200, 1.0, 1.0), False),
        (float("nan"), (1.0, 1.0, 1.0), False),
    ],
)
def test_which_inertias_have_no_negative_energy(mass, principal, usable):
    assert is_usable(mass, np.diag(principal)) is usable


def test_asymmetric_inertia_is_named():
    assert "not symmetric" in unphysical(1.0, np.array([[1.0, 0.2, 0], [0, 1, 0], [0, 0, 1]]))
