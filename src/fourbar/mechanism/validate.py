"""Turning the user's arguments into checked numbers. Every message names the thing and says what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, ModelError
from ..joints.base import Joint
from ..joints.euclidean import Fixed
from .placement import Matrix, Placement, Three

if TYPE_CHECKING:
    from .geometry import Geometry

LARGEST = 1e50  # for masses, lengths, inertias, ...: products of several must stay finite


def _plain(value: Any) -> Any:
    """A value for a message: NumPy arrays as lists, NumPy numbers as Python's."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _numbers(what: str, value: Any, shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected numbers, got {_plain(value)!r}") from None
    except OverflowError:
        raise ModelError(f"{what}: expected numbers up to {LARGEST:g}, got a longer one") from None
    if array.shape not in shapes:
        wanted = " or ".join(str(s) for s in shapes)
        raise ModelError(f"{what}: expected shape {wanted}, got {array.shape} from {_plain(value)!r}")
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{what}: all numbers must be finite, got {_plain(value)!r}")
    if np.any(np.abs(array) > LARGEST):
        raise ModelError(f"{what}: expected numbers up to {LARGEST:g}, got {_plain(value)!r}; check the units")
    return array


def _is_finite(value: Any) -> bool:
    """Whether a value is an ordinary float in range: the common case in files, for which NumPy's checks are slow."""
    return value.__class__ is float and -LARGEST <= value <= LARGEST  # false for NaN too


def read_number(what: str, value: Any) -> float:
    """One finite number."""
    if _is_finite(value):
        return value
    return float(_numbers(what, value, [()]))


def read_three(what: str, value: Any) -> Three:
    """Three finite numbers."""
    if value.__class__ is tuple and len(value) == 3 and all(map(_is_finite, value)):
        return value
    x, y, z = _numbers(what, value, [(3,)]).tolist()
    return (x, y, z)


def as_matrix(array: np.ndarray) -> Matrix:
    """A 3 x 3 array as nested tuples."""
    return tuple(tuple(row) for row in array.tolist())  # type: ignore[return-value]


def read_joint(what: str, joint: Any) -> Joint:
    """A joint, fixed if None."""
    if joint is not None and not isinstance(joint, Joint):
        raise ModelError(f"{what}: joint must be a joint such as Revolute('z'), got {joint!r}")
    return Fixed() if joint is None else joint


def read_six_by_six(what: str, value: Any) -> np.ndarray:
    """A 6 x 6 matrix, from its diagonal or all of it."""
    array = _numbers(what, value, [(6,), (6, 6)])
    return np.diag(array) if array.shape == (6,) else array


def read_inertia(what: str, value: Any) -> np.ndarray:
    """A 3 x 3 inertia from three principal moments, six numbers (xx, xy, xz, yy, yz, zz), or the matrix."""
    array = _numbers(what, value, [(3,), (6,), (3, 3)])
    if array.shape == (3,):
        return np.diag(array)
    if array.shape == (6,):
        xx, xy, xz, yy, yz, zz = array
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.abs(array - array.T).max() > 1e-9 * np.abs(array).max():
        raise ModelError(f"{what}: the inertia matrix {array.tolist()} is not symmetric")
    return array


def _from_quaternion(what: str, q: np.ndarray) -> np.ndarray:
    length = float(np.sqrt(q @ q))
    if abs(length - 1.0) > 1e-6:
        raise ModelError(f"{what}: quaternion (w, x, y, z) = {q.tolist()} has length {length:.9g}, expected 1")
    w, x, y, z = q / length
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _from_rpy(rpy: np.ndarray) -> np.ndarray:
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def read_rotation(what: str, value: Any) -> np.ndarray:
    """A rotation matrix from a 3 x 3 matrix or a quaternion (w, x, y, z)."""
    array = _numbers(what, value, [(3, 3), (4,)])
    if array.shape == (4,):
        return _from_quaternion(what, array)
    error = float(np.abs(array.T @ array - np.eye(3)).max())
    if error > 1e-9 or np.linalg.det(array) < 0.0:
        kind = "a reflection" if error <= 1e-9 else f"not orthogonal (RᵀR differs from 1 by {error:.3g})"
        raise ModelError(f"{what}: the matrix {array.tolist()} is {kind}, expected a rotation")
    return array


def read_placement(what: str, position: Any, rotation: Any, rpy: Any) -> Placement:
    """A placement from a position and one of: rotation (matrix or quaternion), roll-pitch-yaw angles, nothing."""
    if rotation is not None and rpy is not None:
        raise ModelError(f"{what}: give rotation= or rpy=, not both")
    if rotation is None and rpy is None:
        return Placement(position=read_three(f"{what}, position", position))
    if rotation is not None:
        R = read_rotation(f"{what}, rotation", rotation)
    else:
        R = _from_rpy(_numbers(f"{what}, rpy", rpy, [(3,)]))
    return Placement(as_matrix(R), read_three(f"{what}, position", position))


def read_per_velocity(what: str, value: Any, n: int) -> tuple[float, ...]:
    """A non-negative number for each of n velocities, or one for all."""
    if _is_finite(value) and value >= 0.0:
        return (value,) * n
    array = np.broadcast_to(_numbers(what, value, [(), (n,)]), (n,))
    if np.any(array < 0.0):
        raise ModelError(f"{what}: expected numbers ≥ 0, got {value!r}")
    return tuple(array.tolist())


def _bounds(what: str, value: Any, n: int) -> tuple[float, ...]:
    if value.__class__ is float and value >= 0.0:
        return (value,) * n
    try:
        array = np.broadcast_to(np.asarray(value, float), (n,))
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: expected one number or {n}, got {value!r}") from None
    if not np.all(array >= 0.0):  # false for NaN too
        raise ModelError(f"{what}: expected numbers ≥ 0, got {value!r}")
    return tuple(array.tolist())


def read_drive(what: str, n: int, force: Any, velocity: Any, least: Any = None) -> dict[str, tuple[float, ...]]:
    """Limits of a drive: numbers ≥ 0, possibly infinite, one for each of n velocities, or one for all.

    `least`, the lower end of its force: numbers ≤ 0, or None for -force.
    """
    drive_limits = {
        "max_force": _bounds(f"{what}, max_force", force, n),
        "max_velocity": _bounds(f"{what}, max_velocity", velocity, n),
    }
    if least is None or (isinstance(least, tuple | list) and not len(least)):
        return drive_limits
    try:
        lower = tuple(-x + 0.0 for x in _bounds("", -np.asarray(least, float), n))
    except (TypeError, ValueError, OverflowError, ModelError):
        raise ModelError(f"{what}, min_force: expected one number ≤ 0 or {n}, or None, got {least!r}") from None
    return (
        drive_limits if lower == tuple(-x for x in drive_limits["max_force"]) else {**drive_limits, "min_force": lower}
    )


def read_geometry(what: str, value: Any) -> tuple[Geometry, ...]:
    """A list of shapes."""
    shapes = tuple(value) if isinstance(value, list | tuple) else (value,)
    if shapes:
        from .geometry import Geometry

        for shape in shapes:
            if not isinstance(shape, Geometry):
                raise ModelError(f"{what}, geometry: expected a list of Geometry, got {shape!r}")
    return shapes


def read_softness(what: str, softness: Any) -> Any:
    """The softness of a joint; None for MuJoCo's own."""
    if softness is None:  # without loading contacts
        return None
    from .contact import JointSoftness

    if isinstance(softness, JointSoftness):
        return softness
    raise ModelError(f"{what}: softness must be a JointSoftness or None, got {softness!r}")


def read_limits(what: str, value: Any, n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Lower and upper limits of n coordinates, from None or a pair (each one number, or n)."""
    if value is None:
        return (-np.inf,) * n, (np.inf,) * n
    try:
        lower, upper = (np.broadcast_to(np.asarray(side, float), (n,)) for side in value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: expected a pair (lower, upper), each one number or {n}, got {value!r}") from None
    if not np.all((lower <= upper) & (lower < np.inf) & (upper > -np.inf)):  # false for NaN too
        raise ModelError(f"{what}: every lower limit must be a number not above the upper one, got {value!r}")
    return tuple(lower.tolist()), tuple(upper.tolist())


def read_independent(what: str, given: Any) -> tuple[tuple[str, float], ...]:
    """Joints and scales from a list of names, a list of pairs (name, scale), or a mapping from name to scale."""
    example = [given] if isinstance(given, str) else ["crank"]
    wrong = ModelError(f"{what}: expected a list of joints, such as {example!r}, or scales by joint, got {given!r}")
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise wrong
    listed = (
        list(given.items()) if isinstance(given, Mapping) else [(x, 1.0) if isinstance(x, str) else x for x in given]
    )
    if not all(isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], str) for x in listed):
        raise wrong
    return tuple((joint, read_scale(f"{what} joint {joint!r}", scale)) for joint, scale in listed)


def read_scale(what: str, value: Any) -> float:
    """The velocity of a joint per unit of the independent velocity: any number but zero."""
    scale = read_number(what, value)
    if scale == 0.0:
        raise ModelError(f"{what}: the scale of an independent velocity cannot be zero")
    return scale


def _by_name(what: str, kind: str, value: Any) -> list[tuple[str, Any]]:
    """Values by name; `kind` says which."""
    if not isinstance(value, Mapping):
        raise ModelError(f"{what}: expected {kind}, got {value!r}")
    return [(str(name), x) for name, x in value.items()]


def read_by_joint(what: str, kind: str, value: Any) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Coordinates or velocities (`kind`) by joint."""
    given = _by_name(what, f"{kind} by joint", value)
    return tuple((joint, read_coordinates(f"{what}, joint {joint!r}", x, kind)) for joint, x in given)


def read_controls(what: str, value: Any, kind: str = "controls") -> tuple[tuple[str, float], ...]:
    """Controls, or activations (`kind`), by actuator."""
    given = _by_name(what, f"{kind} by actuator", value)
    return tuple((actuator, read_number(f"{what}, {kind[:-1]} of actuator {actuator!r}", x)) for actuator, x in given)


def read_coordinates(what: str, value: Any, kind: str = "coordinates") -> tuple[float, ...]:
    """Coordinates or velocities (`kind`) of a joint: one finite number, or several."""
    try:
        array = np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: expected numbers, got {value!r}") from None
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ModelError(f"{what}: expected finite {kind}, got {value!r}")
    return tuple(array.tolist())


def read_spring(what: str, joint: Joint, stiffness: Any, rest: Any) -> dict[str, tuple[float, ...]]:
    """Stiffness and rest coordinates of a spring as a placed joint stores them; empty where the stiffness is zero."""
    k = read_per_velocity(f"{what}, stiffness", stiffness, joint.nv)
    q = joint.neutral() if rest is None else read_coordinates(f"{what}, rest", rest)
    if len(q) != joint.nq:
        raise ModelError(f"{what}, rest: the joint has {joint.nq} coordinates, got {len(q)}")
    return {"stiffness": k, "rest": q} if any(k) else {}


def read_rng(rng: Any) -> np.random.Generator:
    """A random number generator from the user's argument."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"rng={rng!r}: expected a seed (an integer), a NumPy generator, or None") from None
