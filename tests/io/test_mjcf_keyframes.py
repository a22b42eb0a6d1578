"""Keyframes of MJCF keep their velocities and controls, through edits and files too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb

mujoco: Any = pytest.importorskip("mujoco")

BOX = '<geom type="box" size=".1 .2 .3" mass="2"/>'
TEXT = f"""<mujoco><worldbody>
<body name="base" pos="0 0 1"><freejoint name="root"/>{BOX}
  <body name="upper" pos=".3 0 0"><joint name="hip" type="ball"/>{BOX}
    <body name="lower" pos="0 0 -.4"><joint name="knee" axis="0 1 0"/>{BOX}</body></body></body>
</worldbody>
<actuator><general name="push" site="s" gear="1 0 0 0 0 0"/><position name="servo" joint="knee" kp="50"/>
<motor name="motor" joint="knee"/></actuator>
<keyframe><key name="rest"/><key name="fall" qpos="0 .1 .7 .5 .5 -.5 .5 .8 0 .6 0 .3"
  qvel="1 2 3 .4 .5 .6 -.7 .8 -.9 1.5" ctrl="CTRL .3 -2"/></keyframe></mujoco>"""
TEXT = TEXT.replace("</body></body></body>", '</body><site name="s"/></body></body>')


def scene_of(robot: fb.System) -> fb.Scene:
    return fb.Scene(robot, fb.Plane(), contacts=[fb.contact.Shape(robot.names.bodies[-1], "sphere", 0.1)])


@pytest.fixture(scope="module")
def robot() -> fb.System:
    with pytest.warns(fb.FileWarning, match="actuator@site"):
        return fb.loads(TEXT.replace("CTRL", "0"), format="mjcf")


@pytest.mark.parametrize("armature", ["", ' armature=".1"'])
def test_keyframes_have_the_velocities_of_mujoco(armature: str) -> None:
    """The twists of all bodies equal MuJoCo's in its keyframe; a free joint with armature has other velocities."""
    text = TEXT.replace("CTRL", "0").replace('<freejoint name="root"/>', f'<joint name="root" type="free"{armature}/>')
    with pytest.warns(fb.FileWarning):
        robot = fb.loads(text, format="mjcf")
    key = scene_of(robot).keyframes["fall"]
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 1)
    mujoco.mj_forward(model, data)
    for name in ("base", "upper", "lower"):
        twist = np.zeros(6)
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 1)
        assert np.allclose(robot.twists(key.q, key.v)[robot.names.bodies.index(name)], twist, atol=1e-12)
    assert np.abs(key.v).min() > 0.0


def test_keyframes_have_controls_and_are_configurations(robot: fb.System) -> None:
    scene = scene_of(robot)
    fall, rest = scene.keyframes["fall"], scene.keyframes["rest"]
    assert robot.names.actuators == ("servo", "motor") and fall.u.tolist() == [0.3, -2.0]
    assert not rest.v.any() and rest.u.tolist() == [0.0, 0.0]
    assert np.array_equal(fall, robot.configurations["fall"]) and fall[2] == 0.7 and len(fall) == robot.nq
    run = scene.simulate(fall, fall.v, duration=0.002, dt=0.001)
    assert np.array_equal(run.q[0], fall.q)
    assert np.array_equal(
        scene.step(fall, fall.v, u=fall.u, dt=1e-3).q, scene.step(fall.q, fall.v, u=fall.u, dt=1e-3).q
    )
    assert "keyframe" not in str(robot.report)


def test_a_control_of_an_actuator_that_is_not_read_is_a_note() -> None:
    with pytest.warns(fb.FileWarning):
        robot = fb.loads(TEXT.replace("CTRL", "4"), format="mjcf")
    assert "ctrl of an actuator that is not read is ignored" in str(robot.report)
    assert scene_of(robot).keyframes["fall"].u.tolist() == [0.3, -2.0]


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_files_of_the_library_keep_them(robot: fb.System, tmp_path: Path, ending: str) -> None:
    robot.save(tmp_path / f"robot.{ending}")
    assert fb.load(tmp_path / f"robot.{ending}") == robot


def test_edits_keep_them(robot: fb.System) -> None:
    fall = scene_of(robot).keyframes["fall"]
    renamed = robot.renamed(joints={"knee": "k"}, actuators={"servo": "s"})
    key = scene_of(renamed).keyframes["fall"]
    assert np.array_equal(key.v, fall.v) and np.array_equal(key.u, fall.u)
    locked = scene_of(robot.lock(["hip"])).keyframes["fall"]
    assert np.array_equal(locked.v, np.delete(fall.v, [6, 7, 8])) and np.array_equal(locked.u, fall.u)
    assert scene_of(robot.lock(["knee"])).keyframes["fall"].u.size == 0
    both = scene_of(robot.merge(robot, prefix="b_")).keyframes["fall"]
    assert np.array_equal(both.v, np.tile(fall.v, 2)) and np.array_equal(both.u, np.tile(fall.u, 2))


def test_the_mirror_image_moves_as_an_image_does(robot: fb.System) -> None:
    """The energy and the controls stay, and so does the height of every body a moment later."""
    fall, image = scene_of(robot).keyframes["fall"], robot.mirrored("y")
    key = scene_of(image).keyframes["fall"]
    assert np.array_equal(key.u, fall.u)
    later, other = (r.poses(r.integrate(k.q, k.v, 0.1))[:, :3, 3] for r, k in ((robot, fall), (image, key)))
    assert np.allclose(later * [1, -1, 1], other, atol=1e-12)
    assert np.isclose(image.kinetic_energy(key.q, key.v), robot.kinetic_energy(fall.q, fall.v))


def test_loops_have_independent_velocities() -> None:
    gear = fb.Builder("gear")
    gear.body("arm", joint=fb.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    gear.body("rotor", joint=fb.joints.Revolute("y"), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    gear.loop(fb.loops.Gear("arm", "rotor", 9.0), independent=["arm"])
    gear.configuration("up", {"arm": 0.1, "rotor": 0.9}, velocities={"arm": 2.0, "rotor": 18.0})
    assert np.allclose(gear.build().expand_velocity([0.1], scene_of(gear.build()).keyframes["up"].v), [2.0, 18.0])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"velocities": {"rod": [1, 2]}}, "joint 'rod' has 1 velocities, got 2"),
        ({"velocities": {"rob": 1}}, "configuration 'up': .*'rob'"),
        ({"velocities": {"rod": np.nan}}, "expected finite velocities"),
        ({"velocities": 1.0}, "expected velocities by joint"),
        ({"controls": {"motor": 1}}, "configuration 'up': .*no actuator 'motor'"),
        ({"controls": {"motor": "one"}}, "control of actuator 'motor'"),
    ],
)
def test_what_does_not_fit_is_refused(more: dict[str, Any], words: str) -> None:
    b = fb.Builder("arm").body("rod", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    with pytest.raises(fb.ModelError, match=words):
        b.configuration("up", {"rod": 0.5}, **more).build()
