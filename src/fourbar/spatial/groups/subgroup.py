"""Groups of rigid motions that are given by their placements: everything else follows from SE(3)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from fourbar.expr import Expr, Graph, evaluate, jvp
from fourbar.linalg import pseudo_inverse, rank
from fourbar.spatial.linear import Mat, Scalar, Vec, vec
from fourbar.spatial.rotation import quaternion_matrix
from fourbar.spatial.subspace import Columns
from fourbar.spatial.transform import IDENTITY, Transform, nudge
from fourbar.spatial.vectors import Twist

from .base import Group, Scalars
from .se3 import SE3
from .so3 import from_matrix

_SE3 = SE3()
_ROUNDING = 1e-14  # entries of the left inverse of a basis below this fraction of the largest are zero


class _Rate(NamedTuple):
    """The rate of an element as expressions of the element and its velocity."""

    a: Sequence[Expr]
    v: Sequence[Expr]
    entries: Sequence[Scalar]


class Subgroup(Group):
    """A subgroup of SE(3), given by the basis of its velocities and by the placements that its elements stand for.

    A subclass sets `name`, `nq`, `nv` and `basis` and has the methods `placement` and `coordinates`, over any scalar.
    Products, exponentials, Ad, ad, dexp and rates are those of SE(3), restricted: V = H v with the constant columns H
    of the basis (From eq. 58), and ad(v) = H⁺ ad(H v) H, since a subalgebra is closed under the bracket. C(v) =
    ad~_(Mv) then holds as for every Lie group (From §5).

    Notes
    -----
    `coordinates` is the inverse of `placement`. Where it returns an angle, products count no whole turns, unless
    `compose` is overridden. The logarithm is that of SE(3), of at most half a turn; a group with more (a screw, whose
    height counts its turns) overrides `log`.

    Examples
    --------
    >>> from fourbar.expr import atan2, cos, sin
    >>> from fourbar.spatial import Subgroup, Transform, Vec
    >>> class CylinderGroup(Subgroup):
    ...     name, nq, nv = "cylinder", 2, 2
    ...     basis = ((0, 0, 1, 0, 0, 0), (0, 0, 0, 0, 0, 1))
    ...
    ...     def placement(self, a):
    ...         c, s = cos(a[0]), sin(a[0])
    ...         return Transform.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], (0.0, 0.0, a[1]))
    ...
    ...     def coordinates(self, T):
    ...         return Vec((atan2(T.R[1][0], T.R[0][0]), T.p[2]))
    >>> CylinderGroup().compose((0.5, 1.0), (0.25, 2.0))
    (0.75, 3.0)
    """

    __slots__ = ("__dict__",)
    rows = ()
    basis: ClassVar[Sequence[Sequence[float]]]  # the columns of H: twists [angular; linear] of unit velocities

    @abstractmethod
    def placement(self, a: Scalars) -> Transform:
        """Placement (R, p) of 3-space that the element a (nq) stands for."""

    @abstractmethod
    def coordinates(self, T: Transform) -> Vec:
        """Element (nq) that stands for a placement in the group."""

    @property
    def subspace(self) -> Columns:
        """From's H (6 x nv): the twist of the body in its own axes is H v."""
        return self._columns

    @cached_property
    def _columns(self) -> Columns:
        """The columns of H, checked."""
        H = np.array(self.basis, float)
        if H.shape != (self.nv, 6) or rank(H) < self.nv:
            raise ValueError(
                f"the basis of {type(self).__name__} must be nv = {self.nv} independent twists of six numbers each, "
                f"got an array of shape {H.shape} and rank {rank(H)}"
            )
        return Columns(tuple(vec(column) for column in self.basis))

    @cached_property
    def _left_inverse(self) -> Mat:
        """H⁺ (nv x 6) with H⁺ H = 1."""
        inverse = pseudo_inverse(np.array(self.subspace.columns).T)
        inverse[np.abs(inverse) < _ROUNDING * np.abs(inverse).max()] = 0.0
        return Mat.of(inverse.tolist())

    def _restrict(self, matrix: Mat) -> Mat:
        """H⁺ m H (nv x nv) of a matrix (6 x 6) that maps the subalgebra to itself."""
        return self._left_inverse @ (matrix @ Mat.from_columns(self.subspace.columns))

    def _twist(self, v: Scalars) -> Vec:
        """H v, six scalars."""
        return self.subspace.twist(v).six()

    def identity(self) -> Vec:
        return self.coordinates(IDENTITY)

    def compose(self, a: Scalars, b: Scalars) -> Vec:
        return self.coordinates(self.placement(a).then(self.placement(b)))

    def inverse(self, a: Scalars) -> Vec:
        return self.coordinates(self.placement(a).inverse())

    def exp(self, v: Scalars) -> Vec:
        element = _SE3.exp(self._twist(v))
        return self.coordinates(Transform((quaternion_matrix(element[3:]),), Vec(element[:3])))

    def log(self, a: Scalars) -> Vec:
        T = self.placement(a)
        return self._left_inverse @ _SE3.log((*T.p, *from_matrix(T.R)))

    def rotation(self, a: Scalars) -> Mat:
        return self.placement(a).R

    def translation(self, a: Scalars) -> Vec:
        return self.placement(a).p

    def Ad(self, a: Scalars) -> Mat:
        T = self.placement(a)
        return self._restrict(_SE3.Ad((*T.p, *from_matrix(T.R))))

    def ad(self, v: Scalars) -> Mat:
        return self._restrict(_SE3.ad(self._twist(v)))

    def dexp(self, v: Scalars) -> Mat:
        return self._restrict(_SE3.dexp(self._twist(v)))

    def dexp_inv(self, v: Scalars) -> Mat:
        return self._restrict(_SE3.dexp_inv(self._twist(v)))

    @cached_property
    def _traced_rate(self) -> _Rate:
        """d/dt of the coordinates of a · exp(t v) at t = 0, traced once."""
        graph = Graph()
        a, v, delta = (graph.inputs(name, n) for name, n in (("a", self.nq), ("v", self.nv), ("delta", self.nv)))
        step = nudge(Twist.of(self._twist(delta)))
        slopes = jvp(self.coordinates(self.placement(a).then(step)), dict(zip(delta, v, strict=True)))
        at_rest: dict[Expr, Scalar] = {**dict(zip((*a, *v), (*a, *v), strict=True)), **dict.fromkeys(delta, 0.0)}
        return _Rate(a, v, evaluate(slopes, at_rest))

    def rate(self, a: Scalars, v: Scalars) -> Vec:
        traced = self._traced_rate
        return Vec(evaluate(traced.entries, dict(zip((*traced.a, *traced.v), (*a, *v), strict=True))))
