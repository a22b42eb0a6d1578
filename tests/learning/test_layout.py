"""Which entries of q and v are the base's and the joints', also where loops leave less of them or scale them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Free, Revolute
from fourbar.learning.actions import Forces, Targets
from fourbar.learning.layout import StateLayout, driven_joints

from . import tasks


def geared() -> fb.System:
    """A motor that drives an arm; the independent velocity is a sixth of the motor's."""
    b = fb.Builder("geared")
    b.body("motor", joint=Revolute("y"), mass=0.1, inertia=(1e-4,) * 3, max_force=2.0)
    b.body("arm", joint=Revolute("y"), mass=1.0, com=(0, 0, -0.2), inertia=(0.05,) * 3)
    b.loop(fb.constraints.Gear("arm", "motor", 6.0), independent={"motor": 6.0})
    return b.build()


def driven_by_function() -> fb.System:
    """The same gear as a function of both: its coordinates are the joints' own."""
    b = fb.Builder("driven")
    b.body("motor", joint=Revolute("y"), mass=0.1, inertia=(1e-4,) * 3, max_force=2.0)
    b.body("arm", joint=Revolute("y"), mass=1.0, com=(0, 0, -0.2), inertia=(0.05,) * 3)
    law = fb.constraints.Constraint(lambda motor, arm: fb.sin(motor / 6.0) - fb.sin(arm), ["motor", "arm"])
    b.loop(law, independent={"motor": 6.0})
    return b.build()


@pytest.mark.parametrize(("build", "ratio"), [(geared, 1.0), (driven_by_function, 6.0)])
def test_velocities_in_units_of_their_own(build: Callable[[], fb.System], ratio: float) -> None:
    """The largest force is the motor's, and power what the coordinate's force and rate say, whatever the units."""
    robot = build()
    joints = driven_joints("test", robot, None)
    assert joints.names == ("motor",) and joints.ratio.tolist() == [ratio]
    v, start = np.array([[0.5]]), robot.neutral()
    moved = robot.integrate(start, v[0], 1e-4) - start
    assert np.allclose(joints.velocities(v)[0], moved[joints.q] / 1e-4)
    tau = Forces().on(robot).command(np.array([[1.0]]), start[None], v)
    assert np.isclose(tau[0, 0] * v[0, 0], 2.0 * 6.0 * v[0, 0])
    held = Targets(0.0, 0.1).on(robot).command(np.zeros((1, 1)), start[None], v)
    assert np.isclose(held[0, 0] * v[0, 0], -0.1 * joints.velocities(v)[0, 0] ** 2)


def test_a_platform_of_a_closed_mechanism_is_no_base() -> None:
    assert StateLayout.of(fb.robots.delta()).base is None
    assert StateLayout.of(tasks.SCENE.robot).base is not None


def test_gravity_and_place_of_a_base_that_is_mounted_turned() -> None:
    b = fb.Builder("turned", gravity=(0.0, 3.0, -4.0))
    b.body("body", joint=Free(), position=(1.0, 2.0, 3.0), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]], mass=1.0,
           inertia=(1.0,) * 3)  # fmt: skip
    robot = b.build()
    base = StateLayout.of(robot).base
    assert base is not None
    q = robot.random(rng=0, n=5)
    poses = robot.pose(q, "body")
    down = np.einsum("nji,j->ni", poses[:, :3, :3], np.array([0.0, 0.6, -0.8]))
    assert np.allclose(base.gravity(q), down) and np.allclose(base.place(q), poses[:, :3, 3])


def test_joints_are_named() -> None:
    with pytest.raises(fb.errors.ArgumentError, match="list of names"):
        driven_joints("Forces", tasks.SCENE.robot, "shin")
    with pytest.raises(fb.errors.ArgumentError, match="different joints"):
        driven_joints("Forces", tasks.SCENE.robot, ["shin", "shin"])
    with pytest.raises(KeyError, match="trunk"):
        driven_joints("Forces", tasks.SCENE.robot, ["trunk"])
    with pytest.raises(fb.errors.ArgumentError, match=r"stiffness=-1.0.*thigh, shin"):
        Targets(-1.0, 0.0).on(tasks.SCENE.robot)
