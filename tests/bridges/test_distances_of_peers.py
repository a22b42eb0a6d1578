"""Gaps of convex shapes beside those of coal and of MuJoCo, as far as these are exact."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from fourbar.shapes import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, ShapeType, Sphere
from tests.contact.narrow_pairs import SHAPES, random_pairs

pytestmark = pytest.mark.slow
MANY = 20


def _of_coal(coal: Any, shape: ShapeType) -> Any:
    if isinstance(shape, Sphere | Capsule | Cylinder | Ellipsoid | Box):
        return getattr(coal, type(shape).__name__)(*shape.numbers)
    assert isinstance(shape, ConvexHull)
    points = coal.StdVec_Vec3s()
    for x in shape.points:
        points.append(np.array(x))
    return coal.Convex.convexHull(points, True, "Qt")


def test_gaps_are_those_of_coal() -> None:
    coal = pytest.importorskip("coal")
    request = coal.DistanceRequest()
    request.enable_signed_distance, request.gjk_tolerance, request.epa_tolerance = True, 1e-9, 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    compared = 0
    for both in combinations_with_replacement(SHAPES, 2):
        x = random_pairs(*both, MANY, seed=7)
        solids = [_of_coal(coal, y) for y in x.shapes]
        for i in np.flatnonzero(x.gap > 1e-5):
            placed = [coal.Transform3s(R[i], p[i]) for R, p in zip(x.R, x.p, strict=True)]
            result = coal.DistanceResult()
            gap = coal.distance(solids[0], placed[0], solids[1], placed[1], request, result)
            assert abs(gap - x.gap[i]) < 1e-6, (both, i, gap, x.gap[i])
            compared += 1
    assert compared > 400


def _geom(shape: ShapeType, name: str) -> str:
    if isinstance(shape, ConvexHull):
        return f'<geom name="{name}" type="mesh" mesh="{name}"/>'
    size = " ".join(repr(x / f) for x, f in zip(shape.numbers, shape.mjcf or (), strict=True))
    return f'<geom name="{name}" type="{shape.kind}" size="{size}"/>'


def _asset(shape: ShapeType, name: str) -> str:
    if not isinstance(shape, ConvexHull):
        return ""
    vertices = " ".join(repr(y) for x in shape.points for y in x)
    return f'<mesh name="{name}" vertex="{vertices}"/>'


def _model(mujoco: Any, shapes: tuple[ShapeType, ShapeType]) -> Any:
    assets = "".join(_asset(s, f"g{k}") for k, s in enumerate(shapes))
    bodies = "".join(f'<body mocap="true">{_geom(s, f"g{k}")}</body>' for k, s in enumerate(shapes))
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option ccd_tolerance="1e-10" ccd_iterations="500"/><asset>{assets}</asset>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def test_gaps_are_those_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    compared = 0
    for both in combinations_with_replacement(SHAPES, 2):
        x = random_pairs(*both, MANY, seed=8)
        model = _model(mujoco, x.shapes)
        data = mujoco.MjData(model)
        for i in np.flatnonzero(x.gap > 1e-5):
            for k in range(2):
                data.mocap_pos[k] = x.p[k][i]
                mujoco.mju_mat2Quat(data.mocap_quat[k], x.R[k][i].flatten())
            mujoco.mj_forward(model, data)
            gap = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)
            assert abs(gap - x.gap[i]) < 2e-6, (both, i, gap, x.gap[i])
            compared += 1
    assert compared > 400
