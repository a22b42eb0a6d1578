"""Triangles to pixels: against a slow search for the nearest one, and shadows where they must be."""

from __future__ import annotations

import numpy as np
import pytest

from fourbar.viewer.raster import Eye, Shadows, rasterize

pytestmark = pytest.mark.quick


def test_each_pixel_sees_the_nearest_triangle() -> None:
    rng, wide, high = np.random.default_rng(0), 20, 15
    corners = np.concatenate([rng.uniform(-5.0, 25.0, (30, 3, 2)), rng.uniform(1.0, 2.0, (30, 3, 1))], axis=-1)
    seen = rasterize(corners, wide, high)
    for pixel in range(wide * high):
        middle = np.array([pixel % wide + 0.5, pixel // wide + 0.5, 1.0])
        weights = [np.linalg.solve(np.vstack([t[:, :2].T, np.ones(3)]), middle) for t in corners]
        near = [w @ t[:, 2] if (w >= 0.0).all() else -np.inf for w, t in zip(weights, corners, strict=True)]
        best = int(np.argmax(near))
        assert seen.face[pixel] == (best if np.isfinite(near[best]) else -1)
        if np.isfinite(near[best]):
            assert seen.nearness[pixel] == pytest.approx(near[best])


def test_triangles_behind_the_eye_are_cut() -> None:
    eye = Eye(np.array([0.0, 0.0, 1.0]), np.eye(3)[[1, 2, 0]] * [[-1.0], [1.0], [1.0]], 0.8, (40, 30))
    ground = np.array([[[-50.0, -50.0, 0.0], [50.0, -50.0, 0.0], [-50.0, 50.0, 0.0]]])
    flat, number = eye.project(ground)
    assert (flat[..., 2] > 0.0).all() and set(number.tolist()) == {0}
    rows = np.flatnonzero((rasterize(flat, 40, 30).face >= 0).reshape(30, 40).any(axis=1))
    assert rows.min() >= 15, "the ground is below the horizon"


def test_a_shadow_lies_opposite_to_the_sun() -> None:
    sun = np.array([0.0, -1.0, 1.0])
    roof = np.array([[[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 1.0, 1.0]]])
    shadows = Shadows(roof, sun, 0.01)
    places = np.array([[0.0, 0.8, 0.0], [0.0, -0.8, 0.0], [0.0, 0.8, 2.0], [30.0, 0.0, 0.0]])
    assert shadows.lit(places, np.tile([0.0, 0.0, 1.0], (4, 1))).tolist() == [0.0, 1.0, 1.0, 1.0]
