"""simulate: simulate a robot under gravity, in free space or on a ground.

Simulates without motor forces, with springs and damping of the joints (unless --no-passive). Prints speed and accuracy,
and plots coordinates, energy and the path of the tip.

The crank-rocker (a four-bar) and the double pendulum start at rest and are compared with closed forms; other robots
start from a random state, the same in every run.

With --ground, or if the file has a floor, the robot starts at rest on it, in the configuration "home" of its file, else
the first one, else the neutral one. Contacts, joint limits and dry friction are simulated, and the plot shows heights
and contact forces. With --ground, joints without damping get some, unless --no-passive is given.

Without a ground, joint limits are ignored unless --limits is given: a body held only by limits, such as the platform of
a hexapod, falls without end.

Exit code 1 if the plot could not be written (it needs matplotlib) or if the motion diverged.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import ArgumentError, AssemblyError, FourbarError, SingularError, extra
from ..robots.chains import closed_form as of_double_pendulum
from ..robots.linkages import closed_form as of_crank_rocker
from ..sim import Run, SimulationWarning, simulate
from ..sim.motions.outcome import beyond_limits
from ..sim.simulations import DT, SCENE_DT
from ..system.system import System
from . import scene_simulation, shared_arguments
from .shared_arguments import (
    DEFAULT_ROBOT,
    add_robot,
    not_negative,
    number,
    positive,
    print_warnings,
    read_robot,
    reading_options,
)


def progress(steps: Iterable[int]) -> Iterable[int]:
    """The same steps, with a progress display on stderr."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _plain(cast(Sequence[int], steps))
    return tqdm(steps, desc="simulating", unit=" steps", unit_scale=True, leave=False, disable=None)


def _plain(steps: Sequence[int]) -> Iterator[int]:
    print(f"simulating (for a progress bar: {extra('plot')}) ", end="", file=sys.stderr, flush=True)
    tenth = max(1, len(steps) // 10)
    for i in steps:
        yield i
        if (i + 1) % tenth == 0:
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


_MOST_RECORDED = 20_000
_MOST_STEPS = 10**10
_START = {"crank_rocker": (2.0, -1.6, 1.9), "double_pendulum": (1.7, 0.5)}  # loops are closed near it
_MOST_REPEATED = 10_000  # steps that are made a second time, to measure them
_SPEED = 0.5  # standard deviation of the velocities at the start
_CLOSED_FORM: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "crank_rocker": of_crank_rocker,
    "double_pendulum": of_double_pendulum,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser, nargs="?", default=DEFAULT_ROBOT)
    parser.add_argument("--duration", type=positive, default=10.0, metavar="S", help="seconds (default: 10)")
    parser.add_argument(
        "--dt", type=positive, metavar="S",
        help=f"step size (default: {DT:g}, with contacts or limits {SCENE_DT:g})",
    )  # fmt: skip
    parser.add_argument(
        "--ground", nargs="?", type=number, const=math.nan, metavar="HEIGHT",
        help=(
            "simulate contacts with a level ground at this height (m); by default 0, or a little below the lowest "
            "point of a robot with a fixed base"
        ),
    )  # fmt: skip
    parser.add_argument("--friction", type=not_negative, metavar="MU", help="friction of the ground (default: 0.8)")
    parser.add_argument("--limits", action="store_true", help="enforce joint limits also without a ground")
    parser.add_argument("--no-contacts", action="store_true", help="ignore the floor of the file")
    parser.add_argument(
        "--no-passive", action="store_true", help="ignore springs and damping of joints; with --ground, add no damping"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("simulation.png"),
        metavar="FILE",
        help="file of the plot (default: simulation.png)",
    )
    parser.add_argument("--no-picture", action="store_true", help="print only the table")


def run(args: argparse.Namespace) -> int:
    """Simulate, print, draw."""
    robot = read_robot(args.robot, **reading_options(args))
    print_warnings(robot, args.robot)
    ground = _ground(args)
    if args.limits and args.no_passive:
        raise ArgumentError("--limits cannot be combined with --no-passive: where limits act, springs and damping do")
    contacts = not args.no_contacts and scene_simulation.touches(robot, ground)
    draw = None if args.no_picture else _drawing(args.output, contacts)
    dt = args.dt or (SCENE_DT if contacts or args.limits else DT)
    with _printed_warnings():
        if contacts:
            result: Any = _simulate_contacts(
                robot, ground, args.duration, dt, calm=ground.asked and not args.no_passive
            )
            rows = scene_simulation.contact_rows(robot, result, dt)
        elif args.limits:
            every = -(-_steps(robot, args.duration, dt) // _MOST_RECORDED)
            result = scene_simulation.measure_limits(robot, _start(robot), args.duration, dt, every, _count_steps([0]))
            rows = scene_simulation.limit_rows(robot, result, dt)
        else:
            result = _measure(robot, args.duration, dt, passive=not args.no_passive)
            rows = _rows(robot, result, dt)
    print(shared_arguments.pairs(rows))
    if draw is not None:
        draw(robot, result, args.output)
        print(f"\npicture: {args.output}")
    elif not args.no_picture:
        print(f"\n{args.output} was not written: that needs matplotlib, {extra('plot')}", file=sys.stderr)
        return 1
    return 0


def _ground(args: argparse.Namespace) -> scene_simulation.GroundOptions:
    """The ground that is asked for."""
    asked = args.ground is not None
    if args.friction is not None and not asked:
        raise ArgumentError("--friction applies to the ground: give --ground too")
    if asked and args.no_contacts:
        raise ArgumentError("--ground cannot be combined with --no-contacts: leave out --no-contacts")
    return scene_simulation.GroundOptions(
        asked, None if not asked or math.isnan(args.ground) else args.ground, args.friction
    )


def _drawing(output: Path, contacts: bool) -> Callable[..., None] | None:
    """The function that draws the picture; None without matplotlib. Fails early if the file cannot be written."""
    try:
        from .picture import check_output, draw, draw_contacts
    except ImportError:
        return None
    check_output(output)
    if contacts:
        return draw_contacts
    return lambda robot, result, file: draw(robot, result.trajectory, result.drift, file)


def _simulate_contacts(
    robot: System, ground: scene_simulation.GroundOptions, duration: float, dt: float, calm: bool
) -> scene_simulation.ContactSimulation:
    """The simulation with contacts; `calm`: with damping in the joints that have none."""
    steps = _steps(robot, duration, dt)
    q = _start(robot)[0]
    same = scene_simulation.add_damping(robot, q) if calm else robot
    simulation = scene_simulation.measure_contacts(
        same, ground, q, duration, dt, -(-steps // _MOST_RECORDED), _count_steps([0])
    )
    return replace(simulation, calmed=same is not robot)


@dataclass(frozen=True)
class SimulationSummary:
    """A simulation and its quality."""

    trajectory: Run
    passive: bool  # whether springs and damping act
    drift: np.ndarray  # change since the start of the energy plus losses, over the largest kinetic energy
    steps: int
    seconds: float


@contextmanager
def _printed_warnings() -> Iterator[None]:
    """Print the warnings of a simulation on stderr, each once, also where it fails."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SimulationWarning)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in said):
                print(f"warning: {message}", file=sys.stderr)


def _steps(robot: System, duration: float, dt: float) -> int:
    """The number of steps; refuses motions that cannot be simulated."""
    if not robot.nv:
        raise FourbarError(f"{robot.name}: no joint moves, so there is nothing to simulate")
    if not duration / dt <= _MOST_STEPS:
        raise ArgumentError(
            f"--duration {duration:g} in steps of --dt {dt:g} is {duration / dt:.3g} steps: too many to finish in "
            "a reasonable time"
        )
    if dt > duration:
        raise ArgumentError(f"--dt {dt:g} is longer than --duration {duration:g}")
    return max(1, round(duration / dt))


def _measure(robot: System, duration: float, dt: float, passive: bool) -> SimulationSummary:
    """Simulate from the robot's start, compiling before the clock starts."""
    steps = _steps(robot, duration, dt)
    q, v = _start(robot)
    simulate(robot, q, v, duration=1e-6, dt=1e-6, passive=passive)
    done: list[int] = [0]
    begin = time.perf_counter()
    try:
        trajectory = simulate(
            robot, q, v, duration=duration, dt=dt, passive=passive, every=-(-steps // _MOST_RECORDED),
            progress=_count_steps(done),
        )  # fmt: skip
    except (AssemblyError, SingularError) as error:
        raise FourbarError(f"stopped after {done[0] * dt:g} s (use --duration to end earlier): {error}") from None
    seconds = time.perf_counter() - begin
    if trajectory.t[-1] < (steps - 0.5) * dt:
        raise FourbarError(
            f"the simulation diverged or was interrupted after {trajectory.t[-1]:g} s; if it diverged, try a shorter "
            f"step than --dt {dt:g} s"
        )
    if robot.mechanism.loops:
        seconds = _time_again(robot, q, v, min(steps, _MOST_REPEATED), dt, passive) * steps
    kinetic = robot.kinetic_energy(trajectory.q, trajectory.v)
    energy = kinetic + robot.potential_energy(trajectory.q) + trajectory.lost
    if passive:
        energy = energy + robot.spring_energy(trajectory.q)
    return SimulationSummary(trajectory, passive, (energy - energy[0]) / (kinetic.max() or 1.0), steps, seconds)


def _time_again(robot: System, q: np.ndarray, v: np.ndarray, steps: int, dt: float, passive: bool) -> float:
    """Seconds per step of a motion that was simulated before: the first time, where loops turn back, steps in the
    velocities of other joints are compiled on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        begin = time.perf_counter()
        simulate(robot, q, v, duration=steps * dt, dt=dt, passive=passive, every=steps)
        return (time.perf_counter() - begin) / steps


def _start(robot: System) -> tuple[np.ndarray, np.ndarray]:
    """Where the motion begins: configuration and velocity."""
    if robot.name in _START:
        return robot.assemble(_START[robot.name]), np.zeros(robot.nv)
    return robot.random(0), _SPEED * np.random.default_rng(0).normal(size=robot.nv)


def _count_steps(done: list[int]) -> Callable[[Iterable[int]], Iterator[int]]:
    """Progress that also stores the number of the current step in `done`."""

    def steps(of: Iterable[int]) -> Iterator[int]:
        for done[0] in progress(of):
            yield done[0]

    return steps


def _rows(robot: System, result: SimulationSummary, dt: float) -> list[tuple[str, str]]:
    gap = float(robot.loop_gap(result.trajectory.q).max())
    return [
        ("robot", f"{robot.name} ({len(robot.names.bodies)} bodies, nv = {robot.nv})"),
        ("steps", f"{result.steps} of {shared_arguments.duration(dt)}"),
        ("time per step", shared_arguments.duration(result.seconds / result.steps)),
        ("energy drift", f"{np.abs(result.drift).max():.1e} of the largest kinetic energy"),
        *_passive(robot, result),
        *_limits(robot, result.trajectory),
        *([("loop gap", f"{gap:.1e} at most")] if robot.nq > robot.nv and robot.mechanism.loops else []),
        _exactness(robot, result),
    ]


def _passive(robot: System, result: SimulationSummary) -> list[tuple[str, str]]:
    """A line about the springs, damping and friction of the robot, and whether they acted."""
    joints = robot.model.cluster_tree.moving
    kinds = {"springs": "stiffness", "damping": "damping", "friction": "friction"}
    having = {kind: sum(any(getattr(c, name)) for c in joints) for kind, name in kinds.items()}
    acts = {kind: result.passive and kind != "friction" for kind in having}
    rows = []
    for label, wanted in (("acting", True), ("not acting", False)):
        found = [
            f"{kind} of {n} joint{'s' if n > 1 else ''}" for kind, n in having.items() if n and acts[kind] is wanted
        ]
        rows += [(label, ", ".join(found))] if found else []
    lost = result.trajectory.lost[-1]
    return [*rows, *([("lost to damping", f"{lost:.4g} J")] if lost else [])]


def _limits(robot: System, trajectory: Run) -> list[tuple[str, str]]:
    """A line about joints that moved beyond their limits, if there are any."""
    beyond = beyond_limits(robot, trajectory.t, trajectory.q)
    if beyond is None:
        return []
    count = len(beyond.joints)
    return [("joint limits", f"left by {count} joint{'s' if count > 1 else ''}, which would stop there with --limits")]


def _exactness(robot: System, result: SimulationSummary) -> tuple[str, str]:
    """Error of the accelerations against the closed form, or else of inverse dynamics after forward dynamics."""
    q, v = result.trajectory.q, result.trajectory.v
    a, tau = robot.forward_dynamics(q, v, np.zeros_like(v)), np.zeros_like(v)
    if result.passive:
        a, tau = robot.passive_dynamics(q, v, tau), robot.passive_forces(q, v)
    if robot.name in _CLOSED_FORM:
        error, size = a - _CLOSED_FORM[robot.name](q, v), a
        label, unit = "acceleration error", "of the largest acceleration, against the closed form"
    else:
        error, size = robot.inverse_dynamics(q, v, a) - tau, robot.bias_force(q, v)
        label, unit = "force residual", "of the largest bias force, inverse after forward dynamics"
    return label, f"{float(np.abs(error).max() / (np.abs(size).max() or 1.0)):.1e} {unit}"
