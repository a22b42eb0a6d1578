"""fourbar's native file as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from ...mechanism.mechanism import Mechanism
from ..documents import read_json
from ..export.written_numbers import check_waived
from ..report import NOTHING, Report
from ..source import Options, Source
from .document import read_whole
from .write import to_plain


def read(source: Source, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in a JSON file."""
    return read_whole(source, options, read_json)


def write(mechanism: Mechanism, file: str, waive: tuple[str, ...] = ()) -> tuple[str, Report]:
    """The text of a JSON file: one line for every body, frame, loop and configuration."""
    check_waived(waive, ())
    data = to_plain(mechanism, file)
    lines = [f"  {json.dumps(key)}: {_block(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n", NOTHING


def _block(value: Any) -> str:
    """A list or table of tables with one item per line."""
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
