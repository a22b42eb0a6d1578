"""The page of a motion: a time line, speed, ghosts, arrows of contact forces, worlds side by side."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np

from .drawing import Drawing
from .legend import legend
from .recorded_motion import GHOST, RecordedMotion
from .served_page import DrawnGroup, ServedPage, put
from .triangles import arrow

_FRAME = 1.0 / 30.0  # s between what is sent
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_MOST_GHOSTS = 10


def aimed_at(recording: RecordedMotion, drawing: Drawing, follow: bool) -> np.ndarray:
    """The box (2, 3) that is looked at: the robot if the camera follows it, else where it goes."""
    return drawing.bounds if follow else recording.bounds(drawing)


class MotionPage:
    """A motion that plays. A thread of its own moves the time on."""

    def __init__(self, window: ServedPage, recording: RecordedMotion, follow: bool | None = None) -> None:
        self.window, self.recording = window, recording
        self._lock, self._stopped = threading.RLock(), threading.Event()
        self.t = 0.0
        self._ghosts: list[Any] = []
        self._forces = self._arrows()
        gui = window.gui
        with gui.add_folder("time"):
            self._line = gui.add_slider(
                "t [s]", 0.0, max(recording.duration, 1e-6), recording.duration / 1000 or 1e-3, 0.0
            )
            self.playing = gui.add_checkbox("play", True)
            self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")
            self._count = gui.add_slider("ghosts", 0, _MOST_GHOSTS, 1, 0)
        self._line.on_update(self._moved)
        self._count.on_update(lambda _: self._show_ghosts(int(self._count.value)))
        window.switches(legend(recording, window.drawing), () if self._forces is None else ("forces",))
        self.follows = recording.follows(follow)
        if recording.base is not None:
            window.switch(f"follow {recording.base_title}", self.follows, self.follow)
        if recording.worlds > 1:
            size = window.drawing.size
            far = max(2.0 * size, recording.spread)
            spread = gui.add_slider("distance of worlds [m]", 0.0, far, 0.01 * size, recording.spread)
            spread.on_update(lambda _: self._spread(float(spread.value)))
        self.seek(0.0)
        self._thread = threading.Thread(target=self._run, name="fourbar player", daemon=True)
        self._thread.start()

    def _arrows(self) -> Any:
        count = self.recording.forces.shape[1] * self.recording.forces.shape[2] if self.recording.forces.size else 0
        if not count:
            return None
        handle = self.window.add("forces", arrow(1.0, 0.05), [self.recording.force_colour] * count, True)
        self.window.groups.append(DrawnGroup(handle, "forces", ()))
        return handle

    def follow(self, on: bool) -> None:
        """Let the camera follow the base, or look at the whole motion."""
        with self._lock:
            self.follows = on
            self.window.bounds = aimed_at(self.recording, self.window.drawing, on)
            self._show(self.t)
            self.window.reset_view()

    def _moved(self, event: Any) -> None:
        if event.client is not None:  # moved by hand, not by this thread
            t = float(self._line.value)
            with self._lock:
                self.playing.value = False
                self._show(t)

    def seek(self, t: float) -> None:
        """Show the state nearest to a time after the start, and move the time line there."""
        self._show(t)
        self._line.value = self.t

    def _show(self, t: float) -> None:
        with self._lock:
            r = self.recording
            self.t = float(np.clip(t, 0.0, r.duration))
            k = r.at(self.t)
            self.window.place(r.places(self.window.drawing, slice(k, k + 1))[0])
            self.window.follow(r.base_shift(k) if self.follows else np.zeros(3))
            if self._forces is not None:
                poses, length = r.arrows(self.window.drawing.size, slice(k, k + 1))
                thick = 0.2 * self.window.drawing.size * (length > 0.0) + 1e-6
                scales = np.stack([thick, thick, np.maximum(length, 1e-6)], axis=-1)
                put(self._forces, poses.reshape(-1, 4, 4), scales.reshape(-1, 3))

    def _spread(self, distance: float) -> None:
        with self._lock:
            self.recording = replace(self.recording, spread=distance)
            self._show(self.t)
            self._show_ghosts(len(self._ghosts) and int(self._count.value))

    def _show_ghosts(self, count: int) -> None:
        """Translucent copies of all worlds at evenly spaced times of the motion."""
        with self._lock:
            for handle in self._ghosts:
                handle.remove()
            self._ghosts = []
            r, drawing = self.recording, self.window.drawing
            if not count:
                return
            which = np.unique(np.linspace(0, len(r.t) - 1, count).round().astype(int))
            places = r.places(drawing, which).reshape(-1, drawing.world + 1, 4, 4)
            for n, group in enumerate(g for g in self.window.groups if g.layer == "shapes"):
                T = np.concatenate([places[:, x.place] @ x.placement for x in group.items])
                colours = [(*x.colour[:3], GHOST) for x in group.items for _ in range(len(places))]
                handle = self.window.add(f"ghosts/{n}", group.items[0].solid, colours, True)
                put(handle, T)
                self._ghosts.append(handle)

    def _run(self) -> None:
        last = time.monotonic()
        while not self._stopped.wait(_FRAME):
            with self._lock:  # or it would show its own time after somebody has stopped it and moved the line
                now = time.monotonic()
                if self.playing.value and self.recording.duration > 0.0:
                    t = self.t + (now - last) * float(self._speed.value)
                    self.seek(t % self.recording.duration if t > self.recording.duration else t)
                last = now

    def stop(self) -> None:
        """Stop playing."""
        self._stopped.set()
        self._thread.join(timeout=2.0)
