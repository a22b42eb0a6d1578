"""Random pairs of convex shapes on both sides of touching, and independent gaps of pairs of polyhedra."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull as Qhull

from fourbar.contact.narrow.separation import Separation, separate
from fourbar.expr import Direct
from fourbar.shapes import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, ShapeType, Sphere
from fourbar.spatial.linear import Mat, Vec
from fourbar.spatial.transform import Transform


def cloud(count: int, seed: int) -> ConvexHull:
    """The hull of points on an ellipsoid."""
    points = np.random.default_rng(seed).normal(size=(count, 3))
    points *= np.array([0.1, 0.15, 0.2]) / np.linalg.norm(points, axis=1, keepdims=True)
    return ConvexHull.around(points - points.mean(axis=0))


SHAPES: dict[str, ShapeType] = {
    "sphere": Sphere(0.1), "capsule": Capsule(0.05, 0.2), "box": Box(0.2, 0.3, 0.15), "plate": Box(0.4, 0.3, 0.02),
    "cylinder": Cylinder(0.1, 0.25), "disc": Cylinder(0.2, 0.02), "ellipsoid": Ellipsoid(0.1, 0.15, 0.07),
    "hull": cloud(20, 1), "round hull": cloud(64, 2),
}  # fmt: skip
POLYHEDRA = ("box", "plate", "hull", "round hull")
DEEPEST = 0.05  # of the smallest extent


class Batch(NamedTuple):
    """Pairs of two shapes: rotations (n, 3, 3) and places (n, 3) of both, and the separation that is found."""

    shapes: tuple[ShapeType, ShapeType]
    R: tuple[np.ndarray, np.ndarray]
    p: tuple[np.ndarray, np.ndarray]
    found: Separation

    @property
    def gap(self) -> np.ndarray:
        """The gaps (n)."""
        return np.asarray(self.found.gap)

    @property
    def normal(self) -> np.ndarray:
        """The normals (n, 3)."""
        return np.array(self.found.normal).T

    @property
    def certificate(self) -> np.ndarray:
        """What the bounds leave open (n)."""
        return np.asarray(self.found.certificate)


def rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    """Random rotations (n, 3, 3)."""
    Q, R = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    Q = Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None]
    return Q * np.sign(np.linalg.det(Q))[:, None, None]


def pose(R: np.ndarray, p: np.ndarray) -> Transform:
    """Poses of a batch: arrays as scalars."""
    return Transform((Mat(Vec(R[:, i, j] for j in range(3)) for i in range(3)),), Vec(p.T))


def smallest(shape: ShapeType) -> float:
    """The least width along an axis."""
    low, high = np.array(shape.extents)
    return float((high - low).min())


def random_pairs(first: str, second: str, n: int, seed: int = 0) -> Batch:
    """Pairs at random poses, from apart to overlap a little."""
    rng = np.random.default_rng(seed)
    shapes = (SHAPES[first], SHAPES[second])
    R, direction = (rotations(rng, n), rotations(rng, n)), rotations(rng, n)[:, :, 0]
    p = rng.normal(size=(n, 3))
    far = p + direction * (shapes[0].reach + shapes[1].reach)
    start = separate(Direct(), shapes, (pose(R[0], p), pose(R[1], far)))
    depth = DEEPEST * min(map(smallest, shapes))
    target = rng.uniform(-depth, 3.0 * depth, n)
    other = far + np.array(start.normal).T * (np.asarray(start.gap) - target)[:, None]
    return Batch(shapes, R, (p, other), separate(Direct(), shapes, (pose(R[0], p), pose(R[1], other))))


def corners(shape: Any) -> np.ndarray:
    """The corners of a polyhedron (n, 3)."""
    if isinstance(shape, Box):
        return np.array(list(product((-0.5, 0.5), repeat=3))) * shape.numbers
    return np.array(shape.points)


def exact_gap(a: np.ndarray, b: np.ndarray) -> float:
    """The gap of two polyhedra by their corners (n, 3), (m, 3): the origin beside all faces of their differences."""
    points = (a[:, None] - b).reshape(-1, 3)
    hull = Qhull(points)
    height = hull.equations[:, 3]  # of the origin over the faces
    if height.max() <= 0.0:
        return float(height.max())
    return float(min(np.linalg.norm(_nearest(points[f])) for f in hull.simplices))


def _nearest(triangle: np.ndarray) -> np.ndarray:
    """The point of a triangle that is nearest to the origin."""
    a, b, c = triangle
    n = np.cross(b - a, c - a)
    foot = n * (n @ a) / (n @ n)
    if all(np.cross(q - p, foot - p) @ n >= 0.0 for p, q in ((a, b), (b, c), (c, a))):
        return foot
    ends = []
    for p, q in ((a, b), (b, c), (c, a)):
        t = np.clip(-(p @ (q - p)) / ((q - p) @ (q - p)), 0.0, 1.0)
        ends.append(p + t * (q - p))
    return min(ends, key=np.linalg.norm)  # type: ignore[arg-type]  (a float)
