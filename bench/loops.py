"""Robots with loops beside what is published, in one run.  python bench/loops.py [--strict] [--save] [--only PART ...]

Needs `pip install pin example-robot-data`. The clock is Pinocchio's ABA in C++ on talos_reduced, from its batch call on
one thread; every time is a minimum, measured in turns with the clock, and is printed in units of it. The clock's batch
is short, because on a busy machine a call of several milliseconds is never left alone; its minimum would flatter us.
`--strict` exits non-zero where a row takes more than a quarter longer than the published one, or falls short otherwise;
`--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")

import numpy as np
import pinocchio as pin

import fourbar as fb
import rivals
from closed import LCABA, SETTINGS, ClosedPeer, Settings, four_bar, spring_leg
from fourbar import baselines
from fourbar.system.program_text import count
from report import TOLERANCE, Report, add_options
from run import Case
from timing import Seconds, fastest

REPORT = Report("loops")
ROBOTS = ("mit_humanoid", "tello_with_arms", "mini_cheetah", "jvrc1")
FOOT = {
    "mit_humanoid": "right_toe_contact",
    "tello_with_arms": "left-toe_contact",
    "mini_cheetah": "HR_foot_contact",
    "jvrc1": "left_toe_contact",
}
GROWTH_LIMIT, FIRST_CALL_LIMIT = 1.3, 2.0
SHORT, LONG = 24, 192  # links of the chains
CLOCK_BATCH = 64
_DISTINCT = 64  # random states; closing implicit loops takes long, so more of them are repetitions


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    batch: int = 1024
    turns: int = 12
    seconds: float = 0.06
    attempts: int = 3

    def fastest(self, *functions: Callable[[], Any]) -> list[Seconds]:
        return fastest(*functions, turns=self.turns, seconds=self.seconds)


QUICK = Effort(batch=64, turns=1, seconds=0.002, attempts=1)


class Clock:
    """Pinocchio's ABA on talos_reduced, one thread."""

    def __init__(self) -> None:
        case = Case("talos_reduced")
        self._pool = case.pool
        self._batch = [np.asfortranarray(x[:, :CLOCK_BATCH]) for x in case.peer_batch]
        self._result = np.asfortranarray(case.result[:, :CLOCK_BATCH])
        self.best = float("inf")

    def __call__(self) -> None:
        pin.abaInParallel(1, self._pool, *self._batch, self._result)

    def units(self, function: Callable[[], Any], samples: int, effort: Effort) -> float:
        """Time of one of the samples that a function computes, in units of one ABA."""
        own, clock = effort.fastest(function, self)
        self.best = min(self.best, clock / CLOCK_BATCH)
        return own / samples / (clock / CLOCK_BATCH)


def line(label: str, value: float, limit: float | None, note: str = "", unit: str = "") -> bool:
    """Print a row; whether its limit is met."""
    met = limit is None or value <= limit
    bound = "" if limit is None else f"at most {limit:g}{unit}"
    verdict = "" if limit is None else "met" if met else "MISSED"
    print(f"{label:46s} {value:8.3f}{unit:2s} {bound:14s} {verdict:7s} {note}", flush=True)
    return met


def states(robot: fb.System, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a of n samples."""
    rng = np.random.default_rng(seed)
    q = np.resize(robot.random(rng, min(n, _DISTINCT)), (n, robot.nq))
    v, a = rng.normal(size=(2, n, robot.nv))
    return q, v, a


def size(function: Any) -> str:
    """Operations, blocks, slots of a compiled function."""
    program = function.program()
    operations = sum(count(program).values())
    return f"{operations} operations, {len(program.calls)} calls of {len(program.blocks)} blocks, {program.slots} slots"


def round_trip(robot: fb.System, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """How well forward dynamics undoes inverse dynamics: the median over the samples, relative to the largest entry."""
    back = robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a))
    return float(np.median(np.abs(back - a).max(-1) / np.abs(a).max(-1)))


def limit(row: str, robot: str) -> float | None:
    """The most that a row may take: a quarter more than the published one, where there is one."""
    row_of = REPORT.published.get((row, robot))
    return None if row_of is None else TOLERANCE * row_of["value"]


def dynamics_rows(clock: Clock, effort: Effort, robots: Sequence[str]) -> list[bool]:
    """Forward and inverse dynamics and the inverse operational-space inertia of the robots."""
    met = []
    for name in robots:
        robot = getattr(fb.robots, name)()
        q, v, a = states(robot, effort.batch)
        omega = robot.osim_inverse.specialise(frames=[FOOT[name]])
        for label, function, args in (
            ("forward dynamics", robot.forward_dynamics, (q, v, a)),
            ("inverse dynamics", robot.inverse_dynamics, (q, v, a)),
            ("inverse operational-space inertia", omega, (q,)),
        ):
            function(*args)
            t = clock.units(lambda f=function, args=args: f(*args), effort.batch, effort)
            REPORT.record(label, name, t, "ABA of talos_reduced by Pinocchio")
            met.append(line(f"{label} {name}", t, limit(label, name), size(function)))
        print(f"    {name}: forward dynamics undoes inverse dynamics up to {round_trip(robot, q, v, a):.0e}")
    return met


def rival_rows(effort: Effort, robots: Sequence[str]) -> list[bool]:
    """Compiled rivals of C-ABA and C-EFPA: operations, times, differences; whether the kept program is the fastest."""
    met = []
    print(
        "compiled rivals: operations, ns per sample in a batch, difference to the first, relative to the largest entry"
    )
    for name, robot in _contestants(robots).items():
        q, v, tau = states(robot, effort.batch)
        ends = _leaves(robot)
        cases = {"forward dynamics": (rivals.forward_dynamics(robot), (q, v, tau), robot.forward_dynamics)}
        for frames in {len(x): x for x in (ends[:1], ends[:4])}.values():
            function = robot.osim_inverse.specialise(frames=frames)
            cases[f"Ω of {len(frames)} frame{'s' if len(frames) > 1 else ''}"] = (
                rivals.osim_inverse(robot, frames),
                (q,),
                function,
            )
        for label, (programs, args, function) in cases.items():
            met.append(_contest(f"{label} {name}", programs, args, function, effort))
    return met


def _contestants(robots: Sequence[str]) -> dict[str, fb.System]:
    """The robots, and short chains, platforms and legs."""
    others = {"gt_chain 6": fb.robots.gt_chain(6, seed=0), "pbt_chain 8": fb.robots.pbt_chain(8, seed=0)}
    more = ("stewart_platform", "cassie_leg") if len(robots) == len(ROBOTS) else ()
    return {**others, **{name: getattr(fb.robots, name)() for name in (*more, *robots)}}


def _leaves(robot: fb.System) -> list[str]:
    """Bodies at the ends of a robot."""
    carriers = {joint.parent for joint in robot.mechanism.joints}
    return [body.name for body in robot.mechanism.bodies if body.name not in carriers]


def _contest(
    label: str, programs: dict[str, rivals.Compiled], args: tuple[np.ndarray, ...], function: Any, effort: Effort
) -> bool:
    """Print a row; whether the program that is kept takes at most a quarter longer than any other."""
    results = [program(*args) for program in programs.values()]
    times = effort.fastest(*(lambda f=f: f(*args) for f in programs.values()))
    rows = [x.reshape(len(x), -1) for x in results]
    errors = [float(np.median(np.abs(x - rows[0]).max(-1) / np.abs(rows[0]).max(-1))) for x in rows]
    kept, best = rivals.kept(programs, function), min(times)
    parts = [
        f"{name.replace('cluster', 'C-EFPA' if 'Ω' in label else 'C-ABA')} {program.operations}, "
        f"{1e9 * t / len(args[0]):.0f} ns{f', {e:.0e}' if e else ''}{' (kept)' if name == kept else ''}"
        for (name, program), t, e in zip(programs.items(), times, errors, strict=True)
    ]
    met = times[list(programs).index(kept)] <= TOLERANCE * best and max(errors) < 1e-12
    print(f"    {label:34s} {'; '.join(parts)}{'' if met else '  MISSED'}", flush=True)
    return met


def twin_rows(effort: Effort, robots: Sequence[str]) -> list[bool]:
    """C-ABA of the exact robot against ABA of the tree with reflected inertia."""
    met = []
    for name in robots:
        calls, sizes = [], []
        for rotors in ("exact", "reflected"):
            robot = getattr(fb.robots, name)(rotors=rotors)
            args, function = states(robot, effort.batch), robot.forward_dynamics
            calls.append(lambda f=function, args=args: f(*args))
            calls[-1]()
            sizes.append(sum(count(function.program()).values()))
        exact, reflected = effort.fastest(*calls)
        note = f"{sizes[0]} operations against {sizes[1]}: {sizes[0] / sizes[1]:.2f}x"
        per, library = (effort.batch, effort.batch), "the same as a tree with reflected inertia"
        bar = REPORT.beside("forward dynamics, exact loops", name, exact, reflected, per=per, library=library)
        label = f"exact / reflected rotors, forward dynamics {name}"
        met.append(line(label, exact / reflected, None, f"{note}{bar}", "x") and "MISSED" not in bar)
    return met


def growth_rows(effort: Effort, ends: tuple[int, int] = (SHORT, LONG)) -> list[bool]:
    """Time a link of C-ABA, from a short chain to a long one: equal planar links, and links drawn at random.

    The batch of the long chain is as much smaller as it has more links: calls of equal length are disturbed equally.
    """
    met = []
    batches = [effort.batch * ends[0] // n for n in ends]
    for name in ("gt_chain", "pbt_chain"):
        for seed in (None, 0):
            calls, notes = [], []
            for n, batch in zip(ends, batches, strict=True):
                robot = getattr(fb.robots, name)(n, seed=seed)
                args = states(robot, batch)
                calls.append(lambda f=robot.forward_dynamics, args=args: f(*args))
                calls[-1]()
                notes.append(f"{n} links: {size(robot.forward_dynamics)}")
            per_link = [t / batch / n for t, batch, n in zip(effort.fastest(*calls), batches, ends, strict=True)]
            label = f"growth {name} {'equal links' if seed is None else 'random links'}, {ends[0]} to {ends[1]}"
            times = " and ".join(f"{1e9 * t:.1f}" for t in per_link)
            met.append(line(label, per_link[1] / per_link[0], GROWTH_LIMIT, f"{times} ns per link", "x"))
            print("".join(f"    {note}\n" for note in notes), end="")
    return met


_FIRST_CALL = """
import time
start = time.perf_counter()
import fourbar
imported = time.perf_counter()
robot = fourbar.robots.{name}()
built = time.perf_counter()
robot.forward_dynamics(robot.neutral(), [0.0] * robot.nv, [0.0] * robot.nv)
end = time.perf_counter()
print(imported - start, built - imported, end - built, time.process_time())
"""


def first_call_rows(effort: Effort, name: str = "mit_humanoid") -> list[bool]:
    """From nothing to the first result in a new process without cache, and with the cache it leaves."""
    found: dict[str, list[list[float]]] = {"cold": [], "warm": []}
    for _ in range(effort.attempts):
        with tempfile.TemporaryDirectory() as cache:
            for temperature in ("cold", "warm"):
                command = [sys.executable, "-c", _FIRST_CALL.format(name=name)]
                environment = {**os.environ, "FOURBAR_CACHE": cache}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                found[temperature].append([float(x) for x in done.stdout.split()])
    met = []
    for temperature, runs in found.items():
        imported, built, called, cpu = min(runs, key=lambda run: run[1] + run[2])
        note = (
            f"build {built:.2f} s, call {called:.2f} s; import before that {imported:.2f} s; {cpu:.2f} s of CPU in all"
        )
        limit = FIRST_CALL_LIMIT if temperature == "cold" else None
        met.append(line(f"first call, {temperature} cache, {name}", built + called, limit, note, " s"))
    return met


class _Closed:
    """States of a robot with loop joints, and our results, in Pinocchio's terms: all joints."""

    def __init__(self, robot: fb.System, n: int) -> None:
        self.robot = robot
        q, v, tau = self.args = states(robot, n)
        names = list(robot.spanning().names.velocities)
        self.q, self.v = robot.expand(q), robot.expand_velocity(q, v)
        self.tau = np.zeros_like(self.v)
        self.tau[:, [names.index(x) for x in robot.names.velocities]] = tau
        self.a = robot.expand_acceleration(q, v, robot.forward_dynamics(q, v, tau))

    def errors(self, peer: ClosedPeer, samples: int) -> tuple[float, float, float]:
        """Medians, relative to the largest acceleration: the gaps' acceleration of Pinocchio, ours, the difference."""
        rows = []
        for q, v, tau, a in list(zip(self.q, self.v, self.tau, self.a, strict=True))[:samples]:
            theirs = peer.accelerations(q, v, tau).copy()
            gaps = [peer.gap_acceleration(q, v, x) if np.all(np.isfinite(x)) else np.nan for x in (theirs, a)]
            rows.append(np.array([*gaps, np.abs(theirs - a).max()]) / np.abs(a).max())
        theirs, ours, difference = np.median(rows, axis=0).tolist()
        return theirs, ours, difference

    def times(self, peer: ClosedPeer, effort: Effort) -> tuple[float, float, float]:
        """Seconds: our batch (a sample), our single call, Pinocchio's single call, both from Python."""
        f = self.robot.forward_dynamics
        one, state = [x[0].copy() for x in self.args], (self.q[0].copy(), self.v[0].copy(), self.tau[0].copy())
        f(*one)
        batch, call, theirs = effort.fastest(lambda: f(*self.args), lambda: f(*one), lambda: peer.accelerations(*state))
        return batch / effort.batch, call, theirs


def closed_rows(effort: Effort, settings: Sequence[Settings] = (*SETTINGS, *LCABA)) -> list[bool]:
    """Loop joints beside Pinocchio's `constraintDynamics` and `lcaba`; whether our gaps stay closed, in less time."""
    print(
        "accelerations under loop joints, relative to the largest; gap: how far the two ends of a loop accelerate apart"
    )
    met = []
    for robot in (four_bar(), spring_leg()):
        case = _Closed(robot, effort.batch)
        print(f"{robot.name}: {robot.spanning().nv} velocities, {robot.nv} independent; {size(robot.forward_dynamics)}")
        for setting in settings:
            peer = ClosedPeer(robot, setting)
            theirs, ours, difference = case.errors(peer, min(100, effort.batch))
            batch, call, peer_call = case.times(peer, effort)
            met.append(ours < 1e-14 and call < peer_call)
            print(
                f"    {setting!s:52s} gap {theirs:5.0e}, ours {ours:5.0e}, differ by {difference:5.0e} | "
                f"{1e9 * peer_call:6.0f} ns, our call {1e9 * call:5.0f}: {peer_call / call:4.1f}x | "
                f"ours in a batch {1e9 * batch:4.0f}: {peer_call / batch:5.1f}x{'' if met[-1] else '  MISSED'}",
                flush=True,
            )
        print(f"    {multiplier_note(case, effort)}")
    return met


def multiplier_note(case: _Closed, effort: Effort) -> str:
    """Multipliers by `fourbar.baselines.sparse_lagrange_forward_dynamics`, and compiled, beside our own program."""
    args, programs = case.args, rivals.forward_dynamics(case.robot)
    own = case.robot.forward_dynamics(*args)
    functions: dict[str, Callable[[], Any]] = {
        "sparse_lagrange_forward_dynamics": lambda: baselines.sparse_lagrange_forward_dynamics(case.robot, *args),
        "the same compiled": lambda: programs["folded Lagrange"](*args),
        "ours": lambda: case.robot.forward_dynamics(*args),
    }
    errors = [float(np.median(np.abs(f() - own).max(-1) / np.abs(own).max(-1))) for f in functions.values()]
    times = effort.fastest(*functions.values())
    rows = zip(functions, times, errors, strict=True)
    return "in a batch: " + ", ".join(f"{name} {1e9 * t / len(own):.0f} ns ({e:.0e})" for name, t, e in rows)


PARTS = ("dynamics", "rivals", "twins", "growth", "first", "closed")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=ROBOTS)
    parser.add_argument("--quick", action="store_true", help="see whether it runs; the numbers mean nothing")
    add_options(parser)
    options = parser.parse_args(argv)
    effort = QUICK if options.quick else Effort()
    versions = f"fourbar {fb.__version__}, Pinocchio {pin.__version__}, NumPy {np.__version__}"
    print(f"{versions}; batches of {effort.batch}, one thread")
    met: list[bool] = []
    if "dynamics" in options.only:
        clock = Clock()
        print("in units of one ABA of talos_reduced by Pinocchio:")
        met += dynamics_rows(clock, effort, options.robots)
        print(f"the unit: {1e9 * clock.best:.0f} ns\n")
    if "rivals" in options.only:
        met += rival_rows(effort, options.robots)
    if "twins" in options.only:
        met += twin_rows(effort, options.robots)
    if "growth" in options.only:
        met += growth_rows(effort, (4, 8) if options.quick else (SHORT, LONG))
    if "first" in options.only:
        met += first_call_rows(effort)
    if "closed" in options.only:
        met += closed_rows(effort, [SETTINGS[2], *LCABA[:1]] if options.quick else [*SETTINGS, *LCABA])
    print(f"\n{sum(met)} of {len(met)} rows within their limits")
    if not all(met):
        REPORT.missed.append(f"{met.count(False)} rows beyond their limits")
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
