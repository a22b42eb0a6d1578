"""The medium of MJCF files: drag on bodies as MuJoCo computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import fourbar as fb

mujoco: Any = pytest.importorskip("mujoco")

BODIES = """<body name="hull" pos="0 0 1"><freejoint/><geom type="box" size=".3 .2 .1" density="300"/>
<body name="fin" pos=".3 0 .1" euler="20 30 40"><joint name="j" axis="1 2 3"/>
<joint name="k" axis="0 1 0" pos=".1 0 0"/>
<geom type="capsule" size=".03 .2" pos=".1 .2 .3" euler="10 50 20"/><geom size=".1"/></body>
<body name="tip" pos="0 .4 0"><joint name="s" type="slide" axis="0 1 1"/>
<geom type="box" size=".1 .02 .3" euler="90 0 0"/></body>
<body name="pod" pos="0 -.4 0"><geom type="ellipsoid" size=".1 .05 .2" {}/></body></body>"""


def text(options: str, more: str = "") -> str:
    return f"<mujoco><option {options}/><worldbody>{BODIES.format(more)}</worldbody></mujoco>"


def passive_force(model: str, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """MuJoCo's, at our velocities: those of the free joint are (angular, linear) in body axes here."""
    m = mujoco.MjModel.from_xml_string(model)
    d = mujoco.MjData(m)
    R = Rotation.from_quat(np.roll(q[3:7], -1)).as_matrix()
    d.qpos[:], d.qvel[:] = q, np.concatenate([R @ v[3:6], v[:3], v[6:]])
    mujoco.mj_forward(m, d)
    force = d.qfrc_passive
    return np.concatenate([force[3:6], R.T @ force[:3], force[6:]])


@pytest.mark.parametrize(
    "options",
    ['density="1000"', 'viscosity="0.3"', 'density="1.2" viscosity="0.0002" wind="1 -2 3"', 'wind="1 -2 3"'],
)
def test_drag_is_that_of_mujoco(options: str) -> None:
    model = text(options)
    robot = fb.loads(model, name="diver.xml")
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        expected = passive_force(model, q, v)
        assert robot.passive_forces(q, v) == pytest.approx(expected, abs=1e-13 * max(1.0, np.abs(expected).max()))
    notes = {x.key for x in robot.report.findings if x.key.startswith("option@")}
    medium = {f"option@{x}" for x in ("density", "viscosity", "wind") if x in options}
    assert notes == (medium if medium != {"option@wind"} else set()), "wind alone does nothing"


def test_only_bodies_with_other_axes_carry_their_drag_on_another_body() -> None:
    robot = fb.loads(text('density="1000"'), name="diver.xml")
    carriers = {x.name for x in robot.mechanism.bodies if x.fluid is not None}
    assert carriers == {"hull", "fin/drag", "tip", "pod"}
    dry = fb.loads(text(""), name="diver.xml").names.bodies
    assert [*dry] == [x for x in robot.names.bodies if not x.endswith("/drag")]


def test_a_file_that_disables_passive_forces_has_no_drag() -> None:
    switched = text('density="1000"').replace('"1000"/>', '"1000"><flag spring="disable" damper="disable"/></option>')
    robot = fb.loads(switched, name="diver.xml")
    assert not any(x.fluid for x in robot.mechanism.bodies)
    q, v = robot.random(0), np.ones(robot.nv)
    assert np.array_equal(robot.passive_forces(q, v), passive_force(switched, q, v))


def test_the_other_model_of_mujoco_is_refused_by_name() -> None:
    model = text('density="1000"', 'fluidshape="ellipsoid"')
    with pytest.raises(fb.ParseError, match=r"body 'pod': fluid forces .* fluidshape='ellipsoid' are ignored"):
        fb.loads(model, name="diver.xml")
    robot = fb.loads(model, name="diver.xml", waive=["geom@fluidshape"])
    assert {x.name for x in robot.mechanism.bodies if x.fluid is not None} == {"hull", "fin/drag", "tip"}
