"""Targets of inverse kinematics: what users give, and the arrays that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..arrays import refuse_lazy, tracing_advice
from ..errors import ArgumentError
from .options import read_frame

CENTER_OF_MASS = "center_of_mass"
_ROTATION = 1e-6  # how far a matrix may be from a rotation
_LAST_ROW = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Target:
    """Where a frame, or the centre of mass, is to be.

    Parameters
    ----------
    position : array_like, shape (..., 3), optional
        Position (m) in the world; any if None.
    rotation : array_like, shape (..., 3, 3) or (..., 4), optional
        Matrix, or quaternion (w, x, y, z), from the axes of the frame to those of the world; any if None.
    position_weight : array_like, shape () or (3,), default 1.0
        Weights of the position, one for all or along the axes of the world; one that is zero leaves it free there.
    rotation_weight : array_like, shape () or (3,), default 1.0
        Weights of the rotation (1 rad counts as much as 1 m), one for all or about the axes of the target; one that is
        zero leaves the frame free to turn about that axis.

    See Also
    --------
    System.inverse_kinematics : Configurations that reach targets.

    Notes
    -----
    Weights do not change a configuration that reaches everything; they say what counts where that is impossible.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> level = fb.Target(position=(0.3, 0.0, -0.5), position_weight=(1, 0, 1))
    >>> bool(robot.inverse_kinematics({"tip": level}).converged)
    True
    """

    position: Any = None
    rotation: Any = None
    position_weight: Any = 1.0
    rotation_weight: Any = 1.0


class Goals(NamedTuple):
    """Targets as arrays: what the compiled function is made for, and what it is given."""

    names: tuple[str, ...]
    aims: tuple[Any, ...]
    goal: np.ndarray
    weight: np.ndarray

    @property
    def error_count(self) -> int:
        """Number of distances and angles."""
        return sum(aim.position + aim.rotation for aim in self.aims)


def _numbers(what: str, x: Any, shapes: tuple[tuple[int, ...], ...], expected: str) -> np.ndarray:
    refuse_lazy("inverse_kinematics", **{what: x})
    try:
        array = np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):
        if advice := tracing_advice(x):
            raise ArgumentError(f"inverse_kinematics: {what} cannot be read as an array of numbers{advice}") from None
        array = np.zeros(())
    if not any(array.shape[array.ndim - len(s) :] == s for s in shapes):
        raise ArgumentError(f"inverse_kinematics: {what} must be {expected}, finite numbers; got {_describe(x)}")
    if not (isfinite(array.sum()) or np.isfinite(array).all()):
        core = next(len(s) for s in shapes if array.shape[array.ndim - len(s) :] == s)
        first = np.argwhere(~np.isfinite(array))[0][: array.ndim - core].tolist()
        sample = f" in sample {first[0] if len(first) == 1 else tuple(first)}" if first else ""
        raise ArgumentError(f"inverse_kinematics: {what} contains NaN or infinite numbers{sample}: {_describe(x)}")
    return array


def _describe(x: Any) -> str:
    shape = np.shape(x) if not isinstance(x, str) else ()
    return f"an array of shape {shape}" if shape and np.size(x) > 9 else repr(x)


def _rotation(name: str, x: Any) -> np.ndarray:
    """Matrices (..., 9) of rotations."""
    array = _numbers(f"the rotation of {name!r}", x, ((3, 3), (4,)), "a matrix (..., 3, 3) or a quaternion (..., 4)")
    if array.shape[-1] == 4:
        length = np.linalg.norm(array, axis=-1, keepdims=True)
        if not (np.abs(length - 1.0) < _ROTATION).all():
            raise ArgumentError(
                f"inverse_kinematics: the quaternion of {name!r} must have unit length, got {_describe(x)}"
            )
        w, x_, y, z = np.moveaxis(array / length, -1, 0)
        rows = [1 - 2 * (y * y + z * z), 2 * (x_ * y - w * z), 2 * (x_ * z + w * y)]
        rows += [2 * (x_ * y + w * z), 1 - 2 * (x_ * x_ + z * z), 2 * (y * z - w * x_)]
        rows += [2 * (x_ * z - w * y), 2 * (y * z + w * x_), 1 - 2 * (x_ * x_ + y * y)]
        return np.stack(rows, axis=-1)
    if not _turns(array):
        raise ArgumentError(
            f"inverse_kinematics: the rotation of {name!r} must be a rotation matrix (orthonormal, determinant 1), got "
            f"{_describe(x)}"
        )
    return array.reshape(*array.shape[:-2], 9)


def _turns(R: np.ndarray) -> bool:
    """Whether matrices (..., 3, 3) are rotations: two rows orthonormal, and the third their cross product."""
    if R.ndim == 2:  # of one, Python's numbers are quicker
        (a, b, c), (d, e, f), (g, h, i) = R.tolist()
        missed = [a * a + b * b + c * c - 1.0, d * d + e * e + f * f - 1.0, a * d + b * e + c * f]
        missed += [b * f - c * e - g, c * d - a * f - h, a * e - b * d - i]
        return max(map(abs, missed)) <= _ROTATION
    first, second, third = np.moveaxis(R, -2, 0)
    missed = [(first * first).sum(-1) - 1.0, (second * second).sum(-1) - 1.0, (first * second).sum(-1)]
    return max(np.abs(x).max(initial=0.0) for x in (*missed, np.cross(first, second) - third)) <= _ROTATION


def _weight(name: str, what: str, x: Any) -> np.ndarray:
    if x.__class__ is float and 0.0 < x < np.inf:
        return np.full(3, x)
    try:
        array = np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):
        array = np.full(3, np.nan)
    if array.shape not in ((), (3,)) or not (array >= 0.0).all() or not array.any() or not np.isfinite(array).all():
        raise ArgumentError(
            f"inverse_kinematics: {what}_weight of {name!r} must be one number or three, none negative and not all "
            f"zero (leave out the {what} for that), got {_describe(x)}"
        )
    return np.broadcast_to(array, (3,))


def _target(name: str, given: Any) -> Target:
    """A target from a pose, a position, or as it is."""
    if isinstance(given, Target):
        return given
    array = _numbers(
        f"the target of {name!r}", given, ((4, 4), (3,)), "a pose (..., 4, 4), a position (..., 3), or a Target"
    )
    if array.shape[-1] == 3:
        if array.shape[-2:] == (3, 3) and array.size and _turns(array):
            raise ArgumentError(
                f"inverse_kinematics: the target of {name!r} is a rotation matrix: give fb.Target(rotation=R), or, if "
                "its rows are three positions, fb.Target(position=...)"
            )
        return Target(array)
    if (np.abs(array[..., 3, :] - _LAST_ROW) > _ROTATION).any():
        raise ArgumentError(f"inverse_kinematics: the last row of the pose of {name!r} must be (0, 0, 0, 1)")
    return Target(array[..., :3, 3], array[..., :3, :3])


def read_targets(model: Any, targets: Any, center_of_mass: Any) -> Goals:
    """Targets as arrays."""
    from .inverse_kinematics import Aim

    if not isinstance(targets, Mapping):
        raise ArgumentError(
            f"inverse_kinematics: targets must map frames to targets, such as {{'hand': T}}, got {_describe(targets)}"
        )
    listed: list[tuple[str, Any, Target]] = [
        (name, read_frame(model.cluster_tree, name), _target(name, x)) for name, x in targets.items()
    ]
    if center_of_mass is not None:
        listed.append((CENTER_OF_MASS, None, _target(CENTER_OF_MASS, center_of_mass)))
    if not listed:
        raise ArgumentError("inverse_kinematics: no target was given; expected frames with targets, or center_of_mass")
    aims, goal, weight = [], [], []
    for name, home, target in listed:
        if target.position is None and target.rotation is None:
            raise ArgumentError(f"inverse_kinematics: the target of {name!r} has neither a position nor a rotation")
        if home is None and target.rotation is not None:
            raise ArgumentError("inverse_kinematics: the centre of mass has no rotation: give it a position only")
        aims.append(Aim(home, target.position is not None, target.rotation is not None))
        if target.position is not None:
            goal.append(_numbers(f"the position of {name!r}", target.position, ((3,),), "three numbers (..., 3)"))
            weight.append(_weight(name, "position", target.position_weight))
        if target.rotation is not None:
            goal.append(_rotation(name, target.rotation))
            weight.append(_weight(name, "rotation", target.rotation_weight))
    batch = leading("of the targets", *(x.shape[:-1] for x in goal))
    whole = np.concatenate([spread(x, batch) for x in goal], axis=-1)
    return Goals(tuple(name for name, _, _ in listed), tuple(aims), whole, np.concatenate(weight))


def leading(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Leading axes together."""
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ArgumentError(f"inverse_kinematics: leading axes {listed} {what} do not fit together") from None


def spread(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """An array (..., n) with the leading axes of a batch."""
    return x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, x.shape[-1]))
