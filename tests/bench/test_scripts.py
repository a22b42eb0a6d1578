"""The benchmark scripts run: their smallest cases, in processes of their own. What they print is not judged here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
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


def test_bars_are_those_of_the_readme() -> None:
    """`--strict` reads its bars from the README's tables: ratios in brackets, and times of loops."""
    readme = run_path(str(BENCH / "readme.py"))
    said, bars = readme["said"], readme["Bars"]()
    rows = ["inverse dynamics (RNEA)", "forward dynamics (ABA)", "mass matrix (CRBA)", "Coriolis matrix"]
    rows += ["regressor, its nonzero", "regressor, all", "Jacobian of forward dynamics, batch", "forward dynamics, one"]
    assert all(said(row, robot) > 4 for row in rows for robot in ("panda", "anymal_b", "talos_reduced"))
    loops = ("forward dynamics", "inverse dynamics", "inverse operational-space inertia")
    assert all(0 < said(row, robot) < 0.1 for row in loops for robot in ("mit_humanoid", "jvrc1"))
    assert said("gradient", "anymal_b") is None and bars.at_least("gradient", "anymal_b", 1.0) == ""
    bar = said("mass matrix (CRBA)", "panda")
    assert "MISSED" not in bars.at_least("mass matrix (CRBA)", "panda", 0.81 * bar) and not bars.missed
    assert "MISSED" in bars.at_least("mass matrix (CRBA)", "panda", 0.79 * bar) and len(bars.missed) == 1


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
