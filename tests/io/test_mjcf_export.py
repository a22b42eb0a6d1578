"""Exported MJCF, as MuJoCo compiles it: the same mass matrix and bias, and loops that are closed where ours are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.io.formats import FORMATS
from fourbar.joints import Composite, Free, Joint, Prismatic, Revolute, Spherical
from fourbar.joints.registry import _PLACED
from fourbar.mechanism.geometry import Geometry
from tests.algorithms.mechanisms import random_inertia, random_rotation
from tests.loops import looped

from .exported import PLAIN, arm, floating_arm, geared_arm

mujoco = pytest.importorskip("mujoco")


def tree(seed: int, ball: bool = False, floating: bool = False) -> fb.System:
    """A random tree with mass everywhere, as MuJoCo wants it."""
    rng = np.random.default_rng(seed)
    joints: list[Joint] = [PLAIN[i] for i in rng.choice(len(PLAIN), 6, replace=False)]
    joints = [*joints, Spherical()] if ball else joints
    b = fb.Builder(f"tree{seed}", gravity=9.81 * random_rotation(rng, generic=True)[0])
    names = ["world"]
    if floating:
        b.body("base", joint=Free(), mass=3.0, com=(0.1, 0.2, 0), inertia=random_inertia(rng, 3.0))
        names = ["base"]
    for i, joint in enumerate(joints):
        limits = ([-2, -0.8, -2], [2, 0.8, 2]) if joint.nq == 3 else None
        b.body(
            f"b{i}", parent=names[int(rng.integers(len(names)))], joint=joint, joint_name=f"j{i}",
            position=0.3 * rng.normal(size=3), rotation=random_rotation(rng), mass=1.0 + i,
            com=0.1 * rng.normal(size=3), inertia=random_inertia(rng, 1.0 + i), armature=0.05 if i % 2 else 0.0,
            limits=limits,
        )  # fmt: skip
        names.append(f"b{i}")
    b.body("lamp", parent=names[-1], position=(0, 0, 0.1), mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
    return b.frame("tip", "lamp", position=(0.1, 0, 0), rpy=(0.1, 0.2, 0.3)).build()


ROBOTS = {
    "arm": arm,
    "floating_arm": floating_arm,
    **{f"tree{i}": lambda i=i: tree(i) for i in range(3)},
    "ball": lambda: tree(5, ball=True),
    "floating": lambda: tree(6, ball=True, floating=True),
    "geared": lambda: geared_arm().spanning(),
}


class Compiled:
    """MuJoCo's model of a robot, and our states as its own."""

    def __init__(self, robot: fb.System) -> None:
        text, self.report = FORMATS["mjcf"].write(robot.mechanism, "robot.xml")
        self.robot, self.model = robot, mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    def places(self) -> list[tuple[Joint, str, int, int, int, int]]:
        """For each joint of the file: ours, its name, and the first coordinate and velocity here and there."""
        found, at_q, at_v = [], 0, 0
        for c in self.robot.model.cluster_tree.moving:
            whole = isinstance(c.joint, Free | Spherical) or c.joint.nv == 1
            names = [c.name] if whole else [f"{c.name}_{i + 1}" for i in range(c.joint.nv)]
            for i, name in enumerate(names):
                j = self.model.joint(name)
                found.append((c.joint, name, at_q + i, at_v + i, int(j.qposadr[0]), int(j.dofadr[0])))
            at_q, at_v = at_q + c.joint.nq, at_v + c.joint.nv
        return found

    def set(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Our state into the data; returns N with qvel = N v."""
        N = np.zeros((self.model.nv, self.robot.nv))
        for joint, _, q0, v0, q1, v1 in self.places():
            if isinstance(joint, Free):
                self.data.qpos[q1 : q1 + 7] = q[q0 : q0 + 7]
                R = self.robot.pose(q, self.robot.names.bodies[0])[:3, :3]
                N[v1 : v1 + 3, v0 + 3 : v0 + 6], N[v1 + 3 : v1 + 6, v0 : v0 + 3] = R, np.eye(3)
            elif isinstance(joint, Spherical):
                self.data.qpos[q1 : q1 + 4] = q[q0 : q0 + 4]
                N[v1 : v1 + 3, v0 : v0 + 3] = np.eye(3)
            else:
                self.data.qpos[q1], N[v1, v0] = q[q0], 1.0
        self.data.qvel[:] = N @ v
        mujoco.mj_forward(self.model, self.data)
        return N

    def mass_matrix(self) -> np.ndarray:
        M = np.zeros((self.model.nv, self.model.nv))
        for i in range(self.model.nv):  # M e_i by inverse dynamics without bias: independent of how M is stored
            e = np.zeros(self.model.nv)
            e[i] = 1.0
            mujoco.mj_mulM(self.model, self.data, M[i], e)
        return M


@pytest.mark.peers
@pytest.mark.parametrize("name", list(ROBOTS))
def test_mujoco_compiles_the_same_robot(name: str) -> None:
    robot = ROBOTS[name]()
    peer = Compiled(robot)
    assert peer.model.nv == robot.nv
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        N = peer.set(q, v)
        M = robot.mass_matrix(q)
        assert np.abs(N.T @ peer.mass_matrix() @ N - M).max() <= 1e-12 * np.abs(M).max()
        if not any(isinstance(c.joint, Free) for c in robot.mechanism.joints):
            bias = robot.bias_force(q, v)
            assert np.abs(N.T @ peer.data.qfrc_bias - bias).max() <= 1e-11 * max(1.0, np.abs(bias).max())
        else:  # there the linear velocity is in the world: a world acceleration of zero is ω × v less in the body
            w, u = v[:3], v[3:6]
            a = np.zeros(robot.nv)
            a[3:6] = -np.cross(w, u)
            tau = robot.inverse_dynamics(q, v, a)
            assert np.abs(N.T @ peer.data.qfrc_bias - tau).max() <= 1e-11 * max(1.0, np.abs(tau).max())
        for frame in robot.names.frames:
            T = robot.pose(q, frame)
            assert np.abs(peer.data.site(frame).xpos - T[:3, 3]).max() < 1e-12
            assert np.abs(peer.data.site(frame).xmat.reshape(3, 3) - T[:3, :3]).max() < 1e-12


@pytest.mark.peers
@pytest.mark.parametrize("name", ["four_bar", "differential_free", "geared_arm", "nested"])
def test_loops_are_closed_where_ours_are(name: str) -> None:
    if name == "geared_arm":
        robot = geared_arm()
    else:
        robot = looped.mechanism(name.removesuffix("_free"))
        robot = robot.sub(to=["tilt", "roll", "left", "right", "motor"]) if name.endswith("free") else robot
    robot = robot.with_parameters(bodies={b.name: {"inertia": (0.1, 0.1, 0.1)} for b in robot.mechanism.bodies})
    peer = Compiled(robot)
    assert "equalities, which MuJoCo enforces softly" in str(peer.report)
    q = robot.random(3)
    full = np.asarray(robot.expand(q))
    for c, x in zip(robot.model.cluster_tree.moving, full, strict=True):
        peer.data.qpos[peer.model.joint(c.name).qposadr[0]] = x
    mujoco.mj_forward(peer.model, peer.data)
    equal = peer.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    assert equal.sum() >= len(robot.mechanism.loops)
    assert np.abs(peer.data.efc_pos[equal]).max() < 1e-10
    J = np.zeros((peer.data.nefc, peer.model.nv))
    J[:] = peer.data.efc_J.reshape(peer.data.nefc, peer.model.nv) if peer.data.efc_J.size == J.size else _dense(peer)
    v = np.zeros(peer.model.nv)
    for c, x in zip(robot.model.cluster_tree.moving, robot.expand_velocity(q, np.ones(robot.nv)), strict=True):
        v[peer.model.joint(c.name).dofadr[0]] = x
    assert np.abs(J[equal] @ v).max() < 1e-10  # our velocities keep its equalities
    rank = np.linalg.matrix_rank(J[equal], tol=1e-9)
    assert peer.model.nv - rank == robot.nv  # and it leaves no more freedom than ours


def _dense(peer: Compiled) -> np.ndarray:
    d = peer.data
    J = np.zeros((d.nefc, peer.model.nv))
    for i in range(d.nefc):
        at = slice(d.efc_J_rowadr[i], d.efc_J_rowadr[i] + d.efc_J_rownnz[i])
        J[i, d.efc_J_colind[at]] = d.efc_J[at]
    return J


@pytest.mark.filterwarnings("ignore::fourbar.FileWarning")
@pytest.mark.parametrize("name", ["arm", "tree0", "ball"])
def test_our_loader_reads_the_same_robot(name: str, tmp_path: Path) -> None:
    robot = ROBOTS[name]()
    robot.save(tmp_path / "robot.xml", format="mjcf")
    again = fb.load(tmp_path / "robot.xml")
    peer = Compiled(robot)
    rng = np.random.default_rng(1)
    q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
    N = peer.set(q, v)
    expected = robot.inverse_dynamics(q, v, a)
    tau = N.T @ again.inverse_dynamics(peer.data.qpos.copy(), N @ v, N @ a)
    assert np.abs(tau - expected).max() <= 1e-11 * np.abs(expected).max()


def write(b: fb.Builder) -> tuple[str, fb.Report]:
    return FORMATS["mjcf"].write(b.mechanism(), "a.xml")


def test_parameters_and_shapes() -> None:
    shapes = [
        Geometry("box", (0.2, 0.4, 0.6), colour=(1.0, 0.5, 0.0, 1.0)), Geometry("sphere", (0.1,), role="collision"),
        Geometry("cylinder", (0.1, 0.2)), Geometry("capsule", (0.1, 0.2)), Geometry("ellipsoid", (0.1, 0.2, 0.3)),
        Geometry("mesh", mesh="b.stl"), Geometry("plane"), Geometry("box", (0.0, 1.0, 1.0)),
    ]  # fmt: skip
    b = fb.Builder("a").body(
        "a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1), damping=0.5, friction=0.25, armature=0.1, limits=(-1, 2),
        stiffness=3.0, rest=0.4, max_force=7.0, max_velocity=3.0, geometry=shapes,
    )  # fmt: skip
    text, report = write(b.configuration("c", {"a": 0.1}))
    m = mujoco.MjModel.from_xml_string(text)
    assert (m.dof_damping[0], m.dof_frictionloss[0], m.dof_armature[0], m.jnt_stiffness[0]) == (0.5, 0.25, 0.1, 3.0)
    assert m.jnt_range[0].tolist() == [-1, 2] and m.jnt_actfrcrange[0].tolist() == [-7, 7] and m.qpos_spring[0] == 0.4
    assert m.ngeom == 5 and m.geom_size[0].tolist() == [0.1, 0.2, 0.3] and m.geom_contype.tolist() == [0, 1, 0, 0, 0]
    for words in (
        "a mesh is left out",
        "a plane is left out",
        "a box of zero size",
        "velocity limit",
        "configurations",
    ):
        assert words in str(report)


REFUSED: list[tuple[Any, str]] = [
    ({"joint": Composite(Revolute("z"), _PLACED, Prismatic("x")), "mass": 1, "inertia": (1, 1, 1)}, "with placements"),
    ({"joint": Revolute("z"), "mass": 1}, "'a': mass or moments below MuJoCo's minimum"),
    ({"joint": Revolute("z")}, "body 'a', which moves but is massless"),
    (
        {"joint": Free(), "mass": 1, "inertia": (1, 1, 1), "parent": "w"},
        "a free joint that is not attached to the world",
    ),
    ({"joint": Free(), "mass": 1, "inertia": (1, 1, 1), "armature": 1}, "the armature of a free joint"),
    ({"joint": Spherical(), "mass": 1, "inertia": (1, 1, 1), "armature": (1, 2, 3)}, "armature that is not the same"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[w for _, w in REFUSED])
def test_what_would_change_the_dynamics_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(fb.ModelError, match=f"a.xml: MJCF cannot express: .*{words}"):
        write(fb.Builder("a").body("w", mass=1, inertia=(1, 1, 1)).body("a", **arguments))


def test_loops_that_cannot_be_said() -> None:
    with pytest.raises(fb.ModelError, match="loop 'rolls', a Constraint"):
        FORMATS["mjcf"].write(looped.mechanism("written").mechanism, "a.xml")


def test_what_is_left_out_of_many_joints_is_reported_once(tmp_path: Path) -> None:
    b = fb.Builder("arm")
    for i in range(8):
        b.body(f"b{i}", parent=f"b{i - 1}" if i else "world", joint=Revolute("z"), mass=1.0, inertia=(1, 1, 1),
               max_velocity=3.0)  # fmt: skip
    robot = b.build()
    (finding,) = robot.save(tmp_path / "arm.xml").warnings
    assert "joints 'b0', 'b1', 'b2', 'b3', 'b4' and 3 more: the velocity limit is left out" in str(finding)
    one = fb.Builder("arm").body("b0", joint=Revolute("z"), mass=1.0, inertia=(1, 1, 1), max_velocity=3.0).build()
    (finding,) = one.save(tmp_path / "one.xml").warnings
    assert "joint 'b0': the velocity limit is left out" in str(finding)
