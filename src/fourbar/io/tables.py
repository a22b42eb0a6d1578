"""Tables of JSON, TOML or YAML, read strictly: what was asked for is marked, what was not is reported."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NoReturn

from .report import Place, Reading
from .source import Source

_REQUIRED = object()


class Table:
    """A mapping of a file; `path` says where it is, such as motors[2]."""

    def __init__(self, content: dict[str, Any], path: str, reading: Reading) -> None:
        self._content = content
        self._read: set[str] = set()
        self.path = path
        self.reading = reading

    @property
    def place(self) -> Place:
        """Where it is, for findings."""
        return Place(self.reading.file, 0, self.path)

    def fail(self, message: str, fix: str = "") -> NoReturn:
        """Refuse this table."""
        self.reading.fail(self.place, message, fix)

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def get(self, key: str, default: Any = _REQUIRED) -> Any:
        """A value of any kind."""
        self._read.add(key)
        if key not in self._content and default is _REQUIRED:
            self.fail(f"{key!r} is missing")
        return self._content.get(key, default)

    def word(self, key: str, default: Any = _REQUIRED) -> str:
        """A text that is not empty."""
        value = self.get(key, default)
        if value is not default and (not isinstance(value, str) or not value):
            self.fail(f"{key}={value!r}: expected a text")
        return value

    def words(self, key: str, default: Any = _REQUIRED) -> list[str]:
        """A list of texts."""
        value = self.get(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(x, str) and x for x in value):
            self.fail(f"{key}={value!r}: expected a list of texts")
        return list(value)

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        """A finite number."""
        value = self.get(key, default)
        return value if value is default else self._number(key, value)

    def numbers(self, key: str, counts: tuple[int, ...], default: Any = _REQUIRED) -> Any:
        """A list of finite numbers, of one of these lengths."""
        value = self.get(key, default)
        if value is default:
            return value
        if not isinstance(value, list) or len(value) not in counts:
            self.fail(f"{key}={value!r}: expected {' or '.join(map(str, counts))} numbers")
        return [self._number(key, x) for x in value]

    def factors(self, key: str) -> dict[str, float]:
        """Finite numbers by name."""
        value = self.get(key)
        if not isinstance(value, dict):
            self.fail(f"{key}={value!r}: expected numbers by name")
        return {str(name): self._number(f"{key}.{name}", x) for name, x in value.items()}

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"{key}={value!r}: expected a finite number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail(f"{key}={str(value)[:60]}: expected a finite number")
        return number

    def tables(self, key: str) -> Iterator[Table]:
        """A list of tables, which may be missing."""
        value = self.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
            self.fail(f"{key}: expected a list of tables")
        for i, content in enumerate(value):
            name = content.get("name")
            label = f"{key}[{i}]" + (f" {name!r}" if isinstance(name, str) else "")
            yield Table(content, f"{self.path}.{label}".lstrip("."), self.reading)

    def close(self) -> None:
        """Report what was not read; in a table that adds to the dynamics, all of it matters."""
        for key in self._content:
            if key not in self._read:
                key = str(key)
                fix = f"known here: {', '.join(sorted(self._read))}"
                self.reading.doubt(self.place, f"{key[:60]!r} is not understood", fix, key)


def read_table(source: Source, reading: Reading) -> Table:
    """The content of a file; its ending says what it is."""
    ending = PurePath(source.name).suffix.lower()
    try:
        if ending == ".toml":
            content = tomllib.loads(source.text)
        elif ending in (".yaml", ".yml"):
            content = _yaml(source, reading)
        else:
            content = json.loads(source.text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        reading.fail(Place(source.name, error.lineno), f"not JSON: {error.msg}")
    except (ValueError, RecursionError) as error:  # tomllib's errors say the line
        if isinstance(error, ValueError) and type(error).__name__ == "ParseError":
            raise
        reading.fail(Place(source.name), f"cannot be read: {error}")
    if not isinstance(content, dict):
        reading.fail(Place(source.name), "expected a table (mapping) at the top")
    return Table(content, "", reading)


def _yaml(source: Source, reading: Reading) -> Any:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        reading.fail(
            Place(source.name), "reading YAML needs PyYAML", 'pip install "fourbar[yaml]", or write JSON or TOML'
        )
    try:
        return yaml.safe_load(source.text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reading.fail(Place(source.name, mark.line + 1 if mark else 0), f"not YAML: {getattr(error, 'problem', error)}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a finite number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} is there twice")
    return content
