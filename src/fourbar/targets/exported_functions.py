"""Functions of robots for export: read, named, and with states to test them by."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..expr import Block, Program, interpret
from ..expr.program import MEMORY
from ..functions.arguments import entries
from ..functions.derivative_recordings import DerivativeRecording, Jacobian, Jvp
from ..functions.recording import Recording
from ..system.system import System

_VECTORS, _TRIED = 3, 64  # states that a test knows the results of, and among how many they are chosen
_KINDS = {"jacobian": "First derivatives", "jvp": "Rate", "vjp": "Gradient"}
_STATES = 8  # configurations with closed loops among these, which take long to find


@dataclass(frozen=True)
class Exported:
    """A function to export: its name, its program, its docstring, and the recording that it comes from."""

    name: str
    program: Program
    doc: str
    recording: Recording | None = None


def identifier(text: str) -> str:
    """Text as a name that languages and build tools take: ASCII, letters without their accents."""
    if not isinstance(text, str):
        raise ArgumentError(f"name={text!r}: expected text, such as 'robot'")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"\W+", "_", plain).strip("_")
    return f"_{name}" if name[:1].isdigit() else name or "robot"


def _read_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """The summary of a docstring, and the first sentence of what it says of each argument and result, by name."""
    text = inspect.cleandoc(doc)
    sentences: dict[str, str] = {}
    for name, _, own in (*entries(text, "Parameters"), *entries(text, "Returns")):  # integrate has two of the name q
        key = f"{name}_next" if name in sentences else name
        sentences[key] = re.split(r"(?<=\.)\s|[:;] `", " ".join(own.split()))[0].rstrip(".")
    return " ".join(text.partition("\n\n")[0].split()), sentences


def documentation(function: Exported) -> tuple[str, dict[str, str]]:
    """The summary of a function, and a sentence for each of its arguments and results, by name."""
    recording = function.recording
    if not isinstance(recording, DerivativeRecording):
        return _read_docstring(function.doc)
    summary, texts = _read_docstring(recording.doc)
    of = recording.of
    for x in of.arguments:
        along = ", along the velocities" if x.is_configuration else ""
        texts |= {f"d_{x.name}": f"Rate of {x.name}{along}", f"g_{x.name}": f"Gradient by {x.name}{along}"}
    for name in of.results:
        texts |= {f"w_{name}": f"Weight of {name}", f"d_{name}_next": f"Rate of {name}"}
        texts.setdefault(f"d_{name}", f"Rate of {name}")
    if type(recording) is Jacobian:
        texts["blocks"] = f"One after the other, row by row: {_blocks(recording, function.program)}"
    return f"{_KINDS[recording.kind]} of {of.name}: {summary}", texts


def _blocks(recording: Jacobian, program: Program) -> str:
    """The derivatives in the result of a Jacobian, with their rows and columns."""
    present = tuple(x.name for x in program.inputs)
    results = list(zip(recording.of.results, recording.result_shapes(present), strict=True))
    moving = [a for a in recording.of.arguments if a.name in present]
    return ", ".join(f"d{y}/d{a.name} ({prod(shape)} x {a.width})" for y, shape in results for a in moving)


def tangents(function: Any) -> tuple[str, ...]:
    """The optional arguments that a function needs: the tangents of a `jvp`."""
    state: Any = getattr(function, "state", None)
    recording = None if state is None else state[0].recording
    return tuple(f"d_{name}" for name in recording.of.required_names) if type(recording) is Jvp else ()


def read(caller: str, functions: Sequence[Any], prefix: str) -> list[Exported]:
    """Functions with names that differ; `caller` is named in errors."""
    if not isinstance(functions, list | tuple):
        raise ArgumentError(
            f"{caller}: expected a list of functions, such as [robot.inverse_dynamics], got {functions!r:.200}"
        )
    if not functions:
        raise ArgumentError(f"{caller}: no functions given; name some, such as [robot.inverse_dynamics]")
    exported: dict[str, Exported] = {}
    for function in functions:
        program = getattr(function, "program", None)
        if not (callable(function) and callable(program)):  # a robot has `program` too
            options = ", ".join(getattr(function, "options", ())) or "frame"
            raise ArgumentError(
                f"{caller}: {function!r} cannot be exported. Give functions of a robot, such as "
                f"robot.inverse_dynamics; one with options as function.specialise({options}=...)"
            )
        traced: Any = program(*tangents(function))
        stem = base = f"{prefix}_{identifier(traced.name)}" if prefix else identifier(traced.name)
        for k in range(2, len(functions) + 2):
            if stem not in exported:
                break
            stem = f"{base}_{k}"
        state: Any = getattr(function, "state", None)
        recording = None if state is None else state[0].recording
        exported[stem] = Exported(stem, traced, str(getattr(function, "__doc__", "") or ""), recording)
    return list(exported.values())


def array_names(program: Program) -> tuple[list[str], list[str]]:
    """Names of inputs and outputs for other languages, all different: "d_arm.mass" is `d_arm_mass`, an output that is
    called as an input `..._out`.
    """
    names: list[str] = []
    for k, x in enumerate((*program.inputs, *program.outputs)):
        plain = x.name if x.name.isidentifier() and x.name.isascii() else identifier(x.name)
        name = f"{plain}_out" if plain in names and k >= len(program.inputs) else plain
        again = (f"{name}_{n}" for n in count(2))
        while name in names:
            name = next(again)
        names.append(name)
    return names[: len(program.inputs)], names[len(program.inputs) :]


def needed_instructions(block: Block) -> set[int]:
    """The instructions that stores depend on."""
    needed = {s.value for s in block.stores if s.value.__class__ is int}
    for k in reversed(range(len(block.code))):
        op, *operands = block.code[k]
        if k in needed and op not in MEMORY:
            needed.update(x for x in operands if x.__class__ is int)
    return needed  # type: ignore[return-value]


class _Trial(NamedTuple):
    """States, their results, and how far rounding moves these: infinite where there are none."""

    given: dict[str, np.ndarray]
    exact: dict[str, np.ndarray]
    off: np.ndarray


def vectors(function: Exported) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Arguments and their results by the interpreter: of many random ones, those that rounding disturbs least."""
    program, (given, exact, off) = function.program, _trial(function)
    best = [k for k in np.argsort(off)[:_VECTORS] if np.isfinite(off[k])]
    return [([given[x.name][k] for x in program.inputs], [exact[y.name][k] for y in program.outputs]) for k in best]


def check_single(caller: str, function: Exported) -> None:
    """Refuse a function that has results in double precision, but not always in single precision."""
    tried = _trial(function)
    known = np.isfinite(tried.off)
    found = interpret(function.program, tried.given, np.float32)
    lost = known & ~np.all([np.isfinite(y.reshape(_TRIED, -1)).all(axis=1) for y in found.values()], axis=0)
    if lost.any():
        raise ArgumentError(
            f"{caller}: {function.name} finds no results in single precision at {lost.sum()} of {known.sum()} states "
            "where it does in double precision: rounding keeps its loops from closing; give scalar='double'"
        )


def _trial(function: Exported) -> _Trial:
    """Random states, and the results of the interpreter there.

    Quaternions need not be of length one here, nor loops closed: a program is a formula. Where one finds no results
    then, as those that close loops do, configurations are those of the robot.
    """
    program = function.program
    rng = np.random.default_rng(len(program.name))
    given = {x.name: rng.uniform(0.1, 1.0, (_TRIED, *x.shape)).astype(np.float32).astype(float) for x in program.inputs}
    trial = _results(program, given)
    if np.isfinite(trial.off).sum() < _VECTORS:
        trial = _results(program, given | _configurations(function))
    return trial


def _results(program: Program, given: dict[str, np.ndarray]) -> _Trial:
    exact, moved = interpret(program, given), interpret(program, {k: x * (1.0 + 1e-7) for k, x in given.items()})
    off = np.zeros(_TRIED)
    for y in program.outputs:
        found, other = (x[y.name].reshape(_TRIED, -1) for x in (exact, moved))
        size = np.maximum(1.0, np.abs(found).max(axis=1, initial=0.0))
        off = np.maximum(off, np.abs(found - other).max(axis=1, initial=0.0) / size)
    return _Trial(given, exact, np.where(np.isfinite(off), off, np.inf))


def _configurations(function: Exported) -> dict[str, np.ndarray]:
    """Configurations of the robot, for all arguments that are such."""
    if function.recording is None:
        return {}
    names = [a.name for a in function.recording.arguments if a.is_configuration]
    own = System(function.recording.model.mechanism).random(len(names), _STATES)
    return {name: own[np.arange(_TRIED) % _STATES].astype(np.float32).astype(float) for name in names}
