"""Mass from shapes: against textbook forms, against each other, and against random points."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import fourbar as fb
from fourbar.edit.mass_from_shapes import of_shape, of_shapes
from fourbar.errors import extra
from fourbar.joints import Revolute
from fourbar.mechanism.geometry import Geometry
from fourbar.mechanism.placement import Placement
from fourbar.shapes.base import MassMoments, moments_of_faces

from .support import close

PI = np.pi
# Textbook: volume, and principal moments for a mass of one.
CLOSED = [
    (Geometry("box", (1.0, 2.0, 3.0)), 6.0, ((4 + 9) / 12, (1 + 9) / 12, (1 + 4) / 12)),
    (Geometry("sphere", (0.5,)), PI / 6, (0.1, 0.1, 0.1)),
    (Geometry("cylinder", (0.5, 3.0)), 0.75 * PI, (0.25 / 4 + 9 / 12, 0.25 / 4 + 9 / 12, 0.125)),
    (Geometry("ellipsoid", (1.0, 2.0, 3.0)), 8 * PI, ((4 + 9) / 5, (1 + 9) / 5, (1 + 4) / 5)),
]


@pytest.mark.parametrize(("shape", "volume", "moments"), CLOSED, ids=lambda x: getattr(x, "kind", ""))
def test_textbook(shape: Geometry, volume: float, moments: tuple[float, ...]) -> None:
    m, c, J = of_shapes("a", [shape], 7.0)
    close(m, 7.0 * volume, 1e-15)
    close(c, np.zeros(3))
    close(J, m * np.diag(moments), 1e-15)


def test_capsule_by_integration() -> None:
    """Discs along the axis: exact for these polynomials with enough nodes of Gauss."""
    r, length = 0.3, 0.8
    x, w = np.polynomial.legendre.leggauss(20)
    m = zz = xx = 0.0
    for low, high in ((-length / 2 - r, -length / 2), (-length / 2, length / 2), (length / 2, length / 2 + r)):
        z = 0.5 * (high - low) * x + 0.5 * (high + low)
        beyond = np.maximum(np.abs(z) - length / 2, 0.0)
        area, weight = PI * (r * r - beyond**2), 0.5 * (high - low) * w
        m += weight @ area
        zz += weight @ (area * z * z)
        xx += weight @ (area * (r * r - beyond**2) / 4)
    found = of_shape("a", Geometry("capsule", (r, length)))
    close(found.m, m, 1e-14)
    close(found.Sigma, np.diag([xx, xx, zz]), 1e-14)
    close(of_shape("a", Geometry("capsule", (r, 0.0))).Sigma, of_shape("a", Geometry("sphere", (r,))).Sigma, 1e-15)


def rotation(seed: int) -> np.ndarray:
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return Q * np.array([1.0, 1.0, np.linalg.det(Q)])


def test_places_and_sums() -> None:
    """Two halves of a box, turned and moved together, are the box; by the parallel axis theorem at its place."""
    R, p = rotation(0), np.array([0.3, -0.2, 0.5])
    turned = tuple(map(tuple, R.tolist()))
    halves = [
        Geometry("box", (0.5, 2.0, 3.0), Placement(turned, tuple((R @ [x, 0, 0] + p).tolist()))) for x in (-0.25, 0.25)
    ]
    m, c, J = of_shapes("a", halves, 2.0)
    close(m, 12.0, 1e-15)
    close(c, p, 1e-14)
    close(J, R @ np.diag([13 / 12, 10 / 12, 5 / 12]) @ R.T * 12.0, 1e-14)


CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])
FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
                  [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip


@pytest.mark.parametrize("faces", [FACES, FACES[:, ::-1]], ids=["outwards", "inwards"])
def test_faces_of_a_box(faces: np.ndarray) -> None:
    expected = of_shape("a", Geometry("box", (1.0, 2.0, 3.0), Placement(position=(0.5, 1.0, 1.5))))
    found = moments_of_faces(CUBE, faces)
    for a, b in zip(found, expected, strict=True):
        close(a, b, 1e-14)


def test_moved_matter_keeps_its_inertia() -> None:
    points = np.random.default_rng(0).normal(size=(5, 3))
    R, p = rotation(1), np.array([1.0, 2.0, 3.0])
    other = points @ R.T + p
    found = MassMoments(5.0, points.sum(axis=0), points.T @ points).move_to(R, p)
    close(found.h, other.sum(axis=0), 1e-14)
    close(found.Sigma, other.T @ other, 1e-14)


def test_meshes(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    file = tmp_path / "ball.stl"
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.5)
    ball.export(file)
    scale = (1.0, -2.0, 3.0)  # a mirrored ellipsoid
    m, _, J = of_shapes("a", [Geometry("mesh", mesh="ball.stl", file=str(file), scale=scale)], 1.0)
    smooth = of_shapes("a", [Geometry("ellipsoid", (0.5, 1.0, 1.5))], 1.0)
    assert abs(m / smooth[0] - 1) < 5e-3 and np.abs(J / smooth[2].max() - smooth[2] / smooth[2].max()).max() < 1e-2
    plain = of_shapes("a", [Geometry("mesh", mesh="ball.stl", file=str(file))], 1.0)
    again = trimesh.load(file)
    close(plain[0], again.volume, 1e-12)
    close(plain[1], again.center_mass, 1e-12)
    close(plain[2], again.moment_inertia, 1e-12)
    box = tmp_path / "box.stl"
    trimesh.creation.box((1.0, 2.0, 3.0)).export(box)
    for a, b in zip(of_shape("a", Geometry("mesh", mesh="b", file=str(box))), of_shape("a", CLOSED[0][0]), strict=True):
        close(a, b, 1e-14)
    half = trimesh.Trimesh(ball.vertices, ball.faces[: len(ball.faces) // 2])
    half.export(tmp_path / "half.stl")
    with pytest.raises(fb.ModelError, match="is not closed"):
        of_shape("a", Geometry("mesh", mesh="h", file=str(tmp_path / "half.stl")))
    (tmp_path / "broken.stl").write_bytes(b"solid nothing")
    with pytest.raises(fb.ModelError, match=r"cannot be read|is not closed"):
        of_shape("a", Geometry("mesh", mesh="h", file=str(tmp_path / "broken.stl")))


def build(*shapes: Geometry) -> fb.System:
    b = fb.Builder("r").body("a", joint=Revolute("z"), mass=1, inertia=(1, 1, 1), geometry=list(shapes))
    return b.body("b", parent="a", joint=Revolute("z"), mass=2, inertia=(1, 1, 1)).build()


def test_robots() -> None:
    ball, box = Geometry("sphere", (0.5,), role="collision"), Geometry("box", (1.0, 1.0, 1.0))
    r = build(ball, box)
    first, second = r.with_mass_from_geometry(6.0 / PI).mechanism.bodies
    close(first.mass, 1.0, 1e-15)
    close(np.array(first.inertia), 0.1 * np.eye(3), 1e-15)
    assert second == r.mechanism.bodies[1]  # it has no shapes
    assert r.with_mass_from_geometry({"a": 3.0}, role="visual").mechanism.bodies[0].mass == 3.0
    close(r.with_mass_from_geometry(2.0, ["a"], role="visual").mass_matrix([0, 0])[1, 1], 1.0)


def test_errors() -> None:
    r = build(Geometry("plane"), Geometry("mesh", mesh="x.stl", role="collision"))
    with pytest.raises(fb.ModelError, match="body 'a': a plane has no volume"):
        r.with_mass_from_geometry(1.0, role="visual")
    with pytest.raises(fb.ModelError, match=r"body 'a': the mesh 'x.stl' was not found .* give folders="):
        r.with_mass_from_geometry(1.0)
    with pytest.raises(fb.ModelError, match="body 'b' has no collision geometry"):
        r.with_mass_from_geometry(1.0, ["b"])
    with pytest.raises(fb.UnknownNameError, match="no body 'c'"):
        r.with_mass_from_geometry(1.0, ["c"])
    with pytest.raises(fb.ModelError, match=r"such as \['a'\]"):
        r.with_mass_from_geometry(1.0, "a")
    with pytest.raises(fb.ModelError, match="role='both': expected one of 'visual', 'collision'"):
        r.with_mass_from_geometry(1.0, role="both")  # type: ignore[arg-type]
    ball = build(Geometry("sphere", (0.5,), role="collision"))
    with pytest.raises(fb.ModelError, match="the density must be positive, got -1"):
        ball.with_mass_from_geometry(-1.0)
    with pytest.raises(fb.ModelError, match="density: all numbers must be finite"):
        ball.with_mass_from_geometry(np.nan)
    with pytest.raises(fb.ModelError, match="body 'a': no density was given for it"):
        ball.with_mass_from_geometry({"b": 1.0}, ["a"])
    with pytest.raises(fb.ModelError, match="has no volume"):
        build(Geometry("sphere", (0.0,), role="collision")).with_mass_from_geometry(1.0)


def test_without_trimesh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(fb.FourbarError, match=re.escape(extra("mesh"))):
        of_shape("a", Geometry("mesh", mesh="h", file=str(tmp_path / "half.stl")))
