"""Functions like sin(t)/t that are smooth at t = 0 although their formulas divide by zero there.

All are even in t, so they are written as functions of s = t², which needs no square root of a vanishing number and is
what s = ω·ω gives. With the Stumpff functions c_k(s) = Σ_j (-s)^j / (k + 2j)!:

    name      value                       where it is used
    cos_half  cos(t/2)                    quaternion of a rotation vector
    sin_half  sin(t/2) / t                quaternion of a rotation vector
    c1        sin(t) / t                  rotation matrix, planar exponential
    c2        (1 - cos t) / t²            rotation matrix, dexp
    c3        (t - sin t) / t³            dexp
    c2_slope  dc2/ds                      dexp on SE(3), coupling of rotation and translation
    c3_slope  dc3/ds                      the same
    half_cot  (t/2) cot(t/2)              inverse of dexp in the plane
    b         (1 - half_cot) / t²         inverse of dexp
    b_slope   db/ds                       inverse of dexp on SE(3)
    half_angle  atan2(n, w) / n           rotation vector of a quaternion

Each has two branches: a power series near zero and the closed form elsewhere. The border lies where the closed form has
stopped losing digits to cancellation, so both branches are good to a few units in the last place. Both are computed and
`select` takes one, which keeps the functions traceable; each branch is fed a harmless argument where it is not taken,
so that neither its value nor its derivatives can be NaN or infinite (0 · inf would spoil the other branch).

Identities behind the closed forms: s c_(k+2) = 1/k! - c_k and 2 s dc_k/ds = c_(k-1) - k c_k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

from fourbar.expr import atan2, cos, select, sin, sqrt

Scalar = Any

# The closed forms are evaluated at s >= FAR, the series at s < NEAR; every border between branches lies in between.
FAR = 1.0
NEAR = 25.0
_OMITTED = 2.0**-60


def _coefficients(term: Callable[[int], float], size: float) -> tuple[float, ...]:
    """Coefficients of Σ term(j) s^j, as many as s < size needs for full precision of the sum and two derivatives.

    A term is the quotient of two integers, which is rounded once.
    """
    count = 1
    # The first omitted term of the second derivative is about count² term(count) size^(count - 2).
    while abs(term(count)) * size**count * (count * max(1, 1 / size)) ** 2 > _OMITTED * abs(term(0)):
        count += 1
    return tuple(term(j) for j in range(count))


def _horner(coefficients: Sequence[float], s: Scalar) -> Scalar:
    total: Scalar = coefficients[-1]
    for a in coefficients[-2::-1]:
        total = total * s + a
    return total


def _below(s: Scalar, border: float) -> Scalar:
    """Whether s < border; a complex s (complex-step derivatives) is judged by its real part."""
    return getattr(s, "real", s) < border


def _far(s: Scalar) -> Scalar:
    """s where a closed form may be used, 1 elsewhere."""
    return select(_below(s, FAR), FAR, s)


def _join(s: Scalar, border: float, coefficients: Sequence[float], closed: Scalar) -> Scalar:
    """The series below the border, the value of the closed form above it."""
    near = select(_below(s, NEAR), s, 0.0)
    return select(_below(s, border), _horner(coefficients, near), closed)


def _stumpff_slope(k: int) -> Callable[[int], float]:
    """Coefficients of dc_k/ds."""
    return lambda j: (-1) ** (j + 1) * (j + 1) / factorial(k + 2 * j + 2)


# Borders found by comparing both branches with 60-digit arithmetic: beyond them the closed form is as good.
_BORDER_C3, _BORDER_SIN_HALF_SLOPE, _BORDER_C3_SLOPE, _BORDER_C4_SLOPE, _BORDER_ATAN = 9.0, 9.0, 16.0, 25.0, 1.0 / 32.0
_COS_HALF = _coefficients(lambda j: (-1) ** j / (4**j * factorial(2 * j)), FAR)
_SIN_HALF = _coefficients(lambda j: (-1) ** j / (2 * 4**j * factorial(2 * j + 1)), FAR)
_SIN_HALF_SLOPE = _coefficients(
    lambda j: (-1) ** (j + 1) * (j + 1) / (8 * 4**j * factorial(2 * j + 3)), _BORDER_SIN_HALF_SLOPE
)
_C3 = _coefficients(lambda j: (-1) ** j / factorial(2 * j + 3), _BORDER_C3)
_C3_SLOPE = _coefficients(_stumpff_slope(3), _BORDER_C3_SLOPE)
_C4_SLOPE = _coefficients(_stumpff_slope(4), _BORDER_C4_SLOPE)
_ATAN = _coefficients(lambda j: (-1) ** j / (2 * j + 1), _BORDER_ATAN)


def cos_half(s: Scalar) -> Scalar:
    """cos(t/2) of s = t²."""
    return _join(s, FAR, _COS_HALF, _cos_half_far(_far(s)))


def sin_half(s: Scalar) -> Scalar:
    """sin(t/2) / t of s = t²; 1/2 at 0."""
    return _join(s, FAR, _SIN_HALF, _sin_half_far(_far(s)))


def _cos_half_far(s: Scalar) -> Scalar:
    return cos(sqrt(s) * 0.5)


def _sin_half_far(s: Scalar) -> Scalar:
    t = sqrt(s)
    return sin(t * 0.5) / t


def _c1_far(s: Scalar) -> Scalar:
    return _sin_half_far(s) * _cos_half_far(s) * 2.0


def c1(s: Scalar) -> Scalar:
    """sin(t) / t of s = t²; 1 at 0."""
    return sin_half(s) * cos_half(s) * 2.0


def c2(s: Scalar) -> Scalar:
    """(1 - cos t) / t² of s = t²; 1/2 at 0. As 2 sin²(t/2) / t² it never cancels."""
    half = sin_half(s)
    return half * half * 2.0


def c3(s: Scalar) -> Scalar:
    """(t - sin t) / t³ of s = t²; 1/6 at 0."""
    far = _far(s)
    return _join(s, _BORDER_C3, _C3, (1.0 - _c1_far(far)) / far)


def _sin_half_slope(s: Scalar) -> Scalar:
    """The derivative of `sin_half`; -1/48 at 0."""
    far = _far(s)
    closed = (_cos_half_far(far) * 0.5 - _sin_half_far(far)) / (far * 2.0)
    return _join(s, _BORDER_SIN_HALF_SLOPE, _SIN_HALF_SLOPE, closed)


def c2_slope(s: Scalar) -> Scalar:
    """dc2/ds; -1/24 at 0. From c2 = 2 sin_half²."""
    return sin_half(s) * _sin_half_slope(s) * 4.0


def c3_slope(s: Scalar) -> Scalar:
    """dc3/ds; -1/120 at 0. Closed form (3 sin(t)/t - 2 - cos t) / (2 t⁴)."""
    far = _far(s)
    half = _cos_half_far(far)
    closed = (_c1_far(far) * 3.0 - 1.0 - half * half * 2.0) / (far * far * 2.0)
    return _join(s, _BORDER_C3_SLOPE, _C3_SLOPE, closed)


def _c4_slope(s: Scalar) -> Scalar:
    """dc4/ds; -1/720 at 0. Closed form (4 (1 - cos t)/t² - 1 - sin(t)/t) / (2 t⁴)."""
    far = _far(s)
    half = _sin_half_far(far)
    closed = (half * half * 8.0 - 1.0 - _c1_far(far)) / (far * far * 2.0)
    return _join(s, _BORDER_C4_SLOPE, _C4_SLOPE, closed)


def half_cot(s: Scalar) -> Scalar:
    """(t/2) cot(t/2) of s = t²; 1 at 0, pole at t = 2π."""
    return cos_half(s) / (sin_half(s) * 2.0)


def b(s: Scalar) -> Scalar:
    """(1 - (t/2) cot(t/2)) / t² of s = t²; 1/12 at 0, pole at t = 2π.

    It is minus the logarithmic derivative of c2, which has no difference of equal numbers.
    """
    return _sin_half_slope(s) / sin_half(s) * -2.0


def b_slope(s: Scalar) -> Scalar:
    """db/ds; 1/720 at 0, pole at t = 2π.

    Differentiating b = -c2'/c2 and using the identities above leaves db/ds = -c4' / (2 c2).
    """
    half = sin_half(s)
    return _c4_slope(s) / (half * half * -4.0)


def half_angle(n2: Scalar, w: Scalar) -> Scalar:
    """atan2(n, w) / n with n = √n2 and w >= 0, not both zero; 1/w at n = 0.

    For a unit quaternion with vector part of squared length n2 and scalar part w this is half its angle over the sine
    of half its angle. Near n = 0 it is the series of atan(x)/x at x = n/w, divided by w: the same function of (n2, w),
    so that derivatives do not depend on the branch either.
    """
    small = n2 < w * w * _BORDER_ATAN
    near_w = select(small, w, 1.0)
    near = _horner(_ATAN, select(small, n2, 0.0) / (near_w * near_w)) / near_w
    n = sqrt(select(small, 1.0, n2))
    return select(small, near, atan2(n, w) / n)
