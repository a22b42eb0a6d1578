"""fourbar's own file as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from ...model.mechanism import Mechanism
from ..report import NOTHING, Place, Reading, Report
from ..source import Options, Source
from .whole import read_whole
from .write import to_plain


class _Refused(ValueError):
    """Something that JSON readers often accept, and should not."""


def read(source: Source, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in a JSON file."""
    return read_whole(source, options, _parsed)


def write(mechanism: Mechanism, file: str) -> tuple[str, Report]:
    """The text of a JSON file: one line for every body, frame, loop and configuration."""
    data = to_plain(mechanism, file)
    lines = [f"  {json.dumps(key)}: {_block(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n", NOTHING


def _parsed(text: str, reading: Reading) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_constant)
    except json.JSONDecodeError as error:
        reading.fail(Place(reading.file, error.lineno), f"column {error.colno}: {error.msg}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        label = f" of {found['name']!r}" if "name" in found else ""
        raise _Refused(f"key {twice!r}{label} is there twice")
    return found


def _constant(word: str) -> Any:
    raise _Refused(f'{word} is no number of JSON; write a finite number, or "inf" for a limit that is none')


def _block(value: Any) -> str:
    """A list or table of tables with an item a line."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {_line(x)}" for x in value) + "\n  ]"
    if isinstance(value, dict) and value:
        return (
            "{\n"
            + ",\n".join(f"    {json.dumps(k, ensure_ascii=False)}: {_line(x)}" for k, x in value.items())
            + "\n  }"
        )
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(_without_infinities(value), ensure_ascii=False, allow_nan=False)


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_infinities(x) for key, x in value.items()}
    if isinstance(value, list):
        return [_without_infinities(x) for x in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0.0 else "-inf"
    return value
