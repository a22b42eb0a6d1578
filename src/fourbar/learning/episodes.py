"""`Episodes`: n worlds of a task, each in an episode of its own: they begin, move, are observed and judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..sim.motions.given_numbers import nominal_numbers
from .task import Task
from .worlds import Worlds


class Judgement(NamedTuple):
    """Rewards of a step, and whether each world terminated or was truncated."""

    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, np.ndarray]


def _world_names(numbers: np.ndarray) -> str:
    return ", ".join(map(str, numbers[:6])) + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")


def _numbers(found: Any) -> np.ndarray:
    """Anything as an array of float; of no shape where it is none."""
    try:
        return np.asarray(found, float)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


class Episodes:
    """n worlds of a task. `ids` are numbers of worlds, all where None."""

    def __init__(self, task: Task, n: int) -> None:
        self.task, self.drive = task, task.drive
        self.batch = task.scene.batch(n, dt=task.dt, numbers=self._numbers())
        self.n = self.batch.n
        self.generators: list[np.random.Generator] = [np.random.default_rng(0) for _ in range(self.n)]
        self.options: dict[str, Any] = {}
        self.steps = np.zeros(self.n, int)
        self.action, self.last_action = (np.zeros((self.n, task.drive.size)) for _ in range(2))
        self.command = np.zeros((self.n, task.drive.commands))
        self.diverged = np.zeros(self.n, bool)
        self.memory = {name: np.zeros((self.n, *shape)) for name, shape in (task.memory | task.lasting).items()}
        self.width = self._width()

    def _numbers(self) -> dict[str, np.ndarray]:
        """Numbers that differ from world to world, as the robot and the terrain themselves have them."""
        names, scene = tuple(name for name in self.task.randomize if name != "friction"), self.task.scene
        return nominal_numbers(scene.robot.mechanism, names, scene.grounds)

    def seed(self, generators: Mapping[int, np.random.Generator]) -> None:
        """Give worlds, by number, new generators of random numbers; their lasting arrays begin with zeros again."""
        for number, generator in generators.items():
            self.generators[number] = generator
        for name in self.task.lasting:
            self.memory[name][[*generators]] = 0

    def _width(self) -> int:
        """Number of entries of an observation, found once, at the start."""
        self.start()
        observations = _numbers(self.task.observe(Worlds(self)))
        if observations.ndim != 2 or len(observations) != self.n or not observations.shape[1]:
            raise ArgumentError(
                f"observe(worlds) must return an array ({self.n}, numbers), a row for each world, got "
                f"{type(observations).__name__ if not observations.ndim else f'shape {observations.shape}'}"
            )
        return observations.shape[1]

    def start(self, ids: np.ndarray | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin new episodes."""
        which = slice(None) if ids is None else ids
        for array in (self.steps, self.action, self.last_action, self.command, self.diverged):
            array[which] = 0
        for array in (self.memory[name] for name in self.task.memory):
            array[which] = 0
        worlds, self.options = Worlds(self, ids), dict(options or {})
        for name, draw in self.task.randomize.items():
            self.batch.change(name, draw(worlds), ids)
        found = self.task.reset(worlds)
        self.options = {}
        q, v = found if isinstance(found, tuple) else (found, None)
        self.batch.reset(ids, q=q, v=v)

    def advance(self, action: np.ndarray, ids: np.ndarray | None = None) -> None:
        """Hold actions (n of these worlds, size) for a period."""
        which = slice(None) if ids is None else ids
        batch, action = self.batch, np.minimum(np.maximum(action, -1.0), 1.0)
        self.last_action[which] = self.action[which]
        self.action[which] = action
        calls, steps = (1, self.task.substeps) if self.drive.held else (self.task.substeps, 1)
        worst = np.zeros(len(action))
        for _ in range(calls):
            self.command[which] = command = self.drive.command(action, batch.q[which], batch.v[which])
            given: dict[str, Any] = {self.drive.kind: command}
            batch.step(ids=ids, steps=steps, **given)
            np.maximum(worst, batch.residual[which], out=worst)
        batch.residual[which] = worst
        self.steps[which] += 1
        self.diverged[which] = batch.diverged[which] | (np.abs(batch.v[which]).max(axis=1) > self.task.fastest)

    def observe(self, ids: np.ndarray | None = None) -> np.ndarray:
        """Observations, an array of its own."""
        worlds = Worlds(self, ids)
        return self._check_result("observe", self.task.observe(worlds), (len(worlds), self.width), ids).copy()

    def judge(self, ids: np.ndarray | None = None) -> Judgement:
        """The rewards and ends of the last step."""
        worlds = Worlds(self, ids)
        n = len(worlds)
        reward = self._check_result("reward", self.task.reward(worlds), (n,), ids).copy()
        ended = self._check_result("terminated", self.task.terminated(worlds), (n,), ids) != 0.0
        info = {
            "diverged": worlds.diverged.copy(),
            "residual": self.batch.residual[slice(None) if ids is None else ids],
        }
        return Judgement(reward, ended | worlds.diverged, worlds.steps >= self.task.steps, info | self._info(worlds))

    def _info(self, worlds: Worlds) -> dict[str, np.ndarray]:
        """The info of the task about a step."""
        info = self.task.info(worlds)
        if not isinstance(info, Mapping):
            raise ArgumentError(f"info(worlds) must return a dictionary of arrays, got {type(info).__name__}")
        arrays = {name: np.array(x) for name, x in info.items()}
        for name, array in arrays.items():
            if array.shape[:1] != (len(worlds),) or array.dtype.kind not in "fiub":
                raise ArgumentError(
                    f"info(worlds)[{name!r}] must be an array of numbers with a row for each of the {len(worlds)} "
                    f"worlds, got shape {array.shape} of {array.dtype}"
                )
        return arrays

    def _check_result(self, name: str, found: Any, shape: tuple[int, ...], ids: np.ndarray | None) -> np.ndarray:
        """The checked result of a function of the task: of the right shape, and finite."""
        array = _numbers(found)
        if array.shape != shape:
            got = f"shape {array.shape}" if array.ndim else repr(found)
            raise ArgumentError(f"{name}(worlds) must return an array of shape {shape}, got {got}")
        if not np.isfinite(array).all():
            rows = np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(axis=1))
            where = _world_names(rows if ids is None else ids[rows])
            raise ArgumentError(f"{name}(worlds) returned NaN or infinity for worlds {where}, whose states are finite")
        return array
