"""Careless use of scenes, recordings and pictures: messages that help, and short representations."""

from __future__ import annotations

from pathlib import Path

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
    assert "(3, 10, 2)" in repr(rollouts) and len(repr(rollouts)) < 120


def test_a_file_that_is_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    for content in (b"hello", b"PK damaged"):
        path.write_bytes(content)
        with pytest.raises(fb.ArgumentError, match=r"run\.npz is not a recording"):
            fb.Trajectory.load(path)


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
        lambda: scene.simulate(bad, duration=0.01),
        lambda: scene.rollout(bad, dt=1e-3, steps=3),
        lambda: scene.batch(2, dt=1e-3).reset([1], q=bad[None]),
        lambda: scene.step(bad, v, dt=1e-3),
    ):
        with pytest.raises(fb.ArgumentError, match=r"loops of 'four_bar' are open by 0\.296.*assemble"):
            start()
    first = scene.step(q, v, dt=1e-3)
    second = scene.step(first.q, first.v, dt=1e-3)
    again = scene.step(first.q.copy(), first.v, dt=1e-3, impulse=first.impulse)
    assert robot.loop_gap(second.q) < 1e-12 and np.array_equal(second.q, again.q)
