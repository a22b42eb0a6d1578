"""Robots that move on a floor, beside `mujoco.rollout`.

python bench/contact_rollout.py [--strict] [--save] [--short] [NAME ...]

The robots of `contact_cases`: spheres at the feet, a plane; joint forces from the same array for both, those of a PD
law that lets the joints swing. One thread, a batch of 1024, double precision, both sides in turns in one process: the
time of a step is CPU time, the least of all turns. Ours is solved to 1e-8 m/s in every sample, and loops are closed to
1e-11, which is checked. The first rollout is that of a process of its own, without and with a cache, in CPU time; with
one, Python has its bytecode, as it has in a package that pip has installed.

`--strict` exits non-zero where a row falls short of its bar, `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")

import mujoco.rollout
import numpy as np

import fourbar as fb
from contact_cases import CASES, DT, Case, mj, peer_model, peer_state
from report import Report, asked_robots
from timing import Seconds, least_cpu

REPORT = Report("contact_rollout")
BATCH, STEPS = 1024, 100
ONE_STEP = 3.0  # times faster than mj_step
COLD = {"anymal": 2.0, "go1": 2.0, "g1": 5.0, "cassie": 5.0}  # seconds
WARM = 0.3
GAP = 1e-11
_RATE = 20.0  # rad/s: how fast the joints follow


class Task:
    """States, and forces that swing the joints."""

    def __init__(self, case: Case, scene: fb.Scene) -> None:
        robot, rng = case.robot, np.random.default_rng(0)
        home = case.stance(scene)
        self.q = np.repeat(home[None], BATCH, 0)
        self.v = 0.3 * rng.normal(size=(BATCH, robot.nv))
        if robot.mechanism.loops:
            self.v[:, 6:] = 0.0
        places = [robot.names.coordinates.index(name) for name in robot.names.velocities[6:]]
        inertia = 1.0 / np.diag(np.linalg.inv(robot.mass_matrix(home)))[6:]  # what a joint feels alone
        phase = rng.uniform(0.0, 2.0 * np.pi, (BATCH, robot.nv - 6))
        self.tau = np.zeros((BATCH, STEPS, robot.nv))

        def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            wanted = home[places] + case.swing * np.sin(6.0 * t + phase)
            k = round(t / DT)
            self.tau[:, k, 6:] = inertia * (_RATE * (wanted - q[:, places]) - 2.0 * v[:, 6:]) * _RATE
            return self.tau[:, k]

        self.run = scene.simulate(self.q, self.v, duration=STEPS * DT, dt=DT, tau=torque, every=10)


def measure(key: str, turns: int) -> None:
    """The rows of a robot."""
    case = CASES[key]()
    scene = case.scene()
    task, model = Task(case, scene), peer_model(case)
    data, state = mj.MjData(model), peer_state(case, model, task.q, task.v)
    controls = np.ascontiguousarray(task.tau[:, :, 6:])

    def ours() -> Any:
        return scene.rollout(task.q, task.v, task.tau, dt=DT, every=STEPS)

    def peer() -> Any:
        return mujoco.rollout.rollout(model, data, state, controls)

    run = ours()
    touching = task.run.contacts.found[1:].sum(axis=-1).mean()
    print(f"{case.name}: {case.robot.nv} dof, {touching:.2f} of {len(scene.contacts)} points down on average; MuJoCo: "
          f"{model.nv} dof, {model.nbody} bodies, {model.neq} equalities")  # fmt: skip
    times = least_cpu({"ours": ours, "peer": peer}, turns)
    a, b = (times[x] / (STEPS * BATCH) * 1e6 for x in ("ours", "peer"))
    title, column = f"a step on a floor, batch of {BATCH}", f"{case.name}, {len(scene.contacts)} points"
    per = (STEPS * BATCH, STEPS * BATCH)
    note = REPORT.beside(title, column, times["ours"], times["peer"], per=per, unit="µs", library="mujoco.rollout")
    text = f"  batch of {BATCH}: {a:7.3f} us per step, MuJoCo {b:7.3f} us: {b / a:5.1f}x{note}"
    REPORT.judge(text, b / a, case.bar, above=True)
    REPORT.judge(f"  worst residual {run.worst.max():.1e} m/s", float(run.worst.max()), scene.spec.tolerance)
    if case.robot.mechanism.loops:
        gap = float(case.robot.loop_gap(run.q[-1]).max())
        REPORT.judge(f"  gap of loops {gap:.1e}", gap, GAP)
    if key in ("anymal", "go1"):
        one_state(column, task, scene, model, state, turns)
    first_rows(key, column)


def one_state(column: str, task: Task, scene: fb.Scene, model: Any, state: np.ndarray, turns: int) -> None:
    """A step of one state, one call each, under the same forces."""
    forces = [x.copy() for x in task.tau[0]]
    controls = [x[6:].copy() for x in forces]
    impulse, step, dt, data = np.zeros(scene.n_impulses), scene.function, np.array(DT), mj.MjData(model)
    friction = scene.friction
    arguments = step.held[0].arguments
    rest = [np.zeros(a.shape) for a in arguments if a.name in ("u", "driven")]  # of servos, which do not act

    def ours() -> None:
        q, v, x = task.q[0], task.v[0], impulse
        for tau in forces:
            q, v, x, *_ = step(q, v, x, dt, friction, tau, *rest)

    def peer() -> None:
        mj.mj_setState(model, data, state[0], mj.mjtState.mjSTATE_FULLPHYSICS)
        for u in controls:
            data.ctrl[:] = u
            mj.mj_step(model, data)

    ours()
    times = least_cpu({"ours": ours, "peer": peer}, 5 * turns)
    a, b = (times[x] / STEPS * 1e6 for x in ("ours", "peer"))
    per, both = (STEPS, STEPS), (times["ours"], times["peer"])
    REPORT.beside("a step on a floor, one call from Python", column, *both, per=per, unit="µs", library="mj_step")
    REPORT.judge(f"  one state, one step: {a:6.2f} us, MuJoCo {b:6.2f} us: {b / a:5.1f}x", b / a, ONE_STEP, above=True)


_FIRST = """
import sys, time; sys.path.insert(0, {here!r})
import numpy as np
from contact_cases import CASES, DT
case = CASES[{key!r}]()
case.robot.poses(case.robot.neutral())
start = time.process_time()
scene = case.scene()
scene.rollout(np.repeat(case.robot.neutral()[None], 8, 0), dt=DT, steps=10)
print(time.process_time() - start)
"""


def first_rows(key: str, column: str) -> None:
    """The first rollout of a process: nothing cached, and all."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        environment = {**os.environ, "FOURBAR_CACHE": folder, "PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-W", "ignore", "-c", _FIRST.format(here=here, key=key)]
        cold, warm = (
            float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout.split()[-1])
            for _ in range(2)
        )
    for label, seconds in (("nothing cached", cold), ("all cached", warm)):
        REPORT.record(f"first rollout, {label}, CPU time", column, Seconds.least([seconds]), "s")
    REPORT.judge(f"  first rollout, nothing cached: {cold:5.2f} s of CPU time", cold, COLD[key])
    REPORT.judge(f"  first rollout, all cached:     {warm:5.2f} s of CPU time", warm, WARM)


def main() -> int:
    """Print the rows of all robots, or of those that are named."""
    for key in asked_robots() or CASES:
        measure(key, 3 if "--short" in sys.argv[1:] else 8)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
