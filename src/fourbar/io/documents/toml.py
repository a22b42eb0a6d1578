"""TOML, by the standard library."""

from __future__ import annotations

import re
import tomllib
from typing import NoReturn

from ..report import Place, Reading
from .lines import DEEPEST, TOO_DEEP, Document, DocumentLines, LinesFound, Path, long_number

_AT = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|\n'
    r"|[\[\]{},=.]|[^\s\[\]{},=.\"'#]+|[\"']",
    re.DOTALL,
)


_PART = re.compile(r"[A-Za-z0-9_-]+|\"[^\n]*\"|'[^\n]*'")  # of a key
_MANY_DOTS = re.compile(rf"(?:\.[^.=\n]*){{{DEEPEST}}}")


def read_toml(text: str, reading: Reading) -> Document:
    """The data of a TOML text; raises ParseError with the line of what is wrong."""
    lines = DocumentLines(lambda: _Look(text).result)

    def fail(line: int, message: str) -> NoReturn:
        fix = "this is XML, not TOML: choose the format with format=" if text.lstrip().startswith("<") else ""
        reading.fail(Place(reading.file, line or 1), message, fix)

    deep = _deep_key(text)
    if deep:
        fail(deep, TOO_DEEP)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.fullmatch(str(error))
        message, line, column = (found[1], found[2], found[3]) if found else (str(error), None, None)
        fail(int(line) if line else text.count("\n") + 1, f"column {column}: {message}" if column else message)
    except RecursionError:
        fail(lines.result.too_deep, TOO_DEEP)
    except (ValueError, OverflowError) as error:  # numbers with too many digits, invalid dates
        fail(long_number(text), str(error))
    return Document(data, lines)


def _deep_key(text: str) -> int:
    """The line of a key with too many parts, 0 where there is none: each is a table, and the time to read them grows
    with the square of their number.
    """
    if not _MANY_DOTS.search(text):
        return 0
    parts, line, last = 0, 1, 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        line, last = line + text.count("\n", last, match.start()), match.start()
        parts = parts + 1 if token == "." else parts if _PART.fullmatch(token) else 0
        if parts >= DEEPEST:
            return line
    return 0


class _Look:
    """Walks over the tokens of a text that the standard TOML reader accepted, or refused further down."""

    def __init__(self, text: str) -> None:
        self.result = LinesFound({(): 1})
        self.tokens: list[tuple[str, int]] = []
        line, last = 1, 0
        for match in _TOKEN.finditer(text):
            line, last = line + text.count("\n", last, match.start()), match.start()
            if not match[0].startswith("#"):
                self.tokens.append((match[0], line))
        self.at, self.table = 0, ()
        self.counts: dict[Path, int] = {}  # of arrays of tables
        while self.at < len(self.tokens) and not self.result.too_deep:
            self._statement()

    def _next(self) -> tuple[str, int]:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ("", 0)
        self.at += 1
        return token

    def _peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _statement(self) -> None:
        token, line = self._next()
        if token == "[":
            array = self._peek() == "["
            self.at += array
            keys = self._keys(self._next()[0])
            if array:
                around = self._place(keys[:-1])
                n = self.counts[(*around, keys[-1])] = self.counts.get((*around, keys[-1]), -1) + 1
                self.result.lines.setdefault((*around, keys[-1]), line)
                self.table = (*around, keys[-1], n)
            else:
                self.table = self._place(keys)
            self._add(self.table, line)
            self._skip_to("\n")
        elif token not in ("\n", ""):
            self._assignment(self.table, token, line)

    def _place(self, keys: list[str]) -> Path:
        """Keys of a header, with the indices of the last tables of arrays."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self.counts:
                path = (*path, self.counts[path])
        return path

    def _keys(self, first: str) -> list[str]:
        """A dotted key."""
        keys = [_word(first)]
        while self._peek() == ".":
            self._next()
            keys.append(_word(self._next()[0]))
        return keys

    def _assignment(self, table: Path, first: str, line: int) -> None:
        path = (*table, *self._keys(first))
        self._add(path, line)
        if self._peek() == "=":
            self._next()
            self._value(path)

    def _add(self, path: Path, line: int) -> None:
        for n in range(1, len(path) + 1):
            self.result.lines.setdefault(path[:n], line)

    def _value(self, path: Path, depth: int = 0) -> None:
        token, line = self._next()
        if depth >= DEEPEST:
            self.result.too_deep = self.result.too_deep or line
        elif token == "[":
            n = 0
            while self._peek() not in ("]", "") and not self.result.too_deep:
                if self._peek() in ("\n", ","):
                    n += self._next()[0] == ","
                    continue
                self._add((*path, n), self.tokens[self.at][1])
                self._value((*path, n), depth + 1)
            self._next()
        elif token == "{":
            while self._peek() not in ("}", "") and not self.result.too_deep:
                token, line = self._next()
                if token in ("\n", ","):
                    continue
                inner = (*path, *self._keys(token))
                self._add(inner, line)
                if self._peek() == "=":
                    self._next()
                    self._value(inner, depth + 1)
            self._next()
        else:  # a scalar, possibly with dots
            while self._peek() not in ("\n", ",", "]", "}", ""):
                self._next()

    def _skip_to(self, token: str) -> None:
        while self._peek() not in (token, ""):
            self._next()


def _word(token: str) -> str:
    try:
        return next(iter(tomllib.loads(f"{token} = 0")))
    except (ValueError, RecursionError):
        return token
