"""The symbolic scalar: a hash-consed node of an expression graph.

Constants are plain Python floats; only what depends on an input is an `Expr`. Two equal operations on the same operands
are the same object, so common subexpressions cost nothing, and the folding rules of `fold.py` run while the graph is
built, so a structural zero never enters it.
"""

from __future__ import annotations

from typing import Any

# Kinds of operands, the columns of the folding table.
ZERO, ONE, MINUS_ONE, CONSTANT, NEGATED, DIFFERENCE, PLAIN = range(7)
_KIND_OF_OP = {"neg": NEGATED, "sub": DIFFERENCE}


class Graph:
    """All nodes of one trace, in the order in which they were made (which is a topological order)."""

    __slots__ = ("nodes", "table")

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self.table: dict[tuple[Any, ...], Expr] = {}

    def node(self, op: str, *args: Any) -> Expr:
        """The node `op(*args)`, made once. No folding happens here."""
        key = (op, *args)
        node = self.table.get(key)
        if node is None:
            for a in args:
                if a.__class__ is Expr and a.graph is not self:
                    raise ValueError(f"two traces are mixed in one expression: {args} belong to different graphs")
            node = Expr(self, op, args, len(self.nodes))
            self.table[key] = node
            self.nodes.append(node)
        return node

    def inputs(self, name: str, count: int) -> tuple[Expr, ...]:
        """`count` independent scalars called name[0], name[1], ..."""
        return tuple(self.node("input", name, i) for i in range(count))


class Expr:
    """A scalar that depends on inputs. Supports + - * / and comparisons; everything else is in `functions.py`."""

    __slots__ = ("args", "graph", "id", "kind", "op")

    def __init__(self, graph: Graph, op: str, args: tuple[Any, ...], number: int) -> None:
        self.graph = graph
        self.op = op
        self.args = args
        self.id = number
        self.kind = _KIND_OF_OP.get(op, PLAIN)

    def __repr__(self) -> str:
        if self.op == "input":
            return f"{self.args[0]}[{self.args[1]}]"
        shown = ", ".join(f"%{a.id}" if isinstance(a, Expr) else _text_of(a) for a in self.args)
        return f"%{self.id} = {self.op}({shown})"

    def __bool__(self) -> bool:
        raise TypeError(
            "the truth value of a traced expression is unknown while tracing; write fourbar.select(condition, "
            "if_true, if_false) instead of if/and/or, fourbar.minimum and maximum instead of min and max; np.where, "
            "np.clip, ... work on the arrays that a function is given and on what is computed from them, not on "
            "lists and np.array([...])"
        )

    def __float__(self) -> float:
        raise TypeError(
            "a traced expression has no numerical value yet; use fourbar's sin, cos, sqrt, atan2, ... (or "
            "numpy's), not math's"
        )


def _text_of(constant: Any) -> str:
    return f"table of {len(constant) // 8}" if constant.__class__ is bytes else repr(constant)


class Value:
    """A number computed by one block of a program and used by another: what is left of an `Expr` after its block."""

    __slots__ = ("argument", "expr", "last_use", "slot")  # there are millions: an attribute more takes 16 bytes each

    def __init__(self, expr: Expr | None = None, slot: int = -1, argument: str = "") -> None:
        self.expr = expr
        self.last_use = -1
        self.slot = slot
        self.argument = argument  # the name of the program's argument this value is an entry of, if it is one
