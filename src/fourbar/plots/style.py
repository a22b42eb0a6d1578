"""The style of all pictures. matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import ArgumentError, extra

COLOURS = ("#1f5fa8", "#d1701c", "#3a8f4d", "#8c4aa0", "#b03a48", "#4a8f99", "#8a6d3b", "#5c5c5c")
_DASHES = ("-", "--", ":", "-.")
_MOST = 24  # letters that fit beside a picture
DARK, PALE, EDGE = "#333333", "#b5b5b5", "#888888"
STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": EDGE,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "figure.titlesize": 12,
    "font.size": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def load_matplotlib() -> Any:
    """matplotlib, or an error that says how to install it."""
    try:
        import matplotlib

        return matplotlib
    except ImportError:
        raise ArgumentError(f"pictures need matplotlib, which is not installed: {extra('plot')}") from None


@contextmanager
def drawing(width: float, height: float, title: str) -> Iterator[Any]:
    """A new figure (inches) to draw on, in our style; it belongs to no window, and settings stay as they were."""
    with load_matplotlib().rc_context(STYLE):
        from .figure import Picture

        figure = Picture(figsize=(width, height), layout="constrained")
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold")
        yield figure


def colour(number: int) -> str:
    """One of the colours."""
    return COLOURS[number % len(COLOURS)]


def dashes(number: int) -> str:
    """The line of a number: solid while there are colours, then dashed, dotted and both."""
    return _DASHES[number // len(COLOURS) % len(_DASHES)]


def too_long(names: Iterable[str]) -> bool:
    """Whether names do not fit beside a picture as they are."""
    return any(len(name) > _MOST for name in names)


def labels(names: Sequence[str], short: bool) -> list[str]:
    """Names beside a picture: where they are to be short without the word in which all end, and those that are still
    too long with dots inside, but never two alike."""
    if short:
        names = without_ending(names)
    found = [shorten(name) for name in names]
    return found if len(set(found)) == len(set(names)) else list(names)


def without_ending(names: Sequence[str]) -> list[str]:
    """Names without the word in which all of several end, such as _joint."""
    ending = names[0][max(names[0].rfind(mark) for mark in "_-. ") :] if len(names) > 1 else ""
    if 1 < len(ending) < len(names[0]) and all(name.endswith(ending) and name != ending for name in names):
        return [name.removesuffix(ending) for name in names]
    return list(names)


def shorten(name: str, most: int = _MOST) -> str:
    """A name that fits beside a picture."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most - most // 2) :]}"
