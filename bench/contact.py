"""A report card of contacts: engines that pip installs, side by side.

python bench/contact.py [--strict] [--quick] [--save]

The same worlds for all engines, one state, one thread, double precision. The tests are those of SimBenchmark (Kang,
Hwangbo, 2018), and blocks on a slope. What has a closed form:

    creep      of a block on a slope that its friction holds (mm/s)
    off axis   how much too fast a block slides down a slope that falls at 45° to the axes (%), and off its course (°)
    energy     of a block that tumbles on a floor: the largest growth in a step (J)

and as curves of errors over CPU time, for steps dt from 8 to 0.5 ms:

    rolling    where a ball is that slid first (m)
    bouncing   energy of a ball after it bounced for two seconds without loss (part of it); Drake has no restitution
    666        how deep the balls of a pile enter each other and the floor (m): 12 balls of the 216, since every pair is
               a candidate of ours in every step
    PD         where ANYmal's base is (m) against the same engine's own motion with 1/8 ms: joints follow random targets
               by a PD law, the feet touch the floor and each other
    momentum   of ANYmal in free space whose joints have random torques (kg m/s)

Raw numbers go into contact.json, motions of ANYmal into contact.npz and the picture is contact.png, all in the folder
of `--out`. `--strict` exits non-zero where ours misses a bar, `--save` writes errors and times at 1 ms
(bench/report.py). `--quick` has two engines and two steps. Drake and PyBullet are left out where they are not
installed; Pinocchio has solvers of contact problems but no simulator in Python (they are compared in the tests).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("FOURBAR_THREADS", "1")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import fourbar as fb
from contact_cases import anymal, lumped
from contact_engines import ENGINES, Motion, Thing, World
from report import Report
from timing import Seconds

G = 9.81
STEPS = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)
FINE = 1.25e-4
STYLES = {
    "fourbar, rigid": ("#0072B2", "o"),
    "fourbar, MuJoCo's law": ("#56B4E9", "s"),
    "MuJoCo, elliptic": ("#D55E00", "^"),
    "MuJoCo, default": ("#E69F00", "v"),
    "Drake": ("#009E73", "D"),
    "PyBullet": ("#CC79A7", "P"),
}
OURS = "fourbar, rigid"
REPORT = Report("contact")
BARS = {"creep": 1e-9, "off axis": 1e-6, "course": 1e-6, "energy": 1e-6}
DEEPEST = 1e-5  # m, of the pile at 1 ms
HALVED = {"rolling": 0.1, "bouncing": 0.3, "momentum": 0.1}  # first order: errors halve with dt, to this part


def slope(angle: float, way: float) -> tuple[float, float, float]:
    """Gravity as a floor feels it that falls by an angle towards a direction."""
    return G * np.sin(angle) * np.cos(way), G * np.sin(angle) * np.sin(way), -G * np.cos(angle)


def block(mu: float, gravity: Any) -> World:
    """A block on four balls at its corners, at rest."""
    feet = tuple(((x, y, -0.04), 0.01) for x in (-0.1, 0.1) for y in (-0.1, 0.1))
    return World((Thing(1.0, (0.0042, 0.0042, 0.0067), feet, (0.0, 0.0, 0.05)),), gravity, mu)


def creep(engine: Any) -> float:
    """mm/s of a block that should stay."""
    run = engine.free(block(0.5, slope(0.4, 0.0)), 2e-3, 1000)
    return float(1e3 * np.linalg.norm(run.q[-1, 0] - run.q[500, 0]) / 1.0)


def off_axis(engine: Any) -> tuple[float, float]:
    """How much too fast (%) it slides along 45°, and how far off its course (°)."""
    angle, mu, way = 0.4, 0.25, np.pi / 4
    v = engine.free(block(mu, slope(angle, way)), 2e-3, 500).v[-1, 0, :3]
    exact = G * (np.sin(angle) - mu * np.cos(angle)) * 1.0
    down = np.array([np.cos(way), np.sin(way), 0.0])
    along = float(v @ down)
    return 100.0 * abs(along / exact - 1.0), float(np.degrees(np.arctan2(np.linalg.norm(v - along * down), along)))


def energy(engine: Any) -> float:
    """The largest growth of energy in a step (J) of a block that falls on its corners."""
    corners = tuple(((x, y, z), 0.01) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1))
    thing = Thing(1.0, (0.01, 0.01, 0.01), corners, (0.0, 0.0, 0.4), (1.0, 0.5, 0.0))
    run = engine.free(World((thing,), (0.0, 0.0, -G), 0.5), 1e-3, 1000)
    v = run.v[:, 0]
    total = 0.5 * (v[:, :3] ** 2).sum(axis=1) + 0.005 * (v[:, 3:] ** 2).sum(axis=1) + G * run.q[:, 0, 2]
    return float(np.diff(total).max())


def rolling(engine: Any, dt: float) -> tuple[float, float]:
    """Where a ball is that slides, then rolls (m off), and seconds per step."""
    v0, mu, T = 2.0, 0.3, 0.8
    ball = Thing(1.0, (0.004, 0.004, 0.004), (((0.0, 0.0, 0.0), 0.1),), (0.0, 0.0, 0.1), (v0, 0.0, 0.0))
    run = engine.free(World((ball,), (0.0, 0.0, -G), mu), dt, round(T / dt))
    t1 = 2.0 * v0 / (7.0 * mu * G)
    exact = v0 * t1 - 0.5 * mu * G * t1**2 + 5.0 / 7.0 * v0 * (T - t1)
    return abs(run.q[-1, 0, 0] - exact), run.seconds


def bouncing(engine: Any, dt: float) -> tuple[float, float]:
    """What part of its energy a ball gains or loses that bounces without loss."""
    ball = Thing(1.0, (0.004, 0.004, 0.004), (((0.0, 0.0, 0.0), 0.1),), (0.0, 0.0, 1.1))
    run = engine.free(World((ball,), (0.0, 0.0, -G), 0.3, elastic=True), dt, round(2.0 / dt))
    flying = run.q[:, 0, 2] > 0.12  # not in the spring of a soft floor
    total = 0.5 * run.v[:, 0, 2] ** 2 + G * (run.q[:, 0, 2] - 0.1)
    left = total[flying][-1] if flying[len(flying) // 2 :].any() else 0.0
    return abs(left / total[0] - 1.0), run.seconds


def pile(engine: Any, dt: float) -> tuple[float, float]:
    """How deep balls of a pile enter each other and the floor at most (m)."""
    rng, r = np.random.default_rng(0), 0.1
    places = [(x, y, z) for z in range(3) for x in range(2) for y in range(2)]
    at = [tuple(0.21 * np.array(p) + [0, 0, 0.11] + rng.uniform(-0.004, 0.004, 3) * [1, 1, 0]) for p in places]
    balls = tuple(Thing(1.0, (0.004, 0.004, 0.004), (((0.0, 0.0, 0.0), r),), p) for p in at)
    run = engine.free(World(balls, (0.0, 0.0, -G), 0.5), dt, round(0.5 / dt))
    apart = np.linalg.norm(run.q[:, :, None] - run.q[:, None], axis=-1) + np.eye(len(at))
    return max(float((2.0 * r - apart).max()), float((r - run.q[:, :, 2]).max()), 0.0), run.seconds


class Quadruped:
    """ANYmal with random targets and torques: sums of sines, so that every engine has the same at any step."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.case = lumped(anymal())
            self.start = self.case.stance(self.case.scene())
        rng = np.random.default_rng(0)
        self.stance = self.start[7:].tolist()
        self.waves = list(zip(rng.uniform(0.0, 6.28, 12).tolist(), rng.uniform(5.0, 15.0, 12).tolist(), strict=True))
        self.found: dict[str, np.ndarray] = {}

    def pd(self, t: Any, q: Any, v: Any) -> list[Any]:
        """Torques towards targets."""
        targets = [s + 0.1 * fb.sin(w * t + p) for s, (p, w) in zip(self.stance, self.waves, strict=True)]
        return [80.0 * (to - x) - 2.0 * y for to, x, y in zip(targets, q, v, strict=True)]

    def torques(self, t: Any, q: Any, v: Any) -> list[Any]:
        """Torques of time."""
        return [5.0 * fb.sin(w * t + p) for p, w in self.waves]

    def walk(self, engine: Any, dt: float) -> Motion:
        """0.4 s on the floor."""
        return engine.legged(self.case, self.start, np.zeros(18), self.pd, dt, round(0.4 / dt), True)

    def following(self, name: str, steps: Any) -> list[tuple[float, float]]:
        """Where the base is, off its place with the finest step (m), by dt."""
        exact = self.walk(ENGINES[name], FINE)
        self.found[f"{name}, PD, q, dt={FINE}"] = exact.q
        rows = []
        for dt in steps:
            run = self.walk(ENGINES[name], dt)
            self.found[f"{name}, PD, q, dt={dt}"] = run.q
            rows.append((float(np.linalg.norm(run.q[-1, :3] - exact.q[-1, :3])), run.seconds))
        return rows

    def momentum(self, engine: Any, dt: float) -> tuple[float, float]:
        """How much linear momentum changes (kg m/s)."""
        v = np.zeros(18)
        v[:6] = [0.4, -0.3, 0.6, 1.0, 0.5, 0.2]
        run = engine.legged(self.case, self.start, v, self.torques, dt, round(0.4 / dt), False)
        h = self.case.robot.momentum(run.q[[0, -1]], run.v[[0, -1]], about="world")[:, 3:]
        return float(np.abs(h[1] - h[0]).max()), run.seconds


def curve(steps: Any, rows: list[tuple[float, float]]) -> dict[str, Any]:
    """Errors and times by dt."""
    return {"dt": list(steps), "error": [float(x) for x, _ in rows], "seconds": [float(x) for _, x in rows]}


def measured(quick: bool, robot: Quadruped) -> dict[str, dict[str, Any]]:
    """All numbers, by engine."""
    found: dict[str, dict[str, Any]] = {}
    steps = STEPS[2:4] if quick else STEPS
    names = [x for x in ENGINES if not quick or x in (OURS, "MuJoCo, elliptic")]
    curves: dict[str, Callable[[Any, float], tuple[float, float]]] = {"rolling": rolling, "bouncing": bouncing}
    for name in names:
        engine = ENGINES[name]
        fast, course = off_axis(engine)
        own: dict[str, Any] = {"creep": creep(engine), "off axis": fast, "course": course, "energy": energy(engine)}
        for card, of in curves.items():
            own[card] = curve(steps, [of(engine, dt) for dt in steps])
        if name != "fourbar, MuJoCo's law":  # whose motions are those of MuJoCo
            own["666"] = curve(steps, [pile(engine, dt) for dt in steps])
            own["PD"] = curve(steps, robot.following(name, steps))
            own["momentum"] = curve(steps, [robot.momentum(engine, dt) for dt in steps])
        found[name] = own
        print(summary(name, own, list(steps).index(1e-3)), flush=True)
        record(name, own, list(steps).index(1e-3))
    return found


def record(name: str, own: dict[str, Any], k: int) -> None:
    """Add the rows of an engine: errors, and times of a step of 1 ms."""
    for title, unit in (("creep", "mm/s"), ("off axis", "%"), ("course", "°"), ("energy", "J")):
        REPORT.record(title, name, own[title], unit)
    for title in (x for x in CURVES if x in own):
        REPORT.record(f"{title}, error", name, own[title]["error"][k])
        REPORT.record(f"{title}, a step", name, Seconds.least([own[title]["seconds"][k]]), "µs")


def summary(name: str, own: dict[str, Any], k: int) -> str:
    """One line about an engine."""
    cards = "  ".join(f"{x} {own[x]:.1e}" for x in BARS)
    at = "  ".join(f"{x} {own[x]['error'][k]:.1e} ({1e6 * own[x]['seconds'][k]:.0f} µs)" for x in CURVES if x in own)
    return f"{name:>22}: {cards}; at 1 ms: {at}"


CURVES = {
    "rolling": "place of a ball that slides,\nthen rolls (m)",
    "bouncing": "energy of a ball that bounces\nwithout loss (part)",
    "666": "deepest penetration\nin a pile of balls (m)",
    "PD": "base of ANYmal under a PD law,\nagainst its own dt = 1/8 ms (m)",
    "momentum": "momentum of ANYmal\nin free space (kg m/s)",
}


def drawn(found: dict[str, dict[str, Any]], path: Path) -> None:
    """Bars of what should be zero, and curves of error over time."""
    fig, axes = plt.subplots(2, 4, figsize=(17.0, 8.6), layout="constrained")
    flat = axes.ravel()
    titles = {
        "creep": "creep of a block that\nfriction holds (mm/s)", "off axis": "too fast across\nthe axes (%)",
        "energy": "largest growth of energy in a\nstep of a tumbling block (J)",
    }  # fmt: skip
    for ax, (name, title) in zip(flat, titles.items(), strict=False):
        for k, engine in enumerate(found):
            value = max(found[engine][name], 1e-16)
            ax.bar(k, value, color=STYLES[engine][0])
            ax.text(k, 2.0 * value, f"{value:.0e}", ha="center", va="bottom", fontsize=8)
        ax.set(title=title, yscale="log", ylim=(1e-17, 1e5), xticks=[])
    for ax, (name, title) in zip(flat[3:], CURVES.items(), strict=True):
        for engine, own in found.items():
            if name in own and not (engine == "Drake" and name == "bouncing"):
                us = 1e6 * np.array(own[name]["seconds"])
                colour, marker = STYLES[engine]
                rate = np.array(own[name]["dt"]) / us * 1e6
                ax.loglog(rate, np.maximum(own[name]["error"], 1e-17), color=colour, marker=marker, label=engine)
        ax.set(title=f"error: {title}", xlabel="times faster than real time, one state")
        ax.grid(alpha=0.3)
    handles = [plt.Line2D([], [], color=c, marker=m, label=x) for x, (c, m) in STYLES.items() if x in found]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    fig.savefig(path, dpi=100)
    plt.close(fig)


def missed(ours: dict[str, Any]) -> list[str]:
    """Where ours falls short."""
    short = [f"{x} {ours[x]:.1e} (bar {bar:g})" for x, bar in BARS.items() if not ours[x] <= bar]
    deep = ours["666"]["error"][ours["666"]["dt"].index(1e-3)]
    short += [f"666: {deep:.1e} m (bar {DEEPEST:g})"] if not deep <= DEEPEST else []
    for name, part in HALVED.items():
        large, small = ours[name]["error"][-2:]
        if small > 1e-12 and not abs(large / small - 2.0) <= 2.0 * part:
            short.append(f"{name}: the error falls {large / small:.2f}x with half the step")
    return short


def main() -> int:
    """Print, keep and draw."""
    warnings.simplefilter("ignore", fb.SimulationWarning)
    logging.getLogger("drake").setLevel(logging.ERROR)
    arguments = sys.argv[1:]
    folder = Path(arguments[arguments.index("--out") + 1]) if "--out" in arguments else Path("contact_report")
    folder.mkdir(parents=True, exist_ok=True)
    robot = Quadruped()
    found = measured("--quick" in arguments, robot)
    (folder / "contact.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    np.savez_compressed(folder / "contact.npz", **robot.found)
    drawn(found, folder / "contact.png")
    REPORT.missed += missed(found[OURS])
    print(f"written to {folder}")
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
