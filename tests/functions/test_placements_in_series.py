"""Placements among the parts of composite joints that vary: in trees, in loops, and of a joint that closes a loop."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Composite, Revolute, Translation3, Universal
from fourbar.spatial import Transform, Twist, exp, to_array

ODD = (0.3, -0.2, 0.5, 0.1, 0.2, -0.3)
NAMES = ("arm.2_placement", "arm.end_placement", "loop.2_placement")
SHAPE = {"mass": 1.0, "com": (0.1, 0.0, 0.1), "inertia": (0.1, 0.1, 0.1)}


def displaced(T: Transform, twist: np.ndarray) -> Transform:
    return T @ exp(Twist.from_array(twist))


def linkage(twists: np.ndarray) -> fb.System:
    """A crank on a composite joint, a lever, a rocker, and a composite joint that closes them to a loop."""
    arm, end, closing = (
        displaced(T, x) for T, x in zip((exp(Twist.of(ODD)), Transform(), Transform()), twists, strict=True)
    )
    b = fb.Builder("linkage")
    b.body("arm", joint=Composite(Revolute("y"), arm, Revolute((0.0, 0.6, 0.8)), end), **SHAPE)
    b.body("lever", parent="arm", joint=Revolute("z"), position=(0.5, 0, 0), **SHAPE)
    b.body("rocker", joint=Revolute("x"), position=(0, 0.8, 0), **SHAPE)
    joint = Composite(Translation3(), closing, Universal("x", "y"))
    ends = {"at_predecessor": (0.3, 0.1, 0.0), "at_successor": (0.0, 0.2, 0.1)}
    loop = fb.loops.Closure(joint, "lever", "rocker", **ends)
    return b.loop(loop, name="loop", independent=["arm", "lever"]).build()


@cache
def built() -> fb.System:
    return linkage(np.zeros((3, 6)))


@cache
def state() -> tuple[np.ndarray, np.ndarray]:
    """A state far from where the loop locks."""
    robot = built()
    q = min(robot.random(0, 40), key=lambda x: np.abs(robot.loop_map(x)).max())
    return q, np.random.default_rng(1).normal(size=robot.nv)


@pytest.mark.quick
def test_which_are_listed() -> None:
    assert [x for x in built().names.numbers if x.startswith("arm.") and "placement" in x] == [
        "arm.placement", "arm.2_placement", "arm.end_placement",
    ]  # fmt: skip
    assert NAMES[2] in built().names.numbers


@pytest.mark.quick
def test_numbers_of_a_joint() -> None:
    """The pose with displaced placements, of a nested series about odd axes, given twice."""
    rng = np.random.default_rng(2)
    first, last = exp(Twist.of(ODD)), exp(Twist.of(ODD[::-1]))
    joint = Composite(Revolute((0.6, 0.0, 0.8)), first, Composite(first, Universal("x", "z"), last))
    assert list(joint.variable) == ["2_placement", "end_placement"]
    q = rng.normal(size=3)
    for seen in (joint, joint.aligned()[1]):
        twists = 0.3 * rng.normal(size=(2, 6))
        once = seen.with_numbers({"2_placement": tuple(twists[0]), "end_placement": tuple(twists[1])})
        twice = once.with_numbers({"2_placement": tuple(-twists[0]), "end_placement": tuple(-twists[1])})
        assert list(once.variable) == list(joint.variable)
        assert np.allclose(to_array(twice.placement(q)), to_array(seen.placement(q)), rtol=0, atol=1e-15)
    parts = (Revolute((0.6, 0.0, 0.8)), displaced(first @ first, twists[0]), Universal("x", "z"))
    expected = Composite(*parts, displaced(last, twists[1])).placement(q)
    A, _ = joint.aligned()
    assert A is not None
    turned = Transform.of(A, (0.0, 0.0, 0.0))
    assert np.allclose(to_array(turned @ once.placement(q) @ turned.inverse()), to_array(expected), rtol=0, atol=1e-14)


def test_in_rollouts_of_a_loop() -> None:
    """Each sample is the robot that was built with its placements, from the state that closes its loop."""
    q, v = state()
    twists = 0.01 * np.random.default_rng(3).normal(size=(2, 3, 6))
    numbers = {name: twists[:, k] for k, name in enumerate(NAMES)}
    run = fb.rollout(built(), q, v, dt=1e-3, steps=20, numbers=numbers)
    varied = built().varying(*NAMES)
    for k, own in enumerate(twists):
        other, start = linkage(own), run.q[0, k]
        assert np.abs(other.loop_residual(start)).max() < 1e-12
        again = fb.rollout(other, start, v, dt=1e-3, steps=20)
        assert np.abs(run.q[:, k] - again.q).max() < 1e-12 and np.abs(run.v[:, k] - again.v).max() < 1e-10
        force = other.forward_dynamics(start, v, v)
        assert np.abs(varied.forward_dynamics(start, v, v, *own) - force).max() < 1e-11 * np.abs(force).max()


def test_derivatives_in_a_loop() -> None:
    """Against differences of robots that vary, whose dependent joints follow to first order."""
    q, v = state()
    blocks = built().forward_dynamics.jacobian(q, v, v, parameters=list(NAMES)).parameters
    varied, h = built().varying(*NAMES), 1e-5
    for k, name in enumerate(NAMES):
        for direction in np.eye(6):
            change = np.zeros((3, 6))
            change[k] = h * direction
            ahead, behind = (varied.forward_dynamics(q, v, v, *x) for x in (change, -change))
            expected = (ahead - behind) / (2 * h)
            assert np.abs(blocks[name] @ direction - expected).max() < 1e-7 * max(1.0, np.abs(expected).max()), name
