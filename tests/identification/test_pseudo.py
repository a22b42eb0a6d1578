"""Pseudo-inertias: against the definition by point masses, there and back, and the metric in another frame."""

from __future__ import annotations

import numpy as np

from fourbar.identification.parameter_coordinates import (
    coordinates,
    frame_map,
    pseudo_inertia,
    reference,
    symmetric,
    ten_parameters,
)
from fourbar.spatial.inertia import Inertia
from fourbar.spatial.linear import Sym, Vec


def _cloud(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3))


def _moved(masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """∫ [r; 1] [r; 1]ᵀ dm."""
    homogeneous = np.column_stack([points, np.ones(len(points))])
    return homogeneous.T @ (masses[:, None] * homogeneous)


def test_definition() -> None:
    masses, points = _cloud(np.random.default_rng(0))
    P = _moved(masses, points)
    ten = ten_parameters(P)
    J = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    expected = [masses.sum(), *(masses @ points), *J[np.triu_indices(3)]]
    assert np.allclose(ten, expected, rtol=1e-14, atol=1e-14)
    assert np.allclose(pseudo_inertia(ten), P, rtol=1e-14, atol=1e-14)
    other = Inertia.of(ten[0], Vec(ten[1:4].tolist()), Sym(*ten[4:].tolist())).pseudo_inertia()
    assert np.allclose(pseudo_inertia(ten), other, rtol=1e-14, atol=1e-14)


def test_coordinates() -> None:
    x = np.random.default_rng(1).normal(size=(7, 10))
    X = symmetric(x)
    assert np.allclose(coordinates(X), x, atol=1e-15)
    assert np.allclose(np.sum(X**2, axis=(1, 2)), np.sum(x**2, axis=1))
    C = np.tril(np.random.default_rng(2).normal(size=(4, 4)))
    assert np.allclose(frame_map(C) @ x[0], ten_parameters(C @ X[0] @ C.T))


def test_the_metric_knows_no_frames_and_units() -> None:
    """The length of a small change is the same seen from another frame, in other units."""
    rng = np.random.default_rng(3)
    (m0, r0), extra = _cloud(rng), _cloud(rng)

    def length(scale: float, R: np.ndarray, p: np.ndarray) -> float:
        P0 = _moved(m0, scale * (r0 @ R.T) + p)
        change = 1e-3 * _moved(extra[0], scale * (extra[1] @ R.T) + p)
        C = reference(ten_parameters(P0), 1.0)
        x = np.linalg.solve(frame_map(C), ten_parameters(change))
        return float(np.linalg.norm(x))

    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    assert np.isclose(length(1.0, np.eye(3), np.zeros(3)), length(1000.0, Q, rng.normal(size=3)), rtol=1e-9)


def test_thin_bodies_are_made_thick_enough() -> None:
    """A point mass serves as a reference too."""
    C = reference(np.array([2.0, 0.2, 0.0, 0.0, *np.array([0.0, 0.0, 0.0, 0.02, 0.0, 0.02])]), 0.5)
    assert np.all(np.diag(C) > 1e-6) and np.isclose((C @ C.T)[3, 3], 2.0)
