"""Springs, damping and actuators of MJCF files: the same forces as MuJoCo's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb

from .mjcf_models import BOX, INERTIAL, model, two
from .test_mujoco import peer_of

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers

SPRINGS = {
    "hinge": f'<body name="a"><joint axis="1 2 3" stiffness="3" springref=".4" ref=".7" damping=".6"/>{BOX}</body>',
    "slide": f'<body name="a"><joint type="slide" stiffness="3" springref="-.4" ref=".1" damping="2"/>{BOX}</body>',
    "ball": f'<body name="a"><joint name="j" type="ball" pos="0 .2 .1" stiffness="5" damping=".3"/>{INERTIAL}</body>',
    "free": f'<body name="a" quat="1 2 3 4"><joint type="free" stiffness="2" damping=".4"/>{INERTIAL}</body>',
    "several": f'<body name="a" pos="1 2 3"><joint name="x" type="slide" stiffness="2"/><joint name="y" axis="1 0 1"/>'
    f'<joint name="w" axis="0 1 1" pos="0 .1 .2" damping="1.5"/>{BOX}<body name="b" pos="0 0 .5">'
    f'<joint name="z" type="ball" stiffness="3" damping="1"/>{BOX}</body></body>',
}
LOOPS = {
    "joint": two('<joint joint1="k" joint2="j" polycoef=".1 -2 .3 0 0"/>'),
    "connect": two('<connect body1="b" body2="c" anchor=".1 .2 .3"/>'),
}


def at_states(text: str, waive: tuple[str, ...] = ()) -> Any:
    """The robot, and for some random states MuJoCo's data, our state and the map between them."""
    theirs, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf", waive=waive)
    peer, data, rng = peer_of(theirs, robot), mujoco.MjData(theirs), np.random.default_rng(0)
    for _ in range(4):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        data.ctrl[:] = rng.normal(size=theirs.nu)
        data.qpos[:], data.qvel[:] = peer.q_to_peer(q), peer.v_to_peer(v, q)
        mujoco.mj_forward(theirs, data)
        yield robot, peer, data, q, v


def near(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert np.abs(theirs).max() > 0.0
    assert np.abs(ours - theirs).max() < 1e-12 * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("name", SPRINGS)
def test_springs_and_damping(name: str) -> None:
    for robot, peer, data, q, v in at_states(model(SPRINGS[name])):
        near(robot.passive_forces(q, v), peer.force_from_peer(data.qfrc_passive.copy(), q))
        spring, damper = (peer.force_from_peer(x.copy(), q) for x in (data.qfrc_spring, data.qfrc_damper))
        held = robot.passive_forces(q, 0.0 * v)
        near(held, spring)
        near(robot.passive_forces(q, v) - held, damper)


@pytest.mark.parametrize("name", LOOPS)
def test_springs_in_loops(name: str) -> None:
    """Every joint gets a spring and a damper; their forces act on the independent velocities through the loops."""
    text = LOOPS[name].replace("<joint name=", '<joint stiffness="3" damping=".7" name=')
    assert text != LOOPS[name]
    for robot, peer, data, q, v in at_states(text):
        near(robot.passive_forces(q, v), peer.force_from_peer(data.qfrc_passive.copy(), q))
