"""Keyframes of a file: configurations with velocities and controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..edit.coordinates import gathered_velocity
from ..system.names import ByName
from ..system.system import System


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A state that a file names. Where an array is expected it is its configuration q.

    Parameters
    ----------
    q : ndarray, shape (nq,)
        Configuration, with its loops closed.
    v : ndarray, shape (nv,)
        Velocity (rad/s, m/s); zero where the file has none.
    u : ndarray, shape (nu,)
        Controls of the actuators; zero where the file has none.

    Examples
    --------
    >>> import fourbar as fb
    >>> b = fb.Builder("ball")
    >>> _ = b.body("ball", joint=fb.joints.Prismatic("z"), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> _ = b.configuration("thrown", {"ball": 0.5}, velocities={"ball": 2.0})
    >>> scene = fb.Scene(b.build(), fb.Plane(), contacts=[fb.contact.Shape("ball", "sphere", 0.1)])
    >>> thrown = scene.keyframes["thrown"]
    >>> thrown.q.tolist(), thrown.v.tolist(), thrown.u.tolist()
    ([0.5], [2.0], [])
    """

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The configuration."""
        return np.array(self.q, dtype, copy=copy)

    def __len__(self) -> int:
        """Number of coordinates."""
        return len(self.q)

    def __iter__(self) -> Iterator[float]:
        """The coordinates."""
        return iter(self.q)

    def __getitem__(self, which: Any) -> Any:
        """Entries of the configuration."""
        return self.q[which]


def keyframes_of(robot: System) -> Mapping[str, Keyframe]:
    """The named configurations of a robot with their velocities and controls; the independent ones of velocities."""
    keyframes, tree = {}, robot.model.cluster_tree
    for named in robot.mechanism.configurations:
        v, u = dict(named.velocities), dict(named.controls)
        v_all = np.concatenate([np.zeros(0), *(v.get(c.name, np.zeros(c.joint.nv)) for c in tree.moving)])
        controls = np.array([u.get(name, 0.0) for name in robot.names.actuators])
        state = robot.configurations[named.name], gathered_velocity(tree, v_all), controls
        for array in state:
            array.setflags(write=False)
        keyframes[named.name] = Keyframe(*state)
    return ByName("configuration", keyframes)
