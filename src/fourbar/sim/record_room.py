"""Whether the records of a motion fit into memory, said before they are allocated."""

from __future__ import annotations

import math
import os

from ..errors import ArgumentError

_BYTES = 8  # of a number
_ADDRESSES = 2.0**62  # bytes that arrays can have


def memory() -> float:
    """The memory of this machine in bytes; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return float("inf")


def check_room(caller: str, steps: int, every: int, numbers: int) -> None:
    """Refuse a motion whose records, of so many numbers each, are larger than the memory of this machine."""
    records, available = 2 + steps // every, memory()
    needed = float(records) * _BYTES * numbers
    if needed <= min(available, _ADDRESSES):
        return
    has = f"this machine has {_gigabytes(available)}" if available < needed else "no machine has that much"
    fitting = 0.1 * min(available, _ADDRESSES) / (_BYTES * numbers)
    exponent = max(1, math.ceil(math.log10(float(steps) / fitting)))
    raise ArgumentError(
        f"{caller}: {steps:.4g} steps with a record of every {_ordinal(every)} are {records:.4g} records, which need "
        f"{_gigabytes(needed)} of memory; {has}. Record fewer of them, such as every=10**{exponent}, or simulate a "
        "shorter time or fewer samples"
    )


def _gigabytes(x: float) -> str:
    return f"{x / 1e9:.3g} GB"


def _ordinal(every: int) -> str:
    return "one" if every == 1 else f"{every}th"
