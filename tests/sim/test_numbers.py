"""Parameters that differ from sample to sample of a simulation: the same as robots built with them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.compile import rollout_kernel as machine
from fourbar.sim.motions import given_numbers
from fourbar.system.system import restore
from fourbar.tree.parameters import change_parameters, find, parameters
from tests.contact.walkers import hopper, standing, starts

pytestmark = pytest.mark.usefixtures("no_warnings")


def rebuilt(robot: fb.System, values: dict[str, Any]) -> fb.System:
    """The robot built with other parameters."""
    which = find(parameters(robot.mechanism), values)
    flat = [float(x) for v in values.values() for x in np.ravel(v)]
    return restore(replace(change_parameters(robot.mechanism, which, flat), configurations=()))


def scattered(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {
        "base.mass": rng.uniform(2.0, 4.0, n),
        "thigh.inertia": 2e-3 * np.eye(3) * rng.uniform(0.8, 1.2, (n, 1, 1)),
        "shin.com": np.array([0.0, 0.0, -0.1]) + 0.01 * rng.normal(size=(n, 3)),
        "gravity": np.array([0.0, 0.0, -9.81]) + rng.normal(size=(n, 3)),
        "thigh.armature": rng.uniform(0.0, 0.02, n),
        "thigh.damping": rng.uniform(0.0, 0.5, n),
        "shin.friction": rng.uniform(0.0, 0.2, n),
        "thigh_servo.kp": rng.uniform(50.0, 90.0, n),
        "thigh_servo.kd": rng.uniform(0.5, 2.0, n),
        "shin_servo.kp": rng.uniform(50.0, 90.0, n),
    }


STANCE = np.array([0.6, -1.2])


def test_a_scene_moves_as_robots_with_these_parameters() -> None:
    robot, scene = hopper()
    n, values, u = 3, scattered(3), np.tile(STANCE, (60, 1))
    q, v = starts(robot, n)
    run = scene.rollout(
        q, v, u=u, numbers=values, observe={"energy": fb.observe.energy(), "imu": fb.observe.imu("imu")}
    )
    assert run.contacts.found.any() and len(np.unique(run.q[-1, :, 0])) == n
    one = scene.step(q, v, u=u[0], dt=2e-3, numbers=values)
    for k in range(n):
        other = rebuilt(robot, {name: x[k] for name, x in values.items()})
        alone = standing(other)
        expected = alone.rollout(q[k], v[k], u=u, observe={"imu": fb.observe.imu("imu")})
        assert np.abs(run.q[:, k] - expected.q).max() < 1e-12 and np.abs(run.v[:, k] - expected.v).max() < 1e-10
        assert np.abs(one.v[k] - expected.v[1]).max() < 1e-12
        assert np.abs(run.observations["imu"][:, k] - expected.observations["imu"]).max() < 1e-8
        kinetic = other.kinetic_energy(expected.q, expected.v)
        assert np.abs(run.observations["energy"][:, k, 0] - kinetic).max() < 1e-11


def test_a_robot_alone_too() -> None:
    """Runge-Kutta steps, with damping that the robot does not have, gains and gravity."""
    b = fb.Builder("arm")
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.002))
    b.body("lower", parent="upper", joint=fb.joints.Revolute("y"), position=(0, 0, -0.4), mass=0.7, com=(0, 0, -0.2),
           inertia=(0.02, 0.02, 0.002))  # fmt: skip
    robot = b.position_servo("servo", drives={"upper": 1.0, "lower": 0.5}, kp=20.0, kd=0.5).build()
    rng, n = np.random.default_rng(2), 4
    values = {
        "servo.kp": rng.uniform(10.0, 30.0, n),
        "gravity": rng.normal(size=(n, 3)),
        "lower.damping": rng.uniform(0.0, 1.0, n),
        "upper.mass": rng.uniform(0.5, 2.0, n),
    }
    u = rng.normal(size=(50, 1))
    runs = fb.rollout(robot, [0.3, -0.2], None, u=u, dt=2e-3, numbers=values, every=10)
    motion = fb.simulate(robot, [0.3, -0.2], u=u, duration=0.1, dt=2e-3, numbers=values, every=10)
    assert runs.q.shape == (6, 4, 2) and np.array_equal(motion.q, runs.q)
    for k in range(n):
        other = rebuilt(robot, {name: x[k] for name, x in values.items()})
        expected = fb.simulate(other, [0.3, -0.2], u=u, duration=0.1, dt=2e-3, every=10)
        assert np.abs(runs.q[:, k] - expected.q).max() < 1e-12
        assert np.abs(runs.lost[:, k] - expected.lost).max() < 1e-12


def test_the_same_bits_in_any_batch_on_one_and_two_threads() -> None:
    robot, scene = hopper()
    n, steps = 1024, 60
    values, (q, v) = scattered(n), starts(robot, n)
    u = STANCE + 0.3 * np.random.default_rng(3).normal(size=(n, steps, 2))
    whole = scene.rollout(q, v, u=u, numbers=values, every=30, threads=1)
    assert whole.contacts.found.any()
    two = scene.rollout(q, v, u=u, numbers=values, every=30, threads=2)
    assert np.array_equal(two.q, whole.q) and np.array_equal(two.residual, whole.residual)
    for part in (slice(5, 6), slice(100, 107), slice(200, 208)):
        some = {name: x[part] for name, x in values.items()}
        for threads in (1, 2):
            run = scene.rollout(q[part], v[part], u=u[part], numbers=some, every=30, threads=threads)
            assert np.array_equal(run.q, whole.q[:, part]) and np.array_equal(run.v, whole.v[:, part])


def test_other_values_need_no_other_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, scene = hopper()
    made = []
    monkeypatch.setattr(machine.RolloutKernel, "__init__", _counted(machine.RolloutKernel.__init__, made))
    q, v = starts(robot, 4)
    for k in range(3):
        masses = 4.0 + k + 0.1 * np.arange(4)
        scene.rollout(q, v, steps=2, numbers={"base.mass": masses, "thigh_servo.kp": 50.0})
        scene.rollout(q, v, steps=2, numbers={"thigh_servo.kp": 10.0 + k, "base.mass": masses})  # in another order
    assert len(made) == 1
    smooth = fb.robots.double_pendulum()
    for mass in (np.ones(4), np.full(4, 2.0)):
        fb.rollout(smooth, np.zeros(2), dt=1e-3, steps=2, numbers={"lower.mass": mass})
    assert len(made) == 2


def _counted(init: Any, made: list[int]) -> Any:
    def counting(self: Any, *args: Any, **named: Any) -> None:
        made.append(1)
        init(self, *args, **named)

    return counting


def test_worlds_have_numbers_of_their_own() -> None:
    robot, scene = hopper()
    q, v = starts(robot, 6)
    masses = np.linspace(4.0, 6.0, 6)
    worlds = scene.batch(
        6, numbers={"base.mass": 5.0, "gravity": [0, 0, -9.81]}, observe={"found": fb.observe.contact_found()}
    )
    worlds.reset(q=q, v=v)
    worlds.numbers["base.mass"][:] = masses
    worlds.step(u=STANCE, steps=40)
    numbers = {"base.mass": masses, "gravity": [0, 0, -9.81], "friction": worlds.friction}
    run = scene.rollout(q, v, np.zeros((40, 3)), u=np.tile(STANCE, (40, 1)), every=40, numbers=numbers)
    assert np.array_equal(worlds.q, run.q[-1]) and np.array_equal(worlds.observations["found"], run.contacts.found[-1])
    before = worlds.q.copy()
    worlds.step(np.zeros(robot.nv), ids=np.arange(6) == 2)
    assert (worlds.q != before).any(axis=1).tolist() == [False, False, True, False, False, False]
    assert worlds.nominal["base.mass"] == 3.0


def test_names_of_numbers_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than a step, and the same names are given in every one."""
    robot, scene = hopper()
    (q, v), looked_up, find_names = starts(robot, 2), [], given_numbers.which_numbers
    monkeypatch.setattr(given_numbers, "which_numbers", lambda *x: (looked_up.append(x), find_names(*x))[1])
    for mass in (2.0, 3.0, 4.0):
        after = scene.step(q, v, dt=2e-3, numbers={"base.mass": mass, "terrain.friction": 0.5})
        assert np.array_equal(after.v, scene.rollout(q, v, steps=1, dt=2e-3, numbers={
            "base.mass": mass, "terrain.friction": 0.5}).v[-1])  # fmt: skip
    assert len(looked_up) == 1
    worlds = scene.batch(2, numbers={"base.mass": 3.0})
    for mass in (2.0, 4.0):
        worlds.change("base.mass", mass)
    with pytest.raises(fb.ArgumentError, match="negative"):
        worlds.change("base.mass", -1.0)
    assert len(looked_up) == 2 and (worlds.numbers["base.mass"] == 4.0).all()
    with pytest.raises(fb.ArgumentError, match="not both"):
        scene.step(q, v, dt=2e-3, numbers={"base.mass": 1.0, "terrain.friction": 0.5, "friction": [0.5]})


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"base.mas": 1.0}, "base.mass"),
        ({"base.mass": -1.0}, "negative"),
        ({"base.mass": np.nan}, "NaN"),
        ({"gravity": 9.81}, r"shape \(..., 3\)"),
        ({"thigh.placement": np.zeros(3)}, r"'thigh.placement' must have shape \(..., 6\)"),
        ({"thigh.axis": np.zeros(3)}, "'thigh.axis' cannot vary: an axis .* is a direction"),
        ([1.0], "by name"),
    ],
)
def test_numbers_that_make_no_sense(numbers: Any, words: str) -> None:
    robot, scene = hopper()
    with pytest.raises((fb.ArgumentError, fb.UnknownNameError), match=words):
        scene.rollout(robot.neutral(), steps=1, numbers=numbers)


def test_numbers_of_a_robot_alone_that_make_no_sense() -> None:
    robot, _ = hopper()
    with pytest.raises(fb.ArgumentError, match="scenes only"):
        fb.rollout(robot, robot.neutral(), dt=1e-3, steps=1, numbers={"shin.friction": 0.1})
    with pytest.raises(fb.ArgumentError, match="compiled steps"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        law = lambda t, q, v: 0.0 * v  # noqa: E731
        fb.simulate(robot, robot.neutral(), duration=0.01, period=0, tau=law, numbers={"base.mass": 1.0})
    with pytest.raises(fb.ArgumentError, match="leading axes"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fb.rollout(robot, starts(robot, 3)[0], dt=1e-3, steps=1, numbers={"base.mass": np.ones(2)})


@pytest.mark.parametrize("law", [None, fb.contact.MuJoCo()])
def test_dry_friction_of_samples_acts_under_every_law(law: Any) -> None:
    def arm(friction: float) -> fb.System:
        b = fb.Builder("arm", gravity=(0, 0, 0))
        b.body("arm", joint=fb.joints.Revolute("y"), mass=0.3, inertia=(0.02, 0.02, 0.02), friction=friction)
        return b.build()

    values = np.array([0.02, 0.05, 0.1])
    runs = fb.Scene(arm(0.03), law=law).rollout([0.0], [3.0], steps=100, dt=1e-3, numbers={"arm.friction": values})
    for k, x in enumerate(values):
        alone = fb.Scene(arm(x), law=law).rollout([0.0], [3.0], steps=100, dt=1e-3)
        assert np.abs(runs.q[:, k] - alone.q).max() < 1e-12
        assert np.isclose(alone.v[-1, 0], 3.0 - x / 0.02 * 0.1, rtol=1e-6)
