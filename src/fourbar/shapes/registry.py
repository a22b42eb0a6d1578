"""Every kind of shape, with examples.

Adding one: a class with its parts in a file of its own, and one line `register(Kind, examples...)` here. Models may
then hold it, files by its `words` and `mjcf`, and the conformance test takes its examples. A program that has a shape
of its own calls `fourbar.shapes.register` as well.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from .ball import SinglePoint, Sphere
from .base import FileWords, ShapeType
from .box import Box
from .capsule import Capsule
from .cylinder import Cylinder
from .ellipsoid import Ellipsoid
from .endless import HalfSpace, HeightMap
from .hull import ConvexHull
from .mesh import Mesh

TYPES: dict[str, type[ShapeType]] = {}
EXAMPLES: dict[str, tuple[ShapeType, ...]] = {}


def register(kind: type[ShapeType], *examples: ShapeType) -> type[ShapeType]:
    """Make a kind of shape known by its name, with examples for tests; returns it, so that it may decorate a class.

    Parameters
    ----------
    kind : type
        A dataclass that derives from `ShapeType`; its class variable `kind` is its name.
    *examples : ShapeType
        Shapes of that kind.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    ModelError
        If it is no such class, or its name is that of another.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from fourbar.shapes import ShapeType, register
    >>> @dataclass(frozen=True)
    ... class Needle(ShapeType):
    ...     length: float
    ...     kind = "needle"
    ...     sizes = ("length",)
    >>> register(Needle, Needle(0.1)).__name__
    'Needle'
    """
    if not (isinstance(kind, type) and issubclass(kind, ShapeType) and is_dataclass(kind)):
        raise ModelError(f"register: expected a dataclass that derives from ShapeType, got {kind!r}")
    name = getattr(kind, "kind", None)
    if not isinstance(name, str) or not name:
        raise ModelError(f"register: {kind.__name__} needs a name: kind = 'cone'")
    known = TYPES.get(name, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ModelError(f"register: a shape called {name!r} is registered already: {known!r}")
    wrong = [x for x in examples if type(x) is not kind]
    if wrong:
        raise ModelError(f"register: the examples of {kind.__name__} are of that type, got {wrong[0]!r}")
    TYPES[name], EXAMPLES[name] = kind, examples
    return kind


def shape_type(kind: Any, what: str = "shape") -> type[ShapeType]:
    """The class of a kind of shape by name."""
    if not isinstance(kind, str) or kind not in TYPES:
        raise ModelError(f"{what}: unknown kind {kind!r}; expected one of {', '.join(TYPES)}")
    return TYPES[kind]


def kinds_of_numbers(*parts: str) -> list[str]:
    """The kinds that numbers alone say, and that have these parts, by the names of methods."""
    return [name for name, kind in TYPES.items() if _is_of_numbers(kind, parts) and all(map(kind.has, parts))]


def _is_of_numbers(kind: type[ShapeType], parts: tuple[str, ...]) -> bool:
    """Whether numbers say what a shape is; a point is no solid that has a distance."""
    return kind.is_of_numbers() and (bool(kind.sizes) or "distance" not in parts)


def read_shape(what: str, kind: Any, size: Any, parts: tuple[str, ...] = ()) -> ShapeType:
    """A shape by its kind and the numbers that say how large it is; it must have some parts, by name."""
    known = TYPES.get(kind) if isinstance(kind, str) else None
    if known is None or not _is_of_numbers(known, parts):
        raise ModelError(f"{what}: kind must be one of {', '.join(kinds_of_numbers(*parts))}, got {kind!r}")
    try:
        numbers = np.atleast_1d(np.asarray(size, float))
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(1, np.nan)
    if numbers.shape != (len(known.sizes),) or not ((numbers > 0.0) & (numbers < np.inf)).all():
        wanted = ", ".join(known.sizes) or "no size"
        raise ModelError(f"{what}: a {known.kind} takes {wanted}, above zero; got {size!r}")
    shape = known(*numbers.tolist())
    for part in parts:
        if not known.has(part):
            try:
                shape.lacks(part)
            except ModelError as error:
                usable = ", ".join(kinds_of_numbers(*parts))
                raise ModelError(f"{what}: {error}; kind must be one of {usable}") from None
    return shape


def words_of_files() -> dict[str, tuple[type[ShapeType], FileWords]]:
    """The kinds that URDF and SDF have words for, by their tags."""
    return {words.tag: (kind, words) for kind in TYPES.values() for words in kind.words}


_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])

register(SinglePoint, SinglePoint())
register(Sphere, Sphere(0.3))
register(Capsule, Capsule(0.1, 0.4))
register(Box, Box(0.2, 0.3, 0.5))
register(Cylinder, Cylinder(0.2, 0.5), Cylinder(0.3, 0.1))
register(Ellipsoid, Ellipsoid(0.1, 0.2, 0.3))
register(HalfSpace, HalfSpace())
register(Mesh)
register(HeightMap, HeightMap(1.0, 2.0, 0.5, ((0.0, 0.1), (0.2, 0.0))))
register(
    ConvexHull, ConvexHull.around(_CORNERS * (0.1, 0.2, 0.3) + 0.05 * _CORNERS[:, ::-1] * (1, 0, 0)),
    ConvexHull(((0.0, 0.0, 0.1), (0.3, 0.0, 0.0), (0.0, 0.2, 0.0), (-0.1, -0.1, -0.1))),
)  # fmt: skip
