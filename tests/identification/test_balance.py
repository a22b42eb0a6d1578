"""Identification without accelerations: balances of momentum and energy over time, and their integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import ArgumentError, System, UnknownNameError, identify
from fourbar.identification.data import Windows, step_weights
from fourbar.mechanism.inertial_parameters import KINDS
from tests.algorithms.mechanisms import near

from .arms import arm, base_values, changed, geared, measured, swing, without
from .robots import EACH, FEW, robot_and_state

FRICTION = ("damping", "friction", "stiffness", "preload")


# --- the regressor of the rate of momentum ----------------------------------------------------------------------------


@pytest.mark.slow_cases("tree1", "own_coordinate")
@EACH
def test_momentum_rate(name: str) -> None:
    """Y φ = Cᵀ v - g, against the Coriolis matrix, which runs on other sweeps."""
    robot, s = robot_and_state(name)
    C = robot.coriolis_matrix(s.q, s.v)
    expected = (C.swapaxes(-1, -2) @ s.v[..., None])[..., 0] - robot.gravity_force(s.q)
    size = np.abs(C).max() + np.abs(expected).max()
    near(robot.momentum_rate_regressor(s.q, s.v) @ robot.inertial_parameters(), expected, 1e-13, size)


@pytest.mark.default_cases("geared")
@FEW
def test_momentum_rate_column_by_column(name: str) -> None:
    """d/dt (Y_p φ) = (Y + Y_rate) φ for every φ, of each kind: the left side by differences along a motion."""
    robot, s = robot_and_state(name)
    h, steps = 1e-3, np.arange(-4, 5)
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]) / h
    q = [
        robot.integrate(s.q, k * h * s.v, 1.0) for k in steps
    ]  # at constant velocity in the chart: a = 0 at first order
    momenta = np.array([robot.momentum_regressor(x, s.v, columns=KINDS) for x in q])
    still = np.zeros_like(s.v)
    expected = np.tensordot(weights, momenta, 1)
    found = robot.regressor(s.q, s.v, still, columns=KINDS) + robot.momentum_rate_regressor(s.q, s.v, columns=KINDS)
    near(found, expected, 1e-9, np.abs(momenta).max() / h * 1e-3)


def _path(robot: System, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A smooth motion from neutral, y = c (1 - cos 2 t): loops are closed step by step."""
    c = np.linspace(-0.15, 0.1, robot.nv)
    y, v, a = (np.multiply.outer(x, c) for x in (1 - np.cos(2 * t), 2 * np.sin(2 * t), 4 * np.cos(2 * t)))
    q, now, found = robot.neutral(), np.zeros(robot.nv), []
    for target in y:
        for _ in range(10):
            q = robot.integrate(q, (target - now) / 10, 1.0)
        now = target
        found.append(q)
    return np.array(found), v, a


@pytest.mark.parametrize("robot", [arm(), geared(), fb.robots.four_bar()], ids=lambda r: r.name)
def test_the_balance_of_momentum_is_exact(robot: System) -> None:
    """p(t1) - p(t0) = ∫ (τ + Y φ) dt with friction, armature and springs, by Gauss' quadrature."""
    phi = robot.inertial_parameters(KINDS)
    joints = slice(10 * len(robot.names.bodies), None)
    phi[joints] = np.random.default_rng(1).uniform(0.1, 1.0, len(phi[joints]))
    x, w = np.polynomial.legendre.leggauss(24)
    t = 0.6 * (x + 1.0) + 0.1  # no velocity changes its sign here
    q, v, a = _path(robot, t)
    total = robot.regressor(q, v, a, columns=KINDS) + robot.momentum_rate_regressor(q, v, columns=KINDS)
    (q0, q1), (v0, v1), _ = _path(robot, np.array([0.1, 1.3]))
    p0, p1 = (robot.momentum_regressor(*state, columns=KINDS) @ phi for state in ((q0, v0), (q1, v1)))
    near((p1 - p0)[None], (0.6 * w @ (total @ phi))[None], 1e-12, np.abs(p1).max())


# --- integrals --------------------------------------------------------------------------------------------------------


def test_integrals() -> None:
    """Exact for cubics on uneven times, whatever the window; of fourth order for others."""
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.5, 1.0, 41))
    windows = Windows(t, 8)
    assert len(windows) == 5 and windows.edges.tolist() == [0, 8, 16, 24, 32, 40]
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.3, 0.05])
    near(windows.integral(cubic(t))[None], np.diff(cubic.integ()(t[windows.edges]))[None], 1e-12)
    x, w = np.polynomial.legendre.leggauss(80)
    right, errors = 2.0 * w @ np.exp(np.sin(6.0 * (x + 1.0))), []
    for n in (81, 161):
        t = np.linspace(0.0, 4.0, n)
        errors.append(abs(Windows(t, n - 1).integral(np.exp(np.sin(3 * t)))[0] - right))
    assert errors[1] < errors[0] / 12
    assert Windows(np.array([0.0, 1.0]), 1).integral(np.array([1.0, 3.0])).tolist() == [2.0]


def test_a_gap_in_the_samples_is_bridged_by_a_line() -> None:
    """A cubic through samples a thousandth of the gap apart would swing."""
    t = np.array([0.0, 0.001, 0.002, 5.0, 5.001, 5.002])
    first, weights = step_weights(t)
    assert np.allclose(weights[2], (t[3] - t[2]) * np.array([0.0, 0.5, 0.5, 0.0])) and first[2] == 1
    assert np.allclose(weights.sum(axis=1), np.diff(t))


# --- identification ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", [arm(), geared()], ids=lambda r: r.name)
def test_momentum_recovers_what_accelerations_would(robot: System) -> None:
    """From exact q, v, τ at 500 Hz: base parameters of bodies, friction and springs, without any acceleration."""
    kinds = ("inertia", "damping", "stiffness")
    values = np.linspace(0.5, 0.2, len(robot.parameter_names(kinds[1:])))
    true = robot.with_inertial_parameters(values, kinds[1:])
    data = swing(robot, extra=lambda q, v: robot.regressor(q, v, 0 * v, columns=kinds[1:]) @ values)
    result = identify(changed(robot, 0.05), without(data, "a"), columns=kinds, window=20)
    assert result.kinds == robot.names.velocities and result.equations == robot.nv * ((len(data["t"]) - 1) // 20)
    right = base_values(result, true)
    assert np.abs(result.base_values - right).max() < 1e-5 * np.abs(right).max()
    also = identify(changed(robot, 0.05), data, columns=kinds, window=20, form="momentum")
    assert np.array_equal(also.values, result.values)


@pytest.mark.parametrize("robot", [arm(), geared()], ids=lambda r: r.name)
def test_momentum_with_noise(robot: System) -> None:
    """Errors are of the size of the reported deviations, and the confidence is honest."""
    scores = []
    for seed in range(6):
        data = swing(robot, 8.0, noise=0.3, seed=seed)
        result = identify(changed(robot, 0.05), without(data, "a"), consistent=None)
        scores.append((result.base_values - base_values(result, robot)) / result.base_deviations)
        assert np.allclose(result.noise, 0.3 * np.sqrt(10) * 2e-3, rtol=0.12)  # of the sum of ten samples
    assert 0.7 < np.sqrt(np.mean(np.square(scores))) < 1.3


def test_energy() -> None:
    """One equation for all joints; friction takes its share."""
    robot = arm()
    data = without(swing(robot, extra=lambda q, v: [0.5, 0.3, 0.2] * v), "a")
    options: dict[str, Any] = {"columns": ("inertia", "damping"), "window": 20, "consistent": None, "form": "energy"}
    result = identify(changed(robot, 0.02), data, **options)
    assert result.kinds == ("energy",)
    true = base_values(result, robot.with_inertial_parameters([0.5, 0.3, 0.2], "damping"))
    assert np.abs(result.base_values - true).max() < 1e-4 * np.abs(true).max()


def test_momentum_determines_more_than_energy() -> None:
    robot = arm()
    data = without(swing(robot, noise=0.3), "a")
    momentum, energy = (identify(changed(robot, 0.05), data, form=form) for form in ("momentum", "energy"))
    ratio = energy.base_deviations / momentum.base_deviations
    assert ratio.min() > 1.0 and np.median(ratio) > 2.0


def test_armature_and_external_forces() -> None:
    """What is held is known; forces on bodies are taken off."""
    robot = arm().with_inertial_parameters([0.3, 0.2, 0.1], "armature")
    data = swing(robot)
    f_ext = np.sin(np.multiply.outer(data["t"], np.arange(1, 25) / 7)).reshape(-1, 4, 6)
    data["tau"] = robot.inverse_dynamics(data["q"], data["v"], data["a"], f_ext=f_ext)
    for form in ("momentum", "energy"):
        result = identify(changed(robot), {**data, "f_ext": f_ext}, form=form, window=20, consistent=None)
        true = base_values(result, robot)
        assert np.abs(result.base_values - true).max() < 1e-3 * np.abs(true).max()


def test_chunks_of_a_recording_share_their_ends() -> None:
    """No window is lost between chunks, however small."""
    robot, data = arm(), without(swing(arm(), 4.0, noise=0.1), "a")
    whole = identify(changed(robot), data)
    for chunk in (10, 25, 333):
        cut = identify(changed(robot), data, chunk=chunk)
        assert cut.equations == whole.equations
        assert np.all(np.abs(cut.base_values - whole.base_values) < whole.base_deviations)  # other weights at the ends
    pieces = [{name: x[k : k + 500] for name, x in data.items()} for k in range(0, 2000, 500)]
    assert identify(changed(robot), iter(pieces)).equations == 3 * 4 * (499 // 10)


def test_measured_forces_only() -> None:
    """Forces that are not known do not count, be they NaN; what only they would tell is not identified."""
    robot = arm()
    for data, options in ((measured(robot), {}), (without(swing(robot), "a"), {"window": 20})):
        data["tau"][:, 0] = np.nan
        result = identify(changed(robot, 0.05), data, measured=["upper", "fore"], **options)
        assert result.kinds == ("upper", "fore")
        true = base_values(result, robot)
        assert np.abs(result.base_values - true).max() < 1e-4 * np.abs(true).max()
        full = fb.base_parameters(robot, "inertia")
        assert result.base.rank < full.rank and not any("column.J" in name for name in result.base.combinations)


def test_errors() -> None:
    robot = arm()
    data = swing(robot, 1.0)
    back, bare = data["t"].copy(), without(data, "a")
    back[40:] -= 0.02
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (
            without(data, "a", "t"),
            {},
            r"data: without accelerations a, the balance of momentum or energy .* needs the times",
        ),
        ({**bare, "t": back}, {}, r"times t must increase, but sample 40 is at t=0.06 and the one before at t=0.078"),
        ({**bare, "t": back}, {"chunk": 40}, r"sample 40 is at t=0.06"),
        (
            [data, {**bare, "t": 0 * back}],
            {"form": "momentum"},
            r"data, piece 1: the times t must increase, but sample 1",
        ),
        (
            bare,
            {"form": "force"},
            r"form='force' needs accelerations a \(n, nv\) in every piece; without them use form=",
        ),
        (bare, {"form": "work"}, r"form='work': expected 'force', 'momentum', 'energy', or None"),
        (bare, {"chunk": 4, "window": 5}, r"chunk=4 must not be smaller than window=5"),
        ({k: x[:8] for k, x in bare.items()}, {}, r"there are no samples, or too few for a single equation"),
        (bare, {"measured": "upper"}, r"measured='upper': expected a list of velocities, some of column, upper, fore"),
        (bare, {"measured": []}, r"measured=\[\]: expected a list of velocities"),
        (bare, {"form": "energy", "measured": ["upper"]}, r"form='energy' needs the forces of all velocities"),
    ]
    for given, options, message in cases:
        with pytest.raises(ArgumentError, match=message):
            identify(robot, given, **options)
    with pytest.raises(UnknownNameError, match=r"no velocity 'uper'; did you mean 'upper'"):
        identify(robot, bare, measured=["uper"])
