"""MJCF, through MuJoCo's own compiler: text → spec → compiled model → mechanism."""

from __future__ import annotations

from ...errors import ArgumentError
from ...mechanism.mechanism import Mechanism
from ..loop_repair import report_loops, straighten_axes
from ..report import Report
from ..source import Options, Source
from .compiled import compile_texts
from .convert import convert
from .strict_text import read_texts


def read(source: Source, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in an MJCF file. Its coordinates are MuJoCo's qpos; loops come from the equalities."""
    if options.floating:
        raise ArgumentError(
            f"{source.name}: an MJCF file declares itself which bodies float (<freejoint/>); remove floating="
        )
    reading = options.reading(source)
    texts = read_texts(source, options, reading)
    model, shapes = compile_texts(texts, reading)
    reading.places.update(texts.lines.places_by_name())
    mechanism = convert(model, texts.lines, reading, shapes, options.extra.get("ratios"))
    mechanism = straighten_axes(mechanism, options, reading)
    report_loops(mechanism, reading, texts.lines.of_ours)
    return mechanism, reading.close()
