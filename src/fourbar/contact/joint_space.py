"""The coupling of rows through the joints of a robot, whatever links they are on.

A wrench F on a base leaves u in the joints of the clusters on its way to the root, where w = D⁻¹ u answers to it (Kim
eq. 67-69). So the bases move by U z, where z = Σ Wᵀ F has as many entries as these joints have velocities: Ω = U Wᵀ is
not needed. Newton's equations of `reduced_newton`, (1 + Ω S) y = Ω f, become

    (1 + Σ Wᵀ S U) z = Σ Wᵀ f,    y = U z

Joints of different limbs do not feel each other where no contact is between them: from the leaves to the root nothing
is filled in. Tiles are the joints of a limb, or as many as there are in six velocities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..algorithms.constrained.rows import RowResponse
from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Vec
from .reduced_newton import in_tiles

_TILE = 6  # velocities
MOST_PRODUCTS = 600  # of tiles in an elimination; sweeps are cheaper than more of them

Mats = tuple[Mat, ...]


@standalone
def turned(z: Vec, W: Mat, F: Vec) -> Vec:
    """z with what a wrench on a base adds to it."""
    return z + W.transpose_times(F)


@standalone
def moved(U: Mats, z: tuple[Vec, ...]) -> Vec:
    """The velocity of a base."""
    total = U[0] @ z[0]
    for own, x in zip(U[1:], z[1:], strict=True):
        total = total + own @ x
    return total


@standalone
def _times(S: Mat, U: Mat) -> Mat:
    return Mat(S) @ Mat(U)


@standalone
def _coupled(old: Mat, W: Mat, SU: Mat) -> Mat:
    """A tile with Wᵀ S U added."""
    return Mat(old) + Mat(W).T @ Mat(SU)


class JointSpace:
    """Bases over the joints that they reach, in tiles: the leaves first."""

    def __init__(self, recorder: Any, sizes: Sequence[int], responses: Sequence[dict[int, RowResponse]]) -> None:
        self._call, self.sizes = recorder.call, sizes
        widths = {n: len(own.u[0]) for found in responses for n, own in found.items()}
        tiles = _tiles(widths, responses)
        self._widths = [sum(widths[n] for n in tile) for tile in tiles]
        self._U: list[dict[int, Mat]] = []
        self._W: list[dict[int, Mat]] = []
        for size, found in zip(sizes, responses, strict=True):
            reached = [s for s, tile in enumerate(tiles) if any(n in found for n in tile)]
            for side, kind in ((self._U, "u"), (self._W, "w")):
                side.append({s: _columns(size, tiles[s], found, kind, widths) for s in reached})

    def still(self) -> list[Vec]:
        """z where nothing acts."""
        return [Vec([0.0] * n) for n in self._widths]

    def pushed(self, z: Sequence[Vec], base: int, F: Vec) -> list[Vec]:
        """z with a wrench on a base more."""
        found = list(z)
        for s, W in self._W[base].items():
            found[s] = self._call(turned, z[s], W, F)
        return found

    def velocity(self, base: int, z: Sequence[Vec]) -> Vec:
        """The velocity along a basis."""
        own = self._U[base]
        return self._call(moved, tuple(own.values()), tuple(z[s] for s in own))

    def solved(self, S: dict[tuple[int, int], Any], f: Sequence[Vec]) -> list[Vec]:
        """y of all bases, for S and f of Newton's equations."""
        count = len(self._widths)
        A: list[list[Any]] = [[None] * count for _ in range(count)]
        for s, n in enumerate(self._widths):
            A[s][s] = Mat.identity(n)
        for (a, b), between in S.items():
            by_tile = {t: self._call(_times, between, U) for t, U in self._U[b].items()}
            for s, W in self._W[a].items():
                for t, SU in by_tile.items():
                    old = A[s][t]
                    if old is None:
                        old = Mat(Vec([0.0] * self._widths[t]) for _ in range(self._widths[s]))
                    A[s][t] = self._call(_coupled, old, W, SU)
        z = self.still()
        for base, force in enumerate(f):
            z = self.pushed(z, base, force)
        found = in_tiles(self._call, A, z)
        return [self.velocity(base, found) for base in range(len(self.sizes))]

    def products(self, touching: Iterable[tuple[int, ...]]) -> int:
        """Number of products of tiles in an elimination, if these bases have rows in common."""
        count = len(self._widths)
        near = [{s} for s in range(count)]
        for bases in touching:
            reached = {s for base in bases for s in self._U[base]}
            for s in reached:
                near[s] |= reached
        total = 0
        for k in range(count):
            later = {s for s in near[k] if s > k}
            total += len(later) ** 2
            for s in later:
                near[s] |= later
        return total


def _tiles(widths: dict[int, int], responses: Sequence[dict[int, Any]]) -> list[list[int]]:
    """Clusters that are eliminated together: those in line, up to a size."""
    reached = {n: {a for a, found in enumerate(responses) if n in found} for n in widths}
    tiles: list[list[int]] = []
    for n in sorted(widths, reverse=True):
        in_line = tiles and reached[tiles[-1][-1]] <= reached[n]
        if in_line and sum(widths[m] for m in tiles[-1]) + widths[n] <= _TILE:
            tiles[-1].append(n)
        else:
            tiles.append([n])
    return tiles


def _columns(size: int, tile: Sequence[int], found: dict[int, Any], kind: str, widths: dict[int, int]) -> Mat:
    """u or w of a base in the clusters of a tile, side by side; zeros in those that it does not reach."""
    rows: list[list[Any]] = [[] for _ in range(size)]
    for n in tile:
        own = getattr(found[n], kind) if n in found else [[0.0] * widths[n]] * size
        for row, more in zip(rows, own, strict=True):
            row += list(more)
    return Mat(Vec(row) for row in rows)
