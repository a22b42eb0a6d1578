"""Functions of robots that are to be written for other machines: read, named, and with states to test them by."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..expr import Block, Program, interpret
from ..expr.program import MEMORY

_VECTORS, _TRIED = 3, 64  # states that a test knows the results of, and among how many they are chosen


@dataclass(frozen=True)
class Exported:
    """A function to be written: its name there, what it computes, what its documentation says."""

    name: str
    program: Program
    doc: str


def identifier(text: str) -> str:
    """Text as a name that languages and build tools take: ASCII, letters without their accents."""
    if not isinstance(text, str):
        raise ArgumentError(f"name={text!r}: expected text, such as 'robot'")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"\W+", "_", plain).strip("_")
    return f"_{name}" if name[:1].isdigit() else name or "robot"


def described(doc: str) -> tuple[str, dict[str, str]]:
    """The summary of a docstring, and the first sentence of what it says of each argument and result, by name."""
    text = inspect.cleandoc(doc)
    entries = re.findall(r"^(\w+) : [^\n]*\n((?:    [^\n]*\n?)+)", text, re.MULTILINE)
    sentences = {name: re.split(r"(?<=\.)\s|[:;] `", " ".join(own.split()))[0].rstrip(".") for name, own in entries}
    return " ".join(text.partition("\n\n")[0].split()), sentences


def read(caller: str, functions: Sequence[Any], prefix: str) -> list[Exported]:
    """Functions with names that differ; `caller` is named in errors."""
    if not isinstance(functions, list | tuple):
        raise ArgumentError(
            f"{caller}: expected a list of functions, such as [robot.inverse_dynamics], got {functions!r:.200}"
        )
    if not functions:
        raise ArgumentError(f"{caller}: no functions given; name some, such as [robot.inverse_dynamics]")
    found: dict[str, Exported] = {}
    for function in functions:
        program = getattr(function, "program", None)
        if not (callable(function) and callable(program)):  # a robot has `program` too
            options = ", ".join(getattr(function, "options", ())) or "frame"
            raise ArgumentError(
                f"{caller}: {function!r} cannot be exported. Give functions of a robot, such as "
                f"robot.inverse_dynamics; one with options as function.specialise({options}=...)"
            )
        made: Any = program()
        stem = base = f"{prefix}_{identifier(made.name)}" if prefix else identifier(made.name)
        for k in range(2, len(functions) + 2):
            if stem not in found:
                break
            stem = f"{base}_{k}"
        found[stem] = Exported(stem, made, str(getattr(function, "__doc__", "") or ""))
    return list(found.values())


def needed_instructions(block: Block) -> set[int]:
    """The instructions that stores depend on."""
    needed = {s.value for s in block.stores if s.value.__class__ is int}
    for k in reversed(range(len(block.code))):
        op, *operands = block.code[k]
        if k in needed and op not in MEMORY:
            needed.update(x for x in operands if x.__class__ is int)
    return needed  # type: ignore[return-value]


def vectors(program: Program) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Arguments and their results by the interpreter: of many random ones, those that rounding disturbs least.

    Quaternions need not be of length one here, nor loops closed: a program is a formula.
    """
    rng = np.random.default_rng(len(program.name))
    given = {x.name: rng.uniform(0.1, 1.0, (_TRIED, *x.shape)).astype(np.float32).astype(float) for x in program.inputs}
    exact, moved = interpret(program, given), interpret(program, {k: x * (1.0 + 1e-7) for k, x in given.items()})
    off = np.zeros(_TRIED)
    for y in program.outputs:
        found, other = (x[y.name].reshape(_TRIED, -1) for x in (exact, moved))
        size = np.maximum(1.0, np.abs(found).max(axis=1, initial=0.0))
        off = np.maximum(off, np.abs(found - other).max(axis=1, initial=0.0) / size)
    best = np.argsort(np.where(np.isfinite(off), off, np.inf))[:_VECTORS]
    return [([given[x.name][k] for x in program.inputs], [exact[y.name][k] for y in program.outputs]) for k in best]
