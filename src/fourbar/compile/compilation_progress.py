"""Progress of long compilations: a line on a terminal, or calls of a function of the user's.

Nothing is shown before some seconds have passed, and nothing runs besides the compilation: the time is looked at
between parts of a program, each of which takes LLVM a fraction of a second.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident  # not `threading`, as in `once`
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from numbers import Real
from typing import Any, NamedTuple, TypeVar

from ..errors import ArgumentError

T = TypeVar("T")
_TOGETHER = 0.5  # seconds: what is compiled sooner after a program was written is the same wait for a user
_WIDEST = 78  # columns


class CompileProgress(NamedTuple):
    """How far a compilation has come.

    Parameters
    ----------
    name : str
        Name of the function that is compiled.
    done : int
        Parts that are compiled.
    total : int
        Parts in all.
    seconds : float
        Time (s) since it began.

    Examples
    --------
    >>> import fourbar as fb
    >>> now = fb.CompileProgress("forward_dynamics.jacobian", done=2, total=8, seconds=3.1)
    >>> now.done / now.total
    0.25
    """

    name: str
    done: int
    total: int
    seconds: float


Show = Callable[[CompileProgress], Any] | bool


class _Settings(NamedTuple):
    show: Show = True
    after: float = 2.0


_settings = [_Settings()]
_writing: dict[int, tuple[float, float]] = {}  # when the last program was begun and finished, by thread
_showing: list[tuple[int, int]] = []  # the process and the thread whose line is on the terminal


def compile_progress(show: Show = True, *, after: float = 2.0) -> Show:
    """Set how long compilations report their progress, in all threads of this process.

    Parameters
    ----------
    show : callable or bool, default True
        A function that is called with a `CompileProgress` (name, done, total, seconds), from the thread that compiles,
        before each part and at the end; True for a line on stderr where that is a terminal, which disappears when the
        compilation is done, and nothing in pipes, files and notebooks; False for nothing.
    after : float, default 2.0
        Time (s) that a compilation takes before it reports anything.

    Returns
    -------
    callable or bool
        The `show` that was set before.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be.

    Notes
    -----
    Functions are compiled when they are first called, once per machine: later processes read the result from the cache.
    Other threads that need the same function wait for it, and report nothing.

    Examples
    --------
    >>> import fourbar as fb
    >>> seen = []
    >>> before = fb.compile_progress(seen.append, after=0.0)
    >>> _ = fb.compile_progress(before)
    """
    if not (callable(show) or isinstance(show, bool)):
        raise ArgumentError(f"compile_progress: show={show!r}: expected a function of a CompileProgress, True or False")
    if isinstance(after, bool) or not isinstance(after, Real) or not 0.0 <= float(after) < float("inf"):
        raise ArgumentError(f"compile_progress: after={after!r}: expected a time in seconds, not negative")
    before, _settings[0] = _settings[0].show, _Settings(show, float(after))
    return before


def note_writing(began: float) -> None:
    """Note that this thread has written a program, beginning at a time of `time.monotonic`."""
    _writing[get_ident()] = (began, time.monotonic())


def _began() -> float:
    """When the wait of this thread's user began: with the program, if that was written just now."""
    now = time.monotonic()
    began, ended = _writing.pop(get_ident(), (now, now))
    return began if now - ended < _TOGETHER else now


def report_progress(name: str, parts: Iterable[T], total: int) -> Iterator[T]:
    """The parts of a program that is compiled, one after the other; progress is reported where that takes long."""
    began, shown = _began(), None
    try:
        for done, part in enumerate(parts):
            shown = _report(CompileProgress(name, done, total, time.monotonic() - began), shown)
            yield part
        if shown is not None:
            _report(CompileProgress(name, total, total, time.monotonic() - began), shown)
    finally:
        if isinstance(shown, _Line):
            shown.erase()


def _report(progress: CompileProgress, shown: Any) -> Any:
    """Report progress if it is time, to whom it was reported before, if to anybody."""
    show, after = _settings[0]
    if shown is None:
        if show is False or progress.seconds < after:
            return None
        shown = _Line.begin() if show is True else show
    if shown is not None:
        shown(progress)
    return shown


class _Line:
    """A line on stderr, which is written over and in the end erased. One thread of a process has one."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._width = stream, 0

    @staticmethod
    def begin() -> _Line | None:
        """A new line; None where stderr is no terminal, or another thread has a line there."""
        stream = sys.stderr
        try:
            if stream is None or not stream.isatty():
                return None
        except (AttributeError, ValueError):  # something in its place, or closed
            return None
        if any(process == os.getpid() for process, _ in _showing):
            return None
        _showing[:] = [(os.getpid(), get_ident())]
        return _Line(stream)

    def __call__(self, progress: CompileProgress) -> None:
        """Write the line."""
        name, done, total, seconds = progress
        text = f"fourbar compiles {name}, once: part {min(done + 1, total)} of {total}, {seconds:.0f} s"[:_WIDEST]
        self._write(f"\r{text}{' ' * (self._width - len(text))}")
        self._width = len(text)

    def erase(self) -> None:
        """Leave the terminal as it was."""
        self._write(f"\r{' ' * self._width}\r")
        _showing.clear()

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that is gone
            self._stream.write(text)
            self._stream.flush()
