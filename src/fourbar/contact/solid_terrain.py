"""Solid shapes that do not move, as terrain: their signed distance and its direction, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..mechanism.validate import read_placement
from ..once import cached_property
from ..shapes.base import ShapeType
from ..shapes.registry import TYPES, read_shape
from ..spatial.linear import Vec
from ..spatial.transform import Transform
from .terrain import OfMaterial, SurfacePoint, Terrain


@dataclass(frozen=True)
class Solid(OfMaterial, Terrain):
    """A ball, capsule, box or cylinder that does not move: a table, a step, a post.

    Points, balls, capsules and boxes of a robot touch it wherever the two meet; cylinders, ellipsoids and meshes with
    the points that stand for them on terrain, so that a corner of the solid in the middle of a face is missed.

    Parameters
    ----------
    kind : str
        One of "sphere", "capsule", "box", "cylinder", or another registered shape that has a signed distance.
    size : float or sequence of float
        Metres: the radius of a sphere, radius and length of a capsule (without its caps) or a cylinder along z, the
        three edges of a box.
    position : array_like, shape (3,)
        Where its centre is (m).
    rotation : array_like, optional
        How it is turned: 3 x 3, or a quaternion.
    friction : float or None, default 0.8
        Coefficient of sliding friction. None leaves it, and likewise the numbers below, to the other surface; where
        both have one, the larger acts, of restitution the smaller.
    torsion : float, optional
        Torsional friction (m): the moment about the normal is at most so many times the normal force.
    rolling : float, optional
        Rolling friction (m), likewise of the moment across the normal.
    restitution : float, optional
        Part of the normal velocity, from 0 to 1, with which what touches leaves.
    soft : Surface, optional
        What a file says of it, for MuJoCo's law.

    Raises
    ------
    ModelError
        If the kind or a number is not what it should be.

    Examples
    --------
    >>> from fourbar.contact import Solid
    >>> step = Solid("box", (0.3, 1.0, 0.1), position=(0.5, 0.0, 0.05))
    """

    steady: ClassVar[bool] = True

    kind: str
    size: Any
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = None
    friction: float | None = 0.8
    torsion: float | None = None
    rolling: float | None = None
    restitution: float | None = None
    soft: Any = None

    def __post_init__(self) -> None:
        numbers = read_shape("Solid", self.kind, self.size, ("distance",)).numbers
        place = read_placement("Solid", self.position, self.rotation, None)
        for name, x in (("size", numbers), ("position", place.position), ("rotation", place.rotation)):
            object.__setattr__(self, name, x)
        self.material  # noqa: B018  which checks the numbers

    @cached_property
    def form(self) -> ShapeType:
        """The shape with its sizes, at its own origin."""
        return TYPES[self.kind](*self.size)

    def surface(self, point: Vec) -> SurfacePoint:
        pose = Transform.of(self.rotation, Vec(self.position))
        gap, normal = self.form.distance(pose.unrotate(point - pose.p))
        return SurfacePoint(gap, pose.rotate(normal))
