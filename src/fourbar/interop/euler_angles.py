"""Euler angles, of any sequence of axes, from and to quaternions, matrices and rotation vectors, over leading axes.

Euler angles of a sequence "xyz" are *intrinsic*: R = R_x(θ₁) R_y(θ₂) R_z(θ₃), each rotation about an axis of the frame
turned so far. With intrinsic=False they are *extrinsic*, each about an axis that stays: R = R_z(θ₃) R_y(θ₂) R_x(θ₁).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, warn
from ..spatial import euler
from ..spatial.euler import SEQUENCES
from ..spatial.independent_motions import LOCKED
from .batched_vectors import entries, read, stack
from .rotations import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    quaternion_from_vector,
    read_quaternion,
    samples_among,
    vector_from_quaternion,
)


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
    q = stack(euler.to_quaternion(entries(own), order))
    return np.where(q[..., :1] < 0.0, -q, q)


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
    angles = stack(euler.from_quaternion(entries(q), order))
    locked = is_gimbal_locked(angles, order)
    if np.any(locked):
        warn(
            f"gimbal lock of the Euler sequence {sequence!r}{samples_among(locked)}: the outer angles are not "
            "determined one by one; use quaternions or rotation vectors there",
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
    """Whether Euler angles are in gimbal lock or within 2.4e-6 rad of it, where a `SphericalEuler` joint is refused.

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
    return np.abs(away) < LOCKED
