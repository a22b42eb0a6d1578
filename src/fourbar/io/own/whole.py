"""What reading JSON and TOML share besides the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import ArgumentError, ModelError
from ...model.mechanism import Mechanism
from ..report import Place, Reading, Report
from ..source import Options, Source
from .read import from_plain


def read_whole(source: Source, options: Options, parsed: Callable[[str, Reading], Any]) -> tuple[Mechanism, Report]:
    """The mechanism in a file whose text `parsed` turns into tables."""
    if options.floating is not False:
        raise ArgumentError(
            f"{source.name}: floating= is for formats that do not say how the root is carried; this one does. Use "
            "robot.sub(root, joint=Free()) on the robot"
        )
    reading = options.reading(source)
    try:
        mechanism = from_plain(parsed(source.text, reading), reading)
    except RecursionError:
        reading.fail(Place(reading.file), "lists and tables are nested too deeply")
    except (ValueError, OverflowError) as error:
        if isinstance(error, ModelError):
            raise
        reading.fail(Place(reading.file), str(error))  # numbers of too many digits, dates that are none
    return mechanism, reading.close()
