"""A quadruped that moves on a floor, beside `mujoco.rollout`.  python bench/contact_rollout.py [--strict]

ANYmal of example-robot-data, a sphere at each foot, a plane; joint forces from the same array for both, those of a PD
law that lets the legs swing. One thread, a batch of 1024, double precision, both sides in turns in one process: the
time of a step is CPU time, the least of all turns. Ours is solved to 1e-8 m/s in every sample, which is checked.

`--strict` exits non-zero where a row falls short of its bar.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")

import mujoco.rollout
import numpy as np

import fourbar as fb
from fourbar.contact import Shape
from robots import robot_folder

mj: Any = mujoco  # whose names type checkers do not see
BATCH, STEPS, DT = 1024, 200, 2e-3
FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
RADIUS, FRICTION, TOLERANCE = 0.02, 0.7, 1e-8
BARS = {"batch": 12.0, "one state, one step": 3.0}


def quadruped() -> fb.System:
    """ANYmal, floating."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fb.load(next(robot_folder().rglob("anymal.urdf")), floating=True)


def stance(robot: fb.System) -> np.ndarray:
    """Legs bent, feet just above the floor."""
    q = robot.neutral()
    for i, name in enumerate(robot.names.coordinates):
        front = 1.0 if name[1] == "F" else -1.0
        q[i] = 0.4 * front if "HFE" in name else -0.8 * front if "KFE" in name else q[i]
    q[2] += RADIUS + 0.01 - min(robot.pose(q, foot)[2, 3] for foot in FEET)
    return q


class Task:
    """States, and forces that swing the legs."""

    def __init__(self, robot: fb.System, scene: fb.Scene) -> None:
        rng = np.random.default_rng(0)
        home = stance(robot)
        self.q = np.repeat(home[None], BATCH, 0)
        self.v = 0.3 * rng.normal(size=(BATCH, robot.nv))
        phase = rng.uniform(0.0, 2.0 * np.pi, (BATCH, robot.nv - 6))
        self.tau = np.zeros((BATCH, STEPS, robot.nv))

        def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            wanted = home[7:] + 0.3 * np.sin(6.0 * t + phase)
            k = round(t / DT)
            self.tau[:, k, 6:] = 150.0 * (wanted - q[:, 7:]) - 4.0 * v[:, 6:]
            return self.tau[:, k]

        self.run = scene.simulate(self.q, self.v, duration=STEPS * DT, dt=DT, control=torque, every=10)


def peer_model(robot: fb.System) -> Any:
    """The same robot in MuJoCo: static bodies fused, motors at all joints, no shapes but the feet and the floor."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder) / "robot.xml"
        robot.save(file)
        text = file.read_text(encoding="utf-8")
    text = re.sub(r"<geom[^>]*/>", "", text)
    text = re.sub(r"<asset>.*?</asset>|<actuator>.*?</actuator>", "", text, flags=re.S)
    ball = f'<geom type="sphere" size="{RADIUS}" friction="{FRICTION} 0.005 0.0001"/>'
    for foot in FEET:
        text = re.sub(
            rf'(<body name="{foot}"[^>]*?)(/?)>',
            lambda m: m[1] + (">" + ball + "</body>" if m[2] else ">" + ball),
            text,
        )
    floor = f'<geom type="plane" size="0 0 1" friction="{FRICTION} 0.005 0.0001"/>'
    text = text.replace("<worldbody>", f"<worldbody>{floor}").replace("<compiler ", '<compiler fusestatic="true" ')
    joints = re.findall(r'<joint name="([^"]*)" type="hinge"', text)
    motors = "".join(f'<motor joint="{name}"/>' for name in joints)
    text = text.replace("</mujoco>", f'<option timestep="{DT}"/><actuator>{motors}</actuator></mujoco>')
    return mj.MjModel.from_xml_string(text)


def turned(robot: fb.System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Our velocities in MuJoCo's order and axes: linear in the world, then angular in the body."""
    found = v.copy()
    found[:, :3] = robot.velocity(q, v, "base")[:, 3:]
    found[:, 3:6] = v[:, :3]
    return found


def least(functions: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """CPU seconds of each, the least of some turns."""
    best = dict.fromkeys(functions, np.inf)
    for _ in range(turns):
        for name, f in functions.items():
            start = time.process_time()
            f()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> int:
    """Print the table."""
    strict = "--strict" in sys.argv[1:]
    turns = 3 if "--short" in sys.argv[1:] else 8
    robot = quadruped()
    start = time.perf_counter()
    scene = fb.Scene(robot, fb.Plane(friction=FRICTION), contacts=[Shape(foot, "sphere", RADIUS) for foot in FEET],
                     limits=False, tolerance=TOLERANCE)  # fmt: skip
    task = Task(robot, scene)
    print(f"first rollout after {time.perf_counter() - start:.2f} s (compiled, or from the cache)")
    model, data = peer_model(robot), None
    data = mj.MjData(model)
    state = np.zeros((BATCH, mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq] = task.q
    state[:, 1 + model.nq : 1 + model.nq + model.nv] = turned(robot, task.q, task.v)
    controls = np.ascontiguousarray(task.tau[:, :, 6:])
    one = [x[0].copy() for x in (task.q, task.v, task.tau[:, 0])]
    impulse = np.zeros(scene.n_impulses)
    step, dt = scene.function, np.array(DT)

    def ours() -> Any:
        return scene.rollout(task.q, task.v, task.tau, dt=DT, every=STEPS)

    def peer() -> Any:
        return mujoco.rollout.rollout(model, data, state, controls)

    def ours_one() -> None:
        q, v, x = one[0], one[1], impulse
        for _ in range(STEPS):
            q, v, x, *_ = step(q, v, one[2], dt, x)

    def peer_one() -> None:
        mj.mj_setState(model, data, state[0], mj.mjtState.mjSTATE_FULLPHYSICS)
        for _ in range(STEPS):
            mj.mj_step(model, data)

    run = ours()
    touching = task.run.contacts.found[1:].sum(axis=-1).mean()
    print(f"{touching:.2f} of {len(scene.contacts)} feet down on average; worst residual {run.worst.max():.1e} m/s, "
          f"converged {bool(run.converged.all())}; MuJoCo: {model.nv} dof, {model.nbody} bodies")  # fmt: skip
    times = least({"batch": ours, "batch peer": peer}, turns)
    times |= least({"one state, one step": ours_one, "one state, one step peer": peer_one}, 5 * turns)
    short = [] if run.converged.all() else ["converged"]
    for name, bar in BARS.items():
        count = STEPS * (BATCH if name == "batch" else 1)
        a, b = times[name] / count * 1e6, times[f"{name} peer"] / count * 1e6
        short += [name] if b / a < bar else []
        print(f"{name:>22}: {a:8.3f} us a step, MuJoCo {b:8.3f} us: {b / a:5.1f}x (bar {bar:g}x)")
    if short and strict:
        print(f"falls short: {', '.join(short)}")
    return int(bool(short) and strict)


if __name__ == "__main__":
    sys.exit(main())
