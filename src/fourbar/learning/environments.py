"""`VectorEnv` and `Env`: the worlds of a task, as Gymnasium knows environments; and `record`, episodes under a policy.

Worlds seen while they are stepped: as pictures, or on a page in the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, require_library
from ..sim.motions.read_arguments import check_times
from ..sim.motions.results import Recorded
from ..sim.scenes.scene import Scene
from ..viewer.recorded_motion import RecordedMotion
from ..viewer.rendering import Renderer, read_size
from ..viewer.served_page import LivePage
from .actions import read_actions
from .episodes import Episodes, Judgement
from .task import Task

RENDER_MODES = ("rgb_array", "human")


def first_states(scene: Any, q: np.ndarray) -> RecordedMotion:
    """A motion of worlds that stay at configurations (worlds, nq)."""
    more = {"terrains": tuple(scene.terrains), "touching": tuple(scene.added)}
    return RecordedMotion.of(scene.robot, np.array([0.0, 1.0]), np.stack([q, q]), **more)


class EpisodeCamera:
    """A camera that was aimed at a first configuration (nq) and follows a floating base from there."""

    def __init__(self, scene: Any, q: np.ndarray, size: tuple[int, int]) -> None:
        self._recording = first_states(scene, q[None])
        self._renderer = Renderer(self._recording, size, follow=True)
        self._centre = self._renderer.centre

    def picture(self, q: np.ndarray) -> np.ndarray:
        """A picture (height, width, 3) of bytes of the world at a configuration (nq)."""
        states = np.stack([self._recording.q[0], q[None]])
        self._renderer.recording = recording = replace(self._recording, q=states)
        self._renderer.centre = self._centre + recording.base_shift(1)  # the floor is seen around the robot
        return self._renderer.picture(1)


class EpisodeDisplay:
    """The worlds of an environment as its render mode asks for them: "rgb_array", "human" or None, not at all."""

    def __init__(self, task: Task, mode: Any, size: Any, name: str) -> None:
        if mode is not None and mode not in RENDER_MODES:
            known = " or ".join(map(repr, RENDER_MODES))
            raise ArgumentError(f"{name}: render_mode={mode!r}: expected None, {known}")
        self._task, self._size = task, read_size(size)
        self.mode: str | None = mode
        self._camera: EpisodeCamera | None = None
        self._page: LivePage | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that Gymnasium asks of an environment: render modes and pictures per second."""
        return {"render_modes": [*RENDER_MODES], "render_fps": round(1.0 / self._task.period)}

    def show(self, q: np.ndarray, period: float = 0.0) -> None:
        """With "human", show configurations (worlds, nq) on a page, which is opened now if it is not yet, for a period.

        Of more than 64 worlds the first are shown.
        """
        if self.mode == "human":
            if self._page is None:
                self._page = LivePage(first_states(self._task.scene, q))
            self._page.show(q, period)

    def pictures(self, q: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """With "rgb_array", a picture (height, width, 3) of bytes of each of several configurations (worlds, nq)."""
        if self.mode != "rgb_array":
            return None
        if self._camera is None:
            self._camera = EpisodeCamera(self._task.scene, q[0], self._size)
        camera = self._camera
        return tuple(camera.picture(x) for x in q)

    def close(self) -> None:
        """Close the page, if there is one."""
        if self._page is not None:
            self._page.stop()
            self._page = None


gym: Any = require_library("gymnasium", "gymnasium")
AutoresetMode: Any = gym.vector.AutoresetMode
ResetNeeded: Any = gym.error.ResetNeeded

_MASK = "reset_mask"


def _check_task(task: Any) -> Task:
    if not isinstance(task, Task):
        raise ArgumentError(f"expected a fourbar.gymnasium.Task, got {task!r}")
    return task


def _box(low: float, high: float, size: int) -> Any:
    return gym.spaces.Box(low, high, (size,), np.float64)


def _spread(info: Mapping[str, np.ndarray], ids: np.ndarray, n: int) -> dict[str, Any]:
    """Arrays of some worlds as arrays of all, each with a mask of the worlds that have entries."""
    arrays: dict[str, Any] = {}
    for name, x in info.items():
        arrays[name], arrays[f"_{name}"] = np.zeros((n, *x.shape[1:]), x.dtype), np.zeros(n, bool)
        arrays[name][ids], arrays[f"_{name}"][ids] = x, True
    return arrays


class VectorEnv(gym.vector.VectorEnv):
    """Many worlds of a task, stepped together: an environment of Gymnasium.

    The numbers of a world depend on its seed and its actions alone: not on how many worlds there are, nor on threads.
    ``info`` of a step says which worlds ``diverged``, and the largest ``residual`` of contacts in it.

    Parameters
    ----------
    task : Task
        What is to be learned.
    num_envs : int
        How many worlds there are.
    render_mode : {'rgb_array', 'human'}, optional
        With ``"rgb_array"``, `render` returns a picture of each world; with ``"human"``, a page in the browser shows
        them side by side after every reset and step, in real time (extra `view`).
    size : tuple of int, default (480, 320)
        Width and height of pictures, in pixels.
    autoreset_mode : AutoresetMode or str, default "NextStep"
        When a world whose episode has ended begins anew: in the next step, whose action it ignores ("NextStep"); in the
        same step, whose last observation is ``info["final_obs"]`` ("SameStep"); or when
        ``reset(options={"reset_mask": mask})`` is called ("Disabled").

    Raises
    ------
    ArgumentError
        If an argument, or what a function of the task returns, is not what it should be.

    Examples
    --------
    >>> import numpy as np
    >>> import fourbar as fb
    >>> import fourbar.gymnasium as fg
    >>> task = fg.Task(
    ...     fb.Scene(fb.robots.double_pendulum()),
    ...     fg.Forces(5.0),
    ...     reward=lambda worlds: np.cos(worlds.q).sum(axis=1),
    ...     reset=lambda worlds: worlds.random.uniform(-0.1, 0.1, (2,)),
    ... )
    >>> envs = fg.VectorEnv(task, 3)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations.shape
    (3, 6)
    >>> observations, rewards, terminated, truncated, infos = envs.step(np.zeros((3, 2)))
    >>> rewards.shape, bool(terminated.any())
    ((3,), False)
    """

    def __init__(
        self, task: Task, num_envs: int, *, render_mode: str | None = None, size: tuple[int, int] = (480, 320),
        autoreset_mode: Any = "NextStep",
    ) -> None:  # fmt: skip
        super().__init__()
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise ArgumentError(f"VectorEnv: autoreset_mode={autoreset_mode!r}: expected one of {modes}") from None
        self._display = EpisodeDisplay(_check_task(task), render_mode, size, "VectorEnv")
        self.render_mode = render_mode
        self.metadata = {**self._display.metadata, "autoreset_mode": self._mode}
        self.task, self._episodes = task, Episodes(task, num_envs)
        self.num_envs = self._episodes.n
        self.single_observation_space = _box(-np.inf, np.inf, self._episodes.width)
        self.single_action_space = _box(-1.0, 1.0, task.drive.size)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self._seeds: list[int] | None = None
        self._ended = np.zeros(self.num_envs, bool)
        self._observations: np.ndarray | None = None

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The random number generator of each world."""
        self._sow(None, np.arange(self.num_envs))
        return tuple(self._episodes.generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of each world."""
        self._sow(None, np.arange(self.num_envs))
        return tuple(self._seeds or ())

    def _sow(self, seed: int | Sequence[int | None] | None, ids: np.ndarray) -> None:
        """Seed worlds: world i with seed + i, or with the i-th of several; those without keep what they have."""
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ArgumentError(f"reset: {len(seeds)} seeds were given for {self.num_envs} worlds")
        fresh, chosen = self._seeds is None, set(ids.tolist())
        known = self._seeds = self._seeds or [0] * self.num_envs
        generators = {}
        for i, own in enumerate(seeds):
            if fresh or (own is not None and i in chosen):
                generators[i], known[i] = gym.utils.seeding.np_random(own)
        self._episodes.seed(generators)

    def _selected_worlds(self, options: dict[str, Any] | None) -> np.ndarray:
        """The numbers of the worlds to reset."""
        mask = None if options is None else options.get(_MASK)
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise ArgumentError(
                f"reset: options[{_MASK!r}]={mask!r}: expected an array of {self.num_envs} booleans, at least one True"
            )
        if self._observations is None and not mask.all():
            raise ResetNeeded("reset: reset all worlds once before resetting some of them")
        return np.flatnonzero(mask)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes in all worlds, or in some.

        Parameters
        ----------
        seed : int or list, optional
            World i gets seed + i, or the i-th of a list; where None, worlds go on with the random numbers they have.
        options : dict, optional
            ``"reset_mask"``, an array of booleans: which worlds to reset. The rest is ``worlds.options`` of the task's
            functions.

        Returns
        -------
        tuple of ndarray and dict
            Observations of all worlds, and an empty dictionary.
        """
        ids = self._selected_worlds(options)
        self._sow(seed, ids)
        rest = {name: x for name, x in (options or {}).items() if name != _MASK}
        observations = self._begin(ids, rest)
        if self._observations is None or len(ids) == self.num_envs:
            self._observations = observations
        else:
            self._observations[ids] = observations
        self._ended[ids] = False
        self._display.show(self._episodes.batch.q)
        return self._observations.copy(), {}

    def _begin(self, ids: np.ndarray, options: Mapping[str, Any] | None = None) -> np.ndarray:
        """New episodes of some worlds, and what is observed of them."""
        which = None if len(ids) == self.num_envs else ids
        self._episodes.start(which, options)
        return self._episodes.observe(which)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Hold actions for a period.

        Parameters
        ----------
        actions : array_like, shape (num_envs, size)
            Within -1 and 1, to which they are clipped.

        Returns
        -------
        tuple
            Observations, rewards, terminated, truncated (a row for each world) and info.
        """
        if self._observations is None:
            raise ResetNeeded("step: call reset first")
        actions = read_actions(actions, self.action_space.shape, self.task.drive.names)
        if self._mode is AutoresetMode.DISABLED and self._ended.any():
            worlds = ", ".join(map(str, np.flatnonzero(self._ended)[:6]))
            call = f"reset(options={{{_MASK!r}: terminated | truncated}})"
            raise ResetNeeded(f"step: the episodes of worlds {worlds} have ended; call {call}")
        some = self._mode is AutoresetMode.NEXT_STEP and self._ended.any()
        results = self._next_step(actions) if some else self._whole_step(actions)
        self._display.show(self._episodes.batch.q, self.task.period)
        return results

    def _whole_step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """A step in which all worlds move."""
        self._episodes.advance(actions)
        judged = self._episodes.judge()
        self._observations, info = (
            self._episodes.observe(),
            _spread(judged.info, np.arange(self.num_envs), self.num_envs),
        )
        self._ended = judged.terminated | judged.truncated
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            info = self._same_step(judged)
        return self._observations.copy(), judged.reward, judged.terminated, judged.truncated, info

    def _next_step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """A step in which the worlds that have ended begin anew, and the others move."""
        n, moving = self.num_envs, np.flatnonzero(~self._ended)
        reward, terminated, truncated, info = np.zeros(n), np.zeros(n, bool), np.zeros(n, bool), {}
        self._episodes.start(np.flatnonzero(self._ended))
        if len(moving):
            self._episodes.advance(actions[moving], moving)
            judged = self._episodes.judge(moving)
            reward[moving], terminated[moving], truncated[moving] = judged[:3]
            info = _spread(judged.info, moving, n)
        self._observations, self._ended = self._episodes.observe(), terminated | truncated
        return self._observations.copy(), reward, terminated, truncated, info

    def _same_step(self, judged: Judgement) -> dict[str, Any]:
        """Begin anew where episodes have ended; the info of the step, with the last observations."""
        n, ended, on = self.num_envs, np.flatnonzero(self._ended), np.flatnonzero(~self._ended)
        assert self._observations is not None
        last = np.full(n, None, object)
        for i in ended:
            last[i] = self._observations[i].copy()
        info = {"final_obs": last, "_final_obs": self._ended.copy()}
        info["final_info"] = _spread({name: x[ended] for name, x in judged.info.items()}, ended, n)
        info["_final_info"] = self._ended.copy()
        self._observations[ended] = self._begin(ended)
        self._ended = np.zeros(n, bool)
        return info | (_spread({name: x[on] for name, x in judged.info.items()}, on, n) if len(on) else {})

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Draw the worlds as they are now; cameras follow floating bases.

        Returns
        -------
        tuple of ndarray, shape (height, width, 3), or None
            A picture of bytes for each world; None without ``render_mode="rgb_array"``.
        """
        if self.render_mode is not None and self._observations is None:
            raise ResetNeeded("render: call reset first")
        self._display.show(self._episodes.batch.q)
        return self._display.pictures(self._episodes.batch.q)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the page that shows the worlds; `close` calls this.

        Parameters
        ----------
        **kwargs : object
            Not used.

        Returns
        -------
        None
            When nothing is served any more.
        """
        self._display.close()


class Env(gym.Env):
    """One world of a task: an environment of Gymnasium.

    With a seed it has the same numbers as a world of a `VectorEnv` with that seed.

    Parameters
    ----------
    task : Task
        What is to be learned.
    render_mode : {'rgb_array', 'human'}, optional
        With ``"rgb_array"``, `render` returns pictures; with ``"human"``, a page in the browser shows the world after
        every reset and step, in real time (extra `view`).
    size : tuple of int, default (480, 320)
        Width and height of pictures, in pixels.

    Raises
    ------
    ArgumentError
        If an argument, or what a function of the task returns, is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> import fourbar.gymnasium as fg
    >>> scene = fb.Scene(fb.robots.double_pendulum())
    >>> env = fg.Env(fg.Task(scene, fg.Forces(5.0), reward=lambda worlds: -worlds.v[:, 0]))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step([1.0, 0.0])
    >>> observation.shape, info["diverged"]
    ((6,), False)
    """

    def __init__(self, task: Task, *, render_mode: str | None = None, size: tuple[int, int] = (480, 320)) -> None:
        self._display = EpisodeDisplay(_check_task(task), render_mode, size, "Env")
        self.metadata, self.render_mode = self._display.metadata, render_mode
        self.task, self._episodes = task, Episodes(task, 1)
        self.observation_space = _box(-np.inf, np.inf, self._episodes.width)
        self.action_space = _box(-1.0, 1.0, task.drive.size)
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new episode.

        Parameters
        ----------
        seed : int, optional
            Of the random numbers; they go on where None.
        options : dict, optional
            What ``worlds.options`` is for the task's functions.

        Returns
        -------
        tuple of ndarray and dict
            The observation, and an empty dictionary.
        """
        super().reset(seed=seed)
        if seed is not None or not self._begun:
            self._episodes.seed({0: self.np_random})
        self._episodes.start(None, options)
        self._begun = True
        self._display.show(self._episodes.batch.q)
        return self._episodes.observe()[0], {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold an action for a period.

        Parameters
        ----------
        action : array_like, shape (size,)
            Within -1 and 1, to which it is clipped.

        Returns
        -------
        tuple
            Observation, reward, terminated, truncated and info.
        """
        if not self._begun:
            raise ResetNeeded("step: call reset first")
        action = read_actions(action, self.action_space.shape, self.task.drive.names)
        self._episodes.advance(action[None])
        self._display.show(self._episodes.batch.q, self.task.period)
        reward, terminated, truncated, found = self._episodes.judge()
        info = {name: x[0].item() if x.ndim == 1 else x[0] for name, x in found.items()}
        return self._episodes.observe()[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> np.ndarray | None:
        """Draw the world as it is now; the camera follows a floating base.

        Returns
        -------
        ndarray, shape (height, width, 3), or None
            A picture of bytes; None without ``render_mode="rgb_array"``.
        """
        if self.render_mode is not None and not self._begun:
            raise ResetNeeded("render: call reset first")
        self._display.show(self._episodes.batch.q)
        pictures = self._display.pictures(self._episodes.batch.q)
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        """Close the page that shows the world.

        Returns
        -------
        None
            When nothing is served any more.
        """
        self._display.close()


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
    episodes.seed({i: np.random.default_rng(seed + i) for i in range(n)})
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
