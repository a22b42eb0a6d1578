"""The joint that does not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..spatial.linear import Scalar, Vec
from ..spatial.subspace import Selection, Subspace
from ..spatial.transform import IDENTITY, Transform
from .euclidean import FlatJoint


@dataclass(frozen=True)
class Fixed(FlatJoint):
    """No motion: child and parent frame coincide always."""

    nq = 0
    nv = 0
    v_names = ()
    tags: ClassVar[tuple[str, ...]] = ("urdf:fixed", "sdf:fixed")

    def placement(self, q: Sequence[Scalar]) -> Transform:
        return IDENTITY

    def coordinates_of(self, T: Transform) -> Vec:
        return Vec()

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        return Selection(())
