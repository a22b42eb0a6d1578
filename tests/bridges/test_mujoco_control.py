"""Forces of controlled actuators: the same as MuJoCo's, kind by kind and on random models."""

from __future__ import annotations

import numpy as np
import pytest

import fourbar as fb

from .mjcf_models import INERTIAL, model, two
from .test_mujoco import peer_of
from .test_mujoco_forces import CHAIN, TENDON

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers

KINDS = {
    "motor": '<motor joint="h" gear="7"/>',
    "motor with a gain": '<general joint="p" gainprm="3.5" gear="-2"/>',
    "limited motor": '<motor joint="h" ctrlrange="-.4 .2" forcerange="-.3 .1"/>',
    "position": '<position joint="h" kp="3" kv=".1" gear="2"/>',
    "position without kv": '<position joint="p" kp="30" ctrlrange="-1 .5"/>',
    "position with a range of forces": '<position joint="h" kp="300" kv="2" forcerange="-10 7"/>',
    "position by inheritrange": '<position joint="h" kp="20" dampratio="1"/>',
    "velocity": '<velocity joint="p" kv="2" gear="4"/>',
    "velocity on a ball": '<velocity joint="s" kv="2" gear="1 -2 .3"/>',
    "damper": '<damper joint="h" kv="3" ctrlrange="0 .7"/>',
    "position on a ball": '<position joint="s" kp="5" kv=".2" gear="1 2 3"/>',
    "position on a ball in the parent": '<position jointinparent="s" kp="5" kv=".2" gear="1 2 3"/>',
    "general on a free joint": '<general joint="f" gear="1 2 3 4 5 6" biastype="affine" biasprm="1 2 3"/>',
    "tendon": '<position tendon="t" kp="4" kv=".3" gear="3" forcerange="-2 1"/>',
    "general": '<general joint="h" gaintype="affine" gainprm="1 -2 .5" biastype="affine" biasprm=".3 .7 -1" gear="2"/>',
    "general with an affine gain": '<general tendon="t" gaintype="affine" gainprm="1 -2 .5" ctrlrange="-.2 .9"/>',
    "general with a bias": '<general joint="p" gainprm="0" biastype="affine" biasprm="1 2 3"/>',
}
LIMITED = CHAIN.replace('name="h" axis', 'name="h" actuatorfrcrange="-3 1" axis').replace(
    'name="p" type', 'name="p" actuatorfrcrange="-.5 4" type'
)


def near(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert np.abs(ours - theirs).max() < 1e-12 * max(1.0, np.abs(theirs).max())


def compare(text: str, n: int = 6, seed: int = 0, loops: bool = False) -> list[np.ndarray]:
    """Both at random states and controls; what all the forces are."""
    theirs, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf")
    peer, data, rng = peer_of(theirs, robot), mujoco.MjData(theirs), np.random.default_rng(seed)
    assert robot.nu == theirs.nu
    found = []
    for _ in range(n):
        q, v, u = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=theirs.nu)
        data.qpos[:], data.qvel[:], data.ctrl[:] = peer.q_to_peer(q), peer.v_to_peer(v, q), u
        mujoco.mj_forward(theirs, data)
        near(robot.control_response(q, v, u), data.actuator_force)
        near(robot.control_force(q, v, u), peer.force_from_peer(data.qfrc_actuator.copy(), q))
        near(robot.actuator_length(q), data.actuator_length)
        found.append(data.qfrc_actuator.copy())
    assert np.abs(found).max() > 0.0
    return found


@pytest.mark.parametrize("name", KINDS)
def test_each_kind(name: str) -> None:
    compare(model(CHAIN, f"{TENDON}<actuator>{KINDS[name]}</actuator>"))


def test_all_at_once_on_joints_that_bear_so_much() -> None:
    """Their sum on a joint is held within its actuatorfrcrange, of which the ends differ."""
    found = np.array(compare(model(LIMITED, f"{TENDON}<actuator>{''.join(KINDS.values())}</actuator>"), n=30))
    assert {-3.0, 1.0} <= set(found[:, 9]) and {-0.5, 4.0} & set(found[:, 10])


def test_random_models() -> None:
    rng = np.random.default_rng(11)
    for seed in range(12):
        bodies, ends, actuators = "", "", ""
        for i in range(rng.integers(2, 6)):
            axis, kind = " ".join(f"{x:.3f}" for x in rng.normal(size=3)), rng.choice(["hinge", "slide"])
            limit = (
                f'actuatorfrcrange="{-rng.uniform(1, 9):.3f} {rng.uniform(1, 9):.3f}"' if rng.uniform() < 0.5 else ""
            )
            bodies += f'<body pos=".1 .2 .3"><joint name="j{i}" type="{kind}" axis="{axis}" {limit}/>{INERTIAL}'
            ends += "</body>"
            gear, numbers = rng.normal(), " ".join(f"{x:.3f}" for x in 3 * rng.normal(size=3))
            actuators += (
                f'<general joint="j{i}" gear="{gear:.3f}" gaintype="affine" gainprm="{numbers}" biastype="affine"'
            )
            actuators += f' biasprm="{numbers[::-1].replace("-", "")}" forcerange="-5 7" ctrlrange="-1 .8"/>'
            actuators += f'<position joint="j{i}" kp="{abs(gear):.3f}" kv=".4"/>'
        tendon = '<tendon><fixed name="t"><joint joint="j0" coef="2"/><joint joint="j1" coef="-.3"/></fixed></tendon>'
        actuators += '<velocity tendon="t" kv="2"/>'
        compare(model(bodies + ends, f"{tendon}<actuator>{actuators}</actuator>"), seed=seed)


@pytest.mark.parametrize("loop", ['<joint joint1="k" joint2="j" polycoef=".1 -2 .3 0 0"/>',
                                  '<connect body1="b" body2="c" anchor=".1 .2 .3"/>'])  # fmt: skip
def test_in_loops(loop: str) -> None:
    """On joints that are not independent too, also where these bear only so much."""
    more = '<position joint="k" gear="5" kp="3" kv=".1"/><motor joint="j" gear="2"/><velocity joint="m" kv="3"/>'
    text = two(loop, f"<actuator>{more}</actuator>").replace(
        '<joint name="k"', '<joint name="k" actuatorfrcrange="-20 4"'
    )
    assert "actuatorfrcrange" in text
    theirs, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf")
    peer, data, rng = peer_of(theirs, robot), mujoco.MjData(theirs), np.random.default_rng(3)
    for _ in range(5):
        q, v, u = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=theirs.nu)
        data.qpos[:], data.qvel[:], data.ctrl[:] = peer.q_to_peer(q), peer.v_to_peer(v, q), u
        mujoco.mj_forward(theirs, data)
        near(robot.control_response(q, v, u), data.actuator_force)
        near(robot.control_force(q, v, u), peer.force_from_peer(data.qfrc_actuator.copy(), q))


def test_the_range_of_a_tendon_with_one_actuator() -> None:
    tendon = TENDON.replace('name="t"', 'name="t" actuatorfrcrange="-.4 .3"')
    compare(model(CHAIN, f'{tendon}<actuator><motor tendon="t" gear="2" forcerange="-9 .2"/></actuator>'))
    with pytest.warns(fb.FileWarning, match="actuator@tendon"):
        fb.loads(model(CHAIN, f'{tendon}<actuator><motor tendon="t"/><motor tendon="t"/></actuator>'), format="mjcf")


def test_ranges_that_a_file_switches_off() -> None:
    compare(model(CHAIN, '<option><flag clampctrl="disable"/></option><actuator><motor joint="h" ctrlrange="-.1 .1"/>'
                         '<position joint="p" kp="3" ctrlrange="0 .1"/></actuator>'))  # fmt: skip


WITH_STATE = {
    "integrator": '<intvelocity name="x" joint="h" kp="2" actrange="-1 1"/>',
    "filter": '<general name="x" joint="h" dyntype="filter" dynprm=".1" ctrlrange="-.1 .1"/>',
    "filterexact": '<position name="x" joint="h" kp="2" timeconst=".1"/>',
}


@pytest.mark.parametrize("kind", WITH_STATE)
def test_forces_of_activations(kind: str) -> None:
    """The law has the activation in place of the control, which no range of controls holds."""
    text = model(CHAIN, f'<actuator><motor joint="p"/>{WITH_STATE[kind]}</actuator>')
    theirs, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf")
    data = mujoco.MjData(theirs)
    data.ctrl[:], data.act[:] = [0.3, 5.0], 0.7
    mujoco.mj_forward(theirs, data)
    response = robot.control_response(robot.neutral(), np.zeros(robot.nv), [0.3, 0.7])
    np.testing.assert_allclose(response, data.actuator_force, rtol=1e-14)
    dynamics = robot.mechanism.actuators[1].dynamics
    assert dynamics is not None and dynamics.kind == kind


def test_muscles_are_refused_by_name() -> None:
    muscle = '<muscle name="x" joint="h" lengthrange="0 1"/>'
    robot = fb.loads(model(CHAIN, f'<actuator><motor joint="p"/>{muscle}</actuator>'), format="mjcf")
    q = robot.neutral()
    for method in ("control_force", "control_response", "control_gains"):
        with pytest.raises(fb.ArgumentError, match="'x' is of kind 'muscle'"):
            getattr(robot, method)(q, np.zeros(robot.nv), [0.0, 0.0])
    other = robot.with_parameters(actuators={"x": {"kind": "motor", "parameters": {}}})
    assert np.count_nonzero(other.control_force(q, np.zeros(robot.nv), [0.0, 1.0])) == 1


def test_adhesion_and_others_are_reported() -> None:
    with pytest.warns(fb.FileWarning, match="actuator@body"):
        robot = fb.loads(model(CHAIN, '<actuator><adhesion body="c" ctrlrange="0 1"/></actuator>'), format="mjcf")
    assert robot.nu == 0 and "acts on a body" in str(robot.report)


@pytest.mark.parametrize("kp", [10.0, 1e4])
def test_gains_against_mujocos_implicit_step(kp: float) -> None:
    """MuJoCo's implicitfast step has the damping of servos in its matrix: so has ours, with K = 0 in both."""
    servo = f'<velocity joint="h" kv="{kp}" gear="2"/><velocity tendon="t" kv="{kp / 10}"/>'
    servo += '<damper joint="p" kv="3" ctrlrange="0 2"/>'
    text = model(CHAIN, f'<option integrator="implicitfast" timestep=".004"/>{TENDON}<actuator>{servo}</actuator>')
    theirs, robot = mujoco.MjModel.from_xml_string(text), fb.loads(text, format="mjcf")
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    peer, data, rng = peer_of(theirs, robot), mujoco.MjData(theirs), np.random.default_rng(5)
    q, v, u = robot.random(rng), rng.normal(size=robot.nv), np.array([0.3, -0.2, 1.5])
    v[:6] = 0.0
    data.qpos[:], data.qvel[:], data.ctrl[:] = peer.q_to_peer(q), peer.v_to_peer(v, q), u
    mujoco.mj_forward(theirs, data)
    _, D = robot.control_gains(q, v, u)
    wanted = np.zeros((theirs.nv, theirs.nv))
    moment = robot.actuator_matrix(q)
    for row, k in zip(moment, (kp, kp / 10, 3 * 1.5), strict=True):
        wanted += k * np.outer(row, row)
    near(D, wanted)
    M = robot.mass_matrix(q)
    rest = robot.control_force(q, v, u) - robot.bias_force(q, v)
    ours = v + 0.004 * np.linalg.solve(M + 0.004 * D, rest)
    mujoco.mj_step(theirs, data)
    found = peer.v_from_peer(data.qvel.copy(), q)
    assert np.abs(ours - found)[6:].max() < 1e-9 * max(1.0, np.abs(found).max())
