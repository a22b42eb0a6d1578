"""Motion subspaces S of joints, and what freeing a joint does to an articulated inertia.

Most joints select some of the six components of a twist (From's constant matrix H); for them S need not be multiplied
at all, and the rows of the freed inertia that belong to the joint vanish exactly. Others have general columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..expr import select, sqrt
from .inertia import Articulated
from .linear import Mat, Scalar, Vec, dot, is_zero, zeros
from .solve import Factored, armature_rate, factor, independent_axes, independent_columns
from .transform import Transform
from .vectors import Twist, Wrench

ColumnSets = Sequence[Sequence[int]]  # sets of columns that may be dependent somewhere


class Hinge(NamedTuple):
    """A freed joint: U = IA S, D = Sᵀ U + armature factored, Y = D⁻¹ Uᵀ. U and Y over the components `over`."""

    over: tuple[int, ...]
    U: Mat  # (components, nv)
    D: Factored
    Y: Mat  # (nv, components)

    def drive(self, u: Vec, w: Vec) -> Vec:
        """The one of u and w = D⁻¹ u that is kept to accelerate the joint: w, as Y is at hand."""
        return w


class Columns(NamedTuple):
    """A general motion subspace S by its columns.

    Parameters
    ----------
    columns : tuple of Vec
        Twists [angular; linear] of unit velocities, six scalars each.

    Examples
    --------
    >>> from fourbar.spatial import Columns, Vec, to_array
    >>> screw = Columns((Vec((0.0, 0.0, 1.0, 0.0, 0.0, 0.1)),))
    >>> to_array(screw.twist([2.0]))
    array([0. , 0. , 2. , 0. , 0. , 0.2])
    """

    columns: tuple[Vec, ...]

    @property
    def nv(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def twist(self, v: Sequence[Scalar]) -> Twist:
        """Twist S v."""
        total = zeros(6)
        for column, x in zip(self.columns, v, strict=True):
            total = total + column * x
        return Twist.of(total)

    def project(self, F: Wrench) -> Vec:
        """Generalized force Sᵀ F."""
        six = F.six()
        return Vec([dot(column, six) for column in self.columns])

    def complement(self) -> Columns:
        """Orthonormal basis (6 x (6 - nv)) of the wrenches that do no work on S, by Householder reflections."""
        mirrors: list[Vec] = []
        for k, column in enumerate(self.columns):
            below = Vec((*(0.0,) * k, *_reflect(mirrors, column)[k:]))
            length = sqrt(dot(below, below))
            away = below[k] + select(below[k] < 0.0, -length, length)  # of the same sign: nothing cancels
            normal = Vec((*below[:k], away, *below[k + 1 :]))
            mirrors.append(normal * sqrt(2.0 / dot(normal, normal)))
        return Columns(tuple(_reflect(mirrors[::-1], e) for e in Mat.identity(6)[len(mirrors) :]))

    def twists(self) -> tuple[Twist, ...]:
        """The columns as twists."""
        return tuple(map(Twist.of, self.columns))

    def to_child(self, X: Transform) -> Columns:
        """Subspace X S: the same motions in the child frame."""
        return Columns(tuple(X.motion_to_child(t).six() for t in self.twists()))

    def free(
        self, IA: Articulated, armature: Sequence[Scalar], regular: Sequence[Any] = (), sizes: Sequence[Scalar] = ()
    ) -> tuple[Hinge, Articulated]:
        """Let the joint move freely: the inertia that is left, Ia = IA - U D⁻¹ Uᵀ.

        NaN where one of the conditions `regular` does not hold, or pivots are rounding beside the `sizes` of what
        could resist each velocity: then D has no inverse.
        """
        U = Mat((IA @ t).six() for t in self.twists())
        D = factor(
            Mat(
                Vec([dot(column, u) + (armature[i] if i == j else 0.0) for j, u in enumerate(U)])
                for i, column in enumerate(self.columns)
            )
        )
        D = D.where(regular).above_rounding(sizes)
        Y = D.solve_columns(U)
        return Hinge(tuple(range(6)), U, D, Y), Articulated.of_rows(_minus_product(IA.rows(), U, Y))

    def regular(self, armature: Sequence[Scalar], suspect: ColumnSets) -> list[Any]:
        """Conditions on the state under which each of some sets of columns is independent.

        Those of Euler angles are not at gimbal lock. Rates with armature have inertia of their own, so only the others
        need be independent; armature may be a symbol, and zero. Columns that only turn the body are compared with each
        other.
        """
        conditions = []
        for which in suspect:
            columns = [self.columns[j] for j in which]
            loose = [j for j in which if not _is_positive(armature[j])]
            turned, moved = ([self.columns[j][rows] for j in loose] for rows in (slice(0, 3), slice(3, 6)))
            symbolic = [j for j in loose if not is_zero(armature[j])]  # symbols, which may be zero
            if not symbolic and all(is_zero(x) for column in columns for x in column[3:]):
                size = sum(dot(column, column) for column in columns)
                conditions.append(independent_axes([Vec(axis) for axis in turned], size))
            else:
                rates = [[[armature_rate(armature[j], 1.0) if i == j else 0.0] for i in loose] for j in symbolic]
                conditions.append(independent_columns([turned, moved, *rates]))
        return [condition for condition in conditions if condition is not True]

    def push(self, hinge: Hinge, pA: Wrench, tau: Sequence[Scalar]) -> tuple[Vec, Wrench]:
        """w = D⁻¹(τ - Sᵀ pA), and the force that is left, pA + U w."""
        w = hinge.D.solve([t - p for t, p in zip(tau, self.project(pA), strict=True)])
        return w, pA + Wrench.of(hinge.U.transpose_times(w))

    def accelerate(self, hinge: Hinge, w: Vec, A: Twist) -> tuple[Vec, Twist]:
        """The joint's acceleration a = w - Y A' = D⁻¹(τ - Sᵀ pA - Uᵀ A'), and the body's, A' + S a."""
        a = w - hinge.Y @ A.six()
        return a, A + self.twist(a)


class Selection(NamedTuple):
    """A motion subspace S of unit columns: the columns `rows` of the 6 x 6 identity.

    Parameters
    ----------
    rows : tuple of int
        Entries of the twist [angular; linear] that move.

    Examples
    --------
    >>> from fourbar.spatial import Selection, to_array
    >>> to_array(Selection((2,)).twist([3.0]))
    array([0., 0., 3., 0., 0., 0.])
    """

    rows: tuple[int, ...]

    @property
    def nv(self) -> int:
        """Number of columns."""
        return len(self.rows)

    @property
    def dense(self) -> Columns:
        """The same subspace by columns."""
        return Columns(tuple(Vec([1.0 if i == row else 0.0 for i in range(6)]) for row in self.rows))

    def twist(self, v: Sequence[Scalar]) -> Twist:
        """Twist S v."""
        return Twist.of(_scatter(self.rows, v))

    def project(self, F: Wrench) -> Vec:
        """Generalized force Sᵀ F."""
        six = F.six()
        return Vec([six[row] for row in self.rows])

    def complement(self) -> Selection:
        """Basis (6 x (6 - nv)) of the wrenches that do no work on S."""
        return Selection(tuple(i for i in range(6) if i not in self.rows))

    def twists(self) -> tuple[Twist, ...]:
        """The columns as twists."""
        return self.dense.twists()

    def to_child(self, X: Transform) -> Columns:
        """Subspace X S: the same motions in the child frame."""
        return self.dense.to_child(X)

    def free(
        self, IA: Articulated, armature: Sequence[Scalar], regular: Sequence[Any] = (), sizes: Sequence[Scalar] = ()
    ) -> tuple[Hinge, Articulated]:
        """As for `Columns`. Without armature the joint's rows of Ia are zero, so only the others are computed."""
        if not all(map(is_zero, armature)):
            return self.dense.free(IA, armature, regular, sizes)
        full = IA.rows()
        held = tuple(i for i in range(6) if i not in self.rows)
        D = factor(Mat(Vec([full[i][j] for j in self.rows]) for i in self.rows)).where(regular).above_rounding(sizes)
        U = Mat(Vec([full[i][j] for j in held]) for i in self.rows)
        Y = D.solve_columns(U) if held else U
        rest = _minus_product(Mat(Vec([full[i][j] for j in held]) for i in held), U, Y)
        rows = [_scatter(held, rest[held.index(i)]) if i in held else [0.0] * 6 for i in range(6)]
        return Hinge(held, U, D, Y), Articulated.of_rows(rows)

    def push(self, hinge: Hinge, pA: Wrench, tau: Sequence[Scalar]) -> tuple[Vec, Wrench]:
        """As for `Columns`. Without armature the joint's components of the force that is left are τ, exactly."""
        if len(hinge.over) == 6:
            return self.dense.push(hinge, pA, tau)
        w = hinge.D.solve([t - p for t, p in zip(tau, self.project(pA), strict=True)])
        left = (pA + Wrench.of(_scatter(hinge.over, hinge.U.transpose_times(w) if hinge.over else ()))).six()
        exact = dict(zip(self.rows, tau, strict=True))
        return w, Wrench.of([exact.get(i, left[i]) for i in range(6)])

    def accelerate(self, hinge: Hinge, w: Vec, A: Twist) -> tuple[Vec, Twist]:
        """As for `Columns`. Without armature Y has no entries for the joint itself, and its part of A is w - Y A'."""
        if len(hinge.over) == 6:
            return self.dense.accelerate(hinge, w, A)
        six = A.six()
        total = w - hinge.Y @ [six[i] for i in hinge.over]
        a = Vec([t - six[i] for t, i in zip(total, self.rows, strict=True)])
        exact = dict(zip(self.rows, total, strict=True))
        return a, Twist.of([exact.get(i, six[i]) for i in range(6)])


Subspace = Selection | Columns


def series(links: Iterable[tuple[Transform, Subspace]]) -> Columns:
    """S of joints in series, in the frame of the last link, from the X and S of each."""
    S = Columns(())
    for X, own in links:
        S = Columns((*S.to_child(X).columns, *(t.six() for t in own.twists())))
    return S


def _is_positive(x: Scalar) -> bool:
    """Whether x is a constant above zero."""
    return x.__class__ is float and x > 0.0


def _reflect(normals: Sequence[Vec], six: Vec) -> Vec:
    """Reflect six scalars in planes one after another; each normal has the length √2."""
    for normal in normals:
        six = six - normal * dot(normal, six)
    return six


def _scatter(rows: Sequence[int], values: Sequence[Scalar]) -> list[Scalar]:
    six: list[Scalar] = [0.0] * 6
    for row, x in zip(rows, values, strict=True):
        six[row] = x
    return six


def _minus_product(A: Mat, U: Mat, Y: Mat) -> list[list[Scalar]]:
    """A - Uᵀ Y for a symmetric result: the upper triangle is computed, the lower mirrors it."""
    n = len(A)
    result = [[A[i][j] for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i, n):
            for u, y in zip(U, Y, strict=True):
                result[i][j] = result[i][j] - u[i] * y[j]
            result[j][i] = result[i][j]
    return result
