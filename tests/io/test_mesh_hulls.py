"""Meshes as few points: STL and OBJ files, and how far a hull of few corners is from the mesh."""

from __future__ import annotations

import struct
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.io.meshes import MOST_POINTS, hull_of, read_vertices, reduce_hull
from fourbar.mechanism.geometry import Geometry

CUBE = np.array(list(product((-1.0, 2.0), (0.0, 1.0), (-0.5, 0.5))))


def binary_stl(corners: np.ndarray) -> bytes:
    faces = [struct.pack("<12fH", 0, 0, 1, *f.ravel(), 0) for f in corners.reshape(-1, 3, 3)]
    return b" " * 80 + struct.pack("<I", len(faces)) + b"".join(faces)


def text_stl(corners: np.ndarray) -> bytes:
    lines = ["solid s"]
    for face in corners.reshape(-1, 3, 3):
        lines += ["facet normal 0 0 1", "outer loop", *("  vertex " + " ".join(map(str, p)) for p in face.tolist())]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid s"]).encode()


def obj(corners: np.ndarray) -> bytes:
    lines = ["# vertices", *("v " + " ".join(map(repr, p)) + " 1.0" for p in corners.tolist()), "vn 0 0 1", "vt 9 9"]
    return "\n".join([*lines, "f 1 2 3"]).encode()


TRIANGLES = CUBE[[0, 1, 2, 1, 2, 3, 4, 5, 6, 5, 6, 7]]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.stl", binary_stl(TRIANGLES)), ("b.STL", text_stl(TRIANGLES)), ("c.obj", obj(TRIANGLES))],
)
def test_files(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    found = read_vertices(tmp_path / name)
    assert {tuple(x) for x in found.tolist()} == {tuple(x) for x in CUBE.tolist()}
    shape = Geometry("mesh", mesh=name, scale=(2.0, 1.0, -1.0), file=str(tmp_path / name))
    hull = hull_of(shape)
    assert np.allclose(hull.points, np.unique(CUBE * [2.0, 1.0, -1.0], axis=0)) and hull.beyond < 1e-12


def test_a_sphere_of_many_vertices() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50_000, 3))
    points *= 0.3 / np.linalg.norm(points, axis=1)[:, None]
    inside = 0.5 * points[:1000]
    hull = reduce_hull(np.concatenate([inside, points]))
    assert len(hull.points) <= MOST_POINTS
    assert np.allclose(np.linalg.norm(hull.points, axis=1), 0.3)
    directions = points / 0.3
    missing = 0.3 - (directions @ hull.points.T).max(axis=1)
    assert 0.2 * hull.beyond < missing.max() < 1.3 * hull.beyond < 0.1
    finer = reduce_hull(points, most=120)
    assert len(finer.points) > len(hull.points) and finer.beyond < 0.5 * hull.beyond


def test_a_box_of_many_vertices_is_its_corners() -> None:
    """Points inside, on faces and on edges are left out."""
    rng = np.random.default_rng(1)
    cloud = rng.uniform(CUBE.min(axis=0), CUBE.max(axis=0), (20_000, 3))
    cloud[:5000, 2] = 0.5
    hull = reduce_hull(np.concatenate([cloud, CUBE]))
    assert np.allclose(hull.points, np.unique(CUBE, axis=0)) and hull.beyond < 3e-3


@pytest.mark.parametrize("points", [np.zeros((1, 3)), np.array([[0.0, 0, 0], [1, 0, 0]]), np.ones((5, 3))])
def test_few_points(points: np.ndarray) -> None:
    hull = reduce_hull(points)
    assert {tuple(x) for x in hull.points} == {tuple(x) for x in points} and hull.beyond == 0.0


WRONG = {
    "a.xyz": (b"<COLLADA/>", "not of .xyz"),
    "b.obj": (b"f 1 2 3", "no vertices"),
    "c.stl": (b"solid nothing", "no vertices"),
    "d.obj": (b"v 1 2 nan", "no vertices, or some that are not finite"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str, tmp_path: Path) -> None:
    content, words = WRONG[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(fb.ModelError, match=words):
        hull_of(Geometry("mesh", mesh=name, file=str(tmp_path / name)))


def test_meshes_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(fb.ModelError, match="was not found"):
        hull_of(Geometry("mesh", mesh="x.stl"))
    with pytest.raises(fb.ModelError, match="cannot be read"):
        hull_of(Geometry("mesh", mesh="x.stl", file=str(tmp_path / "x.stl")))
    with pytest.raises(fb.ArgumentError, match="this shape is a sphere"):
        hull_of(Geometry("sphere", (1.0,)))
    with pytest.raises(fb.ArgumentError, match="at least 4"):
        reduce_hull(CUBE, 2)
