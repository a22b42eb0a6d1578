"""Reactions: what joints pass on. The driven joint's component is its force, a passive joint's is zero."""

from typing import Any

import numpy as np
import pytest

from fourbar import Builder
from fourbar.expr import Shared, Unrolled, interpret
from fourbar.functions.arguments import A, Q, V
from fourbar.functions.context import Context
from fourbar.functions.methods import METHODS
from fourbar.joints import Fixed, Revolute
from fourbar.loops import Closure
from fourbar.robots import double_pendulum, parallelogram

from .looped import rod

pytestmark = pytest.mark.drawn_in_line


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


def test_equal_loops_on_bodies_with_other_frames_do_not_share_their_code() -> None:
    """Two four-bars that move alike; one is closed on a body that sits at the end of the coupler."""
    b = Builder("twins", gravity=(0, -9.81, 0))
    for side in ("left", "right"):
        rod(b, f"{side}_crank", 0.4)
        rod(b, f"{side}_coupler", 0.9, parent=f"{side}_crank", position=(0.4, 0, 0))
        rod(b, f"{side}_rocker", 0.7, position=(1.0, 0, 0))
    b.body("tip", parent="right_coupler", joint=Fixed(), position=(0.9, 0, 0))
    for side, end, at in (("left", "left_coupler", (0.9, 0, 0)), ("right", "tip", (0, 0, 0))):
        loop = Closure(Revolute("z"), end, f"{side}_rocker", at_predecessor=at, at_successor=(0.7, 0, 0))
        b.loop(loop, name=side, independent=[f"{side}_crank"])
    robot = b.build()
    q = robot.random(0)
    given = {"q": q, "v": np.ones(2), "a": np.ones(2)}
    recorders: list[Any] = [Unrolled(), Shared()]
    found = []
    for recorder in recorders:
        outputs = METHODS["reactions"].record(Context(robot.model, recorder, [x.on(robot.model) for x in (Q, V, A)]))
        found.append(interpret(recorder.finish("reactions", outputs), given)["F"])
    assert np.abs(found[0] - found[1]).max() < 1e-12 * np.abs(found[0]).max()
