"""Posing a robot by hand: limits, loops that follow or cannot be closed, frames that are dragged."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb
from fourbar.viewer.robot_page import PoseHandles, reach


def test_handles_are_the_independent_coordinates_with_their_limits() -> None:
    robot = fb.robots.stewart_platform()
    posture = PoseHandles(robot, 1.0)
    assert [h.name for h in posture.handles] == list(robot.names.velocities)
    joints = {j.name: j for j in robot.mechanism.joints}
    for h in posture.handles:
        low, high = joints[h.joint].lower[0], joints[h.joint].upper[0]
        assert (h.lower, h.upper) == (low if np.isfinite(low) else h.lower, high if np.isfinite(high) else h.upper)
        assert np.isfinite((h.lower, h.upper)).all() and h.lower < h.upper


def test_a_free_base_has_three_lengths_and_three_angles() -> None:
    b = fb.Builder("brick")
    b.body("brick", joint=fb.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = b.build()
    posture = PoseHandles(robot, 2.0)
    assert [h.name.split(".")[-1].split(" ")[-1] for h in posture.handles] == ["x", "y", "z", "roll", "pitch", "yaw"]
    values = [0.1, -0.2, 0.3, 0.4, -0.5, 0.6]
    posed = posture.move(robot.neutral(), values)
    assert np.allclose(posture.values(posed.q), values) and not posed.said
    yaw = posture.move(robot.neutral(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.6])
    assert np.allclose(robot.pose(yaw.q, "brick")[:2, 0], (np.cos(0.6), np.sin(0.6)))


def test_loops_follow_a_handle() -> None:
    robot = fb.robots.crank_rocker()
    posture = PoseHandles(robot, 1.0)
    q = robot.neutral()
    start = posture.values(q)[0]
    for angle in start + np.linspace(0.0, 2.0 * np.pi, 12):
        posed = posture.move(q, [angle])
        q = posed.q
        assert not posed.said and float(robot.loop_gap(q)) < 1e-9
        assert q[0] == pytest.approx(angle)
    assert np.allclose(np.sin(q[1:] - robot.neutral()[1:]), 0.0, atol=1e-6)  # once around: the same assembly


def test_what_cannot_be_closed_is_said_and_left() -> None:
    robot = fb.robots.slider_crank()
    free = robot.with_independent("piston")
    posture = PoseHandles(free, 1.0)
    q = free.neutral()
    far = posture.values(q)[0] + 10.0
    posed = posture.move(q, [far])
    assert "cannot be closed" in posed.said
    assert float(free.loop_gap(posed.q)) < 1e-6 and np.isfinite(posed.q).all()


def test_a_toggle_position_is_said() -> None:
    robot = fb.robots.slider_crank().with_independent("piston")
    posture = PoseHandles(robot, 1.0)
    crank = list(robot.names.coordinates).index("crank")
    q = fb.robots.slider_crank().neutral() * 0.0
    straight = fb.robots.slider_crank().assemble(q, keep=["crank"])
    assert abs(straight[crank]) < 1e-12
    assert "toggle" in posture.judge(straight)


def test_dragging_brings_a_frame_to_a_pose_while_a_free_base_stays() -> None:
    robot = fb.robots.tello_with_arms()
    frame = next(f.name for f in robot.mechanism.frames if "toe" in f.name)
    q = robot.neutral()
    target = robot.pose(q, frame).copy()
    target[:3, 3] += (0.02, 0.0, 0.02)
    moved = reach(robot, 1.0, q, frame, target)
    assert np.linalg.norm(robot.pose(moved, frame)[:3, 3] - target[:3, 3]) < 1e-4
    assert np.array_equal(moved[:7], q[:7]), "a free base stays"
    assert float(robot.loop_gap(moved)) < 1e-9
    base = next(j.child for j in robot.mechanism.joints if j.joint.nv == 6)
    lifted = robot.pose(q, base).copy()
    lifted[2, 3] += 0.1
    assert np.abs(robot.pose(reach(robot, 1.0, q, base, lifted), base) - lifted).max() < 1e-8, "dragged itself it moves"


@pytest.mark.parametrize("name", ["five_bar", "stewart_platform"])
def test_dragging_keeps_limits_and_loops(name: str) -> None:
    robot = getattr(fb.robots, name)()
    q = robot.neutral()
    frame = robot.names.frames[0]
    target = robot.pose(q, frame).copy()
    target[:3, 3] += (0.05, -0.03, 0.0)
    moved = reach(robot, 1.0, q, frame, target)
    assert np.linalg.norm(robot.pose(moved, frame)[:3, 3] - target[:3, 3]) < 1e-4
    assert float(robot.loop_gap(moved)) < 1e-9
    far = target.copy()
    far[:3, 3] += (3.0, 1.0, 0.0)
    beyond = reach(robot, 1.0, moved, frame, far)
    low, high = robot.limits.lower, robot.limits.upper
    assert ((beyond >= low - 1e-9) & (beyond <= high + 1e-9)).all() and float(robot.loop_gap(beyond)) < 1e-9
    away = [np.linalg.norm(robot.pose(x, frame)[:3, 3] - far[:3, 3]) for x in (moved, beyond)]
    assert 0.1 < away[1] < away[0], "it comes nearer, and stops where its links end"
