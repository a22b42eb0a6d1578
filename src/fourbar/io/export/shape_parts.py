"""The elements of URDF and SDF for shapes, by the words that the kinds of shapes have for these files."""

from __future__ import annotations

from typing import NamedTuple

from ...shapes.base import ShapeType


class ShapeParts(NamedTuple):
    """The tag of a shape, and its sizes by attribute (URDF) or child (SDF)."""

    tag: str
    numbers: dict[str, list[float]]


def write_parts(shape: ShapeType) -> ShapeParts | None:
    """A shape in the first of its words; None if it has none."""
    if not shape.words:
        return None
    words, sizes = shape.words[0], list(shape.numbers)
    numbers: dict[str, list[float]] = {}
    for name, count in words.parts:
        numbers[name], sizes = sizes[:count], sizes[count:]
    return ShapeParts(words.tag, numbers)
