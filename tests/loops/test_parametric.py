"""Coordinates given as functions of others: against the same mechanism written as residuals, and as a closed loop."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import Builder, ModelError, System
from fourbar.joints import Cylindrical, Prismatic, Revolute, Spherical
from fourbar.loops import Closure, Constraint, Loop, Parametric

from .looped import error, lifted, mechanism, near, rocked, rod, shaped, state, steered

pytestmark = pytest.mark.drawn_in_line


def _moving(loops: list[tuple[Loop, list[str]]]) -> System:
    """The bodies of two functions, one of them of two joints, tied by the given loops."""
    b = Builder("twin", gravity=(0.5, -0.3, -9.6))
    shaped(b, "cam", 1, joint=Revolute("y"))
    shaped(b, "follower", 2, joint=Prismatic("z"))
    shaped(b, "cart", 3, parent="follower", joint=Cylindrical("x"))
    shaped(b, "bend", 4, parent="follower", joint=Revolute("z"))
    shaped(b, "turn", 5, parent="cart", joint=Revolute("y"))
    shaped(b, "slide", 6, parent="turn", joint=Prismatic("y"))
    for loop, independent in loops:
        b.loop(loop, independent=independent)
    return b.build()


def _left(cart: Any, bend: Any, turn: Any, slide: Any) -> Any:
    first, second = steered(cart, bend)
    return [2.0 * fb.sin(turn - first), (slide - second) * (2.0 + turn * turn)]


def _explicit() -> System:
    return _moving(
        [
            (Parametric(lifted, ["cam"], ["follower"]), []),
            (Parametric(steered, ["cart", "bend"], ["turn", "slide"]), ["bend"]),
        ]
    )


def _implicit() -> System:
    return _moving(
        [
            (Constraint(lambda cam, z: fb.sin(z - lifted(cam)), ["cam", "follower"]), ["cam"]),
            (Constraint(_left, ["cart", "bend", "turn", "slide"]), ["bend"]),
        ]
    )


METHODS: dict[str, Callable[[System, Any, Any, Any, Any], Any]] = {
    "forward_dynamics": lambda r, q, v, x, f: r.forward_dynamics(q, v, x, f_ext=f),
    "inverse_dynamics": lambda r, q, v, x, f: r.inverse_dynamics(q, v, x, f_ext=f),
    "mass_matrix": lambda r, q, v, x, f: r.mass_matrix(q),
    "inverse_mass_matrix": lambda r, q, v, x, f: r.inverse_mass_matrix(q),
    "bias_force": lambda r, q, v, x, f: r.bias_force(q, v),
    "energy": lambda r, q, v, x, f: r.kinetic_energy(q, v) + r.potential_energy(q),
    "momentum": lambda r, q, v, x, f: r.momentum(q, v),
    "acceleration": lambda r, q, v, x, f: r.acceleration(q, v, x, "slide"),
    "osim_inverse": lambda r, q, v, x, f: r.osim_inverse(q, frames=["slide"], points=["bend"]),
    "loop_map": lambda r, q, v, x, f: r.loop_map(q),
    "loop_bias": lambda r, q, v, x, f: r.loop_bias(q, v),
    "integrate": lambda r, q, v, x, f: r.expand(r.integrate(q, v, 0.1)),
}


@pytest.mark.parametrize("method", METHODS)
def test_same_as_an_implicit_loop(method: str) -> None:
    """Every algorithm, on the mechanism with functions and with residuals of another form."""
    explicit, implicit = _explicit(), _implicit()
    assert (explicit.nq, explicit.nv, implicit.nq, implicit.nv) == (4, 4, 7, 4)
    assert explicit.names.velocities == implicit.names.velocities == ("cam", "bend", "cart.angle", "cart.distance")
    rng = np.random.default_rng(0)
    q, v, x = rng.normal(size=(3, 20, 4))
    f = rng.normal(size=(20, 6, 6))
    full = explicit.expand(q)
    assert implicit.loop_gap(full).max() < 1e-14
    run = METHODS[method]
    near(run(explicit, q, v, x, f), run(implicit, full, v, x, f), 1e-12)


def test_function_of_a_function() -> None:
    """One after the other, in whatever order they were declared; nothing but the first coordinate is stored."""
    robot, q = mechanism("explicit"), state("explicit").q
    names = robot.names.coordinates
    assert "cam" in names and not {"follower", "rocker", "wheel.angle", "wheel.distance"} & set(names)
    full = dict(zip(robot.spanning().names.coordinates, robot.expand(q).T, strict=True))
    height = lifted(full["cam"])
    assert np.abs(full["follower"] - height).max() < 1e-15
    assert np.abs(full["rocker"] - rocked(height)).max() < 1e-15


def _four_bar_angles(a: float, b: float, c: float, d: float) -> Callable[[Any], list[Any]]:
    """Coupler and rocker of a four-bar (crank a, coupler b, rocker c, ground d) by its crank: two circles meet."""

    def angles(crank: Any) -> list[Any]:
        x, y = d - a * fb.cos(crank), -a * fb.sin(crank)
        reach = fb.sqrt(x * x + y * y)
        open_by = fb.acos((b * b + reach * reach - c * c) / (2.0 * b * reach))
        absolute = fb.atan2(y, x) + open_by
        pin = (a * fb.cos(crank) + b * fb.cos(absolute), a * fb.sin(crank) + b * fb.sin(absolute))
        return [absolute - crank, fb.atan2(pin[1], pin[0] - d)]

    return angles


@pytest.mark.parametrize("parameter", ["crank", "phase"])
def test_four_bar_by_formula(parameter: str) -> None:
    """A four-bar closed by trigonometry is the four-bar that is closed by a hinge; also by a parameter of its own."""
    a, b, c, d = 0.4, 0.9, 0.7, 1.0
    angles = _four_bar_angles(a, b, c, d)

    def bars(name: str) -> Builder:
        made = Builder(name, gravity=(0, -9.81, 0))
        rod(made, "crank", a)
        rod(made, "coupler", b, parent="crank", position=(a, 0, 0))
        rod(made, "rocker", c, position=(d, 0, 0))
        return made

    places = {"at_predecessor": (b, 0, 0), "at_successor": (c, 0, 0)}
    hinged = bars("hinged").loop(Closure(Revolute("z"), "coupler", "rocker", **places), independent=["crank"]).build()
    by_formula = bars("by_formula")
    if parameter == "crank":
        by_formula.loop(Parametric(angles, ["crank"], ["coupler", "rocker"]))
    else:
        by_formula.body("phase", joint=Revolute("z"))  # without mass: the coordinate alone
        by_formula.loop(
            Parametric(lambda x: [0.5 * x, *angles(0.5 * x)], ["phase"], ["crank", "coupler", "rocker"]),
            independent={"phase": 2.0},
        )
    robot = by_formula.build()
    assert robot.nq == robot.nv == 1
    rng = np.random.default_rng(1)
    q, v, tau = rng.uniform(-3, 3, size=(3, 30, 1))
    full = robot.expand(q)[:, :3]
    assert hinged.loop_gap(full).max() < 1e-14
    near(full[:, :1], q, 1e-15)
    near(robot.forward_dynamics(q, v, tau), hinged.forward_dynamics(full, v, tau), 1e-12)
    near(robot.inverse_dynamics(q, v, tau), hinged.inverse_dynamics(full, v, tau), 1e-12)
    near(robot.mass_matrix(q), hinged.mass_matrix(full), 1e-13)


def test_outputs_may_be_independent() -> None:
    """Then the function is inverted by iteration, and the physics is the same."""
    robot = _explicit()
    other = robot.with_independent("follower")
    assert other.nq == 5 and "follower" in other.names.velocities and "cam" not in other.names.velocities
    rng = np.random.default_rng(2)
    q, v, tau = rng.normal(size=(3, 20, 4))
    away = np.abs(robot.loop_map(q)[:, 1, 0]) > 0.02  # the cam's dead points
    q, v, tau = q[away], v[away], tau[away]
    G = robot.loop_map(q)
    full = robot.expand(q)
    stored = np.concatenate([full[:, :2], q[:, 1:]], axis=-1)
    assert other.loop_gap(stored).max() < 1e-14
    faster, force = v.copy(), tau.copy()
    faster[:, 0], force[:, 0] = G[:, 1, 0] * v[:, 0], tau[:, 0] / G[:, 1, 0]
    a = robot.expand_acceleration(q, v, robot.forward_dynamics(q, v, tau))
    found = other.expand_acceleration(stored, faster, other.forward_dynamics(stored, faster, force))
    assert error(found, a) < 1e-10


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no function": (lambda: Parametric(3.0, ["a"], ["b"]), "needs a hashable function of joint coordinates, got 3.0"),
    "arity": (
        lambda: Parametric(steered, ["a"], ["b"]),
        "steered(cart: 'Any', bend: 'Any') -> 'Any' is called with the coordinates of 1 joints, one argument each: "
        "missing a required argument: 'bend'",
    ),
    "too many": (lambda: Parametric(lifted, ["a", "c"], ["b"]), "of 2 joints, one argument each: too many positional"),
    "inputs text": (lambda: Parametric(lifted, "a", ["b"]), "inputs of a parametric loop: expected a list of joints"),
    "outputs text": (lambda: Parametric(lifted, ["a"], "b"), "outputs of a parametric loop: expected a list of joints"),
    "no outputs": (lambda: Parametric(lifted, ["a"], []), "outputs of a parametric loop: expected at least one joint"),
    "twice": (lambda: Parametric(steered, ["a", "a"], ["b"]), "expected different joints, got ['a', 'a']"),
    "circle": (lambda: Parametric(lifted, ["a"], ["a"]), "loop of 'a': 'a' is both an input and an output"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refused_at_once(case: str) -> None:
    make, message = WRONG[case]
    with pytest.raises(ModelError, match=re.escape(message)):
        make()


def _nan(x: Any) -> Any:
    return math.nan


BUILT: dict[str, tuple[Loop, str]] = {
    "too few": (Parametric(lifted, ["cam"], ["ball"]), "returned 1 numbers for 4 coordinates"),
    "too many": (Parametric(lambda x: [x, x], ["cam"], ["slide"]), "loop of 'slide': the function returned 2 numbers"),
    "text": (Parametric(lambda x: "up", ["cam"], ["slide"]), "the function returned 'up', expected a number or a flat"),
    "nested": (Parametric(lambda x: [[x]], ["cam"], ["slide"]), "expected a number or a flat sequence of them"),
    "nothing": (Parametric(lambda x: None, ["cam"], ["slide"]), "the function returned None"),
    "not a number": (Parametric(_nan, ["cam"], ["slide"]), "not finite"),
    "no quaternion": (Parametric(lambda x: [2.0, x, x, x], ["cam"], ["ball"]), "cannot be closed"),
    "unknown": (Parametric(lifted, ["cam"], ["slyde"]), "there is no joint 'slyde'; did you mean 'slide'?"),
}


@pytest.mark.parametrize("case", BUILT)
def test_refused_when_built(case: str) -> None:
    b = Builder("bad")
    shaped(b, "cam", 1, joint=Revolute("y"))
    shaped(b, "slide", 2, joint=Prismatic("z"))
    shaped(b, "ball", 3, joint=Spherical())
    loop, message = BUILT[case]
    with pytest.raises(fb.FourbarError, match=re.escape(message)):
        b.loop(loop).build()


def test_gives_what_is_given_in_numpy() -> None:
    """Functions may be written with NumPy, and return arrays."""
    b = Builder("numpy")
    shaped(b, "cam", 1, joint=Revolute("y"))
    shaped(b, "slide", 2, joint=Prismatic("z"))
    robot = b.loop(Parametric(lambda x: np.array([np.sin(x) + 1]), ["cam"], ["slide"])).build()
    near(robot.expand(np.array([[0.3]])), np.array([[0.3, math.sin(0.3) + 1]]), 1e-15)
