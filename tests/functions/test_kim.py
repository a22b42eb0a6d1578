"""Kim's tables for the derivatives of inverse, forward and hybrid dynamics along any scalar, on random trees."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar import System
from tests.algorithms import mechanisms

from .kim import Tables, inertia
from .test_dynamics import meaning, near

BATCH = 2
EACH = mechanisms.EACH
FEW = mechanisms.FEW


@cache
def case(number: int) -> tuple[System, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A robot, states of it, and a direction in which all of them move."""
    robot = mechanisms.mechanism(number)
    state = mechanisms.state(robot, n=BATCH)
    given = {x: getattr(state, x) for x in ("q", "v", "a", "tau", "f_ext")}
    rng = np.random.default_rng(40 + number)
    sizes = {x: (BATCH, robot.nv) if x == "q" else given[x].shape for x in given}
    return robot, given, {x: rng.normal(size=size) for x, size in sizes.items()}


def tables(number: int, dI: Any = None) -> list[Tables]:
    robot, given, moving = case(number)
    return [
        Tables(robot, {k: x[b] for k, x in given.items()}, {k: x[b] for k, x in moving.items()}, dI)
        for b in range(BATCH)
    ]


def pushed(function: Any, number: int, *names: str) -> list[np.ndarray]:
    _, given, moving = case(number)
    return meaning(function.jvp, {x: given[x] for x in names} | {f"d_{x}": moving[x] for x in names})


@EACH
def test_inverse_dynamics(number: int) -> None:
    """Table 5."""
    robot, given, _ = case(number)
    values, rates = zip(*(t.inverse() for t in tables(number)), strict=True)
    names = ("q", "v", "a", "f_ext")
    (tau,) = meaning(robot.inverse_dynamics, {x: given[x] for x in names})
    near(tau, np.array(values), 1e-13)
    near(pushed(robot.inverse_dynamics, number, *names)[0], np.array(rates), 1e-12)


@EACH
def test_forward_dynamics(number: int) -> None:
    """Table 6."""
    robot, given, _ = case(number)
    a, _, da, _ = (np.array(x) for x in zip(*(t.hybrid() for t in tables(number)), strict=True))
    names = ("q", "v", "tau", "f_ext")
    (found,) = meaning(robot.forward_dynamics, {x: given[x] for x in names})
    near(found, a, 1e-12)
    near(pushed(robot.forward_dynamics, number, *names)[0], da, 1e-12)


@FEW
def test_hybrid_dynamics(number: int) -> None:
    """Table 7, with every other joint prescribed."""
    robot, given, _ = case(number)
    moving = [c.name for c in robot.mechanism.joints if c.joint.nv]
    prescribed = moving[::2]
    function = robot.hybrid_dynamics.specialise(prescribed=prescribed)
    found = [np.array(x) for x in zip(*(t.hybrid(prescribed) for t in tables(number)), strict=True)]
    names = ("q", "v", "a", "tau", "f_ext")
    for value, expected in zip(meaning(function, {x: given[x] for x in names}), found[:2], strict=True):
        near(value, expected, 1e-12)
    for rate, expected in zip(pushed(function, number, *names), found[2:], strict=True):
        near(rate, expected, 1e-12)


@FEW
def test_all_prescribed_is_inverse_dynamics(number: int) -> None:
    """The tables among themselves."""
    for t in tables(number):
        _, tau, _, dtau = t.hybrid(t.joints)
        expected, d_expected = t.inverse()
        np.testing.assert_allclose(tau, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
        np.testing.assert_allclose(dtau, d_expected, rtol=0.0, atol=1e-12 * np.abs(d_expected).max())


def inertias(robot: System, parameters: np.ndarray) -> dict[str, np.ndarray]:
    """Spatial inertias of the bodies from inertial parameters, by name."""
    value = dict(zip(robot.parameter_names(), parameters.tolist(), strict=True))
    found = {}
    for b in robot.names.bodies:
        first = np.array([value[f"{b}.m{x}"] for x in "xyz"])
        second = np.array([[value[f"{b}.J{min(x, y)}{max(x, y)}"] for x in "xyz"] for y in "xyz"])
        found[b] = inertia(value[f"{b}.m"], first, second)
    return found


@FEW
def test_by_inertial_parameters(number: int) -> None:
    """τ = Y φ: with inertias that change along dφ the tables add Y dφ, and -M⁻¹ Y dφ to the accelerations."""
    robot, given, _ = case(number)
    state = {x: given[x] for x in ("q", "v", "a")}
    of_body = [not name.endswith("armature") for name in robot.parameter_names()]
    dphi = np.random.default_rng(8).normal(size=len(of_body)) * of_body
    changing = tables(number, inertias(robot, dphi))
    (Y,) = meaning(robot.regressor.specialise(), state)
    names = ("q", "v", "a", "f_ext")
    rates = np.array([t.inverse()[1] for t in changing])
    near(rates, pushed(robot.inverse_dynamics, number, *names)[0] + Y @ dphi, 1e-12)
    a, _, da, _ = (np.array(x) for x in zip(*(t.hybrid() for t in changing), strict=True))
    (Y,) = meaning(robot.regressor.specialise(), {**state, "a": a})
    (M,) = meaning(robot.mass_matrix, {"q": given["q"]})
    more = np.linalg.solve(M, -(Y @ dphi)[..., None])[..., 0]
    near(da, pushed(robot.forward_dynamics, number, "q", "v", "tau", "f_ext")[0] + more, 1e-9)


def test_the_oracle_sees_a_wrong_derivative() -> None:
    """A direction that is left out shows."""
    _, _, moving = case(0)
    t = tables(0)[0]
    still = Tables(
        case(0)[0], {k: x[0] for k, x in case(0)[1].items()}, {k: x[0] * (k != "q") for k, x in moving.items()}
    )
    assert np.abs(t.inverse()[1] - still.inverse()[1]).max() > 1.0
    assert pytest.approx(t.inverse()[0]) == still.inverse()[0]
