"""Cold first calls beside their limits: tracing, compiling and running once, each in a new process with an empty cache.

python bench/first_calls.py [--quick] [--strict] [--save] [row ...]

The least of a few tries counts, in seconds and in CPU seconds; the robot is built before the clock starts. With
--strict the exit code says whether all limits are met, --save writes the results (bench/report.py). Needs
example-robot-data (`pip install pin example-robot-data`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any, NamedTuple

import numpy as np

import fourbar as fb
from report import Report, add_options
from timing import Seconds

REPORT = Report("first_calls")
_TRIES = 3
_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def _body(b: fb.Builder, i: int, parent: str, rng: np.random.Generator) -> None:
    place = np.array([0.05, 0.0, 0.1]) + 0.05 * rng.random(3)
    matter: dict[str, Any] = {"mass": 1.0, "com": 0.05 * rng.random(3), "inertia": (0.01, 0.012, 0.013)}
    b.body(f"body{i}", parent=parent, joint=fb.joints.Revolute(_AXES[i % 3]), position=place, **matter)


def chain(n: int) -> Any:
    """n hinges in a row."""
    b, rng = fb.Builder(f"chain{n}"), np.random.default_rng(0)
    for i in range(n):
        _body(b, i, f"body{i - 1}" if i else "world", rng)
    return b.build()


def tree(n: int) -> Any:
    """n hinges, each on a body drawn at random."""
    b, rng = fb.Builder(f"tree{n}"), np.random.default_rng(0)
    for i in range(n):
        _body(b, i, f"body{rng.integers(0, i)}" if i else "world", rng)
    return b.build()


def ring(n: int) -> Any:
    """n rods in a polygon that one loop closes."""
    b, turn = fb.Builder(f"ring{n}"), 2 * np.pi / (n + 1)
    matter: dict[str, Any] = {"mass": 1.0, "com": (0.05, 0.0, 0.0), "inertia": (0.01, 0.012, 0.013)}
    for i in range(n):
        place: dict[str, Any] = {"position": (0.1 if i else 0.0, 0, 0), "rpy": (0, 0, turn if i else 0)}
        b.body(f"rod{i}", parent=f"rod{i - 1}" if i else "world", joint=fb.joints.Revolute("z"), **place, **matter)
    end = 0.1 * np.array([(np.cos(turn * i), np.sin(turn * i), 0.0) for i in range(n)]).sum(0)
    joint, ends = fb.joints.Revolute("z"), ("world", f"rod{n - 1}")
    b.loop(fb.loops.Closure(joint, *ends, at_predecessor=tuple(end), at_successor=(0.1, 0, 0)))
    return b.build()


def talos(floating: bool) -> Any:
    """The humanoid of example-robot-data."""
    from peer_robots import robot_folder

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fb.load(str(robot_folder() / "talos_data/robots/talos_reduced.urdf"), floating=floating)


class Row(NamedTuple):
    """A robot, the path to its function, the arguments; limits in seconds and MB (None: only printed)."""

    robot: Any
    function: str
    arguments: str
    seconds: float | None
    megabytes: float | None = None


ROWS = {
    "talos_fixed_dABA": Row(lambda: talos(False), "forward_dynamics.jacobian", "qvv", 2.0),
    "talos_dABA": Row(lambda: talos(True), "forward_dynamics.jacobian", "qvv", 3.0),
    "jvrc1_dABA": Row(fb.robots.jvrc1, "forward_dynamics.jacobian", "qvv", 4.0),
    "talos_christoffel": Row(lambda: talos(True), "christoffel", "q", 3.0),
    "talos_dregressor": Row(lambda: talos(True), "regressor.jacobian", "qvv", 10.0),
    "talos_dcoriolis": Row(lambda: talos(True), "coriolis_matrix.jacobian", "qv", 5.0),
    "chain500_mass": Row(lambda: chain(500), "mass_matrix", "q", None),
    "chain2000_mass": Row(lambda: chain(2000), "mass_matrix", "q", 10.0, 500.0),
    "tree125_dABA": Row(lambda: tree(125), "forward_dynamics.jacobian", "qvv", None),
    "tree250_dABA": Row(lambda: tree(250), "forward_dynamics.jacobian", "qvv", None),
    "tree500_dABA": Row(lambda: tree(500), "forward_dynamics.jacobian", "qvv", None),
    "loop50_ABA": Row(lambda: ring(50), "forward_dynamics", "qvv", 5.0),
    "loop100_ABA": Row(lambda: ring(100), "forward_dynamics", "qvv", 5.0),
}


def measure(name: str) -> None:
    """In a process of its own: seconds, CPU seconds and peak memory in MB of the first call."""
    import resource
    import time

    row = ROWS[name]
    robot = row.robot()
    rng = np.random.default_rng(0)
    q = robot.neutral() if row.function == "forward_dynamics" else robot.random(rng)  # of a ring: hard to find others
    values = {"q": q, "v": rng.normal(size=robot.nv)}
    function = robot
    for part in row.function.split("."):
        function = getattr(function, part)
    wall, cpu = time.perf_counter(), time.process_time()
    function(*(values[x] for x in row.arguments))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def tried(name: str) -> list[float]:
    """The same in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--measure", name]
        environment = {**os.environ, "FOURBAR_CACHE": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()]


def print_row(name: str, tries: int) -> None:
    """Print a row beside its limits."""
    row = ROWS[name]
    wall, cpu, memory = (Seconds.least(column) for column in zip(*(tried(name) for _ in range(tries)), strict=True))
    REPORT.record(f"{name}: {row.function}", "wall time", wall, "s")
    REPORT.record(f"{name}: {row.function}", "CPU time", cpu, "s")
    limits = [
        (f"{x:g} {unit}", y <= x) for x, y, unit in ((row.seconds, wall, "s"), (row.megabytes, memory, "MB")) if x
    ]
    verdict = "".join(f" | limit {limit} {'met' if met else 'NOT met'}" for limit, met in limits)
    print(f"{name:18s} {wall:6.2f} s, CPU {cpu:6.2f} s, peak {memory:5.0f} MB{verdict}", flush=True)
    REPORT.missed += [f"{name}, limit {limit}" for limit, met in limits if not met]


def main() -> int:
    """Measure the rows that were asked for, all by default; the exit status."""
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="row", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="one try each; one row if none is named")
    add_options(parser)
    asked = parser.parse_args()
    names = asked.rows or (["chain500_mass"] if asked.quick else list(ROWS))
    for name in names:
        print_row(name, 1 if asked.quick else _TRIES)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
