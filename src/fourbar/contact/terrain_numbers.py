"""Numbers of terrain that differ from sample to sample: "terrain.normal", "terrain.heights", "terrain.friction", ...

A number is a `Parameter` with the owners "terrains": `place` is the terrain's, `field` the name that the terrain has
for it. The first terrain is called "terrain", others as in the names of contacts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from ..expr import maximum
from ..functions.varied_context import argument_names
from ..spatial.linear import Scalar, Vec
from ..tree.parameters import Parameter
from .candidates import Candidate, Spec
from .terrain import SurfacePoint, Terrain

TERRAINS = "terrains"
FRICTION = "friction"


def numbers_of(names: Sequence[str], terrains: Sequence[Terrain]) -> dict[str, tuple[Parameter, np.ndarray]]:
    """All numbers of terrains that may differ, by name, each with its nominal value."""
    found = {}
    for place, (owner, terrain) in enumerate(zip(names, terrains, strict=True)):
        values = dict(terrain.variable)
        if terrain.material.friction is not None:
            values[FRICTION] = terrain.material.friction
        for field, value in values.items():
            array = np.array(value, float)
            parameter = Parameter(f"{owner}.{field}", array.shape, TERRAINS, place, field)
            found[parameter.name] = parameter, array
    return found


@dataclass(frozen=True)
class VariedTerrain:
    """Terrain with numbers that are given."""

    terrain: Terrain
    numbers: Mapping[str, Any]

    @property
    def flat(self) -> bool:
        """Whether it is a plane."""
        return self.terrain.flat

    @property
    def looks(self) -> int:
        """How often it is looked at for a ball."""
        return self.terrain.looks

    def surface(self, point: Vec) -> SurfacePoint:
        """The distance of a point of the world from it, and the direction out."""
        return self.terrain.surface_with(point, self.numbers)


Given = tuple[tuple[str, Any], ...]  # numbers by the names that a terrain has for them


def _nested(entries: Iterator[Scalar], shape: tuple[int, ...]) -> Any:
    """Scalars one after the other as nested tuples."""
    if not shape:
        return next(entries)
    if len(shape) == 1:
        return Vec(islice(entries, shape[0]))
    return tuple(_nested(entries, shape[1:]) for _ in range(shape[0]))


class TerrainNumbers:
    """The terrains with the numbers given in a recording: `given` holds the flat entries of arguments by name."""

    def __init__(self, spec: Spec, given: Mapping[str, tuple[Any, ...]]) -> None:
        named = zip(argument_names(spec.numbers), spec.numbers, strict=True)
        self._found = {(x.place, x.field): _nested(iter(given[name]), x.shape) for name, x in named}

    def of(self, candidate: Candidate) -> Given:
        """The given numbers of the terrain of a candidate, but for friction."""
        place = None if candidate.footing is None else candidate.footing.terrain
        return tuple((field, x) for (at, field), x in self._found.items() if at == place and field != FRICTION)

    def friction(self, candidate: Candidate) -> tuple[Any, float] | None:
        """The friction of its terrain, and its own; None where that of the terrain is not given, or does not count."""
        footing = candidate.footing
        if footing is None or footing.friction is None or (footing.terrain, FRICTION) not in self._found:
            return None
        return self._found[footing.terrain, FRICTION], footing.friction


def mixed_friction(of_terrain: Scalar, own: float) -> Scalar:
    """The larger of two coefficients."""
    return maximum(of_terrain, own) if own else of_terrain


def with_numbers(geometry: Any, given: Given) -> Any:
    """The geometry of a contact on terrain with numbers that are given."""
    if not given:
        return geometry
    terrain = VariedTerrain(geometry.terrain, dict(given))
    return geometry.on(terrain) if hasattr(geometry, "on") else replace(geometry, terrain=terrain)
