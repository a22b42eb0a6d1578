"""The symbols that `casadi.external` looks for in a shared library: a function of the C export, as CasADi calls it."""

from __future__ import annotations

from ..expr import Program
from .exported_functions import array_names

_TYPES = "#ifndef CASADI_INT_TYPE\n#define CASADI_INT_TYPE long long int\n#endif"


def casadi_symbols(name: str, program: Program) -> str:
    """Code around `name`: dense arguments, stored column by column as CasADi does."""
    taken, found = array_names(program)
    inputs = [(own, _columns(x.shape)) for own, x in zip(taken, program.inputs, strict=True)]
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
    """Rows and columns: what has three axes is stacked, its first two together."""
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
        lines += _turned(f"in{k}[{columns} * i + j] = arg[{k}] ? arg[{k}][{rows} * j + i] : 0.0;", rows, columns)
    lines += [f"    real out{k}[{max(1, rows * columns)}];" for k, (rows, columns) in enumerate(outputs)]
    given = [*(f"in{k}" for k in range(len(inputs))), *(f"out{k}" for k in range(len(outputs)))]
    lines.append(f"    {name}({', '.join(given)});")
    for k, (rows, columns) in enumerate(outputs):
        lines.append(f"    if (res[{k}]) {{")
        lines += ["    " + x for x in _turned(f"res[{k}][{rows} * j + i] = out{k}[{columns} * i + j];", rows, columns)]
        lines.append("    }")
    return "\n".join([*lines, "    return 0;", "}"])


def _turned(statement: str, rows: int, columns: int) -> list[str]:
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


def _chosen(values: list[str], otherwise: str) -> str:
    cases = "".join(f"    if (i == {k}) return {value};\n" for k, value in enumerate(values))
    return f"{{\n{cases}    return {otherwise};\n}}"


def _names(name: str, kind: str, names: list[str]) -> str:
    head = f"const char *{name}_casadi_name_{kind}(CASADI_INT_TYPE i)"
    quoted = [f'"{x}"' for x in names]
    return f"{head};\n{head} {_chosen(quoted, '0')}"


def _sparsity(name: str, kind: str, shapes: list[tuple[int, int]]) -> str:
    """Dense: rows, columns, 1."""
    head = f"const CASADI_INT_TYPE *{name}_casadi_sparsity_{kind}(CASADI_INT_TYPE i)"
    tables = [
        f"static const CASADI_INT_TYPE {name}_{kind}{k}[3] = {{{rows}, {columns}, 1}};"
        for k, (rows, columns) in enumerate(shapes)
    ]
    return "\n".join([*tables, f"{head};", f"{head} {_chosen([f'{name}_{kind}{k}' for k in range(len(shapes))], '0')}"])


def _work(name: str, inputs: int, outputs: int) -> str:
    arguments = ", ".join(f"CASADI_INT_TYPE *{x}" for x in ("sz_arg", "sz_res", "sz_iw", "sz_w"))
    head = f"int {name}_casadi_work({arguments})"
    body = [f"*sz_arg = {inputs};", f"*sz_res = {outputs};", "*sz_iw = 0;", "*sz_w = 0;", "return 0;"]
    return f"{head};\n{head} {{\n    {' '.join(body)}\n}}"
