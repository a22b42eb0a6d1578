"""Inverse kinematics of panda's hand, beside peers.  python bench/inverse_kinematics.py [--strict] [--save]

Poses of random configurations within the limits, to 1e-8 m and rad; the search begins in the middle of the limits, and
again at random configurations, at most 20 times. The time for one pose is the median over some poses of the least CPU
time of many calls; times of the peers are of fewer poses. The peers, each run from Python as its documentation shows
it, with the same starts:

- Pinocchio: the closed-loop scheme of its example, v = -Jᵀ (J Jᵀ + 1e-12)⁻¹ log(T_goal⁻¹ T), with steps of 0.1 (as the
  example has it) and of 1; it knows no limits;
- pink: quadratic programs with the limits of the joints, full steps (`pip install pin-pink daqp`); left out if missing;
- TRAC-IK: Newton with restarts beside sequential quadratic programming, in two threads of C++, whose CPU times add up
  (`pip install pytracik`); left out if missing. Reached is what it says it reached: by our measure it misses by up to
  1e-6 then.

`--quick` takes a few poses only. `--strict` exits non-zero where fewer than 99 % of the poses are reached, or a time
falls short of its bar; `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

os.environ.setdefault("FOURBAR_THREADS", "1")

import numpy as np
import pinocchio

import fourbar as fb
from fourbar.cli import shared_arguments
from report import Report
from robots import robot_folder
from timing import Seconds

pin: Any = pinocchio  # whose names type checkers do not see
FRAME, TOLERANCE, RESTARTS = "panda_hand", 1e-8, 20
POSES, ALONE, OF_PEERS = (20, 2, 1) if "--quick" in sys.argv else (1000, 50, 25)
LEAST_REACHED = 0.99
EXAMPLE, FULL, PINK, TRAC = "Pinocchio, steps of 0.1", "Pinocchio, steps of 1", "pink, full steps", "TRAC-IK"
# Times ours: for one pose, and for all.
BARS = {EXAMPLE: (20.0, 200.0), FULL: (2.0, 20.0), PINK: (5.0, 50.0), TRAC: (2.0, 20.0)}
PATIENCE = 0.05  # s that TRAC-IK may take from one start


class Row(NamedTuple):
    """What a solver makes of the poses: how many reached, how many of them within the limits, seconds for one."""

    name: str
    reached: float
    within: float
    one: Seconds
    batch: Seconds


def arm() -> tuple[fb.System, Any, str]:
    """Panda, and the same without its fingers in Pinocchio; its file."""
    file = next(robot_folder().rglob("panda.urdf"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = fb.load(file)
    whole = pin.buildModelFromUrdf(str(file))
    fingers = [i for i, name in enumerate(whole.names) if "finger" in name]
    return robot, pin.buildReducedModel(whole, fingers, pin.neutral(whole)), file.read_text(encoding="utf-8")


def cpu(call: Callable[[], Any], turns: int) -> Seconds:
    """The least CPU time of some calls."""
    samples = []
    for _ in range(turns):
        begin = time.process_time()
        call()
        samples.append(time.process_time() - begin)
    return Seconds.least(samples)


def median(samples: list[float]) -> Seconds:
    """The median of some times."""
    return Seconds(float(np.median(samples)), samples)


def ours(robot: fb.System, q0: np.ndarray, T: np.ndarray) -> Row:
    """All poses at once, and some of them one by one."""
    found = robot.inverse_kinematics({FRAME: T}, q0, tolerance=TOLERANCE, restarts=RESTARTS)
    away = np.abs(robot.pose(found.q, FRAME) - T).max(axis=(1, 2))
    assert (away[found.converged] < 2.0 * TOLERANCE).all()
    inside = ((found.q >= robot.limits.lower) & (found.q <= robot.limits.upper)).all(axis=1)
    batch = cpu(lambda: robot.inverse_kinematics({FRAME: T}, q0, restarts=RESTARTS), 9)

    def often(goal: np.ndarray) -> None:
        for _ in range(100):
            robot.inverse_kinematics({FRAME: goal}, q0, restarts=RESTARTS)

    alone = [cpu(partial(often, goal), 3) / 100.0 for goal in T[:ALONE]]
    return Row("fourbar", found.converged.mean(), (inside & found.converged).mean(), median(alone), batch)


class Peer:
    """A solver of another library: `search(start, goal)` gives the configuration where it ends, or None."""

    def __init__(self, model: Any, starts: np.ndarray) -> None:
        self.model, self.data, self.starts = model, model.createData(), starts
        self.frame = model.getFrameId(FRAME)

    def solve(self, goal: Any, search: Callable[[np.ndarray, Any], np.ndarray | None]) -> np.ndarray | None:
        """The same restarts as ours."""
        for start in self.starts:
            q = search(start, goal)
            if q is not None:
                return q
        return None

    def row(self, name: str, T: np.ndarray, search: Callable[[np.ndarray, Any], np.ndarray | None]) -> Row:
        """How it fares with some poses."""
        took, found = [], []
        for goal in (pin.SE3(t) for t in T[:OF_PEERS]):
            begin = time.process_time()
            found.append(self.solve(goal, search))
            took.append(time.process_time() - begin)
        low, high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        inside = [q is not None and bool(((q >= low) & (q <= high)).all()) for q in found]
        reached = float(np.mean([q is not None for q in found]))
        whole = Seconds(float(np.mean(took)) * POSES, [POSES * t for t in took])
        return Row(name, reached, float(np.mean(inside)), median(took), whole)

    def clik(self, step: float, most: int = 1000, damping: float = 1e-12) -> Callable[[np.ndarray, Any], Any]:
        """The closed-loop scheme with steps of some length."""
        model, data, frame = self.model, self.data, self.frame

        def search(q: np.ndarray, goal: Any) -> np.ndarray | None:
            for _ in range(most):
                pin.framesForwardKinematics(model, data, q)
                error = goal.actInv(data.oMf[frame])
                missed = pin.log6(error).vector
                if max(np.linalg.norm(error.translation), np.linalg.norm(missed[3:])) <= TOLERANCE:
                    return q
                J = pin.Jlog6(error) @ pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)
                v = -J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), missed)
                q = pin.integrate(model, q, step * v)
            return None

        return search

    def pink(self, most: int = 200) -> Callable[[np.ndarray, Any], Any] | None:
        """Quadratic programs of pink; None where it is not installed."""
        try:
            pink: Any = import_module("pink")
        except ImportError:
            return None
        model, data = self.model, self.data
        task = pink.tasks.FrameTask(FRAME, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
        limits = [pink.limits.ConfigurationLimit(model)]

        def search(q: np.ndarray, goal: Any) -> np.ndarray | None:
            now = pink.Configuration(model, data, np.clip(q, model.lowerPositionLimit, model.upperPositionLimit))
            task.set_target(goal)
            for _ in range(most):
                missed = task.compute_error(now)
                if max(np.linalg.norm(missed[:3]), np.linalg.norm(missed[3:])) <= TOLERANCE:
                    return now.q
                v = pink.solve_ik(now, [task], 1.0, solver="daqp", limits=limits, safety_break=False)
                now.integrate_inplace(v, 1.0)
            return None

        return search

    def trac(self, urdf: str) -> Callable[[np.ndarray, Any], Any] | None:
        """TRAC-IK; None where it is not installed."""
        try:
            trac: Any = import_module("pytracik")
        except ImportError:
            return None
        solver = trac.TRAC_IK("panda_link0", FRAME, urdf, PATIENCE, TOLERANCE, trac.SolveType.Speed)
        trac.set_joint_limits(solver, self.model.lowerPositionLimit, self.model.upperPositionLimit)

        def search(q: np.ndarray, goal: Any) -> np.ndarray | None:
            turn = pin.Quaternion(goal.rotation)
            code, *found = trac.ik(solver, q, *goal.translation, turn.x, turn.y, turn.z, turn.w)
            return np.array(found) if code >= 0 else None

        return search


def measured() -> list[Row]:
    """All solvers."""
    robot, model, urdf = arm()
    T = robot.pose(robot.random(0, n=POSES), FRAME)
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    starts = np.vstack([middle, robot.random(0, n=RESTARTS)])[:, : model.nq]
    peer = Peer(model, starts)
    rows = [ours(robot, middle, T)]
    rows += [peer.row(name, T, peer.clik(step)) for name, step in ((EXAMPLE, 0.1), (FULL, 1.0))]
    others = (PINK, peer.pink()), (TRAC, peer.trac(urdf))
    return rows + [peer.row(name, T, search) for name, search in others if search is not None]


def main() -> int:
    """Print the table."""
    rows = measured()
    head = ("", "reached", "and within limits", "one pose", "times ours", f"{POSES} poses", "times ours")
    listed = [
        (
            row.name,
            f"{100.0 * row.reached:.1f} %",
            f"{100.0 * row.within:.1f} %",
            shared_arguments.duration(row.one),
            f"{row.one / rows[0].one:.1f}",
            shared_arguments.duration(row.batch),
            f"{row.batch / rows[0].batch:.0f}",
        )
        for row in rows
    ]
    print(shared_arguments.columns(head, listed, right=(1, 2, 3, 4, 5, 6)))
    own, *peers = rows
    report = Report("inverse_kinematics")
    for x in rows:
        report.record("one pose to 1e-8, CPU time", x.name, x.one, "ms")
        report.record(f"{POSES} poses to 1e-8, CPU time", x.name, x.batch, "ms")
        report.record("reached within limits", x.name, 100.0 * x.within, "%")
    if own.within < LEAST_REACHED:
        report.missed.append(f"reached {own.within:.3f} within limits, asked for {LEAST_REACHED}")
    for x in peers:
        for what, ratio, bar in zip(("one", "all"), (x.one / own.one, x.batch / own.batch), BARS[x.name], strict=True):
            if ratio < bar:
                report.missed.append(f"{x.name}, {what}: {ratio:.1f} times, asked for {bar:g}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
