"""Rotation vectors in formulas: closed forms in the angle |φ|, without the power series near zero.

They divide by the angle, so they hold wherever it is not zero; there they have limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..expr import Expr, cos, sin, sqrt
from ..expr.to_sympy import load_sympy
from ..joints.exponential import SphericalExponential
from ..model.lower import Lowered
from ..model.tree import ClusterTree
from ..spatial.linear import Mat, Scalar, Vec, dot, hat, zeros
from ..spatial.subspace import Columns, Subspace
from ..spatial.transform import Transform


@dataclass(frozen=True)
class ClosedExponential(SphericalExponential):
    """The same joint as formulas that hold for φ ≠ 0."""

    def placement(self, q: Sequence[Scalar]) -> Transform:
        s, h = dot(q, q), hat(q)
        t = sqrt(s)
        return Transform((Mat.identity(3) + h * (sin(t) / t) + (h @ h) * ((1.0 - cos(t)) / s),))

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        s, h = dot(q, q), hat(q)
        t = sqrt(s)
        D = Mat.identity(3) - h * ((1.0 - cos(t)) / s) + (h @ h) * ((t - sin(t)) / (s * t))
        return Columns(tuple(Vec((*column, *zeros(3))) for column in D.T))


def closed_forms(lowered: Lowered) -> Lowered:
    """A mechanism whose joints with rotation vectors are written as formulas."""
    own = lowered.tree
    if not any(isinstance(c.joint, SphericalExponential) for c in own.clusters):
        return lowered
    closed = [
        c._replace(joint=ClosedExponential()) if isinstance(c.joint, SphericalExponential) else c for c in own.clusters
    ]
    tree = replace(own, clusters=tuple(closed))
    return replace(lowered, tree=tree, equivalent=tree, unturned=tree)


class Angles(NamedTuple):
    """The angles |φ| as symbols: what they stand for in a trace, and their formulas."""

    nodes: dict[Expr, Any]
    values: dict[Any, Any]


def rotation_angles(tree: ClusterTree, traced: Sequence[Any], q: Sequence[Any]) -> Angles:
    """The angles of all rotation vectors, from the traced coordinates of a tree and their symbols."""
    sympy = load_sympy()
    found = Angles({}, {})
    for cluster, own, symbols in zip(tree.clusters, tree.split_q(traced), tree.split_q(q), strict=True):
        if isinstance(cluster.joint, SphericalExponential):
            angle, s = sympy.Dummy("angle", positive=True), dot(own, own)
            found.nodes.update({s: angle**2, sqrt(s): angle})  # type: ignore[dict-item]
            found.values[angle] = sympy.sqrt(sum(x**2 for x in symbols))
    return found
