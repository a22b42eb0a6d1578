"""The regressor beside Pinocchio's computeJointTorqueRegressor, as ratios.

python bench/regressor.py [--strict] [--save] [robot ...]

Needs `pip install pin example-robot-data`. One thread, batches of 1024. Pinocchio has no batch function: its call is
repeated from Python. Most entries of Y are zero at every state, and writing them all to memory takes longer than to
compute the others, so both results are measured: dense (..., nv, p), and packed. `--strict` exits non-zero where a
ratio is less than four fifths of the published one, `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("FOURBAR_THREADS", "1")

import numpy as np
import pinocchio as pin

from report import Report, asked_robots
from robots import ROBOTS
from run import BATCH, CALLS, Case, repeated
from timing import fastest

REPORT = Report("regressor")
_PEER_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # Pinocchio's parameters of a body (xx xy yy xz yz zz) in our order


def difference(case: Case, Y: np.ndarray, samples: int = 16) -> float:
    """The largest difference to Pinocchio's entries, relative to the largest entry of each sample."""
    worst = 0.0
    for i in range(samples):
        state = [x[:, i].copy() for x in case.peer_batch]
        theirs = pin.computeJointTorqueRegressor(case.peer.model, case.peer.data, *state)
        theirs = case.peer.v_from_peer(theirs.T).T.reshape(case.robot.nv, -1, 10)[..., _PEER_ORDER]
        worst = max(worst, float(np.abs(Y[i] - theirs.reshape(Y[i].shape)).max() / np.abs(theirs).max()))
    return worst


def row(name: str) -> None:
    """One robot."""
    case = Case(name)
    dense = case.robot.regressor.specialise(columns=("inertia",))
    packed = case.robot.regressor.specialise(columns=("inertia",), packed=True)
    state = (case.q, case.v, case.a)
    Y, kept = dense(*state), packed(*state)
    error = difference(case, Y)
    t_fill, t_dense, t_packed, t_peer = fastest(
        lambda: Y.fill(0.0),
        lambda: dense(*state, out=Y),
        lambda: packed(*state, out=kept),
        repeated(pin.computeJointTorqueRegressor, case.peer.model, case.peer.data, *case.peer_one),
    )
    peer, ours, every, fill = t_peer / CALLS, t_packed / BATCH, t_dense / BATCH, t_fill / BATCH
    per = (BATCH, CALLS)
    packed_bar = REPORT.beside(f"regressor, its nonzero entries, batch of {BATCH}", name, t_packed, t_peer, per=per)
    dense_bar = REPORT.beside(f"regressor, all entries, batch of {BATCH}", name, t_dense, t_peer, per=per)
    print(
        f"{name:14s} packed {1e9 * ours:6.0f} ns, dense {1e9 * every:6.0f} ns (filling it {1e9 * fill:6.0f} ns), "
        f"Pinocchio {1e9 * peer:6.0f} ns: {peer / ours:5.1f}x packed{packed_bar}, "
        f"{peer / every:5.1f}x dense{dense_bar} | {kept.shape[-1]} of {Y[0].size} entries | differs by {error:.0e}"
    )


if __name__ == "__main__":
    for robot in asked_robots() or ROBOTS:
        row(robot)
    sys.exit(REPORT.finish())
