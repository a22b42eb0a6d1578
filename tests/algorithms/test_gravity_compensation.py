"""Weights that are compensated: passive forces at centres of mass, by energy, by MuJoCo, in files and in motions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb

G = np.array([1.0, 2.0, -9.81])
CHAIN = """<mujoco><option gravity="1 2 -9.81"/><worldbody>
<body name="a" gravcomp="0.7" pos="0 0 1"><joint name="j" axis="0 1 0" pos=".1 0 0" stiffness="2" damping=".3"/>
  <geom size=".1" pos=".2 .1 0"/>
  <body name="b" pos=".5 0 0" gravcomp="1.3"><joint name="k" type="ball"/>
    <geom type="box" size=".1 .2 .1" pos="0 .1 .2"/>
    <body name="c" pos=".1 0 0" gravcomp="-.4"><geom size=".05" pos=".3 0 0"/></body>
    <body name="d" pos=".1 0 .3"><joint name="l" type="slide" axis="1 1 0"/><geom size=".05" pos=".3 0 0"/></body>
  </body></body>
<body name="f" gravcomp="1" pos="2 0 1"><freejoint name="m"/><geom size=".1" pos=".1 0 0"/></body>
</worldbody></mujoco>"""


def arm(**more: Any) -> fb.System:
    """A hinge, a fixed body on it and a ball joint; two of the bodies are compensated in part."""
    b = fb.Builder("arm", gravity=G)
    b.body("upper", joint=fb.joints.Revolute("y"), mass=1.5, com=(0.1, 0.05, -0.2), inertia=(0.02, 0.03, 0.01),
           gravity_compensation=0.6, **more)  # fmt: skip
    b.body("tool", parent="upper", position=(0, 0.1, -0.3), rpy=(0.3, 0.2, 0.1), mass=0.4, com=(0.05, 0.0, 0.1),
           inertia=(1e-3, 1e-3, 1e-3), gravity_compensation=1.2)  # fmt: skip
    b.body("hand", parent="upper", joint=fb.joints.Spherical(), position=(0, 0, -0.4), mass=0.3, com=(0, 0, -0.1),
           inertia=(2e-3, 2e-3, 1e-3))  # fmt: skip
    return b.build()


def looped(weightless: float) -> fb.System:
    """A four-bar of which two links are compensated."""
    robot = fb.robots.four_bar().with_gravity((0.0, -9.81, 0.0))
    some = robot.names.bodies[1:]
    return robot.with_parameters(bodies={name: {"gravity_compensation": weightless} for name in some})


def by_jacobians(robot: fb.System, q: np.ndarray) -> np.ndarray:
    """Σ Jᵀ of the forces -c m g at the centres of mass."""
    total = np.zeros(robot.nv)
    for body in robot.mechanism.bodies:
        T = robot.pose(q, body.name)
        f = -body.gravity_compensation * body.mass * (T[:3, :3].T @ np.array(robot.mechanism.gravity))
        wrench = np.concatenate([np.cross(body.com, f), f])
        total += robot.generalized_force(q, {body.name: wrench})
    return total


@pytest.mark.parametrize("make", [arm, lambda: looped(0.8)], ids=["tree", "loop"])
def test_forces_are_those_at_the_centres_of_mass(make: Any) -> None:
    """By Jacobians, and as the slope of the energy; in batches and while moving too."""
    robot, rng = make(), np.random.default_rng(0)
    q = robot.random(rng)
    v = rng.normal(size=robot.nv)
    lift = by_jacobians(robot, q)
    assert np.abs(lift).max() > 0.1
    assert np.allclose(robot.passive_forces(q, v), lift, rtol=0.0, atol=1e-12)
    assert np.allclose(robot.spring_energy.jacobian(q).q, -lift, rtol=0.0, atol=1e-12)
    assert np.array_equal(robot.passive_forces(np.tile(q, (3, 1)), v)[2], robot.passive_forces(q, v))
    tau = rng.normal(size=robot.nv)
    a = robot.passive_dynamics(q, v, tau)
    assert np.allclose(a, robot.forward_dynamics(q, v, tau + lift), rtol=0.0, atol=1e-9)
    assert np.allclose(robot.inverse_passive_dynamics(q, v, a), tau, rtol=0.0, atol=1e-9)


def test_derivatives_are_those_of_differences() -> None:
    """By q, and by the mass of a compensated body, which the compensating force follows."""
    robot, rng = arm(), np.random.default_rng(1)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    found = robot.passive_forces.jacobian(q, v).q
    h = 1e-6
    for k in range(robot.nv):
        step = np.eye(robot.nv)[k] * h
        ends = [robot.passive_forces(robot.integrate(q, s * step, 1.0), v) for s in (1.0, -1.0)]
        assert np.allclose(found[:, k], (ends[0] - ends[1]) / (2 * h), rtol=0.0, atol=1e-7)
    masses = np.array([0.5, 1.5, 3.0])
    varied = robot.varying("upper.mass").passive_forces(q, v, masses)
    for mass, tau in zip(masses, varied, strict=True):
        other = robot.with_parameters(bodies={"upper": {"mass": mass}})
        assert np.allclose(tau, other.passive_forces(q, v), rtol=0.0, atol=1e-12)
    fractions = np.array([0.0, 0.6, -1.0])
    varied = robot.varying("upper.gravity_compensation").passive_forces(q, v, fractions)
    for fraction, tau in zip(fractions, varied, strict=True):
        other = robot.with_parameters(bodies={"upper": {"gravity_compensation": fraction}})
        assert np.allclose(tau, other.passive_forces(q, v), rtol=0.0, atol=1e-12)
    slope = (varied[2] - varied[0]) / -1.0  # by the fraction, linearly
    more = robot.with_parameters(bodies={"upper": {"gravity_compensation": 1.6}})
    assert np.allclose(more.passive_forces(q, v) - robot.passive_forces(q, v), slope, rtol=0.0, atol=1e-12)


def test_a_compensated_ball_hovers_and_energy_is_kept() -> None:
    b = fb.Builder("ball")
    b.body("ball", joint=fb.joints.Free(), mass=2.0, com=(0.0, 0.0, 0.1), inertia=(0.01,) * 3, gravity_compensation=1.0)
    ball = b.build()
    start = [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]
    scene = fb.Scene(ball, fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    for run in (fb.simulate(ball, start, duration=0.2, dt=0.01), scene.simulate(start, duration=0.2, dt=0.01)):
        assert np.allclose(run.q[-1], start, rtol=0.0, atol=1e-13)
    soft = fb.Scene(ball, fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)], law=fb.contact.MuJoCo())
    assert np.allclose(soft.simulate(start, duration=0.2, dt=0.01).q[-1], start, rtol=0.0, atol=1e-13)
    falls = fb.simulate(ball, start, duration=0.2, dt=0.01, passive=False)
    assert falls.q[-1, 2] < 0.35
    lighter = scene.rollout(start, steps=50, numbers={"ball.gravity_compensation": [1.0, 0.5]})
    assert lighter.q[-1, 0, 2] == pytest.approx(0.5, abs=1e-13)
    assert lighter.q[-1, 1, 2] == pytest.approx(0.5 - 0.25 * 9.81 * 0.1 * 0.102, rel=1e-3)
    robot = arm()
    run = fb.simulate(robot, robot.random(np.random.default_rng(2)), duration=0.5, dt=1e-3)
    energy = [robot.kinetic_energy(q, v) + robot.potential_energy(q) + robot.spring_energy(q)
              for q, v in zip(run.q[::100], run.v[::100], strict=True)]  # fmt: skip
    assert np.allclose(energy, energy[0], rtol=0.0, atol=1e-8)


def test_a_constrained_robot_has_it_too() -> None:
    robot = looped(0.8)
    q = robot.assemble([0.8, 0.0, 0.0], keep=["link1_joint"])
    run = fb.simulate(robot, q, duration=0.2)
    open_chain = robot.spanning().constrained(*(x.loop for x in robot.mechanism.loops))
    held = fb.simulate(open_chain, robot.expand(q), duration=0.2)
    assert np.allclose(held.q[-1], robot.expand(run.q[-1]), rtol=0.0, atol=1e-8)
    assert np.abs(fb.simulate(looped(0.0), q, duration=0.2).q[-1] - run.q[-1]).max() > 1e-3


def test_edits_and_files_keep_it(tmp_path: Path) -> None:
    robot = arm()
    robot.save(tmp_path / "arm.json")
    edits = [
        robot.attach(robot, "world", prefix="left_"),
        robot.lock(["upper"]),
        robot.mirrored(),
        robot.with_parameters(joints={"upper": {"damping": 1.0}}, bodies={"tool": {"mass": 0.5}}),
        fb.load(tmp_path / "arm.json"),
    ]
    for other in edits:
        found = {b.name.removeprefix("left_"): b.gravity_compensation for b in other.mechanism.bodies if b.mass}
        assert {name: found[name] for name in ("upper", "tool", "hand")} == {"upper": 0.6, "tool": 1.2, "hand": 0.0}
    with pytest.raises(fb.ModelError, match="gravity_compensation"):
        arm().with_parameters(bodies={"upper": {"gravity_compensation": np.nan}})


@pytest.mark.parametrize("ending", ["urdf", "sdf"])
def test_files_that_cannot_say_it_do_say_so(tmp_path: Path, ending: str) -> None:
    report = arm().save(tmp_path / f"arm.{ending}", waive=["coordinates"])
    (found,) = [x for x in report if "gravity compensation" in x.message]
    assert "'upper'" in found.message and "'tool'" in found.message and "'hand'" not in found.message


mujoco_only = pytest.mark.peers


def compared(model: Any, robot: fb.System, rng: np.random.Generator) -> tuple[float, float]:
    """The largest differences from MuJoCo's gravity compensation, and from all its passive forces."""
    mujoco = pytest.importorskip("mujoco")
    from fourbar.bridges.mujoco import Peer

    peer, data, worst = Peer(model, robot), mujoco.MjData(model), [0.0, 0.0]
    none = {b.name: {"gravity_compensation": 0.0} for b in robot.mechanism.bodies if b.gravity_compensation}
    bare = robot.with_parameters(bodies=none)
    for _ in range(3):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        data.qpos[:], data.qvel[:] = peer.q_to_peer(q), peer.v_to_peer(v, q)
        mujoco.mj_forward(model, data)
        lift, every = (peer.force_from_peer(x.copy(), q) for x in (data.qfrc_gravcomp, data.qfrc_passive))
        ours = robot.passive_forces(q, v)
        assert np.abs(lift).max() > 0.01
        worst[0] = max(worst[0], np.abs(ours - bare.passive_forces(q, v) - lift).max())
        worst[1] = max(worst[1], np.abs(ours - every).max())
    return worst[0], worst[1]


@mujoco_only
def test_forces_are_mujocos(tmp_path: Path) -> None:
    """Of a chain with a spring, and of a free body; again after writing the file and reading it."""
    mujoco = pytest.importorskip("mujoco")
    robot = fb.loads(CHAIN, format="mjcf")
    assert {b.name: b.gravity_compensation for b in robot.mechanism.bodies if b.mass} == {
        "a": 0.7, "b": 1.3, "c": -0.4, "d": 0.0, "f": 1.0}  # fmt: skip
    assert len([x for x in robot.report.notes if x.key == "body@gravcomp"]) == 4
    model = mujoco.MjModel.from_xml_string(CHAIN)
    assert max(compared(model, robot, np.random.default_rng(3))) < 1e-12
    robot.save(file := tmp_path / "again.xml", waive=["coordinates"])
    again = fb.load(file)
    assert max(compared(mujoco.MjModel.from_xml_path(str(file)), again, np.random.default_rng(4))) < 1e-12


@mujoco_only
@pytest.mark.parametrize(("flag", "acts"), [("spring", True), ("gravity", False), ("both", False)])
def test_switches_of_a_file_are_mujocos(flag: str, acts: bool) -> None:
    mujoco = pytest.importorskip("mujoco")
    off = 'spring="disable" damper="disable"' if flag == "both" else f'{flag}="disable"'
    text = CHAIN.replace("<worldbody>", f"<option><flag {off}/></option><worldbody>", 1)
    robot, model = fb.loads(text, format="mjcf"), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.qfrc_gravcomp.any() == acts
    bare = robot.with_parameters(joints={"j": {"stiffness": 0.0, "damping": 0.0}})
    assert bare.passive_forces(robot.neutral(), np.zeros(robot.nv)).any() == acts


@mujoco_only
def test_compensation_by_actuators_is_said() -> None:
    pytest.importorskip("mujoco")
    text = CHAIN.replace('damping=".3"', 'damping=".3" actuatorgravcomp="true" actuatorfrcrange="-1 1"')
    robot = fb.loads(text, format="mjcf")
    assert [x.key for x in robot.report.notes if "without bounds" in x.message] == ["joint@actuatorgravcomp"]
