"""A report card of contacts beside MuJoCo.  python bench/contact.py [--strict] [--out FOLDER]

The same MJCF scenes for all engines, one thread, double precision. Each quantity has a closed form:

    creep      of a block on a slope that its friction holds (mm/s)
    off axis   how much too fast a block slides down a slope that falls at 45° to the axes (%), and off its course (°)
    rolling    where a ball is that slid first (m), over the time of a step, for several steps dt
    momentum   of a free robot whose legs swing (kg m/s), over the time of a step, for several steps dt
    energy     of a table that falls on four feet: the largest growth in a step (J)

Raw numbers go into contact.json, the picture is contact.png. `--strict` exits non-zero where ours misses its bar; one
that is not solved ends it. Tolerances are the default of a scene. Errors of rolling and momentum have to halve with dt.
Of the other engines that pip installs, Pinocchio has solvers of contact problems but no simulator in Python (they are
compared in the tests); Drake and PyBullet are left out.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import mujoco
import numpy as np

import fourbar as fb
from fourbar.contact import MuJoCo, Rigid

mj: Any = mujoco
G = 9.81
STEPS = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)
ENGINES = {
    "fourbar, rigid": ("#0072B2", "o"),
    "fourbar, MuJoCo's law": ("#56B4E9", "s"),
    "MuJoCo, elliptic": ("#D55E00", "^"),
    "MuJoCo, default": ("#E69F00", "v"),
}
BARS = {"creep": 1e-9, "off axis": 1e-6, "course": 1e-6, "energy": 1e-6}
HALVED = {"rolling": 0.1, "momentum": 0.1}  # first order: errors halve with dt, to this part
_ELLIPTIC = 'cone="elliptic" impratio="10" tolerance="1e-12"'
OPTIONS = {"MuJoCo, elliptic": _ELLIPTIC, "fourbar, MuJoCo's law": _ELLIPTIC}


def text(body: str, engine: str, dt: float, floor: str = "", gravity: float = G) -> str:
    """A scene: what is on a floor."""
    option = f'<option timestep="{dt}" gravity="0 0 {-gravity}" {OPTIONS.get(engine, "")}/>'
    plane = f'<geom name="floor" type="plane" size="50 50 1" {floor}/>'
    return f'<mujoco><compiler angle="radian"/>{option}<worldbody>{plane}{body}</worldbody></mujoco>'


class Motion:
    """Positions (rows, nq) and velocities as MuJoCo has them, and CPU seconds per step."""

    def __init__(self, engine: str, scene: str, q: Any, v: Any, dt: float, duration: float, torque: Any = None) -> None:
        self.model = mj.MjModel.from_xml_string(scene)
        steps = round(duration / dt)
        self.t = np.arange(steps + 1) * dt
        run = self._ours if engine.startswith("fourbar") else self._theirs
        self.q, self.v = np.zeros((steps + 1, self.model.nq)), np.zeros((steps + 1, self.model.nv))
        self.q[0], self.v[0] = q, v
        self.cost = run(engine, scene, dt, steps, torque)

    def _theirs(self, engine: str, scene: str, dt: float, steps: int, torque: Any) -> float:
        data, spent = mj.MjData(self.model), 0.0
        data.qpos[:], data.qvel[:] = self.q[0], self.v[0]
        for k in range(steps):
            if torque is not None:
                data.qfrc_applied[6:] = torque(self.t[k])
            start = time.process_time()
            mj.mj_step(self.model, data)
            spent += time.process_time() - start
            self.q[k + 1], self.v[k + 1] = data.qpos, data.qvel
        return spent / steps

    def _ours(self, engine: str, scene: str, dt: float, steps: int, torque: Any) -> float:
        robot = fb.loads(scene, format="mjcf")
        own = fb.Scene(robot, law=Rigid() if "rigid" in engine else MuJoCo())
        q, v = self.q[0].copy(), self.v[0].copy()
        R = robot.pose(q, self.model.body(1).name)[:3, :3]
        v[:6] = [*self.v[0, 3:6], *(R.T @ self.v[0, :3])]
        control = np.zeros((steps, robot.nv))
        if torque is not None:
            control[:, 6:] = [torque(t) for t in self.t[:-1]]
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            run = own.rollout(q, v, control, dt=dt)
            best = min(best, time.process_time() - start)
        if not run.converged.all():
            raise RuntimeError(f"{engine}: contacts were not solved, worst residual {run.worst.max():.1e} m/s")
        self.q[:], self.v[:] = run.q, run.v
        self.v[:, :3] = robot.velocity(run.q, run.v, self.model.body(1).name)[:, 3:]
        self.v[:, 3:6] = run.v[:, :3]
        return best / steps


def block(engine: str, angle: float, direction: float, mu: float, dt: float, duration: float) -> Motion:
    """A block on four balls at its corners, at rest on a slope. It touches to rounding, so that a soft contact is on or
    off at first as rounding has it: motions of the same law differ from there on."""
    n = np.array([np.sin(angle) * np.cos(direction), np.sin(angle) * np.sin(direction), np.cos(angle)])
    half = 0.5 * angle
    turn = [np.cos(half), -np.sin(half) * np.sin(direction), np.sin(half) * np.cos(direction), 0.0]
    way = " ".join(map(str, turn))
    feet = "".join(
        f'<geom name="f{x}{y}" size=".01" pos="{0.1 * (2 * x - 1)} {0.1 * (2 * y - 1)} -.04" friction="{mu} 0 0"/>'
        for x in (0, 1) for y in (0, 1)
    )  # fmt: skip
    inertia = '<inertial pos="0 0 0" mass="1" diaginertia=".0042 .0042 .0067"/>'
    body = f'<body name="block"><freejoint/>{inertia}{feet}</body>'
    scene = text(body, engine, dt, f'quat="{way}" friction="{mu} 0 0"')
    return Motion(engine, scene, [*(0.05 * n), *turn], np.zeros(6), dt, duration)


def creep(engine: str) -> float:
    """mm/s of a block that should stay."""
    run = block(engine, 0.4, 0.0, 0.5, 2e-3, 2.0)
    half = len(run.t) // 2
    return float(1e3 * np.linalg.norm(run.q[-1, :3] - run.q[half, :3]) / (run.t[-1] - run.t[half]))


def off_axis(engine: str) -> tuple[float, float]:
    """How much too fast (%) it slides along 45°, and how far off its course (°)."""
    angle, mu, way = 0.4, 0.25, np.pi / 4
    run = block(engine, angle, way, mu, 2e-3, 1.0)
    down = np.array([np.cos(angle) * np.cos(way), np.cos(angle) * np.sin(way), -np.sin(angle)])
    exact, v = G * (np.sin(angle) - mu * np.cos(angle)), run.v[-1, :3]
    along = float(v @ down)
    return 100.0 * abs(along / exact - 1.0), float(np.degrees(np.arctan2(np.linalg.norm(v - along * down), along)))


def rolling(engine: str, dt: float) -> tuple[float, float]:
    """Where a ball is that slides, then rolls (m off), and seconds per step."""
    v0, mu, T = 2.0, 0.3, 0.8
    ball = f'<body name="ball"><freejoint/><geom name="g" size=".1" mass="1" friction="{mu} 0 0"/></body>'
    run = Motion(engine, text(ball, engine, dt, f'friction="{mu} 0 0"'), [0, 0, 0.1, 1, 0, 0, 0],
                 [v0, 0, 0, 0, 0, 0], dt, T)  # fmt: skip
    t1 = 2.0 * v0 / (7.0 * mu * G)
    exact = v0 * t1 - 0.5 * mu * G * t1**2 + 5.0 / 7.0 * v0 * (T - t1)
    return abs(run.q[-1, 0] - exact), run.cost


def legged(feet: str) -> str:
    """A body with four hinged legs."""
    legs = "".join(
        f'<body name="leg{k}" pos="{x} {y} 0"><joint name="j{k}" axis="0 1 0" damping=".05"/><inertial pos="0 0 -.15" '
        f'mass=".5" diaginertia=".004 .004 .0001"/><geom name="f{k}" size=".02" pos="0 0 -.3" mass="0" {feet}/></body>'
        for k, (x, y) in enumerate(((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)))
    )
    inertia = '<inertial pos="0 0 0" mass="5" diaginertia=".1 .2 .2"/>'
    return f'<body name="base"><freejoint/>{inertia}{legs}</body>'


def momentum(engine: str, dt: float) -> tuple[float, float]:
    """How much linear momentum a robot in free space gains that swings its legs (kg m/s), and seconds per step."""
    scene = text(legged('contype="0"'), engine, dt, gravity=0.0)
    v = np.zeros(10)
    v[:6] = [1.0, 0.5, 0.2, 0.4, -0.3, 0.6]
    run = Motion(engine, scene, [0, 0, 5.0, 1, 0, 0, 0, 0, 0, 0, 0], v, dt, 1.0,
                 lambda t: 0.5 * np.sin(20.0 * t + np.arange(4)))  # fmt: skip
    data = mj.MjData(run.model)

    def linear(k: int) -> np.ndarray:
        data.qpos[:], data.qvel[:] = run.q[k], run.v[k]
        mj.mj_forward(run.model, data)
        mj.mj_subtreeVel(run.model, data)
        return 7.0 * data.subtree_linvel[1]

    return float(np.abs(linear(-1) - linear(0)).max()), run.cost


def energy(engine: str) -> float:
    """The largest growth of energy in a step (J) of a table that falls, slips and lies down."""
    scene = text(legged('friction=".6 0 0" contype="0"'), engine, 1e-3, 'friction=".6 0 0"')
    v = 0.3 * np.random.default_rng(0).normal(size=10)
    run = Motion(engine, scene, [0, 0, 0.4, 1, 0, 0, 0, 0, 0, 0, 0], v, 1e-3, 1.0)
    model, data, found = run.model, mj.MjData(run.model), []
    model.opt.enableflags |= int(mj.mjtEnableBit.mjENBL_ENERGY)
    for q, w in zip(run.q, run.v, strict=True):
        data.qpos[:], data.qvel[:] = q, w
        mj.mj_forward(model, data)
        found.append(data.energy.sum())
    return float(np.diff(found).max())


def measured() -> dict[str, dict[str, Any]]:
    """All numbers, by engine."""
    found: dict[str, dict[str, Any]] = {}
    curves: dict[str, Callable[[str, float], tuple[float, float]]] = {"rolling": rolling, "momentum": momentum}
    for engine in ENGINES:
        fast, course = off_axis(engine)
        own: dict[str, Any] = {"creep": creep(engine), "off axis": fast, "course": course, "energy": energy(engine)}
        for name, of in curves.items():
            rows = [of(engine, dt) for dt in STEPS]
            own[name] = {"dt": STEPS, "error": [x for x, _ in rows], "seconds": [x for _, x in rows]}
        found[engine] = own
        print(f"{engine:>22}: creep {own['creep']:.1e} mm/s, off axis {fast:.1e} % and {course:.1e} deg, "
              f"energy {own['energy']:.1e} J, at 1 ms: rolling {own['rolling']['error'][3]:.1e} m, "
              f"momentum {own['momentum']['error'][3]:.1e} kg m/s", flush=True)  # fmt: skip
    return found


def drawn(found: dict[str, dict[str, Any]], path: Path) -> None:
    """Bars of what should be zero, and curves of error over time."""
    fig, axes = plt.subplots(1, 4, figsize=(17.0, 4.6), layout="constrained")
    titles = {"creep": "creep of a block that\nfriction holds (mm/s)", "off axis": "too fast across\nthe axes (%)"}
    for ax, (name, title) in zip(axes, titles.items(), strict=False):
        for k, (engine, (colour, _)) in enumerate(ENGINES.items()):
            value = max(found[engine][name], 1e-16)
            ax.bar(k, value, color=colour)
            ax.text(k, value, f"{found[engine][name]:.1e}", ha="center", va="bottom", fontsize=8)
        ax.set(title=title, yscale="log", ylim=(1e-17, 1e4), xticks=[])
    curves = {
        "rolling": "place of a ball that slides,\nthen rolls (m)",
        "momentum": "momentum of a free robot\n(kg m/s)",
    }
    for ax, (name, title) in zip(axes[2:], curves.items(), strict=True):
        for engine, (colour, marker) in ENGINES.items():
            own = found[engine][name]
            us = 1e6 * np.array(own["seconds"]) / np.array(own["dt"])
            ax.loglog(us, np.maximum(own["error"], 1e-16), color=colour, marker=marker, label=engine)
        ax.set(title=f"error: {title}", xlabel="CPU µs per simulated second, dt from 8 to 0.5 ms")
        ax.grid(alpha=0.3)
    handles, labels = axes[2].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4)
    fig.savefig(path, dpi=110)
    plt.close(fig)


def main() -> int:
    """Print, keep and draw."""
    warnings.simplefilter("ignore", fb.SimulationWarning)
    arguments = sys.argv[1:]
    folder = Path(arguments[arguments.index("--out") + 1]) if "--out" in arguments else Path("contact_report")
    folder.mkdir(parents=True, exist_ok=True)
    found = measured()
    (folder / "contact.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    drawn(found, folder / "contact.png")
    ours, short = found["fourbar, rigid"], []
    for name, bar in BARS.items():
        short += [f"{name} {ours[name]:.1e} (bar {bar:g})"] if ours[name] > bar else []
    for name, part in HALVED.items():
        ratio = ours[name]["error"][-2] / ours[name]["error"][-1]
        short += [f"{name}: the error falls {ratio:.2f}x with half the step"] if abs(ratio - 2.0) > 2.0 * part else []
    print(f"written to {folder}" + (f"; falls short: {', '.join(short)}" if short else ""))
    return int(bool(short) and "--strict" in arguments)


if __name__ == "__main__":
    sys.exit(main())
