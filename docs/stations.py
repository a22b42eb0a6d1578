"""The stations of a call: which files of fourbar `robot.forward_dynamics(q, v, tau)` enters, from attribute to result.

    python docs/stations.py            counts, for a tree and a loop, first and second call
    python docs/stations.py --files    and the files, in the order in which they are entered

Files are counted where a function of theirs is called. What is done once in a process (modules are imported, machine
code of calls is loaded) is left out: another robot was asked before. A call has two halves: the way down to the
algorithm, and the mathematics that is recorded there. The first is what a reader walks through to find the second.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import fourbar as fb

SOURCE = Path(fb.__file__).resolve().parent
BEGIN = "functions/methods/"  # where a recording enters these files the mathematics begins


class Way(NamedTuple):
    """Files in the order in which they were entered, functions entered, and files entered before the mathematics."""

    files: tuple[str, ...]
    functions: int
    before: tuple[str, ...]


class Stations:
    """Notes the files and functions of fourbar that are entered, in this thread."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.functions: set[tuple[str, int]] = set()
        self.before: tuple[str, ...] | None = None
        self._importing = 0

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """One event of `sys.setprofile`."""
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._importing and Path(code.co_filename).is_relative_to(SOURCE):
            file = str(Path(code.co_filename).relative_to(SOURCE))
            if file.startswith(BEGIN) and self.before is None:
                self.before = tuple(self.files)
            self.files.setdefault(file)
            self.functions.add((file, code.co_firstlineno))


def way(run: Callable[[], Any]) -> Way:
    """The way that something goes."""
    stations = Stations()
    sys.setprofile(stations.note)
    try:
        run()
    finally:
        sys.setprofile(None)
    files = tuple(stations.files)
    return Way(files, len(stations.functions), files if stations.before is None else stations.before)


def robots() -> dict[str, fb.System]:
    """A tree and a loop."""
    return {"tree": fb.robots.double_pendulum(), "loop": fb.robots.four_bar()}


def warm_up() -> None:
    """What is done once in a process."""
    ways(fb.robots.slider_crank())


def ways(robot: fb.System) -> dict[str, Way]:
    """The attribute, the first call and the second one of forward dynamics."""
    q, v, tau = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
    return {
        "attribute": way(lambda: robot.forward_dynamics),
        "first call": way(lambda: robot.forward_dynamics(q, v, tau)),
        "second call": way(lambda: robot.forward_dynamics(q, v, tau)),
    }


def calls(run: Callable[[], Any]) -> int:
    """The number of Python functions of fourbar that are called."""
    count = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call" and Path(frame.f_code.co_filename).is_relative_to(SOURCE)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def _damp(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return -0.1 * v


def simulations() -> dict[str, Callable[[], Any]]:
    """Motions that have been made once: of a robot, of a scene with a free body, and a step of live worlds."""
    b = fb.Builder("walker")
    b.body("base", joint=fb.joints.Free(), mass=3.0, inertia=(0.02, 0.02, 0.02))
    b.body("leg", parent="base", joint=fb.joints.Revolute("y"), mass=0.5, com=(0, 0, -0.1), inertia=(2e-3,) * 3,
           limits=(-1.0, 1.0))  # fmt: skip
    b.position_servo("servo", drives="leg", kp=50.0, kd=1.0)
    foot = fb.contact.Shape("leg", "sphere", 0.02, position=(0, 0, -0.2))
    scene = fb.Scene(b.build(), fb.Plane(), contacts=[foot])
    q, pendulum, worlds = scene.start(), fb.robots.double_pendulum(), scene.batch(4)
    worlds.reset(q=q)
    found: dict[str, Callable[[], Any]] = {
        "simulate(scene)": lambda: fb.simulate(scene, q, duration=0.02, u=[0.1]),
        "simulate(robot)": lambda: fb.simulate(pendulum, [0.1, 0.2], duration=0.02),
        "simulate(robot, law)": lambda: fb.simulate(pendulum, [0.1, 0.2], duration=0.02, tau=_damp, period=0),
        "batch.step": lambda: worlds.step(u=[0.1]),
    }
    for run in found.values():
        run()
    return found


def main() -> None:
    """Print the ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="list the files too")
    show = parser.parse_args().files
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FOURBAR_CACHE"] = cache  # so that the program is recorded
        warm_up()
        for kind, robot in robots().items():
            for name, found in ways(robot).items():
                counts = f"{len(found.files)} files, {found.functions} functions"
                print(f"{kind}, {name}: {counts}; {len(found.before)} files before the mathematics")
                if show:
                    print(*(f"    {x}" for x in found.files), sep="\n")
        for name, run in simulations().items():
            found = way(run)
            print(f"second {name}: {len(found.files)} files, {found.functions} functions, {calls(run)} calls")
            if show:
                print(*(f"    {x}" for x in found.files), sep="\n")


if __name__ == "__main__":
    main()
