"""`record`: episodes of a task under a policy, as a motion that can be shown and saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError
from ..sim.motions.read_arguments import check_times
from ..sim.motions.results import Recorded
from ..sim.scenes.scene import Scene
from ..viewer.recorded_motion import RecordedMotion
from .actions import read_actions
from .episodes import Episodes
from .task import Task


@dataclass(frozen=True)
class RecordedEpisodes(Recorded):
    """Episodes of a task, one in each world, which `record` returns.

    Parameters
    ----------
    t : ndarray, shape (n,)
        Times (s) since the start.
    q : ndarray, shape (n, worlds, nq)
        Configurations; a world whose episode has ended stays as it was.
    v : ndarray, shape (n, worlds, nv)
        Velocities (rad/s, m/s).
    action : ndarray, shape (n - 1, worlds, size)
        Actions, within -1 and 1; zero once an episode has ended.
    reward : ndarray, shape (n - 1, worlds)
        Rewards of the steps; zero once an episode has ended.
    force : ndarray, shape (n, worlds, contacts, 3)
        Forces of contacts (N) in the last step of the simulation.
    steps : ndarray of int, shape (worlds,)
        How many steps each episode has.
    terminated : ndarray of bool, shape (worlds,)
        Whether an episode reached an end, such as a fall, before its time was up.
    scene : Scene
        The scene of the task.

    Examples
    --------
    >>> import numpy as np
    >>> import fourbar as fb
    >>> import fourbar.gymnasium as fg
    >>> scene = fb.Scene(fb.robots.double_pendulum())
    >>> task = fg.Task(scene, fg.Forces(5.0), reward=lambda worlds: -worlds.v[:, 0], duration=0.1)
    >>> fg.record(task, lambda observations: np.zeros((len(observations), 2)), 3).q.shape
    (6, 3, 2)
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    force: np.ndarray
    steps: np.ndarray
    terminated: np.ndarray
    scene: Scene = field(repr=False, compare=False)

    def __repr__(self) -> str:
        total = float(self.reward.sum(axis=0).mean())
        return f"<fourbar RecordedEpisodes: {self.q.shape[1]} of {self.t[-1]:g} s, mean return {total:.4g}>"

    @property
    def recording(self) -> RecordedMotion:
        """The episodes as they are shown.

        Returns
        -------
        RecordedMotion
            The robot in all worlds, what it stands on, and the forces of contacts.
        """
        scene, contacts = self.scene, {}
        if self.force.shape[-2]:
            contacts = {"points": scene.contact_points(self.q), "forces": self.force}
        return RecordedMotion.of(
            scene.robot, self.t, self.q, terrains=tuple(scene.terrains), touching=tuple(scene.added), **contacts
        )


def record(
    task: Task,
    policy: Callable[[np.ndarray], Any],
    num_envs: int = 1,
    *,
    seed: int = 0,
    duration: float | None = None,
) -> RecordedEpisodes:
    """Run one episode in each of several worlds, and record it.

    Parameters
    ----------
    task : Task
        The task.
    policy : callable
        ``policy(observations)``: actions (worlds, size) for observations (worlds, numbers).
    num_envs : int, default 1
        Number of worlds.
    seed : int, default 0
        World i gets seed + i, and then the same numbers as a world of a `VectorEnv` or an `Env` with that seed.
    duration : float, optional
        Time (s) after which to stop; when all episodes have ended if None.

    Returns
    -------
    RecordedEpisodes
        The motion: ``fb.view(episodes, spread=1.0)`` plays it, ``episodes.save("gait.html")`` writes a page.

    Raises
    ------
    ArgumentError
        If an argument, or an action, is not what it should be.

    Examples
    --------
    >>> import numpy as np
    >>> import fourbar as fb
    >>> import fourbar.gymnasium as fg
    >>> scene = fb.Scene(fb.robots.double_pendulum())
    >>> task = fg.Task(scene, fg.Forces(5.0), reward=lambda worlds: -worlds.v[:, 0], duration=1.0)
    >>> fg.record(task, lambda observations: np.zeros((len(observations), 2)), 3, seed=1)
    <fourbar RecordedEpisodes: 3 of 1 s, mean return 0>
    """
    if not isinstance(task, Task):
        raise ArgumentError(f"record: expected a fourbar.gymnasium.Task, got {task!r}")
    if not callable(policy):
        raise ArgumentError(f"record: policy={policy!r}: expected a function of the observations")
    if to_count(seed, 0) is None:
        raise ArgumentError(f"record: seed={seed!r}: expected a whole number, zero or more")
    most = task.steps
    if duration is not None:
        check_times(duration, task.period)
        most = min(most, max(1, round(float(duration) / task.period)))
    if most == np.inf:
        raise ArgumentError("record: episodes of this task have no end; give duration=")
    return _record(Episodes(task, num_envs), policy, int(seed), int(most))


def _record(episodes: Episodes, policy: Callable[[np.ndarray], Any], seed: int, most: int) -> RecordedEpisodes:
    """Episodes from their start, of at most `most` steps."""
    task, n, batch = episodes.task, episodes.n, episodes.batch
    episodes.generators = [np.random.default_rng(seed + i) for i in range(n)]
    episodes.start()
    running, terminated, steps = np.ones(n, bool), np.zeros(n, bool), np.zeros(n, int)
    shape = n, task.drive.size
    states = [tuple(x.copy() for x in (batch.q, batch.v, batch.force))]
    actions, rewards = [], []
    while running.any() and len(actions) < most:
        action = read_actions(policy(episodes.observe()), shape, task.drive.names, "record")
        ids = np.flatnonzero(running)
        episodes.advance(action[ids], ids)
        judged = episodes.judge(ids)
        reward = np.zeros(n)
        reward[ids], terminated[ids] = judged.reward, judged.terminated
        steps[ids] += 1
        actions.append(np.where(running[:, None], np.clip(action, -1.0, 1.0), 0.0))
        rewards.append(reward)
        states.append(tuple(x.copy() for x in (batch.q, batch.v, batch.force)))
        running[ids] = ~(judged.terminated | judged.truncated)
    q, v, force = (np.stack(x) for x in zip(*states, strict=True))
    t = task.period * np.arange(len(states))
    return RecordedEpisodes(t, q, v, np.stack(actions), np.stack(rewards), force, steps, terminated, task.scene)
