"""Closed loops for the user: closing a guess, the gap of loops, whether a state is valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, AssemblyError, CoordinateError, SingularError, unknown, warn
from ..functions.angles import describe_endless_angle, endless_angles, stored_joints
from ..functions.nan_reasons import (
    dependent_rates,
    describe_dependent_rates,
    describe_toggles,
    lacks_direction,
    without_wrong_coordinates,
)
from ..linalg import finite, rank, smallest
from ..mechanism.mechanism import Mechanism
from ..tolerances import CLOSED, NEAR_TOGGLE, OPEN
from ..tree.cluster_tree import ClusterTree
from ..tree.clusters import Cluster
from ..tree.loop_closing import close_from


def read_argument(method: str, name: str, size: int, x: Any) -> np.ndarray:
    """An argument (..., size) as an array."""
    from ..arrays import Argument, to_array  # imported when first needed, as in `robot`

    return to_array(method, Argument(name, (size,)), x)


def _loop_names(loops: Sequence[str]) -> str:
    return f"loop{'s' if len(loops) > 1 else ''} {', '.join(map(repr, loops))}"


def report_open(what: str, gaps: np.ndarray, single: bool) -> None:
    """Report configurations that could not be closed: an error for one, a warning in a batch. `what` contains {this}.

    In a batch samples that were not finite to begin with, whose `gaps` (n) are NaN too, are not reported.
    """
    gap = np.nanmax(gaps) if np.isfinite(gaps).any() else np.nan
    if single:
        raise AssemblyError(f"{what.format(this='this configuration')}: the remaining gap is {gap:.3g}")
    if gap >= 0.0:
        where = what.format(this="the configuration given")
        warn(f"in some samples {where}: the remaining gap is up to {gap:.3g}; these are NaN", RuntimeWarning)


def _columns(cluster_tree: ClusterTree, cluster: Cluster, keep: Sequence[str]) -> list[int]:
    columns, at = [], 0
    for i in cluster.links:
        c = cluster_tree.moving[i]
        if c.name in keep:
            columns.extend(range(at, at + c.joint.nv))
        at += c.joint.nv
    return columns


def assemble(cluster_tree: ClusterTree, q: Any, keep: Sequence[str]) -> np.ndarray:
    """Close all loops from guesses; explicit loops are always closed."""
    if isinstance(keep, str):
        raise ArgumentError(f"keep={keep!r}: expected a list of joints, such as [{keep!r}]")
    known = [c.name for c in cluster_tree.moving]
    for name in keep:
        if name not in known:
            raise unknown("moving joint", name, known)
    array = without_wrong_coordinates(
        cluster_tree, "assemble", read_argument("assemble", "q", cluster_tree.nq, q)
    ).copy()
    rows = array.reshape(-1, cluster_tree.nq)
    lost = np.zeros(len(rows), bool)
    for cluster, tie, cluster_q in cluster_tree.implicit_clusters:
        if array.ndim == 1 and not np.isfinite(array[cluster_q]).all():
            raise AssemblyError(
                f"{_loop_names(cluster.loops)} cannot be closed: q contains NaN or infinite numbers; start from "
                "robot.neutral()"
            )
        rows[:, cluster_q], gaps = close_from(tie, rows[:, cluster_q], _columns(cluster_tree, cluster, keep))
        left = ~(gaps <= CLOSED)
        if np.any(left):
            gap = np.abs(tie.residual(rows[left][:, cluster_q])).max(axis=-1, initial=0.0)
            held = f" with {', '.join(map(repr, keep))} fixed" if keep else ""
            report_open(f"{_loop_names(cluster.loops)} cannot be closed from {{this}}{held}", gap, array.ndim == 1)
        lost |= left
    rows[lost] = np.nan
    return array


def loop_gap(cluster_tree: ClusterTree, q: Any) -> np.ndarray:
    """The largest residual of any loop."""
    array = read_argument("loop_gap", "q", cluster_tree.nq, q)
    found = np.zeros(array.shape[:-1])
    for _, tie, own in cluster_tree.implicit_clusters:
        found = np.maximum(found, np.abs(tie.residual(array[..., own])).max(axis=-1, initial=0.0))
    return found


def check(cluster_tree: ClusterTree, q: Any, v: Any, tolerance: float) -> Any:
    """Refuse invalid states: NaN, open loops, toggle positions, gimbal lock. Returns the arguments as arrays."""
    from ..tree.closed_positions import gaps_in_units

    array = read_argument("check", "q", cluster_tree.nq, q)
    if not (np.ndim(tolerance) == 0 and 0.0 < tolerance < np.inf):
        raise ArgumentError(f"check: tolerance must be a positive number, got {tolerance!r}")
    _check_finite("q", array)
    _check_quaternions(cluster_tree, array)
    _check_angles(cluster_tree, array)
    for cluster, tie, own in cluster_tree.implicit_clusters:
        gaps = gaps_in_units(cluster_tree, tie, array[..., own], tolerance)
        if not np.all(gaps <= tolerance):
            worst = np.abs(tie.residual(array[..., own])).max(axis=-1, initial=0.0)
            raise AssemblyError(
                f"check: q{_at(~(gaps <= tolerance))}: {_loop_names(cluster.loops)} {_are(cluster.loops)} open, by up "
                f"to {np.nanmax(worst):.3g}: results there are meaningless; robot.assemble(q) closes loops"
            )
    _check_toggles(cluster_tree, array)
    _check_rates(cluster_tree, array)
    if v is None:
        return array
    velocities = read_argument("check", "v", cluster_tree.nv, v)
    _check_finite("v", velocities)
    return array, velocities


def _check_toggles(cluster_tree: ClusterTree, q: np.ndarray) -> None:
    """Refuse toggle positions. Only those q (..., nq) are examined closely that are near one."""
    near = np.zeros(q.shape[:-1], bool)
    for _, tie, own in cluster_tree.implicit_clusters:
        K = finite(tie.units.of(tie.slopes(q[..., own])))[..., tie.rows, :]
        near |= smallest(K[..., tie.dependent]) < NEAR_TOGGLE * np.abs(K).max(axis=(-2, -1), initial=0.0)
    for at in np.argwhere(near):
        why = describe_toggles(cluster_tree, q[tuple(at)][None])
        if why:
            place = f" at index {at.tolist()} of the batch" if at.size else ""
            raise SingularError(f"check: q{place}: {why}")


def _check_rates(cluster_tree: ClusterTree, q: np.ndarray) -> None:
    """Refuse configurations in which the rates of a joint are dependent, as at gimbal lock."""
    for names, wrong in dependent_rates(cluster_tree, q).items():
        if wrong.any():
            raise SingularError(f"check: q{_at(wrong)}: {describe_dependent_rates(names)}")


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _at(wrong: np.ndarray) -> str:
    """Where in a batch the first invalid sample is, in words."""
    if not wrong.ndim:
        return ""
    first = [int(x) for x in np.argwhere(wrong)[0]]
    return f" at index {first} of the batch ({int(wrong.sum())} of {wrong.size} samples)"


def _check_finite(name: str, x: np.ndarray) -> None:
    wrong = np.asarray(~np.isfinite(x).all(axis=-1))
    if wrong.any():
        raise ArgumentError(f"check: {name}{_at(wrong)} contains NaN or infinite numbers")


def _check_quaternions(cluster_tree: ClusterTree, q: np.ndarray) -> None:
    """Refuse coordinates of a joint with a quaternion in which that is zero."""
    for name, joint, first in stored_joints(cluster_tree):
        for k in joint.quaternions:
            wrong = lacks_direction(q[..., first + k : first + k + 4])
            if wrong.any():
                raise ArgumentError(
                    f"check: q{_at(wrong)}: the quaternion of joint {name!r} is zero, which is not a rotation; "
                    "the identity is (1, 0, 0, 0). Start from robot.neutral()"
                )


def _check_angles(cluster_tree: ClusterTree, q: np.ndarray) -> None:
    """Refuse angles that are too large for meaningful sines."""
    wrong = np.asarray(endless_angles(cluster_tree, q))
    if wrong.any():
        raise CoordinateError(
            f"check: {describe_endless_angle(cluster_tree, f'q{_at(wrong)}', q[wrong].reshape(-1, cluster_tree.nq))}"
        )


class Looped:
    """The loops of a robot. Robots without loops have these methods too; they are always closed."""

    model: Any
    expand: Any

    def assemble(self, q: Any, keep: Sequence[str] = ()) -> np.ndarray:
        """Configurations near given ones in which every loop is closed.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Guess.
        keep : sequence of str, optional
            Joints whose coordinates stay as they are.

        Returns
        -------
        ndarray, shape (..., nq)
            Configurations with closed loops.

        Raises
        ------
        AssemblyError
            If the loops cannot be closed from here (NaN and a warning in a batch).

        Notes
        -----
        Steps of least length lead there from q, else from starts beside it: near, but not the nearest of all.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> q = robot.assemble([0.3, 0.0, 0.0], keep=["link1_joint"])
        >>> bool(robot.loop_gap(q) < 1e-9)
        True
        """
        return assemble(self.model.cluster_tree, q, keep)

    def loop_gap(self, q: Any) -> np.ndarray:
        """The largest residual of the loops, zero where they are closed.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration.

        Returns
        -------
        ndarray, shape (...)
            The largest residual of any loop (m, rad); zero for robots without loops.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> float(robot.loop_gap([0.3, 0.0, 0.0]).round(3))
        0.443
        """
        return loop_gap(self.model.cluster_tree, q)

    def check(self, q: Any, v: Any = None, tolerance: float = OPEN) -> Any:
        """Raise an error for states that methods cannot take.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration.
        v : array_like, shape (..., nv), optional
            Velocity (rad/s, m/s).
        tolerance : float, default 1e-06
            How far loops may be open, relative to how much their condition changes for unit changes of the coordinates.

        Returns
        -------
        ndarray or tuple of ndarray
            q, or (q, v) if v is given, as arrays.

        Raises
        ------
        ArgumentError
            If q or v hold NaN or infinite numbers, or a quaternion is zero.
        AssemblyError
            If a loop is open.
        SingularError
            If a loop is at a toggle position, or a joint at a singularity of its coordinates (gimbal lock).

        Notes
        -----
        For speed, methods themselves do not look at loops: where they are open, results are numbers that mean nothing.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.check(robot.neutral()).shape
        (3,)
        """
        return check(self.model.cluster_tree, q, v, tolerance)

    def least_reactions(self, q: Any, v: Any, a: Any, f_ext: Any = None) -> np.ndarray:
        """Least of the reactions that balance the load, where loops hold more than is needed.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configuration, with its loops closed.
        v : array_like, shape (..., nv)
            Velocity (rad/s, m/s).
        a : array_like, shape (..., nv)
            Acceleration (rad/s², m/s²).
        f_ext : array_like, shape (..., n_bodies, 6), or dict, optional
            Wrench [moment; force] (N m, N) on each body, at its origin and in its axes; or on some bodies,
            ``{"hand": wrench}``.

        Returns
        -------
        ndarray, shape (..., n_bodies, 6)
            Wrench [moment; force] (N m, N) that each body receives from its parent through its joint, in the frame of
            the body.

        See Also
        --------
        reactions : One way to share the load, compiled and with derivatives.

        Notes
        -----
        Of all ways to share the load this is the one with the least sum of squares of the forces (N) and moments (N m,
        at the joint) that all joints pass on, those of loops too; it does not depend on which joint closes a loop. What
        really happens depends on stiffness, which rigid bodies do not have. In NumPy, without derivatives.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.four_bar()
        >>> robot.least_reactions(robot.neutral(), [0.0], [0.0]).shape
        (3, 6)
        """
        from .least_reactions import least_reactions

        return least_reactions(self, q, v, a, f_ext)  # type: ignore[arg-type]


SLACK = "slack"  # what `waive` calls a gap of rows that others imply
SLACK_FIX = "write more digits where these loops meet, or constrain each thing only once"


def slack_messages(cluster_tree: ClusterTree) -> list[str]:
    """The name and gap of each loop with rows left out."""
    return [
        f"loop {name!r} duplicates constraints of other joints and loops, but for a gap of {gap:.3g}: its redundant "
        "rows are left out"
        for cluster in cluster_tree.clusters
        for name, gap in cluster.slack
    ]


FLAT = "flat"  # what `waive` calls loops that are drawn where they are singular
FLAT_FIX = (
    "name the assembly that is meant with Builder.configuration, or in a keyframe of the file: loops are closed near "
    "the first one"
)


def flat_messages(mechanism: Mechanism, cluster_tree: ClusterTree) -> list[str]:
    """A message for each cluster whose loops are singular where closing them starts, but not where they are closed.

    Links drawn in line, for one: several assemblies meet there, and which of them is found is arbitrary.
    """
    named = mechanism.configurations[:1]
    start = {joint: x for configuration in named for joint, x in configuration.coordinates}
    where = f"in the configuration {named[0].name!r}" if named else "where all joints are at zero"
    messages = []
    for cluster in cluster_tree.clusters:
        tie = cluster.tie
        if tie is None or tie.is_linear or tie.closed is None:
            continue
        joints = [cluster_tree.moving[i] for i in cluster.links]
        drawn = np.array([x for c in joints for x in start.get(c.name, c.joint.neutral())], float)
        with np.errstate(all="ignore"):  # K may be NaN where loops are open
            at_start, closed = tie.units.of(tie.slopes(np.stack([drawn, tie.closed])))
        if np.isfinite(at_start).all() and rank(at_start) < rank(closed):
            names = ", ".join(map(repr, cluster.loops))
            messages.append(
                f"{f'loops {names} are' if len(cluster.loops) > 1 else f'loop {names} is'} singular {where} "
                "(links in line, for example): assemblies meet there, and neutral() is in an arbitrary one"
            )
    return messages
