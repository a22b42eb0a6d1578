"""Rates of rotations: angular velocity ω ↔ rates of quaternions, matrices, rotation vectors and Euler angles.

axes="body": ω in the axes of the turned frame; axes="world": in the fixed ones. Functions work over leading axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, SingularError, warn
from ..joints.euler import SphericalEuler
from ..spatial.groups import SO3
from ..spatial.groups.so3 import conjugate, multiply
from ..spatial.linear import Mat, Vec, dot
from ..tolerances import GIMBAL_RATES
from .batched_vectors import entries, read, stack, stack_rows
from .euler_angles import intrinsic_order, matrix_from_euler
from .rotations import read_quaternion, read_rotation

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
