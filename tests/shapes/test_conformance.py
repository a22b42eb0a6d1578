"""Every registered shape: its parts agree with each other."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar.shapes.base import BallFeature, RimFeature, ShapeType, moments_of_faces, reach_along
from fourbar.shapes.registry import EXAMPLES, TYPES, kinds_of_numbers
from fourbar.spatial.linear import Vec

SHAPES = [x for kind in EXAMPLES.values() for x in kind]
FINE = 192  # sides of what is round


def _with(*parts: str) -> list[ShapeType]:
    return [x for x in SHAPES if all(map(x.has, parts))]


def _named(shapes: list[ShapeType]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("shape", shapes, ids=[f"{x.kind}{k}" for k, x in enumerate(shapes)])


def _directions(count: int = 60) -> np.ndarray:
    found = np.random.default_rng(0).normal(size=(count, 3))
    return np.concatenate([found / np.linalg.norm(found, axis=1, keepdims=True), np.eye(3), -np.eye(3)])


def _vec(x: np.ndarray) -> Vec:
    return Vec(x.tolist())


def test_every_kind_has_examples() -> None:
    assert all(EXAMPLES[kind] for kind in TYPES if kind != "mesh")
    assert set(kinds_of_numbers()) == {"point", "sphere", "capsule", "box", "cylinder", "ellipsoid"}


@_named(_with("support", "distance"))
def test_support_points_lie_on_the_surface(shape: ShapeType) -> None:
    for n in _directions():
        p = shape.support(_vec(2.0 * n))  # of any length
        assert abs(shape.distance(p).gap) < 1e-15
        away, normal = shape.distance(p + _vec(n) * 0.3)  # along the normal cone the distance is that to the support
        assert abs(away - 0.3) < 1e-15 and np.abs(np.array(normal) - n).max() < 1e-14


@_named(_with("distance"))
def test_the_gradient_of_the_distance_is_its_normal(shape: ShapeType) -> None:
    h = 1e-6
    for x in np.random.default_rng(1).uniform(-0.6, 0.6, (30, 3)):
        _, normal = shape.distance(_vec(x))
        slope = [(shape.distance(_vec(x + e)).gap - shape.distance(_vec(x - e)).gap) / (2 * h) for e in h * np.eye(3)]
        assert np.abs(np.array(normal) - slope).max() < 1e-6


@_named(_with("support", "triangles"))
def test_triangles_are_inside_and_reach_the_support(shape: ShapeType) -> None:
    vertices, faces, normals = shape.triangles(FINE)
    assert set(np.unique(faces)) == set(range(len(vertices))) or shape.kind == "hull"
    size = shape.reach
    for n in _directions():
        lack = reach_along(shape, _vec(n)) - (vertices @ n).max()
        assert -1e-14 < lack < 2e-3 * size
    low, high = (np.array(x) for x in shape.extents)
    assert (vertices.min(axis=0) >= low - 1e-14).all() and (vertices.max(axis=0) <= high + 1e-14).all()
    assert np.abs(np.linalg.norm(vertices, axis=1).max() - size) < 1e-3 * size
    if normals is not None:
        for n, p in zip(normals[::7], vertices[::7], strict=True):
            assert np.abs(np.array(shape.support(_vec(n))) - p).max() < 1e-14
    if shape.has("distance"):
        assert max(abs(shape.distance(_vec(p)).gap) for p in vertices[::5] if np.abs(p[:2]).max() > 0.0) < 1e-14


@_named(_with("moments", "triangles"))
def test_the_volume_of_the_triangles_is_the_mass(shape: ShapeType) -> None:
    corners = (surface := shape.triangles(FINE)).vertices[surface.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.abs(across.sum(axis=0)).max() < 1e-14  # closed
    assert np.einsum("ij,ij->", across, corners[:, 0]) > 0.0  # anticlockwise from outside
    found, wanted = moments_of_faces(surface.vertices, surface.faces), shape.moments()
    is_flat = shape.kind in ("box", "hull")
    near = 1e-13 if is_flat else 2e-3
    assert abs(found.m - wanted.m) <= near * wanted.m
    assert np.abs(found.h - wanted.h).max() <= near * wanted.m * shape.reach
    assert np.abs(found.Sigma - wanted.Sigma).max() <= near * wanted.m * shape.reach**2


@_named(_with("support", "on_terrain"))
def test_what_touches_terrain_is_the_support(shape: ShapeType) -> None:
    for n in _directions():
        reaches = []
        for feature in shape.on_terrain():
            if isinstance(feature, BallFeature):
                reaches.append(float(np.dot(feature.at, n)) + feature.radius)
            elif isinstance(feature, RimFeature):
                across = n - np.dot(n, feature.axis) * np.array(feature.axis)
                reaches.append(float(np.dot(feature.centre, n) + feature.radius * np.linalg.norm(across)))
            else:
                reaches.append(float(reach_along(feature.of, _vec(n))))
        assert abs(max(reaches) - reach_along(shape, _vec(n))) < 1e-14


@_named(_with("support"))
def test_a_core_and_its_rounding_are_the_shape(shape: ShapeType) -> None:
    core, radius = shape.rounding
    for n in _directions():
        assert abs(reach_along(core, _vec(n)) + radius - reach_along(shape, _vec(n))) < 1e-14
