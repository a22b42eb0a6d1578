"""`view`: robots, scenes and motions in the browser.

The page of a motion: a time line, speed, ghosts, arrows of contact forces, worlds side by side.
"""

from __future__ import annotations

import threading
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..hints import with_keyword_hints
from .drawing import Drawing
from .legend import legend
from .recorded_motion import GHOST, RecordedMotion, apart, colour_recording, following, still, warn_of_missing
from .robot_page import RobotPage
from .served_page import LOCAL, DrawnGroup, ServedPage, put
from .triangles import arrow

_FRAME = 1.0 / 30.0  # s between what is sent
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_MOST_GHOSTS = 10


def aim(recording: RecordedMotion, drawing: Drawing, follow: bool) -> np.ndarray:
    """The box (2, 3) that the camera shows: around the robot if it follows it, else around the whole motion."""
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
        self._line.on_update(self._move_line)
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
            self.window.bounds = aim(self.recording, self.window.drawing, on)
            self._show(self.t)
            self.window.reset_view()

    def _move_line(self, event: Any) -> None:
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


class View:
    """A page that is served: its address, and what it shows.

    Parameters
    ----------
    window : ServedPage
        The page.
    control : RobotPage or MotionPage
        What is shown on it.

    Examples
    --------
    >>> import fourbar as fb
    >>> shown = fb.view(fb.robots.four_bar(), browser=False)  # doctest: +SKIP
    >>> shown.url  # doctest: +SKIP
    'http://localhost:8080'
    >>> shown.stop()  # doctest: +SKIP
    """

    def __init__(self, window: ServedPage, control: RobotPage | MotionPage) -> None:
        self.window, self.control = window, control

    @property
    def url(self) -> str:
        """Address of the page.

        Returns
        -------
        str
            The address, for a browser on this machine.
        """
        return self.window.url

    @property
    def q(self) -> np.ndarray:
        """Configuration of the robot, as it is posed now.

        Returns
        -------
        ndarray, shape (nq,)
            The configuration, with its loops closed.
        """
        if not isinstance(self.control, RobotPage):
            raise ArgumentError("a motion is shown: its configurations are in run.q")
        return self.control.q.copy()

    @q.setter
    def q(self, q: Any) -> None:
        if not isinstance(self.control, RobotPage):
            raise ArgumentError("a motion is shown, and its robot cannot be posed; fb.view(robot) can")
        if np.shape(q) != (self.control.robot.nq,):
            raise ArgumentError(f"q has shape {np.shape(q)}, expected ({self.control.robot.nq},)")
        self.control.set(q)

    def allow(self, name: str) -> None:
        """Allow that the page is opened under another name.

        Parameters
        ----------
        name : str
            A name (``"robot.example.org"``) or an address (``"https://robot.example.org"``).

        Returns
        -------
        None
            The page answers requests under that name from now on.

        Raises
        ------
        ArgumentError
            If it is neither.

        Examples
        --------
        >>> import fourbar as fb
        >>> shown = fb.view(fb.robots.four_bar(), browser=False)  # doctest: +SKIP
        >>> shown.allow(shown.window.server.request_share_url())  # doctest: +SKIP
        """
        self.window.guard.allow(name)

    def wait(self) -> None:
        """Wait until interrupted, by Ctrl-C: what a script does last.

        Returns
        -------
        None
            When the page is closed.

        Examples
        --------
        >>> import fourbar as fb
        >>> fb.view(fb.robots.four_bar()).wait()  # doctest: +SKIP
        """
        try:
            while True:
                time.sleep(1.0)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """Close the page.

        Returns
        -------
        None
            When nothing is served any more.

        Examples
        --------
        >>> import fourbar as fb
        >>> fb.view(fb.robots.four_bar()).stop()  # doctest: +SKIP
        """
        if isinstance(self.control, MotionPage):
            self.control.stop()
        self.window.stop()

    def __repr__(self) -> str:
        return f"<fourbar View of {self.window.drawing.robot.name!r} at {self.url}>"


def recording_of(what: Any, q: Any = None) -> RecordedMotion:
    """A robot, a scene or a motion, as it is shown."""
    if isinstance(what, RecordedMotion):
        return what
    if hasattr(what, "recording"):
        if q is not None:
            raise ArgumentError("view: q= is for a robot or a scene; a motion has its own configurations")
        return what.recording
    if hasattr(what, "terrains") and hasattr(what, "robot"):
        return still(what.robot, what.start() if q is None else q, what.terrains, what.added)
    if hasattr(what, "mechanism") and hasattr(what, "poses"):
        return still(what, q)
    raise ArgumentError(
        f"view takes a robot (fb.load), a scene (fb.Scene) or a motion (fb.simulate, fb.rollout); got {what!r:.80}"
    )


@with_keyword_hints
def view(
    what: Any,
    q: Any = None,
    *,
    host: str = LOCAL,
    port: int = 8080,
    browser: bool = True,
    spread: float = 0.0,
    allow: Sequence[str] = (),
    colour: str = "shapes",
    follow: bool | str | None = None,
) -> View:
    """Show a robot, a scene or a motion in the browser.

    Parameters
    ----------
    what : System, Scene or Run
        A robot gets a slider per independent joint, poses to choose, and frames that can be dragged; its loops follow.
        A motion plays, with a time line; each sample of a batch is a world of its own.
    q : array_like, shape (..., nq), optional
        Where a robot stands at the start; of several configurations the first can be posed. If None neutral, and in a
        scene on its ground.
    host : str, default '127.0.0.1'
        Address that is served: this machine only. '0.0.0.0' lets others on the network look, and move things.
    port : int, default 8080
        Port of the page; the next free one if it is taken.
    browser : bool, default True
        Open the page in the browser.
    spread : float, default 0.0
        Distance (m) at which the worlds of a batch stand side by side; in one place if zero.
    allow : sequence of str, optional
        Names (``"robot.example.org"``) or addresses (``"https://robot.example.org"``) under which the page may be
        opened, besides those of this machine; for forwarded and shared pages. Scripts of other sites are refused.
    colour : {'shapes', 'clusters'}, default 'shapes'
        Colours of the shapes, or one colour for all links of a cluster, which loops tie together; other links grey.
    follow : bool or str, optional
        Whether the camera follows the base of a robot that moves freely, or the name of a body that it follows. If None
        it follows the base where the robot goes farther than ten times its size; a switch of the page changes it.

    Returns
    -------
    View
        The page: its address, the configuration, and how to stop it. A script ends with ``fb.view(robot).wait()``.

    Raises
    ------
    ImportError
        If viser is not installed: ``pip install ".[view]"``.
    ArgumentError
        If what is given cannot be shown.

    Warns
    -----
    UserWarning
        If meshes are missing: boxes are drawn instead.

    Examples
    --------
    >>> import fourbar as fb
    >>> fb.view(fb.robots.tello())  # doctest: +SKIP
    <fourbar View of 'tello' at http://localhost:8080>
    """
    recording = recording_of(what, q)
    recording = apart(recording, spread) if spread != 0.0 else recording
    recording, follows = following(colour_recording(recording, colour), follow)
    drawing = recording.drawing()
    warn_of_missing(drawing.notes)
    name = recording.robot.name
    bounds = aim(recording, drawing, recording.follows(follows))
    window = ServedPage(drawing, recording.worlds, bounds, (host, port), name, allow)
    control = MotionPage(window, recording, follows) if len(recording.t) > 1 else RobotPage(window, recording)
    shown = View(window, control)
    if browser:
        webbrowser.open(shown.url)
    return shown
