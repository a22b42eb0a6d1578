"""Euler angles: rotations about three axes of the frame turned so far, all twelve sequences.

A sequence "abc" means R = R_a(θ₁) R_b(θ₂) R_c(θ₃). The inverse reads the angles from a quaternion, where sums and
differences of the outer angles stand apart: no angle loses digits, and at gimbal lock the rotation is still met.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import pi

from ..expr import atan2, cos, maximum, minimum, select, sin, sqrt
from ..tolerances import GIMBAL_LOCK
from .groups.so3 import multiply
from .linear import Scalar, Vec

SEQUENCES = tuple(a + b + c for a, b, c in product("xyz", repeat=3) if a != b and b != c)


def to_quaternion(angles: Sequence[Scalar], sequence: str) -> Vec:
    """The unit quaternion (w, x, y, z) of Euler angles (3)."""
    q = Vec((1.0, 0.0, 0.0, 0.0))
    for angle, axis in zip(angles, sequence, strict=True):
        half = angle * 0.5
        turn = [cos(half), 0.0, 0.0, 0.0]
        turn[1 + "xyz".index(axis)] = sin(half)
        q = multiply(q, turn)
    return q


def _axes(sequence: str) -> tuple[int, int, int, float]:
    """Places in a quaternion of the first axis i, the second j, the one left k; and ±1 with e_i × e_j = ± e_k."""
    i, j = ("xyz".index(axis) for axis in sequence[:2])
    return 1 + i, 1 + j, 4 - i - j, 1.0 if (j - i) % 3 == 1 else -1.0


def _length(x: Scalar, y: Scalar) -> Scalar:
    return sqrt(x * x + y * y)


def from_quaternion(q: Sequence[Scalar], sequence: str) -> Vec:
    """Euler angles (3) of a quaternion of any length but zero: the outer ones in (-π, π].

    The middle one is in [0, π] for sequences like "zxz", in [-π/2, π/2] for those like "xyz". At gimbal lock the third
    is 0.

    "iji": w = cos θ₂/2 cos(θ₁+θ₃)/2, q_i = cos θ₂/2 sin(θ₁+θ₃)/2, and likewise q_j, ±q_k with sin θ₂/2 and θ₁-θ₃.
    "ijk": turned further by π/2 about j it is R_i(θ₁) R_j(θ₂ + π/2) R_i(∓θ₃).
    """
    i, j, k, sign = _axes(sequence)
    w, a, b, c = q[0], q[i], q[j], q[k]
    if sequence[0] == sequence[2]:
        upper, lower = _length(w, a), _length(b, c)
        middle = atan2(lower, upper) * 2.0
        first, third = _outer(w, a, b, c * sign, lower, upper)
        return Vec((first, middle, third))
    turned = (w - b, a - sign * c, b + w, sign * c + a)
    upper, lower = _length(turned[0], turned[1]), _length(turned[2], turned[3])
    total = upper + lower
    square = total * total
    sine = (w * b + sign * a * c) * 4.0
    middle = atan2(maximum(minimum(sine, square), -square), square) * 2.0
    first, third = _outer(*turned, lower, upper)
    return Vec((first, middle, third * -sign))


def _outer(w: Scalar, a: Scalar, b: Scalar, c: Scalar, lower: Scalar, upper: Scalar) -> tuple[Scalar, Scalar]:
    """θ₁ and θ₃ of the sequence "iji", from half their sum (in w, a) and half their difference (in b, c)."""
    size = GIMBAL_LOCK * (lower + upper)
    half_sum, half_difference = atan2(a, w), atan2(c, b)
    half_sum, half_difference = (
        select(upper <= size, half_difference, half_sum),
        select(lower <= size, half_sum, half_difference),
    )
    return _principal(half_sum + half_difference), _principal(half_sum - half_difference)


def _principal(angle: Scalar) -> Scalar:
    """An angle in (-2π, 2π] as one in (-π, π]."""
    return select(angle > pi, angle - 2.0 * pi, select(angle <= -pi, angle + 2.0 * pi, angle))
