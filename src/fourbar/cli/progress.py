"""Progress on the terminal: tqdm's bar, or plain dots where tqdm is not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from ..errors import extra


def progress(steps: Iterable[int]) -> Iterable[int]:
    """The same steps, with a progress display on stderr."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _plain(cast(Sequence[int], steps))
    return tqdm(steps, desc="simulating", unit=" steps", unit_scale=True, leave=False, disable=None)


def _plain(steps: Sequence[int]) -> Iterator[int]:
    print(f"simulating (for a progress bar: {extra('plot')}) ", end="", file=sys.stderr, flush=True)
    tenth = max(1, len(steps) // 10)
    for i in steps:
        yield i
        if (i + 1) % tenth == 0:
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
