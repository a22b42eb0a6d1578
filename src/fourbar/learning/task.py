"""`Task`: what is to be learned, in a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..sim.motions.read_arguments import check_times, read_period
from ..sim.scenes.scene import Scene
from ..sim.simulations import SCENE_DT
from .actions import Action
from .layout import StateLayout
from .worlds import Worlds

Function = Callable[[Worlds], Any]


def _proprioception(worlds: Worlds) -> np.ndarray:
    return worlds.proprioception()


def _never(worlds: Worlds) -> np.ndarray:
    return np.zeros(len(worlds), bool)


def _neutral(worlds: Worlds) -> np.ndarray:
    return worlds.robot.model.neutral()


def _nothing(worlds: Worlds) -> dict[str, Any]:
    return {}


def _read_draw(name: str, how: Any) -> Function:
    """The distribution of a number over worlds: a function, or uniform between two numbers."""
    if callable(how):
        return how
    try:
        low, high = (float(x) for x in how)
    except (TypeError, ValueError, OverflowError):
        low, high = np.nan, np.nan
    if not -np.inf < low <= high < np.inf:
        raise ArgumentError(f"Task: randomize[{name!r}]={how!r}: expected (low, high), or a function of the worlds")
    return lambda worlds: worlds.random.uniform(low, high)


def _read_memory(memory: Mapping[str, Any] | None) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for name, shape in (memory or {}).items():
        try:
            shapes[name] = np.empty(shape, bool).shape
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"Task: memory[{name!r}]={shape!r}: expected a shape, such as () or (3,)") from None
    return shapes


class Task:
    """A task to be learned: a scene, what actions do, what is observed, what is rewarded, and when it ends.

    All functions take the `Worlds` that they are asked about, n of them, and return an array with a row for each.

    Parameters
    ----------
    scene : Scene
        The robot and what it may touch.
    action : Targets, Forces or Controls
        What actions do: targets of joint positions, joint forces, or controls of the model's actuators.
    reward : callable
        ``reward(worlds)``: the rewards (n) of the step that was just made.
    observe : callable, optional
        ``observe(worlds)``: the observations (n, numbers); `Worlds.proprioception` if None.
    terminated : callable, optional
        ``terminated(worlds)``: which worlds (n) have reached an end, such as a fall. Those that diverge have, too.
    reset : callable, optional
        ``reset(worlds)``: the states in which episodes begin, q (n, nq) or a pair q, v (n, nv); neutral and at rest if
        None. Random numbers come from ``worlds.random``.
    info : callable, optional
        ``info(worlds)``: a dictionary of arrays with a row for each world, which becomes part of the info of a step.
    period : float, default 0.02
        Time (s) for which an action is held, a multiple of dt.
    dt : float, default 0.002
        Length of a step of the simulation (s).
    duration : float or None, default 10.0
        Time (s) after which an episode is truncated; never if None.
    randomize : dict, optional
        Numbers that differ from world to world, drawn anew in every reset: the name of the number, and between which
        two numbers it is drawn, or a function of the worlds that draws it. There is "friction", of all contacts (n) or
        of each (n, contacts), what `System.varying` has: "trunk.mass", "knee.damping", "gravity", "servo.kp", and
        numbers of the terrain: "terrain.normal", "terrain.friction".
    memory : dict, optional
        Names and shapes of arrays that functions may keep, a row for each world, ``worlds["command"]``: zeros in every
        reset.
    lasting : dict, optional
        Names and shapes of further arrays, which resets do not change: ``{"level": ()}`` of a curriculum. They begin
        with zeros, and again where a world is reset with a seed.
    fastest : float, default 1e4
        Velocity (rad/s, m/s) above which a world counts as diverged.

    Raises
    ------
    ArgumentError
        If an argument is not what it should be.

    Examples
    --------
    >>> import fourbar as fb
    >>> import fourbar.gymnasium as fg
    >>> scene = fb.Scene(fb.robots.double_pendulum())
    >>> swing = fg.Task(scene, fg.Forces(5.0, ["elbow"]), reward=lambda worlds: -(worlds.v**2).sum(axis=1))
    >>> fg.VectorEnv(swing, 4).action_space.shape
    (4, 1)
    """

    def __init__(
        self,
        scene: Scene,
        action: Action,
        *,
        reward: Function,
        observe: Function | None = None,
        terminated: Function | None = None,
        reset: Function | None = None,
        info: Function | None = None,
        period: float = 0.02,
        dt: float = SCENE_DT,
        duration: float | None = 10.0,
        randomize: Mapping[str, Any] | None = None,
        memory: Mapping[str, Any] | None = None,
        lasting: Mapping[str, Any] | None = None,
        fastest: float = 1e4,
    ) -> None:
        if not isinstance(scene, Scene):
            raise ArgumentError(f"Task takes a scene, such as fb.Scene(robot, fb.Plane()), got {scene!r}")
        if not isinstance(action, Action):
            raise ArgumentError(f"Task: action={action!r}: expected Targets, Forces or Controls of fourbar.gymnasium")
        given = {"reward": reward, "observe": observe, "terminated": terminated, "reset": reset, "info": info}
        for name, x in given.items():
            if not callable(x) and (x is not None or name == "reward"):
                raise ArgumentError(f"Task: {name}={x!r}: expected a function of the worlds")
        check_times(period, dt)
        self.substeps = read_period(period, dt)
        self.scene, self.period, self.dt = scene, float(period), float(dt)
        self.reward, self.observe, self.terminated = reward, observe or _proprioception, terminated or _never
        self.reset, self.info = reset or _neutral, info or _nothing
        self.steps = self._read_duration(duration)
        self.randomize = {name: _read_draw(name, how) for name, how in (randomize or {}).items()}
        self.memory, self.lasting = _read_memory(memory), _read_memory(lasting)
        if both := [name for name in self.lasting if name in self.memory]:
            raise ArgumentError(f"Task: {both[0]!r} is in memory and in lasting; give it once")
        if not fastest > 0.0:
            raise ArgumentError(f"Task: fastest={fastest!r}: expected a velocity, positive")
        self.fastest = float(fastest)
        self.drive, self.layout = action.on(scene.robot), StateLayout.of(scene.robot)

    def _read_duration(self, duration: float | None) -> float:
        """After how many actions an episode is truncated."""
        if duration is None:
            return np.inf
        check_times(duration, self.period)
        return max(1, round(float(duration) / self.period))

    def __repr__(self) -> str:
        return f"<fourbar task: {self.scene!r}, {self.drive.size} actions every {self.period:g} s>"
