"""Triangles to pixels, by NumPy: which triangle is seen in each pixel, and how much sun reaches a place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_MOST_SAMPLES = 3_000_000  # that are held at once
_NEAR = 1e-2  # of a distance: triangles nearer to the eye are cut
_MAP = 1024  # pixels along the longer side of the map of shadows
_TAPS = np.array(
    [(r * np.cos(a), r * np.sin(a)) for k in range(16) for r, a in [(np.sqrt((k + 0.5) / 16.0), 2.399963 * k)]]
)  # evenly over a disc: a sunflower's seeds


class Visibility(NamedTuple):
    """The nearest triangle of each pixel (n): its number, -1 for none, and its nearness (the larger is in front)."""

    face: np.ndarray
    nearness: np.ndarray


class _Edges(NamedTuple):
    """Three lines a x + b y + c per triangle (m, 3), positive inside, and the plane of its nearness (m, 3)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    plane: np.ndarray


def _edges(corners: np.ndarray) -> tuple[_Edges, np.ndarray]:
    """Of triangles (m, 3 corners, [x, y, nearness]); and which have an area."""
    x, y, near = corners[..., 0], corners[..., 1], corners[..., 2]
    a, b = np.roll(y, -1, 1) - np.roll(y, -2, 1), np.roll(x, -2, 1) - np.roll(x, -1, 1)
    c = np.roll(x, -1, 1) * np.roll(y, -2, 1) - np.roll(x, -2, 1) * np.roll(y, -1, 1)
    area = c.sum(axis=1)
    there = np.abs(area) > 1e-9
    inverse = np.where(there, 1.0 / np.where(there, area, 1.0), 0.0)[:, None]
    plane = np.stack([(e * near).sum(axis=1) for e in (a, b, c)], axis=1) * inverse
    sign = np.sign(area)[:, None]
    return _Edges(a * sign, b * sign, c * sign, plane), there


def _ranges(count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of several counts its number, as often as it says, and 0, 1, ... within each."""
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)


def rasterize(corners: np.ndarray, wide: int, high: int) -> Visibility:
    """Which of the triangles (m, 3, [x, y, nearness]) is in front in each pixel of a picture, row by row."""
    seen = Visibility(np.full(wide * high, -1, np.int64), np.full(wide * high, -np.inf))
    edges, there = _edges(corners)
    extent = np.ptp(corners[..., :2], axis=1).clip(0.0, [wide, high]) + 1.0
    chunk = (np.cumsum(extent.prod(axis=1)) // _MOST_SAMPLES).astype(int)
    for k in np.unique(chunk):
        which = np.flatnonzero((chunk == k) & there)
        if len(which):
            _fill(seen, corners[which], _Edges(*(e[which] for e in edges)), which, (wide, high))
    return seen


def _fill(seen: Visibility, corners: np.ndarray, edges: _Edges, numbers: np.ndarray, size: tuple[int, int]) -> None:
    """Enter triangles: first the rows that each covers, then the pixels of each row."""
    wide, high = size
    y, near = corners[..., 1], corners[..., 2]
    top = np.ceil(y.min(axis=1) - 0.5).clip(0, high)
    low = np.floor(y.max(axis=1) - 0.5).clip(-1, high - 1)
    t, k = _ranges(np.maximum(low - top + 1, 0).astype(int))
    row = top[t] + k
    left, right = np.zeros(len(t)), np.full(len(t), float(wide))
    for e in range(3):
        slope, value = edges.a[t, e], -(edges.b[t, e] * (row + 0.5) + edges.c[t, e])
        with np.errstate(divide="ignore", invalid="ignore"):
            at = value / slope
        left = np.where(slope > 0.0, np.maximum(left, at), left)
        right = np.where(slope < 0.0, np.minimum(right, at), right)
        right = np.where((slope == 0.0) & (value > 0.0), -1.0, right)
    first = np.ceil(left - 0.5).clip(0, wide)
    last = np.floor(right - 0.5).clip(-1, wide - 1)
    s, k = _ranges(np.maximum(last - first + 1, 0).astype(int))
    t, row, column = t[s], row[s], first[s] + k
    plane = edges.plane[t]
    depth = plane[:, 0] * (column + 0.5) + plane[:, 1] * (row + 0.5) + plane[:, 2]
    depth = np.clip(depth, near.min(axis=1)[t], near.max(axis=1)[t])
    pixel = (row * wide + column).astype(np.int64)
    np.maximum.at(seen.nearness, pixel, depth)
    won = depth >= seen.nearness[pixel]
    seen.face[pixel[won]] = numbers[t[won]]


class Eye(NamedTuple):
    """A camera: its place, the directions to its right, up and back, its angle of view (rad), the picture's size."""

    place: np.ndarray
    axes: np.ndarray
    field: float
    size: tuple[int, int]

    @property
    def focal(self) -> float:
        """Pixels per unit of the picture plane at distance 1."""
        return 0.5 * self.size[1] / float(np.tan(0.5 * self.field))

    def scaled(self, times: int) -> Eye:
        """The camera with `times` times as many pixels along each side."""
        return self._replace(size=(self.size[0] * times, self.size[1] * times))

    def rays(self, pixel: np.ndarray) -> np.ndarray:
        """Directions (n, 3), of length 1 along the line of sight, through the middles of pixels."""
        x = (pixel % self.size[0] + 0.5 - 0.5 * self.size[0]) / self.focal
        y = (0.5 * self.size[1] - pixel // self.size[0] - 0.5) / self.focal
        return x[:, None] * self.axes[0] + y[:, None] * self.axes[1] - self.axes[2]

    def project(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Triangles (m, 3, 3) of the world as [x, y, 1 / distance], and the number of the triangle each comes from.

        Triangles that reach behind the eye are cut.
        """
        there = (corners - self.place) @ np.stack([self.axes[0], self.axes[1], -self.axes[2]]).T
        near = _NEAR * float(np.abs(there[..., 2]).max(initial=1.0))
        there, number = _cut(there, near)
        far = there[..., 2]
        x = 0.5 * self.size[0] + self.focal * there[..., 0] / far
        y = 0.5 * self.size[1] - self.focal * there[..., 1] / far
        return np.stack([x, y, 1.0 / far], axis=-1), number


def _cut(corners: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles (m, 3, 3) without what is nearer than z = near, and the number of the triangle each comes from."""
    behind = corners[..., 2] < near
    count = behind.sum(axis=1)
    parts, numbers = [corners[count == 0]], [np.flatnonzero(count == 0)]
    for k in np.flatnonzero((count == 1) | (count == 2)):
        clipped = []
        for a, b in zip(corners[k], np.roll(corners[k], -1, 0), strict=True):
            if a[2] >= near:
                clipped.append(a)
            if (a[2] >= near) != (b[2] >= near):
                clipped.append(a + (b - a) * ((near - a[2]) / (b[2] - a[2])))
        for j in range(1, len(clipped) - 1):
            parts.append(np.array([[clipped[0], clipped[j], clipped[j + 1]]]))
            numbers.append(np.array([k]))
    return np.concatenate(parts), np.concatenate(numbers)


class Shadows:
    """Shadows of triangles (m, 3, 3) in the light of a far sun, soft by a width (m)."""

    def __init__(self, corners: np.ndarray, sun: np.ndarray, softness: float) -> None:
        self.sun, self.softness = sun / np.linalg.norm(sun), softness
        side = np.cross(self.sun, (1.0, 0.0, 0.0))
        side /= np.linalg.norm(side)
        self.across = np.stack([side, np.cross(self.sun, side)])
        flat = corners @ self.across.T
        margin = 2.0 * softness
        self.low = flat.reshape(-1, 2).min(axis=0) - margin
        extent = flat.reshape(-1, 2).max(axis=0) + margin - self.low
        self.scale = _MAP / float(extent.max())
        self.size = tuple(int(np.ceil(x * self.scale)) + 1 for x in extent)
        places = np.concatenate([(flat - self.low) * self.scale, (corners @ self.sun)[..., None]], axis=-1)
        self.height = rasterize(places, *self.size).nearness.reshape(self.size[1], self.size[0])

    def lit(self, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """The part (n) of the sun that reaches points (n, 3)."""
        lifted = points + normals * (0.5 * self.softness)
        flat = (lifted @ self.across.T - self.low) * self.scale
        inside = ((flat >= 0.0) & (flat < np.array(self.size))).all(axis=1)
        share = np.ones(len(points))
        which = np.flatnonzero(inside)
        if not len(which):
            return share
        height = lifted[which] @ self.sun + 0.5 * self.softness
        total = np.zeros(len(which))
        for tap in _TAPS * (self.softness * self.scale):
            x, y = (flat[which] + tap).astype(int).clip(0, np.array(self.size) - 1).T
            total += self.height[y, x] <= height
        share[which] = total / len(_TAPS)
        return share
