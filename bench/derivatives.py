"""Derivatives of the dynamics beside Pinocchio's computeRNEADerivatives and computeABADerivatives, as ratios.

python bench/derivatives.py [--quick] [--strict] [--save] [robot ...]

Pinocchio has no batch of them, so that its calls are repeated from Python; ours are batches of 1024 on one thread into
an array that is used again, and for the smallest robot single calls from Python too. The gradient (vjp) of forward
dynamics is compared with forward dynamics itself. All sides are measured in turns. `--strict` exits non-zero where a
ratio is less than four fifths of the published one, or a gradient takes more than four times as long as the dynamics;
`--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from fourbar.system.program_text import count
from report import Report, asked_robots
from run import BATCH, CALLS, Case, repeated
from timing import fastest

REPORT = Report("derivatives")
ROBOTS = ("panda", "anymal_b", "talos_reduced")
MOST_GRADIENT = {"panda": 4.0, "talos_reduced": 4.0, "chain256": 4.0}  # times the cost of forward dynamics


def _met(label: str, ratio: float, limit: float) -> str:
    if ratio > limit:
        REPORT.missed.append(f"{label}: {ratio:.2f}x, limit {limit:g}x")
    return f"limit <= {limit:.0f}x {'met' if ratio <= limit else 'NOT met'}"


def _full(upper: np.ndarray) -> np.ndarray:
    """The symmetric matrix of which only the upper half may have been filled."""
    return np.triu(upper) + np.triu(upper, 1).T


def _inverse(model: Any, data: Any, *args: np.ndarray) -> list[np.ndarray]:
    pin.computeRNEADerivatives(model, data, *args)
    return [data.dtau_dq.copy(), data.dtau_dv.copy(), _full(data.M)]


def _forward(model: Any, data: Any, *args: np.ndarray) -> list[np.ndarray]:
    pin.computeABADerivatives(model, data, *args)
    return [data.ddq_dq.copy(), data.ddq_dv.copy(), _full(data.Minv)]


DYNAMICS = (
    ("dRNEA", "inverse_dynamics", pin.computeRNEADerivatives, _inverse),
    ("dABA", "forward_dynamics", pin.computeABADerivatives, _forward),
)


def _difference(case: Case, ours: np.ndarray, peer: Callable[..., list[np.ndarray]], samples: int = 16) -> float:
    """Largest difference of the matrices (batch, 3, nv, nv) to the peer's, relative to the largest entry of each.

    Both differentiate along the group; its free joint has (linear, angular), as the other velocities have.
    """
    worst = 0.0
    for i in range(samples):
        args = [x[:, i].copy() for x in case.peer_batch]
        for block, theirs in zip(ours[i], peer(case.peer.model, case.peer.data, *args), strict=True):
            expected = case.peer.matrix_from_peer(theirs)
            worst = max(worst, float(np.abs(block - expected).max() / np.abs(expected).max()))
    return worst


def jacobian_rows(case: Case, turns: int) -> None:
    """All first derivatives by q, v, and a or τ."""
    model, data, nv = case.peer.model, case.peer.data, case.robot.nv
    out = np.empty((BATCH, 3, nv, nv))
    for label, name, call, read in DYNAMICS:
        ours = getattr(case.robot, name).jacobian
        ours(case.q, case.v, case.a, out=out)
        error = _difference(case, out, read)
        t, t_peer = fastest(
            lambda ours=ours: ours(case.q, case.v, case.a, out=out),
            repeated(call, model, data, *case.peer_one),
            turns=turns,
        )
        ratio = (t_peer / CALLS) / (t / BATCH)
        text = f"{case.name:14s} {label:5s} batch {1e9 * t / BATCH:9.0f} ns, Pinocchio {1e9 * t_peer / CALLS:9.0f} ns: "
        title = f"Jacobian of {name.replace('_', ' ')}"
        bar = REPORT.beside(f"{title}, batch of {BATCH}", case.name, t, t_peer, per=(BATCH, CALLS))
        text += f"{ratio:5.1f}x{bar}"
        if case.name == ROBOTS[0]:
            text += _call_text(case, title, ours, call, turns)
        print(f"{text} | {sum(count(ours.program()).values())} operations | differs by {error:.0e}")


def _call_text(case: Case, title: str, ours: Any, call: Callable[..., Any], turns: int) -> str:
    """One call from Python."""
    ours(*case.ours_one)
    peer = repeated(call, case.peer.model, case.peer.data, *case.peer_one)
    one, one_peer = fastest(repeated(ours, *case.ours_one), peer, turns=turns)
    bar = REPORT.beside(f"{title}, one call from Python", case.name, one, one_peer, per=(CALLS, CALLS))
    return f" | call {1e9 * one / CALLS:7.0f} ns, {1e9 * one_peer / CALLS:7.0f} ns: {one_peer / one:4.1f}x{bar}"


def gradient_row(case: Case, turns: int) -> None:
    """vjp of forward dynamics beside forward dynamics."""
    f, nv = case.robot.forward_dynamics, case.robot.nv
    args, weight = (case.q, case.v, case.a), np.random.default_rng(1).normal(size=(BATCH, nv))
    out, gradient = np.empty((BATCH, nv)), tuple(np.empty((BATCH, nv)) for _ in range(3))
    f(*args, out=out)
    f.vjp(args, weight, out=gradient)
    t, t_gradient = fastest(lambda: f(*args, out=out), lambda: f.vjp(args, weight, out=gradient), turns=turns)
    limit, ratio = MOST_GRADIENT.get(case.name, 4.0), t_gradient / t
    operations = [sum(count(x.program()).values()) for x in (f, f.vjp)]
    REPORT.record(f"gradient (vjp) of forward dynamics, batch of {BATCH}", case.name, t_gradient, "ns", BATCH)
    print(
        f"{case.name:14s} vjp   batch {1e9 * t_gradient / BATCH:9.0f} ns, forward dynamics {1e9 * t / BATCH:9.0f} ns: "
        f"{ratio:5.2f}x at {nv} velocities, {_met(f'gradient, {case.name}', ratio, limit)} | "
        f"{operations[1]} and {operations[0]} operations"
    )


def main() -> int:
    """Print all rows; the exit status."""
    names = asked_robots()
    quick = "--quick" in sys.argv
    turns = 1 if quick else 12
    first = ROBOTS[:1]
    print(f"Pinocchio {pin.__version__}; batches of {BATCH}, one thread\n")
    for name in names or (first if quick else ROBOTS):
        if not name.startswith("chain"):
            jacobian_rows(Case(name), turns)
    for name in names or (first if quick else list(MOST_GRADIENT)):
        gradient_row(Case(name), turns)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
