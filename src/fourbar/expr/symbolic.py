"""A recorder that keeps everything in one graph of expressions: for work with formulas instead of code."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from .node import Expr, Graph


class SymbolicRecorder:
    """Steps are called on expressions; the results are expressions of the arguments, to differentiate or to print."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or Graph()
        self.arguments: dict[str, tuple[Expr, ...]] = {}

    def input(self, name: str, shape: tuple[int, ...]) -> tuple[Expr, ...]:
        """Declare an argument; its entries come back flat, row-major."""
        return self.arguments.setdefault(name, self.graph.inputs(name, prod(shape)))

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """The function, called."""
        return function(*args)
