"""The joint that does not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..spatial.linear import Mat, Scalar, Vec
from ..spatial.subspace import Selection, Subspace
from ..spatial.transform import IDENTITY, Transform
from .base import Joint, RotationRows
from .euclidean import FlatJoint
from .mirror_image import Mirrored

if TYPE_CHECKING:
    from .mirror import Mirror


@dataclass(frozen=True)
class Fixed(FlatJoint):
    """No motion: the frames of child and parent coincide always. No coordinates.

    Examples
    --------
    >>> import fourbar as fb
    >>> joint = fb.joints.Fixed()
    >>> joint.nq, joint.nv
    (0, 0)
    """

    nq = 0
    nv = 0
    v_names = ()
    turning: ClassVar[str] = "none"
    tags: ClassVar[tuple[str, ...]] = ("urdf:fixed", "urdf+:fixed", "sdf:fixed")

    def placement(self, q: Sequence[Scalar]) -> Transform:
        return IDENTITY

    def coordinates_of(self, T: Transform) -> Vec:
        return Vec()

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        return Selection(())

    def closing_rows(self, R: Mat, p: Vec, rows: RotationRows) -> list[Scalar]:
        return [*p, *rows.none(R)]

    def mirrored(self, mirror: Mirror) -> Mirrored:
        return Mirrored(self, (), ())

    def in_series(self) -> list[Joint | Transform]:
        return []
