"""Functions and programs of a robot as C99 source: for machines without Python, without LLVM, without an allocator.

A function becomes `void robot_function(const real *q, ..., real *result)`: one state, arrays row by row, no state kept,
safe to call from several threads. Header, test with vectors, and CMake come along.

`casadi=True` adds the symbols that `casadi.external` looks for in a shared library: a function of the C export, as
CasADi calls it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..expr import Block, Program
from ..expr.program import Instruction
from ..hints import with_keyword_hints
from .exported_functions import (
    Exported,
    array_names,
    check_single,
    documentation,
    identifier,
    needed_instructions,
    read,
    vectors,
)

SCALARS = {"double": "", "float": "f"}  # the type of all numbers, and the suffix of its constants and functions

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<="}
_LIBRARY = ("sin", "cos", "sqrt", "floor")
_CONDITIONS = ("lt", "le")
_LISTED = 2048  # entries beyond which a loop over a table copies them, so that compilers need not think about each


class Helper(NamedTuple):
    """A small function of the C file."""

    name: str
    text: str


# NaN is handed on, as NumPy's minimum and maximum do.
HELPERS = {
    "min": Helper("least", "static inline real least(real a, real b) { return (a < b || a != a) ? a : b; }"),
    "max": Helper("most", "static inline real most(real a, real b) { return (b < a || a != a) ? a : b; }"),
    "lookup": Helper(
        "lookup",
        "static inline real lookup(const real *table, int last, real x) {\n"
        "    return table[x >= 0 ? (x < last ? (int)x : last) : 0];\n}",
    ),
}


class CWriter:
    """Writes programs with one type of number."""

    def __init__(self, scalar: str) -> None:
        self.scalar, self.suffix = scalar, SCALARS[scalar]
        self._operations: dict[str, Callable[..., str]] = {
            **{op: lambda a, b, sign=sign: f"{a} {sign} {b}" for op, sign in _INFIX.items()},
            **{op: lambda a, name=op: f"{name}{self.suffix}({a})" for op in _LIBRARY},
            "neg": lambda a: f"-{a}",
            "atan2": lambda a, b: f"atan2{self.suffix}({a}, {b})",
            "min": lambda a, b: f"least({a}, {b})",
            "max": lambda a, b: f"most({a}, {b})",
            "select": lambda c, a, b: f"{c} ? {a} : {b}",
        }

    def number(self, x: float) -> str:
        """A constant: seventeen digits, so that a double is what it was."""
        if x != x:
            return "(real)NAN"
        if x in (float("inf"), float("-inf")):
            return "(real)INFINITY" if x > 0 else "(-(real)INFINITY)"
        text = repr(float(x))
        text = text if any(mark in text for mark in ".e") else text + ".0"
        return f"({text}{self.suffix})" if x < 0 else text + self.suffix

    def _operand(self, x: Any) -> str:
        return f"t{x}" if x.__class__ is int else self.number(x)

    def _store_value(self, block: Block, x: Any) -> str:
        """A value as a number: conditions are of type int, which does not become float by itself."""
        is_condition = x.__class__ is int and block.code[x][0] in _CONDITIONS
        return f"(real){self._operand(x)}" if is_condition else self._operand(x)

    def _line(self, k: int, instruction: Instruction, place: Callable[[int, int], str]) -> str:
        op, *operands = instruction
        if op == "lookup":
            table, index = operands
            return f"    const real t{k} = lookup({_table_name(table)}, {len(table) // 8 - 1}, {self._operand(index)});"
        if op == "load":
            return f"    const real t{k} = {place(*operands)};"
        if op == "table":
            return f"    const real t{k} = table[{operands[0]}];"
        kind = "int" if op in _CONDITIONS else "real"
        return f"    const {kind} t{k} = {self._operations[op](*map(self._operand, operands))};"

    def block(self, name: str, block: Block, fixed: bool) -> str:
        """A block as a function. `fixed`: all its ports are at slot 0, as in a program that is one straight line."""

        def place(port: int, offset: int) -> str:
            return f"w[{offset}]" if fixed else f"w[at[{port}] + {offset}]"

        needed = needed_instructions(block)
        code_lines = [self._line(k, instruction, place) for k, instruction in enumerate(block.code) if k in needed]
        code_lines += [f"    {place(s.port, s.offset)} = {self._store_value(block, s.value)};" for s in block.stores]
        if block.table and not any(block.code[k][0] == "table" for k in needed):
            code_lines.insert(0, "    (void)table;")
        given = "real *w" + ("" if fixed else ", const int *at") + (", const real *table" if block.table else "")
        return "\n".join([f"static void {name}({given}) {{", *code_lines, "}"])

    def function(self, name: str, program: Program) -> str:
        """A program as a function of its inputs and outputs, with the blocks and tables that it needs before it."""
        fixed = [all(c.bases == (0,) for c in program.calls if c.block == i) and b.ports == 1
                 for i, b in enumerate(program.blocks)]  # fmt: skip
        parts = [
            self.block(f"{name}_block{i}", b, f) for i, (b, f) in enumerate(zip(program.blocks, fixed, strict=True))
        ]
        parts += self._tables(name, program, fixed)
        lines = [f"void {name}({', '.join(self.arguments(program))}) {{", f"    real w[{max(1, program.slots)}];"]
        input_names, output_names = parameter_names(program)
        for name_of, x in zip(input_names, program.inputs, strict=True):
            lines.append(f"    memcpy(w + {x.first}, {name_of}, {x.size} * sizeof(real));")
        lines += self._presets(name, program)
        lines += self._calls(name, program, fixed)
        for name_of, y in zip(output_names, program.outputs, strict=True):
            if len(y.slots) > _LISTED:
                lines.append(f"    for (int k = 0; k < {len(y.slots)}; k++) {name_of}[k] = w[{name}_from_{y.name}[k]];")
            else:
                lines += [f"    {name_of}[{k}] = w[{slot}];" for k, slot in enumerate(y.slots)]
        return "\n\n".join([*parts, "\n".join([*lines, "}"])])

    def arguments(self, program: Program) -> list[str]:
        """The parameters of a function: inputs, then outputs."""
        given, found = parameter_names(program)
        return [*(f"const real *{name}" for name in given), *(f"real *{name}" for name in found)]

    def lookup_tables(self, programs: Sequence[Program]) -> list[str]:
        """The tables that programs look numbers up in."""
        distinct = dict.fromkeys(table for program in programs for table in program.lookups)
        listed = [(table, _comma_list(map(self.number, np.frombuffer(table, float).tolist()))) for table in distinct]
        return [f"static const real {_table_name(table)}[] = {{{entries}}};" for table, entries in listed]

    def _tables(self, name: str, program: Program, fixed: Sequence[bool]) -> list[str]:
        """Where the ports of all calls point, their constants, and where long results are: one array each."""
        bases = [base for c in program.calls if not fixed[c.block] for base in c.bases]
        numbers = [x for c in program.calls for x in c.table]
        tables = [f"static const int {name}_at[] = {{{_comma_list(map(str, bases))}}};"] if bases else []
        for y in program.outputs:
            if len(y.slots) > _LISTED:
                tables.append(f"static const int {name}_from_{y.name}[] = {{{_comma_list(map(str, y.slots))}}};")
        if len(program.preset) > _LISTED:
            slots, values = zip(*program.preset, strict=True)
            tables.append(f"static const int {name}_preset_at[] = {{{_comma_list(map(str, slots))}}};")
            tables.append(f"static const real {name}_preset[] = {{{_comma_list(map(self.number, values))}}};")
        if numbers:
            tables.append(f"static const real {name}_table[] = {{{_comma_list(map(self.number, numbers))}}};")
        return tables

    def _presets(self, name: str, program: Program) -> list[str]:
        """Slots that hold constants from the start."""
        if len(program.preset) > _LISTED:
            n = len(program.preset)
            return [f"    for (int k = 0; k < {n}; k++) w[{name}_preset_at[k]] = {name}_preset[k];"]
        return [f"    w[{slot}] = {self.number(value)};" for slot, value in program.preset]

    def _calls(self, name: str, program: Program, fixed: Sequence[bool]) -> list[str]:
        widths = [0 if fixed[c.block] else len(c.bases) for c in program.calls]
        firsts = zip(accumulate(widths, initial=0), accumulate((len(c.table) for c in program.calls), initial=0),
                     strict=True)  # fmt: skip
        lines = []
        for k, (call, (base, number)) in enumerate(zip(program.calls, firsts, strict=False)):
            for r in program.repeats:
                if r.first == k:
                    lines.append(f"    for (int passes = 0; passes < {r.most} && w[{r.going}] > 0; passes++) {{")
            given = ["w"]
            given += [] if fixed[call.block] else [f"{name}_at + {base}"]
            given += [f"{name}_table + {number}"] if program.blocks[call.block].table else []
            lines.append(f"    {name}_block{call.block}({', '.join(given)});")
            lines += ["    }"] * sum(r.end == k + 1 for r in program.repeats)
        return lines


def parameter_names(program: Program) -> tuple[list[str], list[str]]:
    """Names of inputs and outputs as C parameters: an output that is called as an input is `..._out`."""
    inputs, outputs = array_names(program)
    return [_safe(name) for name in inputs], [_safe(name) for name in outputs]


_TAKEN = frozenset([
    "w", "at", "table", "real", "int", "float", "double", "const", "static", "void", "for", "if", "else", "do",
    "while", "return", "case", "default", "switch", "break", "continue", "goto", "sizeof", "struct", "union",
    "enum", "typedef", "volatile", "register", "restrict", "inline", "auto", "char", "short", "long", "signed",
    "unsigned", "extern",
])  # fmt: skip


def _table_name(table: bytes) -> str:
    """A name for a table of numbers, from its contents."""
    return f"lookup{sha256(table).hexdigest()[:16]}"


def _safe(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _comma_list(words: Any, width: int = 110) -> str:
    """Words with commas, in lines."""
    lines, now = [], ""
    for word in words:
        if len(now) + len(word) > width:
            lines.append(now)
            now = ""
        now += f"{word}, "
    return "\n    ".join(["", *lines, now]).rstrip(", ")


_TYPES = "#ifndef CASADI_INT_TYPE\n#define CASADI_INT_TYPE long long int\n#endif"


def casadi_symbols(name: str, program: Program) -> str:
    """Code around `name`: dense arguments, stored column by column as CasADi does."""
    input_names, found = array_names(program)
    inputs = [(own, _columns(x.shape)) for own, x in zip(input_names, program.inputs, strict=True)]
    outputs = [(own, _columns(y.shape)) for own, y in zip(found, program.outputs, strict=True)]
    parts = [
        _TYPES,
        _call(name, [shape for _, shape in inputs], [shape for _, shape in outputs]),
        *_counts(name, len(inputs), len(outputs)),
        _names(name, "in", [n for n, _ in inputs]),
        _names(name, "out", [n for n, _ in outputs]),
        _sparsity(name, "in", [shape for _, shape in inputs]),
        _sparsity(name, "out", [shape for _, shape in outputs]),
        _work(name, len(inputs), len(outputs)),
    ]
    return "\n\n".join(parts)


def _columns(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns; the first two of three axes are stacked."""
    if len(shape) < 2:
        return (shape[0] if shape else 1), 1
    rows = 1
    for n in shape[:-1]:
        rows *= n
    return rows, shape[-1]


def _call(name: str, inputs: list[tuple[int, int]], outputs: list[tuple[int, int]]) -> str:
    """Arguments turned from columns into rows, results from rows into columns. A missing argument is zero."""
    lines = [
        f"int {name}_casadi(const double **arg, double **res, CASADI_INT_TYPE *iw, double *work, int mem);",
        f"int {name}_casadi(const double **arg, double **res, CASADI_INT_TYPE *iw, double *work, int mem) {{",
        "    (void)iw;",
        "    (void)work;",
        "    (void)mem;",
    ]
    for k, (rows, columns) in enumerate(inputs):
        lines.append(f"    real in{k}[{max(1, rows * columns)}];")
        lines += _for_each(f"in{k}[{columns} * i + j] = arg[{k}] ? arg[{k}][{rows} * j + i] : 0.0;", rows, columns)
    lines += [f"    real out{k}[{max(1, rows * columns)}];" for k, (rows, columns) in enumerate(outputs)]
    given = [*(f"in{k}" for k in range(len(inputs))), *(f"out{k}" for k in range(len(outputs)))]
    lines.append(f"    {name}({', '.join(given)});")
    for k, (rows, columns) in enumerate(outputs):
        lines.append(f"    if (res[{k}]) {{")
        lines += [
            "    " + x for x in _for_each(f"res[{k}][{rows} * j + i] = out{k}[{columns} * i + j];", rows, columns)
        ]
        lines.append("    }")
    return "\n".join([*lines, "    return 0;", "}"])


def _for_each(statement: str, rows: int, columns: int) -> list[str]:
    return [
        f"    for (int i = 0; i < {rows}; i++) {{",
        f"        for (int j = 0; j < {columns}; j++) {statement}",
        "    }",
    ]


def _counts(name: str, inputs: int, outputs: int) -> list[str]:
    return [
        f"CASADI_INT_TYPE {name}_casadi_n_{kind}(void);\nCASADI_INT_TYPE {name}_casadi_n_{kind}(void) {{ return {n}; }}"
        for kind, n in (("in", inputs), ("out", outputs))
    ]


def _switch(values: list[str], otherwise: str) -> str:
    cases = "".join(f"    if (i == {k}) return {value};\n" for k, value in enumerate(values))
    return f"{{\n{cases}    return {otherwise};\n}}"


def _names(name: str, kind: str, names: list[str]) -> str:
    head = f"const char *{name}_casadi_name_{kind}(CASADI_INT_TYPE i)"
    quoted = [f'"{x}"' for x in names]
    return f"{head};\n{head} {_switch(quoted, '0')}"


def _sparsity(name: str, kind: str, shapes: list[tuple[int, int]]) -> str:
    """Dense: rows, columns, 1."""
    head = f"const CASADI_INT_TYPE *{name}_casadi_sparsity_{kind}(CASADI_INT_TYPE i)"
    tables = [
        f"static const CASADI_INT_TYPE {name}_{kind}{k}[3] = {{{rows}, {columns}, 1}};"
        for k, (rows, columns) in enumerate(shapes)
    ]
    return "\n".join([*tables, f"{head};", f"{head} {_switch([f'{name}_{kind}{k}' for k in range(len(shapes))], '0')}"])


def _work(name: str, inputs: int, outputs: int) -> str:
    arguments = ", ".join(f"CASADI_INT_TYPE *{x}" for x in ("sz_arg", "sz_res", "sz_iw", "sz_w"))
    head = f"int {name}_casadi_work({arguments})"
    body = [f"*sz_arg = {inputs};", f"*sz_res = {outputs};", "*sz_iw = 0;", "*sz_w = 0;", "return 0;"]
    return f"{head};\n{head} {{\n    {' '.join(body)}\n}}"


_TOLERANCE = {"double": 1e-12, "float": 1e-4}


@with_keyword_hints
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
        raise ArgumentError("export_c: casadi=True needs scalar='double', the type of CasADi's numbers")
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
    tables = writer.lookup_tables([f.program for f in functions])
    parts = [head, *(helper.text for helper in helpers), *tables, *bodies]
    if casadi:
        parts += [casadi_symbols(f.name, f.program) for f in functions]
    return "\n\n".join(parts) + "\n"


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"


def _comment(function: Exported) -> str:
    """A comment on what a function takes and returns, with shapes and units."""
    program, (inputs, outputs) = function.program, parameter_names(function.program)
    summary, said = documentation(function)
    lines = [summary, ""]
    for direction, names, arrays in (("in", inputs, program.inputs), ("out", outputs, program.outputs)):
        for name, x in zip(names, arrays, strict=True):
            text = f"{name}: {direction}, {_shape(x.shape)}. {said.get(x.name, '')}".rstrip(" .") + "."
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
