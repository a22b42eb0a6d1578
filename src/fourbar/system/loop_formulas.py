"""The map G from independent to all velocities, and its rate, as formulas: by determinants, without choosing pivots.

Right wherever the determinant of K_d is not zero; at a toggle position it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..expr import Expr
from ..expr.to_sympy import load_sympy, to_sympy
from ..model.embedding import Tied
from ..model.groups import Group
from ..model.tree import ClusterTree
from .formulas import tidy


class LoopMap(NamedTuple):
    """q̇ = G ẏ and Ġ as SymPy matrices (velocities of all joints x independent velocities)."""

    G: Any
    G_rate: Any


def _tied(tie: Tied, q: Sequence[Any], v: Sequence[Any], parameters: Mapping[Expr, Any]) -> tuple[Any, Any]:
    """G and Ġ of links tied by loops, at coordinates q and velocities v of all their joints."""
    sympy = load_sympy()
    n, m = len(tie.traced.v), len(tie.rows)
    p, inputs = to_sympy(tie.p, parameters), (*tie.traced.q, *tie.traced.p)
    entries = to_sympy([x for i in tie.rows for x in tie.traced.K[i]], dict(zip(inputs, (*q, *p), strict=True)))
    K = sympy.Matrix(m, n, [tidy(x) for x in entries])
    rate = tie.K_rate
    slopes = to_sympy(rate.entries, dict(zip((*rate.q, *rate.v, *rate.still), (*q, *v, *p), strict=True)))
    K_rate = sympy.Matrix(m, n, [tidy(x) for x in slopes])
    K_d = K[:, list(tie.dependent)]
    adjugate, determinant = K_d.adjugate(), tidy(K_d.det(method="berkowitz"))
    scales = sympy.diag(*(sympy.nsimplify(scale) for _, scale in tie.independent))
    independent = [j for j, _ in tie.independent]
    G, G_rate = sympy.zeros(n, tie.nv), sympy.zeros(n, tie.nv)
    _put(G, independent, scales)
    _put(G, tie.dependent, (-adjugate * K[:, independent] * scales).applyfunc(lambda x: tidy(x) / determinant))
    bent = (-adjugate * K_rate).applyfunc(lambda x: tidy(x) / determinant)
    _put(G_rate, tie.dependent, bent * G)
    return G, G_rate


def _put(target: Any, rows: Sequence[int], block: Any) -> None:
    for i, row in enumerate(rows):
        target[row, :] = block[i, :]


def loop_map(
    tree: ClusterTree, groups: Sequence[Group], q: Sequence[Any], v: Sequence[Any], parameters: Mapping[Expr, Any]
) -> LoopMap:
    """G and Ġ of a robot, at coordinates q and velocities v of all its joints; `parameters` by their traces."""
    sympy = load_sympy()
    nv = sum(group.embedding.nv for group in groups)
    G, G_rate = sympy.zeros(tree.nv, nv), sympy.zeros(tree.nv, nv)
    by_link, rates = tree.split_q(q), tree.split_v(v)
    first = 0
    for group in groups:
        rows = [tree.first_v[i] + k for i in group.links for k in range(tree.clusters[i].joint.nv)]
        own = slice(first, first + group.embedding.nv)
        first += group.embedding.nv
        if isinstance(group.embedding, Tied):
            own_q, own_v = ([x for i in group.links for x in part[i]] for part in (by_link, rates))
            blocks = _tied(group.embedding, own_q, own_v, parameters)
        else:
            blocks = sympy.eye(len(rows)), sympy.zeros(len(rows), len(rows))
        for target, block in zip((G, G_rate), blocks, strict=True):
            for i, row in enumerate(rows):
                target[row, own] = block[i, :]
    return LoopMap(G, G_rate)
