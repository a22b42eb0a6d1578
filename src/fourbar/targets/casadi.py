"""Functions of a robot as CasADi functions: the program replayed into SX, so CasADi differentiates and generates code.

Needs the extra `casadi`. CasADi differentiates the formula, with respect to the entries of q. For directions on
the configuration space (a free joint, a ball joint, a loop) differentiate through `robot.integrate`, as the example of
`function` does: then the derivatives are those of `robot.forward_dynamics.jacobian`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

from ..errors import ArgumentError, require_library
from ..expr import Program
from .exported_functions import array_names, tangents

casadi = require_library("casadi", "casadi")

_MEANING: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": casadi.sin,
    "cos": casadi.cos,
    "sqrt": casadi.sqrt,
    "atan2": casadi.atan2,
    "min": casadi.fmin,
    "max": casadi.fmax,
    "lt": casadi.lt,
    "le": casadi.le,
    "select": casadi.if_else,
    "floor": casadi.floor,
}


def function(of: Any, *optional: str, name: str | None = None) -> Any:
    """A function of a robot as a `casadi.Function` of SX.

    Parameters
    ----------
    of : function
        Such as ``robot.forward_dynamics`` or ``robot.pose.specialise(frame="hand")``.
    *optional : str
        Optional arguments to keep, such as ``"f_ext"``; the others are zero. If none are named, a ``jvp`` keeps all
        tangents.
    name : str, optional
        The name of the CasADi function; that of `of` if not given.

    Returns
    -------
    casadi.Function
        Arguments and results by name. Vectors are columns; an array with three axes is a matrix with its first two
        axes stacked.

    Raises
    ------
    ArgumentError
        Where `of` is not a function of a robot, or has no optional argument of such a name.

    Examples
    --------
    The derivative of forward dynamics along directions of the configuration, as `robot.forward_dynamics.jacobian`:

    >>> import casadi, fourbar as fb, fourbar.casadi
    >>> robot = fb.robots.double_pendulum()
    >>> dynamics, move = fb.casadi.function(robot.forward_dynamics), fb.casadi.function(robot.integrate)
    >>> q, v, tau, step = (casadi.SX.sym(x, 2) for x in ("q", "v", "tau", "step"))
    >>> a = dynamics(move(q, step, 1.0), v, tau)
    >>> jacobian = casadi.Function("da_dq", [q, step, v, tau], [casadi.jacobian(a, step)])
    """
    make_program = getattr(of, "program", None)
    if not (callable(of) and callable(make_program)):  # a robot has `program` too
        raise ArgumentError(
            f"fourbar.casadi.function: {of!r} is not a function of a robot. Give robot.forward_dynamics, or, where a "
            "function has options, robot.pose.specialise(frame=...)"
        )
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"fourbar.casadi.function: name={name!r}: expected text")
    program: Any = make_program(*(optional or tangents(of)))
    return replay(program, name or re.sub(r"[\W_]+", "_", program.name))  # as CasADi wants names: not "f.jacobian"


def replay(program: Program, name: str) -> Any:
    """A program as a CasADi function."""
    if program.repeats:
        raise ArgumentError(
            f"fourbar.casadi.function: {program.name} repeats a part of its program until that is solved, which a "
            "CasADi expression cannot; export it as C and call it with casadi.external"
        )
    if program.lookups:
        raise ArgumentError(
            f"fourbar.casadi.function: {program.name} looks numbers up in a table, which a CasADi expression cannot; "
            "export it as C and call it with casadi.external"
        )
    inputs = {x.name: casadi.SX.sym(x.name, *_columns(x.shape)) for x in program.inputs}
    slots: list[Any] = [casadi.SX.nan()] * program.slots
    for x in program.inputs:
        for k, entry in enumerate(_entries(inputs[x.name])):
            slots[x.first + k] = entry
    for slot, value in program.preset:
        slots[slot] = casadi.SX(value)
    for call in program.calls:
        _run(program.blocks[call.block], call, slots)
    results = [_matrix([slots[s] for s in y.slots], *_columns(y.shape)) for y in program.outputs]
    return casadi.Function(name, list(inputs.values()), results, *array_names(program))


def _run(block: Any, call: Any, slots: list[Any]) -> None:
    values: list[Any] = []
    for op, *operands in block.code:
        if op == "load":
            values.append(slots[call.bases[operands[0]] + operands[1]])
        elif op == "table":
            values.append(casadi.SX(call.table[operands[0]]))
        else:
            values.append(_MEANING[op](*[values[x] if x.__class__ is int else casadi.SX(x) for x in operands]))
    for store in block.stores:
        value = values[store.value] if isinstance(store.value, int) else casadi.SX(store.value)
        slots[call.bases[store.port] + store.offset] = value


def _columns(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of an argument."""
    return (prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (prod(shape), 1)


def _entries(x: Any) -> list[Any]:
    """Entries row by row, as programs have them; CasADi stores columns."""
    rows, columns = x.shape
    return [x[i, j] for i in range(rows) for j in range(columns)]


def _matrix(entries: list[Any], rows: int, columns: int) -> Any:
    return casadi.reshape(casadi.vertcat(*entries), columns, rows).T if entries else casadi.SX(rows, columns)
