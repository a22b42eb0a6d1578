"""YAML, by PyYAML's safe loader; duplicate keys, which it would overwrite, are refused."""

from __future__ import annotations

from typing import Any

from ...errors import extra
from ..report import ParseError, Place, Reading
from .lines import DEEPEST, TOO_DEEP, Document, DocumentLines, LinesFound, Path, long_number, shown_path

MOST = 100_000  # values of a document with all aliases expanded


def read_yaml(text: str, reading: Reading) -> Document:
    """The data of a YAML text; raises ParseError with the line of what is wrong."""
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        fix = f"{extra('yaml')}, or write JSON or TOML"
        reading.fail(Place(reading.file, 1), "reading YAML needs PyYAML", fix)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        lines_found = _look(root, yaml)
        if _expanded_size(root, yaml) > MOST:
            message = f"its aliases and merged keys expand to more than {MOST} values"
            reading.fail(Place(reading.file, 1), message, "write the values out")
        if lines_found.too_deep:
            reading.fail(Place(reading.file, lines_found.too_deep), TOO_DEEP)
        if lines_found.twice is not None:
            path, line = lines_found.twice
            reading.fail(Place(reading.file, line), f"duplicate key {shown_path(path)[:200]!r}")
        data = yaml.safe_load(text)
    except ParseError:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = mark.line + 1 if mark else _faulty_line(text, error)
        reading.fail(Place(reading.file, line), f"not YAML: {getattr(error, 'problem', None) or error}"[:300])
    except RecursionError:
        reading.fail(Place(reading.file, 1), TOO_DEEP)
    except (ValueError, OverflowError, TypeError, AttributeError, KeyError, IndexError) as error:
        # what looks like a number, a date or a key but is invalid
        reading.fail(Place(reading.file, long_number(text) or 1), f"a value cannot be read: {error}"[:300])
    return Document(data, DocumentLines(lambda: lines_found))


def _expanded_size(root: Any, yaml: Any) -> float:
    """The number of values of a document with all aliases expanded; infinity where one contains itself."""
    known: dict[int, float] = {}
    stack = [(root, False)] if root is not None else []
    while stack:
        node, done = stack.pop()
        inside = [] if isinstance(node, yaml.ScalarNode) else node.value
        parts = [x for pair in inside for x in pair] if isinstance(node, yaml.MappingNode) else inside
        if done:
            known[id(node)] = 1.0 + sum(known[id(x)] for x in parts)
        elif id(node) not in known:
            known[id(node)] = float("inf")  # while it is open: a value that contains itself is infinite
            stack.append((node, True))
            stack.extend((x, False) for x in parts)
    return known.get(id(root), 0.0)


def _faulty_line(text: str, error: Any) -> int:
    """The line of a character that YAML does not allow."""
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 1


def _look(root: Any, yaml: Any) -> LinesFound:
    """The lines of all nodes; aliases are visited once."""
    lines_found = LinesFound({(): 1})
    stack: list[tuple[Any, Path]] = [(root, ())] if root is not None else []
    seen: set[int] = set()
    while stack:
        node, path = stack.pop()
        if len(path) > DEEPEST:
            lines_found.too_deep = node.start_mark.line + 1
            break
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            inner = [((*path, n), item, item) for n, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if isinstance(key.value, str)]
            inner = [((*path, key.value), key, value) for key, value in pairs if key.value != "<<"]
        else:
            continue
        for own, marked, value in inner:
            lines_found.add(own, marked.start_mark.line + 1)
            stack.append((value, own))
    return lines_found
