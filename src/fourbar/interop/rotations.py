"""Rotations as quaternions, matrices, rotation vectors and Euler angles, over leading axes.

Quaternions are (w, x, y, z), of any length but zero where given, of unit length and w >= 0 where made. A rotation
vector is axis times angle, the exponential map. R takes vectors of the turned frame to the fixed one.

Euler angles of a sequence "xyz" are *intrinsic*: R = R_x(θ₁) R_y(θ₂) R_z(θ₃), each rotation about an axis of the frame
turned so far. With intrinsic=False they are *extrinsic*, each about an axis that stays: R = R_z(θ₃) R_y(θ₂) R_x(θ₁).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, warn
from ..joints.lie import unit_quaternion
from ..spatial import euler
from ..spatial.euler import SEQUENCES
from ..spatial.groups import so3
from ..spatial.rotation import quaternion_matrix
from .arrays import entries, read, rows, stacked, stacked_rows

_ORTHOGONAL = 1e-9  # how far RᵀR of a rotation matrix may be off the identity
_LOCKED = 1e-7  # sine of the angle from gimbal lock at which the outer angles have lost half of their digits


def _count(bad: np.ndarray) -> str:
    return "" if bad.ndim == 0 else f" in {int(bad.sum())} of {bad.size} samples"


def read_quaternion(q: Any, what: str = "a quaternion") -> np.ndarray:
    """Quaternions (..., 4) of any length but zero."""
    q = read(what, q, 4)
    bad = ~(np.linalg.norm(q, axis=-1) > 1e-150)
    if np.any(bad):
        raise ArgumentError(f"{what} has no length or is not finite{_count(bad)}: it stands for no rotation")
    return q


def read_rotation(R: Any, what: str = "a rotation matrix") -> np.ndarray:
    """Rotation matrices (..., 3, 3): orthogonal, no reflections."""
    R = read(what, R, 3, 3)
    error = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-2, -1))
    bad = ~(error <= _ORTHOGONAL)
    if np.any(bad):
        raise ArgumentError(
            f"{what} is not orthogonal{_count(bad)}: RᵀR is off the identity by {np.max(error):.3g}, allowed are "
            f"{_ORTHOGONAL:.0e}; nearest_rotation(R) makes it one"
        )
    bad = np.linalg.det(R) < 0.0
    if np.any(bad):
        raise ArgumentError(f"{what} is a reflection (determinant -1){_count(bad)}; a rotation was expected")
    return R


def read_sequence(sequence: str) -> str:
    """One of the twelve sequences."""
    if sequence not in SEQUENCES:
        raise ArgumentError(
            f"the Euler sequence {sequence!r} is not known; it is one of {', '.join(SEQUENCES)}, lower case, with "
            "intrinsic=True (axes of the turned frame) or False (fixed axes)"
        )
    return sequence


def intrinsic_order(x: np.ndarray, sequence: str, intrinsic: bool) -> tuple[np.ndarray, str]:
    """Angles or rates and their sequence as intrinsic ones: extrinsic ones are these read backwards."""
    read_sequence(sequence)
    return (x, sequence) if intrinsic else (x[..., ::-1], sequence[::-1])


def nearest_rotation(M: Any) -> np.ndarray:
    """The rotation matrix (..., 3, 3) nearest to any matrix (least sum of squares)."""
    U, s, Vt = np.linalg.svd(read("a matrix", M, 3, 3))
    sign = np.sign(np.linalg.det(U @ Vt))
    if np.any(s[..., 1] + s[..., 2] * sign <= 1e-12 * s[..., 0]):
        raise ArgumentError("the matrix is so far from a rotation that no rotation is nearest")
    U[..., :, 2] *= sign[..., None]
    return U @ Vt


def wxyz_from_xyzw(q: Any) -> np.ndarray:
    """Quaternions (..., 4) with the scalar last (Pinocchio, ROS, SciPy) as ours, scalar first."""
    return read("a quaternion", q, 4)[..., [3, 0, 1, 2]]


def xyzw_from_wxyz(q: Any) -> np.ndarray:
    """Our quaternions (..., 4) with the scalar last."""
    return read("a quaternion", q, 4)[..., [1, 2, 3, 0]]


# --- to quaternions -------------------------------------------------------------------------------------------------


def quaternion_from_matrix(R: Any) -> np.ndarray:
    """Unit quaternions (..., 4) of rotation matrices (..., 3, 3)."""
    return stacked(so3.from_matrix(rows(read_rotation(R))))


def quaternion_from_vector(phi: Any) -> np.ndarray:
    """Unit quaternions (..., 4) of rotation vectors (..., 3). (w < 0 for angles between π and 3π.)"""
    return stacked(so3.from_vector(entries(read("a rotation vector", phi, 3))))


def quaternion_from_euler(angles: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Unit quaternions (..., 4) of Euler angles (..., 3)."""
    own, order = intrinsic_order(read("Euler angles", angles, 3), sequence, intrinsic)
    q = stacked(euler.to_quaternion(entries(own), order))
    return np.where(q[..., :1] < 0.0, -q, q)


# --- to matrices ----------------------------------------------------------------------------------------------------


def matrix_from_quaternion(q: Any) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4)."""
    return stacked_rows(quaternion_matrix(entries(read_quaternion(q))))


def matrix_from_vector(phi: Any) -> np.ndarray:
    """Rotation matrices exp[φ] (..., 3, 3) of rotation vectors (..., 3) (Liu-Jain eq. 53)."""
    return matrix_from_quaternion(quaternion_from_vector(phi))


def matrix_from_euler(angles: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of Euler angles (..., 3)."""
    return matrix_from_quaternion(quaternion_from_euler(angles, sequence, intrinsic))


# --- to rotation vectors --------------------------------------------------------------------------------------------


def vector_from_quaternion(q: Any) -> np.ndarray:
    """Rotation vectors (..., 3), no longer than π, of quaternions (..., 4)."""
    return stacked(so3.to_vector(unit_quaternion(entries(read_quaternion(q)))))


def vector_from_matrix(R: Any) -> np.ndarray:
    """Rotation vectors log R (..., 3), no longer than π, of rotation matrices (..., 3, 3)."""
    return vector_from_quaternion(quaternion_from_matrix(R))


def vector_from_euler(angles: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Rotation vectors (..., 3), no longer than π, of Euler angles (..., 3)."""
    return vector_from_quaternion(quaternion_from_euler(angles, sequence, intrinsic))


# --- to Euler angles ------------------------------------------------------------------------------------------------


def euler_from_quaternion(q: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Euler angles (..., 3) of quaternions (..., 4): the outer ones in (-π, π].

    The middle one is in [0, π] if the outer axes are the same, else in [-π/2, π/2]. At gimbal lock only the sum or
    difference of the outer angles is determined: the rotation is still met exactly, the last (intrinsic) or first
    (extrinsic) angle is zero in the lock itself, and a RuntimeWarning tells.
    """
    q = read_quaternion(q)
    order = read_sequence(sequence) if intrinsic else read_sequence(sequence)[::-1]
    angles = stacked(euler.from_quaternion(entries(q), order))
    locked = is_gimbal_locked(angles, order)
    if np.any(locked):
        warn(
            f"gimbal lock of the Euler sequence {sequence!r}{_count(locked)}: the outer angles are not determined one "
            "by one; use quaternions or rotation vectors there",
            RuntimeWarning,
        )
    return angles if intrinsic else angles[..., ::-1]


def euler_from_matrix(R: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Euler angles (..., 3) of rotation matrices (..., 3, 3); see `euler_from_quaternion`."""
    return euler_from_quaternion(quaternion_from_matrix(R), sequence, intrinsic)


def euler_from_vector(phi: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Euler angles (..., 3) of rotation vectors (..., 3); see `euler_from_quaternion`."""
    return euler_from_quaternion(quaternion_from_vector(phi), sequence, intrinsic)


def is_gimbal_locked(angles: Any, sequence: str) -> np.ndarray:
    """Where (...) Euler angles (..., 3) are in gimbal lock or within 1e-7 rad of it: first and third axis parallel."""
    middle = read("Euler angles", angles, 3)[..., 1]
    away = np.sin(middle) if read_sequence(sequence)[0] == sequence[2] else np.cos(middle)
    return np.abs(away) < _LOCKED
