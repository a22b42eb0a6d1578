"""Rates of rotations: against high precision differences, round trips, singularities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fourbar import ArgumentError, SingularError, convert

EACH_SEQUENCE = pytest.mark.parametrize("sequence", convert.SEQUENCES)
AXES = pytest.mark.parametrize("axes", ["body", "world"])
BOTH = pytest.mark.parametrize("intrinsic", [True, False])
N = 50


def draw(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, n))


def slope(matrix: Callable[[np.ndarray], np.ndarray], x: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """d/dt of a matrix along x + t rate, by differences of order eight."""
    h, weights = 0.02, {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    terms = (w * (matrix(x + k * h * rate) - matrix(x - k * h * rate)) for k, w in weights.items())
    return sum(terms) / h  # type: ignore[return-value]


def turning(R: np.ndarray, rate: np.ndarray, axes: str) -> np.ndarray:
    """ω of a rotation matrix and its rate, by hand."""
    W = np.swapaxes(R, -1, -2) @ rate if axes == "body" else rate @ np.swapaxes(R, -1, -2)
    return np.stack([W[..., 2, 1], W[..., 0, 2], W[..., 1, 0]], -1)


def check(matrix: Any, to_omega: Any, to_rate: Any, x: np.ndarray, rate: np.ndarray, axes: str) -> None:
    """ω of a rate is that of the matrix; the rate of ω is the rate."""
    w = to_omega(x, rate, axes=axes)
    assert np.abs(w - turning(matrix(x), slope(matrix, x, rate), axes)).max() < 2e-11 * np.abs(w).max()
    back = to_rate(x, w, axes=axes)
    assert np.abs(to_omega(x, back, axes=axes) - w).max() < 1e-12 * np.abs(w).max()


@EACH_SEQUENCE
@AXES
@BOTH
def test_euler_rates(sequence: str, axes: str, intrinsic: bool) -> None:
    angles, rates = draw(3), draw(3, 1)

    def matrix(x: np.ndarray) -> np.ndarray:
        return convert.matrix_from_euler(x, sequence, intrinsic)

    w = convert.omega_from_euler_rate(angles, rates, sequence, axes, intrinsic)
    assert np.abs(w - turning(matrix(angles), slope(matrix, angles, rates), axes)).max() < 1e-10
    back = convert.euler_rate_from_omega(angles, w, sequence, axes, intrinsic)
    middle = np.sin(angles[:, 1]) if sequence[0] == sequence[2] else np.cos(angles[:, 1])
    assert np.all(np.abs(back - rates).max(axis=-1) < 2e-14 / np.abs(middle))


@pytest.mark.quick
@AXES
def test_vector_rates(axes: str) -> None:
    """Also near zero, near π and beyond, up to the pole at 2π."""
    phi = draw(3) * np.logspace(-9, 0, N)[:, None]
    phi[-5:] *= (np.array([1e-3, 1.0, 3.0, np.pi, 6.0]) / np.linalg.norm(phi[-5:], axis=-1))[:, None]
    check(
        convert.matrix_from_vector,
        convert.omega_from_vector_rate,
        convert.vector_rate_from_omega,
        phi,
        draw(3, 1),
        axes,
    )
    rate = draw(3, 2)
    assert np.abs(convert.omega_from_vector_rate(np.zeros(3), rate, axes) - rate).max() == 0.0


@AXES
def test_quaternion_rates(axes: str) -> None:
    q, w = draw(4), draw(3, 1)
    rate = convert.quaternion_rate_from_omega(q, w, axes)
    assert np.abs((q * rate).sum(axis=-1)).max() < 1e-15 * 10  # the length stays
    R = convert.matrix_from_quaternion(q)
    assert np.abs(turning(R, slope(convert.matrix_from_quaternion, q, rate), axes) - w).max() < 1e-8
    assert np.abs(convert.omega_from_quaternion_rate(q, rate, axes) - w).max() < 1e-14
    stretched = rate + draw(1, 5) * q
    assert np.abs(convert.omega_from_quaternion_rate(q, stretched, axes) - w).max() < 1e-14


@AXES
def test_matrix_rates(axes: str) -> None:
    R, w = convert.matrix_from_quaternion(draw(4)), draw(3, 1)
    rate = convert.matrix_rate_from_omega(R, w, axes)
    assert np.abs(convert.omega_from_matrix_rate(R, rate, axes) - w).max() < 4e-15
    assert np.abs(turning(R, rate, axes) - w).max() < 4e-15
    with pytest.raises(ArgumentError, match="does not keep the matrix a rotation"):
        convert.omega_from_matrix_rate(R, rate + R, axes)


def test_axes_are_body_and_world() -> None:
    """The same motion in both axes: ω_world = R ω_body."""
    q, w = draw(4), draw(3, 1)
    R = convert.matrix_from_quaternion(q)
    world = np.einsum("bij,bj->bi", R, w)
    one, other = convert.quaternion_rate_from_omega(q, w), convert.quaternion_rate_from_omega(q, world, "world")
    assert np.abs(one - other).max() < 5e-15
    with pytest.raises(ArgumentError, match="expected 'body'"):
        convert.quaternion_rate_from_omega(q, w, "local")


@EACH_SEQUENCE
def test_gimbal_lock(sequence: str) -> None:
    middle = np.pi if sequence[0] == sequence[2] else np.pi / 2
    with pytest.raises(SingularError, match=f"gimbal lock of the Euler sequence {sequence!r}"):
        convert.euler_rate_from_omega([0.1, middle, 0.2], [1.0, 2.0, 3.0], sequence)
    batch = np.array([[0.1, middle, 0.2], [0.1, middle + 0.5, 0.2]])
    with pytest.warns(RuntimeWarning, match="gimbal lock.*in 1 of 2 samples"):
        rates = convert.euler_rate_from_omega(batch, [1.0, 2.0, 3.0], sequence)
    assert np.isnan(rates[0]).all() and np.isfinite(rates[1]).all()


def test_digits_near_gimbal_lock() -> None:
    """1e-6 rad away, rates are as exact as the angle itself is: ten digits."""
    angles = np.array([0.3, np.pi / 2 - 1e-6, 0.4])
    rates = np.array([1.0, 2.0, 3.0])
    w = convert.omega_from_euler_rate(angles, rates, "zyx")
    assert np.abs(convert.euler_rate_from_omega(angles, w, "zyx") - rates).max() < 1e-9


def test_whole_turns() -> None:
    with pytest.raises(SingularError, match="whole turns"):
        convert.vector_rate_from_omega([0.0, 2 * np.pi, 0.0], [1.0, 0.0, 0.0])
    with pytest.warns(RuntimeWarning, match="whole turns"):
        found = convert.vector_rate_from_omega([[0.0, 2 * np.pi, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.0, 0.0])
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()
