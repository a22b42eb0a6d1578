"""Actuators with dynamics and delays in files: activations and motions of MuJoCo's own steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import MuJoCo

mujoco: Any = pytest.importorskip("mujoco")

DT, STEPS = 0.01, 60
XML = """<mujoco><option timestep="{dt}" integrator="{integrator}"/><worldbody>
<body pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="0.1" armature="0.01"/>
<geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0" mass="1" contype="0" conaffinity="0"/>
<body pos="0.4 0 0"><joint name="elbow" axis="0 1 0" damping="0.1"/>
<geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0" mass="0.5" contype="0" conaffinity="0"/></body></body>
</worldbody><actuator>
<general name="motor" joint="shoulder" gear="3" {motor}/>
<position name="servo" joint="elbow" kp="4" kv="0.3" ctrlrange="-1 1" {servo}/></actuator>
<keyframe><key name="bent" qpos="0.3 -0.4" ctrl="0.1 0.2" {act}/></keyframe></mujoco>"""
MOTORS = {
    "filter": 'dyntype="filter" dynprm="0.03" ctrlrange="-2 2"',
    "filterexact": 'dyntype="filterexact" dynprm="0.03" actlimited="true" actrange="-1 0.5"',
    "integrator": 'dyntype="integrator" actearly="true" actlimited="true" actrange="-0.1 0.3"',
    "delay": 'delay="0.03" nsample="4"',
    "between steps": 'delay="0.025" nsample="3" interp="zoh"',
    "both": 'dyntype="filter" dynprm="0.05" actearly="true" delay="0.02" nsample="5"',
}
WITHOUT = ("delay", "between steps")  # activation


def text(motor: str, integrator: str, servo: str = 'timeconst="0.04"') -> str:
    """A file with an activation of 0.2 for each actuator that has one."""
    count = (motor not in WITHOUT) + bool(servo)
    act = f'act="{" ".join(["0.2"] * count)}"' if count else ""
    return XML.format(dt=DT, integrator=integrator, motor=MOTORS[motor], servo=servo, act=act)


def theirs(xml: str, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Activations (steps, na), and q with v (steps, 4), from the keyframe on."""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    act, state = [], []
    for row in u:
        data.ctrl[:] = row
        mujoco.mj_step(model, data)
        act.append(data.act.copy())
        state.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(act), np.array(state)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize("motor", MOTORS)
def test_steps_of_scenes(motor: str, integrator: str) -> None:
    u = np.random.default_rng(0).normal(size=(STEPS, 2)) * 1.5
    xml = text(motor, integrator)
    act, state = theirs(xml, u)
    scene = fb.Scene(fb.loads(xml), law=MuJoCo())
    assert scene.robot.report is not None
    assert not [x for x in scene.robot.report.findings if x.severity != "note"]
    key = scene.keyframes["bent"]
    assert key.act[: act.shape[1]].tolist() == [0.2] * act.shape[1]
    run = scene.rollout(key.q, key.v, u=u, act=key.act, dt=DT)
    np.testing.assert_allclose(run.act[1:, : act.shape[1]], act, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.concatenate([run.q, run.v], axis=1)[1:], state, rtol=0, atol=1e-11)


def test_runge_kutta_steps_of_robots() -> None:
    """Of exact filters MuJoCo's Runge-Kutta steps are off by the first power of the step: those are not compared."""
    u = np.random.default_rng(0).normal(size=(STEPS, 2)) * 1.5
    xml = text("filter", "RK4", servo="")
    act, state = theirs(xml, u)
    run = fb.rollout(fb.loads(xml), [0.3, -0.4], u=u, act=[0.2], dt=DT)
    np.testing.assert_allclose(run.act[1:], act, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.concatenate([run.q, run.v], axis=1)[1:], state, rtol=0, atol=1e-11)


@pytest.mark.parametrize("motor", MOTORS)
def test_files_are_written_and_read(motor: str, tmp_path: Path) -> None:
    robot = fb.loads(text(motor, "Euler"))
    robot.save(tmp_path / "again.xml")
    assert fb.load(tmp_path / "again.xml").mechanism.actuators == robot.mechanism.actuators


def test_what_is_not_read_is_refused_by_name() -> None:
    xml = XML.format(dt=DT, integrator="Euler", motor='dyntype="user"', servo="", act="")
    with pytest.raises(fb.ArgumentError, match="'motor' is of kind 'user'"):
        fb.simulate(fb.loads(xml), np.zeros(2), u=np.zeros(2), duration=0.1)
    odd = text("between steps", "Euler").replace('"zoh"', '"linear"')
    with pytest.raises(fb.ParseError, match=r"2\.5 steps becomes 3.*actuator@interp"):
        fb.loads(odd)
    assert fb.loads(odd, waive=["actuator@interp"]).mechanism.actuators[0].delay == 3
