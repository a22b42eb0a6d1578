"""Joints whose rates may be dependent, as at gimbal lock: the mass matrix has no inverse there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import NamedTuple

from ..expr.pytree import leaves
from ..joints.base import Joint
from ..joints.independence import suspect_columns
from ..spatial.linear import is_zero
from .spanning_tree import SpanningTree


class Locking(NamedTuple):
    """A joint whose rates may be dependent, as at gimbal lock: its position in a cluster, and which columns of S are.

    Of a massless link, the columns of S of all links in series from it to one that has inertia, `below`. Loops that
    only see where bodies are do not prevent this: rates that move nothing leave them closed. Those that use the
    coordinates of the joint, `tied`, may.
    """

    place: int
    suspect: tuple[tuple[int, ...], ...]
    below: tuple[int, ...] = ()
    tied: bool = False


def locking(joints: Sequence[Joint], tied: Container[int] = ()) -> tuple[Locking, ...]:
    """The joints whose rates may be dependent; loops use the coordinates of those at the positions `tied`."""
    found = [Locking(b, suspect_columns(joint), (), b in tied) for b, joint in enumerate(joints)]
    return tuple(own for own in found if own.suspect)


def _massless_chains(tree: SpanningTree, alone: Container[int]) -> dict[int, tuple[int, ...]]:
    """By massless link the links in series up to the first one with inertia, of links that are clusters of one: all
    that moves when all of them move is that one."""
    count = Counter(tree.parents)
    sole = {parent: i for i, parent in enumerate(tree.parents) if count[parent] == 1}
    hollow = {i for i, link in enumerate(tree.links) if i in sole and all(map(is_zero, leaves(link.I)))}
    chains: dict[int, tuple[int, ...]] = {}
    for i in sorted(hollow, reverse=True):
        if i in alone and sole[i] in alone:
            chains[i] = (sole[i], *chains.pop(sole[i], ()))
    return {i: own for i, own in chains.items() if own[-1] not in hollow}


def series_joint(tree: SpanningTree, links: Sequence[int]) -> Joint:
    """The joints of links in series as one joint, its coordinates those of all."""
    from ..joints.composite import Composite  # which few robots need

    own = [tree.links[i] for i in links]
    return Composite.redundant(own[0].joint, *(part for link in own[1:] for part in (link.placement, link.joint)))


def chain_locking(tree: SpanningTree, alone: Container[int]) -> dict[int, Locking]:
    """By the first link of a massless chain, the sets of columns of all its links that may be dependent."""
    locks = {}
    for first, below in _massless_chains(tree, alone).items():
        suspect = suspect_columns(series_joint(tree, (first, *below)))
        if suspect:
            locks[first] = Locking(0, suspect, below)
    return locks
