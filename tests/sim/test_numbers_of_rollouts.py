"""Numbers of loops, placements and numbers of joints in simulations: as of robots that were built with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Fixed, Free, Helical, Prismatic, Revolute
from fourbar.loops import Distance
from tests.loops.test_varying_numbers import CASES, MAKERS, rebuilt

SLOW = [f"{kind}-{name}" for kind, name in CASES if kind in ("Renamed", "LoopWithLockedJoints", "Reflected", "Sines")]


def slider_crank(length: float = 0.5, independent: str = "crank", placed: float = 0.6, **damping: float) -> fb.System:
    """A crank of 0.2 m that drives a slide by a rod."""
    b = fb.Builder("slider crank")
    shape: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.02, 0.0), "inertia": (0.01, 0.01, 0.01)}
    b.body("crank", joint=Revolute("y"), **shape)
    b.body("slider", joint=Prismatic("x"), position=(placed, 0, 0), **shape, **damping)
    b.loop(Distance("crank", "slider", (0.2, 0, 0), (0, 0, 0), length), name="rod", independent=(independent,))
    b.configuration("home", {"crank": 0.3})
    return b.build()


LENGTHS = (0.45, 0.5, 0.58)


@pytest.mark.slow_cases(*SLOW)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_every_number_of_every_loop(kind: str, name: str) -> None:
    made = MAKERS[kind]()
    nominal = made.varying(name).nominal[name]
    rng = np.random.default_rng(3)
    values = np.where(nominal == 0.0, 0.02, nominal) * rng.uniform(0.97, 1.03, (2, *nominal.shape))
    keep = list(dict.fromkeys(x.partition(".")[0] for x in made.names.velocities))
    q, v = made.random(1), 0.2 * rng.normal(size=made.nv)
    run = fb.rollout(made, q, v, dt=1e-3, steps=10, numbers={name: values})
    for k, value in enumerate(values):
        other = rebuilt(made, name, value)
        alone = fb.rollout(other, other.assemble(q, keep), v, dt=1e-3, steps=10)
        assert np.abs(run.q[:, k] - alone.q).max() < 1e-10 and np.abs(run.v[:, k] - alone.v).max() < 1e-9
        assert not run.diverged[k]


@pytest.mark.quick
@pytest.mark.parametrize("independent", ["crank", "slider"])
def test_a_rod_of_other_lengths_through_dead_centres(independent: str) -> None:
    """The slide does not determine the crank at a dead centre: each sample is followed in other velocities there."""
    robot = slider_crank(0.5, independent, damping=0.1)
    q, v = robot.assemble([1.2, 0.0], ["crank"]), np.array([6.0 if independent == "crank" else -1.0])
    run = fb.simulate(robot, q, v, duration=2.0, dt=1e-3, numbers={"rod.length": LENGTHS})
    turned = np.ptp(run.q[:, :, 0], axis=0)
    assert (turned > 2.0).all() and np.isfinite(run.q).all()
    for k, length in enumerate(LENGTHS):
        other = slider_crank(length, independent, damping=0.1)
        alone = fb.simulate(other, other.assemble(q, [independent]), v, duration=2.0, dt=1e-3)
        assert np.abs(run.v[:, k] - alone.v).max() < 1e-5
        assert np.abs(run.q[:, k] - alone.q).max() < 1e-7  # others may be followed a few steps earlier or later


def cranks(length: float) -> fb.System:
    """Two equal cranks a metre apart, tied by a rod: with a rod of a metre they fold where all is in line."""
    b = fb.Builder("cranks", gravity=(0, 0, 0))
    shape: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.02), "inertia": (0.01, 0.01, 0.01)}
    b.body("first", joint=Revolute("y"), **shape)
    b.body("second", joint=Revolute("y"), position=(1.0, 0, 0), **shape)
    b.loop(Distance("first", "second", (0.3, 0, 0), (0.3, 0, 0), length), name="rod", independent=("first",))
    return b.configuration("home", {"first": 1.0, "second": 1.0}).build()


@pytest.mark.parametrize("dt", [1e-3, 7e-3])
def test_folds_of_other_lengths_are_passed(dt: float) -> None:
    """The robot as built has none. Each sample moves as the robot with its length does, and keeps its energy."""
    robot, lengths = cranks(1.02), np.array([1.02, 1.0, 1.0 + 1e-9, 1.0001])
    q, v = robot.assemble([1.0, 1.0], ["first"]), np.array([6.0])
    run = fb.simulate(robot, q, v, duration=1.4, dt=dt, numbers={"rod.length": lengths})
    assert not run.diverged.any() and (np.ptp(run.q[:, :, 0], axis=0) > np.pi).all()  # through both positions in line
    for k, length in enumerate(lengths):
        other = cranks(float(length))
        alone = fb.simulate(other, other.assemble(q, ["first"]), v, duration=1.4, dt=dt)
        states = [i for i in range(0, len(run.q), 7) if _is_clear(run.q[i, k])]
        energy = [other.kinetic_energy(run.q[i, k], run.v[i, k]) for i in states]
        assert np.ptp(energy) < 1e-4 * energy[0]
        assert np.abs(run.q[:, k] - alone.q).max() < 1e-4


def _is_clear(q: np.ndarray) -> bool:
    """Whether cranks are away from where all is in line: nearer, velocities have no digits."""
    return bool(np.abs(np.sin(q)).min() > 0.05)


def test_a_scene_and_its_worlds() -> None:
    robot = slider_crank(independent="slider")
    scene, q, v = fb.Scene(robot), robot.assemble([1.2, 0.0], ["crank"]), np.array([-0.5])
    shifts = np.array([[0.0, 0.0, 0.0, x, 0.0, 0.0] for x in (0.0, 0.01, 0.02)])
    numbers = {"rod.length": np.array(LENGTHS), "slider.placement": shifts}
    run = scene.rollout(q, v, dt=1e-3, steps=600, numbers=numbers)
    worlds = scene.batch(3, dt=1e-3, numbers=numbers)
    worlds.reset(q=q, v=v)
    worlds.step(steps=600)
    assert np.abs(worlds.q - run.q[-1]).max() < 1e-9
    step = scene.step(q, v, dt=1e-3, numbers=numbers)
    assert np.abs(step.q - run.q[1]).max() < 1e-12
    for k, length in enumerate(LENGTHS):
        other = slider_crank(length, "slider", 0.6 + 0.01 * k)
        alone = fb.Scene(other).rollout(other.assemble(q, ["slider"]), v, dt=1e-3, steps=600)
        assert np.abs(run.q[:, k] - alone.q).max() < 1e-9
    worlds.reset(q=q)
    worlds.change("rod.length", 0.5)
    assert np.abs(robot.loop_gap(worlds.q[0])) < 1e-12


def test_what_cannot_be_closed_is_refused() -> None:
    robot = slider_crank()
    q = robot.assemble([1.2, 0.0], ["crank"])
    words = r"'rod.length' = 0.1 the loop 'rod' cannot be closed from q of sample 1, where its residual is [0-9.]+;"
    with pytest.raises(fb.ArgumentError, match=words):
        fb.rollout(robot, q, dt=1e-3, steps=2, numbers={"rod.length": [0.5, 0.1]})
    with pytest.raises(fb.ArgumentError, match=r"simulate: numbers: .* cannot be closed from q, where"):
        fb.Scene(robot).simulate(q, duration=0.01, numbers={"rod.length": 0.1})


def test_a_large_change_is_followed_in_stages() -> None:
    """From half the length to twice, where Newton's method from q goes nowhere."""
    robot = slider_crank()
    q = robot.assemble([1.2, 0.0], ["crank"])
    for length in (0.25, 1.5):
        other = slider_crank(length)
        run = fb.rollout(robot, q, dt=1e-3, steps=5, numbers={"rod.length": length})
        alone = fb.rollout(other, other.assemble(q, ["crank"]), dt=1e-3, steps=5)
        assert np.abs(run.q - alone.q).max() < 1e-11


def test_places_of_constraints_and_of_shapes_stay() -> None:
    robot = slider_crank()
    held = robot.constrained(fb.constraints.Prescribed(["crank"]))
    q = robot.assemble([0.3, 0.0], ["crank"])
    with pytest.raises(fb.ArgumentError, match=r"'crank\.placement' moves places of the constraints"):
        fb.rollout(held, q, dt=1e-3, steps=2, numbers={"crank.placement": np.zeros(6)})
    with pytest.raises(fb.ArgumentError, match=r"'rod.length' moves places of the constraints"):
        fb.Scene(held).rollout(q, dt=1e-3, steps=2, numbers={"rod.length": 0.5})
    b = fb.Builder("box on a plate")
    b.body("plate", joint=Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("box", parent="plate", joint=Fixed(), mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 0, 0.2))
    b.body("bolt", parent="plate", joint=Helical("z", pitch=0.01), mass=1.0, inertia=(0.1, 0.1, 0.1))
    made = b.build()
    scene = fb.Scene(made, fb.Plane(), contacts=[fb.contact.Shape("box", "sphere", 0.1)])
    with pytest.raises(fb.ArgumentError, match=r"'box.placement' displaces a body that is fixed to others with shapes"):
        scene.rollout(made.neutral(), dt=1e-3, steps=2, numbers={"box.placement": np.zeros(6)})
    scene.rollout(made.neutral(), dt=1e-3, steps=2, numbers={"bolt.placement": np.zeros(6), "bolt.pitch": 0.02})


def test_dry_friction_in_a_scene() -> None:
    b = fb.Builder("nut")
    b.body("nut", joint=Helical("z", pitch=0.02), mass=1.0, inertia=(1e-3, 1e-3, 1e-3), friction=0.01, damping=1e-3)
    robot = b.build()
    numbers = {"nut.friction": np.array([0.01, 0.3]), "nut.pitch": np.array([0.03, 0.03])}
    run = fb.Scene(robot).rollout([0.0], dt=1e-3, steps=100, numbers=numbers)
    assert run.q[-1, 0, 0] < -1e-3 and abs(run.q[-1, 1, 0]) < 1e-12  # the weight turns the nut by m g pitch = 0.29 N m
    other = fb.Builder("nut")
    other.body("nut", joint=Helical("z", pitch=0.03), mass=1.0, inertia=(1e-3, 1e-3, 1e-3), friction=0.01, damping=1e-3)
    alone = fb.Scene(other.build()).rollout([0.0], dt=1e-3, steps=100)
    assert np.abs(run.q[:, 0] - alone.q).max() < 1e-12
