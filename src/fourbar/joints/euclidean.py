"""Joints with additive coordinates, q̇ = v; and the joint that has none, which does not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..spatial.linear import Mat, Scalar, Vec, zeros
from ..spatial.subspace import Selection, Subspace
from ..spatial.transform import IDENTITY, Transform
from .base import Joint, RotationRows
from .mirror_image import Mirrored
from .variable import BoundJoint

if TYPE_CHECKING:
    from .mirror import Mirror

_ENDLESS = 1e8  # largest meaningful angle: sines of larger ones have lost their digits


class FlatJoint(Joint):
    """nq = nv, q̇ = v: integrating is adding. Angles count whole turns."""

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return Vec([a + b for a, b in zip(q, v, strict=True)])

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return Vec(v)

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> Vec:
        return Vec([b - a for a, b in zip(q0, q1, strict=True)])

    def chart_rate(self, theta: Sequence[Scalar], v: Sequence[Scalar]) -> Vec:
        return Vec(v)

    def coadjoint(self, v: Sequence[Scalar], p: Sequence[Scalar]) -> Vec:
        return zeros(self.nv)

    def neutral(self) -> tuple[float, ...]:
        return (0.0,) * self.nq

    def random(
        self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray, size: tuple[int, ...] = ()
    ) -> np.ndarray:
        return uniform(rng, lower, upper, self._spread(), size)

    def random_range(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and largest coordinates (nq) of `random`."""
        return _range(lower, upper, self._spread())

    def _spread(self) -> np.ndarray:
        """Half-width of the random range of each coordinate that has no limits."""
        return np.full(self.nq, np.pi)

    @property
    def q_names(self) -> tuple[str, ...]:
        return self.v_names


def is_flat(joint: Joint) -> bool:
    """Whether integrating a joint is adding, be it a `FlatJoint` or composed of such: tried on some numbers."""
    joint = joint.joint if isinstance(joint, BoundJoint) else joint
    return isinstance(joint, FlatJoint) or _adds(joint)


@lru_cache(maxsize=1024)
def _adds(joint: Joint) -> bool:
    if joint.nq != joint.nv:
        return False
    q, v = [0.3 + 0.1 * i for i in range(joint.nq)], [0.7 - 0.2 * i for i in range(joint.nv)]
    added = [a + b for a, b in zip(q, v, strict=True)]
    return bool(np.allclose(joint.integrate(q, v), added, rtol=1e-12) and np.allclose(joint.rate(q, v), v, rtol=1e-12))


def uniform(
    rng: np.random.Generator,
    lower: np.ndarray,
    upper: np.ndarray,
    spread: np.ndarray,
    size: tuple[int, ...],
    centre: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Uniform within the limits; without one limit, 2 `spread` from the other; without both, within centre ± spread.

    A limit beyond 1e8 counts as none.
    """
    low, high = _range(lower, upper, spread, centre)
    return rng.uniform(low, high, (*size, len(low)))


def _range(
    lower: np.ndarray, upper: np.ndarray, spread: np.ndarray, centre: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the range of `uniform`."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    lower, upper = np.where(lower < -_ENDLESS, -np.inf, lower), np.where(upper > _ENDLESS, np.inf, upper)
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * spread, centre - spread))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * spread, centre + spread))
    return low, high


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
