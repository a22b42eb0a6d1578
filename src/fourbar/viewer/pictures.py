"""Files of pictures (.png) and films (.gif, .mp4)."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, FourbarError, extra
from .recorded_motion import RecordedMotion
from .rendering import Renderer

_LARGEST = 7000  # pixels along a side
_MOST_FILM = 1800  # pictures of a film
_RATES = {".gif": 15.0, ".mp4": 30.0}  # pictures per second
_COLOURS = 255  # of a GIF


def picture(
    recording: RecordedMotion, path: Path, *, time: float = 0.0, size: Any = (960, 600), **options: Any
) -> None:
    """Write a picture (.png) of a recording at a time."""
    library = _pillow()
    library.fromarray(Renderer(recording, read_size(size), **options).picture(recording.at(time))).save(path)


def film(
    recording: RecordedMotion, path: Path, *, size: Any = (720, 450), rate: float | None = None, **options: Any
) -> None:
    """Write a film (.gif or .mp4) of a recording, with `rate` pictures per second; a terminal shows the progress."""
    ending = path.suffix.lower()
    rate = _RATES[ending] if rate is None else rate
    count = max(2, round(recording.duration * rate) + 1)
    if count > _MOST_FILM:
        raise ArgumentError(
            f"save: a film of {recording.duration:g} s with {rate:g} pictures per second has {count}, at most "
            f"{_MOST_FILM} are made; give a smaller rate="
        )
    write = _mp4_writer() if ending == ".mp4" else _write_gif
    renderer = Renderer(recording, read_size(size), **options)
    times = np.linspace(0.0, recording.duration, count)
    write(_with_progress((renderer.picture(recording.at(t)) for t in times), count, path.name), path, rate)


def _with_progress(made: Iterable[np.ndarray], count: int, name: str) -> Iterator[np.ndarray]:
    """The same pictures; on a terminal, with a line that counts them."""
    shown = sys.stderr.isatty()
    for k, x in enumerate(made, 1):
        if shown:
            print(f"\r{name}: picture {k} of {count}", end="", file=sys.stderr, flush=True)
        yield x
    if shown:
        print(f"\r{'':{len(name) + 40}}\r", end="", file=sys.stderr, flush=True)


def _write_gif(made: Iterator[np.ndarray], path: Path, rate: float) -> None:
    """Write pictures with the colours of the first, in the middle of which all colours of a robot are seen."""
    library = _pillow()
    start = library.fromarray(next(made)).quantize(_COLOURS)

    def others() -> Iterator[Any]:
        for x in made:
            yield library.fromarray(x).quantize(palette=start, dither=library.Dither.NONE)

    start.save(path, save_all=True, append_images=others(), duration=round(1000.0 / rate), loop=0)


def _mp4_writer() -> Any:
    """A function that writes .mp4; raises before any picture is made if there is no ffmpeg."""
    program = shutil.which("ffmpeg")
    if program is None and importlib.util.find_spec("imageio_ffmpeg") is not None:
        from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-not-found]

        program = get_ffmpeg_exe()
    if program is None:
        raise FourbarError(
            f"films in .mp4 need the program ffmpeg, which was not found: {extra('film')}; or write a .gif"
        )

    def write(made: Iterator[np.ndarray], path: Path, rate: float) -> None:
        """Give pictures to ffmpeg one after the other."""
        first = next(made)
        high, wide = (x - x % 2 for x in first.shape[:2])
        command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{wide}x{high}",
                   "-r", str(rate), "-i", "-", "-pix_fmt", "yuv420p", str(path.resolve())]  # fmt: skip
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stderr is not None
            try:
                for x in (first, *made):
                    process.stdin.write(np.ascontiguousarray(x[:high, :wide]).tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass  # it says why
            said = process.stderr.read().decode(errors="replace").strip()
        if process.returncode:
            raise FourbarError(f"ffmpeg wrote no film: {said[-200:]}")

    return write


def read_size(size: Any) -> tuple[int, int]:
    """Width and height in pixels."""
    wide, high = (to_count(x, 16) for x in size) if np.shape(size) == (2,) else (None, None)
    if wide is None or high is None or max(wide, high) > _LARGEST:
        raise ArgumentError(f"size={size!r}: expected width and height in pixels, from 16 to {_LARGEST}")
    return wide, high


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise FourbarError(f"pictures need Pillow: {extra('film')}") from None
    return Image
