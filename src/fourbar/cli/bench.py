"""bench: time the methods of a robot on this machine.

Times one evaluation in a batch and one call from Python, on one thread: the minimum over several repetitions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..robots import ROBOTS
from ..system.system import System
from . import shared_arguments
from .shared_arguments import (
    DEFAULT_ROBOT,
    add_reading,
    at_least_one,
    is_file,
    print_warnings,
    read_robot,
    reading_options,
    refuse_reading,
)

BATCH = 1024
# Methods by the number of their arguments among q, v, a.
METHODS = {"inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "inverse_mass_matrix": 1}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    chosen = f"model files, or robots of the library (default: {DEFAULT_ROBOT}): {', '.join(ROBOTS)}"
    parser.add_argument("robots", metavar="ROBOT", nargs="*", help=chosen)
    parser.add_argument("--batch", type=at_least_one, default=BATCH, help=f"samples per batch (default: {BATCH})")
    parser.add_argument("--repeat", type=at_least_one, default=7, help="repetitions (default: 7)")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    robots, options = args.robots or [DEFAULT_ROBOT], reading_options(args)
    if not any(map(is_file, robots)):
        refuse_reading(f"{robots[0]} is a robot of the library", options)
    chosen = [(name, _read(name, options)) for name in robots]
    rows = [row for name, robot in chosen for row in measure(name, robot, args.batch, args.repeat)]
    head = ["robot", "method", "nv", f"batch of {args.batch} [ns]", "one call [ns]"]
    print(shared_arguments.columns(head, rows, right=range(2, len(head))))
    return 0


def _read(name: str, options: dict[str, Any]) -> System:
    """A robot; the options for reading apply only to files."""
    robot = read_robot(name, **(options if is_file(name) else {}))
    print_warnings(robot, name)
    return robot


def measure(name: str, robot: System, batch: int, repeat: int) -> list[list[str]]:
    """One row per method: nanoseconds per evaluation in a batch and per call."""
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random(rng, batch), rng.normal(size=(2, batch, robot.nv))
    rows = []
    for method, n in METHODS.items():
        ours = own_calls(getattr(robot, method), (q, v, a)[:n])
        took = {kind: shortest(call, repeat) for kind, call in ours.items()}
        rows.append([name, method, str(robot.nv), f"{took['batch'] / batch * 1e9:.1f}", f"{took['one'] * 1e9:.0f}"])
    return rows


def own_calls(function: Any, arrays: tuple[np.ndarray, ...]) -> dict[str, Callable[[], Any]]:
    """Calls that evaluate a batch on one thread, into an existing array, and its first sample."""
    rows = [np.ascontiguousarray(x[0]) for x in arrays]
    out = function(*arrays, threads=1)
    return {"batch": lambda: function(*arrays, out=out, threads=1), "one": lambda: function(*rows)}


def shortest(call: Callable[[], Any], repeat: int = 7, at_least: float = 0.005) -> float:
    """Seconds per call: the fastest of several repetitions, each with as many calls as take `at_least` seconds."""
    loops = 1
    while (took := _time(call, loops)) < at_least:
        loops = max(2 * loops, int(1.2 * loops * at_least / max(took, 1e-9)))
    return min(_time(call, loops) for _ in range(repeat)) / loops


def _time(call: Callable[[], Any], loops: int) -> float:
    steps = range(loops)
    begin = time.perf_counter()
    for _ in steps:
        call()
    return time.perf_counter() - begin
