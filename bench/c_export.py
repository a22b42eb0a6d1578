"""Exported C beside the machine code of fourbar, in one process.

python bench/c_export.py [--quick] [--strict] [--save]

For a tree, a floating robot and a looped one: inverse dynamics (RNEA), forward dynamics (ABA) and the mass matrix
(CRBA), each compiled by every C compiler that is installed, with -O2 for any machine of this kind and with -O2
-march=native for this one, as fourbar's own code is. Both run over the same states one after the other, one sample at
a time (one lane), in turns; the least CPU time of each. Size: lines of C and bytes of machine code (its text).
`--strict` exits non-zero when C takes more than twice as long, `--save` writes the results (bench/report.py).
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fourbar as fb
from fourbar.compile.kernel import Kernel
from fourbar.compile.llvm import single_lane
from fourbar.targets.exported_functions import identifier
from report import Report, add_options
from timing import least_cpu

ROBOTS = {"tree": "double_pendulum", "floating": "mini_cheetah", "loops": "tello"}
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
WAYS = {"any": ["-O2"], "native": ["-O2", "-march=native"]}
LIMIT = 2.0
REPORT = Report("c_export")
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


def states(robot: Any, program: Any) -> list[np.ndarray]:
    """Arguments of all samples, and room for results."""
    rng = np.random.default_rng(0)
    given = [
        robot.random(0, n=SAMPLES) if x.name == "q" else rng.normal(size=(SAMPLES, *x.shape)) for x in program.inputs
    ]
    return [np.ascontiguousarray(x) for x in given] + [np.empty((SAMPLES, *y.shape)) for y in program.outputs]


def rows(kind: str, robot: Any, function: str, compilers: list[str], turns: int) -> None:
    """Print the rows of one function."""
    of = getattr(robot, function)
    program = of.program()
    arrays = states(robot, program)
    ours = [x if k < len(program.inputs) else x.copy() for k, x in enumerate(arrays)]
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
        timed = least_cpu({str(k): call for k, call in enumerate([own(program, ours), *calls])}, turns)
        kernel, *times = timed.values()
        for x, y in zip(arrays, ours, strict=True):
            scale = np.abs(y).max(initial=1.0)
            assert np.abs(x - y).max() <= 1e-9 * scale, "C and fourbar disagree"
    title, scale = f"{function.replace('_', ' ')}, one sample", 1e6 / SAMPLES
    REPORT.record(f"{title}, machine code of fourbar", ROBOTS[kind], kernel, "ns", SAMPLES)
    for (compiler, way, _, size), seconds in zip(made, times, strict=True):
        REPORT.record(f"{title}, {compiler}, {' '.join(WAYS[way])}", ROBOTS[kind], seconds, "ns", SAMPLES)
        name = f"{kind:9} {function:17} {compiler:6} {way:7} {lines:6} lines {size / 1024:7.1f} kB"
        text = f"{name}  {scale * seconds:7.3f} µs  ours {scale * kernel:7.3f}  {seconds / kernel:5.2f}"
        REPORT.judge(text, seconds / kernel, LIMIT)


def main() -> int:
    """All rows; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the tree only, few turns: whether it runs")
    add_options(parser)
    asked = parser.parse_args()
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    if not compilers:
        sys.exit("no C compiler is installed: gcc or clang is needed")
    chosen = {"tree": ROBOTS["tree"]} if asked.quick else ROBOTS
    for kind, name in chosen.items():
        robot = getattr(fb.robots, name)()
        for function in FUNCTIONS:
            rows(kind, robot, function, compilers, 3 if asked.quick else TURNS)
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
