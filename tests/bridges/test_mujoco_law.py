"""MuJoCo's law: forces and steps are MuJoCo's own, with elliptic cones and its Euler integrator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import MuJoCo
from fourbar.contact.inverse_weights import weights

from .mujoco_law import Pair, corners, legged, missed, mujoco, world

pytestmark = pytest.mark.peers

BALL = '<body name="ball" pos="0 0 .1"><freejoint/><geom name="g" size=".1" mass="1"/></body>'
SOFT = ('solref=".01 1.1" margin=".002" gap=".0005"', 'solimp=".8 .99 .003 .3 3.5"', 'solref="-1000 -50"', "")


def close(pair: Pair, found: Any) -> None:
    """Forces to 1e-8 of the largest, and states after a step to rounding."""
    assert found.touching > 20 and found.largest > 1.0
    assert found.force < 1e-8 and found.state < 1e-13


def test_a_ball_on_a_plane() -> None:
    """It slides, then rolls, sinks in and comes up."""
    pair = Pair(world(BALL))
    close(pair, pair.compared([0, 0, 0.1, 1, 0, 0, 0], [0, 0, 0, 1.0, 0.3, -0.1], 100))


@pytest.mark.parametrize("ratio", [10.0, 100.0])
def test_a_ball_that_slides_where_friction_is_much_stiffer(ratio: float) -> None:
    """Cones with a small slope, on which Newton's step is far too long: the search along it has to be good."""
    ball = BALL.replace('mass="1"', 'mass="1" friction=".3 0 0"')
    pair = Pair(world(ball, ratio, 'friction=".3 0 0"'))
    close(pair, pair.compared([0, 0, 0.1, 1, 0, 0, 0], [0, 0, 0, 2.0, 0, 0], 300))


@pytest.mark.default_cases("3-3.0")
@pytest.mark.parametrize(("dimensions", "ratio"), [(3, 3.0), (6, 1.0)])
def test_a_block_that_falls_slides_and_tips(dimensions: int, ratio: float) -> None:
    """On four balls that are soft in different ways; with torsional and rolling friction in the same cone."""
    common = f'friction=".5 .01 .003" condim="{dimensions}"'
    pair = Pair(world(corners(SOFT, common), ratio, common))
    close(pair, pair.compared([0, 0, 0.105, 1, 0, 0, 0], [0, 0.5, 0.2, 1.0, 0.3, -0.1], 200))


def test_which_side_is_wrong_where_they_differ() -> None:
    """MuJoCo ends where its cost no longer falls, which leaves half of the digits. In its own equations our forces are
    right to rounding, and those that it finds with its default tolerance are not."""
    text = world(corners(SOFT, 'friction=".5 .01 .003"'), 3.0)
    pair, usual = Pair(text), Pair(text.replace('tolerance="0"', ""))
    q, v, impulse = np.array([0, 0, 0.105, 1, 0, 0, 0]), np.array([0, 0.5, 0.2, 1.0, 0.3, -0.1]), np.zeros(12)
    ours = tight = default = 0.0
    for _ in range(200):
        after = pair.scene.step(q, v, dt=0.002, impulse=impulse)
        for side in (pair, usual):
            side.put(q, v, np.zeros(6))
        if pair.data.nefc and np.abs(pair.data.efc_force).max() > 1.0:
            rows = []
            for contact in (x for x in pair.data.contact if x.efc_address >= 0):
                own = pair.scene.contacts.index(pair.model.geom(int(contact.geom[1])).name)
                rows += list(contact.frame.reshape(3, 3) @ after.force[own])
            ours = max(ours, missed(pair.model, pair.data, np.array(rows)))
            tight = max(tight, missed(pair.model, pair.data, pair.data.efc_force))
            default = max(default, missed(usual.model, usual.data, usual.data.efc_force))
        q, v, impulse = after.q, after.v, after.impulse
    assert ours < 1e-10 and tight < 1e-5 and default > 1e-3, (ours, tight, default)


def test_weights_are_mujocos() -> None:
    """Of bodies and joints at the coordinates of the file: fixed bodies, balls, slides, armature, a reference."""
    text = """<mujoco><worldbody><body name="u" pos="0 0 1"><joint axis="0 1 0" ref="30"/><joint axis="1 0 0"
    pos="0 .1 0"/><geom size=".1" pos=".1 .2 .3"/><body name="l" pos=".1 .2 .5"><joint type="ball"/><geom type="box"
    size=".1 .2 .3"/><body name="foot" pos="0 0 .3"><geom size=".03" mass="0"/></body><body name="s" pos="0 .3 0"><joint
    type="slide" axis="1 1 0" armature=".3"/><geom size=".1"/></body></body></body></worldbody></mujoco>"""
    model, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf")
    found = weights(robot.model, robot.neutral())
    for i in range(1, model.nbody):
        assert np.isclose(found.bodies[model.body(i).name], model.body_invweight0[i, 0], rtol=1e-13)
    assert np.allclose([x for own in found.joints for x in own], model.dof_invweight0, rtol=1e-13)


def test_limits_dry_friction_and_damping_of_joints() -> None:
    """A leg on a rail that is thrown against its limits and the floor."""
    joint = 'range="-30 20" damping=".3" frictionloss=".4" armature=".02" stiffness="3" springref="10"'
    leg = f"""<body name="base" pos="0 0 .5"><joint type="slide" axis="0 0 1" damping="1"/><geom name="b" size=".05"
    contype="0" conaffinity="0"/><body name="thigh"><joint axis="0 1 0" {joint}/><geom name="t" type="capsule"
    fromto="0 0 0 0 0 -.2" size=".02" contype="0" conaffinity="0"/><body name="shin" pos="0 0 -.2"><joint axis="0 1 0"
    {joint}/><geom name="foot" size=".03" pos="0 0 -.2"/></body></body></body>"""
    pair = Pair(world(leg), contacts=["shin"])
    found = pair.compared([-0.02, 0.2, 0.1], [0.0, 9.0, -20.0], 200)
    close(pair, found)
    assert found.limits > 20


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "foot", "swing"), [(1.0, "", 0.0), (1.0, "", 1.0), (10.0, 'condim="6"', 0.4)])
def test_a_quadruped_stands_and_moves(ratio: float, foot: str, swing: float) -> None:
    joints = 'damping=".2" frictionloss=".3" armature=".01" stiffness="1"'
    pair = Pair(world(legged(joints, foot + ' friction=".7 .01 .001"'), ratio, 'friction=".7 .01 .001"'))
    home, phase = np.array([0.0, 0.6, -1.2] * 4), np.random.default_rng(0).uniform(0.0, 6.0, 12)

    def control(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        wanted = home + swing * np.sin(0.024 * k + phase)
        return np.array([*([0.0] * 6), *(60.0 * (wanted - q[7:]) - v[6:])])

    q = pair.robot.neutral()
    q[2], q[7:] = 0.345, home
    found = pair.compared(q, np.zeros(pair.robot.nv), 400, control)
    close(pair, found)
    assert found.touching > 250 and (swing < 1.0 or found.limits > 20)


@pytest.mark.slow
def test_more_rows_than_newtons_matrix_has() -> None:
    balls = "".join(f'<geom name="g{k}" size=".03" pos="{0.05 * (k % 4)} {0.05 * (k // 4)} -.07"/>' for k in range(16))
    inertia = '<inertial pos=".01 .02 .03" mass="2" diaginertia=".01 .012 .015"/>'
    pair = Pair(world(f'<body name="b" pos="0 0 .1"><freejoint/>{inertia}{balls}</body>', 3.0))
    close(pair, pair.compared([0, 0, 0.105, 1, 0, 0, 0], [0, 0.5, 0.2, 1.0, 0.3, -0.1], 100))


def test_two_balls_meet() -> None:
    """Shapes of two bodies, and the floor."""
    other = BALL.replace("ball", "other").replace('"g"', '"h"').replace("0 0 .1", ".19 .02 .12")
    text = world(BALL + other)
    pair = Pair(text)
    assert pair.scene.contacts == ("g", "h", "g:h")
    q = np.array([0, 0, 0.1, 1, 0, 0, 0, 0.15, 0.02, 0.21, 1, 0, 0, 0])
    still = np.zeros(12)
    after = pair.scene.step(q, still, dt=0.002)
    pair.data.qpos[:] = q
    mujoco.mj_forward(pair.model, pair.data)
    names = [{pair.model.geom(int(i)).name for i in contact.geom} for contact in pair.data.contact]
    six = np.zeros(6)
    mujoco.mj_contactForce(pair.model, pair.data, names.index({"g", "h"}), six)
    theirs = pair.data.contact[names.index({"g", "h"})].frame.reshape(3, 3).T @ six[:3]
    assert np.abs(theirs).max() > 1.0 and np.allclose(after.force[2], -theirs, rtol=1e-10)


def test_numbers_of_the_law_are_checked() -> None:
    for wrong in ({"solref": (0.02,)}, {"solref": (0.02, -1.0)}, {"solimp": (0.9, 0.95)}, {"impratio": 0.0},
                  {"solimp": (0.9, 0.95, 0.001, 0.5, 2.3)}):  # fmt: skip
        with pytest.raises(fb.ModelError, match=next(iter(wrong))):
            MuJoCo(**wrong)


def test_what_the_law_does_not_know_is_reported() -> None:
    robot = fb.loads(world(BALL), format="mjcf")
    with pytest.warns(fb.SimulationWarning, match="restitution of 'g' does not act"):
        fb.Scene(robot, fb.Plane(restitution=0.5), law=MuJoCo())
    shape = fb.contact.Shape("ball", "sphere", 0.1, friction=0.0, torsion=0.1)
    with pytest.raises(fb.ModelError, match="no sliding friction"):
        fb.Scene(robot, fb.Plane(friction=0.0), contacts=[shape], law=MuJoCo())


SERVOS = """<mujoco><compiler angle="radian"/>
<option timestep="0.002" cone="elliptic" tolerance="0" iterations="200" integrator="Euler"/>
<worldbody><geom type="plane" size="5 5 .1" friction="0.7 0.005 0.0001" condim="3"/>
<body name="base" pos="0 0 0.45"><joint name="lift" type="slide" axis="0 0 1"/>
<inertial pos="0 0 0" mass="3" diaginertia="0.1 0.1 0.1"/>
<body name="thigh"><joint name="hip" axis="0 1 0" damping="0.3"/>
<inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.002 0.002 0.002"/>
<body name="shin" pos="0 0 -0.2"><joint name="knee" axis="0 1 0" damping="0.2" stiffness="1"/>
<inertial pos="0 0 -0.1" mass="0.3" diaginertia="0.001 0.001 0.001"/>
<geom type="sphere" size="0.03" pos="0 0 -0.2" friction="0.7 0.005 0.0001" condim="3"/>
</body></body></body></worldbody>
<actuator><position joint="hip" kp="60" kv="2" ctrlrange="-2 2"/>
<position joint="knee" kp="60" ctrlrange="-2 2" forcerange="-20 20"/><motor joint="lift" gear="2"/>
</actuator></mujoco>"""


def test_servos_act_as_mujocos_euler_steps_do() -> None:
    """With the forces that they have at the start of a step; damping of joints acts implicitly."""
    model = mujoco.MjModel.from_xml_string(SERVOS)
    data = mujoco.MjData(model)
    scene = fb.Scene(fb.loads(SERVOS, format="mjcf"), law=fb.contact.MuJoCo())
    data.qpos[:], data.ctrl[:] = (0.0, 0.6, -1.2), (0.5, -1.0, 0.3)
    touching = 0
    for _ in range(300):
        found = scene.step(data.qpos.copy(), data.qvel.copy(), u=data.ctrl.copy(), dt=0.002)
        mujoco.mj_step(model, data)
        touching += int(data.ncon > 0)
        assert np.abs(found.q - data.qpos).max() < 1e-12 and np.abs(found.v - data.qvel).max() < 1e-11
    assert touching > 100
