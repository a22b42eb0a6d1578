"""Solving with the mass matrix of a tree, branch by branch.

Velocities on different branches do not meet in M. Eliminated from the tips inwards, M keeps all those zeros
(Featherstone 2008, §6.4-6.5), and what a branch does when its carriers move is one small matrix R for everything that
happens elsewhere. With a branch's own velocities o and those of its carriers c, M a = -X gives

    a_o = N X_o + R a_c,    N = -M_oo⁻¹,    R = N M_oc,    and for the carriers    M_cc + M_co R    and    X_c + Rᵀ X_o.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..expr import Recorder
from ..spatial.linear import Mat, Vec
from ..spatial.solve import factor
from ..tree.clusters import Cluster
from .tiles import Rows, plus_product, transpose

_LONGEST = 8  # velocities of a branch; longer ones are cut
_ROWS = 4  # carriers whose part of M changes in one product
_SMALL = 20  # velocities up to which products are unrolled


class Branch(NamedTuple):
    """Velocities that follow each other without a fork, and all those between them and the root."""

    own: list[int]
    carriers: list[int]


def velocity_parents(clusters: Sequence[Cluster]) -> list[int]:
    """For each independent velocity the one before it on the way from the root, or -1."""
    last: dict[int, int] = {}  # the last velocity up to a link, by link
    velocity_parent: list[int] = []
    for cluster in clusters:
        before = last.get(cluster.carriers[0], -1)
        for _ in range(cluster.embedding.nv):
            velocity_parent.append(before)
            before = len(velocity_parent) - 1
        last.update(dict.fromkeys(cluster.links, before))
    return velocity_parent


def among(parents: Sequence[int], chosen: Sequence[int]) -> list[int]:
    """The parents of some velocities among themselves, by their numbers there."""
    number = {i: k for k, i in enumerate(chosen)}
    parents_among = []
    for i in chosen:
        above = parents[i]
        while above >= 0 and above not in number:
            above = parents[above]
        parents_among.append(number.get(above, -1))
    return parents_among


def branches(parents: Sequence[int]) -> list[Branch]:
    """All branches, carriers before those that they carry."""
    children = [0] * len(parents)
    for above in parents:
        if above >= 0:
            children[above] += 1
    all_branches: list[Branch] = []
    home: dict[int, Branch] = {}
    for i, above in enumerate(parents):
        branch = home.get(above)
        if branch is None or branch.own[-1] != above or children[above] > 1 or len(branch.own) == _LONGEST:
            carriers = [] if branch is None else sorted(branch.carriers + branch.own[: branch.own.index(above) + 1])
            branch = Branch([], carriers)
            all_branches.append(branch)
        branch.own.append(i)
        home[i] = branch
    return all_branches


def _negative_inverse(D: Mat) -> Mat:
    """-D⁻¹ (n, n), symmetric to the last bit."""
    n = len(D)
    factored = factor(D)
    columns = [factored.solve([-1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
    return Mat(Vec([columns[min(i, j)][max(i, j)] for j in range(n)]) for i in range(n))


def _negative(x: Mat) -> Mat:
    return Mat(Vec([-y for y in row]) for row in x)


def _part(M: Rows, rows: Sequence[int], columns: Sequence[int]) -> Rows:
    return [[M[i][j] for j in columns] for i in rows]


class Solver:
    """M of a tree, eliminated."""

    def __init__(self, recorder: Recorder, M: Rows, parents: Sequence[int]) -> None:
        self._recorder = recorder
        self._branches = branches(parents)
        self._large = len(parents) > _SMALL
        self._N: list[Rows] = [[] for _ in self._branches]
        self._R: list[Rows] = [[] for _ in self._branches]
        left = [list(row) for row in M]
        for b in reversed(range(len(self._branches))):
            self._eliminate(b, left)

    def _eliminate(self, b: int, M: Rows) -> None:
        """Take a branch out of M: what is left of its carriers' part."""
        own, carriers = self._branches[b]
        D = Mat(map(Vec, _part(M, own, own)))
        self._N[b] = [list(row) for row in self._recorder.call(_negative_inverse, D)]
        across = _part(M, own, carriers)
        self._R[b] = self._product(None, self._N[b], across)
        for first in range(0, len(carriers), _ROWS):
            some, upto = carriers[first : first + _ROWS], carriers[: first + _ROWS]
            columns = [row[: len(upto)] for row in self._R[b]]
            left = transpose([row[first : first + _ROWS] for row in across])
            for i, row in zip(some, self._product(_part(M, some, upto), left, columns), strict=True):
                for j, x in zip(upto, row, strict=True):
                    if j <= i:
                        M[i][j] = M[j][i] = x

    def _product(self, C: Rows | None, A: Rows, B: Rows) -> Rows:
        return plus_product(self._recorder, C, A, B, self._large)

    def negative_solution(self, X: Rows) -> Rows:
        """-M⁻¹ X; zeros of X cost nothing."""
        left = [list(row) for row in X]
        for b, (velocities, carriers) in reversed(list(enumerate(self._branches))):
            sent = [left[i] for i in velocities]
            if carriers:
                carried = self._product([left[i] for i in carriers], transpose(self._R[b]), sent)
                for i, row in zip(carriers, carried, strict=True):
                    left[i] = row
        a: Rows = [[] for _ in X]
        for b, (velocities, carriers) in enumerate(self._branches):
            both = [N + R for N, R in zip(self._N[b], self._R[b], strict=True)]
            moved = self._product(None, both, [left[i] for i in velocities] + [a[i] for i in carriers])
            for i, row in zip(velocities, moved, strict=True):
                a[i] = row
        return a

    def inverse(self) -> Rows:
        """M⁻¹: what is carried follows its carriers, whoever moves them; the rest is symmetry."""
        n = sum(len(own) for own, _ in self._branches)
        Minv: Rows = [[0.0] * n for _ in range(n)]
        before: list[int] = []
        for b, (velocities, carriers) in enumerate(self._branches):
            block = [list(row) for row in self._recorder.call(_negative, Mat(map(Vec, self._N[b])))]
            if carriers:
                across = self._product(None, self._R[b], _part(Minv, carriers, before))
                self._write(Minv, velocities, before, across)
                block = self._product(block, self._R[b], _part(Minv, carriers, velocities))
            self._write(Minv, velocities, velocities, block)
            before += velocities
        return Minv

    @staticmethod
    def _write(found: Rows, rows: Sequence[int], columns: Sequence[int], block: Rows) -> None:
        for i, values in zip(rows, block, strict=True):
            for j, x in zip(columns, values, strict=True):
                if columns is not rows or j <= i:
                    found[i][j] = found[j][i] = x
