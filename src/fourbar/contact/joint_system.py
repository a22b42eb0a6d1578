"""Newton's equations of all rows as equations of motion of the joints.

Rows are J = C B over bases B: unit wrenches on links, or given rows. A block's step is δ = own - K C y, where y is how
much faster the bases move; with M̃ the mass matrix with what acts implicitly, S = Σ Cᵀ K C and f = Σ Cᵀ own

    (M̃ + Bᵀ S B) v = Bᵀ f,    y = B v

Contacts of a link are an inertia S on it that need not be symmetric, and all of them together composite inertias, as in
the CRBA: the cost does not grow with the number of rows. Limits and dry friction of joints are numbers on the diagonal.
Contacts of two links, and constraints, couple the joints that move one beside the other. Segments that carry no base
are eliminated once. The elimination from the leaves to the root fills nothing in but what such rows couple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..expr.standalone_steps import standalone
from ..spatial.linear import Mat, Scalar, Vec, is_zero
from ..tree.cluster_tree import GROUND
from .linear_tiles import TiledFactors, Tiles, solve_tiles
from .path_motions import PathMotions, Segment, add, add_matrices


class LinkBase(NamedTuple):
    """Unit wrenches on a link, in axes of the world about the origin of its tree's root. Contacts of the same two links
    share bases of their own."""

    link: int

    @property
    def size(self) -> int:
        """Number of rows."""
        return 6


class RowBase(NamedTuple):
    """Rows over the independent velocities of a robot, (m, nv)."""

    rows: Sequence[Sequence[Any]]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)


@standalone
def _times(S: Mat, J: Mat) -> Mat:
    return Mat(S) @ Mat(J)


@standalone
def _add_product(old: Mat, J: Mat, SJ: Mat) -> Mat:
    """A tile with Jᵀ S J added."""
    return Mat(old) + Mat(J).T @ Mat(SJ)


@standalone
def _stiffen(old: Mat, J: Vec, K: Scalar) -> Mat:
    """A tile with K Jᵀ J added."""
    return Mat(Vec([x + (K * a) * b for x, b in zip(row, J, strict=True)]) for row, a in zip(old, J, strict=True))


@standalone
def _push(f: Vec, J: Mat, F: Vec) -> Vec:
    """Forces with Jᵀ F added."""
    return Vec(f) + Mat(J).transpose_times(F)


@standalone
def _rates(J: tuple[Mat, ...], v: tuple[Vec, ...]) -> Vec:
    """The velocity of a base."""
    total = Mat(J[0]) @ v[0]
    for own, x in zip(J[1:], v[1:], strict=True):
        total = total + Mat(own) @ x
    return total


@standalone
def _negative_sum(A: Mat, B: Mat) -> Mat:
    """-(A + B)."""
    return -(Mat(A) + Mat(B))


@standalone
def gram(first: tuple[Mat, ...], second: tuple[Mat, ...]) -> Mat:
    """Σ A Bᵀ."""
    total = Mat(first[0]) @ Mat(second[0]).T
    for a, b in zip(first[1:], second[1:], strict=True):
        total = total + Mat(a) @ Mat(b).T
    return total


class JointSystem:
    """The equations at a state: mass matrix, bases, and the segments that carry these."""

    def __init__(
        self,
        call: Any,
        M: Sequence[Sequence[Any]],
        first_v: Sequence[int],
        free: Sequence[Segment],
        motions: PathMotions,
        bases: Sequence[LinkBase | RowBase],
    ) -> None:
        """`free` are segments that carry no base, `motions` those of the others; `first_v` of each cluster."""
        self._call, self.motions, self.bases = call, motions, bases
        self.sizes = [base.size for base in bases]
        self._segments = [*free, *motions.segments]
        self._first = len(free)
        self._entries = [[j for n in x.clusters for j in range(first_v[n], first_v[n + 1])] for x in self._segments]
        self._rows = [self._row_tiles(base) if isinstance(base, RowBase) else {} for base in bases]
        self._factors = TiledFactors(call, self._tiles(M)).eliminate(self._first)
        self._left = self._factors.remainder()
        self._factors.eliminate(len(self._segments))
        self.nv = first_v[-1]
        self._responses: dict[int, dict[int, tuple[Mat, Mat]]] = {}

    def _tiles(self, M: Sequence[Sequence[Any]]) -> Tiles:
        """A matrix over all velocities in tiles."""
        found: Tiles = []
        for rows in self._entries:
            tiles = [Mat(Vec([M[i][j] for j in columns]) for i in rows) for columns in self._entries]
            found.append([None if all(is_zero(x) for row in tile for x in row) else tile for tile in tiles])
        return found

    def _row_tiles(self, base: RowBase) -> dict[int, Mat]:
        """The rows of a base by touched segment: (m, nv of the segment)."""
        found = {}
        for t, columns in enumerate(self._entries[self._first :]):
            own = Mat(Vec([row[j] for j in columns]) for row in base.rows)
            if not all(is_zero(x) for row in own for x in row):
                found[t] = own
        return found

    def _base_columns(self, base: int) -> dict[int, Mat]:
        """B of a base by touched segment, (m, nv)."""
        own = self.bases[base]
        return self.motions.columns(own.link) if isinstance(own, LinkBase) else self._rows[base]

    def between(self, a: int, b: int) -> Mat | None:
        """B M̃⁻¹ Bᵀ of two bases; None if they are uncoupled."""
        first, second = self._response(a), self._response(b)
        shared = [t for t in first if t in second]
        if not shared:
            return None
        return self._call(gram, tuple(first[t][0] for t in shared), tuple(second[t][1] for t in shared))

    def _response(self, base: int) -> dict[int, tuple[Mat, Mat]]:
        if base not in self._responses:
            columns = {self._first + t: Mat(own).T for t, own in self._base_columns(base).items()}
            self._responses[base] = self._factors.responses(columns)
        return self._responses[base]

    def forces(self, f: Sequence[Any]) -> list[Any]:
        """Bᵀ f on the touched segments, from forces along all bases; None where none act."""
        on: dict[int, Vec] = {}
        for base, force in zip(self.bases, f, strict=True):
            if isinstance(base, LinkBase) and force is not None:
                on[base.link] = self._call(add, on[base.link], force) if base.link in on else force
        found = self.motions.gather(on)
        for own, force in zip(self._rows, f, strict=True):
            for t, J in own.items() if force is not None else ():
                old = Vec([0.0] * self.motions.segments[t].nv) if found[t] is None else found[t]
                found[t] = self._call(_push, old, J, force)
        return found

    def velocities(self, v: Sequence[Any]) -> list[Vec]:
        """B v of all bases, from the velocities of the touched segments."""
        moving = [Vec([0.0] * x.nv) if own is None else own for x, own in zip(self.motions.segments, v, strict=True)]
        twists = self.motions.twists(moving) if any(isinstance(x, LinkBase) for x in self.bases) else {}
        found = []
        for base, rows in zip(self.bases, self._rows, strict=True):
            if isinstance(base, LinkBase):
                found.append(twists[base.link])
            else:
                found.append(self._call(_rates, tuple(rows.values()), tuple(moving[t] for t in rows)))
        return found

    def responses(self, f: Sequence[Any]) -> list[Vec]:
        """B M̃⁻¹ Bᵀ f."""
        first = self._first
        x = self._factors.forward([None] * first + self.forces(f), first)
        return self.velocities(self._factors.backward(x, first)[first:])

    def accelerations(self, f: Sequence[Any]) -> list[Any]:
        """M̃⁻¹ Bᵀ f by velocity, None where there is none."""
        b = [None] * self._first + self.forces(f)
        return self._by_entry(self._factors.backward(self._factors.forward(b, self._first)))

    def solve(self, b: Sequence[Any]) -> list[Any]:
        """M̃⁻¹ b by velocity."""
        parts = [Vec([b[j] for j in entries]) for entries in self._entries]
        parts = [None if all(is_zero(x) for x in own) else own for own in parts]
        return self._by_entry(self._factors.backward(self._factors.forward(parts)))

    def _by_entry(self, x: Sequence[Any]) -> list[Any]:
        found: list[Any] = [None] * sum(map(len, self._entries))
        for entries, own in zip(self._entries, x, strict=True):
            for j, y in zip(entries, own or [None] * len(entries), strict=True):
                found[j] = y
        return found

    def step(self, S: dict[tuple[int, int], list[Any]], f: Sequence[Any]) -> list[Vec]:
        """y of all bases, for S (sums, by two bases) and f of Newton's equations."""
        A = [list(row) for row in self._left]
        inertias: dict[int, list[Mat]] = {}
        for (a, b), parts in S.items():
            first, second = self.bases[a], self.bases[b]
            if not isinstance(first, LinkBase) or not isinstance(second, LinkBase):
                self._couple(A, self._rows[a], self._total(parts), self._rows[b])
                continue
            if a == b:
                inertias.setdefault(first.link, []).extend(parts)
                continue
            common = self.motions.common(first.link, second.link)
            J, other = (self.motions.beyond(x.link, common) for x in (first, second))
            self._couple(A, J, self._total(parts), other)
            if a < b and common != GROUND:  # what moves both alike resists neither
                alike = self._call(_negative_sum, self._total(S[a, a]), self._total(S[b, b]))
                inertias.setdefault(common, []).append(alike)
        self.motions.add_inertias(inertias, A)
        x = solve_tiles(self._call, A, self._full(self.forces(f)))
        return self.velocities(x)

    def _total(self, parts: Sequence[Mat]) -> Mat:
        total = parts[0]
        for x in parts[1:]:
            total = self._call(add_matrices, total, x)
        return total

    def _full(self, f: Sequence[Any]) -> list[Vec]:
        return [Vec([0.0] * x.nv) if own is None else own for x, own in zip(self.motions.segments, f, strict=True)]

    def _couple(self, A: Tiles, J: dict[int, Mat], S: Mat, other: dict[int, Mat]) -> None:
        """Add Jᵀ S J' to a matrix."""
        if len(S) == 1 and J is other and len(J) == 1:
            ((t, (row,)),) = J.items()
            A[t][t] = self._call(_stiffen, A[t][t], row, S[0][0])
            return
        for t, right in other.items():
            SJ = self._call(_times, S, right)
            for s, left in J.items():
                old = A[s][t]
                if old is None:
                    old = Mat.zeros(self.motions.segments[s].nv, self.motions.segments[t].nv)
                A[s][t] = self._call(_add_product, old, left, SJ)
