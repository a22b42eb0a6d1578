"""Inverse kinematics for the user: targets by frame, restarts, and which samples arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, AssemblyError
from ..functions.options import read_frame
from ..mechanism.validate import read_rng
from ..once import cached_property, imported
from .closed_states import OPEN, implicit, loop_gap, stored
from .limits import Limits, limits_of

CENTER_OF_MASS = "center_of_mass"
_ROTATION = 1e-6  # how far a matrix may be from a rotation
_LAST_ROW = np.array([0.0, 0.0, 0.0, 1.0])
_GAIN, _PATIENCE, _STIFFNESS = 1e-2, 5.0, 100.0  # of a search, which gives up soon: there are others
_FINE, _LONG, _STIFF = 1e-9, 20.0, (1e5, 1e10)  # the same for the best of searches that all failed
_DAMPING = 1.0  # times the square of what is missed: how short the first step is
_FIRST = 3  # of what a search tells: |e|², how far limits are passed, iterations; then what each target misses


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


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Configurations that reach targets, and which do not.

    Parameters
    ----------
    q : ndarray, shape (..., nq)
        Configurations, with their loops closed, within the limits: the best that was found.
    converged : ndarray of bool, shape (...)
        Whether all targets are reached, to the tolerance.
    distance : mapping of str to ndarray, shape (...)
        By how much (m) each target with a position is missed, without what has no weight.
    angle : mapping of str to ndarray, shape (...)
        By how much (rad) each target with a rotation is missed.
    error : ndarray, shape (...)
        The largest distance (m) or angle (rad).
    outside : ndarray, shape (...)
        By how much (rad, m) a limit is passed; above 1e-9 only where no start led within the limits.
    iterations : ndarray of int, shape (...)
        Iterations of all searches.
    restarts : ndarray of int, shape (...)
        How often the search began anew.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.inverse_kinematics({"tip": (0.0, 0.0, -2.0)}, restarts=2)
    <fourbar InverseKinematics: missed, 'tip' by 1.1 m after 2 restarts>
    """

    q: np.ndarray
    converged: np.ndarray
    distance: Mapping[str, np.ndarray]
    angle: Mapping[str, np.ndarray]
    error: np.ndarray
    outside: np.ndarray
    iterations: np.ndarray
    restarts: np.ndarray

    def __repr__(self) -> str:
        if self.converged.ndim:
            missed = f"; worst: {self._missed(int(np.argmax(self.error)))}" if not self.converged.all() else ""
            said = f"{int(self.converged.sum())} of {self.converged.size} reached{missed}"
        elif self.converged:
            said = f"reached, {self.iterations} iterations"
        else:
            said = f"missed, {self._missed(0)} after {self.restarts} restarts"
        return f"<fourbar InverseKinematics: {said}>"

    def _missed(self, sample: int) -> str:
        """What one of the samples misses."""
        found = []
        for name in {**self.distance, **self.angle}:
            both = (self.distance.get(name), "m"), (self.angle.get(name), "rad")
            by = [f"{x.reshape(-1)[sample]:.3g} {unit}" for x, unit in both if x is not None]
            found.append(f"{name!r} by {', '.join(by)}")
        return "; ".join(found)


class _Goals(NamedTuple):
    """Targets as arrays: what the compiled function is made for, and what it is given."""

    names: tuple[str, ...]
    aims: tuple[Any, ...]
    goal: np.ndarray
    weight: np.ndarray


def _numbers(what: str, x: Any, shapes: tuple[tuple[int, ...], ...], expected: str) -> np.ndarray:
    try:
        array = np.asarray(x, float)
    except (TypeError, ValueError):
        array = np.zeros(())
    if not any(array.shape[array.ndim - len(s) :] == s for s in shapes) or not np.isfinite(array).all():
        raise ArgumentError(f"inverse_kinematics: {what} must be {expected}, finite numbers; got {_shown(x)}")
    return array


def _shown(x: Any) -> str:
    shape = np.shape(x) if not isinstance(x, str) else ()
    return f"an array of shape {shape}" if shape and np.size(x) > 9 else repr(x)


def _rotation(name: str, x: Any) -> np.ndarray:
    """Matrices (..., 9) of rotations."""
    array = _numbers(f"the rotation of {name!r}", x, ((3, 3), (4,)), "a matrix (..., 3, 3) or a quaternion (..., 4)")
    if array.shape[-1] == 4:
        length = np.linalg.norm(array, axis=-1, keepdims=True)
        if not (np.abs(length - 1.0) < _ROTATION).all():
            raise ArgumentError(f"inverse_kinematics: the quaternion of {name!r} must have unit length, got {_shown(x)}")
        w, x_, y, z = np.moveaxis(array / length, -1, 0)
        rows = [1 - 2 * (y * y + z * z), 2 * (x_ * y - w * z), 2 * (x_ * z + w * y)]
        rows += [2 * (x_ * y + w * z), 1 - 2 * (x_ * x_ + z * z), 2 * (y * z - w * x_)]
        rows += [2 * (x_ * z - w * y), 2 * (y * z + w * x_), 1 - 2 * (x_ * x_ + y * y)]
        return np.stack(rows, axis=-1)
    square = array @ np.swapaxes(array, -1, -2) - np.eye(3)
    if np.abs(square).max(initial=0.0) > _ROTATION or (np.linalg.det(array) < 0.0).any():
        raise ArgumentError(
            f"inverse_kinematics: the rotation of {name!r} must be a rotation matrix (orthonormal, determinant 1), got "
            f"{_shown(x)}"
        )
    return array.reshape(*array.shape[:-2], 9)


def _weight(name: str, what: str, x: Any) -> np.ndarray:
    if x.__class__ is float and 0.0 < x < np.inf:
        return np.full(3, x)
    try:
        array = np.asarray(x, float)
    except (TypeError, ValueError):
        array = np.full(3, np.nan)
    if array.shape not in ((), (3,)) or not (array >= 0.0).all() or not array.any() or not np.isfinite(array).all():
        raise ArgumentError(
            f"inverse_kinematics: {what}_weight of {name!r} must be one number or three, none negative and not all "
            f"zero (leave out the {what} for that), got {_shown(x)}"
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
        return Target(array)
    if (np.abs(array[..., 3, :] - _LAST_ROW) > _ROTATION).any():
        raise ArgumentError(f"inverse_kinematics: the last row of the pose of {name!r} must be (0, 0, 0, 1)")
    return Target(array[..., :3, 3], array[..., :3, :3])


def _read(model: Any, targets: Any, center_of_mass: Any) -> _Goals:
    """Targets as arrays."""
    from ..functions.inverse_kinematics import Aim

    if not isinstance(targets, Mapping):
        raise ArgumentError(
            f"inverse_kinematics: targets must map frames to targets, such as {{'hand': T}}, got {_shown(targets)}"
        )
    listed = [(name, read_frame(model.cluster_tree, name), _target(name, x)) for name, x in targets.items()]
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
    batch = _leading("of the targets", *(x.shape[:-1] for x in goal))
    whole = np.concatenate([_spread(x, batch) for x in goal], axis=-1)
    return _Goals(tuple(name for name, _, _ in listed), tuple(aims), whole, np.concatenate(weight))


def _leading(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Leading axes together."""
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ArgumentError(f"inverse_kinematics: leading axes {listed} {what} do not fit together") from None


def _spread(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    return x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, x.shape[-1]))


class _Best:
    """The best configurations of some samples so far."""

    def __init__(self, function: Any, q0: np.ndarray, goal: np.ndarray, weight: np.ndarray, tolerance: float) -> None:
        self._function, self._goal, self._weight, self._tolerance = function, goal, weight, tolerance
        n = len(goal)
        self.q, self.restarts, self.iterations = (
            np.array(np.broadcast_to(q0, (n, q0.shape[-1]))),
            np.zeros(n),
            np.zeros(n),
        )
        self.told = np.full((n, 1), np.inf)
        self.left = np.arange(n)

    def search(self, start: np.ndarray, setting: np.ndarray, anew: bool) -> None:
        """Search for the samples that are left, from one start or one for each; keep what is better."""
        left = self.left
        if len(left) == 1:
            q, told = (x[None] for x in self._function(start.reshape(-1), self._goal[left[0]], self._weight, setting))
        else:
            q, told = self._function(start, self._goal[left], self._weight, setting)
        if self.told.shape[1] == 1:
            self.told = np.full((len(self.q), told.shape[1]), np.inf)
        self.iterations[left] += told[:, 2]
        self.restarts[left] += anew
        better = left[told[:, 0] < self.told[left, 0]] if anew else left
        chosen = told[:, 0] < self.told[left, 0] if anew else slice(None)
        self.q[better], self.told[better] = q[chosen], told[chosen]
        arrived = self.arrived(told)
        self.q[left[arrived]], self.told[left[arrived]] = q[arrived], told[arrived]
        self.left = left[~arrived]

    def arrived(self, told: np.ndarray) -> np.ndarray:
        """Which searches reached their targets within the limits."""
        from ..functions.inverse_kinematics import MARGIN

        return (told[:, _FIRST:] <= self._tolerance).all(axis=1) & (told[:, 1] <= MARGIN)


def _count(name: str, x: Any, least: int) -> int:
    if isinstance(x, bool | float) or not np.ndim(x) == 0 or not x == int(x) or x < least:
        raise ArgumentError(f"inverse_kinematics: {name} must be a whole number of at least {least}, got {x!r}")
    return int(x)


class Reaching:
    """What a robot knows of its limits, and of configurations that reach targets."""

    model: Any
    neutral: Any
    random: Any
    nq: int
    nv: int

    @cached_property
    def limits(self) -> Limits:
        """Limits of the joints as arrays.

        Returns
        -------
        Limits
            `lower` and `upper` in the order of q; `velocity`, `effort` and `least_effort` in the order of v.
        """
        return limits_of(self.model.cluster_tree)

    @cached_property
    def _searches(self) -> dict[Any, Any]:
        """Compiled searches by what they aim at, and starts by their seed."""
        return {}

    def _search(self, aims: tuple[Any, ...], limits: bool) -> Any:
        key = (aims, limits)
        if key not in self._searches:
            made: Any = imported("fourbar.functions.inverse_kinematics")
            self._searches.setdefault(key, made.compiled_search(self.model.mechanism, aims, limits))
        return self._searches[key]

    def _starts(self, rng: Any, count: int) -> np.ndarray:
        if not isinstance(rng, int):
            return self.random(read_rng(rng), n=count)
        if (rng, count) not in self._searches:
            self._searches.setdefault((rng, count), self.random(rng, n=count))
        return self._searches[rng, count]

    def inverse_kinematics(
        self,
        targets: Mapping[str, Any],
        q0: Any = None,
        *,
        center_of_mass: Any = None,
        tolerance: float = 1e-8,
        restarts: int = 20,
        iterations: int = 100,
        limits: bool = True,
        rng: np.random.Generator | int = 0,
    ) -> InverseKinematics:
        """Configurations in which frames, or the centre of mass, are where they should be.

        Parameters
        ----------
        targets : mapping of str to array_like or Target
            For each frame or body a pose (..., 4, 4), a position (..., 3), or a `Target`, which has weights.
        q0 : array_like, shape (..., nq), optional
            Where the search begins, with loops closed; `neutral` if None.
        center_of_mass : array_like, shape (..., 3), or Target, optional
            Where the centre of mass is to be.
        tolerance : float, default 1e-08
            Largest distance (m) and angle (rad) with which a target counts as reached.
        restarts : int, default 20
            How often a search that failed begins anew, at random configurations.
        iterations : int, default 100
            Largest number of iterations of each search.
        limits : bool, default True
            Keep the limits of all joints, those of dependent joints of loops too.
        rng : Generator or int, default 0
            Generator of random numbers, or its seed, for the restarts.

        Returns
        -------
        InverseKinematics
            The configurations, which of them reach all targets, and by how much the others miss each of them.

        Raises
        ------
        ArgumentError
            If targets or numbers are not what is expected.
        UnknownNameError
            If there is no such frame or body.
        AssemblyError
            If the loops of q0 are open.

        See Also
        --------
        pose : Where a frame is.
        limits : The limits that are kept.

        Notes
        -----
        Leading axes of targets and q0 broadcast; samples are solved in machine code, each until it has ended, and a
        sample has the same bits alone and in a batch. The method is that of Levenberg and Marquardt on the
        configuration group with bounds; loops stay closed at every step. The first solution found is returned: it is
        near q0 if no restart was needed. Where targets cannot be reached, q is the best configuration found, a local
        minimum of the weighted sum of squares.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> T = robot.pose(robot.random(0, n=100), "tip")
        >>> found = robot.inverse_kinematics({"tip": T})
        >>> found
        <fourbar InverseKinematics: 100 of 100 reached>
        >>> bool(abs(robot.pose(found.q, "tip") - T).max() < 1e-7)
        True
        """
        if not self.nv:
            raise ArgumentError("inverse_kinematics: no joint of this robot moves")
        goals = _read(self.model, targets, center_of_mass)
        if not (np.ndim(tolerance) == 0 and 0.0 < tolerance < np.inf):
            raise ArgumentError(f"inverse_kinematics: tolerance must be a positive number, got {tolerance!r}")
        restarts, most = _count("restarts", restarts, 0), _count("iterations", iterations, 1)
        start = self._start(q0)
        batch = _leading("of the targets and of q0", goals.goal.shape[:-1], start.shape[:-1])
        goal = _spread(goals.goal, batch).reshape(-1, goals.goal.shape[-1])
        if start.ndim > 1:
            start = _spread(start, batch).reshape(-1, self.nq)
        best = _Best(self._search(goals.aims, bool(limits)), start, goal, goals.weight, float(tolerance))
        if len(goal):
            self._solve(best, start, tolerance, most, restarts, rng)
        return self._result(goals, best, batch)

    def _start(self, q0: Any) -> np.ndarray:
        if q0 is None:
            return self.neutral()
        start = stored("inverse_kinematics", "q0", self.nq, q0)
        if not np.isfinite(start).all():
            raise ArgumentError("inverse_kinematics: q0 contains NaN or infinite numbers")
        if any(True for _ in implicit(self.model.cluster_tree)):
            gap = loop_gap(self.model.cluster_tree, start).max(initial=0.0)
            if gap > OPEN:
                raise AssemblyError(
                    f"inverse_kinematics: loops of q0 are open, by up to {gap:.3g}; robot.assemble(q0) closes them"
                )
        return start

    def _solve(self, best: _Best, start: np.ndarray, tolerance: float, most: int, restarts: int, rng: Any) -> None:
        """Search from q0, then from other starts, then on from the best of those that failed."""
        coarse = np.array([tolerance, most, _GAIN, _PATIENCE, _STIFFNESS, _DAMPING])
        best.search(start, coarse, anew=False)
        if best.left.size and restarts:
            for other in self._starts(rng, restarts):
                best.search(other, coarse, anew=True)
                if not best.left.size:
                    break
        for stiffness in _STIFF:
            if best.left.size:
                fine = np.array([tolerance, max(most, 100), _FINE, _LONG, stiffness, _DAMPING])
                best.search(best.q[best.left], fine, anew=False)

    def _result(self, goals: _Goals, best: _Best, batch: tuple[int, ...]) -> InverseKinematics:
        told = best.told if len(best.q) else np.zeros((0, _FIRST + sum(x.numbers[2] for x in goals.aims)))
        missed = iter(told[:, _FIRST:].T)
        distance: dict[str, np.ndarray] = {}
        angle: dict[str, np.ndarray] = {}
        for name, aim in zip(goals.names, goals.aims, strict=True):
            for wanted, kept in ((aim.position, distance), (aim.rotation, angle)):
                if wanted:
                    kept[name] = next(missed).reshape(batch).copy()
        return InverseKinematics(
            best.q.reshape(*batch, self.nq),
            np.asarray(best.arrived(told)).reshape(batch),
            distance,
            angle,
            told[:, _FIRST:].max(axis=1).reshape(batch),
            told[:, 1].reshape(batch).copy(),
            best.iterations.astype(int).reshape(batch),
            best.restarts.astype(int).reshape(batch),
        )
