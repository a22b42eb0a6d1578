"""The page of a simulation that is running: states are shown as they are computed."""

from __future__ import annotations

import time
import webbrowser
from dataclasses import replace

import numpy as np

from .legend import legend
from .recorded_motion import RecordedMotion
from .served_page import LOCAL, ServedPage

_APART = 1.5  # sizes of the robot between worlds


class LivePage:
    """A page with worlds side by side, whose camera follows the base of a single one that moves freely."""

    def __init__(self, recording: RecordedMotion, port: int = 8080, browser: bool = True) -> None:
        """`recording` holds the first states twice, (2, worlds, nq)."""
        apart = _APART * recording.drawing().size if recording.worlds > 1 else 0.0
        self.recording = recording = replace(recording, spread=apart)
        drawing = recording.drawing()
        address, title = (LOCAL, port), recording.robot.name
        self.window = ServedPage(drawing, recording.worlds, recording.bounds(drawing), address, title)
        self.window.switches(legend(recording, drawing))
        self._follows = recording.worlds == 1 and recording.follows(True)
        self._due = time.monotonic()
        if browser:
            webbrowser.open(self.window.url)

    def show(self, q: np.ndarray, period: float) -> None:
        """Show configurations (worlds, nq), `period` (s) after those before, or as soon as they are there."""
        states = np.stack([self.recording.q[0], q[: self.recording.worlds]])
        now = replace(self.recording, q=states)
        self.window.place(now.places(self.window.drawing, slice(1, 2))[0])
        if self._follows:
            self.window.follow(now.base_shift(1))
        self._due = max(self._due + period, time.monotonic())
        time.sleep(max(0.0, self._due - time.monotonic()))

    def stop(self) -> None:
        """Close the page."""
        self.window.stop()
