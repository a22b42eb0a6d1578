"""sin, cos and atan2 of the machine code against exact values: at most 2 ulp (4 for atan2), everywhere."""

import math

import mpmath
import numpy as np
import pytest

from fourbar.compile.elementary import _HALF_PI_FUSED, _HALF_PI_SPLIT
from fourbar.compile.ir import Lanes
from fourbar.expr import atan2, cos, sin

from .support import EVERY_WIDTH, program_of, run, same_bits

SINCOS = program_of(lambda x: (sin(x[0]), cos(x[0])), 1)
ATAN2 = program_of(lambda x: (atan2(x[0], x[1]),), 2)
# With and without fused multiply-adds where the CPU has them: the second is what older CPUs run.
KINDS = [Lanes(4, fma) for fma in sorted({EVERY_WIDTH[0].fma, False})]
LARGEST = 1e8


def worst_error(got, exact):
    """Largest error in units in the last place of the exact value."""
    with mpmath.workprec(160):
        pairs = zip(map(float, got), exact, strict=True)
        return max(float(abs(mpmath.mpf(g) - e) / math.ulp(float(e))) for g, e in pairs)


def neighbours(x, reach=3):
    """Doubles around each x, the same number of them on both sides."""
    found = [x]
    for direction in (-np.inf, np.inf):
        step = x
        for _ in range(reach):
            step = np.nextafter(step, direction)
            found.append(step)
    return np.concatenate(found)


def angles(kind):
    rng = np.random.default_rng(3)
    if kind == "small":
        return rng.uniform(-10.0, 10.0, 1500)
    if kind == "large":
        return rng.uniform(-LARGEST, LARGEST, 1500)
    if kind == "multiples of π/2":
        near = np.arange(-60, 61)
        return neighbours(np.concatenate([near, rng.integers(-63_661_977, 63_661_977, 200)]) * (math.pi / 2))
    if kind == "hardest":
        return np.array([91.106186954104, 182.212373908208, 23923815.534912497, 37039019.24426115, 99999353.34424978])
    if kind == "between quadrants":
        return neighbours((np.arange(-100, 100) + 0.5) * (math.pi / 2))
    return np.concatenate([2.0 ** np.arange(-1074, 27), -(10.0 ** rng.uniform(-320, -3, 300))])


ANGLES = ("small", "large", "multiples of π/2", "hardest", "between quadrants", "tiny and powers of two")


@pytest.mark.parametrize("lanes", KINDS, ids=str)
@pytest.mark.parametrize("kind", ANGLES)
def test_sine_and_cosine_are_within_two_ulp(kind, lanes):
    x = angles(kind)
    x = x[np.abs(x) <= LARGEST]
    got = run(SINCOS, x[:, None], lanes=lanes)
    with mpmath.workprec(160):
        exact = [mpmath.mpf(float(a)) for a in x]
        assert worst_error(got[:, 0], [mpmath.sin(a) for a in exact]) <= 2.0
        assert worst_error(got[:, 1], [mpmath.cos(a) for a in exact]) <= 2.0


@pytest.mark.parametrize("pieces", [_HALF_PI_FUSED, _HALF_PI_SPLIT], ids=["fused", "split"])
def test_the_pieces_add_up_to_half_pi(pieces):
    with mpmath.workprec(400):
        total = mpmath.fsum(mpmath.mpf(p) for p in pieces)
        assert abs(total - mpmath.pi / 2) < mpmath.mpf(2) ** -130


def test_products_with_split_pieces_are_exact():
    """All but the last piece leave room for a factor of 26 bits, the largest multiple of π/2 below 1e8."""
    for piece in _HALF_PI_SPLIT[:-1]:
        mantissa = int(math.frexp(piece)[0] * 2**53)
        assert mantissa % 2**26 == 0


@pytest.mark.quick
@pytest.mark.parametrize("lanes", KINDS, ids=str)
def test_angles_without_meaning_give_nan(lanes):
    x = np.array([1.0000001e8, -1.1e8, 1e300, np.inf, -np.inf, np.nan, 1e8, -1e8])
    got = run(SINCOS, x[:, None], lanes=lanes)
    assert np.all(np.isnan(got[:6]))
    assert np.all(np.isfinite(got[6:]))


@pytest.mark.quick
def test_sine_and_cosine_stay_within_one():
    x = np.concatenate([neighbours(np.arange(-2000, 2000) * (math.pi / 2)), np.linspace(-50, 50, 20001)])
    assert np.all(np.abs(run(SINCOS, x[:, None])) <= 1.0)


def test_sine_and_cosine_of_zero_are_exact():
    assert np.array_equal(run(SINCOS, np.array([[0.0], [-0.0]])), [[0.0, 1.0], [0.0, 1.0]])


def test_the_symmetries_are_exact():
    x = np.random.default_rng(4).uniform(0.0, 1e5, 4000)
    forward, backward = run(SINCOS, x[:, None]), run(SINCOS, -x[:, None])
    assert np.array_equal(forward[:, 0], -backward[:, 0])
    assert np.array_equal(forward[:, 1], backward[:, 1])


def points(kind):
    """Points (y, x)."""
    rng = np.random.default_rng(5)
    turn = rng.uniform(-math.pi, math.pi, 1200)
    circle = np.stack([np.sin(turn), np.cos(turn)], axis=-1)
    if kind == "circle":
        return circle
    if kind == "every size":
        return circle * 10.0 ** rng.uniform(-300, 300, (1200, 1))
    if kind == "every ratio":
        return circle * 10.0 ** rng.uniform(-140, 140, (1200, 2))
    if kind == "huge":
        return circle[:400] * 1.7e308
    if kind == "denormal":
        whole = rng.integers(-40, 40, (400, 2))
        return whole[np.all(whole != 0, axis=1)] * 5e-324
    seam = neighbours(np.array([0.66, 1.0, 1 / 0.66]))
    return np.array([(sy * y, sx * 1.0) for y in seam for sx in (1, -1) for sy in (1, -1)])


@pytest.mark.parametrize("lanes", KINDS, ids=str)
@pytest.mark.parametrize("kind", ["circle", "every size", "every ratio", "huge", "denormal", "seams"])
def test_atan2_is_within_four_ulp(kind, lanes):
    p = points(kind)
    with mpmath.workprec(160):
        exact = [mpmath.atan2(mpmath.mpf(float(y)), mpmath.mpf(float(x))) for y, x in p]
        assert worst_error(run(ATAN2, p, lanes=lanes)[:, 0], exact) <= 4.0


@pytest.mark.quick
@pytest.mark.parametrize("lanes", EVERY_WIDTH, ids=str)
def test_atan2_on_the_axes_is_numpys(lanes):
    sides = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1.7e308, -1.7e308)
    p = np.array([(y, x) for y in sides for x in sides if y == 0.0 or x == 0.0])
    got = run(ATAN2, p, lanes=lanes)[:, 0]
    assert same_bits(got, np.arctan2(p[:, 0], p[:, 1]))


def test_atan2_with_infinities_and_nan():
    p = np.array([(1.0, np.inf), (np.inf, 1.0), (-np.inf, -1.0), (1.0, -np.inf), (-0.0, np.inf)])
    np.testing.assert_allclose(run(ATAN2, p)[:, 0], np.arctan2(p[:, 0], p[:, 1]), rtol=1e-15)
    unknown = np.array([(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan)])
    assert np.all(np.isnan(run(ATAN2, unknown)))


@pytest.mark.parametrize("program", [SINCOS, ATAN2], ids=["sin cos", "atan2"])
def test_the_bits_do_not_depend_on_the_width(program):
    rng = np.random.default_rng(6)
    x = rng.uniform(-100.0, 100.0, (333, program.inputs[0].shape[0]))
    wanted = run(program, x, lanes=EVERY_WIDTH[0])
    assert all(same_bits(run(program, x, lanes=lanes), wanted) for lanes in EVERY_WIDTH[1:])
