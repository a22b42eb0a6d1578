"""fourbar's native file as TOML."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ...mechanism.mechanism import Mechanism
from ..documents import read_toml
from ..export.written_numbers import check_waived
from ..report import NOTHING, Report
from ..source import Options, Source
from .document import read_whole
from .write import to_plain

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read(source: Source, options: Options) -> tuple[Mechanism, Report]:
    """The mechanism in a TOML file."""
    return read_whole(source, options, read_toml)


def write(mechanism: Mechanism, file: str, waive: tuple[str, ...] = ()) -> tuple[str, Report]:
    """The text of a TOML file: a table for every body, frame, loop and configuration."""
    check_waived(waive, ())
    data = to_plain(mechanism, file)
    parts = ["".join(f"{_key(k)} = {_value(x)}\n" for k, x in data.items() if not _is_tables(x))]
    for key, value in data.items():
        if isinstance(value, dict) and not all(isinstance(x, dict) for x in value.values()):
            parts.append(_table(f"[{_key(key)}]", value))
        elif isinstance(value, dict):
            parts += [_table(f"[{_key(key)}.{_key(name)}]", x) for name, x in value.items()]
        elif _is_tables(value):
            parts += [_table(f"[[{_key(key)}]]", x) for x in value]
    return "\n".join(parts), NOTHING


def _is_tables(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _table(head: str, values: dict[str, Any]) -> str:
    return f"{head}\n" + "".join(f"{_key(k)} = {_value(x)}\n" for k, x in values.items())


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(x)}" for k, x in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0.0 else "-inf"
    return repr(value)
