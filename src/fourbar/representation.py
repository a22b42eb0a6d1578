"""Objects in notebooks: small HTML tables, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_ROWS = 20  # that a table shows
_NAMES = 8  # that a list of names shows


def quantity(number: int, noun: str, several: str = "") -> str:
    """A number with its noun: '1 body', '2 bodies'."""
    return f"{number} {noun if number == 1 else several or noun + 's'}"


def abbreviate(names: Sequence[str]) -> str:
    """Names as one text: the first few, and how many there are besides."""
    left = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f", ... and {left} more" if left > 0 else "")


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; of many rows the first, and how many there are besides."""
    from html import escape  # which computing does not need

    every = list(rows)
    lines = [[escape(str(cell)) for cell in row] for row in every[:_ROWS]]
    if len(every) > _ROWS:
        lines.append([f"... and {len(every) - _ROWS} more", *[""] * (len(header) - 1)])
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
    caption = f"<caption>{escape(caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
