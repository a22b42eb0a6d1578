"""Tables for the terminal, as text."""

from __future__ import annotations

from collections.abc import Sequence


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """One line per label and value."""
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows below a header; the columns numbered in `right` are right-aligned."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]

    def align(line: Sequence[str]) -> str:
        cells = [x.rjust(w) if c in right else x.ljust(w) for c, (x, w) in enumerate(zip(line, widths, strict=True))]
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * w for w in widths)
    return "\n".join([align(lines[0]), rule, *map(align, lines[1:])])


def duration(seconds: float) -> str:
    """A time in a suitable unit, three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
