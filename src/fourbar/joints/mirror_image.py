"""The mirror image of a joint: another joint, and the maps of coordinates and velocities to those of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .base import Joint

Rows = tuple[tuple[float, ...], ...]


class Mirrored(NamedTuple):
    """The image of a joint, and the orthogonal matrices that take coordinates and velocities to those of the image."""

    joint: Joint
    q: Rows
    v: Rows


def diagonal(*entries: float) -> Rows:
    """A diagonal matrix."""
    return tuple(tuple(x if i == j else 0.0 for j in range(len(entries))) for i, x in enumerate(entries))


def blocks(*blocks: Rows) -> Rows:
    """A block-diagonal matrix."""
    width, at, rows = sum(map(len, blocks)), 0, []
    for block in blocks:
        rows += [(0.0,) * at + tuple(row) + (0.0,) * (width - at - len(block)) for row in block]
        at += len(block)
    return tuple(rows)


ONE = diagonal(1.0)
