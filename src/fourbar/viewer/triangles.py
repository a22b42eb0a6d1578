"""Surfaces of triangles: simple shapes, smooth where they are smooth, and meshes with fewer triangles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..shapes.ball import Sphere
from ..shapes.base import ShapeType
from ..shapes.box import Box
from ..shapes.cylinder import Cylinder
from ..shapes.ellipsoid import Ellipsoid
from ..shapes.solids import turn_profile

_ROUND = 24  # sides of what is round
_CREASE = np.cos(np.radians(35.0))  # faces that meet at a larger angle keep their edge
_SAME = 1e-5  # of the size of a mesh: vertices nearer than that are one


@dataclass(frozen=True, eq=False)
class TriangleSurface:
    """Triangles: vertices (n, 3) in metres, normals (n, 3) out of the surface, faces (m, 3) by number of vertex."""

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray

    @property
    def bounds(self) -> np.ndarray:
        """The least and the largest x, y, z: (2, 3)."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)], float)


def shade(vertices: np.ndarray, faces: np.ndarray) -> TriangleSurface:
    """Triangles with normals: one per vertex where the surface is smooth, one per face at edges."""
    vertices, faces = _join(np.asarray(vertices, float), np.asarray(faces, int))
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    faces, across, area = faces[area > 0.0], across[area > 0.0], area[area > 0.0]
    unit = across / area[:, None]
    total = np.zeros((3 * len(faces), 3))
    for corner, face in _neighbours(faces, len(vertices)):
        alike = np.einsum("ij,ij->i", unit[corner // 3], unit[face]) > _CREASE
        for axis in range(3):
            total[:, axis] += np.bincount(corner[alike], across[face[alike], axis], len(total))
    length = np.linalg.norm(total, axis=1, keepdims=True)
    normals = total / np.where(length > 0.0, length, 1.0)
    key = np.column_stack([faces.reshape(-1), np.round(normals * 64.0)]).astype(np.int64)
    _, first, number = np.unique(key, axis=0, return_index=True, return_inverse=True)
    points = vertices[faces.reshape(-1)[first]]
    return TriangleSurface(
        points.astype(np.float32), normals[first].astype(np.float32), number.reshape(-1, 3).astype(np.uint32)
    )


def _join(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The triangles with coinciding vertices merged, and without those that have no area."""
    size = float(np.ptp(vertices, axis=0).max(initial=0.0)) or 1.0
    key = np.round((vertices - vertices.min(axis=0)) / (_SAME * size)).astype(np.int64)
    _, first, number = np.unique(key, axis=0, return_index=True, return_inverse=True)
    faces = number.reshape(-1)[faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return vertices[first], faces[distinct]


def _neighbours(faces: np.ndarray, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of a corner and a face that share a vertex, in rounds: the k-th face of a vertex, for all its corners."""
    owner = faces.reshape(-1)
    order = np.argsort(owner, kind="stable")
    degree = np.bincount(owner, minlength=count)
    start = np.concatenate([[0], np.cumsum(degree)])
    corner = np.arange(len(owner))
    rounds = []
    for k in range(int(degree.max(initial=0))):
        corner = corner[degree[owner[corner]] > k]
        rounds.append((corner, order[start[owner[corner]] + k] // 3))
    return rounds


def simplify(vertices: np.ndarray, faces: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` triangles of nearly the same surface: vertices in the same cell of a grid become their mean."""
    vertices, faces = np.asarray(vertices, float), np.asarray(faces, int)
    cells = 512
    best = vertices, faces
    while len(best[1]) > most and cells > 2:
        best = _cluster_vertices(vertices, faces, cells)
        cells = int(cells * 0.85)
    return best


def _cluster_vertices(vertices: np.ndarray, faces: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    low, size = vertices.min(axis=0), float(np.ptp(vertices, axis=0).max()) or 1.0
    key = np.floor((vertices - low) / size * cells).astype(np.int64) @ np.array([1, 4096, 4096**2])
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(number, vertices[:, k]) / count for k in range(3)], axis=1)
    faces = number[faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = faces[distinct]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return means, faces[first]


def merge(solids: Sequence[TriangleSurface]) -> TriangleSurface:
    """Several surfaces as one."""
    starts = np.cumsum([0, *(len(s.vertices) for s in solids)])
    faces = [s.faces + start for s, start in zip(solids, starts[:-1], strict=True)]
    return TriangleSurface(
        np.concatenate([s.vertices for s in solids]),
        np.concatenate([s.normals for s in solids]),
        np.concatenate(faces).astype(np.uint32),
    )


def move_surface(solid: TriangleSurface, placement: np.ndarray) -> TriangleSurface:
    """The surface moved by a matrix (4, 4)."""
    R = placement[:3, :3]
    vertices = solid.vertices @ R.T + placement[:3, 3]
    return TriangleSurface(vertices.astype(np.float32), (solid.normals @ R.T).astype(np.float32), solid.faces)


def surface_of(shape: ShapeType, sides: int = _ROUND) -> TriangleSurface:
    """The surface of a shape, with that many sides around what is round."""
    vertices, faces, normals = shape.triangles(sides)
    if normals is None:
        return shade(vertices, faces)
    return TriangleSurface(vertices.astype(np.float32), normals.astype(np.float32), faces.astype(np.uint32))


def box(x: float, y: float, z: float) -> TriangleSurface:
    """A box of such edges about the origin."""
    return surface_of(Box(x, y, z))


def cylinder(radius: float, length: float, sides: int = _ROUND) -> TriangleSurface:
    """A cylinder about z, its middle at the origin."""
    return surface_of(Cylinder(radius, length), sides)


def sphere(radius: float, sides: int = _ROUND) -> TriangleSurface:
    """A ball about the origin."""
    return surface_of(Sphere(radius), sides)


def ellipsoid(x: float, y: float, z: float) -> TriangleSurface:
    """An ellipsoid with such half axes about the origin."""
    return surface_of(Ellipsoid(x, y, z))


def arrow(length: float, radius: float, head: float = 0.3) -> TriangleSurface:
    """An arrow from the origin along z; its head takes such a part of its length."""
    neck = length * (1.0 - head)
    profile = (radius, radius, 2.4 * radius, 1e-3 * radius)
    return shade(*turn_profile(profile, (0.0, neck, neck, length), 12)[:2])


def sheet(x: np.ndarray, y: np.ndarray, heights: np.ndarray) -> TriangleSurface:
    """A surface z = heights[i, j] over places x[i], y[j]."""
    grid = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1)
    n, m = heights.shape
    at = np.arange(n * m).reshape(n, m)
    a, b, c, d = (part.reshape(-1) for part in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    return shade(grid.reshape(-1, 3), np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]))


def square(half: float) -> TriangleSurface:
    """A square in the plane z = 0 about the origin, of two triangles; `half` is half its edge."""
    side = np.array([-half, half])
    return sheet(side, side, np.zeros((2, 2)))


def rod(start: np.ndarray, end: np.ndarray, radius: float) -> TriangleSurface:
    """A cylinder from one point to another."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(end - start))
    return move_surface(cylinder(radius, length, 16), pointing(end - start, (start + end) / 2.0))


def pointing(z: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Poses (..., 4, 4) at places (..., 3) with their z axes along given directions (..., 3)."""
    z, at = np.asarray(z, float), np.asarray(at, float)
    length = np.linalg.norm(z, axis=-1, keepdims=True)
    z = np.where(length > 0.0, z / np.where(length > 0.0, length, 1.0), (0.0, 0.0, 1.0))
    side = np.where(np.abs(z[..., :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    y = np.cross(z, side)
    y /= np.linalg.norm(y, axis=-1, keepdims=True)
    found = np.zeros((*z.shape[:-1], 4, 4))
    found[..., :3, 0], found[..., :3, 1], found[..., :3, 2] = np.cross(y, z), y, z
    found[..., :3, 3], found[..., 3, 3] = at, 1.0
    return found
