"""Reactions: what joints pass on. The driven joint's component is its force, a passive joint's is zero."""

import numpy as np

from fourbar.robots import double_pendulum, parallelogram


def test_axis_components_in_a_tree_are_the_joint_forces() -> None:
    robot, rng = double_pendulum(), np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 5, 2))
    found = robot.reactions(q, v, a)[..., 1]  # both hinges are about y
    assert np.abs(found - robot.inverse_dynamics(q, v, a)).max() < 1e-13


def test_passive_joints_of_a_loop_pass_no_moment() -> None:
    robot = parallelogram()
    q, v, a = np.array([1.0, -1.0, 1.0]), np.array([1.0]), np.array([0.7])
    moments = robot.reactions(q, v, a)[:, 2]
    driven = robot.names.joints.index(robot.names.velocities[0])
    assert abs(moments[driven] - robot.inverse_dynamics(q, v, a)[0]) < 1e-12
    assert np.abs(np.delete(moments, driven)).max() < 1e-12
