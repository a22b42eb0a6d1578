"""The benchmark scripts run: their smallest cases, in processes of their own. What they print is not judged here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import pytest

from fourbar import FourbarError
from fourbar.errors import extra

BENCH = Path(__file__).resolve().parents[2] / "bench"


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(BENCH / script), "--quick", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr or "Traceback" not in done.stderr, done.stderr
    return done.stdout


def _needs_robots() -> None:
    """Pinocchio and the files of example-robot-data, which are no Python package."""
    pytest.importorskip("pinocchio")
    if find_spec("cmeel") is None or not run_path(str(BENCH / "peer_robots.py"))["robot_folder"]().is_dir():
        pytest.skip("example-robot-data is not installed")


def test_robots_of_a_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    load = run_path(str(BENCH / "peer_robots.py"))["load_peer"]
    with pytest.raises(FourbarError, match="did you mean 'panda'"):
        load("pandas")
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(FourbarError, match=re.escape(extra("bench"))):
        load("panda")


def test_limits_of_a_robot() -> None:
    pytest.importorskip("pinocchio")
    printed = _run("loops.py", "--only", "dynamics", "--robots", "mini_cheetah")
    assert "forward dynamics mini_cheetah" in printed and "operational-space inertia mini_cheetah" in printed


def test_bars_are_the_published_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--strict` compares with bench/results: ratios to peers, and times of loops."""
    monkeypatch.syspath_prepend(str(BENCH))
    report_module, timing = import_module("report"), import_module("timing")
    report = report_module.Report("run")
    rows = ["inverse dynamics (RNEA), batch of 1024", "forward dynamics (ABA), batch of 1024"]
    rows += ["mass matrix (CRBA), batch of 1024", "forward dynamics, one call from Python"]
    assert all(report.published_ratio(row, robot) > 3 for row in rows for robot in ("panda", "anymal_b"))
    loops = ("forward dynamics", "inverse dynamics", "inverse operational-space inertia")
    published = report_module.Report("loops").published
    assert all(0 < published[row, robot]["value"] < 0.1 for row in loops for robot in ("mit_humanoid", "mini_cheetah"))
    bar = report.published_ratio(rows[2], "panda")
    assert bar is not None and report.published_ratio(rows[2], "nobody") is None

    def note(part: float, column: str = "panda") -> str:
        ours, peer = timing.Seconds.least([2e-6, 1e-6]), timing.Seconds.least([part * bar * 1e-6])
        return report.beside(rows[2], column, ours, peer, per=(1, 1))

    assert "MISSED" not in note(0.81) and note(0.5, "nobody") == "" and not report.missed
    assert "MISSED" in note(0.79) and len(report.missed) == 1 and report.rows[0]["samples"] == [2000.0, 1000.0]


def test_results_are_saved_with_machine_versions_and_samples(tmp_path: Path) -> None:
    printed = _run("first_calls.py", f"--save={tmp_path}")
    assert "saved" in printed
    found = json.loads((tmp_path / "first_calls.json").read_text(encoding="utf-8"))
    assert found["machine"]["cpu"] and found["machine"]["lanes"] in (1, 2, 4, 8)
    assert {"fourbar", "commit", "python", "numpy"} <= set(found["versions"])
    (wall, cpu) = found["rows"]
    assert wall["row"] == cpu["row"] == "chain500_mass: mass_matrix" and wall["samples"] == [wall["value"]]
    command = [
        sys.executable,
        str(BENCH / "first_calls.py"),
        "--quick",
        "--save",
    ]  # what means nothing is not published
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "name a folder" in done.stderr


def test_the_pages_of_speed_are_those_of_the_results() -> None:
    """docs/speed.md and the README's table; a table has a row for each title, and each ratio is in brackets."""
    script = BENCH.parent / "docs" / "make_speed.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    make = run_path(str(script))
    peer = {"library": "X", "value": 12.0}
    rows = [{"row": "a", "column": c, "unit": "ns", "value": v, "peer": peer} for c, v in (("p", 3.0), ("q", 1.234e4))]
    rows.append({"row": "b", "column": "p", "unit": "", "value": 1e-9})
    assert make["table"](rows) == [
        "", "| | p | q |", "| --- | ---: | ---: |", "| a (ns) | 3 (4x) | 12340 (0.00097x) |",
        "", "| | p |", "| --- | ---: |", "| b | 1.0e-09 |",
    ]  # fmt: skip
    assert [make["duration"](x, "ns") for x in (83.4, 1274.0, 5.986e6)] == ["83 ns", "1.3 µs", "6 ms"]


def test_loops_beside_a_peer() -> None:
    """The numbers of both sides agree where the settings of the peer allow it: LCABA's as far as its mu does."""
    pytest.importorskip("pinocchio")
    printed = _run("loops.py", "--only", "closed")
    rows = [row for row in printed.splitlines() if "differ by" in row]
    assert [row.split()[0] for row in rows] == ["constraintDynamics", "lcaba"] * 2
    for row in rows:
        assert float(row.split("differ by")[1].split("|")[0]) < (1e-3 if "lcaba" in row else 1e-10)
    notes = [row for row in printed.splitlines() if "sparse_lagrange_forward_dynamics" in row]
    assert len(notes) == 2 and all(max(map(float, re.findall(r"\((.*?)\)", row))) < 1e-10 for row in notes)


def test_compiled_rivals() -> None:
    """Projection and multipliers, compiled, give what the recursive algorithms give; one of the programs is kept."""
    pytest.importorskip("pinocchio")
    printed = _run("loops.py", "--only", "rivals", "--robots", "mini_cheetah")
    rows = [row for row in printed.splitlines() if "(kept)" in row]
    assert len(rows) == 9 and all("folded projection" in row for row in rows)
    assert "folded projection" in next(row for row in rows if "dynamics pbt_chain" in row).split("(kept)")[0]
    assert "C-ABA" in next(row for row in rows if "dynamics mini_cheetah" in row).split("(kept)")[0]


def test_coriolis_matrix_beside_a_peer() -> None:
    _needs_robots()
    (row,) = [row for row in _run("coriolis.py").splitlines() if row.startswith("panda")]
    assert float(row.split("differs by")[1]) < 1e-13


@pytest.mark.slow
def test_derivatives_beside_a_peer() -> None:
    _needs_robots()
    rows = [row for row in _run("derivatives.py").splitlines() if row.startswith("panda")]
    assert [row.split()[1] for row in rows] == ["dRNEA", "dABA", "vjp"]
    for row in rows[:2]:
        assert float(row.split("differs by")[1]) < 1e-11
    assert "operations" in rows[2] and "limit <= 4x" in rows[2]


@pytest.mark.slow
def test_constraints_beside_a_peer() -> None:
    pytest.importorskip("pinocchio")
    rows = [row for row in _run("constrained.py").splitlines() if "differ by" in row]
    assert len(rows) == 2
    for row in rows:
        assert float(row.split("differ by")[1].split(",")[0]) < 1e-11


@pytest.mark.slow
def test_tables_and_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    printed = _run("paper.py", "--output", str(tmp_path))
    assert "Table II:" in printed and "Figure 11" in printed and "program that is kept" in printed
    assert {path.name for path in tmp_path.iterdir()} == {f"figure{k}.png" for k in range(9, 15)}
    knee = next(row for row in printed.splitlines() if row.split()[:1] == ["knee"])
    assert "unconstrained  4.31" in knee and "approximate  1.04" in knee


def test_cold_first_calls() -> None:
    (row,) = _run("first_calls.py").splitlines()
    assert row.startswith("chain500_mass") and "CPU" in row and "MB" in row


def test_the_peak_of_a_core() -> None:
    """Machine code of its own, without a robot."""
    code = f"import sys; sys.path.insert(0, {str(BENCH)!r}); from peak import peak_flops; print(peak_flops() > 1e8)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True"], done.stderr


@pytest.mark.slow
def test_rollouts() -> None:
    _needs_robots()
    printed = _run("rollout.py")
    assert "panda         batch of 1024" in printed and "µs per step" in printed and "two threads" in printed


@pytest.mark.slow
def test_inverse_kinematics_beside_a_peer() -> None:
    _needs_robots()
    rows = [line for line in _run("inverse_kinematics.py").splitlines() if line.startswith(("fourbar", "Pinocchio"))]
    assert len(rows) == 3 and all("100.0 %" in row for row in rows)


@pytest.mark.slow
def test_a_cluster_beside_plain_processes() -> None:
    pytest.importorskip("distributed")
    printed = _run("cluster.py")
    assert "two processes: wall" in printed and "two processes: CPU" in printed
    (row,) = [row for row in printed.splitlines() if "compilations of" in row]
    made, pieces = (int(row.split("compilations of")[k].split()[-1 if k == 0 else 0]) for k in (0, 1))
    assert made == pieces


@pytest.mark.slow
def test_exported_c() -> None:
    """Its results are compared there."""
    if not (shutil.which("gcc") or shutil.which("clang")):
        pytest.skip("no C compiler is installed")
    printed = _run("c_export.py")
    assert printed.count("tree      mass_matrix") >= 2


_LEG = """<mujoco model="leg"><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1"/>
<body name="base" pos="0 0 0.5"><freejoint/><geom type="box" size=".1 .1 .05" mass="3"/>
<body name="shin" pos="0 0 -0.1"><joint name="knee" axis="0 1 0" damping="0.2"/><geom size=".03" pos="0 0 -.2"
mass=".3"/><geom size=".3" mass="0" contype="0" conaffinity="0"/></body></body></worldbody><actuator>
<position joint="knee" kp="20" ctrlrange="-1 1"/></actuator></mujoco>"""
_TOUCHING = _LEG.replace('model="leg"', 'model="two"').replace(
    "</worldbody>",
    '<body name="other" pos="0 0 .45"><freejoint/><geom name="o" size=".2" mass="1"/></body></worldbody>',
)


@pytest.mark.slow
def test_files_beside_a_peer(tmp_path: Path) -> None:
    """Scenes of a folder; one that cannot be read is named with the reason, and does not count."""
    pytest.importorskip("mujoco")
    for name, text in (("leg", _LEG), ("touching", _TOUCHING), ("torn", _LEG.replace("</worldbody>", ""))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scene.xml").write_text(text, encoding="utf-8")
    saved = tmp_path / "saved"
    printed = _run("files.py", str(tmp_path), f"--save={saved}", "--json", str(tmp_path / "numbers.json"))
    assert "2 scenes measured, 1 failed" in printed
    (torn,) = [row for row in printed.splitlines() if row.startswith("torn/scene.xml")]
    assert "failed: " in torn and "XML" in torn
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    leg, touching = numbers["leg/scene.xml"], numbers["touching/scene.xml"]
    assert leg["pressing"] > 0.2 and leg["unsolved"] == 0.0 and leg["ours"]["deepest"] > -1e-4
    assert touching["peer"]["touching"] < 6.0  # the two objects overlap, and may not touch each other
    rows = json.loads((saved / "files.json").read_text(encoding="utf-8"))["rows"]
    assert {x["row"] for x in rows if x["column"] == "torn/scene.xml"} == {"failed"}
    (step,) = [x for x in rows if x["row"] == "a step of a file's scene" and x["column"] == "leg/scene.xml"]
    assert step["value"] > 0.0 and step["peer"]["value"] > 0.0
