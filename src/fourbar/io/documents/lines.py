"""Where the values of a document are: lines by path, such as ("bodies", 2, "joint", "axis").

Documents are read by the standard library, which forgets the lines. A second pass over the text finds them, only when
something is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...once import cached_property

Path = tuple[str | int, ...]
DEEPEST = 100  # lists and tables inside each other
TOO_DEEP = f"lists and tables are nested deeper than {DEEPEST}"
_STEP = re.compile(r"'((?:[^'\\]|\\.)*)'|\[(\d+)\]|([^.\[\]:'\s]+)")
_HEAD = re.compile(r"(?:'(?:[^'\\]|\\.)*'|\[\d+\]|[^\[\]:'\s])+(?=[:=])")
_QUOTED = re.compile(r"'([^']*)'")
_MANY_DIGITS = re.compile(r"\d{4300,}")  # longer than Python converts to a number


@dataclass
class LinesFound:
    """The result of that pass. `twice`: (path, line) of the first duplicate key."""

    lines: dict[Path, int]
    twice: tuple[Path, int] | None = None
    too_deep: int = 0  # the line at which the nesting is too deep
    odd: dict[str, int] = field(default_factory=dict)  # words that are not values of the format, by line

    def add(self, path: Path, line: int) -> None:
        """Remember where a path is."""
        if path in self.lines and self.twice is None:
            self.twice = path, line
        self.lines.setdefault(path, line)


class DocumentLines:
    """Lines by path; `look` finds them."""

    def __init__(self, look: Callable[[], LinesFound]) -> None:
        self._look = look

    @cached_property
    def result(self) -> LinesFound:
        """The result of the second pass."""
        return self._look()

    def of(self, path: Path) -> int:
        """The line of a path, or of the innermost table around it."""
        for n in range(len(path), -1, -1):
            if path[:n] in self.result.lines:
                return self.result.lines[path[:n]]
        return 1

    def of_message(self, path: Path, message: str) -> int:
        """The line that a message refers to: it begins with a path below `path`, or quotes its last key."""
        at = path
        *heads, rest = _heads(message)
        key = rest.removeprefix("unknown ").partition(" ")[0]
        for step in (step for head in (*heads, key) for step in _steps(head)):
            at = (*at, step) if (*at, step) in self.result.lines else at
        quoted = [(*at, key) for key in _QUOTED.findall(message) if (*at, key) in self.result.lines]
        return self.of(quoted[0] if quoted else at)


@dataclass(frozen=True)
class Document:
    """Plain data, and the lines of it."""

    data: Any
    lines: DocumentLines


def _heads(message: str) -> Iterator[str]:
    """The parts of a message before colons that may be paths in the document, such as joint.axis[2]; then the rest."""
    at = 0
    while found := _HEAD.match(message, at):
        yield found[0]
        at = found.end() + 1
        while message.startswith(" ", at):
            at += 1
    yield message[at:]


def _steps(dotted: str) -> Iterator[str | int]:
    for quoted, index, word in _STEP.findall(dotted):
        yield int(index) if index else (word or quoted)


def long_number(text: str) -> int:
    """The line of a number with too many digits, 0 where there is none."""
    found = _MANY_DIGITS.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def shown_path(path: Path) -> str:
    """A path as text: bodies[2].joint."""
    return "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in path).lstrip(".")


def label(path: Path, content: Any) -> str:
    """A path as text with the name of the table there: bodies[2] 'arm'."""
    name = content.get("name") if isinstance(content, Mapping) else None
    return shown_path(path) + (f" {name[:60]!r}" if isinstance(name, str) else "")
