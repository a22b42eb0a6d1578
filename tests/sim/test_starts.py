"""Starts and controls of motions, in every way of running."""

import numpy as np
import pytest

import fourbar as fb

LONG = [0, 0, 0.5, 2, 0, 0, 0]


def ball():
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    return b.build()


def scene():
    return fb.Scene(ball(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])


def reset():
    worlds = scene().batch(2)
    worlds.reset(q=LONG)
    return worlds.q[0]


WAYS = {
    "simulate": lambda: fb.simulate(ball(), LONG, duration=0.01).q[0],
    "torque": lambda: fb.simulate(ball(), LONG, duration=0.01, period=0, tau=lambda t, q, v: 0.0 * v).q[0],
    "rollout": lambda: fb.rollout(ball(), [LONG], dt=0.01, steps=1).q[0, 0],
    "scene.simulate": lambda: scene().simulate(LONG, duration=0.01).q[0],
    "scene.rollout": lambda: scene().rollout([LONG], steps=1).q[0, 0],
    "batch.reset": reset,
}


@pytest.mark.parametrize("way", WAYS)
def test_quaternions_of_another_length_are_normalised_with_a_warning(way):
    with pytest.warns(fb.SimulationWarning, match=r"'ball', q\[3:7\], has the length 2 at the start"):
        q = WAYS[way]()
    assert np.array_equal(q[3:], [1, 0, 0, 0])


def test_constant_controls_are_those_of_all_rows():
    robot, push = ball(), np.array([0.1, 0, 0, 0, 0.2, 0])
    rows = np.tile(push, (20, 1))
    q = [0, 0, 0.5, 1, 0, 0, 0]
    for one, all_rows in (
        (fb.simulate(robot, q, duration=0.02, tau=push), fb.simulate(robot, q, duration=0.02, tau=rows)),
        (
            fb.rollout(robot, [q] * 2, tau=push, dt=1e-3, steps=20),
            fb.rollout(robot, [q] * 2, tau=rows, dt=1e-3),
        ),
        (scene().simulate(q, duration=0.04, tau=push), scene().simulate(q, duration=0.04, tau=rows)),
        (scene().rollout([q] * 2, tau=push, steps=20), scene().rollout([q] * 2, tau=rows)),
    ):
        assert np.array_equal(one.q, all_rows.q) and np.array_equal(one.v, all_rows.v)


def test_a_constant_control_of_actuators():
    b = fb.Builder("arm")
    b.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    robot = b.actuator("motor", drives="arm").build()
    one = fb.simulate(robot, [0.3], u=[0.2], duration=0.02)
    assert np.array_equal(one.q, fb.simulate(robot, [0.3], u=np.full((20, 1), 0.2), duration=0.02).q)
    with pytest.raises(fb.ArgumentError, match=r"\(1,\) if they are constant"):
        fb.simulate(robot, [0.3], u=[0.2, 0.3], duration=0.02)
