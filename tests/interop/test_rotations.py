"""Rotations: against SciPy, near 0, near π and at gimbal lock; round trips; errors."""

from __future__ import annotations

import warnings
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fourbar import ArgumentError, convert

EACH_SEQUENCE = pytest.mark.parametrize("sequence", convert.SEQUENCES)
BOTH = pytest.mark.parametrize("intrinsic", [True, False])


def random_rotations(n: int = 200) -> Rotation:
    return Rotation.from_quat(np.random.default_rng(1).normal(size=(n, 4)))


def scipy_word(sequence: str, intrinsic: bool) -> str:
    """SciPy writes intrinsic sequences in capitals."""
    return sequence.upper() if intrinsic else sequence


def same_rotation(q: np.ndarray, expected: np.ndarray, tol: float) -> None:
    """Equal quaternions up to sign."""
    sign = np.sign((q * expected).sum(axis=-1, keepdims=True))
    assert np.abs(q * sign - expected).max() <= tol


def special_quaternions() -> np.ndarray:
    """Turns by 0, tiny, nearly π and exactly π about axes of all kinds, both signs."""
    axes = [np.array(a, float) for a in product((-1, 0, 1), repeat=3) if any(a)] + [np.array([2.0, -3.0, 6.0])]
    angles = [0.0, 1e-300, 1e-12, 1e-8, 1e-3, 1.0, np.pi / 2, 3.0, np.pi - 1e-8, np.pi - 1e-14, np.pi]
    found = [[np.cos(t / 2), *(np.sin(t / 2) * a / np.linalg.norm(a))] for a in axes for t in angles]
    return np.array([*found, *(-np.array(found))])


@pytest.mark.quick
def test_matrices_and_vectors_against_scipy() -> None:
    R = random_rotations()
    q = convert.wxyz_from_xyzw(R.as_quat())
    assert np.array_equal(convert.xyzw_from_wxyz(q), R.as_quat())
    assert np.abs(convert.matrix_from_quaternion(q) - R.as_matrix()).max() < 1e-15
    assert np.abs(convert.vector_from_quaternion(q) - R.as_rotvec()).max() < 2e-15
    same_rotation(convert.quaternion_from_matrix(R.as_matrix()), q, 1e-15)
    same_rotation(convert.quaternion_from_vector(R.as_rotvec()), q, 1e-15)
    assert np.abs(convert.matrix_from_vector(R.as_rotvec()) - R.as_matrix()).max() < 2e-15
    assert np.abs(convert.vector_from_matrix(R.as_matrix()) - R.as_rotvec()).max() < 2e-15


@EACH_SEQUENCE
@BOTH
def test_euler_angles_against_scipy(sequence: str, intrinsic: bool) -> None:
    R = random_rotations()
    word = scipy_word(sequence, intrinsic)
    expected = R.as_euler(word)
    assert np.abs(convert.euler_from_matrix(R.as_matrix(), sequence, intrinsic) - expected).max() < 3e-14
    assert np.abs(convert.euler_from_vector(R.as_rotvec(), sequence, intrinsic) - expected).max() < 3e-14
    angles = np.random.default_rng(2).uniform(-7.0, 7.0, (100, 3))
    theirs = Rotation.from_euler(word, angles)
    assert np.abs(convert.matrix_from_euler(angles, sequence, intrinsic) - theirs.as_matrix()).max() < 2e-15
    assert np.abs(convert.vector_from_euler(angles, sequence, intrinsic) - theirs.as_rotvec()).max() < 1e-14


@pytest.mark.parametrize("kind", ["matrix", "vector"])
def test_round_trips_near_0_and_pi(kind: str) -> None:
    q = special_quaternions()
    there = getattr(convert, f"{kind}_from_quaternion")(q)
    same_rotation(getattr(convert, f"quaternion_from_{kind}")(there), q, 4e-16)


def test_small_and_large_angles_keep_their_digits() -> None:
    """Against 40 digits: the vector of a quaternion, relative to its length."""
    for q in special_quaternions():
        with mpmath.workdps(40):
            w, *u = map(mpmath.mpf, q.tolist())
            n = mpmath.sqrt(sum(x * x for x in u))
            sign = -1 if w < 0 else 1
            angle = 2 * mpmath.atan2(n, abs(w))
            exact = np.array([float(sign * angle * x / n) if n else 0.0 for x in u])
        found = convert.vector_from_quaternion(q)
        if w == 0:  # a half turn: either direction of the axis
            exact = exact * np.sign(exact @ found)
        assert np.abs(found - exact).max() <= 5e-16 * np.linalg.norm(exact)


@EACH_SEQUENCE
def test_euler_angles_meet_the_rotation_everywhere(sequence: str) -> None:
    """At quarter and half turns, where most are in gimbal lock or nearly, the rotation is met to rounding."""
    steps = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * np.pi
    near = np.array([0.0, 1e-16, 1e-9, 1e-5])
    grid = np.array([(a, b + d, c) for a, b, c, d in product(steps, steps, steps, near)])
    R = convert.matrix_from_euler(grid, sequence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        angles = convert.euler_from_matrix(R, sequence)
    assert np.abs(convert.matrix_from_euler(angles, sequence) - R).max() < 1e-15
    assert np.abs(angles[:, [0, 2]]).max() <= np.pi
    middle = (0.0, np.pi) if sequence[0] == sequence[2] else (-np.pi / 2, np.pi / 2)
    assert np.all((angles[:, 1] >= middle[0]) & (angles[:, 1] <= middle[1]))


@EACH_SEQUENCE
@BOTH
def test_gimbal_lock_is_reported(sequence: str, intrinsic: bool) -> None:
    middle = 0.0 if sequence[0] == sequence[2] else np.pi / 2
    R = convert.matrix_from_euler([0.3, middle, 0.4], sequence, intrinsic)
    with pytest.warns(RuntimeWarning, match="gimbal lock"):
        angles = convert.euler_from_matrix(R, sequence, intrinsic)
    assert angles[2 if intrinsic else 0] == pytest.approx(0.0, abs=1e-15)
    assert np.abs(convert.matrix_from_euler(angles, sequence, intrinsic) - R).max() < 1e-15
    assert convert.is_gimbal_locked(angles, sequence)
    assert not convert.is_gimbal_locked([0.3, middle + 0.1, 0.4], sequence)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convert.euler_from_matrix(convert.matrix_from_euler([0.3, middle + 1e-5, 0.4], sequence), sequence)


def test_leading_axes_and_lists() -> None:
    q = np.random.default_rng(0).normal(size=(2, 3, 4))
    assert convert.matrix_from_quaternion(q).shape == (2, 3, 3, 3)
    assert convert.euler_from_quaternion(q, "zyx").shape == (2, 3, 3)
    one = convert.vector_from_quaternion(q[1, 2].tolist())
    assert np.array_equal(one, convert.vector_from_quaternion(q)[1, 2])
    assert convert.quaternion_from_vector(np.zeros((0, 3))).shape == (0, 4)
    long = convert.matrix_from_quaternion(5.0 * q)
    assert np.abs(long - convert.matrix_from_quaternion(q)).max() < 1e-15


def test_made_quaternions_are_unit_with_w_not_negative() -> None:
    R = random_rotations()
    for q in (
        convert.quaternion_from_matrix(R.as_matrix()),
        convert.quaternion_from_euler(R.as_euler("ZYX"), "zyx"),
        convert.quaternion_from_vector(R.as_rotvec()),
    ):
        assert np.all(q[:, 0] >= 0.0)
        assert np.abs(np.linalg.norm(q, axis=-1) - 1.0).max() < 4e-16


def test_nearest_rotation() -> None:
    """The one of SciPy's polar decomposition; reflections and rank one are refused or mended."""
    from scipy.linalg import polar

    M = random_rotations(20).as_matrix() + 0.1 * np.random.default_rng(3).normal(size=(20, 3, 3))
    assert np.abs(convert.nearest_rotation(M) - np.array([polar(m)[0] for m in M])).max() < 1e-14
    assert np.linalg.det(convert.nearest_rotation(np.diag([1.0, 0.9, -0.5]))) == pytest.approx(1.0)
    with pytest.raises(ArgumentError, match="no rotation is nearest"):
        convert.nearest_rotation(np.diag([1.0, 0.0, 0.0]))


def test_errors() -> None:
    with pytest.raises(ArgumentError, match=r"no length or is not finite in 1 of 2 samples"):
        convert.matrix_from_quaternion([[1.0, 0, 0, 0], [0.0, 0, 0, 0]])
    with pytest.raises(ArgumentError, match="no length or is not finite"):
        convert.vector_from_quaternion([np.nan, 0, 0, 0])
    with pytest.raises(ArgumentError, match=r"not orthogonal.*off the identity by 0.21.*nearest_rotation"):
        convert.quaternion_from_matrix(1.1 * np.eye(3))
    with pytest.raises(ArgumentError, match="reflection"):
        convert.quaternion_from_matrix(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ArgumentError, match=r"'ZYX' is unknown.*intrinsic=True"):
        convert.matrix_from_euler([0, 0, 0], "ZYX")
    with pytest.raises(ArgumentError, match=r"shape \(..., 3\), got \(4,\)"):
        convert.matrix_from_vector([0, 0, 0, 1])
    with pytest.raises(ArgumentError, match="of numbers, got 'x'"):
        convert.matrix_from_vector("x")
