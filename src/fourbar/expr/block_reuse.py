"""Common subexpressions of different blocks: a block loads what an earlier one has computed.

Within a block equal operations are one node. A recorder ends a block wherever it has become long enough, and the steps
that follow would compute again what they share with those before, so that the number of operations would depend on
where blocks happen to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .autodiff import reachable
from .node import Expr, Graph, Value

_COMMUTE = ("add", "mul")
_SLOW = ("sin", "cos", "sqrt", "atan2", "div", "lookup")  # worth a load even where their operands are needed anyway


class Reuse:
    """Blocks, taken in the order in which they run. `values` of each block by node are filed anew, and gain those that
    later blocks take."""

    def __init__(self, values: Sequence[dict[Expr, Value]]) -> None:
        self.changed = False  # whether anything is taken
        self._same: dict[Value, Value] = {}  # values that are not computed any more, and what is taken instead
        self._values = values
        self._first: dict[tuple[Any, ...], Expr] = {}  # by operation and operands the node that stands for all equals
        self._alike: dict[Value, Expr] = {}  # the same by value
        self._block: dict[Graph, int] = {}
        self._written: dict[Expr, Expr] = {}  # nodes that have become those of another graph

    def of(self, value: Any) -> Any:
        """A value, or the one that is taken instead."""
        return self._same.get(value, value)

    def take(self, block: int, stored: Sequence[Value]) -> None:
        """The next block, of which some values are kept."""
        nodes = reachable(v.expr for v in stored)
        if not nodes:
            return
        graph = nodes[0].graph
        self._block[graph] = block
        alike = self._number(nodes)
        for value in stored:
            self._alike[value] = alike[_node(value).id]
        found = {node.id for node in nodes if node.op != "load" and alike[node.id].graph is not graph}
        uses, chosen = _choose_nodes(nodes, stored, found) if found else (dict.fromkeys(alike, 1), ())
        reused = {i: self._value(alike[i]) for i in chosen}
        written = {node.id: node for node in nodes}
        if reused or any(node.op == "load" and node.args[0] in self._same for node in nodes):
            self.changed = True
            written = self._write([node for node in nodes if uses[node.id]], reused)
        self._keep(self._values[block], stored, reused, written)

    def _number(self, nodes: Iterable[Expr]) -> dict[int, Any]:
        """For each node the first that is equal to it, wherever that is; for loads of the unknown the value."""
        alike: dict[int, Any] = {}
        of, known, first = self.of, self._alike, self._first
        for node in nodes:
            op, args = node.op, node.args
            if op == "load":
                value = of(args[0])
                alike[node.id] = known.get(value, value)
                continue
            key = (op, *[alike[a.id] if a.__class__ is Expr else a for a in args])
            if op in _COMMUTE and args[0].__class__ is args[1].__class__ and id(key[1]) > id(key[2]):
                key = (op, key[2], key[1])  # of two nodes
            alike[node.id] = first.setdefault(key, node)
        return alike

    def _value(self, first: Expr) -> Value:
        """The value of a node of an earlier block, which stores it from now on."""
        values, node = self._values[self._block[first.graph]], self._written.get(first, first)
        if node not in values:
            values[node] = Value(node)
            self._alike[values[node]] = first
        return values[node]

    def _write(self, nodes: Iterable[Expr], reused: Mapping[int, Value]) -> dict[int, Expr]:
        """The nodes that are left, as those of a new graph."""
        graph = Graph()
        written: dict[int, Expr] = {}
        for node in nodes:
            if node.id in reused:
                written[node.id] = graph.node("load", reused[node.id])
            elif node.op == "load":
                written[node.id] = graph.node("load", self.of(node.args[0]))
            else:
                args = [written[a.id] if a.__class__ is Expr else a for a in node.args]
                written[node.id] = self._written[node] = graph.node(node.op, *args)
        return written

    def _keep(
        self,
        values: dict[Expr, Value],
        stored: Iterable[Value],
        reused: Mapping[int, Value],
        written: Mapping[int, Expr],
    ) -> None:
        """File the values of a block anew."""
        values.clear()
        for value in stored:
            number = _node(value).id
            other = reused.get(number) or values.get(written[number])
            if other is not None:
                self._same[value] = other
            else:
                value.expr = written[number]
                values[value.expr] = value


def _node(value: Value) -> Expr:
    assert value.expr is not None  # only arguments have none
    return value.expr


def _choose_nodes(nodes: Sequence[Expr], stored: Iterable[Value], found: set[int]) -> tuple[dict[int, int], list[int]]:
    """The number of uses of each node if some nodes are taken from other blocks; and the nodes that are.

    From the results on, a node is taken if that leaves more nodes unused than it takes loads.
    """
    within = {node.id: 0 for node in nodes}
    for node in nodes:
        for a in node.args:
            if a.__class__ is Expr:
                within[a.id] += 1
    uses = dict(within)
    for value in stored:
        uses[_node(value).id] += 1
    outside = {i: uses[i] - n for i, n in within.items()}
    reused: list[int] = []
    for node in reversed(nodes):
        if node.id not in found or not uses[node.id]:
            continue
        if _count(node, uses, -1) > (uses[node.id] > outside[node.id]) or node.op in _SLOW:
            reused.append(node.id)
        else:
            _count(node, uses, 1)
    return uses, reused[::-1]


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
