"""`view`: robots, scenes and motions in the browser."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..hints import hinted
from .motion_page import MotionPage, aimed_at
from .recorded_motion import RecordedMotion, apart, coloured, following, still, warn_of_missing
from .robot_page import RobotPage
from .served_page import LOCAL, ServedPage


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


@hinted
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
    recording, follows = following(coloured(recording, colour), follow)
    drawing = recording.drawing()
    warn_of_missing(drawing.notes)
    name = recording.robot.name
    bounds = aimed_at(recording, drawing, recording.follows(follows))
    window = ServedPage(drawing, recording.worlds, bounds, (host, port), name, allow)
    control = MotionPage(window, recording, follows) if len(recording.t) > 1 else RobotPage(window, recording)
    shown = View(window, control)
    if browser:
        webbrowser.open(shown.url)
    return shown
