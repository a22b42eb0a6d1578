"""MuJoCo's law beside MuJoCo on whole models: its integrators, and the softness of joints."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.bridges.mujoco import Peer
from fourbar.mechanism.contact import JointSoftness

mujoco: Any = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers
FLOOR = '<geom name="floor" type="plane" size="9 9 1" friction=".7 .02 .01"/>'
ROOT = """<joint name="z" type="slide" axis="0 0 1"/><joint name="x" type="slide" axis="1 0 0"/>
<joint name="y" axis="0 1 0"/>"""
LIMITS = 'solimplimit="0 .99 .01" solreflimit=".015 .9"'
SERVOS = """<position joint="hip" kp="100" kv="5" forcerange="-40 40"/><position joint="knee" kp="50" kv="2"/>
<general joint="ankle" biastype="affine" gaintype="affine" gainprm="20 0 .3" biasprm="0 -20 -.5"/>"""
MOTORS = '<motor joint="hip" gear="60"/><motor joint="knee" gear="30"/><motor joint="ankle" gear="9"/>'
TENDON = '<tendon><fixed name="t"><joint joint="hip" coef="1"/><joint joint="knee" coef="-.5"/></fixed></tendon>'


def leg(joint: str = "", root: str = ROOT) -> str:
    """A trunk on a leg of three joints, of capsules."""
    return f"""<body name="trunk" pos="0 0 1.2">{root}<geom type="capsule" size=".07 .3" mass="8"/>
    <body name="thigh" pos="0 0 -.3"><joint name="hip" axis="0 1 0" range="-20 100" {joint}/>
    <geom type="capsule" pos="0 0 -.22" size=".05 .22" mass="3"/>
    <body name="shin" pos="0 0 -.7"><joint name="knee" pos="0 0 .25" axis="0 1 0" range="-150 0" {joint}/>
    <geom type="capsule" size=".04 .25" mass="2"/>
    <body name="foot" pos=".06 0 -.25"><joint name="ankle" pos="-.06 0 0" axis="0 1 0" range="-45 45" {joint}/>
    <geom type="capsule" zaxis="1 0 0" size=".05 .1" mass="1"/></body></body></body></body>"""


def free(geom: str, inertia: str = "") -> str:
    """A body on a free joint."""
    return f'<body name="it" pos="0 0 .25"><freejoint/>{inertia}<geom {geom} mass="1"/></body>'


ARM = """<body pos="0 0 1"><joint name="a" type="ball" damping=".05" frictionloss=".2" solimpfriction=".5 .9 .01"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1"/><body pos=".3 0 0">
<joint name="b" axis="0 1 0" range="-30 30" margin=".2" frictionloss=".1" solreffriction=".05 .7" damping=".02"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".5"/><body pos=".3 0 0">
<joint name="c" type="slide" axis="1 0 0" range="-.05 .05" solreflimit="-3000 -60" armature=".1"/>
<geom size=".05" mass=".2"/></body></body></body>"""
OFF_CENTRE = '<inertial pos=".02 .01 -.015" mass="1" diaginertia=".004 .006 .009"/>'
BOX, EGG, CAN = ('type="box" size=".1 .12 .07"', 'type="ellipsoid" size=".05 .1 .08"', 'type="cylinder" size=".05 .1"')
MODELS = {  # bodies, actuators, attributes of <option>, its flags
    "walker": (leg(f'damping=".1" armature=".01" {LIMITS}'), MOTORS, "", ""),
    "hopper": (leg('damping=".05" armature=".2"').replace(".7 .02", ".9 .02"), MOTORS, 'timestep=".005"', ""),
    "cheetah": (leg(f'damping=".3" armature=".1" stiffness="20" springref="-20" {LIMITS}'), MOTORS, 'impratio="4"', ""),
    "servos": (leg('damping=".5"'), SERVOS, "", ""),
    "servos, explicit": (leg('damping=".5"'), SERVOS, 'impratio="100"', '<flag eulerdamp="disable"/>'),
    "servos, implicit": (leg('damping=".5" frictionloss=".3"'), SERVOS, 'integrator="implicitfast"', ""),
    "servo of a tendon": (leg(LIMITS), '<position tendon="t" kp="30" kv="3"/>', 'integrator="implicitfast"', ""),
    "floating leg": (leg('damping="1"', '<freejoint name="r"/>'), SERVOS, 'integrator="implicitfast"', ""),
    "arm": (ARM, '<velocity joint="b" kv="2"/>', 'integrator="implicitfast" timestep=".004"', ""),
    "box": (free(BOX), "", 'integrator="implicitfast"', ""),
    "body off its centre": (free(EGG, OFF_CENTRE), "", 'integrator="implicitfast"', ""),
    "cylinder": (free(CAN), "", "", ""),
}


def text_of(name: str) -> str:
    """A model as MJCF."""
    bodies, actuators, options, flags = MODELS[name]
    tendon = TENDON if "tendon" in actuators else ""
    return f"""<mujoco><option {options}>{flags}</option><default><geom friction=".7 .02 .01" condim="3"/></default>
    <worldbody>{FLOOR}{bodies}</worldbody>{tendon}<actuator>{actuators}</actuator></mujoco>"""


def exact(model: Any) -> Any:
    """A model whose forces are found to the end, with elliptic cones."""
    model.opt.cone, model.opt.tolerance, model.opt.iterations = 1, 0.0, 200
    model.opt.ls_iterations, model.opt.ls_tolerance = 200, 1e-8
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_WARMSTART)
    return model


@pytest.mark.default_cases("walker", "servos, explicit", "servo of a tendon", "arm", "body off its centre")
@pytest.mark.parametrize("name", MODELS)
def test_velocities_after_a_step_are_mujocos(name: str) -> None:
    """From each of 250 states of MuJoCo's own motion, to 1e-7 of the largest."""
    text = text_of(name)
    model = exact(mujoco.MjModel.from_xml_string(text))
    scene = fb.Scene(fb.loads(text, format="mjcf"), law=fb.contact.MuJoCo(), tolerance=1e-12, pairs="none")
    data, peer, rng = mujoco.MjData(model), Peer(model, scene.robot), np.random.default_rng(0)
    data.qvel[:] = rng.normal(size=model.nv)
    impulse, acting, worst = np.zeros(scene.n_impulses), 0, 0.0
    for k in range(250):
        if k % 20 == 0:
            data.ctrl[:] = rng.uniform(-1.0, 1.0, model.nu)
        q = np.array(peer.q_from_peer(data.qpos))
        given = {"u": data.ctrl.copy()} if model.nu else {}
        v = np.array(peer.v_from_peer(data.qvel, q))
        after = scene.step(q, v, dt=model.opt.timestep, impulse=impulse, **given)
        mujoco.mj_step(model, data)
        v = np.array(peer.v_from_peer(data.qvel, np.array(peer.q_from_peer(data.qpos))))
        worst = max(worst, float(np.abs(after.v - v).max() / max(np.abs(v).max(), 0.1)))
        impulse, acting = after.impulse, acting + int(data.nefc)
    assert acting > 100 and worst < 1e-7, (acting, worst)


def test_integrators_may_be_chosen() -> None:
    """By the law, whatever the file says; they differ where a servo has damping."""
    robot = fb.loads(text_of("servos, implicit"), format="mjcf")
    q, v, u = robot.neutral(), np.full(robot.nv, 0.5), np.full(robot.nu, 0.4)
    after = {}
    for name in (None, "Euler", "explicit", "implicitfast"):
        scene = fb.Scene(robot, law=fb.contact.MuJoCo(integrator=name), pairs="none")
        after[name] = scene.step(q, v, u=u, dt=0.002).v
    assert (after[None] == after["implicitfast"]).all()
    for a, b in (("Euler", "explicit"), ("Euler", "implicitfast")):
        assert np.abs(after[a] - after[b]).max() > 1e-6
    with pytest.raises(fb.ModelError, match="integrator='RK4': expected one of Euler, explicit, implicitfast"):
        fb.contact.MuJoCo(integrator="RK4")


@pytest.mark.parametrize(
    ("option", "says"),
    [('integrator="RK4"', "single Euler steps"), ('integrator="implicit"', "Coriolis"), ("", ""),
     ('noslip_iterations="3"', "noslip"), ('o_margin="0.1"><flag override="enable"/', "override"),
     ('><flag refsafe="disable"/', "refsafe")],
)  # fmt: skip
def test_differences_from_a_file_are_named(option: str, says: str) -> None:
    text = f"<mujoco><option {option}></option><worldbody>{FLOOR}{free(BOX)}</worldbody></mujoco>"
    robot = fb.loads(text, format="mjcf")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fb.Scene(robot, law=fb.contact.MuJoCo())
    told = [str(x.message) for x in caught] + [str(x) for x in robot.report.findings]
    assert any(says in x for x in told) if says else not caught


def test_softness_of_joints_is_kept(tmp_path: Path) -> None:
    robot = fb.loads(text_of("arm"), format="mjcf")
    a, b, c = (next(x for x in robot.mechanism.joints if x.name == name).softness for name in "abc")
    assert a == JointSoftness(friction_solimp=(0.5, 0.9, 0.01, 0.5, 2.0))
    assert b == JointSoftness(friction_solref=(0.05, 0.7), margin=0.2)
    assert c == JointSoftness(limit_solref=(-3000.0, -60.0))
    rules = robot.mechanism.contacts
    assert (rules.integrator, rules.implicit_damping, rules.timestep) == ("implicitfast", None, 0.004)
    explicit = fb.loads(text_of("servos, explicit"), format="mjcf")
    assert explicit.mechanism.contacts.implicit_damping is False
    for file in ("x.json", "x.toml"):
        for own in (robot, explicit):
            own.save(tmp_path / file)
            assert fb.load(tmp_path / file) == own
    for own in (robot, explicit):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own.save(tmp_path / "x.xml")
            again = fb.load(tmp_path / "x.xml")
        assert again.mechanism.contacts == own.mechanism.contacts
        theirs = {x.name: x.softness for x in again.mechanism.joints}
        assert all(theirs[x.name] == x.softness for x in own.mechanism.joints if x.softness)


def test_wrong_softness_is_refused() -> None:
    with pytest.raises(fb.ModelError, match=r"limit_solimp=.*expected a tuple of 5"):
        JointSoftness(limit_solimp=(0.9, 0.95))
    with pytest.raises(fb.ModelError, match="margin"):
        JointSoftness(margin=float("nan"))
    with pytest.raises(fb.ModelError, match="softness must be a JointSoftness"):
        fb.Builder("a").body("b", joint=fb.joints.Revolute("y"), mass=1.0, inertia=(1, 1, 1), softness=3.0)
