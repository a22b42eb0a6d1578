"""The page of a robot: a slider per independent joint, poses to choose, a frame to drag."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..errors import FourbarError
from .dragging import reach
from .legend import legend
from .pose_handles import Posed, PoseHandles, turn_of
from .quaternions import matrices
from .recorded_motion import RecordedMotion
from .served_page import ROOT, ServedPage

_NONE = "(none)"


class RobotPage:
    """Sliders and what they move. Callbacks come from threads of the server, one at a time."""

    def __init__(self, window: ServedPage, recording: RecordedMotion) -> None:
        self.window, self.recording = window, recording
        self.robot: Any = recording.robot
        self.posture = PoseHandles(self.robot, window.drawing.size)
        self.q = recording.q[0, 0].copy()
        self._lock = threading.RLock()
        self._quiet = False  # while sliders are moved from here
        self._sliders: list[Any] = []
        self._control: Any = None
        window.switches(legend(recording, window.drawing))
        self._poses()
        self._dragging()
        self._said = window.gui.add_markdown("")
        self._joints()
        self.show(Posed(self.q, self.posture.judged(self.q)))

    def _joints(self) -> None:
        gui = self.window.gui
        with gui.add_folder("joints"):
            for handle, x in zip(self.posture.handles, self.posture.values(self.q), strict=True):
                low, high = min(handle.lower, x), max(handle.upper, x)
                step = 10.0 ** np.floor(np.log10((high - low) / 500.0))
                slider = gui.add_slider(handle.name, min=low, max=high, step=float(step), initial_value=x)
                slider.on_update(lambda _: self._slid())
                self._sliders.append(slider)

    def _slid(self) -> None:
        with self._lock:
            if self._quiet:
                return
            posed = self.posture.moved(self.q, [float(s.value) for s in self._sliders])
            self.show(posed, sliders=bool(posed.said))

    def _poses(self) -> None:
        gui = self.window.gui
        named = ["neutral", *self.robot.configurations]
        chosen = gui.add_dropdown("pose", named, initial_value="neutral") if len(named) > 1 else None
        with gui.add_folder("pose") if chosen is None else gui.add_folder("other poses"):
            gui.add_button("neutral").on_click(lambda _: self.set(self.robot.model.neutral()))
            gui.add_button("random").on_click(lambda _: self.randomize())
        if chosen is not None:
            chosen.on_update(lambda _: self.set(self._named(str(chosen.value))))

    def _named(self, name: str) -> np.ndarray:
        return self.robot.model.neutral() if name == "neutral" else np.array(self.robot.configurations[name])

    def randomize(self) -> None:
        """Show the robot at a random configuration, or say why there is none."""
        with self._lock:
            try:
                self.set(self.robot.random())
            except FourbarError as error:
                self._said.content = f"**{error}**"

    def set(self, q: Any) -> None:
        """Show the robot at a configuration."""
        with self._lock:
            q = np.asarray(q, float)
            self.show(Posed(q, self.posture.judged(q)))

    def show(self, posed: Posed, sliders: bool = True) -> None:
        """Draw a configuration, say what is to be said of it, and move the sliders there."""
        with self._lock:
            self.q = posed.q
            self.window.place(self.recording_places())
            self._said.content = f"**{posed.said}**" if posed.said else ""
            if sliders:
                self._move_sliders()
            if self._control is not None:
                self._move_control()

    def recording_places(self) -> np.ndarray:
        """The poses of everything: the first world at q, others as they were."""
        first = self.window.drawing.places(self.q[None])
        if self.recording.worlds == 1:
            return first
        others = self.window.drawing.places(self.recording.q[0, 1:])
        return np.concatenate([first, others])

    def _move_sliders(self) -> None:
        self._quiet = True
        for slider, x in zip(self._sliders, self.posture.values(self.q), strict=True):
            slider.value = float(np.clip(x, slider.min, slider.max))
        self._quiet = False

    # Dragging a frame.

    def _dragging(self) -> None:
        names = [*self.robot.names.frames, *self.robot.names.bodies]
        frame = self.window.gui.add_dropdown("drag", [_NONE, *dict.fromkeys(names)], initial_value=_NONE)
        frame.on_update(lambda _: self._take(str(frame.value)))

    def _take(self, frame: str) -> None:
        with self._lock:
            if self._control is not None:
                self._control.remove()
                self._control = None
            self._frame = frame
            if frame == _NONE:
                return
            self._control = self.window.scene.add_transform_controls(
                f"{ROOT}/drag", scale=0.2 * self.window.drawing.size, depth_test=False
            )
            self._move_control()
            self._control.on_update(lambda _: self._dragged())  # a hand that moves meanwhile waits for the lock
            self._dragged()  # nowhere yet: so that what is needed is compiled before the hand moves

    def _move_control(self) -> None:
        T = np.asarray(self.robot.pose(self.q, self._frame))
        self._control.position, self._control.wxyz = T[:3, 3], turn_of(T)

    def _dragged(self) -> None:
        with self._lock:
            if self._control is None:
                return
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = matrices(np.array(self._control.wxyz)), self._control.position
            control, self._control = self._control, None  # it stays where the hand is
            try:
                q = reach(self.robot, self.window.drawing.size, self.q, self._frame, T)
                self.show(Posed(q, self.posture.judged(q)))
            except FourbarError as error:
                self._said.content = f"**{error}**"
            finally:
                self._control = control
