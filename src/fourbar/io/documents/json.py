"""JSON: what other readers often accept and should not (NaN, duplicate keys) is refused."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from ..report import Place, Reading
from .lines import DEEPEST, TOO_DEEP, Document, DocumentLines, LinesFound, Path, long_number, shown_path

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\[\]{}"]*\]|[{}\[\],:]|[^\s{}\[\],:"]+|"', re.DOTALL)
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


class _Refused(ValueError):
    """Something that is not accepted."""


def read_json(text: str, reading: Reading) -> Document:
    """The data of a JSON text; raises ParseError with the line of what is wrong."""
    lines = DocumentLines(lambda: _look(text))

    def fail(line: int, message: str, fix: str = "") -> NoReturn:
        reading.fail(Place(reading.file, line or 1), message, fix)

    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_constant)
    except json.JSONDecodeError as error:
        if not text.strip():
            fail(1, "the file is empty")
        fix = "this is XML, not JSON: choose the format with format=" if text.lstrip().startswith("<") else ""
        fail(error.lineno, f"column {error.colno}: {error.msg}", fix or "the file is read as JSON")
    except RecursionError:
        fail(lines.result.too_deep, TOO_DEEP)
    except _Refused as error:
        twice = lines.result.twice
        if twice is not None and str(error).startswith("duplicate"):
            fail(twice[1], f"{error} ({shown_path(twice[0])})")
        fail(lines.result.odd.get(str(error).split()[0], 1), str(error))
    except ValueError as error:  # a number of too many digits
        fail(long_number(text), str(error))
    if lines_deep(text) and lines.result.too_deep:
        fail(lines.result.too_deep, TOO_DEEP)
    return Document(data, lines)


def lines_deep(text: str) -> bool:
    """A quick test whether a text may be nested too deeply."""
    return text.count("[") + text.count("{") > DEEPEST


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        label = f" of {table['name'][:60]!r}" if isinstance(table.get("name"), str) else ""
        raise _Refused(f"duplicate key {twice[:60]!r}{label}")
    return table


def _constant(word: str) -> Any:
    raise _Refused(f'{word} is not a JSON number; write a finite number, or "inf" for an absent limit')


def _look(text: str) -> LinesFound:
    """The lines of all tables, keys and items; in a broken text up to where it breaks."""
    lines_found = LinesFound({(): 1})
    stack: list[tuple[Path, bool]] = []  # the path of each open value, and whether it is a table
    path: Path = ()
    key: str | None = None
    item, line, last = 0, 1, 0
    for match in _TOKEN.finditer(text):
        token, start = match[0], match.start()
        line, last = line + text.count("\n", last, start), start
        if token in ("}", "]"):
            path, key = (stack.pop()[0] if stack else ()), None
            item = path[-1] if path and isinstance(path[-1], int) else 0
        elif token == ",":
            if stack and not stack[-1][1]:
                item += 1
                path = (*stack[-1][0], item)
            key = None
        elif token == ":":
            continue
        elif stack and stack[-1][1] and key is None:
            if not token.startswith('"') or len(token) < 2:
                break  # not JSON from here on
            key = _word(token)
            path = (*stack[-1][0], key)
            lines_found.add(path, line)
        else:
            if stack and not stack[-1][1]:
                lines_found.add(path, line)
            for word in _CONSTANTS:
                if word in token and not token.startswith('"'):
                    lines_found.odd.setdefault(word, line)
            if "\n" in token and token.startswith("["):
                _add_items(lines_found, path, token, line)
            if token in ("{", "["):
                stack.append((path, token == "{"))
                key = None
                path, item = (path if token == "{" else (*path, 0)), 0
                if len(stack) > DEEPEST:
                    lines_found.too_deep = line
                    break
    return lines_found


def _add_items(found: LinesFound, path: Path, token: str, line: int) -> None:
    """The lines of the items of a list of scalars."""
    for n, piece in enumerate(token[1:-1].split(",")):
        blank = len(piece) - len(piece.lstrip())
        found.add((*path, n), line + piece.count("\n", 0, blank))
        line += piece.count("\n")


def _word(token: str) -> str:
    try:
        return json.loads(token, strict=False)
    except ValueError:
        return token[1:-1]
