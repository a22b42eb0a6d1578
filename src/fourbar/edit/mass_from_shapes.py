"""Bodies that take their mass from their shapes, of uniform density: closed forms, and facets for meshes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from ..errors import FourbarError, ModelError, extra, unknown
from ..mechanism.geometry import Geometry, Role
from ..mechanism.mechanism import Body, Mechanism
from ..mechanism.validate import as_matrix, read_number
from ..shapes.base import MassMoments, moments_of_faces
from .rename import check


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
    return moments_of_faces(np.array(surface.vertices) * shape.scale, np.array(surface.faces))  # type: ignore[attr-defined]


def of_shape(what: str, shape: Geometry) -> MassMoments:
    """A shape of unit density, expressed in its body's frame."""
    try:
        filled = _mesh(what, shape) if shape.mesh else shape.form.moments()
    except ModelError as error:
        raise ModelError(f"{what}: {str(error).removeprefix(f'{what}: ')}") from None
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
