"""fourbar beside Pinocchio, in one process, as ratios.  python bench/run.py [--strict] [--save] [robot or chainN ...]

Needs `pip install pin example-robot-data`. Times are minima over repetitions; both sides are measured in turns, so
that what else the machine does hits both. Pinocchio's batches run on one thread of its pool (`rneaInParallel`,
`abaInParallel`); where it has no batch function, its call is repeated from Python. `--strict` exits non-zero where a
ratio is less than four fifths of the published one, `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")

import numpy as np
import pinocchio as pin

from fourbar.bridges.pinocchio import Peer
from fourbar.system.program_text import count
from peak import peak_flops
from report import Report, asked_robots
from robots import ROBOTS, load
from timing import Seconds, fastest

BATCH = 1024
CALLS = 300
REPORT = Report("run")
PATIENT = 40  # turns where neighbours on a virtual machine matter most: for caches and for a second core


def repeated(f: Callable[..., Any], *args: Any) -> Callable[[], None]:
    """`CALLS` calls in a row, as a loop in Python."""

    def run() -> None:
        for _ in range(CALLS):
            f(*args)

    return run


class Case:
    """A robot with a batch of states in both conventions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.peer: Peer = load(name)
        self.robot = self.peer.robot
        rng = np.random.default_rng(0)
        self.q = self.robot.random(rng, BATCH)
        self.v, self.a = rng.normal(size=(2, BATCH, self.robot.nv))
        self.pool = pin.ModelPool(self.peer.model, 1)
        to_peer = (self.peer.q_to_peer(self.q), self.peer.v_to_peer(self.v), self.peer.v_to_peer(self.a))
        self.peer_batch = [np.asfortranarray(x.T) for x in to_peer]
        self.peer_one = [x[0].copy() for x in to_peer]
        self.ours_one = [x[0].copy() for x in (self.q, self.v, self.a)]
        self.result = np.asfortranarray(np.zeros((self.robot.nv, BATCH)))


def agreement(case: Case, ours: np.ndarray, peer: Callable[..., Any], samples: int = 32) -> float:
    """Largest difference to the peer's single calls, relative to the largest entry of each sample."""
    worst = 0.0
    for i in range(samples):
        args = [x[:, i].copy() for x in case.peer_batch]
        theirs = case.peer.v_from_peer(peer(case.peer.model, case.peer.data, *args))
        worst = max(worst, float(np.abs(ours[i] - theirs).max() / np.abs(theirs).max()))
    return worst


def dynamics_rows(case: Case, peak: float) -> None:
    """RNEA and ABA: batch and single call."""
    model, data = case.peer.model, case.peer.data
    for label, name, batch, call in (
        ("RNEA", "inverse_dynamics", pin.rneaInParallel, pin.rnea),
        ("ABA", "forward_dynamics", pin.abaInParallel, pin.aba),
    ):
        ours = getattr(case.robot, name)
        error = agreement(case, ours(case.q, case.v, case.a), call)
        ours(*case.ours_one)
        t, t_peer = fastest(
            lambda ours=ours: ours(case.q, case.v, case.a),
            lambda batch=batch: batch(1, case.pool, *case.peer_batch, case.result),
        )
        one, one_peer = fastest(repeated(ours, *case.ours_one), repeated(call, model, data, *case.peer_one))
        operations = sum(count(ours.program()).values())
        share, title = operations * BATCH / t / peak, name.replace("_", " ")
        batch_bar = REPORT.beside(f"{title} ({label}), batch of {BATCH}", case.name, t, t_peer, per=(BATCH, BATCH))
        call_bar = REPORT.beside(f"{title}, one call from Python", case.name, one, one_peer, per=(CALLS, CALLS))
        print(
            f"{case.name:14s} {label:5s} batch {1e9 * t / BATCH:8.0f} ns, Pinocchio {1e9 * t_peer / BATCH:8.0f} ns: "
            f"{t_peer / t:5.1f}x{batch_bar} | call {1e9 * one / CALLS:7.0f} ns, {1e9 * one_peer / CALLS:7.0f} ns: "
            f"{one_peer / one:4.1f}x{call_bar} | {operations} operations, {share:4.0%} of peak | differs by {error:.0e}"
        )


def mass_matrix_row(case: Case) -> None:
    """CRBA, full symmetric matrix."""
    model, data = case.peer.model, case.peer.data
    M = case.robot.mass_matrix(case.q)[0]
    theirs = np.triu(pin.crba(model, data, case.peer_one[0]))
    theirs = case.peer.matrix_from_peer(theirs + np.triu(theirs, 1).T)
    error = np.abs(M - theirs).max() / np.abs(theirs).max()
    t, t_peer = fastest(lambda: case.robot.mass_matrix(case.q), repeated(pin.crba, model, data, case.peer_one[0]))
    ratio = t_peer / CALLS / (t / BATCH)
    bar = REPORT.beside(f"mass matrix (CRBA), batch of {BATCH}", case.name, t, t_peer, per=(BATCH, CALLS))
    print(
        f"{case.name:14s} CRBA  batch {1e9 * t / BATCH:8.0f} ns, Pinocchio {1e9 * t_peer / CALLS:8.0f} ns: "
        f"{ratio:5.1f}x{bar} | differs by {error:.0e}"
    )


def threads_row(case: Case, n: int = 8192) -> None:
    """Two threads against one; and what two cores give at best, by two batches that are computed side by side."""
    q, v, a = (np.resize(x, (n, x.shape[1])) for x in (case.q, case.v, case.a))
    for name in ("inverse_dynamics", "forward_dynamics"):
        f = getattr(case.robot, name)
        runs = [lambda f=f, k=k: f(q, v, a, threads=k) for k in (1, 2)]
        times = []
        for _ in range(4):  # in turns, for what two cores give changes with the neighbours
            one, two = fastest(*runs, turns=PATIENT // 4)
            with running(runs[0]):
                times.append((one, two, *fastest(runs[0], turns=PATIENT // 4)))
        one, two, beside = (min(column) for column in zip(*times, strict=True))
        REPORT.record(f"{name.replace('_', ' ')}, batch of {n}, two threads against one", case.name, one / two, "x")
        print(
            f"{case.name:14s} {name}: batch {n}, two threads {one / two:.2f}x one; "
            f"two batches side by side {2 * one / beside:.2f}x"
        )


@contextmanager
def running(f: Callable[[], Any]) -> Iterator[None]:
    """Meanwhile another thread calls f."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            f()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def growth_rows() -> None:
    """Time per body of chains, short and long ones in turns. The arguments of large batches are read from memory."""
    cases = {n: Case(f"chain{n}") for n in (64, 512)}
    for name in ("inverse_dynamics", "forward_dynamics"):
        for batch in (64, 256, BATCH):
            runs = []
            for n, case in cases.items():
                f, out = getattr(case.robot, name), np.empty((batch, n))
                args = [np.ascontiguousarray(x[:batch]) for x in (case.q, case.v, case.a)]
                f(*args, out=out)
                runs.append(lambda f=f, args=args, out=out: f(*args, out=out))
            times = fastest(*runs, turns=PATIENT // 2)
            short, long = (1e9 * t / batch / n for t, n in zip(times, cases, strict=True))
            print(
                f"chain          {name}: batch {batch}, {short:.2f} ns per body at 64, {long:.2f} at 512: "
                f"growth {long / short:.2f}x"
            )


_FIRST_CALL = """
import pickle, sys, time
start = time.perf_counter()
import fourbar
imported = time.perf_counter()
import numpy as np
mechanism = pickle.load(open(sys.argv[1], "rb"))
built = time.perf_counter()
robot = fourbar.System(mechanism)
q, v = robot.neutral(), np.zeros(robot.nv)
getattr(robot, sys.argv[2])(q, v, v)
end = time.perf_counter()
print(imported - start, end - built)
"""


def first_call_rows(names: list[str]) -> None:
    """Time of the first call in a new process: without any cache, and with a warm one."""
    import pickle

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "first_call.py"
        script.write_text(_FIRST_CALL)
        for name in names:
            file = Path(folder) / f"{name}.pickle"
            file.write_bytes(pickle.dumps(load(name).robot.mechanism))
            for method in ("inverse_dynamics", "forward_dynamics"):
                cold, warm = [], []
                for attempt in range(3):
                    environment = {**os.environ, "FOURBAR_CACHE": str(Path(folder) / f"{name}{method}{attempt}")}
                    for found in (cold, warm):
                        command = [sys.executable, str(script), str(file), method]
                        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                        found.append([float(x) for x in done.stdout.split()])
                imported = min(x for x, _ in cold + warm)
                for label, runs in (("nothing cached", cold), ("all cached", warm)):
                    first = Seconds.least(y for _, y in runs)
                    REPORT.record(f"first call of {method.replace('_', ' ')}, {label}", name, first, "s")
                print(
                    f"{name:14s} {method}: first call {min(y for _, y in cold):.2f} s without cache, "
                    f"{min(y for _, y in warm):.3f} s with a warm one; importing fourbar {imported:.3f} s"
                )


def main() -> int:
    """Print all rows; the exit status."""
    names = asked_robots() or [*ROBOTS, "chain8", "chain64", "chain256", "chain512"]
    peak = peak_flops()
    print(f"Pinocchio {pin.__version__}; peak of one core {peak / 1e9:.1f} Gflop/s; batches of {BATCH}, one thread\n")
    for name in names:
        case = Case(name)
        dynamics_rows(case, peak)
        if not name.startswith("chain"):
            mass_matrix_row(case)
    print()
    if not asked_robots():
        for name in ROBOTS:
            threads_row(Case(name))
        growth_rows()
        first_call_rows(["talos_reduced", "chain512"])
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
