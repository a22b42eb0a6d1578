"""Bilateral constraints, enforced by forces, as rows of a step beside contacts: A v⁺ + φ / dt = 0.

The drift at the end of a step is corrected in the next, so φ stays of order dt². Rows that restrict velocities only
have φ = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..algorithms.constrained.rows import ConstraintRows, RowResponse, RowValues
from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.vectors import Twist
from .delassus import FreeMotion, RowsOnBasis

NO_SLACK = Vec((0.0, 0.0, 0.0))  # lower and upper end of a row's velocity, dry friction


class BilateralRows(NamedTuple):
    """The rows of one constraint at a state: a base (see `delassus`) of forces on links and in joints."""

    bundle: ConstraintRows
    rows: RowValues

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.bundle.traced.m

    @property
    def carried(self) -> tuple[int, ...]:
        """The links that it looks at, by their motion or their joints."""
        return (*self.bundle.links, *self.bundle.joints)

    def responses(self, free: FreeMotion) -> dict[int, RowResponse]:
        """The response of each cluster that unit forces along the rows reach."""
        return free.propagation.replies(self.bundle, self.rows)

    def parts(self, base: int) -> list[list[RowsOnBasis]]:
        """Its rows one by one, over this base."""
        units = Mat.identity(self.size)
        return [[RowsOnBasis(base, Mat((row,)))] for row in units]


def bilateral_terms(rows: RowValues, twists: tuple[Twist, ...], v: tuple[Vec, ...], dt: Scalar) -> Vec:
    """g = A v + φ / dt, from the twists of links and the velocities of joints."""
    return _add_rates(rows.phi * (1.0 / dt), rows, twists, v)


def bilateral_rates(rows: RowValues, twists: tuple[Twist, ...], v: tuple[Vec, ...]) -> Vec:
    """A v."""
    return _add_rates(rows.phi * 0.0, rows, twists, v)


def _add_rates(found: Vec, rows: RowValues, twists: tuple[Twist, ...], v: tuple[Vec, ...]) -> Vec:
    for pull, V in zip(rows.pull, twists, strict=True):
        found = found + pull @ V.six()
    for turn, own in zip(rows.turn, v, strict=True):
        found = found + turn @ own
    return found


def links_of(bundles: Sequence[ConstraintRows]) -> list[int]:
    """The links whose motion constraints look at."""
    return [link for bundle in bundles for link in bundle.links]
