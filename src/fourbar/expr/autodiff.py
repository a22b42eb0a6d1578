"""Derivatives of a trace: one row per operation, forward (jvp) and reverse (vjp)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .fold import add, binary, div, mul, neg, scalar, select, sub, unary
from .node import Expr

# node, arguments, tangents of the arguments -> tangent of the node.
JVP: dict[str, Callable[..., Any]] = {
    "add": lambda n, a, b, da, db: add(da, db),
    "sub": lambda n, a, b, da, db: sub(da, db),
    "mul": lambda n, a, b, da, db: _product_rule(a, b, da, db),
    "div": lambda n, a, b, da, db: div(sub(da, mul(n, db)), b),
    "neg": lambda n, a, da: neg(da),
    "sin": lambda n, a, da: mul(unary("cos", a), da),
    "cos": lambda n, a, da: neg(mul(unary("sin", a), da)),
    "sqrt": lambda n, a, da: div(mul(0.5, da), n),
    "atan2": lambda n, y, x, dy, dx: div(sub(mul(x, dy), mul(y, dx)), add(mul(x, x), mul(y, y))),
    "min": lambda n, a, b, da, db: select(binary("le", a, b), da, db),
    "max": lambda n, a, b, da, db: select(binary("le", b, a), da, db),
    "select": lambda n, c, a, b, dc, da, db: select(c, da, db),
    "lt": lambda n, a, b, da, db: 0.0,
    "le": lambda n, a, b, da, db: 0.0,
    "floor": lambda n, a, da: 0.0,
    "lookup": lambda n, table, index, dt, di: 0.0,
}

# node, arguments, cotangent of the node -> cotangents of the arguments.
VJP: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda n, a, b, w: (w, w),
    "sub": lambda n, a, b, w: (w, neg(w)),
    "mul": lambda n, a, b, w: (mul(w, b), mul(w, a)),
    "div": lambda n, a, b, w: (div(w, b), neg(div(mul(w, n), b))),
    "neg": lambda n, a, w: (neg(w),),
    "sin": lambda n, a, w: (mul(unary("cos", a), w),),
    "cos": lambda n, a, w: (neg(mul(unary("sin", a), w)),),
    "sqrt": lambda n, a, w: (div(mul(0.5, w), n),),
    "atan2": lambda n, y, x, w: (_atan2_slope(x, y, w, x), neg(_atan2_slope(x, y, w, y))),
    "min": lambda n, a, b, w: _split(binary("le", a, b), w),
    "max": lambda n, a, b, w: _split(binary("le", b, a), w),
    "select": lambda n, c, a, b, w: (0.0, *_split(c, w)),
    "lt": lambda n, a, b, w: (0.0, 0.0),
    "le": lambda n, a, b, w: (0.0, 0.0),
    "floor": lambda n, a, w: (0.0,),
    "lookup": lambda n, table, index, w: (0.0, 0.0),
}


def _product_rule(a: Any, b: Any, da: Any, db: Any) -> Any:
    """da b + a db, mostly with one of the two zero."""
    if da.__class__ is float and da == 0.0:
        return mul(a, db)
    if db.__class__ is float and db == 0.0:
        return mul(da, b)
    return add(mul(da, b), mul(a, db))


def _atan2_slope(x: Any, y: Any, w: Any, side: Any) -> Any:
    return div(mul(w, side), add(mul(x, x), mul(y, y)))


def _split(condition: Any, w: Any) -> tuple[Any, Any]:
    return select(condition, w, 0.0), select(condition, 0.0, w)


def reachable(roots: Iterable[Any]) -> list[Expr]:
    """Every node that the roots depend on, in topological order. Linear in their number, no recursion."""
    stack = [r for r in roots if r.__class__ is Expr]
    seen = {r.id: r for r in stack}
    while stack:
        for a in stack.pop().args:
            if a.__class__ is Expr and a.id not in seen:
                seen[a.id] = a
                stack.append(a)
    return [seen[i] for i in sorted(seen)]


def jvp(roots: Sequence[Any], tangents: Mapping[Expr, Any], nodes: Iterable[Expr] | None = None) -> list[Any]:
    """Directional derivative of every root, as new nodes of the same graph. Inputs not named have tangent zero.

    `nodes`: those between the inputs and the roots, both included, in topological order, where the caller knows them.
    """
    tangent_of = {x.id: scalar(t) for x, t in tangents.items()}
    d: dict[int, Any] = {}  # the tangents that are not zero
    for node in reachable(roots) if nodes is None else nodes:
        if node.id in tangent_of:
            tangent = tangent_of[node.id]
        else:
            args, rule = node.args, JVP.get(node.op)
            for a in args:
                if a.__class__ is Expr and a.id in d:
                    break
            else:
                continue
            if rule is None:
                continue
            tangent = rule(node, *args, *[d.get(a.id, 0.0) if a.__class__ is Expr else 0.0 for a in args])
        if tangent.__class__ is not float or tangent != 0.0:
            d[node.id] = tangent
    return [d.get(r.id, 0.0) if r.__class__ is Expr else 0.0 for r in roots]


def vjp(roots: Sequence[Any], cotangents: Sequence[Any], inputs: Sequence[Expr]) -> list[Any]:
    """Σ cotangent · ∂root/∂input for every input: all gradients of one scalar for a few times its cost."""
    w: dict[int, Any] = {}

    def accumulate(x: Any, value: Any) -> None:
        if x.__class__ is Expr:
            w[x.id] = add(w[x.id], value) if x.id in w else value

    for root, cotangent in zip(roots, cotangents, strict=True):
        accumulate(root, scalar(cotangent))
    for node in reversed(reachable(roots)):
        value = w.get(node.id, 0.0)
        if node.op in VJP and not (value.__class__ is float and value == 0.0):
            for a, part in zip(node.args, VJP[node.op](node, *node.args, value), strict=True):
                accumulate(a, part)
    return [w.get(x.id, 0.0) for x in inputs]
