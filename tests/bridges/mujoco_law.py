"""Scenes of MuJoCo's law, and how its forces are compared: in one step from each of many states of a motion."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import fourbar as fb
from fourbar.contact import MuJoCo

mujoco: Any = pytest.importorskip("mujoco")
DT = 0.002
FRICTION, LIMIT, CONTACT = 1, 3, 7  # kinds of MuJoCo's rows
OPTIONS = """<option cone="elliptic" solver="Newton" tolerance="0" iterations="100" ls_tolerance="1e-6" impratio="{}"
 timestep="0.002" jacobian="dense"><flag warmstart="disable"/></option>"""


def world(bodies: str, ratio: float = 1.0, floor: str = "") -> str:
    """A floor and what is on it."""
    plane = f'<geom name="floor" type="plane" size="5 5 1" {floor}/>'
    return f"<mujoco>{OPTIONS.format(ratio)}<worldbody>{plane}{bodies}</worldbody></mujoco>"


def corners(more: tuple[str, str, str, str] = ("", "", "", ""), common: str = "") -> str:
    """A block on four balls, each soft in its own way."""
    places = [(x, y) for x in (0.1, -0.1) for y in (0.1, -0.1)]
    balls = "".join(
        f'<geom name="g{k}" size=".03" pos="{x} {y} -.07" {own} {common}/>'
        for k, ((x, y), own) in enumerate(zip(places, more, strict=True))
    )
    inertia = '<inertial pos=".01 .02 .03" mass="2" diaginertia=".01 .012 .015"/>'
    return f'<body name="block" pos="0 0 .1"><freejoint/>{inertia}{balls}</body>'


def legged(joints: str = "", foot: str = "") -> str:
    """A quadruped of twelve joints with a ball at each foot."""
    legs = ""
    for k, (x, y) in enumerate(((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1))):
        out = 0.06 if y > 0 else -0.06
        legs += f"""<body name="hip{k}" pos="{x} {y} 0"><joint name="a{k}" axis="1 0 0" range="-40 40" {joints}/>
        <inertial pos="0 {out / 2} 0" mass=".6" diaginertia=".001 .001 .0008"/>
        <body name="thigh{k}" pos="0 {out} 0"><joint name="h{k}" axis="0 1 0" range="-60 90" {joints}/>
        <inertial pos="0 0 -.1" mass=".8" diaginertia=".004 .004 .0008"/>
        <body name="shin{k}" pos="0 0 -.2"><joint name="k{k}" axis="0 1 0" range="-150 -30" {joints}/>
        <inertial pos="0 0 -.1" mass=".2" diaginertia=".001 .001 .0001"/>
        <body name="foot{k}" pos="0 0 -.2"><geom name="f{k}" size=".02" mass=".05" contype="0" {foot}/></body>
        </body></body></body>"""
    trunk = '<inertial pos=".01 0 0" mass="6" diaginertia=".05 .1 .12"/>'
    return f'<body name="base" pos="0 0 .35"><freejoint/>{trunk}{legs}</body>'


class Compared(NamedTuple):
    """Over a motion: the largest difference of forces, of all of a step's; that of the states after steps; how many
    contacts pressed and limits acted; and the largest force."""

    force: float
    state: float
    touching: int
    limits: int
    largest: float


def wanted(data: Any, u: np.ndarray) -> np.ndarray:
    """The forces that belong to u = J a - a_ref of all rows, by the definition of MuJoCo's elliptic cones."""
    found, i = np.zeros(data.nefc), 0
    while i < data.nefc:
        kind, R = data.efc_type[i], data.efc_R[i]
        if kind == FRICTION:
            found[i] = np.clip(-u[i] / R, -data.efc_frictionloss[i], data.efc_frictionloss[i])
        elif kind == LIMIT:
            found[i] = max(0.0, -u[i] / R)
        else:
            contact = data.contact[data.efc_id[i]]
            n, mu = contact.dim, contact.mu
            unit = np.array([1.0, *(contact.friction[: n - 1] / mu)])
            w = -u[i : i + n] * unit / R
            size = np.linalg.norm(w[1:])
            edge = (w[0] + mu * size) / (1.0 + mu * mu)
            if mu * size <= -w[0]:
                w = 0.0 * w
            elif size > mu * w[0]:
                w = edge * np.array([1.0, *(mu * w[1:] / size)])
            found[i : i + n] = w * unit
            i += n - 1
        i += 1
    return found


def missed(model: Any, data: Any, force: np.ndarray) -> float:
    """By how much forces of all rows are not those that belong to the accelerations that they make, of the largest."""
    J = data.efc_J.reshape(data.nefc, model.nv)
    answer = np.zeros((data.nefc, model.nv))
    mujoco.mj_solveM(model, data, answer, J.copy())
    u = J @ data.qacc_smooth + J @ (answer.T @ force) - data.efc_aref
    return float(np.abs(wanted(data, u) - force).max() / np.abs(force).max())


class Pair:
    """A scene here and in MuJoCo."""

    def __init__(self, text: str, **more: Any) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        self.robot = fb.loads(text, format="mjcf")
        self.scene = fb.Scene(self.robot, law=MuJoCo(), tolerance=1e-12, **more)

    def put(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        """Put MuJoCo into a state; the first body moves freely."""
        robot, data = self.robot, self.data
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        if self.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
            data.qvel[:3] = robot.velocity(q, v, self.model.body(1).name)[3:]
            data.qvel[3:6] = v[:3]
        mujoco.mj_forward(self.model, data)

    def forces(self) -> dict[str, np.ndarray]:
        """MuJoCo's forces on the second shape of each contact (on the ground the one that moves), in the world."""
        found, six = {}, np.zeros(6)
        for i, contact in enumerate(self.data.contact):
            mujoco.mj_contactForce(self.model, self.data, i, six)
            name = self.model.geom(int(contact.geom[1])).name
            found[name] = contact.frame.reshape(3, 3).T @ six[:3]
        return found

    def compared(self, q: Any, v: Any, steps: int, control: Any = None) -> Compared:
        """Along a motion of ours, each step beside MuJoCo's from the same state."""
        q, v = np.array(q, float), np.array(v, float)
        impulse, still = np.zeros(self.scene.n_impulses), np.zeros(self.robot.nv)
        force = state = largest = 0.0
        touching = limits = 0
        for k in range(steps):
            tau = still if control is None else control(k, q, v)
            self.put(q, v, tau)
            theirs = self.forces()
            limits += int((self.data.efc_type == LIMIT).sum())
            mujoco.mj_Euler(self.model, self.data)
            after = self.scene.step(q, v, tau, dt=DT, impulse=impulse)
            size = max([np.abs(x).max() for x in theirs.values()], default=0.0)
            for name, own in zip(self.scene.contacts, after.force, strict=True):
                off = np.abs(own - theirs.get(name, np.zeros(3))).max()
                force = max(force, off / max(size, 1e-6))
            state = max(state, float(np.abs(after.q - self.data.qpos).max()))
            touching, largest = touching + sum(bool(x.any()) for x in theirs.values()), max(largest, size)
            q, v, impulse = after.q, after.v, after.impulse
        return Compared(force, state, touching, limits, largest)
