"""`EpisodeCamera`: pictures of a world while it is stepped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..viewer.recorded_motion import RecordedMotion
from ..viewer.rendering import Renderer


class EpisodeCamera:
    """A camera that was aimed at a first configuration (nq) and follows a floating base from there."""

    def __init__(self, scene: Any, q: np.ndarray, size: tuple[int, int]) -> None:
        start = np.stack([q, q])[:, None]
        self._recording = RecordedMotion.of(
            scene.robot, np.array([0.0, 1.0]), start, terrains=tuple(scene.terrains), touching=tuple(scene.added)
        )
        self._renderer = Renderer(self._recording, size, follow=True)
        self._centre = self._renderer.centre

    def picture(self, q: np.ndarray) -> np.ndarray:
        """A picture (height, width, 3) of bytes of the world at a configuration (nq)."""
        states = np.stack([self._recording.q[0], q[None]])
        self._renderer.recording = recording = replace(self._recording, q=states)
        self._renderer.centre = self._centre + recording.base_shift(1)  # the floor is seen around the robot
        return self._renderer.picture(1)
