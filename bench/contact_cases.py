"""Robots on a floor, ours and MuJoCo's: the same bodies, foot spheres, motors and forces.

ANYmal C, Go1 and G1 are those of example-robot-data, with the spheres that their files have at the feet. Cassie is two
of `fourbar.robots.cassie_leg` on a pelvis, with loops as exact constraints here and as equality constraints there.
Joint limits and dry friction are left out on both sides.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import fourbar as fb
from fourbar.contact import Shape
from robots import robot_folder

mj: Any = mujoco  # whose names type checkers do not see
FRICTION, TOLERANCE, DT = 0.7, 1e-8, 2e-3


@dataclass(frozen=True)
class Case:
    """A robot, its foot spheres, where it stands, how far its joints swing (rad), and the bar."""

    name: str
    robot: fb.System
    feet: tuple[Shape, ...]
    bent: tuple[tuple[str, float], ...]
    swing: float
    bar: float

    def scene(self) -> fb.Scene:
        """The robot on a plane."""
        return fb.Scene(self.robot, fb.Plane(friction=FRICTION), contacts=list(self.feet), limits=False,
                        joint_friction=False, tolerance=TOLERANCE)  # fmt: skip

    def stance(self, scene: fb.Scene) -> np.ndarray:
        """Legs bent, feet 1 cm above the floor."""
        q = self.robot.neutral()
        for i, name in enumerate(self.robot.names.coordinates):
            for part, angle in self.bent:
                q[i] = angle if re.search(part, name) else q[i]
        q = scene.start(self.robot.assemble(q) if self.robot.mechanism.loops else q)
        q[2] += 0.01
        return q


def from_urdf(file: str) -> fb.System:
    """A floating robot of example-robot-data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fb.load(robot_folder() / file, floating=True)


def foot_spheres(robot: fb.System) -> tuple[Shape, ...]:
    """The spheres that collide in the robot's file."""
    return tuple(
        Shape(body.name, "sphere", x.size[0], x.placement.position)
        for body in robot.mechanism.bodies for x in body.geometry if x.role == "collision" and x.kind == "sphere"
    )  # fmt: skip


def anymal() -> Case:
    robot = from_urdf("anymal_c_simple_description/urdf/anymal.urdf")
    bent = (("F_HFE", 0.4), ("F_KFE", -0.8), ("H_HFE", -0.4), ("H_KFE", 0.8))
    return Case("ANYmal C", robot, foot_spheres(robot), bent, 0.3, 12.0)


def go1() -> Case:
    robot = from_urdf("go1_description/urdf/go1.urdf")
    return Case("Go1", robot, foot_spheres(robot), (("thigh", 0.8), ("calf", -1.6)), 0.3, 12.0)


def g1() -> Case:
    robot = from_urdf("g1_description/urdf/g1_29dof_rev_1_0.urdf")
    bent = (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3))
    return Case("G1", robot, foot_spheres(robot), bent, 0.2, 8.0)


def cassie() -> Case:
    b = fb.Builder("cassie")
    b.body("pelvis", joint=fb.joints.Free(), mass=10.3, inertia=(0.09, 0.08, 0.06))
    leg = fb.robots.cassie_leg()
    robot = b.build().attach(leg, "pelvis", position=(0.0, 0.13, 0.0), prefix="left_")
    robot = robot.attach(leg.mirrored("y"), "pelvis", position=(0.0, -0.13, 0.0), prefix="right_")
    feet = tuple(
        Shape(f"{side}_foot", "sphere", 0.02, (x, 0.0, -0.02)) for side in ("left", "right") for x in (-0.06, 0.12)
    )
    return Case("Cassie", robot, feet, (), 0.2, 8.0)


CASES: dict[str, Callable[[], Case]] = {"anymal": anymal, "go1": go1, "g1": g1, "cassie": cassie}


def peer_model(case: Case, options: str = "") -> Any:
    """The same robot in MuJoCo: static bodies fused, a motor for each independent velocity of a joint, no shapes but
    the feet and the floor; options as MJCF writes them."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder) / "robot.xml"
        case.robot.save(file)
        text = file.read_text(encoding="utf-8")
    text = re.sub(r"<geom[^>]*/>", "", text)
    text = re.sub(r"<asset>.*?</asset>|<actuator>.*?</actuator>|<contact>.*?</contact>", "", text, flags=re.S)
    text = re.sub(r' (range|frictionloss|limited)="[^"]*"', "", text)
    for body in dict.fromkeys(foot.frame for foot in case.feet):
        own = "".join(_ball(foot) for foot in case.feet if foot.frame == body)
        text = re.sub(
            rf'(<body name="{body}"[^>]*?)(/?)>',
            lambda m, own=own: m[1] + (">" + own + "</body>" if m[2] else ">" + own),
            text,
        )
    floor = f'<geom type="plane" size="0 0 1" friction="{FRICTION} 0.005 0.0001" contype="2" conaffinity="1"/>'
    text = text.replace("<worldbody>", f"<worldbody>{floor}").replace("<compiler ", '<compiler fusestatic="true" ')
    motors = "".join(f'<motor joint="{name}"/>' for name in case.robot.names.velocities[6:])
    text = text.replace("</mujoco>", f'<option timestep="{DT}" {options}/><actuator>{motors}</actuator></mujoco>')
    return mj.MjModel.from_xml_string(text)


def _ball(foot: Shape) -> str:
    position = " ".join(map(str, foot.position))
    return (
        f'<geom type="sphere" size="{foot.size[0]}" pos="{position}" friction="{FRICTION} 0.005 0.0001" contype="1" '
        'conaffinity="2"/>'
    )


def peer_state(case: Case, model: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Our states (n, ...) as MuJoCo's: time, positions by joint, velocities (linear in the world, angular in the
    body)."""
    robot = case.robot
    state = np.zeros((len(q), mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS)))
    root = robot.mechanism.joints[0].child
    names, speeds = robot.names.coordinates, robot.names.velocities
    for j in range(model.njnt):
        at, dof = 1 + model.jnt_qposadr[j], 1 + model.nq + model.jnt_dofadr[j]
        if model.jnt_type[j] == mj.mjtJoint.mjJNT_FREE:
            state[:, at : at + 7] = q[:, :7]
            state[:, dof : dof + 3] = robot.velocity(q, v, root)[:, 3:]
            state[:, dof + 3 : dof + 6] = v[:, :3]
            continue
        name = model.joint(j).name
        state[:, at] = q[:, names.index(name)]
        state[:, dof] = v[:, speeds.index(name)] if name in speeds else 0.0
    return state


def lumped(case: Case) -> Case:
    """The same with one body per joint, since some engines give mass to what has none. Inertias that no body can have
    become round; shapes are left out, feet stay."""
    robot = case.robot
    tree = robot.model.cluster_tree
    firsts = [c.child for c in tree.moving]  # whose frames are those of the new bodies

    def seen(body: str) -> tuple[np.ndarray, np.ndarray]:
        """Where a body is in the new body that it belongs to."""
        link, pose = tree.bodies[body]
        own = tree.bodies[firsts[link]].pose.inverse().then(pose)
        return np.array(own.R, float), np.array(own.p, float)

    b = fb.Builder(robot.name)
    for k, joint in enumerate(tree.moving):
        parts = [(x.mass, *seen(x.name), x) for x in robot.mechanism.bodies if tree.bodies[x.name].link == k]
        mass = sum(m for m, *_ in parts)
        com = sum(m * (p + R @ np.array(x.com)) for m, R, p, x in parts) / mass
        inertia = np.zeros((3, 3))
        for m, R, p, x in parts:
            r = p + R @ np.array(x.com) - com
            inertia += R @ np.array(x.inertia) @ R.T + m * (r @ r * np.eye(3) - np.outer(r, r))
        e = np.linalg.eigvalsh(inertia)
        inertia = inertia if e[0] > 0.0 and e[0] + e[1] > 1.001 * e[2] else e.sum() / 3.0 * np.eye(3)
        at, parent = joint.placement, tree.spanning_tree.parents[k]
        R, p = seen(joint.parent) if parent >= 0 else (np.eye(3), np.zeros(3))
        b.body(
            f"body{k}", parent="world" if parent < 0 else f"body{parent}", joint=joint.joint, joint_name=joint.name,
            position=p + R @ np.array(at.position), rotation=R @ np.array(at.rotation), mass=mass, com=com,
            inertia=inertia,
        )  # fmt: skip
    feet = []
    for x in case.feet:
        R, p = seen(x.frame)
        feet.append(Shape(f"body{tree.bodies[x.frame].link}", "sphere", x.size[0], p + R @ np.array(x.position)))
    return replace(case, robot=b.build(), feet=tuple(feet))
