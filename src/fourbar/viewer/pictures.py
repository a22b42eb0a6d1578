"""Pictures and films: by a browser that is installed, which shows the page, else by matplotlib."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, FourbarError, extra
from .camera import direction
from .drawing import Drawing
from .recorded_motion import RecordedMotion
from .standalone_page import page

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
FLAGS = (
    "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars",
)  # fmt: skip
_SECONDS = 120  # that a browser may take
_HIGHEST = 7000  # pixels of what is shown at once: pictures of a film come in such strips
_MOST_FILM = 600  # pictures of a film
_TRIANGLES = 20_000  # that matplotlib draws in a reasonable time
_SHOWN = ("shapes", "ground")


def find_browser() -> str | None:
    """The command of a browser that can make pictures, if one is installed."""
    return next((found for name in _BROWSERS if (found := shutil.which(name))), None)


def picture(
    recording: RecordedMotion, path: Path, *, time: float = 0.0, size: Any = (960, 600), **options: Any
) -> None:
    """Write a picture (.png) of a recording at a time."""
    (first,) = frames(recording, [time], size, **options)
    _pillow().fromarray(first).save(path)


def film(recording: RecordedMotion, path: Path, *, size: Any = (720, 450), rate: float = 25.0, **options: Any) -> None:
    """Write a film (.gif or .mp4) of a recording, with so many pictures per second."""
    count = max(2, round(recording.duration * rate) + 1)
    if count > _MOST_FILM:
        raise ArgumentError(
            f"save: a film of {recording.duration:g} s with {rate:g} pictures per second has {count}, at most "
            f"{_MOST_FILM} are made; give a smaller rate="
        )
    moving = path.suffix.lower() == ".mp4"
    if moving and not shutil.which("ffmpeg"):
        raise FourbarError("films in .mp4 need the program ffmpeg, which was not found; write a .gif, or install it")
    made = frames(recording, np.linspace(0.0, recording.duration, count).tolist(), size, **options)
    if moving:
        _write_mp4(made, path, rate)
        return
    image = _pillow()
    first, *others = [image.fromarray(x).quantize(128, dither=image.Dither.NONE) for x in made]
    first.save(path, save_all=True, append_images=others, duration=round(1000.0 / rate), loop=0)


def _write_mp4(made: Iterator[np.ndarray], path: Path, rate: float) -> None:
    """Give pictures to ffmpeg one after the other."""
    first = next(made)
    high, wide = (x - x % 2 for x in first.shape[:2])
    command = ["ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{wide}x{high}",
               "-r", str(rate), "-i", "-", "-pix_fmt", "yuv420p", str(path.resolve())]  # fmt: skip
    data = b"".join(np.ascontiguousarray(x[:high, :wide]).tobytes() for x in (first, *made))
    done = subprocess.run(command, input=data, capture_output=True, timeout=10 * _SECONDS, check=False)
    if done.returncode:
        raise FourbarError(f"ffmpeg wrote no film: {done.stderr.decode(errors='replace').strip()[-200:]}")


def frames(recording: RecordedMotion, times: Sequence[float], size: Any, **options: Any) -> Iterator[np.ndarray]:
    """Pictures (high, wide, 3) of bytes at many times after the start."""
    wide, high = read_size(size)
    browser = find_browser()
    if browser is None:
        yield from _plotted(recording, times, (wide, high), **options)
        return
    image, strip = _pillow(), max(1, _HIGHEST // high)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # in which the browser writes to the last
        shown = Path(folder) / "page.html"
        wanted: dict[str, Any] = {"layers": _SHOWN} | options
        shown.write_text(page(recording, **wanted), encoding="utf-8")
        for first in range(0, len(times), strip):
            some = times[first : first + strip]
            whole = np.asarray(image.open(_shot(browser, shown, some, (wide, high))).convert("RGB"))
            yield from (whole[k * high : (k + 1) * high] for k in range(len(some)))


def read_size(size: Any) -> tuple[int, int]:
    """Width and height in pixels."""
    found = np.asarray(size)
    if found.shape != (2,) or not (found >= 16).all() or not (found <= _HIGHEST).all():
        raise ArgumentError(f"size={size!r}: expected width and height in pixels, from 16 to {_HIGHEST}")
    return int(found[0]), int(found[1])


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise FourbarError(f"pictures need Pillow, which matplotlib brings: {extra('plot')}") from None
    return Image


def _shot(browser: str, shown: Path, times: Sequence[float], size: tuple[int, int]) -> Path:
    """A picture of a page at some times, one below the other."""
    target = shown.with_name("shot.png")
    target.unlink(missing_ok=True)
    own = [f"--user-data-dir={shown.parent / 'profile'}", f"--window-size={size[0]},{size[1] * len(times)}"]
    asked = ",".join(f"{t:.6f}" for t in times)
    command = [browser, *FLAGS, *own, "--timeout=60000", f"--screenshot={target}", f"{shown.as_uri()}#still={asked}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if not target.exists():
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise FourbarError(f"{Path(browser).name} made no picture: {last[:200]}")
    return target


def _plotted(
    recording: RecordedMotion, times: Sequence[float], size: tuple[int, int], layers: Any = _SHOWN, **_: Any
) -> Iterator[np.ndarray]:
    """Pictures by matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise FourbarError(
            f"pictures need a browser (Chromium or Chrome), which was not found, or matplotlib: {extra('plot')}"
        ) from None
    figure = Figure(figsize=(size[0] / 100.0, size[1] / 100.0), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0, 0, 1, 1), projection="3d")
    drawing = recording.drawing().reduced(_TRIANGLES)
    for time in times:
        axes.clear()
        _triangles(axes, recording, drawing, time, set(layers))
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _triangles(axes: Any, recording: RecordedMotion, drawing: Drawing, time: float, layers: set[str]) -> None:
    """Draw all triangles of a moment, lit from above."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    k = int(np.abs(recording.t - recording.t[0] - time).argmin())
    places = recording.places(drawing, slice(k, k + 1))[0]
    sun = np.array([0.35, -0.5, 0.8])
    corners, colours = [], []
    for world in range(recording.worlds):
        for item in (x for x in drawing.items if x.layer in layers - {"ground"}):
            T = places[world, item.place] @ item.placement
            points = (item.solid.vertices @ T[:3, :3].T + T[:3, 3])[item.solid.faces]
            normal = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
            normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-30
            light = (0.55 + 0.45 * np.abs(normal @ sun))[:, None]
            corners.append(points)
            colours.append(np.column_stack([light * item.colour[:3], np.full(len(points), item.colour[3])]))
    if corners:
        faces = Poly3DCollection(np.concatenate(corners), facecolors=np.concatenate(colours).clip(0.0, 1.0), lw=0)
        axes.add_collection3d(faces)
    low, high = recording.bounds(drawing)
    middle, half = (low + high) / 2.0, 0.5 * float((high - low).max())
    for axis, x in zip("xyz", middle, strict=True):
        getattr(axes, f"set_{axis}lim")(x - half, x + half)
    axes.set_box_aspect((1, 1, 1), zoom=1.5)
    turn, rise = np.degrees(direction(np.array([low, high])))
    axes.view_init(elev=rise, azim=turn)
    axes.set_axis_off()
