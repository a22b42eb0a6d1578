"""Derivatives of robots under constraints and of robots in the forces of their actuators."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fourbar.constraints import Contact, Prescribed

from .step import directional
from .test_dynamics import meaning, near
from .test_methods import BATCH, robot, tangents
from .test_methods import arguments as of_method

pytestmark = [pytest.mark.drawn_in_line, pytest.mark.usefixtures("interpreted_programs")]


CASES = {
    "touch": lambda: robot("linkage").constrained(Contact("tip", "touch")),
    "point": lambda: robot("tree").constrained(Contact("hand", "point")),
    "twice": lambda: robot("tree").constrained(Contact("hand", "point"), Contact("hand", "touch")),
    "held": lambda: robot("linkage").constrained(Prescribed(["crank"]), Contact("tip", "touch")),
}
EACH = pytest.mark.parametrize("name", CASES)


@cache
def held(name: str) -> Any:
    return CASES[name]()


def home(name: str) -> str:
    return "tree" if name in ("point", "twice") else "linkage"


def arguments(name: str, *names: str) -> dict[str, np.ndarray]:
    """States whose velocities the rows allow."""
    found = {**of_method("inverse_dynamics", home(name)), **of_method("forward_dynamics", home(name))}
    m = held(name).m
    found["row_acceleration"] = np.random.default_rng(2).normal(size=(BATCH, m))
    found["v"] = held(name).impulse(found["q"], found["v"])[0]
    return {x: found[x] for x in names}


@EACH
def test_forward_dynamics(name: str) -> None:
    """Accelerations and the forces of the constraints; rows that are always redundant are no obstacle."""
    f = held(name).forward_dynamics
    given = arguments(name, "q", "v", "tau", "f_ext")
    if home(name) == "linkage":  # of the tree's rows some are redundant, and could contradict each other
        given |= arguments(name, "row_acceleration")
    moving = tangents(f.function, given)
    expected = directional(robot(home(name)), f.function, given, moving)[:2]
    rates = f.jvp(given, moving)
    assert len(rates) == 2
    for found, exact in zip(rates, expected, strict=True):
        near(found, exact, 1e-12)
    J = f.jacobian(**given)
    assert J._fields == ("a", "force")
    for block, exact in zip(J, expected, strict=True):
        parts = [
            np.einsum("bij,bj->bi", x.reshape(*exact.shape, -1), moving[k].reshape(BATCH, -1))
            for k, x in block._asdict().items()
        ]
        near(sum(parts), exact, 1e-12)
    rng = np.random.default_rng(1)
    weights = tuple(rng.normal(size=y.shape) for y in expected)
    gradient = f.vjp(given, weights)
    backwards = sum((x * moving[k]).reshape(BATCH, -1).sum(axis=1) for k, x in gradient._asdict().items())
    forwards = sum((w * y).sum(axis=1) for w, y in zip(weights, expected, strict=True))
    size = sum(np.abs(w * y).sum(axis=1) for w, y in zip(weights, expected, strict=True))
    assert np.all(np.abs(backwards - forwards) <= 1e-12 * size)
    named = f.vjp(given, dict(zip(("a", "force"), weights, strict=True)))
    near(named.q, gradient.q, 1e-15)


@pytest.mark.parametrize("method", ["jacobian", "rate", "acceleration", "osim_inverse", "residual"])
def test_rows(method: str, name: str = "touch") -> None:
    f = getattr(held(name), method)
    given = arguments(name, *(a.name for a in f.state[0].arguments))
    moving = tangents(f, given)
    (exact,) = directional(robot(home(name)), f, given, moving)
    (found,) = meaning(f.jvp, {**given, **{f"d_{k}": x for k, x in moving.items()}})
    near(found, exact, 1e-12)


def test_impulse(name: str = "touch") -> None:
    f = held(name).impulse
    given = {x: of_method("inverse_dynamics", home(name))[x] for x in ("q", "v")}
    moving = tangents(f.function, given)
    for found, exact in zip(
        f.jvp(given, moving), directional(robot(home(name)), f.function, given, moving), strict=False
    ):
        near(found, exact, 1e-12)


def test_no_derivative_where_rows_meet_by_chance() -> None:
    """At a straight arm the two rows that hold its hand depend on each other: NaN there, numbers elsewhere."""
    from fourbar import Builder, SingularError
    from fourbar.joints import Revolute

    b = Builder("arm")
    b.body("upper", joint=Revolute("z"), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.body("lower", parent="upper", joint=Revolute("z"), position=(1, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.frame("tip", "lower", position=(1, 0, 0))
    b.body("stand", joint=Revolute("z"), position=(0, 3, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    f = b.build().constrained(Contact("tip", "point")).forward_dynamics
    q = np.array([[0.3, 0.8, 0.0], [0.3, 0.0, 0.0]])
    zero = np.zeros(3)
    rows = f.function.program().outputs[1].shape
    with pytest.warns(RuntimeWarning, match="rank of the constraints changes"):
        rates = f.jvp((q, zero, zero), (np.ones(3),))
    with pytest.warns(RuntimeWarning, match="rank of the constraints changes"):
        J = f.jacobian(q, zero, zero)
    with pytest.warns(RuntimeWarning, match="rank of the constraints changes"):
        gradient = f.vjp((q, zero, zero), (np.ones(3), np.ones(rows)))
    for x in (*rates, *J.a, *J.force, *gradient):
        assert np.all(np.isfinite(x[0])) and np.all(np.isnan(x[1]))
    several = np.broadcast_to(np.ones(3), (2, 2, 3))  # directions may have more axes than states
    with pytest.warns(RuntimeWarning, match="rank of the constraints changes"):
        rates = f.jvp((q, zero, zero), (several,))
    with pytest.warns(RuntimeWarning, match="rank of the constraints changes"):
        second = f.jacobian.jvp((q, zero, zero), (several,))
    with pytest.warns(RuntimeWarning, match="rank of the constraints changes"):
        gradient = f.vjp((q, zero, zero), (several, np.ones(rows)))
    for x in (*rates, *second.a, *second.force, *gradient):
        assert np.all(np.isfinite(x[:, 0])) and np.all(np.isnan(x[:, 1]))
    with pytest.raises(SingularError, match="no derivative"):
        f.jacobian(q[1], zero, zero)


@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics", "actuator_map"])
def test_actuated(method: str) -> None:
    """Motors on a dependent joint, and one more than needed."""
    system = robot("linkage")
    driven = system.actuated(["rocker", "coupler", "hand"])
    f = getattr(driven, method)
    known = {**of_method("inverse_dynamics", "linkage")}
    known["tau"] = np.random.default_rng(3).normal(size=(BATCH, 5))
    given = {a.name: known[a.name] for a in f.state[0].arguments}
    moving = tangents(f, given)
    (exact,) = directional(system, f, given, moving)
    (found,) = meaning(f.jvp, {**given, **{f"d_{k}": x for k, x in moving.items()}})
    near(found, exact, 1e-12)
    weight = np.random.default_rng(4).normal(size=exact.shape)
    pulled = meaning(f.vjp, {**given, f"w_{f.state[0].results[0]}": weight})
    backwards = sum((g * x).reshape(BATCH, -1).sum(axis=1) for g, x in zip(pulled, moving.values(), strict=True))
    forwards = (weight * exact).reshape(BATCH, -1).sum(axis=1)
    assert np.all(np.abs(backwards - forwards) <= 1e-12 * np.abs(weight * exact).reshape(BATCH, -1).sum(axis=1))
    (blocks,) = meaning(f.jacobian, given)
    total, at = np.zeros((BATCH, exact[0].size)), 0
    for x in moving.values():
        dx = x.reshape(BATCH, -1)
        size = total.shape[1] * dx.shape[1]
        block = blocks.reshape(BATCH, -1)[:, at : at + size].reshape(BATCH, total.shape[1], -1)
        total += np.einsum("bij,bj->bi", block, dx)
        at += size
    near(total.reshape(exact.shape), exact, 1e-12)


def test_one_sample(name: str = "touch") -> None:
    """Without a batch axis; arguments as a tuple, by place and by name."""
    f = held(name).forward_dynamics
    given = {k: x[0] for k, x in arguments(name, "q", "v", "tau").items()}
    J = f.jacobian(*given.values())
    assert J.a.q.shape == (robot("linkage").nv,) * 2 and J.force.tau.shape == (1, robot("linkage").nv)
    da, dforce = f.jvp(tuple(given.values()), {"tau": np.ones(robot("linkage").nv)})
    near(da[None], J.a.tau.sum(axis=1)[None], 1e-12)
    near(dforce[None], J.force.tau.sum(axis=1)[None], 1e-12)
    near(f.jacobian(**given).a.q[None], J.a.q[None], 1e-15)
