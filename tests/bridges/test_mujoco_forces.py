"""Springs, damping and actuators of MJCF files: the same forces as MuJoCo's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.io.formats import FORMATS
from fourbar.io.mjcf.bodies import FLOATING
from fourbar.mechanism.actuators import Drive
from tests.algorithms.mechanisms import random_rotation

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


@pytest.mark.parametrize("name", SPRINGS)
def test_accelerations_with_springs_and_damping(name: str) -> None:
    """MuJoCo's qacc of free motion: gravity, springs and damping, all at once."""
    for robot, peer, data, q, v in at_states(model(SPRINGS[name])):
        near(robot.passive_dynamics(q, v, 0.0 * v), peer.a_from_peer(data.qacc.copy(), q, v))


def test_a_trajectory_with_springs_and_damping() -> None:
    """On hinges and slides MuJoCo's Runge-Kutta is the same as ours: so are all its steps, to rounding."""
    text = model(
        f'<body name="a"><joint name="s" type="slide" axis="1 0 0" stiffness="30" springref=".2" damping=".5"/>{BOX}'
        f'<body name="b" pos="0 0 .4"><joint name="h" axis="0 1 0" stiffness="2" damping=".1" ref=".3"/>{BOX}'
        f'<body name="c" pos=".3 0 0"><joint name="k" axis="1 1 0" damping=".2"/>{BOX}</body></body></body>'
    )
    theirs, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf")
    theirs.opt.integrator, theirs.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = q, v = np.array([0.1, 0.4, -0.2]), np.array([0.5, -1.0, 2.0])
    motion = fb.simulate(robot, q, v, duration=0.5, dt=1e-3, every=100)
    assert motion.lost[-1] > 0.01
    for k in range(1, 6):
        mujoco.mj_step(theirs, data, 100)
        near(motion.q[k], data.qpos)
        near(motion.v[k], data.qvel)


CHAIN = (
    f'<body name="a" quat="1 2 3 4"><freejoint name="f"/>{INERTIAL}<body name="b" pos="0 .3 0"><joint name="s" '
    f'type="ball" pos=".1 0 0"/>{INERTIAL}<body name="c" pos=".3 0 0"><joint name="h" axis="1 2 3"/>'
    f'<joint name="p" type="slide" axis="0 1 0"/>{INERTIAL}</body></body></body>'
)
TENDON = '<tendon><fixed name="t"><joint joint="h" coef="2"/><joint joint="p" coef="-.7"/></fixed></tendon>'
ACTUATORS = {
    "hinge": '<motor joint="h" gear="7"/>',
    "slide": '<motor joint="p" gear="-3"/>',
    "ball": '<motor joint="s" gear="1 2 3"/>',
    "ball in the parent": '<motor jointinparent="s" gear="1 2 3"/>',
    "force on a free joint": '<motor joint="f" gear="1 2 3 0 0 0"/>',
    "torque on a free joint": '<motor joint="f" gear="0 0 0 1 2 3"/>',
    "wrench on a free joint": '<motor joint="f" gear="1 2 3 4 5 6"/>',
    "free joint in the parent": '<motor jointinparent="f" gear="1 2 3 4 5 6"/>',
    "tendon": '<motor tendon="t" gear="3"/>',
    "servos": '<position joint="h" kp="3" kv=".1"/><velocity joint="p" kv="2" gear="4"/><intvelocity joint="h" kp="2" '
    'actrange="-1 1"/><motor name="m" tendon="t"/><motor joint="s" gear="0 1 0"/>'
    '<damper joint="h" kv="3" ctrlrange="0 9"/>',
}


def moment(model: Any, data: Any) -> np.ndarray:
    """MuJoCo's actuator_moment, dense (outputs, nv)."""
    found = np.zeros((len(data.moment_rownnz), model.nv))
    mujoco.mju_sparse2dense(found, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind)
    return found


@pytest.mark.parametrize("name", ACTUATORS)
def test_actuators(name: str) -> None:
    """The matrix against MuJoCo's moment, the forces against qfrc_actuator."""
    text = model(CHAIN, f"{TENDON}<actuator>{ACTUATORS[name]}</actuator>")
    for robot, peer, data, q, v in at_states(text):
        theirs = peer.columns_from_peer(moment(peer.model, data), q)
        near(robot.actuator_matrix(q), theirs)
        near(robot.actuator_matrix(q) @ v, data.actuator_velocity)
        near(robot.actuator_force(q, data.actuator_force), peer.force_from_peer(data.qfrc_actuator.copy(), q))


def test_actuators_in_loops() -> None:
    """Forces on joints that are not independent go through the loops."""
    more = '<actuator><motor joint="k" gear="5"/><motor joint="j" gear="2"/><motor joint="m"/></actuator>'
    for robot, peer, data, q, v in at_states(two('<joint joint1="k" joint2="j" polycoef=".1 -2 .3 0 0"/>', more)):
        near(robot.actuator_matrix(q) @ v, data.actuator_velocity)
        near(robot.actuator_force(q, data.actuator_force), peer.force_from_peer(data.qfrc_actuator.copy(), q))


@pytest.mark.parametrize("joint", ["h", "p", "s"])
def test_armature_and_damping_of_actuators(joint: str) -> None:
    text = model(CHAIN, f'<actuator><motor joint="{joint}" gear="3 1 2" armature=".2" damping=".5"/></actuator>')
    for robot, peer, data, q, v in at_states(text):
        M = np.zeros((peer.model.nv, peer.model.nv))
        mujoco.mj_fullM(peer.model, data, M)
        near(robot.mass_matrix(q), peer.matrix_from_peer(M, q))
        near(robot.passive_forces(q, v), peer.force_from_peer(data.qfrc_passive.copy(), q))


@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_a_free_joint_with_armature() -> None:
    """Its armature is on velocities in world axes, springs and actuators too: all is as MuJoCo has it."""
    bodies = CHAIN.replace(
        '<freejoint name="f"/>', '<joint name="f" type="free" armature=".4" stiffness="2" damping=".3"/>'
    )
    text = model(bodies, '<actuator><motor joint="f" gear="1 2 3 4 5 6"/></actuator>')
    for robot, peer, data, q, v in at_states(text):
        assert np.allclose(peer.v_to_peer(v, q), v)
        near(robot.bias_force(q, v), peer.force_from_peer(data.qfrc_bias.copy(), q))
        near(robot.passive_forces(q, v), peer.force_from_peer(data.qfrc_passive.copy(), q))
        near(robot.actuator_force(q, data.actuator_force), peer.force_from_peer(data.qfrc_actuator.copy(), q))
        M = np.zeros((peer.model.nv, peer.model.nv))
        mujoco.mj_fullM(peer.model, data, M)
        near(robot.mass_matrix(q), peer.matrix_from_peer(M, q))


@pytest.mark.parametrize("name", ACTUATORS)
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_actuators_are_written_and_read_again(name: str, tmp_path: Any) -> None:
    robot = fb.loads(model(CHAIN, f"{TENDON}<actuator>{ACTUATORS[name]}</actuator>"), format="mjcf")
    waist = robot.with_parameters(bodies={"c/h": {"mass": 1.0, "inertia": (1, 1, 1)}})  # MJCF has no body without mass
    waist = waist.with_parameters(bodies={"b/s": {"mass": 1.0, "inertia": (1, 1, 1)}})
    waist.save(tmp_path / "again.xml")
    again = fb.load(tmp_path / "again.xml")
    assert again.actuators == robot.actuators


def _quaternion(R: np.ndarray) -> np.ndarray:
    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, R.ravel())
    return found


PUSHED = {  # drives of a joint on the world: gear and axes
    "floating": [((0.3, -0.2, 0.7, 1.1, 0.4, -0.5), "child")],
    "force": [((0.0, 0.0, 0.0, 0.3, -0.2, 0.7), "parent")],
    "in the parent": [((1.1, 0.4, -0.5, 0.3, -0.2, 0.7), "parent")],
    "two": [((1.1, 0.4, -0.5, 0.0, 0.0, 0.0), "child"), ((0.0, 0.0, 0.0, 0.3, -0.2, 0.7), "parent")],
}


@pytest.mark.parametrize("name", PUSHED)
def test_written_actuators_push_where_ours_do(name: str) -> None:
    """MuJoCo has forces on a free joint in world axes, ours are in those of the joint's placement."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        b = fb.Builder("pushed", gravity=(0, 0, 0))
        joint = {"joint": FLOATING, "armature": 0.5} if name == "floating" else {"joint": fb.joints.Free()}
        R, p = random_rotation(rng, generic=True), rng.normal(size=3)
        b.body("x", **joint, mass=1.3, com=(0.1, 0.2, -0.1), inertia=(1, 2, 2.5), rotation=R, position=p)
        b.actuator("push", drives=[Drive("x", *given) for given in PUSHED[name]])
        robot = b.build()
        theirs = mujoco.MjModel.from_xml_string(FORMATS["mjcf"].write(robot.mechanism, "x.xml")[0])
        data, q, still = mujoco.MjData(theirs), robot.random(rng), np.zeros(6)
        pose = robot.pose(q, "x")
        data.qpos[:], data.ctrl[:] = [*pose[:3, 3], *_quaternion(pose[:3, :3])], 0.7
        mujoco.mj_forward(theirs, data)
        a = robot.forward_dynamics(q, still, robot.actuator_force(q, [0.7]))
        found = robot.acceleration(q, still, a, "x")  # in world axes; MuJoCo's is angular in those of the body
        near(np.concatenate([found[3:], pose[:3, :3].T @ found[:3]]), data.qacc)
