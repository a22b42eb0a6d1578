"""Rotations as quaternions, matrices, rotation vectors and Euler angles, and their rates, over leading axes.

Quaternions are (w, x, y, z), of any length but zero where given, of unit length and w >= 0 where made. A rotation
vector is axis times angle, the exponential map. R takes vectors of the turned frame to the fixed one.

Euler angles of a sequence "xyz" are *intrinsic*: R = R_x(θ₁) R_y(θ₂) R_z(θ₃), each rotation about an axis of the frame
turned so far. With intrinsic=False they are *extrinsic*, each about an axis that stays: R = R_z(θ₃) R_y(θ₂) R_x(θ₁).

Rates are those of angular velocity ω, with axes="body" in the axes of the turned frame, with axes="world" in the fixed
ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, SingularError, warn
from ..joints.lie import unit_quaternion
from ..joints.rotational import SphericalEuler
from ..linalg import factors
from ..spatial import euler
from ..spatial.euler import SEQUENCES
from ..spatial.groups import SO3, so3
from ..spatial.groups.so3 import conjugate, multiply
from ..spatial.linear import Mat, Vec, dot
from ..spatial.rotation import quaternion_matrix
from ..spatial.solve import LOCKED
from ..tolerances import GIMBAL_RATES
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


def read_sequence(sequence: str) -> str:
    """One of the twelve sequences."""
    if sequence not in SEQUENCES:
        raise ArgumentError(
            f"the Euler sequence {sequence!r} is unknown; expected one of {', '.join(SEQUENCES)}, lower case, with "
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


_SO3 = SO3()
_SKEW = 1e-9  # how far RᵀṘ may be off a skew matrix, relative to its size


def _in_body(axes: str) -> bool:
    if axes not in ("body", "world"):
        raise ArgumentError(f"axes={axes!r}: expected 'body' (of the turned frame) or 'world' (the fixed ones)")
    return axes == "body"


def _without(x: np.ndarray, lost: np.ndarray, what: str) -> np.ndarray:
    """x (..., n) with NaN where the result is undefined: an error for one sample, a warning for a batch."""
    lost = np.broadcast_to(lost, x.shape[:-1])
    if not np.any(lost):
        return x
    if lost.ndim == 0:
        raise SingularError(what)
    warn(f"{what}, in {int(lost.sum())} of {lost.size} samples; these are NaN", RuntimeWarning)
    return np.where(lost[..., None], np.nan, x)


def quaternion_rate_from_omega(q: Any, omega: Any, axes: str = "body") -> np.ndarray:
    """Rates of quaternions of a frame that turns.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternion (w, x, y, z) of any length but zero.
    omega : array_like, shape (..., 3)
        Angular velocity (rad/s).
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.

    Returns
    -------
    ndarray, shape (..., 4)
        ½ q (0, ω) with ω in body axes, ½ (0, ω) q in world axes (1/s); the length of q stays.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.quaternion_rate_from_omega([1.0, 0, 0, 0], [0, 0, 2.0])
    array([0., 0., 0., 1.])
    """
    own, w = entries(read_quaternion(q)), (0.0, *entries(read("omega", omega, 3)))
    product = multiply(own, w) if _in_body(axes) else multiply(w, own)
    return stack(product * 0.5)


def omega_from_quaternion_rate(q: Any, rate: Any, axes: str = "body") -> np.ndarray:
    """Angular velocity of a quaternion and its rate.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternion (w, x, y, z) of any length but zero.
    rate : array_like, shape (..., 4)
        Its rate (1/s); a change of its length does not count.
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.

    Returns
    -------
    ndarray, shape (..., 3)
        Angular velocity (rad/s).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.omega_from_quaternion_rate([1.0, 0, 0, 0], [0, 0, 0, 1.0])
    array([0., 0., 2.])
    """
    own, rate = entries(read_quaternion(q)), entries(read("the rate of a quaternion", rate, 4))
    back = conjugate(own) * (2.0 / dot(own, own))
    product = multiply(back, rate) if _in_body(axes) else multiply(rate, back)
    return stack(product[1:])


def _hat(w: np.ndarray) -> np.ndarray:
    return stack_rows(_SO3.ad(entries(w)))


def matrix_rate_from_omega(R: Any, omega: Any, axes: str = "body") -> np.ndarray:
    """Rates of rotation matrices of a frame that turns.

    Parameters
    ----------
    R : array_like, shape (..., 3, 3)
        Rotation matrix.
    omega : array_like, shape (..., 3)
        Angular velocity (rad/s).
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        R [ω] with ω in body axes, [ω] R in world axes (1/s).

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.matrix_rate_from_omega(np.eye(3), [0, 0, 2.0]).round(4)
    array([[ 0., -2.,  0.],
           [ 2.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    R, cross = read_rotation(R), _hat(read("omega", omega, 3))
    return R @ cross if _in_body(axes) else cross @ R


def omega_from_matrix_rate(R: Any, rate: Any, axes: str = "body") -> np.ndarray:
    """Angular velocity of a rotation matrix and its rate.

    Parameters
    ----------
    R : array_like, shape (..., 3, 3)
        Rotation matrix.
    rate : array_like, shape (..., 3, 3)
        Its rate (1/s), which must keep it a rotation.
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.

    Returns
    -------
    ndarray, shape (..., 3)
        Angular velocity (rad/s).

    Examples
    --------
    >>> import numpy as np
    >>> from fourbar import convert
    >>> convert.omega_from_matrix_rate(np.eye(3), [[0, -2, 0], [2, 0, 0], [0, 0, 0]])
    array([0., 0., 2.])
    """
    R, rate = read_rotation(R), read("the rate of a rotation matrix", rate, 3, 3)
    back = np.swapaxes(R, -1, -2)
    W = back @ rate if _in_body(axes) else rate @ back
    error = np.abs(W + np.swapaxes(W, -1, -2)).max(axis=(-2, -1))
    size = np.abs(W).max(axis=(-2, -1))
    if not np.all(error <= _SKEW * np.maximum(size, 1.0)):
        raise ArgumentError(
            f"the rate does not keep the matrix a rotation: RᵀṘ is off a skew matrix by {np.max(error):.3g}"
        )
    return np.stack([W[..., 2, 1] - W[..., 1, 2], W[..., 0, 2] - W[..., 2, 0], W[..., 1, 0] - W[..., 0, 1]], -1) / 2.0


def omega_from_vector_rate(phi: Any, rate: Any, axes: str = "body") -> np.ndarray:
    """Angular velocity of a rotation vector and its rate (Liu-Jain eq. 54 in world axes).

    Parameters
    ----------
    phi : array_like, shape (..., 3)
        Rotation vector: axis times angle (rad).
    rate : array_like, shape (..., 3)
        Its rate (rad/s).
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.

    Returns
    -------
    ndarray, shape (..., 3)
        Angular velocity (rad/s).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.omega_from_vector_rate([0, 0, 0.2], [0, 0, 1.0]).round(4)
    array([0., 0., 1.])
    """
    own, rate = entries(read("a rotation vector", phi, 3)), entries(read("the rate of a rotation vector", rate, 3))
    return stack((_SO3.right_dexp(own) if _in_body(axes) else _SO3.dexp(own)) @ rate)


def vector_rate_from_omega(phi: Any, omega: Any, axes: str = "body") -> np.ndarray:
    """Rates of rotation vectors of a frame that turns.

    Parameters
    ----------
    phi : array_like, shape (..., 3)
        Rotation vector: axis times angle (rad).
    omega : array_like, shape (..., 3)
        Angular velocity (rad/s).
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.

    Returns
    -------
    ndarray, shape (..., 3)
        Rate φ̇ (rad/s).

    Raises
    ------
    SingularError
        At |φ| = 2π, 4π, ..., where it is not determined (NaN and a warning in a batch).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.vector_rate_from_omega([0, 0, 0.2], [0, 0, 1.0]).round(4)
    array([0., 0., 1.])
    """
    phi = read("a rotation vector", phi, 3)
    angle = np.linalg.norm(phi, axis=-1)
    lost = (angle > 1.0) & (np.abs(np.sin(angle / 2.0)) < GIMBAL_RATES)
    own, w = entries(phi), entries(read("omega", omega, 3))
    with np.errstate(all="ignore"):
        rate = stack((_SO3.right_dexp_inv(own) if _in_body(axes) else _SO3.dexp_inv(own)) @ w)
    return _without(rate, lost, "the rotation vector is whole turns long: its rate is not determined")


def _euler_axes(angles: np.ndarray, sequence: str) -> Mat:
    """The axes of intrinsic Euler angles in body axes, as rows."""
    S = SphericalEuler(sequence).subspace(entries(angles))
    return Mat(t.angular for t in S.twists())


def omega_from_euler_rate(
    angles: Any, rates: Any, sequence: str, axes: str = "body", intrinsic: bool = True
) -> np.ndarray:
    """Angular velocity of Euler angles and their rates (Liu-Jain eq. 52).

    Parameters
    ----------
    angles : array_like, shape (..., 3)
        Euler angles (rad).
    rates : array_like, shape (..., 3)
        Their rates (rad/s).
    sequence : str
        Euler sequence, such as 'xyz'.
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 3)
        Angular velocity (rad/s).

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.omega_from_euler_rate([0.0, 0.0, 0.2], [0, 0, 1.0], "xyz").round(4)
    array([0., 0., 1.])
    """
    angles = read("Euler angles", angles, 3)
    own, order = intrinsic_order(angles, sequence, intrinsic)
    own_rates, _ = intrinsic_order(read("rates of Euler angles", rates, 3), sequence, intrinsic)
    w = stack(_euler_axes(own, order).T @ entries(own_rates))
    return w if _in_body(axes) else np.einsum("...ij,...j->...i", matrix_from_euler(own, order), w)


def euler_rate_from_omega(
    angles: Any, omega: Any, sequence: str, axes: str = "body", intrinsic: bool = True
) -> np.ndarray:
    """Rates of Euler angles of a frame that turns.

    Parameters
    ----------
    angles : array_like, shape (..., 3)
        Euler angles (rad).
    omega : array_like, shape (..., 3)
        Angular velocity (rad/s).
    sequence : str
        Euler sequence, such as 'xyz'.
    axes : {'body', 'world'}, default 'body'
        Axes of the angular velocity: those of the turned frame, or the fixed ones.
    intrinsic : bool, default True
        Whether each rotation is about an axis of the frame turned so far, or about one that stays.

    Returns
    -------
    ndarray, shape (..., 3)
        Rates of the angles (rad/s).

    Raises
    ------
    SingularError
        At gimbal lock, where they are not determined (NaN and a warning in a batch).

    Notes
    -----
    The middle axis is perpendicular to the outer two, so the rate of the first angle is that of ω across the second and
    third axis.

    Examples
    --------
    >>> from fourbar import convert
    >>> convert.euler_rate_from_omega([0.0, 0.0, 0.2], [0, 0, 1.0], "xyz").round(4)
    array([0., 0., 1.])
    """
    intrinsic_angles, order = intrinsic_order(read("Euler angles", angles, 3), sequence, intrinsic)
    w = read("omega", omega, 3)
    if not _in_body(axes):
        w = np.einsum("...ji,...j->...i", matrix_from_euler(intrinsic_angles, order), w)
    first, second, third = _euler_axes(intrinsic_angles, order)
    turning, across = Vec(entries(w)), second.cross(third)
    pivot = across.dot(first)
    lost = np.abs(pivot) < GIMBAL_RATES
    r1 = across.dot(turning) / np.where(lost, 1.0, pivot)
    rates = stack((r1, second.dot(turning), third.dot(turning - first * r1)))
    found = _without(rates, lost, f"gimbal lock of the Euler sequence {sequence!r}: its rates are not determined")
    return found if intrinsic else found[..., ::-1]
