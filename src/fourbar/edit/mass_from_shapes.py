"""Bodies that take their mass from their shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

from ..errors import ModelError, unknown
from ..mechanism.geometry import Role
from ..mechanism.mechanism import Body, Mechanism
from ..mechanism.solid_inertia import of_shapes
from ..mechanism.validate import as_matrix, read_number
from .rename import check


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
