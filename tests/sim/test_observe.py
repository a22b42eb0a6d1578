"""Observations: those of compiled steps are what the functions of the robot say, or finite differences."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar import observe
from tests.contact.bodies import G, ball, placed
from tests.contact.test_actuators import differential
from tests.contact.walkers import hopper, starts

pytestmark = pytest.mark.usefixtures("no_warnings")

STANCE = np.array([0.6, -1.2])


def specific_force(robot: fb.System, q: np.ndarray, v: np.ndarray, a: np.ndarray, frame: str) -> np.ndarray:
    """The specific force of a frame in its axes."""
    linear = robot.acceleration(q, v, a, frame)[..., 3:] - np.array(robot.mechanism.gravity)
    return np.einsum("...ji,...j->...i", robot.pose(q, frame)[..., :3, :3], linear)


SEEN = {
    "pose": observe.pose("shin"),
    "velocity": observe.velocity("imu", expressed_in="frame"),
    "acceleration": observe.acceleration("shin", at=(0.0, 0.0, -0.2)),
    "imu": observe.imu("imu"),
    "force": observe.contact_force(),
    "found": observe.contact_found("shin"),
    "energy": observe.energy(),
    "com": observe.method("center_of_mass"),
    "height": fb.traced(lambda t, q, v: [q[0] + t, fb.sin(q[1]) * v[2]]),
}


def test_a_scene_sees_what_the_functions_of_the_robot_say() -> None:
    robot, scene = hopper()
    q, v = starts(robot, 3)
    dt, n = 1e-3, 120
    run = scene.rollout(q, v, u=np.tile(STANCE, (n, 1)), dt=dt, observe=SEEN)
    seen, q, v = run.observations, run.q, run.v
    a = np.diff(v, axis=0) / dt  # these joints move along straight lines of coordinates
    assert run.contacts.found.any() and not run.contacts.found.all()
    assert np.abs(seen["pose"] - robot.pose(q, "shin")).max() < 1e-12
    assert np.abs(seen["velocity"] - robot.velocity(q, v, "imu", expressed_in="frame")).max() < 1e-12
    tip = robot.acceleration(q[:-1], v[:-1], a, "shin", at=(0.0, 0.0, -0.2))
    assert np.abs(seen["acceleration"][1:] - tip).max() < 1e-8 * np.abs(tip).max()
    expected = specific_force(robot, q[:-1], v[:-1], a, "imu")
    assert np.abs(seen["imu"][1:, :, 3:] - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.array_equal(seen["imu"][..., :3], seen["velocity"][..., :3])
    assert np.array_equal(seen["force"], run.contacts.force)
    assert np.array_equal(seen["found"], run.contacts.found[..., 0])
    energies = [robot.kinetic_energy(q, v), robot.potential_energy(q), robot.spring_energy(q)]
    assert np.abs(seen["energy"] - np.stack(energies, -1)).max() < 1e-11
    assert np.abs(seen["com"] - robot.center_of_mass(q)).max() < 1e-12
    user = np.stack([q[..., 0] + run.t[:, None], np.sin(q[..., 1]) * v[..., 2]], -1)
    assert np.abs(seen["height"] - user).max() < 1e-12
    assert np.allclose(
        seen["imu"][0, :, 3:], specific_force(robot, q[0], v[0], 0.0 * v[0], "imu")
    )  # nothing has acted yet


def test_records_every_so_many_steps_and_the_last() -> None:
    robot, scene = hopper()
    q, v = starts(robot, 2)
    u = np.tile(STANCE, (23, 1))
    every = scene.rollout(q, v, u=u, observe=SEEN)
    some = scene.rollout(q, v, u=u, observe=SEEN, every=5)
    rows = [0, 5, 10, 15, 20, 23]
    for name, x in some.observations.items():
        assert np.array_equal(x, every.observations[name][rows]), name
    worlds = scene.batch(2, observe=SEEN)
    worlds.reset(q=q, v=v)
    for name, x in worlds.observations.items():
        assert np.allclose(x, every.observations[name][0]), name
    worlds.step(u=STANCE, steps=23)
    for name, x in worlds.observations.items():
        assert np.abs(x - every.observations[name][-1]).max() <= 1e-9 * max(1.0, np.abs(x).max()), name


def test_at_the_start_velocities_alone_accelerate_frames() -> None:
    """Of a robot alone and of a scene: no forces and no accelerations of joints yet."""
    robot = fb.robots.double_pendulum()
    q, v, still = np.array([0.3, -0.2]), np.array([1.0, 2.0]), np.zeros(2)
    observed = {"a": observe.acceleration("tip"), "imu": observe.imu("tip"), "force": observe.joint_force()}
    for mover in (robot, fb.Scene(robot)):
        first = fb.simulate(mover, q, v, duration=2e-3, dt=1e-3, observe=observed).observations
        assert np.allclose(first["a"][0], robot.acceleration(q, v, still, frame="tip")) and np.any(first["a"][0])
        assert np.allclose(first["imu"][0, 3:], specific_force(robot, q, v, still, "tip"))
        assert not np.any(first["force"][0])


@pytest.mark.parametrize("kp", [50.0, 3e4])
def test_forces_of_actuators_are_those_that_act(kp: float) -> None:
    """M a + h = what acts: the forces of actuators, stiff as they may be, and of damping at the end of the step."""
    robot, dt = differential(kp, 5.0), 4e-3
    seen = {"joints": observe.joint_force(), "actuators": observe.actuator_force()}
    push = np.array([0.5, -0.2, 0.1])
    run = fb.Scene(robot).rollout([0.3, -0.2, 0.5], [0.4, -1.0, 0.3], np.tile(push, (20, 1)), dt=dt,
                                  u=np.tile([0.2, 1.0], (20, 1)), observe=seen)  # fmt: skip
    a = np.diff(run.v, axis=0) / dt
    needed = robot.inverse_dynamics(run.q[:-1], run.v[:-1], a) + 0.05 * run.v[1:]
    found = run.observations["joints"][1:]
    assert np.abs(found - needed).max() < 1e-9 * np.abs(needed).max()
    geared = robot.actuator_force(run.q[:-1], run.observations["actuators"][1:])
    assert np.abs(geared + push - needed).max() < 1e-9 * np.abs(needed).max()


def test_an_imu_feels_the_second_difference_of_its_place() -> None:
    """A body that tumbles: away from its centre the specific force is centripetal and tangential, at the centre 0."""
    b = fb.Builder("body")
    b.body("body", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.02, 0.03))
    robot = b.frame("imu", "body", position=(0.1, -0.05, 0.2), rpy=(0.3, -0.2, 0.5)).build()
    v = np.array([1.0, -2.0, 3.0, 0.5, 0.1, -0.3])
    dt, seen = 1e-4, {"imu": observe.imu("imu"), "centre": observe.imu("body")}
    run = fb.Scene(robot).simulate(placed((0, 0, 1)), v, duration=0.02, dt=dt, observe=seen)
    T = robot.pose(run.q, "imu")
    second = (T[2:, :3, 3] - 2.0 * T[1:-1, :3, 3] + T[:-2, :3, 3]) / dt**2 + np.array([0.0, 0.0, G])
    expected = np.einsum("kji,kj->ki", T[1:-1, :3, :3], second)
    assert np.abs(run.observations["imu"][2:, 3:] - expected).max() < 5e-3
    assert np.abs(run.observations["centre"][1:, 3:]).max() < 1e-10
    smooth = fb.simulate(robot, placed((0, 0, 1)), v, duration=0.02, dt=dt, observe=seen)
    assert np.abs(smooth.observations["imu"][1:-1, 3:] - expected).max() < 1e-3
    assert np.abs(smooth.observations["centre"][1:, 3:]).max() < 1e-10


def test_an_imu_at_rest_feels_what_carries_it() -> None:
    robot = ball()
    run = fb.Scene(robot, fb.Plane()).simulate(
        placed((0, 0, 0.1), (1, 0, 0), 0.5), duration=0.1, observe={"imu": observe.imu("body")}
    )
    c, s = np.cos(0.5), np.sin(0.5)
    assert np.abs(run.observations["imu"][-1] - [0, 0, 0, 0, G * s, G * c]).max() < 1e-8


def test_a_robot_alone_sees_what_acts_at_that_instant() -> None:
    robot, dt = differential(50.0, 2.0), 2e-3
    u = np.array([0.2, 1.0])
    seen: dict[str, Any] = {
        "imu": observe.imu("lower"), "actuators": observe.actuator_force(), "joints": observe.joint_force(),
        "energy": observe.energy(), "a": observe.method("forward_dynamics"), "later": fb.traced(lambda t, q, v: [t]),
    }  # fmt: skip
    push = np.array([0.5, -0.2, 0.1])
    more: dict[str, Any] = {"duration": 0.046, "dt": dt, "every": 5, "observe": seen}
    run = fb.simulate(robot, [0.3, -0.2, 0.5], tau=np.tile(push, (23, 1)), u=np.tile(u, (23, 1)), **more)
    q, v, t = run.q[1:], run.v[1:], run.t[1:]
    tau = robot.control_force(q, v, u) + push
    a = robot.passive_dynamics(q, v, tau)
    found = {name: x[1:] for name, x in run.observations.items()}
    assert len(t) == 5 and t[-1] == 0.046 and (run.u[1:] == u).all() and np.isnan(run.u[0]).all()
    assert np.abs(found["actuators"] - robot.control_response(q, v, u)).max() < 1e-12
    assert np.abs(found["joints"] - tau).max() < 1e-12
    assert np.abs(found["imu"][:, 3:] - specific_force(robot, q, v, a, "lower")).max() < 1e-10
    assert np.abs(found["a"] - robot.forward_dynamics(q, v, tau)).max() < 1e-10
    assert np.abs(found["energy"][:, 0] - robot.kinetic_energy(q, v)).max() < 1e-12
    assert np.array_equal(found["later"][:, 0], t)
    given = np.tile(u, (23, 1))
    ways: tuple[tuple[dict[str, Any], Any], ...] = (
        ({"tau": lambda t, q, v: 0.0 * v + push, "period": 0}, given),
        ({"tau": lambda t, q, v: 0.0 * v + push, "period": 0}, lambda t, q, v: u),
        ({"tau": fb.traced(lambda t, q, v: list(push)), "period": 0}, lambda t, q, v: u),
        ({"tau": lambda t, q, v: push}, given),
        ({"tau": fb.traced(lambda t, q, v: list(push))}, fb.traced(lambda t, q, v: list(u))),
    )
    for other, control in ways:
        same = fb.simulate(robot, [0.3, -0.2, 0.5], u=control, **more, **other)
        assert np.abs(same.q - run.q).max() < 1e-12 and np.array_equal(same.u[1:], run.u[1:])
        for name, x in same.observations.items():
            assert np.abs(x - run.observations[name]).max() < 1e-9, name
    start, forces = [[0.3, -0.2, 0.5]] * 2, np.tile(push, (23, 1))
    rolled = fb.rollout(robot, start, None, forces, u=given, dt=dt, every=5, observe=seen)
    assert rolled.observations["imu"].shape == (6, 2, 6) and rolled.u.shape == (6, 2, 2)
    assert np.array_equal(rolled.observations["imu"][1:, 1], found["imu"])


def test_loops_are_seen_too() -> None:
    robot = fb.robots.four_bar()
    body = robot.names.bodies[-1]
    q = robot.assemble(robot.neutral())
    run = fb.simulate(robot, q, np.ones(robot.nv), duration=0.05, dt=1e-3, observe={"imu": observe.imu(body)})
    a = robot.passive_dynamics(run.q, run.v, np.zeros(robot.nv))
    assert np.abs(run.observations["imu"][1:, 3:] - specific_force(robot, run.q, run.v, a, body)[1:]).max() < 1e-8


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"x": observe.pose("shinn")}, "shin"),
        ({"x": observe.imu("nothing")}, "nothing"),
        ({"x": observe.contact_force("foot")}, "foot"),
        ({"x": observe.actuator_force()}, "no controls"),
        ({"x": 3.0}, "not an observation"),
        (observe.pose("shin"), "by name"),
    ],
)
def test_observations_that_make_no_sense(seen: Any, words: str) -> None:
    robot, scene = hopper()
    with pytest.raises((fb.ArgumentError, fb.UnknownNameError), match=words):
        scene.rollout(robot.neutral(), steps=1, observe=seen)


def test_what_cannot_be_observed() -> None:
    with pytest.raises(fb.ArgumentError, match="needs dt"):
        observe.method("integrate")
    with pytest.raises(fb.ArgumentError, match="pose needs 'frame'"):
        observe.method("pose")
    with pytest.raises(fb.ArgumentError, match="no option of pose 'fame'; did you mean 'frame'"):
        observe.method("pose", frame="shin", fame=3)
    with pytest.raises(fb.ArgumentError, match="at=3: a point is three"):
        fb.rollout(fb.robots.double_pendulum(), [0, 0], dt=1e-3, steps=1, observe={"x": observe.velocity("tip", at=3)})
    with pytest.raises(fb.ArgumentError, match="kinetic_energy"):
        observe.method("kinetic_enrgy")
    with pytest.raises(fb.ArgumentError, match="robot alone has no contacts"):
        fb.rollout(fb.robots.double_pendulum(), [0, 0], dt=1e-3, steps=1, observe={"x": observe.contact_force()})


def test_equal_observations_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a robot alone, of a scene and of its worlds; others than the last few are forgotten."""
    robot, scene = hopper()
    robot_alone = fb.robots.double_pendulum()

    def moved() -> list[np.ndarray]:
        of_robot = {"tip": observe.pose("tip"), "imu": observe.imu("tip")}
        alone = fb.rollout(robot_alone, [0.3, 0.2], dt=1e-3, steps=3, observe=of_robot)
        seen = {"shin": observe.pose("shin"), "mass": observe.method("mass_matrix")}
        run = scene.rollout(robot.neutral(), dt=1e-3, steps=3, observe=seen)
        return [alone.observations["imu"], run.observations["mass"], scene.batch(2, observe=seen).observations["shin"]]

    first = moved()
    with monkeypatch.context() as patched:
        for module, name in ((observe, "Rollout"), (sys.modules["fourbar.sim.observe"], "Unrolled")):
            patched.setattr(module, name, None)  # which nothing needs any more
        assert all(np.array_equal(a, b) for a, b in zip(first, moved(), strict=True))
    for k in range(10):
        seen = {f"x{k}": observe.pose("tip")}
        run = fb.rollout(robot_alone, [0.3, 0.2], dt=1e-3, steps=1, observe=seen)
        assert run.observations[f"x{k}"].shape == (2, 4, 4)
    assert len(vars(robot_alone)["_observers"]) <= 8
