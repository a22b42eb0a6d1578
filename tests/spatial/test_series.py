"""The sinc-like functions against 60-digit arithmetic, at zero, near it and far from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from fourbar.expr import Graph, jvp, vjp
from fourbar.spatial import series

from .support import evaluate

EPS = 2.0**-52
ULPS = 4
AT_ZERO = {
    "cos_half": 1.0, "sin_half": 1 / 2, "c1": 1.0, "c2": 1 / 2, "c3": 1 / 6, "c2_slope": -1 / 24, "c3_slope": -1 / 120,
    "half_cot": 1.0, "b": 1 / 12, "b_slope": 1 / 720,
}  # fmt: skip
EXACT: dict[str, Callable[[Any], Any]] = {
    "cos_half": lambda t: mp.cos(t / 2),
    "sin_half": lambda t: mp.sin(t / 2) / t,
    "c1": lambda t: mp.sin(t) / t,
    "c2": lambda t: (1 - mp.cos(t)) / t**2,
    "c3": lambda t: (t - mp.sin(t)) / t**3,
    "c2_slope": lambda t: (mp.sin(t) / t - 2 * (1 - mp.cos(t)) / t**2) / (2 * t**2),
    "c3_slope": lambda t: (3 * mp.sin(t) / t - 2 - mp.cos(t)) / (2 * t**4),
    "half_cot": lambda t: t / 2 * mp.cot(t / 2),
    "b": lambda t: (1 - t / 2 * mp.cot(t / 2)) / t**2,
    "b_slope": lambda t: (t / 2 * mp.cot(t / 2) - 1) / t**4 + (t / 2 / mp.sin(t / 2) ** 2 - mp.cot(t / 2)) / (4 * t**3),
}
SLOPES = {"c2": "c2_slope", "c3": "c3_slope", "b": "b_slope"}
BORDERS = [math.sqrt(s) * k for s in (1.0, 9.0, 16.0, 25.0) for k in (1 - 1e-15, 1.0, 1 + 1e-15)]
ANGLES = [*np.logspace(-12, 2, 400), *np.linspace(0.05, 7.0, 150), *BORDERS]
NAMES = pytest.mark.parametrize("name", EXACT)


def function(name: str) -> Callable[[Any], Any]:
    return getattr(series, name)


@pytest.fixture(autouse=True)
def many_digits() -> Any:
    # The exact slopes lose the digits of t⁴ at t = 1e-12.
    with mp.workdps(120):
        yield


def error_bound(exact: Callable[[Any], Any], t: Any) -> Any:
    """A few ulps of the value, plus what the same relative error in s itself would do to it.

    The second part matters only where the function is sensitive: near its zeros and poles, and for many turns.
    """
    step = mp.mpf(10) ** -40
    sensitivity = abs(exact(t * (1 + step)) - exact(t)) / (2 * step)
    return ULPS * EPS * (abs(exact(t)) + sensitivity)


@NAMES
def test_within_four_ulps(name: str) -> None:
    for angle in ANGLES:
        s = float(angle) ** 2
        t = mp.sqrt(mp.mpf(s))
        assert abs(function(name)(s) - EXACT[name](t)) <= error_bound(EXACT[name], t), (angle, function(name)(s))


@NAMES
def test_plain_four_ulps_up_to_two_radians(name: str) -> None:
    for angle in np.linspace(1e-3, 2.0, 200):
        s = float(angle) ** 2
        exact = EXACT[name](mp.sqrt(mp.mpf(s)))
        assert abs(function(name)(s) - exact) <= ULPS * EPS * abs(exact)


@NAMES
def test_exact_at_zero(name: str) -> None:
    assert function(name)(0.0) == AT_ZERO[name]
    assert function(name)(1e-300) == AT_ZERO[name]


@NAMES
def test_all_nodes_of_trace_and_derivatives_are_finite(name: str) -> None:
    s = Graph().inputs("s", 1)[0]
    value = function(name)(s)
    first = jvp([value], {s: 1.0})[0]
    second = jvp([first], {s: 1.0})[0]
    reverse = vjp([value], [1.0], [s])[0]
    for number in (0.0, 1e-300, 1e-20, 0.5, 1.0, 9.0, 20.0, 1e8, 1e30):
        got = evaluate([value, first, second, reverse], {s: number})
        assert got[0] == pytest.approx(function(name)(number), rel=4 * EPS)
        assert got[3] == pytest.approx(got[1], rel=1e-13, abs=1e-300)


@NAMES
def test_traced_derivatives(name: str) -> None:
    """First and second derivative by s, both branches, to the accuracy of the closed form at the border."""
    s = Graph().inputs("s", 1)[0]
    first = jvp([function(name)(s)], {s: 1.0})[0]
    second = jvp([first], {s: 1.0})[0]
    for number in (1e-6, 0.3, 0.999, 1.001, 4.0, 8.99, 9.01, 15.9, 16.1, 24.9, 25.1, 80.0):
        exact = mp.taylor(lambda x: EXACT[name](mp.sqrt(x)), mp.mpf(number), 2)
        got = evaluate([first, second], {s: number})
        assert got[0] == pytest.approx(float(exact[1]), rel=1e-13)
        assert got[1] == pytest.approx(float(2 * exact[2]), rel=1e-12)


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_are_derivatives(name: str) -> None:
    s = Graph().inputs("s", 1)[0]
    slope = jvp([function(name)(s)], {s: 1.0})[0]
    for number in (0.0, 1e-9, 0.1, 2.0, 12.0, 30.0):
        assert evaluate([slope], {s: number})[0] == pytest.approx(function(SLOPES[name])(number), rel=1e-13)


@NAMES
def test_arrays_and_complex_steps(name: str) -> None:
    s = np.array([0.0, 1e-12, 0.3, 0.99, 1.5, 9.5, 20.0, 70.0])
    one_by_one = np.array([function(name)(float(x)) for x in s])
    np.testing.assert_allclose(function(name)(s), one_by_one, rtol=4 * EPS)
    number = Graph().inputs("s", 1)[0]
    slope = jvp([function(name)(number)], {number: 1.0})[0]
    expected = [evaluate([slope], {number: float(x)})[0] for x in s]
    np.testing.assert_allclose(function(name)(s + 1e-200j).imag / 1e-200, expected, rtol=1e-13)


def test_half_angle() -> None:
    for angle in [*np.logspace(-12, 0, 200), *np.linspace(0.1, 3.1, 100), math.pi - 1e-9, math.pi]:
        n2, w = math.sin(angle / 2) ** 2, math.cos(angle / 2)
        n = mp.sqrt(mp.mpf(n2))
        exact = mp.atan2(n, mp.mpf(w)) / n
        assert abs(series.half_angle(n2, w) - exact) <= ULPS * EPS * abs(exact)
    assert series.half_angle(0.0, 1.0) == 1.0
    assert series.half_angle(1.0, 0.0) == math.pi / 2


def test_half_angle_trace_is_finite_at_identity_and_half_turn() -> None:
    n2, w = Graph().inputs("x", 2)
    value = series.half_angle(n2, w)
    slopes = [jvp([value], {n2: 1.0})[0], jvp([value], {w: 1.0})[0], *vjp([value], [1.0], [n2, w])]
    # atan2(n, w)/n = 1/w - n²/(3 w³) + ... near n = 0.
    identity = [1.0, -1 / 3, -1.0, -1 / 3, -1.0]
    assert evaluate([value, *slopes], {n2: 0.0, w: 1.0}) == pytest.approx(identity, rel=4 * EPS)
    # With n = 1, w = 0: d/dn (atan2(n, w)/n) = -π/2, half of it by n²; d/dw = -1.
    half_turn = [math.pi / 2, -math.pi / 4, -1.0, -math.pi / 4, -1.0]
    assert evaluate([value, *slopes], {n2: 1.0, w: 0.0}) == pytest.approx(half_turn, rel=4 * EPS)
