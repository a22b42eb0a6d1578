"""What formulas in SymPy need: names, sizes, simplification where it is quick, quaternions of unit length."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..expr import Expr, reachable
from ..expr.to_sympy import load_sympy, number
from ..joints.base import Joint
from ..joints.composite import SeriesJoint
from ..joints.group import Free, Spherical
from ..model.tree import ClusterTree

_SIMPLIFIED = 600  # operations of one entry up to which it is simplified
_EXPANDED = 800  # operations up to which an expanded formula is simplified further
_DUST = 1e-15  # what is left of sums that vanish, beside the largest number of a formula


def identifiers(prefix: str, names: Iterable[str]) -> list[str]:
    """Names as identifiers, all different."""
    found: list[str] = []
    for i, name in enumerate(names):
        plain = re.sub(r"\W", "_", f"{prefix}{name}")
        found.append(f"{plain}_{i}" if plain in found else plain)
    return found


def written_out(roots: Sequence[Any], named: Collection[Expr] = ()) -> int:
    """How many operations traced expressions have when nothing is shared but what is `named`."""
    size: dict[int, int] = {}
    names = {x.id for x in named}
    for node in reachable(roots):
        size[node.id] = 1 if node.id in names else 1 + sum(size[a.id] for a in node.args if a.__class__ is Expr)
    return sum(size[r.id] for r in roots if r.__class__ is Expr)


def tidy(x: Any) -> Any:
    """A formula simplified where that is quick: sums of products, with the addition theorems of sine and cosine."""
    sympy = load_sympy()
    if x.count_ops() > _SIMPLIFIED or x.has(sympy.Piecewise):
        return x
    above, below = sympy.fraction(sympy.together(x))
    return _shortened(x) if below.is_number else _shortened(above) / _shortened(below)


def _shortened(x: Any) -> Any:
    """A formula without fractions: the shortest of it as it is, expanded, and with products of sines turned to sums."""
    sympy = load_sympy()
    from sympy.simplify.fu import TR8  # products of sines and cosines to sums

    expanded = sympy.expand(x)
    found = [x, expanded]
    if expanded.count_ops() <= _EXPANDED and expanded.has(sympy.sin, sympy.cos):
        found.append(sympy.expand(TR8(expanded)))
    found = [clean(form) for form in found]
    return min([sympy.factor_terms(found[-1]), *reversed(found)], key=lambda form: form.count_ops())


def clean(x: Any) -> Any:
    """Without numbers that are only the rounding of a sum that vanishes, and with whole numbers written as such."""
    sympy = load_sympy()
    floats = x.atoms(sympy.Float)
    largest = max(map(abs, floats), default=0)
    return x.xreplace({f: sympy.Integer(0) if abs(f) < _DUST * largest else number(float(f)) for f in floats})


def _quaternions(joint: Joint) -> list[int]:
    """Where the quaternions of a joint begin in its coordinates."""
    if isinstance(joint, SeriesJoint):
        return [link.q.start + at for link in joint._links for at in _quaternions(link.joint)]
    return [joint.nq - 4] if isinstance(joint, Free | Spherical) else []


def unit_lengths(tree: ClusterTree, q: Sequence[Any]) -> dict[Any, Any]:
    """For every quaternion among the coordinates of a tree: its squared length, to be replaced by one."""
    parts = zip(tree.clusters, tree.split_q(q), strict=True)
    starts = [own[at : at + 4] for cluster, own in parts for at in _quaternions(cluster.joint)]
    return {sum(x**2 for x in quaternion): number(1.0) for quaternion in starts}
