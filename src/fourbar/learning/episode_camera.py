"""Worlds seen while they are stepped: as pictures, or on a page in the browser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..viewer.live_page import LivePage
from ..viewer.pictures import read_size
from ..viewer.recorded_motion import RecordedMotion
from ..viewer.rendering import Renderer
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
        """What Gymnasium asks an environment about its pictures."""
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
