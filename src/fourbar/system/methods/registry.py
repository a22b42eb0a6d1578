"""What a method of a robot is, and the registry of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..context import Context, Record

Outputs = list[tuple[str, tuple[int, ...], list[Any]]]


@dataclass(frozen=True)
class Stages:
    """A function whose results solve equations: these are differentiated, not the steps that solve them.

    `data`, recorded like a method with arguments for the `unknown` besides its own, is what the equations need;
    `solve` gives the entries of each unknown, which do not move. `rates` takes a context, the data by name and their
    rates along directions, and gives the rates of the results, by name. All get the options of the method; `apply`
    says for which, of which model.
    """

    data: Record
    rates: Callable[..., list[dict[str, Sequence[Any]]]]
    apply: Callable[..., bool]
    unknown: tuple[str, ...] = ()
    solve: Callable[..., Sequence[Sequence[Any]]] = lambda c, **_: ()


@dataclass(frozen=True)
class Method:
    """An algorithm as a method: arrays it takes, what it returns, options that choose the code (`static`).

    `nan` says why a result may be NaN where no loop is at a toggle position. `stages` are another way to differentiate.
    """

    record: Record
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    optional: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    doc: str = ""
    nan: str = ""
    stages: Stages | None = None


METHODS: dict[str, Method] = {}

# Jacobians that have sweeps of their own: recorded like methods, one output of all blocks.
JACOBIANS: dict[str, Record] = {}


def method(
    arguments: str,
    results: str,
    optional: str = "",
    static: str = "",
    nan: str = "",
    into: dict[str, Method] = METHODS,
) -> Any:
    """Register a recording function as a method; its docstring becomes the method's."""

    def register(function: Record) -> Record:
        name = function.__name__
        doc = function.__doc__ or ""
        into[name] = Method(
            function,
            tuple(arguments.split()),
            tuple(results.split()),
            tuple(optional.split()),
            tuple(static.split()),
            doc,
            nan,
        )
        return function

    return register


def flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """The entries of all parts, one after the other."""
    return [x for part in parts for x in part]


def vector(c: Context, name: str, parts: Sequence[Sequence[Any]]) -> Outputs:
    """One result of nv entries, given by group."""
    return [(name, (c.nv,), flat(parts))]
