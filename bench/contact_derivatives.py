"""Derivatives of steps with contacts, beside Crocoddyl and MuJoCo's finite differences.

python bench/contact_derivatives.py [--strict] [--save] [--short] [NAME ...]

The robots of `contact_cases` on their feet, on a plane, some feet sliding and some open; one thread, double precision.
Ours are A and B of a batch of 1024 states by `scene.step.jacobian`, at solutions that are known, as after a rollout, so
that the step itself is not counted; by all joint forces. MuJoCo's are those of `mjd_transitionFD`, forward, state by
state. Crocoddyl's are calc and calcDiff of a shooting problem of 108 knots of ANYmal C with its four feet given as
contacts that neither slip nor open, and small costs; they are measured where `CROCODDYL_PYTHON` names an interpreter
that has it (crocoddyl 3.2.1 wants pin 4.0: `pip install crocoddyl==3.2.1 pin==4.0.0`), on one thread. Its derivatives
are compared with ours, too, where all feet stick.

Times are CPU times, the least of all turns, both sides in turns. `--strict` exits non-zero where a row falls short of
its bar, `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import mujoco
import numpy as np

import fourbar as fb
from contact_cases import CASES, DT, peer_model
from fourbar.contact import Shape
from fourbar.sim.motions.given_numbers import NOTHING
from fourbar.sim.scenes.scene_motion import StepArguments
from report import Report, asked_robots
from robots import robot_folder
from timing import Seconds, least_cpu

mj: Any = mujoco  # whose names type checkers do not see
REPORT = Report("contact_derivatives")
BATCH, PEER, KNOTS = 1024, 32, 108
STEPS, BACKWARDS = 6.0, 3.0  # steps of the same batch: A and B, and a gradient
DIFFERENCES, CROCODDYL = 60.0, 15.0  # times faster
ONE_STATE, HUMANOID = 25.0, 30.0  # µs
COLD, WARM = 8.0, 0.3  # seconds


class Task:
    """States in mid-motion with the impulses of their steps."""

    def __init__(self, key: str) -> None:
        case = CASES[key]()
        self.case, self.scene, rng = case, case.scene(), np.random.default_rng(0)
        robot = case.robot
        q = np.repeat(case.stance(self.scene)[None], BATCH, 0)
        v = 0.3 * rng.normal(size=(BATCH, robot.nv))
        if robot.mechanism.loops:
            v[:, 6:] = 0.0
        self.tau = rng.normal(size=(BATCH, robot.nv))
        self.tau[:, :6] = 0.0
        with warnings.catch_warnings():  # light links of humanoids may run away under forces of 1 N m
            warnings.simplefilter("ignore")
            run = self.scene.rollout(q, v, self.tau[:, None], dt=DT, period=60 * DT, steps=60)
        sane = np.flatnonzero(run.converged.all(axis=0) & ~run.diverged & ~np.any(run.too_fast, axis=0))
        chosen = sane[np.arange(BATCH) % len(sane)]
        self.q, self.v, self.tau = run.q[-1][chosen], run.v[-1][chosen], self.tau[chosen]
        self.impulse = self.step(np.zeros(self.scene.n_impulses)).impulse
        self.derivatives = self.scene.step.derivatives
        self.numbers = self.derivatives.numbers("bench", None, ())

    def step(self, impulse: np.ndarray) -> Any:
        """The steps of all states."""
        return self.scene.step(self.q, self.v, self.tau, dt=DT, impulse=impulse)

    def evaluate(self, kind: str, some: Any = slice(None), **more: Any) -> Any:
        """A derivative at the solutions of some states."""
        x = StepArguments(self.q[some], self.v[some], self.tau[some], DT, None, None, self.impulse[some], NOTHING, None)
        return self.derivatives.evaluate(kind, x, self.numbers, ("q", "v", "tau"), 0.0, more or None)

    def differences(self) -> Any:
        """MuJoCo's A and B of some of the states."""
        model = peer_model(self.case)
        data = mj.MjData(model)
        A, B = np.zeros((2 * model.nv, 2 * model.nv)), np.zeros((2 * model.nv, model.nu))
        poses = self.q[:PEER, : model.nq], self.v[:PEER, : model.nv], self.tau[:PEER, 6:]

        def run() -> None:
            for q, v, u in zip(*poses, strict=True):
                data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
                mj.mj_forward(model, data)
                mj.mjd_transitionFD(model, data, 1e-6, False, A, B, None, None)

        return run


def measure(key: str, turns: int) -> None:
    """The rows of a robot."""
    task = Task(key)
    weights = {name: np.ones_like(task.v) for name in ("w_q", "w_v")}
    pressed = (task.impulse != 0.0).mean()
    size = f"{task.case.robot.nv} dof, {len(task.scene.contacts)} points"
    print(f"{task.case.name}: {size}, {pressed:.0%} of impulses not zero")
    functions = {
        "step": lambda: task.step(task.impulse),
        "jacobian": lambda: task.evaluate("jacobian"),
        "vjp": lambda: task.evaluate("vjp", **weights),
        "knots": lambda: task.evaluate("jacobian", slice(0, KNOTS)),
        "one": lambda: [task.evaluate("jacobian", k) for k in range(KNOTS)],
    }
    if not task.case.robot.mechanism.loops:
        functions["peer"] = task.differences()
    times = least_cpu(functions, turns)
    step, whole, back = (times[x] / BATCH * 1e6 for x in ("step", "jacobian", "vjp"))
    column = f"{task.case.name}, {len(task.scene.contacts)} points"
    for title, name, per in (("A and B", "jacobian", BATCH), ("a gradient backwards", "vjp", BATCH),
                             ("A and B of one state, one call from Python", "one", KNOTS)):  # fmt: skip
        REPORT.record(f"{title}, CPU time per state", column, times[name], "µs", per)
    if key in ("anymal", "go1"):
        REPORT.judge(f"  A and B {whole:6.2f} us: {whole / step:5.1f} steps ({step:.2f} us)", whole / step, STEPS)
    if key == "g1":
        REPORT.judge(f"  A and B {whole:6.2f} us: {whole / step:5.1f} steps ({step:.2f} us)", whole, HUMANOID)
    REPORT.judge(f"  gradient backwards {back:6.2f} us: {back / step:5.1f} steps", back / step, BACKWARDS)
    if key in ("anymal", "go1"):
        one = times["one"] / KNOTS * 1e6
        REPORT.judge(f"  one state, one call: {one:6.2f} us", one, ONE_STATE)
    if "peer" in times:
        peer = times["peer"] / PEER * 1e6
        REPORT.beside("A and B", column, times["jacobian"], times["peer"], per=(BATCH, PEER), unit="µs",
                      library="mjd_transitionFD")  # fmt: skip
        text = f"  mjd_transitionFD {peer:8.1f} us: {peer / whole:5.1f}x"
        if key in ("anymal", "go1"):
            REPORT.judge(text, peer / whole, DIFFERENCES, above=True)
        else:
            print(text)
    if key == "anymal":
        beside_crocoddyl(task, times["knots"] / KNOTS * 1e6)
        first_rows(key, column)


def beside_crocoddyl(task: Task, ours: float) -> None:
    """Crocoddyl's calc and calcDiff per knot, and how far its derivatives are from ours where all feet stick."""
    python = os.environ.get("CROCODDYL_PYTHON")
    if not python:
        print("  Crocoddyl: not measured, CROCODDYL_PYTHON is not set")
        return
    robot, rng = task.case.robot, np.random.default_rng(0)
    names, n = list(robot.names.velocities[6:]), robot.nv
    feet = [Shape(foot.frame) for foot in task.case.feet]
    floor = fb.Plane(friction=3.0)
    scene = fb.Scene(robot, floor, contacts=feet, limits=False, joint_friction=False, tolerance=1e-13)
    q, tau = np.repeat(task.case.stance(task.scene)[None], PEER, 0), np.zeros((PEER, n))
    q[:, 2] -= scene.step(q, np.zeros(n), dt=DT).gap.min() + 1e-12
    tau[:, 6:] = 4.0 * rng.normal(size=(PEER, n - 6))
    J = scene.step.jacobian(q, np.zeros(n), tau, dt=DT)
    tangential = np.hypot(J.step.force[..., 0], J.step.force[..., 1])
    held = np.flatnonzero((tangential < 2.9 * J.step.force[..., 2]).all(axis=-1))
    clean = {k: x for k, x in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "states.npz")
        np.savez(file, q=q[held], tau=tau[held, 6:], names=names, feet=[foot.frame for foot in feet], knots=KNOTS)
        peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "crocoddyl_knots.py")
        command = [
            python,
            "-W",
            "ignore",
            peer,
            str(robot_folder() / "anymal_c_simple_description/urdf/anymal.urdf"),
            file,
        ]
        done = subprocess.run(command, env=clean, capture_output=True, text=True, check=True)
        found = np.load(file)
        by_q, by_tau = found["by_q"], found["by_tau"]
    same = np.r_[0:3, 6:n]  # linear velocities of the base turn with it within a step
    apart = 0.0
    for k, at in enumerate(held):
        rows = np.concatenate([robot.jacobian(q[at], foot.frame)[3:] for foot in feet])
        free = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :].T  # motions that leave all feet where they are
        for own, wanted in ((J.A[at, n:, :n] @ free / DT, by_q[k] @ free), (J.B[at, n:, 6:] / DT, by_tau[k])):
            apart = max(apart, np.abs((own - wanted)[same]).max() / np.abs(wanted).max())
    REPORT.judge(f"  where {len(held)} feet stick, Crocoddyl's derivatives differ by {apart:.1e}", apart, 1e-8)
    per = float(done.stdout.split()[-1])
    REPORT.record("calc and calcDiff per knot, 108 knots, Crocoddyl, CPU time", "ANYmal C, 4 feet", per, "µs")
    REPORT.judge(f"  Crocoddyl per knot {per:7.1f} us: {per / ours:5.1f}x", per / ours, CROCODDYL, above=True)


_FIRST = """
import sys, time; sys.path.insert(0, {here!r})
import numpy as np
from contact_cases import CASES, DT
case = CASES[{key!r}]()
scene = case.scene()
q, v = np.repeat(case.stance(scene)[None], 16, 0), np.zeros((16, case.robot.nv))
scene.step(q, v, dt=DT)
start = time.process_time()
scene.step.jacobian(q, v, dt=DT)
print(time.process_time() - start)
"""


def first_rows(key: str, column: str) -> None:
    """The first A and B of a process: nothing cached, and all."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        environment = {**os.environ, "FOURBAR_CACHE": folder, "PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode")}
        command = [sys.executable, "-W", "ignore", "-c", _FIRST.format(here=here, key=key)]
        cold, warm = (
            float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout.split()[-1])
            for _ in range(2)
        )
    for label, seconds, bar in (("nothing cached", cold, COLD), ("all cached", warm, WARM)):
        REPORT.record(f"first A and B, {label}, CPU time", column, Seconds.least([seconds]), "s")
        REPORT.judge(f"  first A and B, {label}: {seconds:5.2f} s of CPU time", seconds, bar)


def main() -> int:
    """Print the rows of all robots, or of those that are named."""
    for key in asked_robots() or CASES:
        measure(key, 3 if "--short" in sys.argv[1:] else 8)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
