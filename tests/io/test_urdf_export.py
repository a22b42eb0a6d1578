"""Exported URDF, as Pinocchio and our own loader read it: the same dynamics."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import fourbar as fb
from fourbar.io.export.written_numbers import rpy
from fourbar.io.formats import FORMATS
from fourbar.io.numbers import quaternion
from fourbar.joints import Free, Helical, Prismatic, Revolute, Spherical
from fourbar.loops import Closure
from fourbar.mechanism.geometry import Geometry
from fourbar.spatial.linear import Mat
from fourbar.spatial.rotation import quaternion_matrix
from fourbar.spatial.transform import Transform

from .exported import arm, floating_arm, geared_arm, tree

ROBOTS = {
    "arm": arm,
    "floating": floating_arm,
    **{f"tree{i}": lambda i=i: tree(i, placed=True) for i in range(4)},
    "floating_tree": lambda: tree(9, floating=True),
}
EACH = pytest.mark.parametrize("name", list(ROBOTS))


def written(robot: fb.System) -> tuple[str, fb.Report]:
    return FORMATS["urdf"].write(robot.mechanism, "robot.urdf")


def joint_names(robot: fb.System) -> list[tuple[str, Any, slice, slice]]:
    """For each joint of the file: its name, ours, and where its coordinates and velocities are in q and v."""
    found, at_q, at_v = [], 0, 0
    for c in robot.model.cluster_tree.moving:
        if isinstance(c.joint, Free):
            found.append((c.name, c.joint, slice(at_q, at_q + 7), slice(at_v, at_v + 6)))
        else:
            names = [c.name] if c.joint.nv == 1 else [f"{c.name}_{i + 1}" for i in range(c.joint.nv)]
            found += [
                (n, c.joint, slice(at_q + i, at_q + i + 1), slice(at_v + i, at_v + i + 1)) for i, n in enumerate(names)
            ]
        at_q, at_v = at_q + c.joint.nq, at_v + c.joint.nv
    return found


class Pin:
    """Pinocchio's model of a text, and our states as its own."""

    def __init__(self, robot: fb.System, text: str) -> None:
        self.pin = pytest.importorskip("pinocchio")
        self.robot, self.model = robot, self.pin.buildModelFromXML(text)
        self.model.gravity.linear = np.array(robot.gravity)
        self.data = self.model.createData()

    def q(self, q: np.ndarray) -> np.ndarray:
        out = np.zeros(self.model.nq)
        for name, joint, at, _ in joint_names(self.robot):
            j = self.model.joints[self.model.getJointId(name)]
            own = q[at]
            if isinstance(joint, Free):
                own = own[[0, 1, 2, 4, 5, 6, 3]]
            elif j.nq == 2:
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            out[j.idx_q : j.idx_q + j.nq] = own
        return out

    def order(self) -> np.ndarray:
        """Which of its velocities each of ours is."""
        found = []
        for name, joint, _, _ in joint_names(self.robot):
            first = self.model.joints[self.model.getJointId(name)].idx_v
            found += [first + i for i in ((3, 4, 5, 0, 1, 2) if isinstance(joint, Free) else (0,))]
        return np.array(found)


@pytest.mark.default_cases("arm", "floating", "tree0")
@pytest.mark.peers
@EACH
def test_pinocchio_reads_the_same_robot(name: str) -> None:
    robot = ROBOTS[name]()
    armature = any(any(c.armature) for c in robot.mechanism.joints)
    text, _ = written(robot.with_parameters(joints={c.name: {"armature": 0.0} for c in robot.mechanism.joints}))
    peer = Pin(robot, text)
    order, rng = peer.order(), np.random.default_rng(0)
    assert peer.model.nv == robot.nv and sorted(order) == list(range(robot.nv))
    bare = (
        robot.with_parameters(joints={c.name: {"armature": 0.0} for c in robot.mechanism.joints}) if armature else robot
    )
    for _ in range(3):
        q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
        theirs = [np.empty(robot.nv) for _ in range(2)]
        theirs[0][order], theirs[1][order] = v, a
        tau = peer.pin.rnea(peer.model, peer.data, peer.q(q), *theirs)[order]
        expected = bare.inverse_dynamics(q, v, a)
        assert np.abs(tau - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())
        M = peer.pin.crba(peer.model, peer.data, peer.q(q))
        M = np.triu(M) + np.triu(M, 1).T
        assert np.abs(M[np.ix_(order, order)] - bare.mass_matrix(q)).max() <= 1e-12 * np.abs(M).max()
        peer.pin.framesForwardKinematics(peer.model, peer.data, peer.q(q))
        frame = robot.names.frames[0]
        T = peer.data.oMf[peer.model.getFrameId(frame)].homogeneous
        assert np.abs(T - robot.pose(q, frame)).max() < 1e-12


needs_reader = pytest.mark.skipif(not FORMATS["urdf"].reader, reason="there is no reader of URDF")


@pytest.mark.default_cases("arm", "floating", "tree0")
@needs_reader
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
@EACH
def test_our_loader_reads_the_same_robot(name: str, tmp_path: Path) -> None:
    robot = ROBOTS[name]()
    file = tmp_path / "robot.urdf"
    robot.save(file)
    again = fb.load(file).with_gravity(robot.gravity)
    assert again.nv == robot.nv and again.nq == robot.nq
    rng = np.random.default_rng(0)
    q, v, a = robot.random(rng, 4), *rng.normal(size=(2, 4, robot.nv))
    names = [n for n, _, at, _ in joint_names(robot) for _ in range(at.stop - at.start)]
    theirs = [x.split(".")[0] for x in again.names.coordinates]
    order = [i for x in dict.fromkeys(theirs) for i, n in enumerate(names) if n == x]
    names_v = [n for n, _, _, at in joint_names(robot) for _ in range(at.stop - at.start)]
    order_v = [i for x in dict.fromkeys(theirs) for i, n in enumerate(names_v) if n == x]
    tau, expected = again.inverse_dynamics(q[:, order], v[:, order_v], a[:, order_v]), robot.inverse_dynamics(q, v, a)
    assert np.abs(tau - expected[:, order_v]).max() <= 1e-12 * np.abs(expected).max()
    tool = robot.names.frames[0]
    assert np.abs(again.pose(q[:, order], tool) - robot.pose(q, tool)).max() < 1e-12


@needs_reader
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_parameters_come_back(tmp_path: Path) -> None:
    arm().save(tmp_path / "arm.urdf")
    again = {c.name: c for c in fb.load(tmp_path / "arm.urdf").mechanism.joints}
    for c in arm().mechanism.joints:
        for key in ("damping", "friction", "lower", "upper", "max_force", "max_velocity"):
            assert getattr(again[c.name], key) == getattr(c, key)


@needs_reader
@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
def test_gears_are_mimics(tmp_path: Path) -> None:
    robot = geared_arm()
    robot.save(tmp_path / "a.urdf")
    again = fb.load(tmp_path / "a.urdf")
    assert again.names.velocities == robot.names.velocities
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 5, robot.nv))
    expected = robot.inverse_dynamics(q, v, a)
    assert np.abs(again.inverse_dynamics(q, v, a) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_mimics_and_loops_are_written() -> None:
    root = ET.fromstring(written(geared_arm())[0])
    mimics = {j.get("name"): dict(j.find("mimic").attrib) for j in root.iter("joint") if j.find("mimic") is not None}
    assert mimics["rotor"] == {"joint": "shoulder", "multiplier": "9.0", "offset": "0.0"}
    assert mimics["right"] == {"joint": "left", "multiplier": "-1.0", "offset": "0.01"}
    bars = ET.fromstring(written(fb.robots.four_bar())[0])
    loop = bars.find("loop")
    assert loop.get("type") == "revolute" and loop.find("predecessor").get("link") in fb.robots.four_bar().names.bodies


def test_armature_is_a_transmission() -> None:
    b = fb.Builder("a").body("a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1), armature=0.125)
    text, report = written(b.build())
    assert ET.fromstring(text).find("transmission/joint/rotorInertia").text == "0.125"
    assert "the armature is written as the rotor of a transmission" in str(report)
    if FORMATS["urdf"].reader:
        assert fb.loads(text, format="urdf").mechanism.joints[0].armature == (0.125,)


def test_actuators_are_transmissions() -> None:
    b = fb.Builder("a").body("a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1), armature=0.125)
    b.body("b", parent="a", joint=Revolute("y"), mass=1, inertia=(1, 1, 1))
    b.actuator("m", drives="a", gear=50.0).actuator("n", drives="b", force_range=(-1, 1))
    b.actuator("t", drives={"a": 1.0, "b": 2.0})
    robot = b.build()
    text, report = written(robot)
    assert "actuator 't': left out" in str(report) and "actuator 'n': ranges" in str(report)
    if FORMATS["urdf"].reader:
        again = fb.loads(text, format="urdf")
        assert again.actuators == (robot.actuators[0], fb.Actuator("n", robot.actuators[1].drives))
        assert again.mechanism.joints[0].armature == (0.125,)


def test_shapes() -> None:
    shapes = [
        Geometry("box", (0.1, 0.2, 0.3), colour=(1.0, 0.5, 0.0, 1.0)), Geometry("sphere", (0.1,), role="collision"),
        Geometry("cylinder", (0.1, 0.2)), Geometry("capsule", (0.1, 0.2)), Geometry("ellipsoid", (0.1, 0.2, 0.3)),
        Geometry("mesh", mesh="package://a/b.stl", scale=(1.0, -1.0, 1.0), name="shell"), Geometry("plane"),
    ]  # fmt: skip
    b = fb.Builder("a").body("a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1), geometry=shapes)
    text, report = written(b.build())
    assert "a plane is left out" in str(report)
    assert [e.tag for e in ET.fromstring(text).find("link[@name='a']")][1:] == ["visual", "collision", *["visual"] * 4]
    if FORMATS["urdf"].reader:
        again = fb.loads(text, format="urdf").mechanism.bodies[-1].geometry
        assert sorted(again, key=repr) == sorted(shapes[:-1], key=repr)


def test_what_is_left_out_is_reported() -> None:
    b = fb.Builder("a", gravity=(0, 0, -1.6))
    b.body("a", joint=fb.joints.Universal("x", "y"), mass=1, com=(0, 0, 0.3), inertia=(1, 1, 1), stiffness=2.0)
    report = str(written(b.frame("f", "a").configuration("c", {"a": (0, 0)}).build())[1])
    for words in ("frames are written as massless links", "gravity (0.0, 0.0, -1.6)", "configurations are left out",
                  "'a': written as 2 joints in series", "'a': the spring is left out"):  # fmt: skip
        assert words in report


def test_what_would_change_the_dynamics_is_refused() -> None:
    b = fb.Builder("odd")
    b.body("a", joint=Spherical(), mass=1, inertia=(1, 1, 1))
    b.body("b", parent="a", joint=Helical("z", pitch=0.1), joint_name="screw", mass=1, inertia=(1, 1, 1))
    b.body("c", joint=Free(), mass=1, inertia=(1, 1, 1), armature=1.0)
    b.body("d", joint=Prismatic("z"), mass=1).body("e", joint=Prismatic("z"), mass=1)
    b.loop(Closure(Helical("z", 0.1), "d", "e"), name="nut")
    with pytest.raises(fb.ModelError) as caught:
        b.build().save("odd.urdf")
    words = str(caught.value)
    assert words.startswith("odd.urdf: URDF cannot express: joint 'a', a Spherical; joint 'c': the armature")
    assert "loop 'nut', a Closure (robot.spanning() has no loops)" in words and not Path("odd.urdf").exists()
    b = fb.Builder("bad").body("a\x01", joint=Revolute("z"), mass=1, inertia=(1, 1, 1))
    with pytest.raises(fb.ModelError, match="has characters that XML cannot represent"):
        b.build().save("bad.urdf")
    b = fb.Builder("twice")
    for name in ("a", "b", "c"):
        b.body(name, joint=Revolute("z"), mass=1, inertia=(1, 1, 1))
    b.loop(fb.loops.Gear("a", "c", 2.0)).loop(fb.loops.Gear("b", "c", 2.0))
    assert "coupling" in written(b.build())[0]
    assert isinstance(fb.robots.four_bar().mechanism.loops[0].loop, Closure)


@pytest.mark.parametrize("pitch", [0.0, 0.3, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-13, np.pi / 2 - 1e-9, -1.5707963])
def test_angles_and_quaternions(pitch: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        place = fb.Builder().body("a", rpy=(rng.normal(), pitch, rng.normal())).mechanism().joints[0].placement
        T = Transform.of(Mat.of(place.rotation), (0.0, 0.0, 0.0))
        back = fb.Builder().body("a", rpy=rpy(T)).mechanism().joints[0].placement
        assert np.abs(np.array(back.rotation) - np.array(place.rotation)).max() < 3e-15
        assert np.abs(np.array(quaternion_matrix(quaternion(T.R)), float) - np.array(place.rotation)).max() < 3e-15
