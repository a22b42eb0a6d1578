"""Makes docs/speed.md, and the table of the README, from bench/results/*.json.  python docs/make_speed.py [--check]

`--check` writes nothing, and exits non-zero where a page is not what the results make of it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "bench" / "results"
README, PAGE = DOCS.parent / "README.md", DOCS / "speed.md"
_BLOCK = re.compile(r"(<!-- speed: made by docs/make_speed.py -->\n).*?(<!-- end of speed -->)", re.DOTALL)

HEAD = """# Speed

Times and ratios of every benchmark, made from the files of `bench/results` by `docs/make_speed.py`.
Each file has the machine, versions, the commit, and all samples; `python bench/NAME.py --save` writes one, and
`--strict` compares with it. In brackets: how many times longer the other library takes on the same machine, measured in
turns in one process. Minima over repetitions, double precision, one thread unless a row says otherwise.

Before you compare:

- In a batch, one instruction computes several samples: 8 with AVX-512, 4 with AVX2, 2 with NEON. `FOURBAR_LANES=4`
  shows on a CPU with AVX-512 about what one with AVX2 would give. Single calls use one lane.
- A function is compiled before its first call (see the rows of first calls); the code is cached on disk.
- Contact rows hold for feet on a floor: few points, on different links. All candidates are computed in every step,
  so time grows with their number, touching or not ([how many](simulate.md#supported-shapes-and-joints)). Piles of
  bodies take longer here than in MuJoCo: see the row "666" below.
"""


class Section(NamedTuple):
    """A benchmark and the words before its tables."""

    benchmark: str
    title: str
    text: str


SECTIONS = (
    Section("run", "Dynamics of trees", "Robots of example-robot-data, and chains of 8 to 512 revolute joints, beside "
            "Pinocchio: batches through its `rneaInParallel` and `abaInParallel` on one thread; where it has no batch "
            "function, and for single calls, its function repeated from Python."),
    Section("derivatives", "Derivatives", "All first derivatives by q, v and a or τ, along the configuration group."),
    Section("coriolis", "Coriolis matrix", ""),
    Section("regressor", "Regressor", "Most entries are zero at every state; the packed result leaves these out."),
    Section("constrained", "Constraints", "Both feet of a humanoid welded to the ground, beside `constraintDynamics`."),
    Section("loops", "Loops", "Rotors, belts and linkages as bodies of their own, exactly. Times in units of "
            "Pinocchio's forward dynamics of talos_reduced, a tree, in the same run; then beside our own forward "
            "dynamics of the same robot as a tree whose joints have the reflected inertia of their rotors."),
    Section("calls", "Single calls", "A double pendulum, however its arguments are given."),
    Section("inverse_kinematics", "Inverse kinematics", "Panda's hand to 1e-8 m and rad within its limits, from the "
            "middle of the limits, with up to 20 restarts."),
    Section("rollout", "Steps of a simulation", "Runge-Kutta steps of fourth order: four times forward dynamics."),
    Section("contact_rollout", "Steps on a floor", "Spheres at the feet, a plane, exact Coulomb friction, every step "
            "of ours solved to 1e-8 m/s; joints swing by a PD law, on average three quarters of the points touch. "
            "MuJoCo solves its own soft law with its default settings. Cassie has exact loops here, equality "
            "constraints there."),
    Section("contact", "Accuracy of contacts", "Errors against closed forms, and times of a step of 1 ms of one state, "
            "called from Python. The names are explained in `bench/contact.py`."),
    Section("varying", "Parameters that differ in each sample", "Times the same function with fixed parameters."),
    Section("first_calls", "Large first calls", "In a new process with an empty cache: tracing, compiling, running."),
    Section("c_export", "Exported C", "One sample at a time, beside our own machine code for one sample."),
    Section("jax_calls", "JAX", ""),
    Section("torch_calls", "PyTorch", ""),
    Section("cluster", "A cluster of processes", "dask.distributed beside plain processes that do the same work."),
)  # fmt: skip


class Line(NamedTuple):
    """A row of the README's table: its words, and where its numbers are."""

    words: str
    benchmark: str
    row: str
    column: str


LINES = (
    Line("inverse dynamics, humanoid (38 dof), 1024 states", "run", "inverse dynamics (RNEA), batch of 1024",
         "talos_reduced"),
    Line("forward dynamics, the same", "run", "forward dynamics (ABA), batch of 1024", "talos_reduced"),
    Line("forward dynamics, the same, one call from Python", "run", "forward dynamics, one call from Python",
         "talos_reduced"),
    Line("Jacobian of forward dynamics, Panda arm, 1024 states", "derivatives",
         "Jacobian of forward dynamics, batch of 1024", "panda"),
    Line("forward dynamics with exact rotors and linkages, Tello, 1024 states", "loops",
         "forward dynamics, exact loops", "tello_with_arms"),
    Line("a step on four feet, Go1 on a plane, 1024 robots", "contact_rollout", "a step on a floor, batch of 1024",
         "Go1, 4 points"),
)  # fmt: skip


def read(name: str) -> dict[str, Any]:
    """The results of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def number(x: float) -> str:
    """Three significant digits, without an exponent where that is short."""
    if x == 0.0 or 1e-4 <= abs(x) < 1e6:
        digits = f"{x:.3g}"
        return digits if "e" not in digits else f"{x:.0f}"
    return f"{x:.1e}"


def duration(x: float, unit: str) -> str:
    """A time in the unit that makes it readable."""
    seconds = x * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    for name, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{number(float(f'{seconds / size:.2g}'))} {name}"
    return f"{seconds / 1e-9:.0f} ns"


def ratio(row: dict[str, Any]) -> float:
    """How many times longer the peer takes."""
    return row["peer"]["value"] / row["value"]


def cell(row: dict[str, Any] | None) -> str:
    """A number, and the ratio in brackets."""
    if row is None:
        return ""
    times = f"{ratio(row):.2g}" if "peer" in row else ""
    return number(row["value"]) + (f" ({times}x)" if times else "")


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Rows by columns; a table for each set of columns that rows have in common."""
    by_title: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_title.setdefault((row["row"], row["unit"]), {})[row["column"]] = row
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for key, columns in by_title.items():
        groups.setdefault(tuple(columns), []).append(key)
    lines: list[str] = []
    for columns, keys in groups.items():
        lines += ["", f"| | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
        for title, unit in keys:
            cells = " | ".join(cell(by_title[title, unit].get(column)) for column in columns)
            lines.append(f"| {title}{f' ({unit})' if unit else ''} | {cells} |")
    return lines


def machine(results: dict[str, Any]) -> str:
    """Where and with what the results were measured."""
    own, versions = results["machine"], dict(results["versions"])
    commit, ours = versions.pop("commit"), versions.pop("fourbar")
    others = ", ".join(f"{name} {version}" for name, version in versions.items())
    words = f"{own['cpu']}, {own['cores']} cores, {own['system']}, {own['lanes']} samples per vector; fourbar {ours}"
    return f"{words} ({commit}), {others}; {results['date']}."


def page() -> str:
    """docs/speed.md."""
    lines = [HEAD]
    for section in SECTIONS:
        files = sorted(RESULTS.glob(f"{section.benchmark}.json"))
        files += sorted(RESULTS.glob(f"{section.benchmark}-*-lanes.json"))
        if not files:
            continue
        lines += [f"## {section.title}", "", section.text, ""] if section.text else [f"## {section.title}", ""]
        lines += [f"`python bench/{section.benchmark}.py`"]
        for file in files:
            results = json.loads(file.read_text(encoding="utf-8"))
            libraries = sorted({row["peer"]["library"] for row in results["rows"] if "peer" in row})
            compared = f" In brackets: {', '.join(libraries)}." if libraries else ""
            lines += ["", f"{machine(results)}{compared}", *table(results["rows"])]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def summary() -> str:
    """The table of the README, with the words that say where it holds."""
    lines = ["| | fourbar | compared with | ratio |", "| --- | ---: | ---: | ---: |"]
    rows = []
    for line in LINES:
        row = {(x["row"], x["column"]): x for x in read(line.benchmark)["rows"]}[line.row, line.column]
        rows.append(row)
        peer = f"{row['peer']['library']} {duration(row['peer']['value'], row['unit'])}"
        lines.append(f"| {line.words} | {duration(row['value'], row['unit'])} | {peer} | {ratio(row):.2g}x |")
    own = read("run")["machine"]
    pile = {x["column"]: x for x in read("contact")["rows"] if x["row"] == "666, a step"}
    ours, theirs = (duration(pile[x]["value"], pile[x]["unit"]) for x in ("fourbar, rigid", "MuJoCo, elliptic"))
    text = f"""
Per state, on one thread of an {own["cpu"]} with {own["lanes"]} samples per vector ({_vectors(own["lanes"])}).
The last row holds for robots on their feet: a few contact points on a floor. Between moving bodies every candidate pair
is computed in every step: a pile of twelve balls takes {ours} a step here, {theirs} in MuJoCo.
[Speed](docs/speed.md) has all benchmarks, with machine, versions and samples."""
    return "\n".join(lines) + "\n" + text + "\n"


def _vectors(lanes: int) -> str:
    """The instructions that have vectors of some doubles."""
    return {8: "AVX-512", 4: "AVX2", 2: "SSE2 or NEON", 1: "none"}[lanes]


def main() -> int:
    """Write, or compare; the exit status."""
    readme = README.read_text(encoding="utf-8")
    made = {PAGE: page(), README: _BLOCK.sub(lambda m: m[1] + summary() + m[2], readme)}
    assert _BLOCK.search(readme), "the README has no place for the table of speed"
    if "--check" in sys.argv:
        stale = [
            path.name for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text
        ]
        print("\n".join(f"{name} is not what bench/results make of it: run docs/make_speed.py" for name in stale))
        return int(bool(stale))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
