"""The list of every joint type."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spatial.linear import Mat
from ..spatial.transform import Transform
from .base import Joint
from .composite import Composite
from .custom import CustomJoint
from .euler import SEQUENCES, SphericalEuler
from .exponential import SphericalExponential
from .fixed import Fixed
from .lie import Free, Planar, Schoenflies, Spherical, Translation2, Translation3
from .one_axis import Cylindrical, Helical, Prismatic, Revolute
from .universal import Universal

JOINT_TYPES: tuple[type[Joint], ...] = (
    Fixed, Revolute, Prismatic, Helical, Cylindrical, Spherical, Planar, Translation2, Translation3, Schoenflies, Free,
    Universal, SphericalEuler, SphericalExponential, Composite, CustomJoint,
)  # fmt: skip


def _rolling_disk(q: Any) -> Any:
    """A disk of radius 0.3 that rolls along x, on a slope that rises with its second coordinate."""
    c, s = np.cos(q[0]), np.sin(q[0])
    height = 0.1 * q[1] * q[1]
    return [[c, 0, s], [0, 1, 0], [-s, 0, c]], [0.3 * q[0], q[1], height]


def _crank_tip(q: Any) -> Any:
    """A 4 x 4 pose that is not the identity at q = 0: a frame that turns while it moves on a cam."""
    c, s = np.cos(2.0 * q[0]), np.sin(2.0 * q[0])
    return np.array([[0, 0, 1, 0.5], [s, c, 0, c / (2.0 + s)], [-c, s, 0, np.sqrt(1.0 + q[0] ** 2)], [0, 0, 0, 1]])


_ODD = (2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)
_OTHER = (0.6, 0.0, -0.8)
_PLACED = Transform.of(Mat.of([[0, -0.6, 0.8], [1, 0, 0], [0, 0.8, 0.6]]), (0.2, -0.1, 0.3))

REGISTRY: tuple[Joint, ...] = (
    Fixed(),
    *(Revolute(axis) for axis in ("x", "y", "z", "-y", _ODD)),
    *(Prismatic(axis) for axis in ("x", "-z", _ODD)),
    *(Helical(axis, pitch=0.3) for axis in ("y", "z", _ODD)),
    *(Cylindrical(axis) for axis in ("x", "z", _ODD)),
    Spherical(),
    *(Planar(axis) for axis in ("z", "y", _ODD)),
    *(Translation2(axis) for axis in ("z", "-x", _ODD)),
    Translation3(),
    *(Schoenflies(axis) for axis in ("z", "x", _ODD)),
    Free(),
    *(Universal(*axes) for axes in (("x", "y"), ("z", "x"), ("-y", _ODD), (_ODD, _OTHER))),
    *(SphericalEuler(sequence) for sequence in SEQUENCES),
    SphericalExponential(),
    Composite(Revolute("x"), Prismatic("x")),
    Composite(Prismatic("x"), Prismatic("y"), Revolute("z")),
    Composite(Translation3(), Spherical()),
    Composite(Spherical(), Prismatic(_ODD), Revolute("x")),
    Composite(Revolute(_ODD), _PLACED, Revolute("z"), Helical(_OTHER, pitch=-0.2)),
    Composite(Planar("y"), Composite(Prismatic("y"), Composite(_PLACED, Universal("y", "z")))),
    CustomJoint(_rolling_disk, nq=2),
    CustomJoint(_crank_tip, nq=1, name="cam", home=(0.4,)),
    Composite(CustomJoint(_rolling_disk, nq=2), SphericalExponential(), _PLACED),
)
