"""Rotations as quaternions, matrices and rotation vectors, over leading axes.

Quaternions are (w, x, y, z), of any length but zero where given, of unit length and w >= 0 where made. A rotation
vector is axis times angle, the exponential map. R takes vectors of the turned frame to the fixed one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..joints.lie import unit_quaternion
from ..linalg import factors
from ..spatial.groups import so3
from ..spatial.rotation import quaternion_matrix
from .batched_vectors import entries, read, rows, stack, stack_rows

_ORTHOGONAL = 1e-9  # how far RᵀR of a rotation matrix may be off the identity


def samples_among(bad: np.ndarray) -> str:
    """The number of bad samples of a batch, as the end of a sentence; empty for a single sample."""
    return "" if bad.ndim == 0 else f" in {int(bad.sum())} of {bad.size} samples"


def read_quaternion(q: Any, what: str = "a quaternion") -> np.ndarray:
    """Quaternions (..., 4) of any length but zero."""
    q = read(what, q, 4)
    bad = ~(np.linalg.norm(q, axis=-1) > 1e-150)
    if np.any(bad):
        raise ArgumentError(f"{what} has no length or is not finite{samples_among(bad)}: it is not a rotation")
    return q


def read_rotation(R: Any, what: str = "a rotation matrix") -> np.ndarray:
    """Rotation matrices (..., 3, 3): orthogonal, no reflections."""
    R = read(what, R, 3, 3)
    error = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-2, -1))
    bad = ~(error <= _ORTHOGONAL)
    if np.any(bad):
        raise ArgumentError(
            f"{what} is not orthogonal{samples_among(bad)}: RᵀR is off the identity by {np.max(error):.3g}, "
            f"allowed are {_ORTHOGONAL:.0e}; nearest_rotation(R) makes it one"
        )
    bad = np.linalg.det(R) < 0.0
    if np.any(bad):
        raise ArgumentError(f"{what} is a reflection (determinant -1){samples_among(bad)}; a rotation was expected")
    return R


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
    U, s, Vt = factors(read("a matrix", M, 3, 3))
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
    return stack(so3.from_matrix(rows(read_rotation(R))))


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
    return stack(so3.from_vector(entries(read("a rotation vector", phi, 3))))


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
    return stack_rows(quaternion_matrix(entries(read_quaternion(q))))


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
    return stack(so3.to_vector(unit_quaternion(entries(read_quaternion(q)))))


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


# --- to Euler angles ------------------------------------------------------------------------------------------------
