"""Functions as CasADi functions: values and derivatives are those of fourbar, on trees, floating and looped robots."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.errors import extra, require_library
from fourbar.expr import Unrolled
from tests.expr.support import triangular

from .support import chain

casadi: Any = pytest.importorskip("casadi", reason="casadi is not installed")
to_casadi: Any = pytest.importorskip("fourbar.casadi").function
ROBOTS = ("double_pendulum", "mini_cheetah", "five_bar", "tello", "stewart_platform", "cassie_leg")


def case(name: str) -> tuple[fb.System, np.ndarray, np.ndarray, np.ndarray]:
    """A robot and a state with forces."""
    robot = getattr(fb.robots, name)()
    v, tau = np.random.default_rng(4).normal(size=(2, robot.nv))
    return robot, robot.random(7), v, tau


def agree(found: Any, expected: np.ndarray, bound: float) -> None:
    """Equal relative to the largest entry."""
    found = np.asarray(found).reshape(np.shape(expected))
    assert np.abs(found - expected).max() <= bound * np.abs(expected).max()


@pytest.mark.parametrize("name", ROBOTS)
def test_values(name: str) -> None:
    robot, q, v, tau = case(name)
    agree(to_casadi(robot.forward_dynamics)(q, v, tau), robot.forward_dynamics(q, v, tau), 1e-12)
    agree(to_casadi(robot.mass_matrix)(q), robot.mass_matrix(q), 1e-13)


@pytest.mark.slow_cases("tello")
@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.slow) if x == "stewart_platform" else x for x in ROBOTS]
)
def test_derivatives(name: str) -> None:
    """CasADi's derivative of the formula, along directions of the configuration, beside ours."""
    robot, q, v, tau = case(name)
    dynamics, move = to_casadi(robot.forward_dynamics), to_casadi(robot.integrate)
    Q, V, T, step = (casadi.SX.sym(x, n) for x, n in (("q", robot.nq), *((x, robot.nv) for x in ("v", "tau", "step"))))
    a = dynamics(move(Q, step, 1.0), V, T)
    blocks = casadi.Function("blocks", [Q, step, V, T], [casadi.jacobian(a, x) for x in (step, V, T)])
    found = blocks(q, np.zeros(robot.nv), v, tau)
    for x, own in zip(found, robot.forward_dynamics.jacobian(q, v, tau), strict=True):
        agree(x, own, 1e-10)


def test_shapes_and_names() -> None:
    robot = fb.robots.mini_cheetah()
    made = to_casadi(robot.inverse_dynamics, "f_ext", name="rnea")
    assert made.name() == "rnea" and made.name_in() == ["q", "v", "a", "f_ext"] and made.name_out() == ["tau"]
    assert made.size_in("f_ext") == (len(robot.names.bodies), 6)
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random(0), rng.normal(size=(2, robot.nv))
    f_ext = rng.normal(size=(len(robot.names.bodies), 6))
    agree(made(q, v, a, f_ext), robot.inverse_dynamics(q, v, a, f_ext), 1e-12)
    pose = to_casadi(robot.pose.specialise(frame=robot.names.bodies[-1]))
    agree(pose(q), robot.pose(q, robot.names.bodies[-1]), 1e-13)


@pytest.mark.slow
def test_a_long_chain_shares_its_code() -> None:
    """Programs whose blocks are called many times are replayed as well."""
    robot = chain(150)
    program = robot.inverse_dynamics.program()
    assert len(program.blocks) < len(program.calls)
    q, v, a = robot.neutral(), *np.random.default_rng(0).normal(size=(2, robot.nv))
    agree(to_casadi(robot.inverse_dynamics)(q, v, a), robot.inverse_dynamics(q, v, a), 1e-12)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(fb.ArgumentError, match=re.escape("robot.pose.specialise(frame=...)")):
        to_casadi(fb.robots.double_pendulum().pose)
    with pytest.raises(fb.ArgumentError, match="is not a function of a robot"):
        to_casadi(fb.robots.double_pendulum())
    with pytest.raises(fb.UnknownNameError, match=r"no optional argument of forward_dynamics 'f_exp'.*'f_ext'"):
        to_casadi(fb.robots.double_pendulum().forward_dynamics, "f_exp")
    with pytest.raises(fb.ArgumentError, match=r"q cannot be read.*use fourbar\.casadi\.function"):
        fb.robots.double_pendulum().mass_matrix(casadi.SX.sym("q", 2))
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(ImportError, match=re.escape(extra("casadi"))):
        require_library("casadi", "casadi")


def test_derivatives_of_ours_are_functions_too() -> None:
    robot = fb.robots.double_pendulum()
    q, v, tau = np.random.default_rng(0).normal(size=(3, 2))
    made = to_casadi(robot.forward_dynamics.jacobian)
    assert made.name() == "forward_dynamics_jacobian"
    wanted = robot.forward_dynamics.jacobian(q, v, tau)
    assert np.abs(np.array(made(q, v, tau)) - np.vstack([wanted.q, wanted.v, wanted.tau])).max() < 1e-12


def test_a_directional_derivative_keeps_its_tangents() -> None:
    robot = fb.robots.double_pendulum()
    f, (q, v, tau, *along) = robot.forward_dynamics, np.random.default_rng(0).normal(size=(6, 2))
    made = to_casadi(f.jvp)
    assert made.name_in() == ["q", "v", "tau", "d_q", "d_v", "d_tau"]
    np.testing.assert_allclose(made(q, v, tau, *along).full().ravel(), f.jvp((q, v, tau), tuple(along)), rtol=1e-12)
    assert to_casadi(f.jvp, "d_q").name_in() == ["q", "v", "tau", "d_q"]
    assert to_casadi(f.jvp.along("lower.mass")).name_in() == ["q", "v", "tau", "d_lower_mass"]
    with pytest.raises(fb.ArgumentError, match="name=3: expected text"):
        to_casadi(f, name=3)


def test_parts_that_repeat_are_refused() -> None:
    from fourbar.targets.casadi import replay

    with pytest.raises(fb.ArgumentError, match=r"triangular repeats a part.*export it as C"):
        replay(triangular(Unrolled()), "triangular")
