"""The blocks of a program as pure functions, and their derivatives.

A `BlockFunction` is what one block does: from the values it loads and the constants of its table to the values it
stores. Its directional derivative (push) and the transposed one (pull) are differentiated once, then run on the symbols
of a new recording, where zeros fold away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ..once import cached_property
from .autodiff import jvp, reachable, vjp
from .evaluate import MEANING
from .node import Expr, Graph
from .program import Block
from .standalone_steps import standalone

_MORE_WORK = 1.6  # extra work, relative to what a direction needs, that is accepted to save code


class NodeCode:
    """Nodes to be computed from others that are known: straight-line code over a list of values."""

    def __init__(self, roots: Sequence[Any], known: Sequence[Expr]) -> None:
        self._place = {x.id: i for i, x in enumerate(known)}
        self._steps: list[tuple[Callable[..., Any], tuple[tuple[bool, Any], ...]]] = []
        for node in reachable(roots):
            if node.id not in self._place:
                operands = tuple(self._operand(a) for a in node.args)
                self._place[node.id] = len(self._place)
                self._steps.append((MEANING[node.op], operands))
        self._ends = [self._operand(r) for r in roots]
        self._read = [tuple([x for placed, x in operands if placed]) for _, operands in self._steps]

    def _operand(self, x: Any) -> tuple[bool, Any]:
        return (True, self._place[x.id]) if x.__class__ is Expr else (False, x)

    def reach(self, first: int, moving: Collection[int]) -> tuple[int, tuple[bool, ...]]:
        """The number of steps, and the roots, that depend on some of the known values, numbered from `first` on."""
        reached = {first + i for i in moving}
        known, size = len(self._place) - len(self._steps), len(reached)
        for number, read in enumerate(self._read, known):
            if not reached.isdisjoint(read):
                reached.add(number)
        return len(reached) - size, tuple(placed and x in reached for placed, x in self._ends)

    def run(self, known: Iterable[Any]) -> list[Any]:
        """The roots."""
        values = list(known)
        for meaning, operands in self._steps:
            values.append(meaning(*[values[x] if placed else x for placed, x in operands]))
        return [values[x] if placed else x for placed, x in self._ends]


Pattern = tuple[int, ...]  # which of the values that a block loads move


class Reach(NamedTuple):
    """The work of a direction, and which of the stored values change with it."""

    size: int
    stored: tuple[bool, ...]


class BlockFunction:
    """A block as a function of its loads x and its table c. Compared by identity: it is made once per block."""

    def __init__(self, block: Block) -> None:
        self._graph = Graph()
        self.loads: list[tuple[int, int]] = []  # (port, offset) of each x
        numbered: list[Any] = []
        for op, *operands in block.code:
            numbered.append(self._node(op, operands, numbered))
        self.stores = [(s.port, s.offset) for s in block.stores]
        self._roots = [numbered[s.value] if isinstance(s.value, int) else s.value for s in block.stores]
        self._x = [self._input("x", i) for i in range(len(self.loads))]
        self._c = [self._input("c", i) for i in range(block.table)]
        self._sources = [*self._x, *self._c]
        self._reached: dict[Pattern, Reach] = {}
        self._chosen: list[Pattern] = []

    def _input(self, name: str, number: int) -> Expr:
        return self._graph.node("input", name, number)

    def _node(self, op: str, operands: list[Any], numbered: list[Any]) -> Expr:
        if op == "table":
            return self._input("c", operands[0])
        if op == "load":
            place = (operands[0], operands[1])
            if place not in self.loads:
                self.loads.append(place)
            return self._input("x", self.loads.index(place))
        return self._graph.node(op, *(numbered[a] if a.__class__ is int else a for a in operands))

    @cached_property
    def values(self) -> NodeCode:
        """x, c -> the stored values."""
        return NodeCode(self._roots, self._sources)

    @cached_property
    def _primal(self) -> list[Expr]:
        """All values that the block computes: what the derivatives may refer to."""
        return [node for node in reachable(self._roots) if node.op != "input"]

    @cached_property
    def primal(self) -> NodeCode:
        """x, c -> every intermediate value, and then the stored ones."""
        return NodeCode([*self._primal, *self._roots], self._sources)

    @cached_property
    def push(self) -> NodeCode:
        """x, c, intermediate values, ẋ -> the rates of the stored values."""
        known = [*self._sources, *self._primal]
        rates = [self._input("dx", i) for i in range(len(self._x))]
        return NodeCode(jvp(self._roots, dict(zip(self._x, rates, strict=True))), [*known, *rates])

    def reach(self, moving: Pattern) -> Reach:
        """The work of pushing a direction."""
        if moving not in self._reached:
            self._reached[moving] = Reach(*self.push.reach(len(self._sources) + len(self._primal), moving))
        return self._reached[moving]

    def patterns(self, wanted: Iterable[Pattern]) -> dict[Pattern, Pattern]:
        """For each pattern a larger one at little extra work: few of them, so that many directions share code."""
        served_by: dict[Pattern, Pattern] = {}
        left = sorted(set(wanted), key=lambda p: (-self.reach(p).size, p))
        while left:
            known = [p for p in self._chosen if self._serves(p, left[0])]
            chosen = min(known, key=lambda p: self.reach(p).size) if known else self._widen(left)
            if not known:
                self._chosen.append(chosen)
            served_by.update((p, chosen) for p in left if self._serves(chosen, p))
            left = [p for p in left if p not in served_by]
        return served_by

    def _widen(self, patterns: Sequence[Pattern]) -> Pattern:
        """The first pattern, merged with as many of the others as fit."""
        first = wide = patterns[0]
        for pattern in patterns[1:]:
            both = tuple(sorted({*wide, *pattern}))
            wide = both if self._serves(both, first) else wide
        return wide

    def _serves(self, larger: Pattern, pattern: Pattern) -> bool:
        return set(pattern) <= set(larger) and self.reach(larger).size <= _MORE_WORK * self.reach(pattern).size

    @cached_property
    def pull(self) -> NodeCode:
        """x, c, cotangents of the stored values -> those of x."""
        weights = [self._input("w", i) for i in range(len(self._roots))]
        return NodeCode(vjp(self._roots, weights, self._x), [*self._sources, *weights])

    @property
    def intermediate(self) -> int:
        """The number of intermediate values."""
        return len(self._primal)


def run(piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that a block stores."""
    return tuple(piece.values.run([*x, *c]))


def push_block(
    piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...], rates: tuple[tuple[Any, ...], ...]
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...]]:
    """The values that a block stores, and their rates along several directions at once."""
    found = piece.primal.run([*x, *c])
    n = piece.intermediate
    known = [*x, *c, *found[:n]]
    return tuple(found[n:]), tuple(tuple(piece.push.run([*known, *dx])) for dx in rates)


def primal(piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The values that a block stores, and all intermediate ones."""
    found = piece.primal.run([*x, *c])
    return tuple(found[piece.intermediate :]), tuple(found[: piece.intermediate])


@standalone
def rates(
    piece: BlockFunction,
    moving: Pattern,
    x: tuple[Any, ...],
    c: tuple[Any, ...],
    intermediate: tuple[Any, ...],
    dx: tuple[Any, ...],
) -> tuple[Any, ...]:
    """The rates of the values that a block stores, along one direction in which only some of x move.

    From what `primal` has found; dx are the rates of those that move.
    """
    every = [0.0] * len(x)
    for i, rate in zip(moving, dx, strict=True):
        every[i] = rate
    return tuple(piece.push.run([*x, *c, *intermediate, *every]))


def pull_block(
    piece: BlockFunction, x: tuple[Any, ...], c: tuple[Any, ...], weights: tuple[Any, ...], before: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Cotangents of what a block loads, added to those they had before."""
    own = piece.pull.run([*x, *c, *weights])
    return tuple(a + b for a, b in zip(before, own, strict=True))
