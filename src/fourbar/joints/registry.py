"""Every joint type, with examples.

Adding one: a class with its mathematics in a file of its own, and one line `register(Kind, examples...)` near the end
of this file. Files may then hold it, those of other programs by the `tags` of its class, and the conformance tests and
random mechanisms take its examples. A program that has a joint of its own calls `fourbar.joints.register` as well.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..spatial.linear import Mat
from ..spatial.transform import Transform
from .base import Joint
from .composite import Composite
from .custom import CustomJoint
from .euclidean import Fixed
from .lie import Free, Planar, Schoenflies, Spherical, Translation2, Translation3
from .one_axis import Cylindrical, Helical, Prismatic, Revolute
from .rotational import SEQUENCES, SphericalEuler, SphericalExponential, Universal

TYPES: dict[str, type[Joint]] = {}  # what files may hold, by name
_EXAMPLES: dict[type[Joint], tuple[Joint, ...]] = {}


def register(kind: type[Joint], *examples: Joint) -> type[Joint]:
    """Make a joint type known by its name, with examples for tests; returns it, so that it may decorate a class.

    Files of fourbar's own formats may then hold it, by the fields of its dataclass.
    """
    if not (isinstance(kind, type) and issubclass(kind, Joint) and is_dataclass(kind)):
        raise ModelError(f"register: expected a dataclass that derives from Joint, got {kind!r}")
    if TYPES.get(kind.__name__, kind) is not kind:
        raise ModelError(
            f"register: a joint type called {kind.__name__!r} is registered already: {TYPES[kind.__name__]!r}"
        )
    wrong = [x for x in examples if type(x) is not kind]
    if wrong:
        raise ModelError(f"register: the examples of {kind.__name__} are joints of that type, got {wrong[0]!r}")
    TYPES[kind.__name__] = kind
    _EXAMPLES[kind] = examples
    return kind


def types_by_tag(form: str) -> dict[str, type[Joint]]:
    """The joint types that a file format has words for, by these words (see `Joint.tags`; not inherited)."""
    words = ((tag.rpartition(":"), kind) for kind in TYPES.values() for tag in vars(kind).get("tags", ()))
    return {word: kind for (of, _, word), kind in words if of == form}


def tag_of(kind: type[Joint], form: str) -> str | None:
    """The name of a joint type in a file format; None if it has none."""
    return next((word for word, known in types_by_tag(form).items() if known is kind), None)


def axes_of(kind: type[Joint]) -> tuple[str, ...]:
    """The fields of a joint type that are axes."""
    return tuple(field.name for field in fields(kind) if field.name.startswith("axis"))  # type: ignore[arg-type]


def about(kind: type[Joint], axis: Any) -> Joint:
    """A joint of a type with one axis, or with none: then that which is given does not matter."""
    return kind(axis) if axes_of(kind) else kind()  # type: ignore[call-arg]


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

register(Fixed, Fixed())
register(Revolute, *(Revolute(axis) for axis in ("x", "y", "z", "-y", _ODD)))
register(Prismatic, *(Prismatic(axis) for axis in ("x", "-z", _ODD)))
register(Helical, *(Helical(axis, pitch=0.3) for axis in ("y", "z", _ODD)))
register(Cylindrical, *(Cylindrical(axis) for axis in ("x", "z", _ODD)))
register(Spherical, Spherical())
register(Planar, *(Planar(axis) for axis in ("z", "y", _ODD)))
register(Translation2, *(Translation2(axis) for axis in ("z", "-x", _ODD)))
register(Translation3, Translation3())
register(Schoenflies, *(Schoenflies(axis) for axis in ("z", "x", _ODD)))
register(Free, Free())
register(Universal, *(Universal(*axes) for axes in (("x", "y"), ("z", "x"), ("-y", _ODD), (_ODD, _OTHER))))
register(SphericalEuler, *(SphericalEuler(sequence) for sequence in SEQUENCES))
register(SphericalExponential, SphericalExponential())
register(Composite)
register(CustomJoint)

JOINT_TYPES: tuple[type[Joint], ...] = tuple(TYPES.values())


def examples() -> tuple[Joint, ...]:
    """Joints of every type of the library. Some check themselves when made, so that reading files makes none."""
    return (
        *(example for kind in JOINT_TYPES for example in _EXAMPLES[kind]),
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
