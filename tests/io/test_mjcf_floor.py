"""A floor in a file: `simulate` says that nothing stops bodies there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fourbar as fb
from fourbar.joints import Prismatic
from fourbar.mechanism.geometry import Geometry

BALL = '<body pos="0 0 1"><freejoint/><geom size=".1" {}/></body>'
FLOOR = '<geom name="floor" type="plane" size="1 1 1" {}/>'


def said(robot: fb.System) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fb.simulate(robot, robot.neutral(), duration=0.01, dt=1e-3)
    return [str(x.message) for x in told if issubclass(x.category, fb.SimulationWarning)]


def loaded(inside: str, rest: str = "") -> fb.System:
    pytest.importorskip("mujoco")
    return fb.loads(f"<mujoco><worldbody>{inside}</worldbody>{rest}</mujoco>", format="mjcf")


TOUCHES = {
    "floor": (FLOOR.format("") + BALL.format(""), ""),
    "box": ('<geom type="box" size="1 1 .1"/>' + BALL.format(""), ""),
    "on a fixed body": (f'<body name="g">{FLOOR.format("")}</body>' + BALL.format(""), ""),
    "by a bit": (FLOOR.format('contype="2" conaffinity="0"') + BALL.format('contype="0" conaffinity="2"'), ""),
    "by a pair": (
        FLOOR.format('contype="0" conaffinity="0"') + BALL.format('name="b" contype="0" conaffinity="0"'),
        '<contact><pair geom1="floor" geom2="b"/></contact>',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOUCHES)
def test_a_floor_that_does_not_stop_anything_is_reported_once(name: str) -> None:
    (message,) = said(loaded(*TOUCHES[name]))
    assert "contacts are not simulated" in message


SILENT = {
    "no floor": (BALL.format(""), ""),
    "painted floor": (FLOOR.format('contype="0" conaffinity="0"') + BALL.format('conaffinity="0"'), ""),
    "other bits": (FLOOR.format('contype="2" conaffinity="2"') + BALL.format('contype="4" conaffinity="4"'), ""),
    "switched off": (FLOOR.format("") + BALL.format(""), '<option><flag contact="disable"/></option>'),
}


@pytest.mark.parametrize("name", SILENT)
def test_where_nothing_can_touch_the_world_nothing_is_reported(name: str) -> None:
    assert said(loaded(*SILENT[name])) == []


@pytest.mark.parametrize(("role", "count"), [("collision", 1), ("visual", 0)])
def test_a_plane_of_a_robot_of_ones_own(role: str, count: int) -> None:
    ball = Geometry("sphere", (0.1,), role="collision")
    b = fb.Builder("falling").body("ground", geometry=[Geometry("plane", role=role)])  # type: ignore[arg-type]
    b.body("ball", joint=Prismatic("z"), mass=1.0, inertia=(1, 1, 1), geometry=[ball])
    robot = fb.System(b.mechanism())
    assert len(said(robot)) == count
    assert np.isfinite(robot.forward_dynamics([0.0], [0.0], [0.0])).all()
