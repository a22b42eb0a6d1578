"""Results of the benchmarks: recorded, compared with the published ones, saved.

The published results are the files bench/results/*.json, one per benchmark and vector width: machine, versions, commit,
and every row with its samples. `--save` writes such a file (`--save=FOLDER` elsewhere). `--strict` exits non-zero where
a row falls short of the published one by more than a quarter, or misses a limit of its own. docs/make_speed.py makes
docs/speed.md and the table of the README from these files.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import fourbar as fb
from fourbar.compile.llvm import batch_lanes
from timing import Seconds

TOLERANCE = 1.25  # for other machines
PUBLISHED = Path(__file__).resolve().parent / "results"
_PER_SECOND = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0}
_PACKAGES = {
    "numpy": "numpy", "llvmlite": "llvmlite", "pinocchio": "pin", "mujoco": "mujoco", "pydrake": "drake",
    "pink": "pin-pink", "pytracik": "pytracik", "jax": "jax", "torch": "torch", "distributed": "distributed",
}  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """`--strict` and `--save`, which `Report` reads."""
    parser.add_argument("--strict", action="store_true", help="exit non-zero when a row falls short")
    parser.add_argument("--save", nargs="?", metavar="FOLDER", help="write the results as JSON, to bench/results")


def asked_robots() -> list[str]:
    """The names on the command line, without options."""
    return [x for x in sys.argv[1:] if not x.startswith("--")]


def significant(x: float) -> float:
    """Four digits of a measured number."""
    return float(f"{x:.4g}")


class Report:
    """Rows of a benchmark: recorded, judged by the published ones, and saved at the end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[dict[str, Any]] = []
        self.missed: list[str] = []
        self._folder = _save_folder()
        self._load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None

    @property
    def file_name(self) -> str:
        """The file of the results: its own where FOURBAR_LANES sets another vector width than the CPU's."""
        lanes = os.environ.get("FOURBAR_LANES")
        return f"{self.name}.json" if lanes is None else f"{self.name}-{lanes}-lanes.json"

    @cached_property
    def published(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The published rows by row and column; none where this benchmark was not saved yet."""
        file = PUBLISHED / self.file_name
        rows = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []
        return {(row["row"], row["column"]): row for row in rows}

    def published_ratio(self, row: str, column: str) -> float | None:
        """How many times longer the peer took in the published row; None where there is none."""
        found = self.published.get((row, column), {})
        return found["peer"]["value"] / found["value"] if "peer" in found else None

    def record(self, row: str, column: str, value: float, unit: str = "", per: int = 1) -> dict[str, Any]:
        """Add a row: a time (`Seconds`) of `per` samples, in a unit of time, or any other number as it is."""
        scale = _PER_SECOND[unit] / per if isinstance(value, Seconds) else 1.0
        entry: dict[str, Any] = {"row": row, "column": column, "unit": unit, "value": significant(scale * value)}
        if isinstance(value, Seconds):
            entry["samples"] = [significant(scale * x) for x in value.samples]
        self.rows.append(entry)
        return entry

    def beside(
        self, row: str, column: str, ours: Seconds, peer: Seconds, *, per: tuple[int, int], unit: str = "ns",
        library: str = "Pinocchio",
    ) -> str:  # fmt: skip
        """Add a row with the time of a peer, each for a number of samples; a note on the published ratio."""
        entry, scale = self.record(row, column, ours, unit, per[0]), _PER_SECOND[unit] / per[1]
        entry["peer"] = {
            "library": library,
            "value": significant(scale * peer),
            "samples": [significant(scale * x) for x in peer.samples],
        }
        ratio, published = (peer / per[1]) / (ours / per[0]), self.published_ratio(row, column)
        if published is None:
            return ""
        met = ratio >= published / TOLERANCE
        if not met:
            self.missed.append(f"{row}, {column}: {ratio:.1f}x, published {published:.3g}x")
        return f" (published {published:.3g}x{'' if met else ', MISSED'})"

    def judge(self, text: str, value: float, limit: float, above: bool = False) -> bool:
        """Print a line beside a limit of its own; whether it is met."""
        met = value >= limit if above else value <= limit
        print(f"{text}   limit {'>=' if above else '<='} {limit:g}{'' if met else '   MISSED'}", flush=True)
        if not met:
            self.missed.append(text.strip())
        return met

    def finish(self) -> int:
        """Print the rows that fell short, save; the exit status, non-zero only with `--strict`."""
        for row in self.missed:
            print(f"falls short: {row}")
        if self._folder is not None:
            self.save(self._folder)
        return int(bool(self.missed) and "--strict" in sys.argv)

    def save(self, folder: Path) -> Path:
        """Write the file of this benchmark."""
        folder.mkdir(parents=True, exist_ok=True)
        file, machine = folder / self.file_name, {"load": self._load, **_machine()}
        head = {"benchmark": self.name, "date": datetime.date.today().isoformat(), "machine": machine}
        head["versions"] = _versions()
        lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in self.rows)
        text = json.dumps(head, indent=1, ensure_ascii=False)
        file.write_text(f'{text[:-2]},\n "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")
        print(f"saved {file}")
        return file


def _save_folder() -> Path | None:
    """The folder of `--save`, `--save FOLDER` or `--save=FOLDER`; None if nothing is to be saved."""
    arguments = sys.argv[1:]
    folder = next((Path(x.removeprefix("--save=")) for x in arguments if x.startswith("--save=")), None)
    if folder is None and "--save" in arguments:
        if "--quick" in arguments or "--short" in arguments:
            raise SystemExit("--save: numbers of a short run are not published; name a folder, --save=FOLDER")
        folder = PUBLISHED
    return folder


def _machine() -> dict[str, Any]:
    """The CPU, its cores, and the samples that a vector holds."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor() or platform.machine()
    return {"cpu": cpu, "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}",
            "lanes": batch_lanes().width}  # fmt: skip


def _versions() -> dict[str, str]:
    """fourbar, its commit, Python, and the libraries that this process imported."""
    found = {"fourbar": fb.__version__, "commit": _commit(), "python": platform.python_version()}
    for module, package in _PACKAGES.items():
        if module in sys.modules:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = str(getattr(sys.modules[module], "__version__", "unknown"))
    return found


def _commit() -> str:
    """The commit of this folder, with a + where files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(PUBLISHED.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "../src", ".")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
