"""Tables of JSON, TOML or YAML, read strictly: what was asked for is marked, the rest is reported."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, NoReturn

from ..errors import ArgumentError, ModelError
from ..joints.serialize import shorten
from .documents import DocumentLines, read_json, read_toml, read_yaml
from .documents.lines import Path, label
from .numbers import NotANumber, read_number
from .report import ParseError, Place, Reading
from .source import Source

_REQUIRED = object()


class Table:
    """A mapping of a file; `at` is its path, such as ("motors", 2)."""

    def __init__(self, content: dict[str, Any], at: Path, reading: Reading, lines: DocumentLines) -> None:
        self._content = content
        self._read: set[str] = set()
        self._at, self._lines = at, lines
        self.reading = reading

    @property
    def path(self) -> str:
        """Where it is, as text."""
        return label(self._at, self._content)

    @property
    def place(self) -> Place:
        """Where it is, for findings."""
        return self.place_of()

    def place_of(self, *key: str) -> Place:
        """Where it, or a key of it, is."""
        return Place(self.reading.file, self._lines.of((*self._at, *key)), self.path)

    def fail(self, message: str, fix: str = "", *key: str) -> NoReturn:
        """Refuse this table, or a key of it."""
        self.reading.fail(self.place_of(*key), message, fix)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """A context for building from this table: refusals get the line of what they name."""
        try:
            yield
        except ParseError:
            raise
        except ModelError as error:
            line = self._lines.of_message(self._at, str(error))
            self.reading.fail(Place(self.reading.file, line, self.path), str(error))

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
            self.fail(f"{key}={shorten(value)}: expected a text", "", key)
        return value

    def words(self, key: str, default: Any = _REQUIRED) -> list[str]:
        """A list of texts."""
        value = self.get(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(x, str) and x for x in value):
            self.fail(f"{key}={shorten(value)}: expected a list of texts", "", key)
        return list(value)

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        """A finite number."""
        value = self.get(key, default)
        return value if value is default else self._number(key, value, key)

    def numbers(self, key: str, counts: tuple[int, ...], default: Any = _REQUIRED) -> Any:
        """A list of finite numbers, of one of these lengths."""
        value = self.get(key, default)
        if value is default:
            return value
        if not isinstance(value, list) or len(value) not in counts:
            self.fail(f"{key}={shorten(value)}: expected {' or '.join(map(str, counts))} numbers", "", key)
        return [self._number(key, x, key) for x in value]

    def matrix(self, key: str) -> list[list[float]]:
        """A square matrix of finite numbers, row by row."""
        rows = self.get(key)
        n = len(rows) if isinstance(rows, list) else 0
        if not n or not all(isinstance(row, list) and len(row) == n for row in rows):
            self.fail(f"{key}={shorten(rows)}: expected a square matrix, a list of its rows", "", key)
        return [[self._number(key, x, key) for x in row] for row in rows]

    def factors(self, key: str) -> dict[str, float]:
        """Finite numbers by name."""
        value = self.get(key)
        if not isinstance(value, dict):
            self.fail(f"{key}={shorten(value)}: expected numbers by name", "", key)
        return {str(name): self._number(f"{key}.{str(name)[:60]}", x, key, str(name)) for name, x in value.items()}

    def without(self, *keys: str) -> dict[str, Any]:
        """All entries but these, for a reader of plain tables, who finds what is wrong in them."""
        self._read.update(self._content)
        return {key: value for key, value in self._content.items() if key not in keys}

    def words_in_it(self) -> Iterator[tuple[str, Place]]:
        """The names that a table declares or uses, each with its place."""
        for key, value in self._content.items():
            names = [value] if isinstance(value, str) else value if isinstance(value, dict) else ()
            yield from ((name, self.place_of(key)) for name in names if isinstance(name, str))

    def _number(self, what: str, value: Any, *key: str) -> float:
        try:
            number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail(f"{what}={shorten(value)}: expected a finite number", _hint(value), *key)
        return number

    def tables(self, key: str) -> Iterator[Table]:
        """A list of tables, which may be missing."""
        value = self.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
            self.fail(f"{key}: expected a list of tables, got {shorten(value)}", "", key)
        for i, content in enumerate(value):
            yield Table(content, (*self._at, key, i), self.reading, self._lines)

    def close(self) -> None:
        """Report what was not read; in a table that adds to the dynamics, all of it matters."""
        for key in self._content:
            if key not in self._read:
                place, key = self.place_of(key), str(key)
                fix = f"known keys: {', '.join(sorted(self._read))}"
                self.reading.doubt(place, f"{key[:60]!r} is not understood", fix, key[:60])


def read_table(source: Source, reading: Reading) -> Table:
    """The content of a file; its ending determines the format."""
    readers = {".json": read_json, ".toml": read_toml, ".yaml": read_yaml, ".yml": read_yaml}
    ending = PurePath(source.name).suffix.lower()
    if ending not in readers:
        raise ArgumentError(f"{source.name}: a side-car file ends in {', '.join(readers)}, not in {ending!r}")
    document = readers[ending](source.text, reading)
    if not isinstance(document.data, dict):
        reading.fail(Place(source.name, 1), f"expected a table (mapping) at the top, got {shorten(document.data)}")
    return Table(document.data, (), reading, document.lines)


def _hint(value: Any) -> str:
    """A hint for a text that is nearly a number: YAML reads 1e-5 as text."""
    try:
        return f"write {read_number(value)!r}, which is a number" if isinstance(value, str) else ""
    except NotANumber as error:
        return str(error)
