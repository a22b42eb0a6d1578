"""Energy of impacts with restitution and friction, without gravity: none is created."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import Shape

SAMPLES = 400


def largest_gain(scene: fb.Scene, q: np.ndarray, v: np.ndarray, height: np.ndarray) -> float:
    """The largest ratio of kinetic energies, after 20 ms to before, where a floor is at some height of each sample."""
    point = np.stack([np.zeros_like(height), np.zeros_like(height), height], axis=1)
    run = scene.simulate(q, v, duration=0.02, dt=5e-4, numbers={"terrain.point": point})
    assert run.converged.all() and run.contacts.found.any(axis=(0, 2)).sum() > SAMPLES / 4
    return float((scene.robot.kinetic_energy(run.q[-1], run.v[-1]) / scene.robot.kinetic_energy(q, v)).max())


def rod(friction: float, restitution: float) -> float:
    """The largest gain of a free rod of 1 m that strikes with one end."""
    b = fb.Builder("rod", gravity=(0.0, 0.0, 0.0))
    b.body("rod", joint=fb.joints.Free(), mass=1.0, inertia=(0.083, 0.083, 0.01))
    ends = [Shape("rod", position=(x, 0.0, 0.0)) for x in (0.5, -0.5)]
    scene = fb.Scene(b.build(), fb.Plane(friction, restitution=restitution), contacts=ends)
    rng = np.random.default_rng(0)
    tilt = rng.uniform(0.1, 1.4, SAMPLES)
    zero = np.zeros(SAMPLES)
    q = np.stack([zero, zero, zero, np.cos(tilt / 2), zero, np.sin(tilt / 2), zero], axis=1)
    turning, forward, down = rng.normal(0.0, 3.0, (3, SAMPLES))
    down = -np.abs(down)
    along, across = (np.cos(tilt) * forward - np.sin(tilt) * down, np.sin(tilt) * forward + np.cos(tilt) * down)
    v = np.stack([zero, turning, zero, along, zero, across], axis=1)
    return largest_gain(scene, q, v, -0.5 * np.sin(tilt) - 1e-3)


def double_pendulum(friction: float, restitution: float) -> float:
    """The largest gain of two rods of 1 m that hang, the tip of which strikes."""
    b = fb.Builder("pendulum", gravity=(0.0, 0.0, 0.0))
    for name, parent, z in (("upper", "world", 0.0), ("lower", "upper", -1.0)):
        b.body(name, parent=parent, joint=fb.joints.Revolute("y"), position=(0.0, 0.0, z), mass=1.0,
               com=(0.0, 0.0, -0.5), inertia=(0.083, 0.083, 0.001))  # fmt: skip
    tip = [Shape("lower", position=(0.0, 0.0, -1.0))]
    scene = fb.Scene(b.build(), fb.Plane(friction, restitution=restitution), contacts=tip)
    rng = np.random.default_rng(1)
    q, v = rng.uniform(-1.0, 1.0, (SAMPLES, 2)), rng.normal(0.0, 3.0, (SAMPLES, 2))
    return largest_gain(scene, q, v, -np.cos(q[:, 0]) - np.cos(q.sum(axis=1)) - 1e-3)


NUMBERS = [(0.0, 1.0), (0.7, 0.0), (0.7, 0.7), (0.7, 0.9), (0.5, 1.0), (0.7, 1.0)]


@pytest.mark.parametrize(("friction", "restitution"), NUMBERS)
def test_impacts_of_one_body_add_no_energy(friction: float, restitution: float) -> None:
    """Newton's restitution as it stands gains up to 1.26 and 1.56 times at the last ones (Kane's paradox)."""
    assert rod(friction, restitution) < 1.0 + 1e-12


@pytest.mark.parametrize(("friction", "restitution"), [*NUMBERS, (0.3, 0.3), (0.1, 0.3)])
def test_impacts_of_a_robot_with_joints_add_no_energy(friction: float, restitution: float) -> None:
    """But to first order of the step, by the motion within it; as it stands the law gains a thousand times and more."""
    assert double_pendulum(friction, restitution) < 1.01


def test_restitution_is_whole_where_it_creates_no_energy() -> None:
    """Balls that strike a rough floor with spin: e times the normal velocity, and at most Coulomb's friction."""
    b = fb.Builder("ball", gravity=(0.0, 0.0, 0.0))
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004,) * 3)
    scene = fb.Scene(b.build(), fb.Plane(0.6, restitution=0.9), contacts=[Shape("ball", "sphere", (0.1,))])
    rng = np.random.default_rng(2)
    v = rng.normal(size=(50, 6))
    v[:, 5] = -np.abs(v[:, 5]) - 0.1
    q = np.tile([0, 0, 0.1, 1.0, 0, 0, 0], (50, 1))
    run = scene.rollout(q, v, dt=1e-8, steps=1)
    assert np.abs(run.v[-1][:, 5] + 0.9 * v[:, 5]).max() < 1e-5  # it turns by 57 rad/s in the step
