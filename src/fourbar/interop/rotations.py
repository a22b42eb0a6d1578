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
    """Rotation matrix nearest to any matrix.

    Parameters
    ----------
    M : array_like, shape (..., 3, 3)
        Any matrix.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        The rotation with the least sum of squares of the difference.

    Raises
    ------
    ArgumentError
        If no rotation is nearest.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.nearest_rotation([[1.0, 0.001, 0], [0, 1, 0], [0, 0, 1]]).round(4)
    array([[ 1.e+00,  5.e-04,  0.e+00],
           [-5.e-04,  1.e+00,  0.e+00],
           [ 0.e+00,  0.e+00,  1.e+00]])
    """
    U, s, Vt = np.linalg.svd(read("a matrix", M, 3, 3))
    sign = np.sign(np.linalg.det(U @ Vt))
    if np.any(s[..., 1] + s[..., 2] * sign <= 1e-12 * s[..., 0]):
        raise ArgumentError("the matrix is so far from a rotation that no rotation is nearest")
    U[..., :, 2] *= sign[..., None]
    return U @ Vt


def wxyz_from_xyzw(q: Any) -> np.ndarray:
    """Quaternions with the scalar last (Pinocchio, ROS, SciPy) as ours, scalar first.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternion (x, y, z, w).

    Returns
    -------
    ndarray, shape (..., 4)
        Quaternion (w, x, y, z).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.wxyz_from_xyzw([0, 0, 0, 1])
    array([1., 0., 0., 0.])
    """
    return read("a quaternion", q, 4)[..., [3, 0, 1, 2]]


def xyzw_from_wxyz(q: Any) -> np.ndarray:
    """Our quaternions, scalar first, with the scalar last (Pinocchio, ROS, SciPy).

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternion (w, x, y, z) of any length but zero.

    Returns
    -------
    ndarray, shape (..., 4)
        Quaternion (x, y, z, w).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.xyzw_from_wxyz([1, 0, 0, 0])
    array([0., 0., 0., 1.])
    """
    return read("a quaternion", q, 4)[..., [1, 2, 3, 0]]


# --- to quaternions -------------------------------------------------------------------------------------------------


def quaternion_from_matrix(R: Any) -> np.ndarray:
    """Quaternions of rotation matrices.

    Parameters
    ----------
    R : array_like, shape (..., 3, 3)
        Rotation matrix.

    Returns
    -------
    ndarray, shape (..., 4)
        Unit quaternions (w, x, y, z).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.quaternion_from_matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(4)
    array([0.7071, 0.    , 0.    , 0.7071])
    """
    return stacked(so3.from_matrix(rows(read_rotation(R))))


def quaternion_from_vector(phi: Any) -> np.ndarray:
    """Quaternions of rotation vectors.

    Parameters
    ----------
    phi : array_like, shape (..., 3)
        Rotation vector: axis times angle (rad).

    Returns
    -------
    ndarray, shape (..., 4)
        Unit quaternions (w, x, y, z), with w < 0 for angles between π and 3π.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.quaternion_from_vector([0, 0, 0.2]).round(4)
    array([0.995 , 0.    , 0.    , 0.0998])
    """
    return stacked(so3.from_vector(entries(read("a rotation vector", phi, 3))))


def quaternion_from_euler(angles: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Quaternions of Euler angles.

    Parameters
    ----------
    angles : array_like, shape (..., 3)
        Euler angles (rad).
    sequence : str
        Euler sequence, such as 'xyz'.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 4)
        Unit quaternions (w, x, y, z).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.quaternion_from_euler([0.0, 0.0, 0.2], "xyz").round(4)
    array([0.995 , 0.    , 0.    , 0.0998])
    """
    own, order = intrinsic_order(read("Euler angles", angles, 3), sequence, intrinsic)
    q = stacked(euler.to_quaternion(entries(own), order))
    return np.where(q[..., :1] < 0.0, -q, q)


# --- to matrices ----------------------------------------------------------------------------------------------------


def matrix_from_quaternion(q: Any) -> np.ndarray:
    """Rotation matrices of quaternions.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternion (w, x, y, z) of any length but zero.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        Rotation matrices.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.matrix_from_quaternion([1.0, 0, 0, 1.0]).round(4)
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    return stacked_rows(quaternion_matrix(entries(read_quaternion(q))))


def matrix_from_vector(phi: Any) -> np.ndarray:
    """Rotation matrices exp[φ] of rotation vectors (Liu-Jain eq. 53).

    Parameters
    ----------
    phi : array_like, shape (..., 3)
        Rotation vector: axis times angle (rad).

    Returns
    -------
    ndarray, shape (..., 3, 3)
        Rotation matrices.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.matrix_from_vector([0, 0, 0.2]).round(4)
    array([[ 0.9801, -0.1987,  0.    ],
           [ 0.1987,  0.9801,  0.    ],
           [ 0.    ,  0.    ,  1.    ]])
    """
    return matrix_from_quaternion(quaternion_from_vector(phi))


def matrix_from_euler(angles: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Rotation matrices of Euler angles.

    Parameters
    ----------
    angles : array_like, shape (..., 3)
        Euler angles (rad).
    sequence : str
        Euler sequence, such as 'xyz'.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        Rotation matrices.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.matrix_from_euler([0.0, 0.0, 0.2], "xyz").round(4)
    array([[ 0.9801, -0.1987,  0.    ],
           [ 0.1987,  0.9801,  0.    ],
           [ 0.    ,  0.    ,  1.    ]])
    """
    return matrix_from_quaternion(quaternion_from_euler(angles, sequence, intrinsic))


# --- to rotation vectors --------------------------------------------------------------------------------------------


def vector_from_quaternion(q: Any) -> np.ndarray:
    """Rotation vectors of quaternions.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternion (w, x, y, z) of any length but zero.

    Returns
    -------
    ndarray, shape (..., 3)
        Rotation vectors, no longer than π.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.vector_from_quaternion([1.0, 0, 0, 1.0]).round(4)
    array([0.    , 0.    , 1.5708])
    """
    return stacked(so3.to_vector(unit_quaternion(entries(read_quaternion(q)))))


def vector_from_matrix(R: Any) -> np.ndarray:
    """Rotation vectors log R of rotation matrices.

    Parameters
    ----------
    R : array_like, shape (..., 3, 3)
        Rotation matrix.

    Returns
    -------
    ndarray, shape (..., 3)
        Rotation vectors, no longer than π.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.vector_from_matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(4)
    array([0.    , 0.    , 1.5708])
    """
    return vector_from_quaternion(quaternion_from_matrix(R))


def vector_from_euler(angles: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Rotation vectors of Euler angles.

    Parameters
    ----------
    angles : array_like, shape (..., 3)
        Euler angles (rad).
    sequence : str
        Euler sequence, such as 'xyz'.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 3)
        Rotation vectors, no longer than π.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.vector_from_euler([0.0, 0.0, 0.2], "xyz").round(4)
    array([0. , 0. , 0.2])
    """
    return vector_from_quaternion(quaternion_from_euler(angles, sequence, intrinsic))


# --- to Euler angles ------------------------------------------------------------------------------------------------


def euler_from_quaternion(q: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Euler angles of quaternions.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternion (w, x, y, z) of any length but zero.
    sequence : str
        Euler sequence, such as 'xyz'.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 3)
        Euler angles (rad), the outer ones in (-π, π].

    See Also
    --------
    is_gimbal_locked : Where the outer angles are not determined.

    Notes
    -----
    The middle angle is in [0, π] if the outer axes are the same, else in [-π/2, π/2]. At gimbal lock only the sum or
    difference of the outer angles is determined: the rotation is still met exactly, the last (intrinsic) or first
    (extrinsic) angle is zero in the lock itself, and a RuntimeWarning is given.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.euler_from_quaternion([1.0, 0, 0, 1.0], "xyz").round(4)
    array([0.    , 0.    , 1.5708])
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
    """Euler angles of rotation matrices.

    Parameters
    ----------
    R : array_like, shape (..., 3, 3)
        Rotation matrix.
    sequence : str
        Euler sequence, such as 'xyz'.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 3)
        Euler angles (rad), the outer ones in (-π, π].

    See Also
    --------
    euler_from_quaternion : Says what happens at gimbal lock.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.euler_from_matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]], "xyz").round(4)
    array([0.    , 0.    , 1.5708])
    """
    return euler_from_quaternion(quaternion_from_matrix(R), sequence, intrinsic)


def euler_from_vector(phi: Any, sequence: str, intrinsic: bool = True) -> np.ndarray:
    """Euler angles of rotation vectors.

    Parameters
    ----------
    phi : array_like, shape (..., 3)
        Rotation vector: axis times angle (rad).
    sequence : str
        Euler sequence, such as 'xyz'.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 3)
        Euler angles (rad), the outer ones in (-π, π].

    See Also
    --------
    euler_from_quaternion : Says what happens at gimbal lock.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.euler_from_vector([0, 0, 0.2], "xyz").round(4)
    array([0. , 0. , 0.2])
    """
    return euler_from_quaternion(quaternion_from_vector(phi), sequence, intrinsic)


def is_gimbal_locked(angles: Any, sequence: str) -> np.ndarray:
    """Whether Euler angles are in gimbal lock or within 1e-7 rad of it.

    Parameters
    ----------
    angles : array_like, shape (..., 3)
        Euler angles (rad).
    sequence : str
        Euler sequence, such as 'xyz'.

    Returns
    -------
    ndarray of bool, shape (...)
        Where the first and third axis are parallel.

    Examples
    --------
    >>> from fourbar import convert
    >>> bool(convert.is_gimbal_locked([0.1, 1.5707963267948966, 0.2], "xyz"))
    True
    """
    middle = read("Euler angles", angles, 3)[..., 1]
    away = np.sin(middle) if read_sequence(sequence)[0] == sequence[2] else np.cos(middle)
    return np.abs(away) < _LOCKED
