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
from .arrays import entries, read, stacked, stacked_rows
from .rotations import intrinsic_order, matrix_from_euler, read_quaternion, read_rotation

_SO3 = SO3()
_SKEW = 1e-9  # how far RᵀṘ may be off a skew matrix, relative to its size
_SINGULAR = 1e-12  # pivot below which rates are not determined


def _in_body(axes: str) -> bool:
    if axes not in ("body", "world"):
        raise ArgumentError(f"axes={axes!r}: expected 'body' (of the turned frame) or 'world' (the fixed ones)")
    return axes == "body"


def _without(x: np.ndarray, lost: np.ndarray, what: str) -> np.ndarray:
    """x (..., n) with NaN where the question has no answer: an error for one sample, a warning for a batch."""
    lost = np.broadcast_to(lost, x.shape[:-1])
    if not np.any(lost):
        return x
    if lost.ndim == 0:
        raise SingularError(what)
    warn(f"{what}, in {int(lost.sum())} of {lost.size} samples; these are NaN", RuntimeWarning)
    return np.where(lost[..., None], np.nan, x)


def quaternion_rate_from_omega(q: Any, omega: Any, axes: str = "body") -> np.ndarray:
    """q̇ (..., 4) = ½ q (0, ω) with ω (..., 3) in body axes, ½ (0, ω) q in world axes. The length of q stays."""
    own, w = entries(read_quaternion(q)), (0.0, *entries(read("omega", omega, 3)))
    product = multiply(own, w) if _in_body(axes) else multiply(w, own)
    return stacked(product * 0.5)


def omega_from_quaternion_rate(q: Any, rate: Any, axes: str = "body") -> np.ndarray:
    """ω (..., 3) of a quaternion (..., 4) and its rate (..., 4); a change of its length does not count."""
    own, rate = entries(read_quaternion(q)), entries(read("the rate of a quaternion", rate, 4))
    back = conjugate(own) * (2.0 / dot(own, own))
    product = multiply(back, rate) if _in_body(axes) else multiply(rate, back)
    return stacked(product[1:])


def _hat(w: np.ndarray) -> np.ndarray:
    return stacked_rows(_SO3.ad(entries(w)))


def matrix_rate_from_omega(R: Any, omega: Any, axes: str = "body") -> np.ndarray:
    """Ṙ (..., 3, 3) = R [ω] with ω (..., 3) in body axes, [ω] R in world axes."""
    R, cross = read_rotation(R), _hat(read("omega", omega, 3))
    return R @ cross if _in_body(axes) else cross @ R


def omega_from_matrix_rate(R: Any, rate: Any, axes: str = "body") -> np.ndarray:
    """ω (..., 3) of a rotation matrix (..., 3, 3) and its rate (..., 3, 3), which must keep it a rotation."""
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
    """ω (..., 3) of a rotation vector φ (..., 3) and its rate (Liu-Jain eq. 54 in world axes)."""
    own, rate = entries(read("a rotation vector", phi, 3)), entries(read("the rate of a rotation vector", rate, 3))
    return stacked((_SO3.right_dexp(own) if _in_body(axes) else _SO3.dexp(own)) @ rate)


def vector_rate_from_omega(phi: Any, omega: Any, axes: str = "body") -> np.ndarray:
    """φ̇ (..., 3) of a rotation vector φ (..., 3) turning with ω (..., 3). Not determined at |φ| = 2π, 4π, ..."""
    phi = read("a rotation vector", phi, 3)
    angle = np.linalg.norm(phi, axis=-1)
    lost = (angle > 1.0) & (np.abs(np.sin(angle / 2.0)) < _SINGULAR)
    own, w = entries(phi), entries(read("omega", omega, 3))
    with np.errstate(all="ignore"):
        rate = stacked((_SO3.right_dexp_inv(own) if _in_body(axes) else _SO3.dexp_inv(own)) @ w)
    return _without(rate, lost, "the rotation vector is whole turns long: its rate is not determined")


def _euler_axes(angles: np.ndarray, sequence: str) -> Mat:
    """The axes of intrinsic Euler angles in body axes, as rows."""
    S = SphericalEuler(sequence).subspace(entries(angles))
    return Mat(t.angular for t in S.twists())


def omega_from_euler_rate(
    angles: Any, rates: Any, sequence: str, axes: str = "body", intrinsic: bool = True
) -> np.ndarray:
    """ω (..., 3) of Euler angles (..., 3) and their rates (..., 3) (Liu-Jain eq. 52)."""
    angles = read("Euler angles", angles, 3)
    own, order = intrinsic_order(angles, sequence, intrinsic)
    own_rates, _ = intrinsic_order(read("rates of Euler angles", rates, 3), sequence, intrinsic)
    w = stacked(_euler_axes(own, order).T @ entries(own_rates))
    return w if _in_body(axes) else np.einsum("...ij,...j->...i", matrix_from_euler(own, order), w)


def euler_rate_from_omega(
    angles: Any, omega: Any, sequence: str, axes: str = "body", intrinsic: bool = True
) -> np.ndarray:
    """Rates (..., 3) of Euler angles (..., 3) of a frame that turns with ω (..., 3).

    At gimbal lock they are not determined: an error for one sample, NaN and a warning in a batch. The middle axis is
    perpendicular to the outer two, so the rate of the first angle is that of ω across the second and third axis.
    """
    own, order = intrinsic_order(read("Euler angles", angles, 3), sequence, intrinsic)
    w = read("omega", omega, 3)
    if not _in_body(axes):
        w = np.einsum("...ji,...j->...i", matrix_from_euler(own, order), w)
    first, second, third = _euler_axes(own, order)
    turning, across = Vec(entries(w)), second.cross(third)
    pivot = across.dot(first)
    lost = np.abs(pivot) < _SINGULAR
    r1 = across.dot(turning) / np.where(lost, 1.0, pivot)
    rates = stacked((r1, second.dot(turning), third.dot(turning - first * r1)))
    found = _without(rates, lost, f"gimbal lock of the Euler sequence {sequence!r}: its rates are not determined")
    return found if intrinsic else found[..., ::-1]
