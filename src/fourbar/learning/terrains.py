"""Terrain to learn on: square tiles of several kinds and levels of difficulty, side by side in one height field.

Heights are zero around every tile, so that tiles fit together; in its middle is a level platform to start from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..contact.terrain import HeightField
from ..errors import ArgumentError

Range = tuple[float, float]  # of the easiest level, and of the hardest
_EDGE = 1e-9  # of a step or a stone: places that are nearer to its edge belong to the higher side


class TileKind(Protocol):
    """A kind of tile."""

    def heights(self, difficulty: float, x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Heights (m) at places x, y (n, n) from the middle of a tile, of a difficulty from 0 to 1."""
        ...


def _between(ends: Range, difficulty: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * difficulty


def _inward(x: np.ndarray, y: np.ndarray, platform: float) -> tuple[np.ndarray, float]:
    """How far places lie inside of the edge of the tile, at most as far as the platform does; and that distance."""
    around = np.maximum(np.abs(x), np.abs(y))
    whole = float(around.max()) - 0.5 * platform
    return np.minimum(float(around.max()) - around, whole), whole


@dataclass(frozen=True)
class LevelGround:
    """A level tile.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> fg.TerrainTiles([fg.LevelGround()], levels=1, size=4.0).field.height(2.0, 2.0)
    0.0
    """

    def heights(self, difficulty: float, x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Zeros."""
        return np.zeros_like(x)


@dataclass(frozen=True)
class Slope:
    """A pyramid with slopes on four sides.

    Parameters
    ----------
    slope : tuple of float, default (0.0, 0.5)
        Rise per distance of the easiest and of the hardest level; negative ones lead down to the platform.
    platform : float, default 1.5
        Edge (m) of the platform in the middle.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> tiles = fg.TerrainTiles([fg.Slope((0.2, 0.2), platform=2.0)], levels=1, size=6.0)
    >>> round(tiles.field.height(3.0, 3.0), 3)
    0.4
    """

    slope: Range = (0.0, 0.5)
    platform: float = 1.5

    def heights(self, difficulty: float, x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Heights that grow with the distance from the edge."""
        return _between(self.slope, difficulty) * _inward(x, y, self.platform)[0]


@dataclass(frozen=True)
class Stairs:
    """A pyramid of stairs on four sides.

    Parameters
    ----------
    rise : tuple of float, default (0.03, 0.2)
        Height (m) of a step, of the easiest and of the hardest level; negative ones lead down to the platform.
    tread : float, default 0.4
        Depth (m) of a step.
    platform : float, default 1.5
        Edge (m) of the platform in the middle, at least.

    Notes
    -----
    Between two heights of the field, the risers are steep slopes over one spacing.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> tiles = fg.TerrainTiles([fg.Stairs((0.1, 0.1), tread=0.5, platform=2.0)], levels=1, size=6.0)
    >>> round(tiles.field.height(3.0, 3.0), 3), round(tiles.field.height(1.2, 3.0), 3)
    (0.4, 0.2)
    """

    rise: Range = (0.03, 0.2)
    tread: float = 0.4
    platform: float = 1.5

    def heights(self, difficulty: float, x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Whole numbers of steps."""
        inside, _ = _inward(x, y, self.platform)
        return _between(self.rise, difficulty) * np.floor(inside / self.tread + _EDGE)


@dataclass(frozen=True)
class Rough:
    """Random bumps, evenly distributed, with straight lines between them.

    Parameters
    ----------
    amplitude : tuple of float, default (0.01, 0.1)
        Largest height (m) above and below zero, of the easiest and of the hardest level.
    grain : float, default 0.25
        Distance (m) of bumps from each other.
    platform : float, default 1.0
        Edge (m) of the platform in the middle.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> tiles = fg.TerrainTiles([fg.Rough((0.05, 0.05))], levels=1, size=4.0, seed=1)
    >>> heights = tiles.field.height(*tiles.grid(0, 0))
    >>> bool(0.03 < abs(heights).max() <= 0.05)
    True
    """

    amplitude: Range = (0.01, 0.1)
    grain: float = 0.25
    platform: float = 1.0

    def heights(self, difficulty: float, x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Random heights at distances of `grain`, interpolated; fading out towards edge and platform."""
        half = float(np.abs(x).max())
        count = 2 + int(np.ceil(2.0 * half / self.grain))
        bumps = HeightField(random.uniform(-1.0, 1.0, (count, count)), self.grain, (-half, -half))
        inside, whole = _inward(x, y, self.platform)
        fade = np.clip(np.minimum(inside, whole - inside) / self.grain, 0.0, 1.0)
        return _between(self.amplitude, difficulty) * fade * bumps.height(x, y)


@dataclass(frozen=True)
class SteppingStones:
    """Stones with gaps between them, around the platform; a strip at the edge is level.

    Parameters
    ----------
    gap : tuple of float, default (0.05, 0.3)
        Distance (m) between stones, of the easiest and of the hardest level.
    stone : tuple of float, default (0.6, 0.3)
        Edge (m) of a stone, likewise.
    depth : float, default 0.8
        Depth (m) of the gaps.
    platform : float, default 1.5
        Edge (m) of the platform in the middle.

    Examples
    --------
    >>> import fourbar.gymnasium as fg
    >>> tiles = fg.TerrainTiles([fg.SteppingStones()], levels=1, size=6.0, spacing=0.05)
    >>> sorted({round(float(z), 6) for z in tiles.field.height(*tiles.grid(0, 0)).ravel()})
    [-0.8, 0.0]
    """

    gap: Range = (0.05, 0.3)
    stone: Range = (0.6, 0.3)
    depth: float = 0.8
    platform: float = 1.5

    def heights(self, difficulty: float, x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Zero on stones, platform and edge; the rows of stones are shifted at random."""
        gap, stone = _between(self.gap, difficulty), _between(self.stone, difficulty)
        pitch = gap + stone
        row = np.floor(y / pitch + _EDGE).astype(int)
        shift = random.uniform(0.0, pitch, int(row.max() - row.min()) + 1)
        across = (x + shift[row - row.min()]) % pitch
        along = y - row * pitch
        on_stone = (across <= stone + _EDGE) & (along <= stone + _EDGE)
        inside, whole = _inward(x, y, self.platform)
        return np.where(on_stone | (inside < stone) | (inside >= whole - _EDGE), 0.0, -self.depth)


class TerrainTiles:
    """Tiles of terrain in one height field: a row (along x) for each level of difficulty, a column for each kind.

    Parameters
    ----------
    kinds : sequence
        Kinds of tiles: `LevelGround`, `Slope`, `Stairs`, `Rough`, `SteppingStones`, or others with such a method
        `heights`.
    levels : int, default 5
        Number of levels, from the easiest to the hardest.
    size : float, default 8.0
        Edge (m) of a tile.
    spacing : float, default 0.1
        Distance (m) between heights, of which the size is a multiple.
    border : float, default 2.0
        Width (m) of the level strip around all tiles.
    friction : float, default 0.8
        Coefficient of sliding friction.
    seed : int, default 0
        Seed of what is random.

    Attributes
    ----------
    field : HeightField
        The terrain, for `Scene`.
    kinds : tuple
        The kinds.
    levels, size : int and float
        As given.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> import fourbar.gymnasium as fg
    >>> tiles = fg.TerrainTiles([fg.Slope(), fg.Stairs()], levels=4)
    >>> robot = fb.robots.mini_cheetah()
    >>> scene = fb.Scene(robot, tiles.field, contacts=[x for x in robot.names.frames if "foot" in x])
    >>> tiles.start([0, 3], [1, 0]).round(3)
    array([[ 4.   , 12.   ,  0.24 ],
           [28.   ,  4.   ,  1.625]])
    """

    def __init__(
        self, kinds: Sequence[TileKind], *, levels: int = 5, size: float = 8.0, spacing: float = 0.1,
        border: float = 2.0, friction: float = 0.8, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kinds, self.levels, self.size = tuple(kinds), levels, float(size)
        cells, around = round(size / spacing), round(border / spacing)
        if not self.kinds or not all(hasattr(kind, "heights") for kind in self.kinds):
            raise ArgumentError(
                f"TerrainTiles: kinds={kinds!r}: expected some of LevelGround(), Slope(), Stairs(), ..."
            )
        if not isinstance(levels, int) or levels < 1:
            raise ArgumentError(f"TerrainTiles: levels={levels!r}: expected a whole number, at least 1")
        if cells < 2 or abs(cells * spacing - size) > 1e-6 * spacing or around < 0:
            raise ArgumentError(f"TerrainTiles: {size=} must be a multiple of {spacing=}, and {border=} not negative")
        random = np.random.default_rng(seed)
        heights = np.zeros((levels * cells + 2 * around + 1, len(self.kinds) * cells + 2 * around + 1))
        self._across = (np.arange(cells + 1) - 0.5 * cells) * spacing
        x, y = np.meshgrid(self._across, self._across, indexing="ij")
        for level in range(levels):
            difficulty = level / (levels - 1) if levels > 1 else 1.0
            for k, kind in enumerate(self.kinds):
                first, second = around + level * cells, around + k * cells
                tile = np.asarray(kind.heights(difficulty, x, y, random), float)
                if tile.shape != x.shape or not np.isfinite(tile).all():
                    raise ArgumentError(f"TerrainTiles: {kind!r} gave heights of shape {tile.shape}, not {x.shape}")
                heights[first : first + cells + 1, second : second + cells + 1] = tile
        self.field = HeightField(heights, spacing, (-around * spacing, -around * spacing), friction=friction)

    def __repr__(self) -> str:
        names = ", ".join(type(kind).__name__ for kind in self.kinds)
        return f"<fourbar TerrainTiles: {self.levels} levels of {names}, {self.size:g} m each>"

    def middle(self, level: Any, kind: Any) -> np.ndarray:
        """The middles (..., 2) of tiles, by level and by number of the kind.

        Parameters
        ----------
        level, kind : array_like of int
            Levels and numbers of kinds, which broadcast.

        Returns
        -------
        ndarray, shape (..., 2)
            x and y (m).
        """
        return (np.stack(np.broadcast_arrays(level, kind), axis=-1) + 0.5) * self.size

    def grid(self, level: int, kind: int) -> tuple[np.ndarray, np.ndarray]:
        """The places of the heights of a tile.

        Parameters
        ----------
        level, kind : int
            Level and number of the kind.

        Returns
        -------
        tuple of ndarray
            x and y (m), square.
        """
        x, y = self.middle(level, kind)
        found = np.meshgrid(x + self._across, y + self._across, indexing="ij")
        return found[0], found[1]

    def start(self, level: Any, kind: Any, offset: Any = (0.0, 0.0), reach: float = 0.3) -> np.ndarray:
        """Places on the terrain to start from, in the middle of tiles.

        Parameters
        ----------
        level, kind : array_like of int
            Levels and numbers of kinds, which broadcast.
        offset : array_like, shape (..., 2)
            From the middle (m).
        reach : float, default 0.3
            Radius (m) of what will stand there: the highest point within it counts.

        Returns
        -------
        ndarray, shape (..., 3)
            x, y, and the height (m) of the terrain.
        """
        at = self.middle(level, kind) + np.asarray(offset, float)
        steps = np.linspace(-reach, reach, 7)
        around = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
        places = at[..., None, :] + around[np.hypot(*around.T) <= reach + _EDGE]
        height = np.asarray(self.field.height(places[..., 0], places[..., 1])).max(axis=-1)
        return np.concatenate([at, height[..., None]], axis=-1)

    def promote(self, level: np.ndarray, distance: np.ndarray, random: Any, far: float = 0.5) -> np.ndarray:
        """The levels of the next episodes: one up for those who left their tile, one down for those who came not half
        that far; who masters the hardest goes to any.

        Parameters
        ----------
        level : ndarray of int, shape (n,)
            The levels so far.
        distance : ndarray, shape (n,)
            How far (m) from the middle of their tiles the episodes ended.
        random : object
            With a method ``integers(low, high)`` for all of them, such as `Worlds.random`.
        far : float, default 0.5
            The distance that counts, in sizes of a tile.

        Returns
        -------
        ndarray of int, shape (n,)
            The new levels.
        """
        up = distance > far * self.size
        down = distance < 0.5 * far * self.size
        moved = np.asarray(level, int) + up - down
        drawn = np.broadcast_to(random.integers(0, self.levels), moved.shape)
        return np.where(moved >= self.levels, drawn, np.maximum(moved, 0))


def scan_heights(terrain: Any, position: Any, heading: Any, points: Any) -> np.ndarray:
    """Heights of terrain around places, in a grid that turns with a heading.

    Parameters
    ----------
    terrain : HeightField
        The terrain.
    position : array_like, shape (..., 3)
        Places (m).
    heading : array_like, shape (...)
        Angles (rad) about the vertical.
    points : array_like, shape (m, 2)
        Ahead and to the left of the places (m).

    Returns
    -------
    ndarray, shape (..., m)
        How far (m) the terrain is below the places.

    See Also
    --------
    fourbar.observe.height_scan : The same in the compiled steps of a simulation.

    Examples
    --------
    >>> import fourbar as fb
    >>> import fourbar.gymnasium as fg
    >>> field = fb.HeightField([[0.0, 0.0], [1.0, 1.0]])
    >>> fg.scan_heights(field, [0.5, 0.5, 2.0], 3.14159265358979 / 2, [(0.2, 0.0), (0.0, 0.2)]).round(6)
    array([1.5, 1.7])
    """
    position, points = np.asarray(position, float), np.asarray(points, float)
    c, s = np.cos(heading)[..., None], np.sin(heading)[..., None]
    x = position[..., :1] + c * points[:, 0] - s * points[:, 1]
    y = position[..., 1:2] + s * points[:, 0] + c * points[:, 1]
    return position[..., 2:3] - terrain.height(x, y)
