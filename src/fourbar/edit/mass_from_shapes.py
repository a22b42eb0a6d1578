"""Bodies that take their mass from their shapes, of uniform density: closed forms, and facets for meshes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np

from ..errors import FourbarError, ModelError, extra, unknown
from ..mechanism.geometry import Geometry, Role
from ..mechanism.mechanism import Body, Mechanism
from ..mechanism.validate import as_matrix, read_number
from .rename import check


class MassMoments(NamedTuple):
    """Mass, first moment m c and second moments Σ = ∫ r rᵀ dm about the origin of some frame."""

    m: float
    h: np.ndarray
    Sigma: np.ndarray

    def move_to(self, R: np.ndarray, p: np.ndarray) -> MassMoments:
        """The moments in a frame in which this one is at (R, p)."""
        h = R @ self.h
        across = np.outer(h, p)
        return MassMoments(self.m, h + self.m * p, R @ self.Sigma @ R.T + across + across.T + self.m * np.outer(p, p))

    def about_com(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre of mass, and the rotational inertia about it (3 x 3)."""
        c = self.h / self.m
        central = self.Sigma - self.m * np.outer(c, c)
        central = 0.5 * (central + central.T)
        return self.m, c, np.trace(central) * np.eye(3) - central


def _even(volume: float, *squares: float) -> MassMoments:
    """A shape of unit density, centred and symmetric, with these mean values of x², y², z²."""
    return MassMoments(volume, np.zeros(3), volume * np.diag(squares))


def _box(x: float, y: float, z: float) -> MassMoments:
    return _even(x * y * z, x * x / 12, y * y / 12, z * z / 12)


def _sphere(r: float) -> MassMoments:
    return _ellipsoid(r, r, r)


def _ellipsoid(a: float, b: float, c: float) -> MassMoments:
    return _even(4 / 3 * np.pi * a * b * c, a * a / 5, b * b / 5, c * c / 5)


def _cylinder(r: float, length: float) -> MassMoments:
    return _even(np.pi * r * r * length, r * r / 4, r * r / 4, length * length / 12)


def _capsule(r: float, length: float) -> MassMoments:
    """A cylinder and two hemispheres, whose centres of mass are 3/8 r beyond its ends."""
    ball, middle = 4 / 3 * np.pi * r**3, _cylinder(r, length)
    along = ball * (r * r / 5 + length * length / 4 + 3 / 8 * r * length)
    across = ball * r * r / 5
    return MassMoments(middle.m + ball, np.zeros(3), middle.Sigma + np.diag([across, across, along]))


_SHAPES = {"box": _box, "sphere": _sphere, "ellipsoid": _ellipsoid, "cylinder": _cylinder, "capsule": _capsule}


def of_faces(vertices: np.ndarray, faces: np.ndarray) -> MassMoments:
    """The inside of a closed surface (vertices (n, 3), faces (m, 3)): tetrahedra that its faces span."""
    corners = vertices[faces]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    det = np.einsum("ni,ni->n", a, np.cross(b, c))
    s = a + b + c
    six = np.einsum("n,ni,nj->ij", det, s, s) + np.einsum("n,nki,nkj->ij", det, corners, corners)
    volume = det.sum() / 6.0
    sign = np.sign(volume)  # all faces may be oriented inwards
    return MassMoments(sign * volume, sign * (det @ s) / 24.0, sign * six / 120.0)


def _mesh(what: str, shape: Geometry) -> MassMoments:
    if not shape.file:
        raise ModelError(f"{what}: the mesh {shape.mesh!r} was not found when the file was read; give folders= there")
    try:
        import trimesh
    except ImportError:
        raise FourbarError(f"{what}: the inertia of a mesh needs trimesh: {extra('mesh')}") from None
    try:
        surface = trimesh.load(shape.file, force="mesh")
    except Exception as error:
        raise ModelError(f"{what}: the mesh {shape.file!r} cannot be read: {error}") from error
    if not (surface.is_watertight and surface.is_winding_consistent):  # type: ignore[attr-defined]
        raise ModelError(
            f"{what}: the mesh {shape.file!r} is not closed, so that its volume is undefined; repair it first"
        )
    return of_faces(np.array(surface.vertices) * shape.scale, np.array(surface.faces))  # type: ignore[attr-defined]


def of_shape(what: str, shape: Geometry) -> MassMoments:
    """A shape of unit density, expressed in its body's frame."""
    if shape.kind == "plane":
        raise ModelError(f"{what}: a plane has no volume, hence no mass")
    filled = _mesh(what, shape) if shape.kind == "mesh" else _SHAPES[shape.kind](*shape.size)
    if not filled.m > 0.0:
        raise ModelError(f"{what}: the {shape.kind} of size {shape.size or shape.scale} has no volume, hence no mass")
    return filled.move_to(np.array(shape.placement.rotation), np.array(shape.placement.position))


def of_shapes(what: str, shapes: Sequence[Geometry], density: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre and inertia about it of several shapes together; overlaps count twice."""
    parts = [of_shape(what, shape) for shape in shapes]
    total = MassMoments(*(density * sum(values) for values in zip(*parts, strict=True)))  # type: ignore[arg-type]
    return total.about_com()


def fill(
    mechanism: Mechanism, density: float | Mapping[str, float], bodies: Iterable[str] | None, role: Role
) -> Mechanism:
    """Compute mass, centre and inertia of bodies from their shapes of one role: the named bodies, or all with such
    shapes.
    """
    if role not in get_args(Role):
        raise ModelError(f"role={role!r}: expected one of {', '.join(map(repr, get_args(Role)))}")
    if isinstance(bodies, str):
        raise ModelError(f"bodies={bodies!r}: expected a list of names, such as [{bodies!r}]")
    names = [b.name for b in mechanism.bodies]
    asked = list(density) if isinstance(density, Mapping) else None
    wanted = list(bodies) if bodies is not None else asked
    for name in [*(wanted or ()), *(asked or ())]:
        if name not in names:
            raise unknown("body", name, names)
    chosen = wanted if wanted is not None else [b.name for b in mechanism.bodies if _shapes(b, role)]
    filled = tuple(_fill(b, density, role) if b.name in chosen else b for b in mechanism.bodies)
    return check(replace(mechanism, bodies=filled))


def _shapes(body: Body, role: str) -> list[Any]:
    return [shape for shape in body.geometry if shape.role == role]


def _fill(body: Body, density: float | Mapping[str, float], role: str) -> Body:
    what = f"body {body.name!r}"
    shapes = _shapes(body, role)
    if not shapes:
        raise ModelError(f"{what} has no {role} geometry to compute its mass from")
    if isinstance(density, Mapping) and body.name not in density:
        raise ModelError(f"{what}: no density was given for it")
    value = read_number(f"{what}, density", density[body.name] if isinstance(density, Mapping) else density)
    if value <= 0.0:
        raise ModelError(f"{what}: the density must be positive, got {value}")
    mass, com, inertia = of_shapes(what, shapes, value)
    x, y, z = com.tolist()
    return replace(body, mass=mass, com=(x, y, z), inertia=as_matrix(inertia))
