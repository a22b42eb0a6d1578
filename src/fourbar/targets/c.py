"""Functions of a robot as C99 source: for machines without Python, without LLVM, without an allocator.

A function becomes `void robot_function(const real *q, ..., real *result)`: one state, arrays row by row, no state kept,
safe to call from several threads. Header, test with vectors, and CMake come along.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..hints import hinted
from .c_casadi import casadi_symbols
from .c_code import HELPERS, SCALARS, CWriter, parameter_names
from .exported_functions import Exported, check_single, explained, identifier, read, vectors

_TOLERANCE = {"double": 1e-12, "float": 1e-4}


@hinted
def export_c(
    folder: str | Path, functions: Sequence[Any], *, name: str = "robot", scalar: str = "double", casadi: bool = False
) -> list[Path]:
    """Write functions of robots as C99 source.

    Parameters
    ----------
    folder : path
        Where the files go; it is made if it does not exist.
    functions : sequence of functions
        Such as ``robot.inverse_dynamics`` or ``robot.pose.specialise(frame="hand")``; derivatives too. Optional
        arguments (``f_ext``) are left out, so they are zero, but for the tangents of a ``jvp``.
    name : str
        Prefix of the names in C and of the files.
    scalar : {"double", "float"}
        The type of all numbers.
    casadi : bool
        Also write the symbols that ``casadi.external`` looks for (double only).

    Returns
    -------
    list of Path
        The files: source, header, a test with vectors, and ``CMakeLists.txt``.

    Raises
    ------
    ArgumentError
        If something is not a function of a robot, or one has no results in the precision of ``"float"``: to
        `integrate` a loop takes double precision.

    Examples
    --------
    >>> import fourbar as fb, tempfile
    >>> robot = fb.robots.double_pendulum()
    >>> files = fb.export_c(tempfile.mkdtemp(), [robot.inverse_dynamics], name="pendulum")
    >>> [file.name for file in files]
    ['pendulum.c', 'pendulum.h', 'pendulum_test.c', 'CMakeLists.txt']
    """
    if scalar not in SCALARS:
        raise ArgumentError(f"export_c: scalar={scalar!r}: expected one of {', '.join(map(repr, SCALARS))}")
    if casadi and scalar != "double":
        raise ArgumentError("export_c: casadi=True needs scalar='double', which is what CasADi computes with")
    prefix = identifier(name)
    exported = read("export_c", functions, prefix)
    if scalar == "float":
        for function in exported:
            check_single("export_c", function)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    writer = CWriter(scalar)
    files = {
        f"{prefix}.c": _source(prefix, exported, writer, casadi),
        f"{prefix}.h": _header(prefix, exported, writer),
        f"{prefix}_test.c": _test(prefix, exported, writer),
        "CMakeLists.txt": _cmake(prefix),
    }
    for file, text in files.items():
        (target / file).write_text(text, encoding="utf-8")
    return [target / file for file in files]


def _source(prefix: str, functions: Sequence[Exported], writer: CWriter, casadi: bool) -> str:
    bodies = [writer.function(f.name, f.program) for f in functions]
    helpers = [helper for helper in HELPERS.values() if any(f"{helper.name}(" in body for body in bodies)]
    head = f'#include "{prefix}.h"\n\n#include <math.h>\n#include <string.h>\n\ntypedef {prefix}_real real;\n'
    parts = [head, *(helper.text for helper in helpers), *bodies]
    if casadi:
        parts += [casadi_symbols(f.name, f.program) for f in functions]
    return "\n\n".join(parts) + "\n"


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"


def _comment(function: Exported) -> str:
    """A comment on what a function takes and returns, with shapes and units."""
    program, (inputs, outputs) = function.program, parameter_names(function.program)
    summary, said = explained(function)
    lines = [summary, ""]
    for way, names, arrays in (("in", inputs, program.inputs), ("out", outputs, program.outputs)):
        for name, x in zip(names, arrays, strict=True):
            text = f"{name}: {way}, {_shape(x.shape)}. {said.get(x.name, '')}".rstrip(" .") + "."
            lines += textwrap.wrap(text, 110, subsequent_indent="    ")
    lines += [f"Stack: about {program.slots} numbers."]
    return "\n".join(["/*", *(f" * {line}".rstrip().replace("*/", "* /") for line in lines), " */"])


def _header(prefix: str, functions: Sequence[Exported], writer: CWriter) -> str:
    guard = f"{prefix.upper()}_H"
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "/*",
        " * Written by fourbar. SI units, radians. Matrices are stored row by row. Quaternions are (w, x, y, z).",
        " * A free joint has q = (position, quaternion) and v = (angular, linear) in the frame of its body. Spatial",
        " * vectors are (angular, linear). No function allocates or keeps anything; results may overwrite arguments.",
        " */",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"typedef {writer.scalar} {prefix}_real;",
        "",
    ]
    for f in functions:
        arguments = ", ".join(writer.arguments(f.program)).replace("real *", f"{prefix}_real *")
        lines += [_comment(f), f"void {f.name}({arguments});", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""])


def _test(prefix: str, functions: Sequence[Exported], writer: CWriter) -> str:
    """A program that compares results with those of fourbar, and says by how much they differ."""
    lines = [
        f'#include "{prefix}.h"', "", "#include <math.h>", "#include <stdio.h>", "",
        f"typedef {prefix}_real real;", "",
        "static double worst = 0.0;", "",
        "static void compare(const real *found, const double *expected, int n) {",
        "    double size = 1.0;",
        "    for (int k = 0; k < n; k++) size = fmax(size, fabs(expected[k]));",
        "    for (int k = 0; k < n; k++) {",
        "        const double off = fabs((double)found[k] - expected[k]) / size;",
        "        if (!(off <= worst)) worst = off == off ? off : HUGE_VAL; /* NaN stays wrong */",
        "    }",
        "}", "",
        "int main(void) {",
    ]  # fmt: skip
    for f in functions:
        for given, found in vectors(f):
            lines += _case(f, given, found, writer)
    tolerance = _TOLERANCE[writer.scalar]
    lines += [
        '    printf("largest difference %.3g\\n", worst);',
        f"    return worst <= {tolerance!r} ? 0 : 1;",
        "}",
        "",
    ]
    return "\n".join(lines)


def _case(f: Exported, given: Sequence[np.ndarray], found: Sequence[np.ndarray], writer: CWriter) -> list[str]:
    inputs, outputs = parameter_names(f.program)
    lines = ["    {"]
    for name, x in zip(inputs, given, strict=True):
        lines.append(f"        const real {name}[] = {{{', '.join(writer.number(v) for v in x.ravel()) or '0'}}};")
    double = CWriter("double")
    for name, y in zip(outputs, found, strict=True):
        lines.append(f"        real {name}[{max(1, y.size)}];")
        lines.append(f"        const double {name}_is[] = {{{', '.join(double.number(v) for v in y.ravel()) or '0'}}};")
    lines.append(f"        {f.name}({', '.join([*inputs, *outputs])});")
    lines += [f"        compare({name}, {name}_is, {y.size});" for name, y in zip(outputs, found, strict=True)]
    return [*lines, "    }"]


def _cmake(prefix: str) -> str:
    return "\n".join(
        [
            "cmake_minimum_required(VERSION 3.10)",
            f"project({prefix} C)",
            "set(CMAKE_C_STANDARD 99)",
            "if(NOT CMAKE_BUILD_TYPE)",
            "  set(CMAKE_BUILD_TYPE Release)",
            "endif()",
            f"add_library({prefix} {prefix}.c)",
            f"target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})",
            "if(UNIX)",
            f"  target_link_libraries({prefix} PUBLIC m)",
            "endif()",
            "enable_testing()",
            f"add_executable({prefix}_test {prefix}_test.c)",
            f"target_link_libraries({prefix}_test {prefix})",
            f"add_test(NAME {prefix} COMMAND {prefix}_test)",
            "",
        ]
    )
