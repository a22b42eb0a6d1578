"""Errors that end a motion: they carry the states so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def states_attached(caller: str, time: Callable[[], float], run: Callable[[BaseException], Any]) -> Iterator[None]:
    """Attach `run(error)`, the motion up to the time that was reached (s), to an error or interrupt that ends it."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        error.run = run(error)  # type: ignore[attr-defined]
        error.add_note(f"{caller}: at t = {time():.6g} s; the states so far are in the error's attribute 'run'")
        raise
