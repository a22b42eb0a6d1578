"""Exported C beside the machine code of fourbar, in one process.  python bench/c_export.py [--quick] [--strict]

For a tree, a floating robot and a looped one: inverse dynamics (RNEA), forward dynamics (ABA) and the mass matrix
(CRBA), each compiled by every C compiler that is installed, with -O2 for any machine of this kind and with -O2
-march=native for this one, as fourbar's own code is. Both run over the same states one after the other, one sample at
a time (one lane), in turns; the least CPU time of each. Size: lines of C and bytes of machine code (its text).
`--strict` exits non-zero when C takes more than twice as long.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fourbar as fb
from fourbar.compile.kernel import Kernel
from fourbar.compile.llvm import single_lane
from fourbar.targets.exported_functions import identifier

ROBOTS = {"tree": "double_pendulum", "floating": "mini_cheetah", "loops": "tello"}
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
WAYS = {"any": ["-O2"], "native": ["-O2", "-march=native"]}
LIMIT = 2.0
SAMPLES, TURNS = 2000, 60


def compiled(folder: Path, name: str, program: Any, compiler: str, flags: list[str]) -> tuple[ctypes.CDLL, int]:
    """An exported function as a library that runs it over many states, and the bytes of its text."""
    widths = [int(np.prod(x.shape)) for x in (*program.inputs, *program.outputs)]
    given = ", ".join([f"const double *a{k}" for k in range(len(program.inputs))])
    taken = ", ".join([f"double *a{k}" for k in range(len(program.inputs), len(widths))])
    shifted = ", ".join(f"a{k} + i * {n}" for k, n in enumerate(widths))
    loop = folder / "loop.c"
    loop.write_text(
        f'#include "r.h"\nvoid loop(long n, {given}, {taken}) {{\n'
        f"    for (long i = 0; i < n; i++) {name}({shifted});\n}}\n",
        encoding="utf-8",
    )
    target = folder / f"{compiler}-{'-'.join(flags)}.so"
    objects = [folder / "r.o", folder / "loop.o"]
    for source, made in zip((folder / "r.c", loop), objects, strict=True):
        subprocess.run([compiler, "-std=c99", *flags, "-fPIC", "-c", str(source), "-o", str(made)], check=True)
    subprocess.run([compiler, "-shared", *map(str, objects), "-o", str(target), "-lm"], check=True)
    sizes = subprocess.run(["size", str(objects[0])], check=True, capture_output=True, text=True).stdout
    return ctypes.CDLL(str(target)), int(sizes.splitlines()[1].split()[0])


def own(program: Any, arrays: list[np.ndarray]) -> Callable[[], None]:
    """The program in one lane of fourbar's machine code, over all states."""
    kernel = Kernel(program, single_lane())
    places, dims = np.array([x.ctypes.data for x in arrays]), np.array([SAMPLES])
    core = [s for x in arrays for s in x.strides[1:]]
    steps = np.array([x.strides[0] for x in arrays] + core)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(kernel.address)
    addresses = places.ctypes.data, dims.ctypes.data, steps.ctypes.data, kernel.data
    kept = kernel, places, dims, steps, arrays

    def call() -> None:
        run(*addresses)

    call.kept = kept  # type: ignore[attr-defined]
    return call


def least(calls: list[Callable[[], Any]], turns: int) -> list[float]:
    """µs per sample of each, the least CPU time of turns that they take one after the other."""
    best = [float("inf")] * len(calls)
    for _ in range(turns):
        for k, call in enumerate(calls):
            begin = time.process_time()
            call()
            best[k] = min(best[k], time.process_time() - begin)
    return [1e6 * x / SAMPLES for x in best]


def states(robot: Any, program: Any) -> list[np.ndarray]:
    """Arguments of all samples, and room for results."""
    rng = np.random.default_rng(0)
    given = [
        robot.random(0, n=SAMPLES) if x.name == "q" else rng.normal(size=(SAMPLES, *x.shape)) for x in program.inputs
    ]
    return [np.ascontiguousarray(x) for x in given] + [np.empty((SAMPLES, *y.shape)) for y in program.outputs]


def rows(kind: str, robot: Any, function: str, compilers: list[str], turns: int) -> list[tuple[str, float]]:
    """Print the rows of one function; the ratios that are judged."""
    of = getattr(robot, function)
    program = of.program()
    arrays = states(robot, program)
    ours = [x if k < len(program.inputs) else x.copy() for k, x in enumerate(arrays)]
    judged = []
    with tempfile.TemporaryDirectory(prefix="fourbar-bench-") as where:
        folder = Path(where)
        fb.export_c(folder, [of], name="r")
        lines = len((folder / "r.c").read_text(encoding="utf-8").splitlines())
        made = [
            (compiler, way, *compiled(folder, f"r_{identifier(program.name)}", program, compiler, flags))
            for compiler in compilers
            for way, flags in WAYS.items()
        ]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
        calls = [lambda library=library: library.loop(ctypes.c_long(SAMPLES), *pointers) for *_, library, _ in made]
        kernel, *times = least([own(program, ours), *calls], turns)
        for x, y in zip(arrays, ours, strict=True):
            scale = np.abs(y).max(initial=1.0)
            assert np.abs(x - y).max() <= 1e-9 * scale, "C and fourbar disagree"
    for (compiler, way, _, size), seconds in zip(made, times, strict=True):
        ratio = seconds / kernel
        name = f"{kind:9} {function:17} {compiler:6} {way:7}"
        mark = "   MISSED" if ratio > LIMIT else ""
        print(
            f"{name} {lines:6} lines {size / 1024:7.1f} kB  {seconds:7.3f} µs  ours {kernel:7.3f}  {ratio:5.2f}{mark}"
        )
        judged.append((name, ratio))
    return judged


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the tree only, few turns: whether it runs")
    parser.add_argument("--strict", action="store_true", help="exit non-zero when a row falls short")
    asked = parser.parse_args()
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    if not compilers:
        sys.exit("no C compiler is installed: gcc or clang is needed")
    chosen = {"tree": ROBOTS["tree"]} if asked.quick else ROBOTS
    found: list[tuple[str, float]] = []
    for kind, name in chosen.items():
        robot = getattr(fb.robots, name)()
        for function in FUNCTIONS:
            found += rows(kind, robot, function, compilers, 3 if asked.quick else TURNS)
    missed = [name for name, ratio in found if ratio > LIMIT]
    if asked.strict and missed:
        sys.exit(f"{len(missed)} rows take more than {LIMIT:g} times as long: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
