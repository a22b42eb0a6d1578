"""Armature of the links of a tree: a number for each velocity, and blocks that couple several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..mechanism.armature_blocks import ArmatureBlock, places
from ..mechanism.mechanism import PlacedJoint
from ..spatial.linear import Mat, Scalar, Vec

Coupled = tuple[tuple[int, Mat], ...]


class LinkArmature(NamedTuple):
    """The diagonal of a link's armature, and its blocks A_ij off the diagonal, with links j up to its own, i."""

    diagonal: Vec
    coupled: Coupled = ()


def link_armatures(
    joints: Sequence[PlacedJoint], blocks: Sequence[ArmatureBlock], links: Mapping[str, int]
) -> list[LinkArmature]:
    """The armature of each joint's link; `links` has the numbers of links by joint. Entries may be symbols."""
    if not blocks:
        return [LinkArmature(Vec(c.armature)) for c in joints]
    diagonal = {c.name: list(c.armature) for c in joints}
    types = {c.name: c.joint for c in joints}
    found: dict[str, dict[int, list[list[Scalar]]]] = {c.name: {} for c in joints}
    for block in blocks:
        at = places(block, types)
        for a, rows in at.items():
            for x, i in enumerate(rows):
                diagonal[a][x] = diagonal[a][x] + block.matrix[i][i]
            for b, columns in at.items():
                if links[b] <= links[a]:
                    entries = [[0.0 if i == j else block.matrix[i][j] for j in columns] for i in rows]
                    _add(found[a].setdefault(links[b], [[0.0] * len(columns) for _ in rows]), entries)
    return [
        LinkArmature(
            Vec(diagonal[c.name]),
            tuple(
                (other, Mat.of(rows))
                for other, rows in sorted(found[c.name].items())
                if other != links[c.name] or len(rows) > 1  # zeros too: as parameters they may vary
            ),
        )
        for c in joints
    ]


def _add(total: list[list[Scalar]], rows: Sequence[Sequence[Scalar]]) -> None:
    for own, row in zip(total, rows, strict=True):
        own[:] = [x + y for x, y in zip(own, row, strict=True)]


class CoupledLinks(NamedTuple):
    """Links whose velocities armature couples: the entries A of their blocks off the diagonal, which itself is zero
    here, over the velocities of all of these links.
    """

    links: tuple[int, ...]
    A: Mat


def couplings(coupled: Sequence[Coupled], sizes: Sequence[int]) -> tuple[CoupledLinks, ...]:
    """The sets of links that blocks connect; `sizes` are the numbers of velocities of all links."""
    groups: list[set[int]] = []
    for i, own in enumerate(coupled):
        tied = {i, *(j for j, _ in own)} if own else set()
        if tied:
            groups = [g for g in groups if g.isdisjoint(tied)] + [tied.union(*(g for g in groups if g & tied))]
    found = []
    for links in sorted(tuple(sorted(group)) for group in groups):
        first = dict(zip(links, (sum(sizes[i] for i in links[:n]) for n in range(len(links))), strict=True))
        nv = sum(sizes[i] for i in links)
        A: list[list[Scalar]] = [[0.0] * nv for _ in range(nv)]
        for i in links:
            for j, block in coupled[i]:
                for a, row in enumerate(block, first[i]):
                    for b, x in enumerate(row, first[j]):
                        A[a][b] = A[b][a] = x
        found.append(CoupledLinks(links, Mat.of(A)))
    return tuple(found)
