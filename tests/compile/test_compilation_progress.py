"""Progress of long compilations: when it is reported, to whom, and what is left on the terminal."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import fourbar as fb
from fourbar import CompileProgress
from fourbar.compile import compilation_progress as progress

PARTS = ["a", "b", "c"]


class Clock:
    """A time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def screen(self) -> str:
        """The line as it is seen: what follows a carriage return covers what was there."""
        seen = ""
        for text in self.getvalue().split("\r"):
            seen = text + seen[len(text) :]
        return seen.rstrip()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    yield found
    fb.compile_progress()
    progress._writing.clear()
    assert not progress._showing


def compiled(clock: Clock, seconds: float, name: str = "f") -> Iterator[str]:
    """The parts of a program, each of which takes so many seconds."""
    for part in progress.report_progress(name, PARTS, len(PARTS)):
        yield part
        clock.now += seconds


def test_a_line_appears_after_two_seconds_and_disappears(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    screens = [terminal.screen for _ in compiled(clock, 1.5)]
    assert screens[:2] == ["", ""]
    assert "compiles f" in screens[2] and "part 3 of 3, 3 s" in screens[2]
    assert terminal.screen == ""
    assert len(max(terminal.getvalue().split("\r"), key=len)) < 80


def test_what_is_quick_says_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[CompileProgress] = []
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert list(compiled(clock, 0.6)) == PARTS
    fb.compile_progress(seen.append)
    assert list(compiled(clock, 0.6)) == PARTS
    assert not terminal.getvalue() and not seen


@pytest.mark.parametrize("stream", [io.StringIO(), None, object()], ids=["pipe", "none", "foreign"])
def test_nothing_is_written_to_what_is_no_terminal(stream: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    assert list(compiled(clock, 10.0)) == PARTS
    assert not isinstance(stream, io.StringIO) or not stream.getvalue()


def test_a_function_is_called_instead(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the time on that was set, and at the end; nothing where it is switched off."""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    seen: list[CompileProgress] = []
    fb.compile_progress(seen.append, after=1.0)
    list(compiled(clock, 1.0))
    assert seen == [("f", 1, 3, 1.0), ("f", 2, 3, 2.0), ("f", 3, 3, 3.0)]
    fb.compile_progress(False)
    list(compiled(clock, 9.0))
    assert len(seen) == 3 and not terminal.getvalue()


def test_the_time_in_which_the_program_was_written_counts(clock: Clock) -> None:
    """If it has just been written, in this thread."""
    seen: list[CompileProgress] = []
    fb.compile_progress(seen.append)
    progress.note_writing(clock.now - 3.0)
    list(compiled(clock, 0.1))
    assert seen[0] == ("f", 0, 3, 3.0)
    seen.clear()
    progress.note_writing(clock.now - 3.0)
    clock.now += 60.0  # of other work
    list(compiled(clock, 0.1))
    assert not seen


def test_an_error_leaves_no_line(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    def interrupted() -> None:
        for _ in progress.report_progress("f", PARTS, 3):
            clock.now += 3.0
            if terminal.screen:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue() and terminal.screen == ""


def test_two_threads_share_one_line(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one says nothing while the first has its line."""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for _ in compiled(clock, 3.0, "first"):
        if terminal.screen:
            other = threading.Thread(target=lambda: list(compiled(clock, 3.0, "second")))
            other.start()
            other.join()
    assert "first" in terminal.getvalue() and "second" not in terminal.getvalue()
    list(compiled(clock, 3.0, "third"))
    assert "third" in terminal.getvalue()


def test_wrong_arguments_are_refused() -> None:
    for wrong in ("tqdm", 1, None):
        with pytest.raises(fb.ArgumentError, match="show="):
            fb.compile_progress(wrong)  # type: ignore[arg-type]
    for after in (-1.0, "2", float("nan"), True):
        with pytest.raises(fb.ArgumentError, match="after="):
            fb.compile_progress(after=after)  # type: ignore[arg-type]


SCRIPT = """
import fourbar as fb
fb.compile_progress(after=0.0)
print(fb.robots.double_pendulum().mass_matrix([0.1, 0.2]).shape)
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_a_first_call_on_a_terminal_and_in_a_pipe() -> None:
    """Machine code is made anew."""
    command, here = [sys.executable, "-c", SCRIPT], {**os.environ, "FOURBAR_CACHE": "off"}
    ours, theirs = os.openpty()
    run = subprocess.run(command, env=here, stdout=subprocess.PIPE, stderr=theirs, timeout=120, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "fourbar compiles mass_matrix, once: part 1 of 1" in shown
    terminal = Terminal(shown, newline="")
    assert terminal.screen == ""
    assert run.stdout == b"(2, 2)\n"
    piped = subprocess.run(command, env=here, capture_output=True, timeout=120, check=True)
    assert (piped.stdout, piped.stderr) == (b"(2, 2)\n", b"")
