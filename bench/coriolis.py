"""The Coriolis matrix beside Pinocchio's computeCoriolisMatrix, as ratios.

python bench/coriolis.py [--quick] [--strict] [--save] [robot ...]

Pinocchio has no batch of it, so that its call is repeated from Python; batches of 1024, one thread. Both sides are
measured in turns. `--strict` exits non-zero where a ratio is less than four fifths of the published one, `--save`
writes the results (bench/report.py).
"""

from __future__ import annotations

import sys

import numpy as np
import pinocchio as pin

from report import Report, asked_robots
from run import BATCH, CALLS, Case, repeated
from timing import fastest

REPORT = Report("coriolis")
ROBOTS = ("panda", "anymal_b", "talos_reduced")


def _difference(case: Case, samples: int = 16) -> float:
    """Largest difference of the two matrices, relative to the largest entry."""
    ours, worst = case.robot.coriolis_matrix(case.q, case.v), 0.0
    for i in range(samples):
        q, v = (x[:, i].copy() for x in case.peer_batch[:2])
        theirs = case.peer.matrix_from_peer(pin.computeCoriolisMatrix(case.peer.model, case.peer.data, q, v))
        worst = max(worst, float(np.abs(ours[i] - theirs).max() / np.abs(theirs).max()))
    return worst


def row(case: Case, turns: int) -> str:
    """One robot: batch, single call, and what else is made of the same parts."""
    robot, (q, v, _) = case.robot, case.ours_one
    model, data = case.peer.model, case.peer.data
    robot.coriolis_matrix(q, v)
    robot.mass_matrix_rate(case.q, case.v)
    difference = _difference(case)
    peer = repeated(pin.computeCoriolisMatrix, model, data, *case.peer_one[:2])
    t, t_rate, one, t_peer = fastest(
        lambda: robot.coriolis_matrix(case.q, case.v),
        lambda: robot.mass_matrix_rate(case.q, case.v),
        repeated(robot.coriolis_matrix, q, v),
        peer,
        turns=turns,
    )
    ours, theirs = t / BATCH, t_peer / CALLS
    bar = REPORT.beside(f"Coriolis matrix, batch of {BATCH}", case.name, t, t_peer, per=(BATCH, CALLS))
    return (
        f"{case.name:14s} C     batch {1e9 * ours:8.0f} ns, Pinocchio {1e9 * theirs:8.0f} ns: "
        f"{theirs / ours:5.1f}x{bar} | call {1e9 * one / CALLS:7.0f} ns: {t_peer / one:4.1f}x | "
        f"mass_matrix_rate {1e9 * t_rate / BATCH:8.0f} ns | differs by {difference:.0e}"
    )


def main() -> int:
    """Print all rows; the exit status."""
    names = asked_robots()
    quick = "--quick" in sys.argv
    print(f"Pinocchio {pin.__version__}; batches of {BATCH}, one thread\n")
    for name in names or (ROBOTS[:1] if quick else ROBOTS):
        print(row(Case(name), turns=1 if quick else 12))
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
