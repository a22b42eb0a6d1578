"""Functions as C: compiled with all warnings as errors, the written test passes, and results are those of fourbar."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.cli.main import main
from fourbar.expr import Shared, Unrolled, interpret, lookup
from fourbar.expr.program import Block, Store
from fourbar.targets.c import HELPERS, CWriter
from fourbar.targets.exported_functions import identifier, read, vectors
from tests.expr.support import triangular

from .support import chain

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
OTHERS = [(x, y) for x in COMPILERS for y in ("double", "float")][1:]
BUILDS = [*((x, "double") for x in COMPILERS[:1]), *(pytest.param(*x, marks=pytest.mark.slow) for x in OTHERS)]
LARGE = ("tello", "cheetah", "chain")
CMAKE = shutil.which("cmake")
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler is installed")


def build(compiler: str, *arguments: Any) -> None:
    """Compile; what the compiler says is the failure."""
    run = subprocess.run([compiler, *FLAGS, *map(str, arguments), "-lm"], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr


def shared(folder: Path, name: str) -> ctypes.CDLL:
    """The exported source as a library of this process."""
    target = folder / f"{name}.so"
    build(COMPILERS[0], "-O0", "-shared", "-fPIC", folder / f"{name}.c", "-o", target)
    return ctypes.CDLL(str(target))


def called(library: ctypes.CDLL, name: str, inputs: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The one result of an exported function."""
    result = np.full(shape, np.nan)
    pointers = [np.ascontiguousarray(x, float) for x in (*inputs, result)]
    getattr(library, name)(*(ctypes.c_void_p(x.ctypes.data) for x in pointers))
    return pointers[-1]


@needs_compiler
def test_float_exports_convert_nothing_by_themselves(tmp_path: Path) -> None:
    """Also conditions that one block stores and another reads, as in the Jacobian of a loop with pivots."""
    robot = fb.robots.five_bar()
    jacobian = robot.inverse_dynamics.jacobian
    fb.export_c(tmp_path, [robot.forward_dynamics, jacobian], name="linkage", scalar="float")
    assert re.search(r"= \(real\)t\d+;", (tmp_path / "linkage.c").read_text())
    build(COMPILERS[0], "-O0", "-Wdouble-promotion", "-c", tmp_path / "linkage.c", "-o", tmp_path / "linkage.o")


def robots() -> dict[str, fb.System]:
    """A tree, a floating robot, looped ones, and a chain that is long enough for its code to be shared."""
    return {
        "pendulum": fb.robots.double_pendulum(),
        "four_bar": fb.robots.four_bar(),
        "tello": fb.robots.tello(),
        "cheetah": fb.robots.mini_cheetah(),
        "chain": chain(70),
    }


@pytest.mark.default_cases("double-gcc", "float-clang")
@needs_compiler
@pytest.mark.parametrize(("compiler", "scalar"), BUILDS)
def test_written_tests_pass_without_a_warning(tmp_path: Path, compiler: str, scalar: str) -> None:
    found = robots()
    tello = found["tello"]
    functions = [
        *(found[name].inverse_dynamics for name in ("pendulum", "four_bar", "cheetah", "chain")),
        *(found[name].forward_dynamics for name in ("pendulum", "four_bar")),
        tello.pose.specialise(frame=tello.names.bodies[-1]),
        found["cheetah"].integrate,
        found["four_bar"].forward_dynamics.jacobian,
    ]
    if scalar == "double":
        functions += [found["four_bar"].integrate, found["four_bar"].integrate.jacobian]
    fb.export_c(tmp_path, functions, name="many", scalar=scalar, casadi=scalar == "double")
    build(compiler, tmp_path / "many.c", tmp_path / "many_test.c", "-o", tmp_path / "run")
    run = subprocess.run([tmp_path / "run"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("name", ["four_bar", "five_bar", pytest.param("tello", marks=pytest.mark.slow)])
def test_written_tests_have_results_of_what_closes_loops(name: str) -> None:
    """At random coordinates, where loops are open, there would be none."""
    robot = getattr(fb.robots, name)()
    for function in read("test", [robot.integrate, robot.difference], ""):
        cases = vectors(function)
        assert len(cases) == 3
        assert all(np.isfinite(y).all() for _, found in cases for y in found)


@needs_compiler
def test_derivatives_take_their_tangents_and_say_what_they_return(tmp_path: Path) -> None:
    robot = fb.robots.double_pendulum()
    f = robot.forward_dynamics
    functions = [f.jvp, f.vjp, f.jacobian, f.jvp.along(["lower.mass"]), robot.integrate.jvp]
    fb.export_c(tmp_path, functions, name="r", casadi=True)
    build(COMPILERS[0], tmp_path / "r.c", tmp_path / "r_test.c", "-o", tmp_path / "run")
    assert subprocess.run([tmp_path / "run"], capture_output=True, timeout=60).returncode == 0
    library, (q, v, tau, *along) = shared(tmp_path, "r"), np.random.default_rng(0).normal(size=(6, 2))
    found = called(library, "r_forward_dynamics_jvp", [q, v, tau, *along], (2,))
    np.testing.assert_allclose(found, f.jvp((q, v, tau), tuple(along)), rtol=1e-12)
    found = called(library, "r_forward_dynamics_jvp_2", [q, v, tau, np.ones(1)], (2,))
    np.testing.assert_allclose(found, f.jvp((q, v, tau), (), parameters={"lower.mass": 1.0}), rtol=1e-12)
    header = " ".join((tmp_path / "r.h").read_text(encoding="utf-8").replace(" *", " ").split())
    for words in (
        "First derivatives of forward_dynamics: Accelerations caused by joint forces",
        "blocks: out, 3 x 2 x 2. One after the other, row by row: da/dq (2 x 2), da/dv (2 x 2), da/dtau (2 x 2).",
        "d_q: in, 2. Rate of q, along the velocities.",
        "g_q: out, 2. Gradient by q, along the velocities.",
        "w_a: in, 2. Weight of a.",
        "d_lower_mass: in, 1.",
        "q: in, 2. Configuration",
        "d_q_next: out, 2. Rate of q.",
    ):
        assert words in header, header


def test_loops_that_single_precision_cannot_close_are_refused(tmp_path: Path) -> None:
    for name in ("four_bar", "five_bar"):
        robot = getattr(fb.robots, name)()
        with pytest.raises(fb.ArgumentError, match=r"r_integrate finds no results in single.*'double'"):
            fb.export_c(tmp_path, [robot.inverse_dynamics, robot.integrate], name="r", scalar="float")
    fb.export_c(tmp_path, [fb.robots.mini_cheetah().integrate], name="r", scalar="float")


@needs_compiler
@pytest.mark.parametrize("name", ["pendulum", "four_bar", *(pytest.param(x, marks=pytest.mark.slow) for x in LARGE)])
def test_results_are_those_of_fourbar(tmp_path: Path, name: str) -> None:
    robot = robots()[name]
    fb.export_c(tmp_path, [robot.forward_dynamics, robot.mass_matrix], name="r")
    library = shared(tmp_path, "r")
    rng = np.random.default_rng(3)
    for q in robot.random(5, n=3):
        v, tau = rng.normal(size=(2, robot.nv))
        M = called(library, "r_mass_matrix", [q], (robot.nv, robot.nv))
        np.testing.assert_allclose(M, robot.mass_matrix(q), rtol=1e-12, atol=1e-12 * np.abs(M).max())
        a = robot.forward_dynamics(q, v, tau)
        found = called(library, "r_forward_dynamics", [q, v, tau], (robot.nv,))
        np.testing.assert_allclose(found, a, rtol=1e-12, atol=1e-11 * np.abs(a).max())


@needs_compiler
def test_long_results_and_many_constants_are_copied_from_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of more than 2048 entries are, where one line for each would take long to compile."""
    monkeypatch.setattr("fourbar.targets.c._LISTED", 1)
    robot = fb.robots.mini_cheetah()
    source = fb.export_c(tmp_path, [robot.mass_matrix], name="r")[0]
    assert re.search(r"M\w*\[k\] = w\[\w+\[k\]\]", source.read_text()) and "_preset_at[k]" in source.read_text()
    q = robot.random(0)
    M = called(shared(tmp_path, "r"), "r_mass_matrix", [q], (robot.nv, robot.nv))
    np.testing.assert_allclose(M, robot.mass_matrix(q), rtol=1e-12, atol=1e-12 * np.abs(M).max())


@needs_compiler
def test_casadi_finds_its_symbols(tmp_path: Path) -> None:
    """The calling convention of casadi.external: dense, column by column, a null pointer is a zero."""
    robot = fb.robots.double_pendulum()
    fb.export_c(tmp_path, [robot.mass_matrix, robot.inverse_dynamics], name="r", casadi=True)
    library = shared(tmp_path, "r")
    function = library.r_inverse_dynamics_casadi
    assert library.r_inverse_dynamics_casadi_n_in() == 3 and library.r_inverse_dynamics_casadi_n_out() == 1
    library.r_mass_matrix_casadi_sparsity_out.restype = ctypes.POINTER(ctypes.c_longlong)
    assert list(library.r_mass_matrix_casadi_sparsity_out(0)[:3]) == [2, 2, 1]
    library.r_inverse_dynamics_casadi_name_in.restype = ctypes.c_char_p
    assert library.r_inverse_dynamics_casadi_name_in(1) == b"v"
    q, a, tau = np.array([0.3, -0.2]), np.array([1.0, 2.0]), np.empty(2)
    given = (ctypes.c_void_p * 3)(q.ctypes.data, None, a.ctypes.data)
    result = (ctypes.c_void_p * 1)(tau.ctypes.data)
    assert function(given, result, None, None, 0) == 0
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, np.zeros(2), a), rtol=1e-14)


@needs_compiler
def test_casadi_loads_the_library(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi", reason="casadi is not installed")
    robot = fb.robots.four_bar()
    fb.export_c(tmp_path, [robot.inverse_dynamics, robot.mass_matrix, robot.jacobian.specialise(frame="ee")],
                name="r", casadi=True)  # fmt: skip
    shared(tmp_path, "r")
    q, (v, a) = robot.random(1), np.random.default_rng(0).normal(size=(2, robot.nv))
    for name, given in (("inverse_dynamics", (q, v, a)), ("mass_matrix", (q,)), ("jacobian", (q,))):
        function = casadi.external(f"r_{name}_casadi", str(tmp_path / "r.so"))
        assert [function.name_in(k) for k in range(function.n_in())] == ["q", "v", "a"][: len(given)]
        of = robot.jacobian.specialise(frame="ee") if name == "jacobian" else getattr(robot, name)
        wanted = np.atleast_2d(of(*given))
        np.testing.assert_allclose(np.reshape(function(*given).full(), wanted.shape), wanted, rtol=1e-12, atol=1e-12)
    x = casadi.SX.sym("x", robot.nq)
    assert (
        casadi.Function("f", [x], [2 * casadi.external("r_mass_matrix_casadi", str(tmp_path / "r.so"))(x)]).n_in() == 1
    )


@pytest.mark.slow
@pytest.mark.skipif(CMAKE is None, reason="CMake is not installed")
@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_cmake_builds_it_and_runs_its_test(tmp_path: Path, compiler: str) -> None:
    robot = fb.robots.four_bar()
    fb.export_c(tmp_path, [robot.inverse_dynamics, robot.forward_dynamics], name="linkage", scalar="float")
    build_folder = tmp_path / "build"
    for command in (
        [CMAKE, "-S", tmp_path, "-B", build_folder, f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release"],
        [CMAKE, "--build", build_folder],
        ["ctest", "--test-dir", build_folder, "--output-on-failure", "--no-tests=error"],
    ):
        run = subprocess.run([str(x) for x in command], capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stdout + run.stderr


@needs_compiler
def test_parts_that_repeat_until_they_are_done(tmp_path: Path) -> None:
    """A repeat within another, in both layouts: Σ_{m ≤ n} m (m + 1) / 2."""
    for recorder in (Unrolled(), Shared()):
        head = "#include <math.h>\n#include <string.h>\ntypedef double real;\n"
        text = head + CWriter("double").function("triangular", triangular(recorder))
        folder = tmp_path / type(recorder).__name__
        folder.mkdir()
        (folder / "triangular.c").write_text(text, encoding="utf-8")
        library = shared(folder, "triangular")
        for n, wanted in ((0.0, 0.0), (1.0, 1.0), (4.0, 20.0), (12.0, 364.0)):
            assert called(library, "triangular", [np.array([n])], ()) == wanted


@needs_compiler
def test_tables_that_are_looked_up(tmp_path: Path) -> None:
    """Each entry, also beyond both ends and for NaN; the table is written once, and in both precisions."""
    library: dict[str, ctypes.CDLL] = {}
    table = np.array([0.5, -2.0, 8.0, 1e-3])
    recorder = Unrolled()
    x = recorder.input("x", (8,))

    def find(*x: Any) -> tuple[Any, ...]:
        return tuple(lookup(table.tobytes(), a) for a in x)

    program = recorder.finish("found", [("y", (8,), recorder.call(find, *x))])
    for scalar in ("double", "float"):
        writer = CWriter(scalar)
        head = f"#include <math.h>\n#include <string.h>\ntypedef {scalar} real;\n{HELPERS['lookup'].text}\n"
        tables = writer.lookup_tables([program, program])
        assert len(tables) == 1
        folder = tmp_path / scalar
        folder.mkdir()
        own = f"void found(const real *x, real *y);\n{writer.function('found', program)}"
        (folder / "found.c").write_text("\n".join([head, *tables, own]), encoding="utf-8")
        library[scalar] = shared(folder, "found")
    given = np.array([-1.0, 0.0, 0.9, 1.0, 2.5, 3.0, 400.0, np.nan])
    wanted = table[[0, 0, 0, 1, 2, 3, 3, 0]]
    np.testing.assert_array_equal(called(library["double"], "found", [given], (8,)), wanted)
    np.testing.assert_array_equal(interpret(program, {"x": given})["y"], wanted)


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_constants_that_nobody_reads_are_no_warning(tmp_path: Path, compiler: str) -> None:
    """A block with a table of which only dead instructions read, as the Stewart platform's forward dynamics has."""
    block = Block(2, 1, (("load", 0, 0), ("table", 0), ("mul", 0, 1)), (Store(1, 0, 0),))
    written = CWriter("double").block("copied", block, False)
    used = "void f(real *w, const int *at);\nvoid f(real *w, const int *at) { copied(w, at, w); }"
    (tmp_path / "copied.c").write_text(f"typedef double real;\n{written}\n{used}\n", encoding="utf-8")
    build(compiler, "-shared", "-fPIC", tmp_path / "copied.c", "-o", tmp_path / "copied.so")


def test_numbers_survive() -> None:
    for x in (0.1, -1.0, 1e-300, 3.0, 1e22, -2.5e-7):
        assert float(CWriter("double").number(x).strip("()")) == x
    assert CWriter("float").number(2.0) == "2.0f" and "INFINITY" in CWriter("double").number(-np.inf)


@pytest.mark.parametrize(
    ("given", "name"),
    [("Größe 2", "Groe_2"), ("机器人", "robot"), ("a.b/c", "a_b_c"), ("7dof", "_7dof"), ("", "robot")],
)
def test_names_are_those_that_compilers_and_cmake_take(given: str, name: str) -> None:
    assert identifier(given) == name


@needs_compiler
def test_a_written_test_fails_where_a_result_is_not_a_number(tmp_path: Path) -> None:
    """Also where others that follow are right."""
    robot = fb.robots.double_pendulum()
    source, _, test, _ = fb.export_c(tmp_path, [robot.potential_energy, robot.mass_matrix])
    text = source.read_text(encoding="utf-8")
    source.write_text(re.sub(r"energy\[0\] = (.*);", r"energy[0] = \1 * (real)NAN;", text), encoding="utf-8")
    build(COMPILERS[0], source, test, "-o", tmp_path / "run")
    run = subprocess.run([tmp_path / "run"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "inf" in run.stdout


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    """Names of C, one header with shapes, functions of one name told apart."""
    robot = fb.robots.mini_cheetah()
    fb.export_c(tmp_path, [robot.integrate, robot.integrate], name="2 legs!")
    header = (tmp_path / "_2_legs.h").read_text(encoding="utf-8")
    assert re.findall(r"^void (\w+)\(", header, flags=re.MULTILINE) == ["_2_legs_integrate", "_2_legs_integrate_2"]
    assert "malloc" not in (tmp_path / "_2_legs.c").read_text(encoding="utf-8")
    fb.export_c(tmp_path, [robot.forward_dynamics], name="dog")
    header = (tmp_path / "dog.h").read_text(encoding="utf-8")
    assert " * q: in, 19. Configuration" in header and " * tau: in, 18. Joint forces (N m, N).\n" in header
    assert " * a: out, 18. Accelerations (rad/s²" in header and "threads" not in header and ">>>" not in header


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scalar": "half"}, "'double', 'float'"),
        ({"scalar": "float", "casadi": True}, "casadi=True needs"),
        ({"functions": []}, "no functions given"),
        ({"functions": ["inverse_dynamics"]}, "robot.inverse_dynamics"),
        ({"functions": "pose"}, "specialise(frame=...)"),
        ({"functions": [fb.robots.double_pendulum()]}, "functions of a robot, such as robot.inverse_dynamics"),
        ({"name": None}, "name=None: expected text"),
        ({"functions": fb.robots.double_pendulum().pose}, "expected a list of functions"),
    ],
)
def test_what_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    robot = fb.robots.double_pendulum()
    given: dict[str, Any] = {"functions": [robot.inverse_dynamics], **change}
    if isinstance(given["functions"], str):
        given["functions"] = [robot.pose]
    with pytest.raises(fb.ArgumentError, match=re.escape(words)):
        fb.export_c(tmp_path, **given)


def test_functions_of_constrained_robots_are_refused(tmp_path: Path) -> None:
    held = fb.robots.double_pendulum().constrained(fb.constraints.Contact("tip"))
    with pytest.raises(fb.ArgumentError, match="no single program"):
        fb.export_c(tmp_path, [held.forward_dynamics])


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    functions = "inverse_dynamics,pose:frame=tip,forward_dynamics.jacobian"
    assert main(["export-c", "double_pendulum", "--functions", functions, "-o", str(tmp_path), "--name", "arm"]) == 0
    assert [Path(line).name for line in capsys.readouterr().out.split()] == [
        "arm.c", "arm.h", "arm_test.c", "CMakeLists.txt",
    ]  # fmt: skip
    for wrong, words in (
        ("inverse_dynamic", "inverse_dynamics"),
        ("pose:tip", "frame=hand"),
        ("mass_matrix:frame=tip", "no options"),
        ("mass_matrix.gradient", "derivative"),
    ):
        assert main(["export-c", "double_pendulum", "--functions", wrong, "-o", str(tmp_path)]) == 2
        assert words in capsys.readouterr().err
    (tmp_path / "taken").touch()
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        command = ["export-c", "double_pendulum", "--functions", "mass_matrix", "-o", str(folder)]
        assert main(command) == 1
        said = capsys.readouterr().err
        assert said.startswith("fourbar export-c: error: ") and "taken" in said and said.count("\n") == 1
