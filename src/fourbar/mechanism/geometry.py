"""Shapes of a body for viewing and collision. They do not enter the dynamics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..errors import ModelError
from ..once import cached_property
from ..shapes.base import ShapeType
from ..shapes.registry import TYPES, shape_type
from .contact import PLAIN, Surface
from .placement import Placement, Three

CONTACT, WORLD_CONTACT = (
    "contact",
    "contact/world",
)  # keys of findings: shapes that may collide; those of the world
Role = Literal["visual", "collision"]
Colour = tuple[float, float, float, float]

_FEWEST = 2  # heights along each side


@dataclass(frozen=True)
class Geometry:
    """A shape at a place on a body.

    `size` in metres: a box has its three edges, a sphere its radius, a cylinder and a capsule radius and length along z
    (a capsule's without the caps), an ellipsoid its three half axes; a plane is z = 0, without end. A mesh has the
    address `mesh` as its file wrote it, `file` where that was found (empty if it was not), and a `scale` by axis. A
    height field ("hfield") has two edges and how deep it reaches below z = 0; `heights[i][j]` are its heights at evenly
    spaced places, i along x and j along y, the first ones at -x/2, -y/2, linear between them.
    `colour` is (red, green, blue, alpha) from 0 to 1, None if unspecified. `surface` is how it meets others.
    """

    kind: str
    size: tuple[float, ...] = ()
    placement: Placement = field(default_factory=Placement)
    role: Role = "visual"
    mesh: str = ""
    scale: Three = (1.0, 1.0, 1.0)
    colour: Colour | None = None
    name: str = ""
    file: str = field(default="", compare=False)
    surface: Surface = PLAIN
    heights: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        if not shape_type(self.kind, "geometry").in_models:
            known = ", ".join(name for name, x in TYPES.items() if x.in_models)
            raise ModelError(f"geometry: a {self.kind} is no shape of a model; expected one of {known}")
        if self.role not in get_args(Role):
            raise ModelError(f"geometry: unknown role {self.role!r}; expected 'visual' or 'collision'")
        wanted = TYPES[self.kind].sizes
        if len(self.size) != len(wanted) or not all(0.0 <= x < np.inf for x in self.size):
            listed = ", ".join(wanted) or "no numbers"
            raise ModelError(f"a {self.kind} takes {listed}, finite and non-negative; got {self.size}")
        if (self.kind == "mesh") != bool(self.mesh):
            raise ModelError(
                f"mesh= is required for a mesh and not allowed otherwise; got {self.kind!r} and {self.mesh!r}"
            )
        if not isinstance(self.surface, Surface):
            raise ModelError(f"geometry: surface must be a Surface, got {self.surface!r}")
        if (self.kind == "hfield") != bool(self.heights):
            raise ModelError("only a height field has heights, and needs them: heights=((0.0, 0.1), (0.0, 0.2))")
        if self.heights:
            self._check_heights()

    def _check_heights(self) -> None:
        try:
            table = np.array(self.heights, float)
        except (TypeError, ValueError, OverflowError):
            table = np.zeros(0)
        if table.ndim != 2 or min(table.shape) < _FEWEST or not np.isfinite(table).all():
            raise ModelError("heights: expected a table of finite numbers, at least 2 x 2, all rows equally long")

    @cached_property
    def form(self) -> ShapeType:
        """The shape with its sizes, at its own origin."""
        return TYPES[self.kind].of(self)

    @property
    def friction(self) -> float | None:
        """Its coefficient of sliding friction, None if unspecified."""
        return self.surface.friction


class Hull(NamedTuple):
    """Corners (n, 3) of a hull inside that of a mesh, and how far the mesh reaches beyond it, in m."""

    points: np.ndarray
    beyond: float
