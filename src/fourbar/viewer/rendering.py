"""`Renderer`: pictures of a recorded motion as arrays of bytes, by NumPy alone, in the look of the pages; and files of
pictures (.png) and films (.gif, .mp4)."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, FourbarError, extra
from . import look
from .drawing import Drawing, Item
from .look import FIELD, eye_and_middle, stand
from .mesh_files import Colour, linear
from .raster import Eye, Shadows, Visibility, rasterize
from .recorded_motion import GHOST, RecordedMotion
from .terrain_surfaces import is_flat
from .triangles import TriangleSurface, arrow

SHOWN = ("shapes", "ground")
_TRIANGLES = 250_000  # of all worlds together, about: more would take long and show little
_FINER = 2  # samples along each side of a pixel


class Lump(NamedTuple):
    """Triangles of the world: corners and normals (m, 3, 3), colours as light (m, 3), edges of tiles (m), opacity."""

    corners: np.ndarray
    normals: np.ndarray
    colour: np.ndarray
    tile: np.ndarray
    opacity: float


def lump(solid: TriangleSurface, T: np.ndarray, colour: Colour, tile: float = 0.0) -> Lump:
    """A surface at a pose (4, 4), whose columns may be scaled, as triangles."""
    scale = np.linalg.norm(T[:3, :3], axis=0)
    points = solid.vertices @ T[:3, :3].T + T[:3, 3]
    normals = (solid.normals / scale**2) @ T[:3, :3].T
    shade = np.array([linear(x) for x in colour[:3]])
    faces, count = solid.faces, len(solid.faces)
    return Lump(points[faces], normals[faces], np.tile(shade, (count, 1)), np.full(count, tile), float(colour[3]))


def join_lumps(lumps: Sequence[Lump]) -> Lump:
    """Several as one, with the opacity of the first."""
    whole = [np.concatenate([x[k] for x in lumps]) for k in range(4)]
    return Lump(whole[0], whole[1], whole[2], whole[3], lumps[0].opacity)


class Floor(NamedTuple):
    """A plane n·p = offset; bare: only its lines and the shadows on it are seen."""

    normal: np.ndarray
    offset: float
    tile: float
    bare: bool


class _Base(NamedTuple):
    """The picture without the robot: colours (n, 3) of pixels, and those that see a floor, with what is seen there."""

    shown: np.ndarray
    pixel: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    paint: np.ndarray
    opacity: np.ndarray
    bare: np.ndarray
    sky: np.ndarray


class Renderer:
    """Renders states of a recording; the floor without shadows is kept between pictures from the same place."""

    def __init__(
        self, recording: RecordedMotion, size: tuple[int, int], *, layers: Iterable[str] = SHOWN, ghosts: int = 0,
        follow: bool | None = None, most: int = _TRIANGLES, drawing: Drawing | None = None,
    ) -> None:  # fmt: skip
        whole = recording.drawing() if drawing is None else drawing
        self.recording, self.size = recording, size
        self.drawing = whole.reduce(max(2000, most // recording.worlds))
        self.bounds = recording.bounds(whole)
        self.follow = recording.follows(follow)
        shown = set(layers)
        items = [x for x in self.drawing.items if x.layer in shown]
        self.floors = [_floor(x) for x in items if is_flat(x)]
        if not any(x.layer == "ground" for x in items):
            self.floors = [self._bare()]
        self.items = [x for x in items if not is_flat(x)]
        self._ghosts = self._make_ghosts(ghosts)
        self._base: tuple[bytes, _Base] | None = None
        middle, radius = recording.floor(whole)
        self.centre, self.radius = middle, radius

    def _bare(self) -> Floor:
        below = look.below(self.bounds)
        return Floor(np.array([0.0, 0.0, 1.0]), below, look.tile(self.drawing.size), True)

    def _make_ghosts(self, count: int) -> list[Lump]:
        r = self.recording
        if not count or len(r.t) < 2:
            return []
        ghosts = []
        for k in np.unique(np.linspace(0, len(r.t) - 1, count).round().astype(int)):
            places = r.places(self.drawing, slice(k, k + 1))[0, 0]
            own = [x for x in self.items if x.layer == "shapes" and x.place != self.drawing.world]
            if own:
                lumps = [lump(x.solid, places[x.place] @ x.placement, (*x.colour[:3], GHOST)) for x in own]
                ghosts.append(join_lumps(lumps))
        return ghosts

    def eye(self, k: int) -> Eye:
        """The camera at a state."""
        robot = self.drawing.bounds
        if self.follow:
            place, middle = eye_and_middle(robot, robot, self.size)
            move = self.recording.base_shift(k)
            place, middle = place + move, middle + move
        else:
            place, middle = eye_and_middle(self.bounds, robot, self.size)
        return Eye(place, stand(place, middle), FIELD, self.size)

    def picture(self, k: int) -> np.ndarray:
        """State k as a picture (high, wide, 3) of bytes."""
        eye, (wide, high) = self.eye(k), self.size
        solid, clear = self._lumps(k)
        base = self._visible_floor(eye)
        shadows = None
        casters = solid.corners[solid.tile == 0.0] if solid is not None else np.zeros((0, 3, 3))
        if len(casters):
            shadows = Shadows(casters, np.array(look.SUN), look.SOFT * self.drawing.size)
        shown = self._shade_floor(base, eye, shadows)
        fine = eye.scaled(_FINER)
        picture = np.repeat(np.repeat(shown.reshape(high, wide, 3), _FINER, 0), _FINER, 1).reshape(-1, 3)
        nearness = np.full(len(picture), -np.inf)
        for part in [x for x in (solid, *clear) if x is not None]:
            self._paint(picture, nearness, part, fine, shadows)
        blocks = picture.reshape(high, _FINER, wide, _FINER, 3).mean(axis=(1, 3))
        return (blocks.clip(0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)

    def _lumps(self, k: int) -> tuple[Lump | None, list[Lump]]:
        """The triangles at a state: the opaque ones, and the others item by item."""
        r = self.recording
        places = r.places(self.drawing, slice(k, k + 1))[0]
        solid, clear = [], [*self._ghosts]
        for item in self.items:
            for world in range(1 if item.place == self.drawing.world else r.worlds):
                made = lump(item.solid, places[world, item.place] @ item.placement, item.colour, item.tile)
                (solid if item.colour[3] >= 1.0 else clear).append(made)
        if r.forces.size:
            poses, length = r.arrows(self.drawing.size, slice(k, k + 1))
            shape, thick = arrow(1.0, 0.05), 0.2 * self.drawing.size
            for T, n in zip(poses.reshape(-1, 4, 4), length.reshape(-1), strict=True):
                if n > 0.0:
                    solid.append(lump(shape, T @ np.diag([thick, thick, n, 1.0]), r.force_colour))
        return join_lumps(solid) if solid else None, clear

    # The floor.

    def _visible_floor(self, eye: Eye) -> _Base:
        key = np.concatenate([eye.place, eye.axes.ravel()]).tobytes()
        if self._base is None or self._base[0] != key:
            self._base = key, self._make_base(eye)
        return self._base[1]

    def _make_base(self, eye: Eye) -> _Base:
        """All pixels: the sky, and where the nearest floor is seen, its paint."""
        every = np.arange(eye.size[0] * eye.size[1])
        rays = eye.rays(every)
        sky = _sky(rays)
        far, number = np.full(len(every), np.inf), np.full(len(every), -1)
        for k, floor in enumerate(self.floors):
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (floor.offset - floor.normal @ eye.place) / (rays @ floor.normal)
            near = (t > 0.0) & (t < far)
            far[near], number[near] = t[near], k
        pixel = np.flatnonzero(number >= 0)
        points = eye.place + rays[pixel] * far[pixel, None]
        seen = 1.0 - _step(look.FADE * self.radius, self.radius, np.linalg.norm(points - self.centre, axis=1))
        there = seen > 0.0
        pixel, points, seen = pixel[there], points[there], seen[there]
        floors = [self.floors[k] for k in number[pixel]] if len(self.floors) > 1 else self.floors * bool(len(pixel))
        normals = np.stack([x.normal for x in floors]) if floors else np.zeros((0, 3))
        normals = np.broadcast_to(normals, points.shape)
        tiles = np.broadcast_to(np.array([x.tile for x in floors]), len(points))
        bare = np.broadcast_to(np.array([x.bare for x in floors], bool), len(points))
        lines = grid_lines(points, normals, tiles, eye, rays[pixel])
        paint = _mix(_to_light(np.array(look.FLOOR)), _to_light(np.array(look.LINE)), lines)
        opacity = seen * np.where(bare, lines, 1.0)
        shown = sky.copy()
        base = _Base(shown, pixel, points, normals, paint, opacity, bare, sky[pixel])
        shown[pixel] = self._floor_colour(base, eye, np.ones(len(pixel)), slice(None))
        return base

    def _floor_colour(self, base: _Base, eye: Eye, lit: np.ndarray, which: Any) -> np.ndarray:
        """Pixels of floors to which a part of the sun comes; on a bare floor its lines, and a shadow over the sky."""
        bare = base.bare[which][:, None]
        lines = np.array(look.LINE)
        colour = np.where(bare, lines, _light(base.paint[which], base.normals[which], base.points[which], eye, lit))
        opacity = base.opacity[which][:, None]
        shown = base.sky[which] * (1.0 - opacity) + colour * opacity
        dark = look.SHADE * (1.0 - lit)[:, None] * bare
        return shown * (1.0 - dark)

    def _shade_floor(self, base: _Base, eye: Eye, shadows: Shadows | None) -> np.ndarray:
        shown = base.shown.copy()
        if shadows is not None and len(base.pixel):
            lit = shadows.lit(base.points, base.normals)
            dark = np.flatnonzero(lit < 1.0)
            shown[base.pixel[dark]] = self._floor_colour(base, eye, lit[dark], dark)
        return shown

    # Triangles.

    def _paint(self, picture: np.ndarray, nearness: np.ndarray, part: Lump, eye: Eye, shadows: Shadows | None) -> None:
        """Paint triangles over a picture, where nothing nearer was painted."""
        flat, number = eye.project(part.corners)
        visible: Visibility = rasterize(flat, *eye.size)
        pixel = np.flatnonzero((visible.face >= 0) & (visible.nearness > nearness))
        if not len(pixel):
            return
        face, near = number[visible.face[pixel]], visible.nearness[pixel]
        rays = eye.rays(pixel)
        points = eye.place + rays / near[:, None]
        for floor in self.floors:
            if not floor.bare:  # what is on its other side is hidden
                hidden = (points @ floor.normal - floor.offset) * (eye.place @ floor.normal - floor.offset) < 0.0
                pixel, face, near = pixel[~hidden], face[~hidden], near[~hidden]
                rays, points = rays[~hidden], points[~hidden]
        normals = _normals(part, face, points)
        away = np.einsum("ij,ij->i", normals, rays) > 0.0
        normals[away] *= -1.0
        lit = np.ones(len(points)) if shadows is None else shadows.lit(points, normals)
        colour = part.colour[face]
        tiled = part.tile[face] > 0.0
        if tiled.any():
            lines = grid_lines(points[tiled], normals[tiled], part.tile[face][tiled], eye, rays[tiled])
            colour[tiled] = _mix(colour[tiled], _to_light(np.array(look.LINE)), lines)
        shown = _light(colour, normals, points, eye, lit)
        if tiled.any():
            seen_part = 1.0 - _step(
                look.FADE * self.radius, self.radius, np.linalg.norm(points[tiled] - self.centre, axis=1)
            )
            shown[tiled] = _mix(_sky(rays[tiled]), shown[tiled], seen_part)
        picture[pixel] = _mix(picture[pixel], shown, np.full(len(pixel), part.opacity))
        if part.opacity >= 1.0:
            nearness[pixel] = near


def _floor(item: Item) -> Floor:
    normal = item.placement[:3, :3] @ item.solid.normals[0].astype(float)
    point = item.placement[:3, :3] @ item.solid.vertices[0].astype(float) + item.placement[:3, 3]
    return Floor(normal, float(normal @ point), item.tile, False)


def _normals(part: Lump, face: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Normals (n, 3) at points of triangles, between those of their corners."""
    a, b, c = np.moveaxis(part.corners[face], 1, 0)
    u, v, w = b - a, c - a, points - a
    uu, uv, vv = (np.einsum("ij,ij->i", x, y) for x, y in ((u, u), (u, v), (v, v)))
    wu, wv = (np.einsum("ij,ij->i", w, x) for x in (u, v))
    area = np.maximum(uu * vv - uv * uv, 1e-300)
    s, t = (vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area
    weights = np.stack([1.0 - s - t, s, t], axis=1).clip(0.0, 1.0)
    found = np.einsum("ik,ikj->ij", weights, part.normals[face])
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-30)


def _light(colour: np.ndarray, normals: np.ndarray, points: np.ndarray, eye: Eye, lit: np.ndarray) -> np.ndarray:
    """Colours as light (n, 3) of surfaces in the light of sky, sun and viewer, as the screen shows them."""
    sun = np.array(look.SUN) / np.linalg.norm(look.SUN)
    view = eye.place - points
    view /= np.linalg.norm(view, axis=1, keepdims=True)
    half = view + sun
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    facing = np.maximum(np.einsum("ij,ij->i", normals, view), 0.0)
    direct = np.maximum(normals @ sun, 0.0) * lit
    light = look.AMBIENT + look.UPWARDS * normals[:, 2] + look.DIRECT * direct + look.BESIDE * facing
    gloss = look.GLOSS * np.maximum(np.einsum("ij,ij->i", normals, half), 0.0) ** look.SHARP * lit
    return np.maximum(colour * light[:, None] + gloss[:, None], 0.0) ** (1.0 / 2.2)


def _to_light(colour: np.ndarray) -> np.ndarray:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def _mix(a: Any, b: Any, part: np.ndarray) -> np.ndarray:
    return np.asarray(a) * (1.0 - part[:, None]) + np.asarray(b) * part[:, None]


def _step(low: float, high: float, x: np.ndarray) -> np.ndarray:
    t = ((x - low) / (high - low)).clip(0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _sky(rays: np.ndarray) -> np.ndarray:
    """The colour of the sky in directions."""
    rise = (look.RISE * rays[:, 2] / np.linalg.norm(rays, axis=1)).clip(0.0, 1.0)
    return _mix(look.HORIZON, look.SKY, rise)


def grid_lines(points: np.ndarray, normals: np.ndarray, tiles: np.ndarray, eye: Eye, rays: np.ndarray) -> np.ndarray:
    """How much of the pixels (n) lines of a grid of tiles cover, fine ones and every fifth strong.

    Lines run along the two axes of the world that a surface faces least, about a pixel wide.
    """
    axis = np.abs(normals).argmax(axis=1)
    which = np.array([(1, 2), (0, 2), (0, 1)])[axis]
    place = np.take_along_axis(points, which, axis=1) / tiles[:, None]
    far = np.linalg.norm(points - eye.place, axis=1) / np.linalg.norm(rays, axis=1)
    facing = np.einsum("ij,ij->i", normals, rays)
    facing = np.where(np.abs(facing) < 1e-6, 1e-6, facing)
    width = np.zeros_like(place)
    for side in eye.axes[:2] / eye.focal:  # how far a place moves on the surface from a pixel to the next
        move = (side - rays * (normals @ side / facing)[:, None]) * far[:, None]
        width += np.abs(np.take_along_axis(move, which, axis=1)) / tiles[:, None]
    cover = np.zeros(len(points))
    for every, opacity in ((1.0, look.FINE), (float(look.STRONG), look.BOLD)):
        x, w = place / every, np.maximum(width / every, 1e-12)
        line = (1.0 - np.abs(x - np.round(x)) / w).clip(0.0, 1.0) * (1.0 - _step(0.15, 0.5, w))
        cover = np.maximum(cover, opacity * line.max(axis=1))
    return cover


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
    write = _mp4_writer() if ending == ".mp4" else None  # which raises before any picture is made
    renderer = Renderer(recording, read_size(size), **options)
    write = write or partial(_write_gif, _palette(recording, renderer))
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


def _palette(recording: RecordedMotion, renderer: Renderer) -> Any:
    """A picture in the colours of a film: those of its start, and of the state with the largest contact forces, which
    are drawn as arrows."""
    size = np.nan_to_num(np.abs(recording.forces)).reshape(len(recording.t), -1).sum(axis=1)
    states = {0, int(size.argmax())}
    return _pillow().fromarray(np.concatenate([renderer.picture(k) for k in sorted(states)])).quantize(_COLOURS)


def _write_gif(palette: Any, made: Iterator[np.ndarray], path: Path, rate: float) -> None:
    """Write pictures in the colours of a palette, so that they do not flicker."""
    library = _pillow()

    def images() -> Iterator[Any]:
        for x in made:
            yield library.fromarray(x).quantize(palette=palette, dither=library.Dither.NONE)

    shown = images()
    next(shown).save(path, save_all=True, append_images=shown, duration=round(1000.0 / rate), loop=0)


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
