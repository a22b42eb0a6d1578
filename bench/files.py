"""Every scene below a folder beside `mujoco.rollout` on the same file.

python bench/files.py FOLDER [--strict] [--save] [--scenes NAME ...] [--all] [--batch N] [--json FILE] [--quick]

The scenes are the files scene*.xml; `--scenes` takes those whose path has one of the names in it. Contacts are those
with terrain, the same on both sides, or all of the file with `--all`. Joints are driven by the file's actuators towards
random postures; each side drops the robot by 5 cm, moves it for 0.4 s by its own steps, and is timed from there: one
thread, a batch of 1024 that has 256 different states, double precision, the step of the file, CPU time, the least of
all turns. Loading and the first rollout (8 samples, 10 steps) are those of a process of its own, without and with a
cache. "fast" is MuJoCo as a performance user sets it, one Newton iteration and 4 ms, beside our step of 4 ms. A call is
one state, one step, `scene.step` beside `mj_step`.

"pressing" is the mean number of contacts with force, "deepest" the deepest point (mm) of all samples after the rollout
as MuJoCo's collision detection sees the states of either side, "kinetic" the mean kinetic energy (J) of either side
then: a side that gains or loses energy shows there. Scenes that fail are listed with the reason and do not count.

`--strict` exits non-zero where the bars are missed; `--save` writes the results (bench/report.py), `--json FILE` all
numbers by scene, after each of them: scenes that the file has already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import mujoco  # noqa: F401  (its version goes into the report)
import numpy as np

import file_scenes
from report import Report, add_options
from timing import Seconds

REPORT = Report("files")
MEDIAN, WORST, SCENES = 4.0, 1.2, 30  # times faster than MuJoCo, and how many scenes have to be measured
ONE_CALL, COLD, CACHED = 2.0, 2.5, 0.3  # times faster than mj_step; seconds of CPU time of the first rollout
_TIMEOUT = 1800.0  # s of a scene
_HEAD = (
    f"{'scene':42s} {'nv':>3s} {'ms':>4s} {'load':>5s} {'cold':>5s} {'cached':>6s} {'ours':>7s} {'MuJoCo':>7s} "
    f"{'ratio':>6s} {'fast':>6s} {'call':>6s} {'pressing':>11s} {'unsolved':>8s} {'residual':>8s} {'deepest':>13s} "
    f"{'kinetic':>13s}"
)


def scene_files(folder: Path, names: list[str]) -> list[Path]:
    """The scenes below a folder, those whose path contains one of the names if there are any."""
    files = sorted(folder.rglob("scene*.xml"))
    return [x for x in files if not names or any(name in x.relative_to(folder).as_posix() for name in names)]


def measure(file: Path, arguments: list[str]) -> dict[str, Any]:
    """The row of a scene, from two processes of its own: nothing cached, and all; or {"failed": reason}."""
    script = str(Path(file_scenes.__file__).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        environment = {**os.environ, "FOURBAR_CACHE": folder, "PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-W", "ignore", script, str(file.resolve()), *arguments]
        rows = []
        for more in (["--cold"], []):
            try:
                done = subprocess.run(
                    [*command, *more], env=environment, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT
                )
            except subprocess.TimeoutExpired:
                return {"failed": f"not done after {_TIMEOUT:g} s"}
            if done.returncode:
                lines = [x for x in done.stderr.splitlines() if x.strip()]
                return {"failed": lines[-1] if lines else f"exit status {done.returncode}"}
            rows.append(json.loads(done.stdout.splitlines()[-1]))
    cold, row = rows
    return row | {"cold_loading": cold["loading"], "cold": cold["first"], "cached": row.pop("first")}


def ratio(row: dict[str, Any], ours: str, peer: str) -> float:
    """How many times longer MuJoCo takes."""
    return min(row["seconds"][peer]) / min(row["seconds"][ours])


def line(name: str, row: dict[str, Any]) -> str:
    """A row of the table."""
    if "failed" in row:
        return f"{name:42s} failed: {row['failed']}"
    us = {key: 1e6 * min(x) for key, x in row["seconds"].items()}
    ours, peer = row["ours"], row["peer"]
    restarts = "".join(f"; MuJoCo unstable{x}: {n} of {row['states']}" for x, n in (
        ("", row["peer_restarts"]), (" when fast", row["peer_fast_restarts"])) if n)  # fmt: skip
    return (
        f"{name:42s} {row['nv']:3d} {1e3 * row['dt']:4.1f} {row['cold_loading']:5.2f} {row['cold']:5.2f} "
        f"{row['cached']:6.2f} {us['ours']:7.2f} {us['peer']:7.2f} {us['peer'] / us['ours']:5.2f}x "
        f"{us['peer_fast'] / us['ours_fast']:5.2f}x {us['peer_call'] / us['our_call']:5.2f}x "
        f"{row['pressing']:5.2f}/{peer['touching']:5.2f} {100 * row['unsolved']:7.3f}% {row['residual']:8.1e} "
        f"{1e3 * ours['deepest']:6.2f}/{1e3 * peer['deepest']:6.2f} "
        f"{ours['kinetic']:6.3g}/{peer['kinetic']:6.3g}{restarts}"
    )


def record(name: str, row: dict[str, Any]) -> None:
    """The rows of a scene for the report."""
    if "failed" in row:
        REPORT.rows.append({"row": "failed", "column": name, "unit": "", "value": 0.0, "reason": row["failed"]})
        return
    seconds = {key: Seconds.least(x) for key, x in row["seconds"].items()}
    for title, ours, peer, library in (
        ("a step of a file's scene", "ours", "peer", "mujoco.rollout"),
        ("a step of 4 ms of a file's scene", "ours_fast", "peer_fast", "mujoco.rollout, one Newton iteration"),
        ("a step of a file's scene, one call from Python", "our_call", "peer_call", "mj_step"),
    ):
        REPORT.beside(title, name, seconds[ours], seconds[peer], per=(1, 1), unit="µs", library=library)
    for title, key in (("first rollout, nothing cached", "cold"), ("first rollout, all cached", "cached"),
                       ("loading", "cold_loading")):  # fmt: skip
        REPORT.record(f"{title}, CPU time", name, Seconds.least([row[key]]), "s")
    for title, value, unit in (
        ("contacts that press", row["pressing"], ""),
        ("points touching, MuJoCo", row["peer"]["touching"], ""),
        ("steps unsolved", row["unsolved"], ""),
        ("largest residual", row["residual"], "m/s"),
        ("deepest point by MuJoCo's geometry", 1e3 * row["ours"]["deepest"], "mm"),
        ("deepest point by MuJoCo's geometry, MuJoCo", 1e3 * row["peer"]["deepest"], "mm"),
        ("mean kinetic energy", row["ours"]["kinetic"], "J"),
        ("mean kinetic energy, MuJoCo", row["peer"]["kinetic"], "J"),
    ):
        REPORT.record(title, name, value, unit)


def judge(rows: dict[str, dict[str, Any]]) -> None:
    """The summary beside its bars."""
    done = {name: row for name, row in rows.items() if "failed" not in row}
    print(f"{len(done)} scenes measured, {len(rows) - len(done)} failed")
    if not done:
        return
    batch = {name: ratio(row, "ours", "peer") for name, row in done.items()}
    fast = {name: ratio(row, "ours_fast", "peer_fast") for name, row in done.items()}
    calls = {name: ratio(row, "our_call", "peer_call") for name, row in done.items()}
    slowest = min(fast, key=fast.__getitem__)
    print(f"  fast: median {np.median([*fast.values()]):.2f}x, worst {fast[slowest]:.2f}x ({slowest})")
    median, worst = float(np.median([*batch.values()])), min(batch, key=batch.__getitem__)
    REPORT.judge(f"  scenes: {len(done)}", len(done), SCENES, above=True)
    REPORT.judge(f"  median of a batch: {median:.2f}x", median, MEDIAN, above=True)
    REPORT.judge(f"  worst of a batch: {batch[worst]:.2f}x ({worst})", batch[worst], WORST, above=True)
    slowest = min(calls, key=calls.__getitem__)
    text = f"  one call: median {np.median([*calls.values()]):.2f}x, worst {calls[slowest]:.2f}x ({slowest})"
    REPORT.judge(text, calls[slowest], ONE_CALL, above=True)
    for key, limit in (("cold", COLD), ("cached", CACHED)):
        longest = max(done, key=lambda name, key=key: done[name][key])
        middle = float(np.median([row[key] for row in done.values()]))
        text = f"  first rollout, {key}: median {middle:.2f} s, longest {done[longest][key]:.2f} s ({longest})"
        REPORT.judge(text, done[longest][key], limit)


def main() -> int:
    """Measure the scenes, print the table, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenes", nargs="+", default=[], metavar="NAME", help="parts of the paths of scenes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all numbers by scene, to be continued")
    parser.add_argument("--quick", action="store_true", help="few samples, steps and turns")
    file_scenes.add_options(parser)
    add_options(parser)
    options = parser.parse_args()
    files = scene_files(options.folder, options.scenes)
    if not files:
        parser.error(f"there is no scene*.xml below {str(options.folder)!r} with one of these names")
    if options.quick:
        options.batch, options.states, options.steps, options.turns = 16, 8, 5, 1
    arguments = [f"--{name}={getattr(options, name)}" for name in ("batch", "states", "steps", "turns")]
    arguments += ["--all"] if options.all else []
    kept = json.loads(options.json.read_text(encoding="utf-8")) if options.json and options.json.exists() else {}
    rows: dict[str, dict[str, Any]] = {}
    print(_HEAD)
    for file in files:
        name = file.relative_to(options.folder).as_posix()
        rows[name] = kept.get(name) or {"states": options.states, **measure(file, arguments)}
        print(line(name, rows[name]), flush=True)
        record(name, rows[name])
        if options.json:
            options.json.write_text(json.dumps(kept | rows, indent=1), encoding="utf-8")
    judge(rows)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
