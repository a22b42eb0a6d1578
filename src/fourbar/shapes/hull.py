"""The convex hull of points: a mesh as it touches others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expr import maximum, select, sqrt
from ..once import cached_property
from ..spatial.linear import Vec, dot
from .base import BallFeature, Chord, MassMoments, ShapeType, Three, Triangles, moments_of_faces
from .chords import below, common

_FLAT = 1e-10  # of the size: points nearer to the plane of a face are on it


@dataclass(frozen=True)
class ConvexHull(ShapeType):
    """The convex hull of points (n, 3)."""

    points: tuple[Three, ...]

    kind = "hull"
    in_models = False

    @staticmethod
    def around(points: Any) -> ConvexHull:
        """The hull of an array of points (n, 3)."""
        rows: Sequence[Any] = np.asarray(points, float).tolist()
        return ConvexHull(tuple((x, y, z) for x, y, z in rows))

    @property
    def parameters(self) -> Any:
        return self.points

    @classmethod
    def of_parameters(cls, parameters: Any) -> ConvexHull:
        return cls(parameters)

    def support(self, n: Vec) -> Vec:
        best = Vec(self.points[0])
        farthest = dot(best, n)
        for x in self.points[1:]:
            along = dot(x, n)
            farther = along > farthest
            best = Vec([select(farther, a, b) for a, b in zip(x, best, strict=True)])
            farthest = select(farther, along, farthest)
        return best

    def flat_directions(self, points: list[Vec]) -> list[Vec]:
        return [x - points[0] for x in points[1:]]

    def chord(self, x: Vec, d: Vec) -> Chord:
        return common([below(dot(n, x) - c, dot(n, d)) for n, c in self._planes])

    @cached_property
    def _planes(self) -> list[tuple[Three, float]]:
        """The planes of its faces: unit normals out, and their distances from the origin."""
        points = np.array(self.points)
        corners = points[faces_of_hull(points)]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        offsets = np.einsum("ij,ij->i", normals, corners[:, 0])
        rows: Any = np.unique(np.column_stack([normals, offsets]).round(14), axis=0).tolist()
        return [((a, b, c), offset) for a, b, c, offset in rows]

    def on_terrain(self) -> tuple[BallFeature, ...]:
        return tuple(BallFeature(x) for x in self.points)

    def moments(self) -> MassMoments:
        solid = self.triangles()
        return moments_of_faces(solid.vertices, solid.faces)

    def triangles(self, sides: int = 24) -> Triangles:
        points = np.array(self.points)
        return Triangles(points, faces_of_hull(points))

    @property
    def reach(self) -> float:
        farthest: Any = 0.0
        for x in self.points:
            farthest = maximum(farthest, dot(x, x))
        return sqrt(farthest)


def faces_of_hull(points: np.ndarray) -> np.ndarray:
    """Triangles (m, 3) around points (n, 3), by their numbers, anticlockwise from outside.

    Point by point: the faces that a point sees are replaced by those that it spans with their outline.
    """
    size = float(np.ptp(points, axis=0).max(initial=0.0))
    faces = _tetrahedron(points, _FLAT * size)
    for k in range(len(points)):
        corners = points[faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        seen = np.einsum("ij,ij->i", normals, points[k] - corners[:, 0]) > _FLAT * size
        if not seen.any():
            continue
        edges = {(int(a), int(b)) for f in faces[seen] for a, b in zip(f, np.roll(f, -1), strict=True)}
        outline = [(a, b) for a, b in edges if (b, a) not in edges]
        faces = np.concatenate([faces[~seen], np.array([(a, b, k) for a, b in sorted(outline)], int)])
    return faces


def _tetrahedron(points: np.ndarray, flat: float) -> np.ndarray:
    """Four points that span a volume, as faces."""
    a = int(points[:, 0].argmin())
    b = int(np.linalg.norm(points - points[a], axis=1).argmax())
    along = points[b] - points[a]
    c = int(np.linalg.norm(np.cross(points - points[a], along), axis=1).argmax())
    normal = np.cross(along, points[c] - points[a])
    length = float(np.linalg.norm(normal))
    heights = (points - points[a]) @ normal / (length or 1.0)
    d = int(np.abs(heights).argmax())
    if not length > flat * float(np.linalg.norm(along)) or not abs(heights[d]) > flat:
        raise ModelError(f"the {len(points)} points of a hull lie in a plane, so that it has no volume")
    if heights[d] > 0.0:
        b, c = c, b
    return np.array([(a, b, c), (a, d, b), (b, d, c), (c, d, a)])
