"""The common part of JSON and TOML readers, besides the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import ArgumentError, ModelError
from ...mechanism.mechanism import Mechanism
from ..documents import Document
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
    places = Places(document.data, document.lines, source.name)
    return mechanism, replace(reading.close(), places=places)
