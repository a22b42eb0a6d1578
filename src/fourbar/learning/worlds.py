"""`Worlds`: what the functions of a task see of some worlds.

Random numbers for many worlds: each world draws from a generator of its own, so that its numbers do not depend on
which worlds draw together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.activation import Signals
from ..errors import ArgumentError, unknown
from ..spatial.linear import Vec

if TYPE_CHECKING:
    from ..system.system import System
    from .episodes import Episodes
    from .layout import FloatingBase


class Draws:
    """Random numbers (n, *shape) for n worlds, a row from the generator of each."""

    def __init__(self, generators: Sequence[np.random.Generator]) -> None:
        self._generators = generators

    def uniform(self, low: Any = 0.0, high: Any = 1.0, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Between low and high, which broadcast with (n, *shape)."""
        drawn = np.array([g.random(shape) for g in self._generators]).reshape(-1, *shape)
        return low + (np.asarray(high, float) - low) * drawn

    def normal(self, deviation: Any = 1.0, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Normal, with mean zero and a standard deviation that broadcasts with (n, *shape)."""
        return deviation * np.array([g.standard_normal(shape) for g in self._generators]).reshape(-1, *shape)

    def integers(self, low: int, high: int, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Whole numbers from low to high - 1."""
        return np.array([g.integers(low, high, shape) for g in self._generators], dtype=int).reshape(-1, *shape)


class Worlds:
    """Some worlds of a task, in the rows of arrays: all of them, or those that are reset.

    The functions of a task get it; nobody else makes one. Arrays are read-only.

    Parameters
    ----------
    episodes : Episodes
        All worlds.
    ids : ndarray, optional
        The numbers of those in the rows; all if None.

    Examples
    --------
    >>> def upright(worlds):
    ...     return -worlds.gravity[:, 2] - 0.01 * (worlds.tau**2).sum(axis=1)
    """

    def __init__(self, episodes: Episodes, ids: np.ndarray | None = None) -> None:
        self._all, self._ids = episodes, ids

    def _rows(self, array: np.ndarray) -> np.ndarray:
        rows = array.view() if self._ids is None else array[self._ids]
        rows.flags.writeable = False
        return rows

    def __len__(self) -> int:
        return self._all.n if self._ids is None else len(self._ids)

    def __repr__(self) -> str:
        return f"<fourbar worlds: {len(self)} of {self._all.n}>"

    def __getitem__(self, name: str) -> np.ndarray:
        """An array of the task's `memory`, by name."""
        return self._rows(self._memory_of(name))

    def __setitem__(self, name: str, value: Any) -> None:
        self._memory_of(name)[slice(None) if self._ids is None else self._ids] = value

    def _memory_of(self, name: str) -> np.ndarray:
        if name not in self._all.memory:
            raise unknown("memory of this task", name, self._all.memory)
        return self._all.memory[name]

    @property
    def robot(self) -> System:
        """The robot of all worlds."""
        return self._all.batch.scene.robot

    @property
    def random(self) -> Draws:
        """Random numbers, a row for each world: ``uniform(low, high, shape)``, ``normal``, ``integers``."""
        numbers = range(self._all.n) if self._ids is None else self._ids
        return Draws([self._all.generators[i] for i in numbers])

    @property
    def options(self) -> dict[str, Any]:
        """The options that `reset` was called with; empty otherwise."""
        return self._all.options

    @property
    def q(self) -> np.ndarray:
        """Configurations (n, nq)."""
        return self._rows(self._all.batch.q)

    @property
    def v(self) -> np.ndarray:
        """Velocities (n, nv)."""
        return self._rows(self._all.batch.v)

    @property
    def t(self) -> np.ndarray:
        """Time since the episode began (n), in seconds."""
        return self._rows(self._all.steps * self._all.task.period)

    @property
    def steps(self) -> np.ndarray:
        """Number of actions of the episode so far (n)."""
        return self._rows(self._all.steps)

    @property
    def action(self) -> np.ndarray:
        """The actions (n, size) of the last step, within -1 and 1; zeros after a reset."""
        return self._rows(self._all.action)

    @property
    def last_action(self) -> np.ndarray:
        """The actions (n, size) of the step before the last."""
        return self._rows(self._all.last_action)

    @property
    def tau(self) -> np.ndarray:
        """Joint forces (n, nv) of the last action, at the end of its period; zeros after a reset."""
        command = self._rows(self._all.command)
        if self._all.drive.kind == "tau":
            return command
        if self.robot.na:
            signals = Signals.of(self.robot.mechanism.actuators, euler=True)
            act = self._rows(self._all.batch.act)
            command = np.stack(signals.at_rest(Vec(act.T), Vec(command.T)), axis=-1)
        forces = self.robot.control_force(self.q, self.v, command)
        return np.where(self.steps[:, None] > 0, forces, 0.0)

    @property
    def force(self) -> np.ndarray:
        """Forces of contacts (n, contacts, 3) in the world, on the robot (N); zeros after a reset."""
        return self._rows(self._all.batch.force)

    @property
    def touching(self) -> np.ndarray:
        """A mask of the contacts that pressed (n, contacts)."""
        return (self.force != 0.0).any(axis=-1)

    @property
    def friction(self) -> np.ndarray:
        """Coefficients of friction (n, contacts)."""
        return self._rows(self._all.batch.friction)

    @property
    def diverged(self) -> np.ndarray:
        """A mask of the worlds that diverged (n); they are at their last finite states."""
        return self._rows(self._all.diverged)

    @property
    def joint_positions(self) -> np.ndarray:
        """Coordinates (n, size) of the joints that are driven."""
        return self.q[:, self._all.drive.joints.q]

    @property
    def joint_velocities(self) -> np.ndarray:
        """Velocities (n, size) of the joints that are driven."""
        return self._all.drive.joints.velocities(self.v)

    def _base(self, name: str) -> FloatingBase:
        base = self._all.task.layout.base
        if base is None:
            raise ArgumentError(f"worlds.{name}: robot {self.robot.name!r} has no floating base")
        return base

    @property
    def base_position(self) -> np.ndarray:
        """Where the base is (n, 3), in the world."""
        return self._base("base_position").place(self.q)

    @property
    def base_velocity(self) -> np.ndarray:
        """Angular and linear velocity of the base (n, 6), in its own axes."""
        return self.v[:, self._base("base_velocity").velocity]

    @property
    def heading(self) -> np.ndarray:
        """Where the base heads (n): the angle (rad) of its x axis about the vertical."""
        base = self._base("heading")
        w, x, y, z = (self.q[:, i] for i in base.quaternion)
        R = np.array(base.placement.rotation)
        ahead = np.stack([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)], axis=1) @ R.T
        return np.arctan2(ahead[:, 1], ahead[:, 0])

    @property
    def gravity(self) -> np.ndarray:
        """The direction of gravity (n, 3) in the axes of the base: (0, 0, -1) where it is upright."""
        return self._base("gravity").gravity(self.q)

    def proprioception(self) -> np.ndarray:
        """Proprioception, (n, numbers): the default observation.

        Direction of gravity (3) and velocities (6) in the axes of the base, if there is one; all other coordinates and
        velocities; the last action.

        Returns
        -------
        ndarray
            A row for each world.
        """
        layout = self._all.task.layout
        own = [] if layout.base is None else [self.gravity, self.base_velocity]
        return np.concatenate([*own, self.q[:, layout.other_q], self.v[:, layout.other_v], self.action], axis=1)
