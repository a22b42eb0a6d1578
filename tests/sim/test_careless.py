"""Careless use of scenes, recordings and pictures: messages that help, and short representations."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb


def ball() -> fb.Scene:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    return fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])


def test_a_quaternion_of_zeros_is_named_where_a_motion_starts() -> None:
    with pytest.raises(fb.ArgumentError, match=r"quaternion of joint 'ball'.*neutral"):
        ball().simulate([0, 0, 0.1, 0, 0, 0, 0], duration=0.1)


def test_runs_and_rollouts_have_short_representations() -> None:
    run = ball().simulate([0, 0, 0.1, 1, 0, 0, 0], duration=0.1)
    assert "51 states" in repr(run) and "all solved" in repr(run) and len(repr(run)) < 120
    rollouts = fb.rollout(fb.robots.double_pendulum(), np.zeros((3, 2)), dt=0.01, steps=10)
    assert "(11, 3, 2)" in repr(rollouts) and len(repr(rollouts)) < 120


def test_a_file_that_is_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    for content in (b"hello", b"PK damaged"):
        path.write_bytes(content)
        with pytest.raises(fb.ArgumentError, match=r"run\.npz is not a recording"):
            fb.Run.load(path)


def test_a_figure_shows_finite_configurations() -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(fb.ArgumentError, match="NaN"):
        fb.robots.double_pendulum().plot([np.nan, 0.0])


def test_an_open_loop_is_refused_wherever_a_motion_starts() -> None:
    """Of a four-bar whose coordinates do not fit: in a motion, a rollout, a batch and a single step; what a step has
    returned, and what has impulses of one, goes on."""
    robot = fb.robots.four_bar()
    scene = fb.Scene(
        robot, fb.Plane(point=(0, 0, -5)), contacts=[fb.contact.Shape(robot.names.bodies[-1], "sphere", 0.01)]
    )
    q, v = robot.assemble(robot.neutral()), np.zeros(robot.nv)
    bad = q + np.array([0.0, 0.0, 0.3])
    for start in (
        lambda: fb.simulate(robot, bad, duration=0.01),
        lambda: scene.simulate(bad, duration=0.01),
        lambda: scene.rollout(bad, dt=1e-3, steps=3),
        lambda: scene.batch(2, dt=1e-3).reset([1], q=bad[None]),
        lambda: scene.step(bad, v, dt=1e-3),
    ):
        with pytest.raises(fb.ArgumentError, match=r"loops of 'four_bar' are open by 0\.296.*assemble"):
            start()
    with pytest.raises(fb.ArgumentError, match=r"loops of 'four_bar' are open by .*assemble"):
        fb.simulate(robot, q + 0.5, duration=0.01)  # where they cannot be closed at all
    worlds = scene.batch(2)
    with pytest.raises(fb.ArgumentError, match="loops of 'four_bar' are open"):
        worlds.reset(q=bad)
    assert np.array_equal(worlds.q, np.tile(robot.neutral(), (2, 1)))  # what was refused has changed nothing
    first = scene.step(q, v, dt=1e-3)
    second = scene.step(first.q, first.v, dt=1e-3)
    again = scene.step(first.q.copy(), first.v, dt=1e-3, impulse=first.impulse)
    assert robot.loop_gap(second.q) < 1e-12 and np.array_equal(second.q, again.q)


START = [0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda scene: scene.simulate(START, duration=0.1, numbers={"friction": [-0.5]}), "'friction' is negative"),
        (lambda scene: scene.rollout(START, steps=2, numbers={"friction": [np.nan]}), "'friction' is NaN"),
        (lambda scene: scene.rollout(START, steps=2, numbers={"friction": "slippery"}), "got 'slippery'"),
        (lambda scene: scene.step(START, np.zeros(6), dt=0.002, numbers={"friction": [-0.5]}), "numbers: 'friction'"),
        (lambda scene: scene.step(START, np.zeros(6), dt=-0.002), "dt=-0.002: expected the length of a step"),
        (lambda scene: scene.step(START, np.zeros(6), dt=[0.002, np.nan]), "positive and finite"),
        (lambda scene: scene.rollout(START, steps=2.5), r"steps=2\.5: expected a whole number"),
        (lambda scene: scene.rollout(START, steps=-1), "steps=-1"),
        (lambda scene: scene.simulate(START, duration=0.1, progress=3), "progress=3"),
        (lambda scene: scene.simulate(START, duration=0.1, tau=fb.traced(lambda t, q, v: None)), "got None among"),
        (lambda scene: scene.simulate(START, duration=0.1, tau=fb.traced(lambda t, q, v: [q, v])), "of numbers"),
        (
            lambda scene: scene.simulate(START, duration=0.1, tau=fb.traced(lambda t, q, v: [1j] * 6)),
            "got 1j",
        ),
    ],
)
def test_arguments_of_a_scene_that_make_no_sense(call: Any, words: str) -> None:
    with pytest.raises(fb.ArgumentError, match=words):
        call(ball())


def test_an_error_of_a_control_has_the_states_so_far() -> None:
    """As it has in a simulation without contacts."""

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.0399:
            raise ZeroDivisionError("mine")
        return 0.0 * v

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        ball().simulate(START, duration=0.1, tau=control, period=0.02)
    run = caught.value.run  # type: ignore[attr-defined]
    assert np.isclose(run.t[-1], 0.04) and run.converged.all() and "at t = 0.04 s" in caught.value.__notes__[-1]


def test_an_empty_batch_moves_nowhere() -> None:
    assert ball().simulate(np.zeros((0, 7)), duration=0.01).q.shape == (6, 0, 7)


def test_sizes_may_be_arrays_and_grounded_is_a_list() -> None:
    edges = np.array([0.1, 0.2, 0.3])
    assert fb.contact.Shape("ball", "box", edges) == fb.contact.Shape("ball", "box", (0.1, 0.2, 0.3))
    assert fb.contact.Shape("ball", "sphere", np.array(0.1)) == fb.contact.Shape("ball", "sphere", 0.1)
    assert fb.contact.Solid("box", edges) == fb.contact.Solid("box", edges.tolist())
    for bad in (np.eye(3), edges[:2], -edges, "abc"):
        with pytest.raises(fb.ModelError, match="a box takes x, y, z, above zero"):
            fb.contact.Shape("ball", "box", bad)
    assert fb.HeightField(np.zeros((3, 3)), spacing=0.1) == fb.HeightField(np.zeros((3, 3)), spacing=(0.1, 0.1))
    with pytest.raises(fb.ModelError, match=r"spacing=\(1, 0\).*above zero"):
        fb.HeightField(np.zeros((3, 3)), spacing=(1, 0))
    with pytest.raises(fb.ModelError, match="spacing='ab'"):
        fb.HeightField(np.zeros((3, 3)), spacing="ab")
    robot = ball().robot
    for grounded in ("ball", 3):
        with pytest.raises(fb.ArgumentError, match=r"grounded=.*expected a list of names"):
            fb.Scene(robot, fb.Plane(), contacts=["ball"], grounded=grounded)


@pytest.mark.parametrize("argument", ["tau", "u", "law"])
def test_functions_may_change_what_they_get_and_return_the_same_array(argument: str) -> None:
    """Controls of a scene, and forces of a robot alone, of a constrained and of an actuated one."""
    b = fb.Builder("arm")
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))
    b.body("lower", parent="upper", joint=fb.joints.Revolute("y"), position=(0.4, 0, 0), mass=0.5, com=(0.1, 0, 0))
    robot = b.actuator("first", drives="upper").actuator("second", drives="lower").build()
    held, buffer = robot.constrained(fb.loops.Gear("upper", "lower", -2.0)), np.zeros(2)

    def pure(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 0.5 * (t - q) - v

    def careless(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.0:
            q -= t
            q *= -0.5
            q -= v
            v[:] = np.nan
            buffer[:] = q
        else:
            buffer[:] = pure(t, q, v)
        return buffer

    moved: list[Any] = [robot]
    if argument != "u":
        moved += [held, robot.actuated(["upper", "lower"])]
    moved.append(fb.Scene(robot))
    name, period = ("tau", 0) if argument == "law" else (argument, None)
    for subject in moved:
        more: dict[str, Any] = {"duration": 0.02, "dt": 1e-3, "period": period}
        runs = [fb.simulate(subject, [0.3, -0.6], **{name: f}, **more) for f in (pure, careless)]
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-14 and np.abs(runs[0].q[-1] - runs[0].q[0]).max() > 1e-4
        if argument == "u":
            assert np.nanmax(np.abs(runs[0].u - runs[1].u)) < 1e-14


def test_a_saved_motion_has_its_controls_and_observations(tmp_path: Path) -> None:
    b = fb.Builder("arm")
    b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    robot = b.actuator("motor", drives="arm").build()
    seen = {"imu": fb.observe.imu("arm"), "a/b": fb.observe.energy()}
    run = fb.simulate(robot, [0.3], duration=0.01, u=np.ones((10, 1)), observe=seen)
    again = fb.Run.load(run.save(tmp_path / "run.npz"))
    assert again.u is not None and np.array_equal(again.u, run.u, equal_nan=True)
    assert list(again.observations) == list(seen)
    assert all(np.array_equal(again.observations[name], run.observations[name]) for name in seen)
    scene = fb.Scene(robot).simulate([0.3], duration=0.01, observe={"imu": fb.observe.imu("arm")})
    with np.load(scene.save(tmp_path / "scene.npz")) as held:
        assert np.array_equal(held["observations/imu"], scene.observations["imu"])


@pytest.mark.parametrize("scene", [False, True])
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([None, 0.0], "contains None"),
        (np.array([1j, 0.0]), "real numbers"),
        (np.ma.array([1.0, 2.0], mask=[True, False]), "masked"),
        ({"shoulder": 1.0}, "is a dictionary"),
        (np.zeros(3), r"must have shape \(..., 2\), got \(3,\)"),
        (np.zeros((3, 2)), r"returned shape \(3, 2\) for one state"),
    ],
    ids=["None", "complex", "masked", "dictionary", "size", "samples"],
)
def test_controls_are_read_alike_with_and_without_contacts(answer: Any, words: str, scene: bool) -> None:
    robot = fb.robots.double_pendulum()
    with pytest.raises(fb.ArgumentError, match=rf"tau\(t, q, v\).*{words}"):
        fb.simulate(fb.Scene(robot) if scene else robot, [0.0, 0.0], duration=0.01, tau=lambda t, q, v: answer)


@pytest.mark.parametrize("scene", [False, True])
def test_records_that_do_not_fit_into_memory_are_refused_with_numbers(scene: bool) -> None:
    robot = fb.robots.double_pendulum()
    moved: Any = fb.Scene(robot) if scene else robot
    words = r"1e\+15 records, which need .* GB of memory.* every=10\*\*\d+"
    with pytest.raises(fb.ArgumentError, match=f"simulate: .*{words}"):
        fb.simulate(moved, [0.1, 0.0], duration=1e12, dt=1e-3)
    with pytest.raises(fb.ArgumentError, match=r"simulate: .* 1e\+303 records"):
        fb.simulate(moved, [0.1, 0.0], duration=1e300, dt=1e-3)
    with pytest.raises(fb.ArgumentError, match=f"rollout: .*{words}"):
        (moved.rollout if scene else partial(fb.rollout, robot))([0.1, 0.0], dt=1e-3, steps=10**15)
    assert fb.simulate(moved, [0.1, 0.0], duration=0.01, every=10**30).q.shape == (2, 2)


@pytest.mark.parametrize("dt", [1e-3, 1e-4])
def test_a_loop_that_turns_back_moves_on_embedded_or_as_rows(dt: float) -> None:
    """The rocker turns back while the crank turns on: in its velocity, and with the loop as rows of the problem."""
    crank = fb.robots.crank_rocker()
    rocker = crank.with_independent(crank.names.joints[2])
    q = crank.assemble((2.0, -1.6, 1.9))
    v = crank.expand_velocity(q, [6.0])
    smooth = fb.simulate(crank, q, v[:1], duration=0.4, dt=dt)
    run = fb.Scene(rocker).simulate(q, v[2:], duration=0.4, dt=dt)
    assert run.converged.all() and np.abs(run.q - smooth.q).max() < 60.0 * dt
    held = crank.spanning().constrained(*(x.loop for x in crank.mechanism.loops))
    rows = fb.Scene(held).simulate(q, v, duration=0.4, dt=dt)
    assert rows.converged.all() and np.abs(rows.q - smooth.q).max() < 300.0 * dt
