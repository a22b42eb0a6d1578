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
    tags: ClassVar[tuple[str, ...]] = ("urdf:fixed", "sdf:fixed")

    def placement(self, q: Sequence[Scalar]) -> Transform:
        return IDENTITY

    def coordinates_of(self, T: Transform) -> Vec:
        return Vec()

    def subspace(self, q: Sequence[Scalar]) -> Subspace:
        return Selection(())
