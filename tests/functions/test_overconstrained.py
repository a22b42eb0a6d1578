"""Derivatives of linkages whose rows always depend on each other: Sarrus and Bricard, held by forces."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Revolute
from fourbar.loops import Closure

SOLID = {"mass": 1.0, "com": (0.1, 0.05, -0.1), "inertia": (0.1, 0.12, 0.13)}


def about_x(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def sarrus() -> tuple[fb.Builder, Closure]:
    """Two legs of three parallel hinges each, at a right angle: the top goes up and down."""
    b = fb.Builder("sarrus")
    b.body("a1", joint=Revolute("y"), position=(0.5, 0, 0), **SOLID)
    b.body("a2", parent="a1", joint=Revolute("y"), position=(0.3, 0, 0.4), **SOLID)
    b.body("top", parent="a2", joint=Revolute("y"), position=(-0.3, 0, 0.4), **SOLID)
    b.body("b1", joint=Revolute("x"), position=(0, 0.5, 0), **SOLID)
    b.body("b2", parent="b1", joint=Revolute("x"), position=(0, 0.3, 0.4), **SOLID)
    return b, Closure(Revolute("x"), "b2", "top", at_predecessor=(0, -0.3, 0.4), at_successor=(-0.5, 0.5, 0))


def bricard() -> tuple[fb.Builder, Closure]:
    """Six hinges, each at a right angle to the next, on links of the same length: one freedom."""
    b, parent = fb.Builder("bricard"), "world"
    for i in range(5):
        twist = np.pi / 2 * (1 if i % 2 else -1)  # of the link before
        place = {"rotation": about_z(np.pi / 2)} if i == 0 else {"rotation": about_x(twist) @ about_z(np.pi / 2)}
        position = (0, 0, 0) if i == 0 else (1, 0, 0)
        b.body(f"l{i}", parent=parent, joint=Revolute("z"), position=position, **place, **SOLID)
        parent = f"l{i}"
    turns = {"predecessor_rotation": about_x(np.pi / 2 * 1), "successor_rotation": about_x(np.pi / 2)}
    return b, Closure(Revolute("z"), "l4", "world", at_predecessor=(1, 0, 0), at_successor=(-1, 0, 0), **turns)


@pytest.mark.slow_cases("bricard")
@pytest.mark.parametrize(("made", "rank"), [(sarrus, 4), (bricard, 4)], ids=["sarrus", "bricard"])
def test_there_are_derivatives(made: Callable[[], tuple[fb.Builder, Closure]], rank: int) -> None:
    b, closure = made()
    held = b.build().constrained(closure)
    embedded = made()[0].loop(closure, name="last").build()
    assert embedded.nv == 1
    assert np.abs(held.residual(np.zeros(5))).max() < 1e-12 and held.rank(np.zeros(5)) == rank < held.m
    rng = np.random.default_rng(0)
    q = embedded.integrate(embedded.neutral(), rng.uniform(-0.3, 0.3, (4, 1)), 1.0)
    w, tau = rng.normal(size=(4, 1)), rng.normal(size=(4, 5))
    v = embedded.expand_velocity(q, w)
    a, _ = held.forward_dynamics(q, v, tau)
    J = held.forward_dynamics.jacobian(q, v, tau)
    G = embedded.loop_map(q)
    assert np.allclose(J.a.tau, G @ np.linalg.solve(embedded.mass_matrix(q), np.swapaxes(G, -1, -2)), atol=1e-9)
    h, along = 1e-5, embedded.expand_velocity(q, np.ones((4, 1)))
    ahead, behind = (embedded.integrate(q, np.full((4, 1), t), 1.0) for t in (h, -h))
    moved = [embedded.expand_velocity(x, w) for x in (ahead, behind)]
    rate = (held.forward_dynamics(ahead, moved[0], tau)[0] - held.forward_dynamics(behind, moved[1], tau)[0]) / (2 * h)
    da, _ = held.forward_dynamics.jvp((q, v, tau), {"q": along, "v": (moved[0] - moved[1]) / (2 * h)})
    assert np.abs(da - rate).max() < 1e-6 * np.abs(a).max() + 1e-6 * np.abs(rate).max()
