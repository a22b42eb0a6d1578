"""What the README says of speed, as the bars of `--strict`. Rows may take a quarter longer, for other machines."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

TOLERANCE = 1.25
_README = Path(__file__).resolve().parents[1] / "README.md"


@cache
def _cells() -> dict[tuple[str, str], str]:
    """The cells of all tables by the titles of their rows and columns."""
    cells: dict[tuple[str, str], str] = {}
    columns: list[str] | None = None
    for line in _README.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            columns = None
            continue
        title, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        if columns is None:
            columns = rest
        cells.update({(title, column): cell for column, cell in zip(columns, rest, strict=False)})
    return cells


def said(row: str, column: str) -> float | None:
    """The ratio in brackets, else the number, of a cell; None if there is none. A row is found by how it begins."""
    texts = [cell for (title, name), cell in _cells().items() if title.startswith(row) and name == column]
    if len(texts) > 1:
        raise LookupError(f"{len(texts)} rows of the README begin with {row!r}")
    numbers = re.findall(r"\(([\d.]+)x\)", texts[0]) or re.findall(r"^[\d.]+", texts[0]) if texts else []
    return float(numbers[0]) if numbers else None


def said_in_words(pattern: str) -> float:
    """The number in a sentence, by a pattern with one group."""
    (number,) = re.findall(pattern, " ".join(_README.read_text(encoding="utf-8").split()))
    return float(number)


class Bars:
    """Judges ratios by what the README says, and remembers which fell short."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def at_least(self, row: str, column: str, ratio: float) -> str:
        """A note on how many times faster than a peer something is; empty where the README is silent."""
        bar = said(row, column)
        return "" if bar is None else self.judge(f"{row}, {column}", ratio, bar)

    def judge(self, label: str, ratio: float, bar: float) -> str:
        """The note for a bar that was read elsewhere."""
        met = ratio >= bar / TOLERANCE
        if not met:
            self.missed.append(f"{label}: {ratio:.1f}x, README {bar:g}x")
        return f" (README {bar:g}x{'' if met else ', MISSED'})"

    def finish(self) -> int:
        """Say what fell short; the exit status, non-zero only with `--strict`."""
        for row in self.missed:
            print(f"falls short of the README by more than a quarter: {row}")
        return int(bool(self.missed) and "--strict" in sys.argv)


BARS = Bars()


def asked_robots() -> list[str]:
    """The names on the command line, without options."""
    return [x for x in sys.argv[1:] if not x.startswith("--")]
