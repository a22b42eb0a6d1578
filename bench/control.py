"""Optimal control, beside Crocoddyl and MuJoCo.

CROCODDYL_PYTHON=... python bench/control.py [--strict] [--save] [--short]

The quadruped is ANYmal C of `contact_cases` on its feet, with joint forces as controls and exact contacts; a problem
has 108 knots of 10 ms. Crocoddyl's is ANYmal B with its four feet given as contacts that neither slip nor open. Its
passes are measured where `CROCODDYL_PYTHON` names an interpreter that has it, on one thread: derivatives (calc,
calcDiff), the backward pass, and the forward pass of one step length, of which ours makes eight. MPPI simulates 128
motions of 0.4 s, in 100 steps of 4 ms; MuJoCo's are those of `mujoco.rollout`, without costs.

Times are CPU times on one thread, the least of all turns, both sides in one run. `--strict` exits non-zero where a row
falls short of its bar, `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from mujoco import rollout as peer_rollout

import fourbar as fb
from contact_cases import CASES, peer_model
from fourbar.control.backward_pass import run_back
from fourbar.control.descent import Descent, Feedback
from report import Report
from timing import least_cpu

REPORT = Report("control")
KNOTS, DT, BATCH = 108, 0.01, 64
ITERATION, BATCH_ITERATION, BACKWARD, SAMPLING = 5.0, 15.0, 2.0, 15.0  # times faster


def problem(case: Any, steps: int, dt: float) -> fb.control.Problem:
    """Standing: near a posture, with little force."""
    scene = case.scene()
    q0 = case.stance(scene)
    return fb.control.Problem(
        scene, dt=dt, steps=steps, control=(-np.inf, np.inf),
        cost=lambda x, u: [*x.difference(q0), *x.v, *(1e-3**0.5 * u)], end=lambda x: [*x.difference(q0), *x.v],
    )  # fmt: skip


class Iteration:
    """A batch of problems under way, whose parts are measured one by one."""

    def __init__(self, of: fb.control.Problem, q0: np.ndarray, n: int) -> None:
        scene: Any = of.scene
        q0[2] -= 0.0101  # a little pressed
        nv, m = of.robot.nv, of.drives.count
        run = scene.rollout(q0, dt=of.dt, tau=lambda t, q, v: _stand(q, v, q0, nv), steps=of.steps)
        hold = [_stand(q, v, q0, nv)[6:] for q, v in zip(run.q[:-1], run.v[:-1], strict=True)]
        u = np.tile(np.array(hold), (n, 1, 1)) + 0.1 * np.random.default_rng(0).normal(size=(n, of.steps, m))
        K = np.zeros((n, of.steps, m, 2 * nv))  # a spring and a damper at each joint
        K[..., range(m), range(6, nv)], K[..., range(m), range(nv + 6, 2 * nv)] = -150.0, -5.0
        self.gains, over = K, [np.tile(x[:-1], (n, 1, 1)) for x in (run.q, run.v)]
        rows = {"t": np.tile(of.dt * np.arange(of.steps + 1), (n, 1))}
        self.descent, self.ids = Descent(of.transcription, {}, rows, 1, 1e-6), np.arange(n)
        self.it = self.descent.start(np.tile(q0, (n, 1)), np.zeros((n, nv)), u, None, Feedback(over[0], over[1], K))
        self.knots, self.V, self.s, self.reports = self.differentiate()

    def differentiate(self) -> Any:
        """Derivatives of all knots."""
        return self.descent._differentiate(self.it, self.ids)

    def go_back(self) -> Any:
        """The backward pass."""
        return run_back(self.V, self.s, self.knots, self.it.damping, 1)

    def go_forward(self) -> Any:
        """The forward pass of eight step lengths."""
        it = self.it
        over = it.q[:, :-1], it.v[:, :-1]
        lengths = 0.5 ** np.arange(8)
        return self.descent.move(self.ids, over, (it.q[:, 0], it.v[:, 0]), it.u, 0.0 * it.u, self.gains, lengths, None)


def _stand(q: np.ndarray, v: np.ndarray, q0: np.ndarray, nv: int) -> np.ndarray:
    tau = np.zeros(nv)
    tau[6:] = 150.0 * (q0[7:] - q[7:]) - 5.0 * v[6:]
    return tau


_CROCODDYL = """
import time
import crocoddyl, example_robot_data, numpy as np, pinocchio as pin
robot = example_robot_data.load("anymal")
model = robot.model
state = crocoddyl.StateMultibody(model)
actuation = crocoddyl.ActuationModelFloatingBase(state)
data = model.createData()
q = model.referenceConfigurations["standing"]
pin.framesForwardKinematics(model, data, q)
contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
for name in ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"):
    k = model.getFrameId(name)
    at = data.oMf[k].translation
    held = crocoddyl.ContactModel3D(state, k, at, pin.LOCAL_WORLD_ALIGNED, actuation.nu, np.zeros(2))
    contacts.addContact(name, held)
costs = crocoddyl.CostModelSum(state, actuation.nu)
costs.addCost("x", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, actuation.nu)), 1.0)
costs.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu)), 1e-3)
inner = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
knot = crocoddyl.IntegratedActionModelEuler(inner, 1e-2)
x0 = np.concatenate([q, np.zeros(model.nv)])
problem = crocoddyl.ShootingProblem(x0, [knot] * 108, knot)
problem.nthreads = 1
us = problem.quasiStatic([x0] * 108)
xs = problem.rollout(us)
solver = crocoddyl.SolverFDDP(problem)
solver.setCandidate(xs, us, True)
def derivatives():
    problem.calc(xs, us)
    problem.calcDiff(xs, us)
for run in (derivatives, solver.backwardPass, lambda: solver.forwardPass(1.0)):
    best = float("inf")
    for _ in range(30):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    print(best)
"""


def crocoddyl_passes() -> list[float]:
    """Seconds of Crocoddyl's derivatives, backward and forward pass, in a process of its own."""
    python = os.environ.get("CROCODDYL_PYTHON")
    if not python:
        print("Crocoddyl: not measured, CROCODDYL_PYTHON is not set")
        return []
    clean = {k: x for k, x in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [python, "-W", "ignore", "-c", _CROCODDYL]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()[-3:]]


def passes(turns: int) -> None:
    """The passes of an iteration, of one problem and of a batch."""
    case = CASES["anymal"]()
    standing = problem(case, KNOTS, DT)
    peers = crocoddyl_passes()
    names = ("derivatives", "backward pass", "forward pass")
    for n, bars in ((1, (None, BACKWARD, None, ITERATION)), (BATCH, (None, None, None, BATCH_ITERATION))):
        task = Iteration(standing, case.stance(standing.scene), n)
        parts = (task.differentiate, task.go_back, task.go_forward)
        times = least_cpu(dict(zip(names, parts, strict=True)), turns)
        column = f"{case.name}, {n} problems" if n > 1 else f"{case.name}, one problem"
        ours, theirs = [times[x] / n for x in names], list(peers)
        rows = [*names, "whole iteration"]
        ours.append(sum(ours))
        theirs += [sum(theirs)] if theirs else []
        for k, name in enumerate(rows):
            REPORT.record(f"{name}, {KNOTS} knots, CPU time per problem", column, ours[k] * 1e3, "ms")
            text = f"  {column}: {name} {1e3 * ours[k]:7.3f} ms"
            if not theirs:
                print(text)
                continue
            ratio, bar = theirs[k] / ours[k], bars[k]
            text += f", Crocoddyl {1e3 * theirs[k]:7.3f} ms: {ratio:5.1f}x"
            print(text) if bar is None else REPORT.judge(text, ratio, bar, above=True)


def sampling(turns: int) -> None:
    """Plans by 128 motions of 0.4 s, beside the motions alone in MuJoCo."""
    case = CASES["anymal"]()
    moving = problem(case, 100, 4e-3)
    q0 = case.stance(moving.scene)
    planner = moving.sampling(samples=128, noise=2.0, period=0.02, threads=1)
    model = peer_model(case)
    model.opt.timestep = 4e-3
    import mujoco

    data = mujoco.MjData(model)
    states = np.zeros((128, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    states[:, 1 : 1 + model.nq] = q0
    rows = np.random.default_rng(0).normal(size=(128, 100, model.nu))
    with peer_rollout.Rollout(nthread=0) as other:
        times = least_cpu({
            "ours": lambda: planner.step(q0), "theirs": lambda: other.rollout([model] * 128, [data], states, rows),
        }, turns)  # fmt: skip
    ratio = times["theirs"] / times["ours"]
    REPORT.record("a plan of 128 motions of 0.4 s, CPU time", case.name, times["ours"] * 1e3, "ms")
    ours, theirs = 1e3 * times["ours"], 1e3 * times["theirs"]
    text = f"  MPPI, a plan: {ours:.1f} ms, motions by mujoco.rollout {theirs:.1f} ms: {ratio:.1f}x"
    REPORT.judge(text, ratio, SAMPLING, above=True)


def main() -> int:
    """Print all rows."""
    turns = 2 if "--short" in sys.argv[1:] else 6
    passes(turns)
    sampling(turns)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
