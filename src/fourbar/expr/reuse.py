"""Common subexpressions of different blocks: a block loads what an earlier one has computed.

Within a block equal operations are one node. A recorder ends a block wherever it has become long enough, and the steps
that follow would compute again what they share with those before, so that the number of operations would depend on
where blocks happen to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .autodiff import reachable
from .node import Expr, Graph, Value

_COMMUTE = ("add", "mul")
_SLOW = ("sin", "cos", "sqrt", "atan2", "div")  # worth a load even where their operands are needed anyway


class _Known(NamedTuple):
    """An operation that a block has computed: the block, its node there, and what stands for all that are equal."""

    block: int
    node: Expr
    alike: Expr


class Reuse:
    """Blocks, taken in the order in which they run. `values` of each block by node are written anew, and gain those
    that later blocks take."""

    def __init__(self, values: Sequence[dict[Expr, Value]]) -> None:
        self._values = values
        self._same: dict[Value, Value] = {}  # values that are not computed any more, and what is taken instead
        self._known: dict[tuple[Any, ...], _Known] = {}
        self._alike: dict[Value, Expr] = {}

    def of(self, value: Any) -> Any:
        """A value, or the one that is taken instead."""
        return self._same.get(value, value)

    def take(self, block: int, kept: Sequence[Value]) -> None:
        """The next block, of which some values are kept."""
        nodes = reachable(v.expr for v in kept)
        alike: dict[int, Any] = {}
        found: dict[int, _Known] = {}
        new: dict[int, tuple[Any, ...]] = {}
        for node in nodes:
            if node.op == "load":
                value = self.of(node.args[0])
                alike[node.id] = self._alike.get(value, value)
                continue
            key = (node.op, *[alike[a.id] if a.__class__ is Expr else a for a in node.args])
            known = self._known.get(key)
            if known is None and node.op in _COMMUTE:
                known = self._known.get((node.op, key[2], key[1]))
            if known is None:
                alike[node.id], new[node.id] = node, key
            else:
                alike[node.id], found[node.id] = known.alike, known
        uses, chosen = _chosen(nodes, kept, found) if found else (dict.fromkeys(alike, 1), set())
        taken = {i: self._value(found[i]) for i in sorted(chosen)}
        written = self._write(nodes, uses, taken)
        for i, key in new.items():
            if i in written:
                self._known.setdefault(key, _Known(block, written[i], alike[i]))
        self._keep(block, kept, taken, written, alike)

    def _value(self, known: _Known) -> Value:
        """The value of an operation, which its block stores from now on."""
        values = self._values[known.block]
        if known.node not in values:
            values[known.node] = Value(known.node)
            self._alike[values[known.node]] = known.alike
        return values[known.node]

    def _write(self, nodes: Iterable[Expr], uses: Mapping[int, int], taken: Mapping[int, Value]) -> dict[int, Expr]:
        """The nodes that are left, as those of a new graph."""
        graph = Graph()
        written: dict[int, Expr] = {}
        for node in nodes:
            if node.id in taken:
                written[node.id] = graph.node("load", taken[node.id])
            elif node.op == "load" and uses[node.id]:
                written[node.id] = graph.node("load", self.of(node.args[0]))
            elif uses[node.id]:
                args = [written[a.id] if a.__class__ is Expr else a for a in node.args]
                written[node.id] = graph.node(node.op, *args)
        return written

    def _keep(
        self,
        block: int,
        kept: Iterable[Value],
        taken: Mapping[int, Value],
        written: Mapping[int, Expr],
        alike: Mapping[int, Expr],
    ) -> None:
        """Values of the block that was written."""
        values = self._values[block]
        values.clear()
        for value in kept:
            assert value.expr is not None
            number = value.expr.id
            if number in taken:
                self._same[value] = taken[number]
            elif written[number] in values:
                self._same[value] = values[written[number]]
            else:
                value.expr = written[number]
                values[value.expr] = value
                self._alike[value] = alike[number]


def _chosen(
    nodes: Sequence[Expr], kept: Iterable[Value], found: Mapping[int, _Known]
) -> tuple[dict[int, int], set[int]]:
    """Which of the nodes that were found are taken from elsewhere; and how often each node is used then.

    From the results on, a node is taken if more nodes are no longer used by anybody than the load that it takes.
    """
    within = {node.id: 0 for node in nodes}
    for node in nodes:
        for a in node.args:
            if a.__class__ is Expr:
                within[a.id] += 1
    uses = dict(within)
    for value in kept:
        assert value.expr is not None
        uses[value.expr.id] += 1
    outside = {i: uses[i] - n for i, n in within.items()}
    taken: set[int] = set()
    for node in reversed(nodes):
        if node.id not in found or not uses[node.id]:
            continue
        freed = _count(node, uses, -1)
        if freed > (uses[node.id] > outside[node.id]) or node.op in _SLOW:
            taken.add(node.id)
        else:
            _count(node, uses, 1)
    return uses, taken


def _count(node: Expr, uses: dict[int, int], step: int) -> int:
    """Stop (-1) or go on (1) to use the operands of a node: how many nodes, with itself, that concerns."""
    concerned, stack = 0, [node]
    while stack:
        concerned += 1
        for a in stack.pop().args:
            if a.__class__ is Expr:
                uses[a.id] += step
                if uses[a.id] == (0 if step < 0 else 1):
                    stack.append(a)
    return concerned
