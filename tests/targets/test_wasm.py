"""Functions as WebAssembly: run by wasmtime and, through the JavaScript around it, by Node; results are fourbar's."""

from __future__ import annotations

import json
import math
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fourbar as fb
from fourbar.cli.main import main
from fourbar.expr import Shared, Unrolled, floor, interpret, lookup
from fourbar.targets.exported_functions import Exported, read
from fourbar.targets.wasm import Module, leb128, signed_leb128
from tests.expr.support import triangular

from .support import chain, floating

pytestmark = pytest.mark.drawn_in_line

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node, which runs JavaScript, is not installed")
ROBOTS = ("double_pendulum", "floating", "five_bar", "crank_rocker")
LARGE = tuple(pytest.param(name, marks=pytest.mark.slow) for name in ("mini_cheetah", "tello", "chain"))


@cache
def robot(name: str) -> Any:
    """A robot by name."""
    return {"floating": floating, "chain": lambda: chain(70)}.get(name, getattr(fb.robots, name, None))()


def _number(function: Any) -> Any:
    """A function of NumPy that says nothing of sin(inf)."""

    def call(*given: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*given))

    return call


class Host:
    """A module in wasmtime: functions take arrays and the shapes of their results."""

    def __init__(self, code: bytes) -> None:
        wasmtime: Any = pytest.importorskip("wasmtime", reason="wasmtime is not installed")
        engine = wasmtime.Engine()
        module, self._store = wasmtime.Module(engine, code), wasmtime.Store(engine)
        number = wasmtime.ValType.f64()
        known = {"sin": (1, np.sin), "cos": (1, np.cos), "atan2": (2, np.arctan2)}
        given = []
        for x in module.imports:
            assert x.module == "math"
            taken, function = known[x.name]
            given.append(wasmtime.Func(self._store, wasmtime.FuncType([number] * taken, [number]), _number(function)))
        self._exports = wasmtime.Instance(self._store, module, given).exports(self._store)

    def __call__(self, name: str, arrays: list[Any], *shapes: tuple[int, ...]) -> list[np.ndarray]:
        memory, at = self._exports["memory"], self._exports["heap"].value(self._store)
        places = []
        for x in (*arrays, *(np.full(shape, 7.0) for shape in shapes)):
            content = np.asarray(x, float).tobytes()
            memory.write(self._store, content, at)
            places.append((at, at + len(content)))
            at += len(content)
        self._exports[name](self._store, *(first for first, _ in places))
        found = [bytes(memory.read(self._store, *place)) for place in places[len(arrays) :]]
        return [np.frombuffer(x, float).reshape(shape) for x, shape in zip(found, shapes, strict=True)]


def module(*functions: Any) -> bytes:
    """Functions of robots as a module."""
    return Module(read("test", functions, "")).to_bytes()


@pytest.mark.parametrize("name", [*ROBOTS, *LARGE])
def test_results_are_those_of_fourbar(name: str) -> None:
    own = robot(name)
    host = Host(module(own.inverse_dynamics, own.forward_dynamics, own.mass_matrix, own.integrate))
    rng = np.random.default_rng(3)
    for q in own.random(5, n=3):
        v, x = rng.normal(size=(2, own.nv))
        cases = {
            "inverse_dynamics": ([q, v, x], own.inverse_dynamics(q, v, x)),
            "forward_dynamics": ([q, v, x], own.forward_dynamics(q, v, x)),
            "mass_matrix": ([q], own.mass_matrix(q)),
            "integrate": ([q, v, 0.02], own.integrate(q, v, 0.02)),
        }
        for function, (given, expected) in cases.items():
            (found,) = host(function, given, expected.shape)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))


def test_derivatives_scalars_and_several_results() -> None:
    own = robot("double_pendulum")
    hybrid = own.hybrid_dynamics.specialise(**{own.hybrid_dynamics.options[0]: ["elbow"]})
    host = Host(module(own.forward_dynamics.vjp, own.potential_energy, hybrid))
    q, v, tau, w = np.random.default_rng(0).normal(size=(4, 2))
    expected = own.forward_dynamics.vjp((q, v, tau), w)
    for found, wanted in zip(host("forward_dynamics_vjp", [q, v, tau, w], (2,), (2,), (2,)), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    (energy,) = host("potential_energy", [q], ())
    assert energy == pytest.approx(own.potential_energy(q), rel=1e-14)
    for found, wanted in zip(host("hybrid_dynamics", [q, v, tau, w], (2,), (2,)), hybrid(q, v, tau, w), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_parts_that_repeat_until_they_are_done() -> None:
    """A repeat within another, in both layouts: Σ_{m ≤ n} m (m + 1) / 2."""
    for recorder in (Unrolled(), Shared()):
        host = Host(Module([Exported("triangular", triangular(recorder), "")]).to_bytes())
        for n, wanted in ((0.0, 0.0), (1.0, 1.0), (4.0, 20.0), (12.0, 364.0)):
            assert host("triangular", [[n]], ())[0] == wanted


def test_every_operation_means_what_it_does_here() -> None:
    """Signs, NaN, conditions used as numbers or not at all, a chain that is deeper than what is nested."""

    def compute(x: Any, y: Any) -> tuple[Any, ...]:
        deep = x
        for _ in range(200):
            deep = deep * 0.5 + 1.0
        return (
            fb.minimum(x, y), fb.maximum(x, y), fb.select(x < y, x - y, x / y), fb.select(x <= y, 1.0, -x),
            fb.atan2(x, y), fb.sqrt(x * x), fb.sin(x), fb.cos(y), deep, floor(x), lookup(table, y), lookup(table, -x),
        )  # fmt: skip

    table, recorder = np.array([2.5, -1.0, 4.0, 0.5]).tobytes(), Unrolled()
    x, y = recorder.input("x", (2,))
    program = recorder.finish("all", [("y", (12,), recorder.call(compute, x, y))])
    host = Host(Module([Exported("all", program, "")]).to_bytes())
    for pair in (
        (1.0, 2.0),
        (2.0, 1.0),
        (-1.5, -1.5),
        (0.0, -0.0),
        (math.nan, 1.0),
        (1.0, math.nan),
        (1.0, math.inf),
        (-7.3, 2.9),
    ):
        (found,) = host("all", [pair], (12,))
        np.testing.assert_allclose(found, interpret(program, {"x": np.array(pair)})["y"], rtol=1e-15)


def test_results_may_lie_over_arguments() -> None:
    own = robot("double_pendulum")
    host = Host(module(own.solve_mass_matrix))
    memory, store, at = host._exports["memory"], host._store, host._exports["heap"].value(host._store)
    q, b = np.array([0.3, 0.4]), np.array([1.0, 2.0])
    memory.write(store, q.tobytes() + b.tobytes(), at)
    host._exports["solve_mass_matrix"](store, at, at + 16, at)
    found = np.frombuffer(bytes(memory.read(store, at, at + 16)), float)
    np.testing.assert_allclose(found, own.solve_mass_matrix(q, b), rtol=1e-14)


def test_numbers_in_few_bytes() -> None:
    assert [leb128(n).hex() for n in (0, 127, 128, 624485)] == ["00", "7f", "8001", "e58e26"]
    assert [signed_leb128(n).hex() for n in (0, 63, 64, -1, -64, -65, -123456)] == [
        "00", "3f", "c000", "7f", "40", "bf7f", "c0bb78",
    ]  # fmt: skip


def node(folder: Path, script: str) -> Any:
    """What a script prints, as JSON; it is a module in a folder."""
    (folder / "script.js").write_text(script, encoding="utf-8")
    run = subprocess.run([str(NODE), "script.js"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@needs_node
def test_javascript_hides_the_memory(tmp_path: Path) -> None:
    own = robot("floating")
    pose = own.pose.specialise(frame="arm")
    fb.export_wasm(tmp_path, [own.inverse_dynamics, pose, own.kinetic_energy, own.forward_dynamics.vjp], name="r")
    q, v, a = own.random(2), *np.random.default_rng(0).normal(size=(2, own.nv))
    q_, v_, a_ = (json.dumps(x.tolist()) for x in (q, v, a))
    found = node(tmp_path, f"""
        import {{ functions, load }} from "./r.js";
        const robot = await load(), q = {q_}, v = {v_}, a = Float64Array.from({a_});
        const errors = [];
        for (const given of [[q, v], [q.slice(1), v, a], [q, v.map(String), a]]) {{
          try {{ robot.inverse_dynamics(...given); }} catch (error) {{ errors.push(error.message); }}
        }}
        const {{ g_q, g_v }} = robot.forward_dynamics_vjp(q, v, a, a);
        const pose = robot.pose([[q]]);
        console.log(JSON.stringify({{ tau: [...robot.inverse_dynamics(q, v, a)], pose: [...pose],
          energy: robot.kinetic_energy(q, v), g_q: [...g_q], g_v: [...g_v], errors, shape: functions.pose.outputs }}));
    """)  # fmt: skip
    np.testing.assert_allclose(found["tau"], own.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["pose"], pose(q).ravel(), rtol=1e-12, atol=1e-14)
    assert found["energy"] == pytest.approx(own.kinetic_energy(q, v), rel=1e-13)
    expected = own.forward_dynamics.vjp((q, v, a), a)
    np.testing.assert_allclose(found["g_q"], expected.q, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found["g_v"], expected.v, rtol=1e-11, atol=1e-11)
    few, short, words = found["errors"]
    assert "takes 3 arrays, 2 were given" in few and "q must be 8 numbers [8], got 7" in short and "among them" in words
    assert found["shape"] == [{"name": "T", "shape": [4, 4]}]


@needs_node
def test_the_written_test_passes_and_can_fail(tmp_path: Path) -> None:
    own = robot("crank_rocker")
    _, script, test, package = fb.export_wasm(tmp_path, [own.inverse_dynamics, own.potential_energy], name="2 bars!")
    assert script.name == "_2_bars.js" and json.loads(package.read_text(encoding="utf-8"))["type"] == "module"
    command = [str(NODE), test.name]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "largest difference" in run.stdout, run.stderr
    text = test.read_text(encoding="utf-8")  # a result that is not a number is wrong, whatever follows
    test.write_text(text.replace("const off =", "const off = k === 0 && i === 0 && name !== cases.at(-1)[0] ? NaN :"))
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0 and "differs by Infinity" in run.stderr
    other = robot("parallelogram")  # of the same sizes
    folder = tmp_path / "other"
    fb.export_wasm(folder, [other.inverse_dynamics, other.potential_energy], name="2 bars!")
    shutil.copy(script, folder / script.name)
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0 and "differs by" in run.stderr


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "inverse_dynamics,pose:frame=lower,forward_dynamics.jacobian"
    assert main(["export-wasm", "double_pendulum", "--functions", words, "-o", str(tmp_path), "--name", "p"]) == 0
    assert [Path(line).name for line in capsys.readouterr().out.split()] == [
        "p.wasm", "p.js", "p_test.js", "package.json",
    ]  # fmt: skip
    assert (tmp_path / "p.wasm").read_bytes()[:8] == b"\0asm" + struct.pack("<i", 1)
    for wrong, message in (("pose", "needs 'frame'"), ("pose:hand=1", "no argument 'hand'"), ("fly", "fly")):
        assert main(["export-wasm", "double_pendulum", "--functions", wrong, "-o", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("functions", "words"),
    [([], "no functions given"), (["inverse_dynamics"], "robot.inverse_dynamics"), ("pose", "specialise(frame=...)")],
)
def test_what_is_refused(tmp_path: Path, functions: Any, words: str) -> None:
    given = [robot("double_pendulum").pose] if functions == "pose" else functions
    with pytest.raises(fb.ArgumentError) as told:
        fb.export_wasm(tmp_path, given)
    assert words in str(told.value) and "export_wasm" in str(told.value)
