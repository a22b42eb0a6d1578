"""The common part of JSON and TOML readers, besides the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import ArgumentError, ModelError
from ...mechanism.geometry import Geometry
from ...mechanism.mechanism import Mechanism
from ..documents import Document
from ..meshes import Meshes
from ..report import Place, Reading, Report
from ..source import Options, Source
from .read import Places, from_plain


def read_whole(
    source: Source, options: Options, parsed: Callable[[str, Reading], Document]
) -> tuple[Mechanism, Report]:
    """The mechanism in a file whose text `parsed` turns into tables."""
    if options.floating is not False:
        raise ArgumentError(
            f"{source.name}: floating= is for formats that do not say how the root is attached; this one does. Use "
            "robot.sub(root, joint=Free()) on the robot"
        )
    reading = options.reading(source)
    document = parsed(source.text, reading)
    try:
        mechanism = from_plain(document, reading)
    except (ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        reading.fail(Place(reading.file, 1), str(error))
    mechanism = _with_meshes(mechanism, Meshes(options.folders, source.folder))
    places = Places(document.data, document.lines, source.name)
    return mechanism, replace(reading.close(), places=places)


def _with_meshes(mechanism: Mechanism, meshes: Meshes) -> Mechanism:
    """The mechanism with the files of its meshes, where they are found."""

    def found(shapes: tuple[Geometry, ...]) -> tuple[Geometry, ...]:
        return tuple(replace(x, file=meshes.find(x.mesh).path) if x.mesh else x for x in shapes)

    bodies = tuple(replace(body, geometry=found(body.geometry)) for body in mechanism.bodies)
    return replace(mechanism, bodies=bodies, world=found(mechanism.world))
