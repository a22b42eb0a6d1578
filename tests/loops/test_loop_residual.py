"""φ(q) of all loops: gaps between the points that meet, measured on the open tree; its derivatives; other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.constraints import Closure
from fourbar.joints import Revolute
from fourbar.robots.robot_data import rod

pytestmark = pytest.mark.drawn_in_line

ROBOTS = ("four_bar", "five_bar", "stewart_platform", "cassie_leg", "tello", "differential_wrist", "delta")


def open_state(robot: fb.System, n: int = 4) -> np.ndarray:
    """Configurations that are not closed."""
    rng = np.random.default_rng(3)
    return robot.random(rng, n) + 0.1 * rng.normal(size=(n, robot.nq))


def interleaved() -> fb.System:
    """Two parallelograms whose bodies alternate: q is ordered by cluster, the spanning tree by body."""
    b = fb.Builder("two", gravity=(0.0, -9.81, 0.0))
    for part, length in (("crank", 0.5), ("coupler", 1.0), ("follower", 0.5)):
        for k, side in enumerate("ab"):
            parent = f"{side}_crank" if part == "coupler" else "world"
            place = (0.5, 0.0, 0.0) if part == "coupler" else (float(part == "follower"), 0.0, float(k))
            joint = Revolute("z")
            b.body(f"{side}_{part}", parent=parent, joint=joint, position=place, **rod(1.0, (length, 0.0, 0.0)))
    for side in "ab":
        ends = {"at_predecessor": (1.0, 0.0, 0.0), "at_successor": (0.5, 0.0, 0.0)}
        b.loop(Closure(Revolute("z"), f"{side}_coupler", f"{side}_follower", **ends), independent=[f"{side}_crank"])
    return b.build()


@pytest.mark.quick
def test_residual_is_the_gap_between_the_points_that_meet() -> None:
    robot = fb.robots.five_bar()
    q = open_state(robot)
    tree = robot.spanning()
    ends = [tree.pose(q, f"{side}_forearm") @ np.array([0.35, 0.0, 0.0, 1.0]) for side in ("left", "right")]
    gap = np.linalg.norm(ends[0] - ends[1], axis=-1)
    assert gap.min() > 1e-3
    assert np.allclose(np.linalg.norm(robot.loop_residual(q), axis=-1), gap, rtol=1e-12)
    assert np.allclose(np.linalg.norm(robot.loop_residual(q, rows="independent"), axis=-1), gap, rtol=1e-12)
    assert np.abs(robot.loop_residual(robot.random(0, 5))).max() < 1e-12


@pytest.mark.parametrize("name", ROBOTS)
def test_rows_and_derivative(name: str) -> None:
    robot = getattr(fb.robots, name)()
    q = open_state(robot)
    for rows in ("all", "independent"):
        f = robot.loop_residual.specialise(rows=rows)
        h = 1e-6
        found = f.jacobian(q).q
        steps = [(f(q + h * e) - f(q - h * e)) / (2 * h) for e in np.eye(robot.nq)]
        assert np.allclose(found, np.moveaxis(steps, 0, -1), atol=1e-8)
        assert np.allclose(f.jvp(q[0], q[1]), found[0] @ q[1])
        weights = np.random.default_rng(0).normal(size=found.shape[1])
        assert np.allclose(f.vjp(q[0], weights).q, weights @ found[0])
    closed = robot.random(1)
    assert np.abs(robot.loop_residual(closed)).max(initial=0.0) < 1e-12
    independent = robot.loop_residual.jacobian(closed, rows="independent").q
    assert np.linalg.matrix_rank(independent) == len(independent)  # none follows from others
    assert robot.loop_residual(closed).shape == robot.loop_jacobian(closed).shape[:1]


def test_derivative_is_K_by_coordinates() -> None:
    """Also where q, by cluster, has another order than the joints of the tree."""
    robot = interleaved()
    q = robot.random(0)
    order = [robot.names.joints.index(name) for name in robot.names.coordinates]
    assert order != sorted(order)
    assert np.allclose(robot.loop_residual.jacobian(q).q, robot.loop_jacobian(q)[:, order])


def test_derivative_by_a_number_is_that_at_the_same_q() -> None:
    """Not that of loops that are closed again: robots built with other numbers are open there."""
    joined = Closure(Revolute("z"), "a", "b", at_predecessor=(0.4, 0.1, 0.0), at_successor=(0.3, 0.0, 0.0))

    def arms(x: float, loop: Closure = joined) -> fb.System:
        b = fb.Builder("arms")
        for name, at in (("a", 0.0), ("b", x)):
            b.body(f"{name}_crank", joint=Revolute("z"), position=(at, 0.0, 0.0), mass=1.0, inertia=(0.1, 0.1, 0.1))
            b.body(
                name, parent=f"{name}_crank", joint=Revolute("z"), position=(0.3, 0.0, 0.0), mass=1.0,
                inertia=(0.1, 0.1, 0.1),
            )  # fmt: skip
        b.loop(loop, name="pin", independent=["a_crank", "b_crank"])
        return b.build()

    robot, h = arms(0.5), 1e-6
    q = robot.random(2)
    moved = [arms(0.5 + x).loop_residual(q) for x in (h, -h)]
    by = robot.loop_residual.jacobian(q, parameters=["b_crank.placement", "pin.at_successor"]).parameters
    assert np.allclose(by["b_crank.placement"][:, 3], (moved[0] - moved[1]) / (2 * h), atol=1e-8)
    assert np.isclose(np.linalg.norm(by["pin.at_successor"][:, 3]), 1.0)  # the point moves along the x axis of b


def test_refusals() -> None:
    robot = fb.robots.four_bar()
    with pytest.raises(fb.ArgumentError, match="'all' or 'independent'"):
        robot.loop_residual(robot.neutral(), rows="some")
    assert fb.robots.double_pendulum().loop_residual([0.1, 0.2]).shape == (0,)


@pytest.mark.parametrize("name", ["four_bar", "stewart_platform"])
def test_casadi_differentiates_it(name: str) -> None:
    casadi: Any = pytest.importorskip("casadi")
    import fourbar.casadi

    robot = getattr(fb.robots, name)()
    q = open_state(robot)[0]
    symbol = casadi.SX.sym("q", robot.nq)
    phi = fourbar.casadi.function(robot.loop_residual.specialise())(symbol)
    f = casadi.Function("f", [symbol], [phi, casadi.jacobian(phi, symbol)])
    value, slope = (np.array(x) for x in f(q))
    assert np.allclose(value.ravel(), robot.loop_residual(q), atol=1e-14)
    assert np.allclose(slope, robot.loop_residual.jacobian(q).q, atol=1e-12)


def test_jax_differentiates_it() -> None:
    jax: Any = pytest.importorskip("jax")
    import fourbar.jax

    jax.config.update("jax_enable_x64", True)
    robot = fb.robots.five_bar()
    q = open_state(robot)[0]
    f = fourbar.jax.function(robot.loop_residual.specialise())
    assert np.allclose(jax.jacfwd(f)(q), robot.loop_residual.jacobian(q).q, atol=1e-14)
    assert np.allclose(jax.jacrev(f)(q), robot.loop_residual.jacobian(q).q, atol=1e-14)
