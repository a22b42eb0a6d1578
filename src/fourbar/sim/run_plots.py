"""Pictures of simulated motions, by matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..errors import ArgumentError
from ..plots.motion_pictures import PlottedMotion, plot_motion


class Plotted:
    """A motion: times t (n), q (n, ..., nq), v (n, ..., nv), or with the axis of time behind that of the samples."""

    t: Any
    q: Any
    v: Any
    _time_first: ClassVar[bool] = True

    @property
    def _mover(self) -> Any:
        """The robot that moved."""
        scene = getattr(self, "scene", None)
        return getattr(self, "robot", None) if scene is None else scene.robot

    def _one(self, x: np.ndarray, at: tuple[int, ...]) -> np.ndarray:
        """One sample of an array over time."""
        return x[(slice(None), *at)] if self._time_first else x[at]

    def plot(
        self,
        what: Sequence[str] | None = None,
        *,
        joints: Sequence[str] | None = None,
        sample: int | tuple[int, ...] = 0,
        torque: np.ndarray | Callable[..., Any] | None = None,
    ) -> Any:
        """Draw the motion over time.

        Parameters
        ----------
        what : sequence of str, optional
            Parts among 'coordinates', 'velocities', 'torques', 'energy' and 'contacts'; all that are known but the
            velocities if None.
        joints : sequence of str, optional
            Joints to draw; if None all, of robots with many coordinates in loops the independent ones.
        sample : int or tuple of int, default 0
            Which sample of a batch is drawn.
        torque : array_like, shape (n, nv), or callable, optional
            Joint forces (N m, N) to draw: an array, or the function torque(t, q, v) of the simulation.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. Coordinates are grouped by unit, and by limb where they are many; beyond their limits there are
            bands. Quaternions are drawn as roll, pitch and yaw.

        Raises
        ------
        ArgumentError
            If matplotlib is not installed, or the motion has no robot.

        See Also
        --------
        System.plot : The robot as a stick figure.

        Examples
        --------
        >>> import fourbar as fb
        >>> run = fb.simulate(fb.robots.double_pendulum(), [0.5, 0.0], duration=0.1, dt=0.01)
        >>> len(run.plot().axes)
        2
        """
        robot = self._mover
        if robot is None:
            raise ArgumentError("plot: this motion has no robot; add it with replace(motion, robot=robot)")
        batch = self.q.shape[1:-1] if self._time_first else self.q.shape[:-2]
        at = _place(sample, batch)
        title = robot.name + (f", sample {sample} of {int(np.prod(batch))}" if batch else "")
        q, v = self._one(self.q, at), self._one(self.v, at)
        lost, forces = getattr(self, "lost", None), _forces(torque, self.t, q, v)
        known = None if lost is None else self._one(lost, at)
        return plot_motion(PlottedMotion(robot, self.t, q, v, forces, known, self._pressed(at)), what, joints, title)

    def _pressed(self, at: tuple[int, ...]) -> Mapping[str, np.ndarray] | None:
        """The size of the force of each contact over time, if there are any."""
        contacts = getattr(self, "contacts", None)
        if contacts is None or not contacts.names:
            return None
        force = np.linalg.norm(self._one(contacts.force, at), axis=-1)
        return dict(zip(contacts.names, np.nan_to_num(force).T, strict=True))


def _place(sample: Any, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Where a sample is in a batch."""
    if not batch:
        return ()
    try:
        at = sample if isinstance(sample, tuple) else np.unravel_index(sample, batch)
        found = tuple(range(n)[i] for i, n in zip(at, batch, strict=True))
    except (IndexError, ValueError, TypeError):
        raise ArgumentError(
            f"plot: sample={sample!r}: expected the number of a sample, or its place in a batch {batch}"
        ) from None
    return found


def _forces(torque: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
    """Joint forces (n, nv), from an array or a function of one sample."""
    if torque is None:
        return None
    if callable(torque):
        asked = (np.asarray(torque(*now), float) for now in zip(t, q, v, strict=True))
        return np.array([np.broadcast_to(x, v.shape[1:]) for x in asked])
    n, nv = v.shape
    try:
        array = np.asarray(torque, float)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"plot: torque must be a function torque(t, q, v) or an array, got {torque!r:.80}"
        ) from None
    if array.ndim != 2 or array.shape[1] != nv or array.shape[0] not in (n, n - 1):
        raise ArgumentError(
            f"plot: torque must be a function torque(t, q, v) or an array ({n}, {nv}), one row for each recorded time, "
            f"got shape {array.shape}"
        )
    return np.concatenate([array, array[-1:]]) if len(array) < n else array
