"""The page of a robot: a slider per independent joint, poses to choose, a frame to drag.

Dragging: the configuration nearby in which a frame comes as near as it can to a place.

Posing a robot by hand: a handle per independent coordinate, with its limits; loops follow.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import AssemblyError, CoordinateError, FourbarError, SingularError
from ..functions.inverse_kinematics import Target
from ..functions.options import read_frame
from .legend import legend
from .recorded_motion import RecordedMotion, matrices, quaternions
from .served_page import ROOT, ServedPage
from .sticks import directions

if TYPE_CHECKING:
    from ..system.system import System

_TURN = np.pi  # limits of an angle that has none
_FAR = 1.0  # limits of a length that has none, in sizes of the robot
_STEP = 0.05  # of a handle's range: loops are closed that often on the way
_PASSED = 1e-6


class PoseHandle(NamedTuple):
    """The target of a slider: a coordinate of q, or an angle (0, 1, 2: roll, pitch, yaw) of the quaternion there."""

    name: str
    joint: str
    coordinate: int
    angle: int | None
    lower: float
    upper: float


@dataclass(frozen=True)
class Posed:
    """A configuration with closed loops, and a remark on it of one line, which may be empty."""

    q: np.ndarray
    said: str


def _finite(lower: float, upper: float, reach: float) -> tuple[float, float]:
    low = lower if np.isfinite(lower) else (upper - 2.0 * reach if np.isfinite(upper) else -reach)
    high = upper if np.isfinite(upper) else low + 2.0 * reach
    return float(low), float(max(high, low + 1e-6))


class PoseHandles:
    """The handles of a robot, and the configurations that they lead to."""

    def __init__(self, robot: System, size: float) -> None:
        self.robot, self.size = robot, size
        self.handles: list[PoseHandle] = []
        self.kept: list[str] = []  # joints of loops that handles move
        self.limits: list[tuple[str, int, float, float]] = []  # joint, coordinate, lower, upper
        at = 0
        for cluster in robot.model.cluster_tree.clusters:
            names = robot.names.coordinates[at : at + cluster.embedding.nq]
            self.handles += list(self._cluster(cluster, at, names))
            at += cluster.embedding.nq

    def _cluster(self, cluster: Any, at: int, names: Sequence[str]) -> Iterator[PoseHandle]:
        tie, moving = cluster.embedding, self.robot.model.cluster_tree.moving
        joints = [moving[i] for i in cluster.links]
        if cluster.is_free:
            for joint in joints:
                count = joint.joint.nq
                yield from self._joint(joint, at, names[:count])
                at, names = at + count, names[count:]
            return
        columns = [(joint, k) for joint in joints for k in range(joint.joint.nv)]
        if tie.explicit:
            for n, (column, scale) in enumerate(tie.independent):
                joint, k = columns[column]
                yield self._coordinate(joint, k, at + n, names[n], scale)
            return
        chosen = [columns[column][0].name for column, _ in tie.independent]
        first = 0
        for joint in joints:
            count = joint.joint.nq
            if joint.name in chosen:
                if chosen.count(joint.name) == joint.joint.nv:
                    self.kept.append(joint.name)
                yield from self._joint(joint, at + first, names[first : first + count])
            else:
                self._limit(joint, at + first)
            first += count

    def _joint(self, joint: Any, at: int, names: Sequence[str]) -> Iterator[PoseHandle]:
        turned = {k + n: (k, n) for k in joint.joint.quaternions for n in range(4)}
        flat = joint.joint.nq == joint.joint.nv
        for k in range(joint.joint.nq):
            if k in turned:
                start, n = turned[k]
                if n < 3:
                    label = f"{joint.name} {('roll', 'pitch', 'yaw')[n]}"
                    yield PoseHandle(label, joint.name, at + start, n, -_TURN, _TURN)
            elif flat:
                yield self._coordinate(joint, k, at + k, names[k])
            else:
                low, high = _finite(joint.lower[k], joint.upper[k], _FAR * self.size)
                yield PoseHandle(names[k], joint.name, at + k, None, low, high)

    def _coordinate(self, joint: Any, k: int, at: int, name: str, scale: float = 1.0) -> PoseHandle:
        axes = directions(joint.joint)
        turns = k < len(axes) and axes[k][1]
        low, high = sorted((joint.lower[k] / scale, joint.upper[k] / scale))
        low, high = _finite(low, high, _TURN if turns else _FAR * self.size)
        return PoseHandle(name, joint.name, at, None, low, high)

    def _limit(self, joint: Any, at: int) -> None:
        ends = zip(joint.lower, joint.upper, strict=True)
        self.limits += [(joint.name, at + k, low, high) for k, (low, high) in enumerate(ends)]

    def values(self, q: np.ndarray) -> list[float]:
        """Where the handles stand at a configuration."""
        return [
            float(q[h.coordinate]) if h.angle is None else float(_angles(q[h.coordinate : h.coordinate + 4])[h.angle])
            for h in self.handles
        ]

    def move(self, q: np.ndarray, values: Sequence[float]) -> Posed:
        """From a configuration to where the handles stand, as far as loops can be closed on the way."""
        start, end = np.array(self.values(q)), np.array(values, float)
        spans = np.array([h.upper - h.lower for h in self.handles])
        looped = bool(self.kept) or bool(self.limits)
        steps = int(np.ceil(np.abs((end - start) / spans).max(initial=0.0) / _STEP)) if looped else 1
        for k in range(1, max(1, steps) + 1):
            guess = self._set(q, start + (end - start) * (k / max(1, steps)))
            try:
                q = self.robot.assemble(guess, keep=self.kept) if looped else guess
            except AssemblyError as error:
                return Posed(q, f"loops cannot be closed any further: {error}")
        return Posed(q, self.judge(q))

    def judge(self, q: np.ndarray) -> str:
        """A message about a configuration: a toggle position, joints of loops beyond their limits."""
        try:
            self.robot.check(q)
        except SingularError as error:
            return f"toggle position: {error}"
        except (AssemblyError, CoordinateError) as error:
            return str(error)
        beyond = [name for name, k, low, high in self.limits if not low - _PASSED <= q[k] <= high + _PASSED]
        return f"beyond the limits of {', '.join(beyond)}" if beyond else ""

    def _set(self, q: np.ndarray, values: np.ndarray) -> np.ndarray:
        q, angles = q.copy(), {}
        for h, value in zip(self.handles, values.tolist(), strict=True):
            if h.angle is None:
                q[h.coordinate] = value
            else:
                angles.setdefault(h.coordinate, [0.0, 0.0, 0.0])[h.angle] = value
        for at, (roll, pitch, yaw) in angles.items():
            q[at : at + 4] = _quaternion(roll, pitch, yaw)
        return q


def _quaternion(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """The rotation about x, then about the fixed y and z."""
    (sr, cr), (sp, cp), (sy, cy) = ((np.sin(x / 2.0), np.cos(x / 2.0)) for x in (roll, pitch, yaw))
    return np.array([cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
                     cr * cp * sy - sr * sp * cy])  # fmt: skip


def _angles(quaternion: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a quaternion."""
    R = matrices(quaternion)
    pitch = float(np.arcsin(np.clip(-R[2, 0], -1.0, 1.0)))
    return float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))


def turn_of(T: np.ndarray) -> np.ndarray:
    """The quaternion (w first) of a pose."""
    return quaternions(T[:3, :3])


_ROTATION = 0.01  # of the robot's size: a metre per radian, so that places come first where both cannot be met
_STUCK = 1e-6  # change of a coordinate below which the robot did not move
_ASIDE = 0.05  # how far velocities lead in a second to a place beside (rad/s, m/s)
_BETTER = 1e-3  # by how much, of the distance, it must come nearer from there


def reach(robot: System, size: float, q: np.ndarray, frame: str, T: np.ndarray) -> np.ndarray:
    """Where inverse kinematics leads from q towards the pose T of a frame, for a robot of such a size (m).

    A free base stays where it is, unless it is what is dragged. Nothing is tried anew from elsewhere: the robot follows
    the hand, and stays where the limits or the lengths of its links end. Where it cannot begin to move, such as an arm
    that is stretched, it is tried from beside q.
    """
    target = Target(T[:3, 3], T[:3, :3], rotation_weight=_ROTATION * size)
    still = _still(robot, frame)

    def search(start: np.ndarray) -> Any:
        return robot.inverse_kinematics({frame: target}, start, restarts=0, held=still)

    solution = search(q)
    if solution.converged or np.abs(solution.q - q).max() > _STUCK:
        return solution.q
    other = search(_beside(robot, q, still))
    return other.q if other.distance[frame] < (1.0 - _BETTER) * solution.distance[frame] else solution.q


def _beside(robot: System, q: np.ndarray, still: list[str]) -> np.ndarray:
    """A configuration a little away from q, with loops closed, the limits kept, and some joints as they are."""
    owner = [next((x for x in still if name.startswith(f"{x}.")), "") for name in robot.names.velocities]
    v = np.where([bool(x) for x in owner], 0.0, _ASIDE * np.random.default_rng(0).choice([-1.0, 1.0], robot.nv))
    moved = np.clip(robot.integrate(q, v, 1.0), robot.limits.lower, robot.limits.upper)
    try:
        return robot.assemble(moved) if robot.mechanism.loops else moved
    except AssemblyError:
        return q


def _still(robot: System, frame: str) -> list[str]:
    """The free joints, but for that of the dragged body."""
    tree = robot.model.cluster_tree
    dragged = read_frame(tree, frame).link
    return [joint.name for i, joint in enumerate(tree.moving) if joint.joint.nv == 6 and i != dragged]


_NONE = "(none)"


class RobotPage:
    """Sliders and the joints that they move. Callbacks come from threads of the server, one at a time."""

    def __init__(self, window: ServedPage, recording: RecordedMotion) -> None:
        self.window, self.recording = window, recording
        self.robot = recording.robot
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
        self.show(Posed(self.q, self.posture.judge(self.q)))

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
            posed = self.posture.move(self.q, [float(s.value) for s in self._sliders])
            self.show(posed, sliders=bool(posed.said))

    def _poses(self) -> None:
        gui = self.window.gui
        named = ["neutral", *self.robot.configurations]
        chosen = gui.add_dropdown("pose", named, initial_value="neutral") if len(named) > 1 else None
        with gui.add_folder("pose") if chosen is None else gui.add_folder("other poses"):
            gui.add_button("neutral").on_click(lambda _: self.set(self.robot.model.neutral()))
            gui.add_button("random").on_click(lambda _: self.randomize())
        if chosen is not None:
            chosen.on_update(lambda _: self.set(self._named_configuration(str(chosen.value))))

    def _named_configuration(self, name: str) -> np.ndarray:
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
            self.show(Posed(q, self.posture.judge(q)))

    def show(self, posed: Posed, sliders: bool = True) -> None:
        """Draw a configuration, show its remark, and move the sliders there."""
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
            self._control.on_update(lambda _: self._drag())  # a hand that moves meanwhile waits for the lock
            self._drag()  # nowhere yet: so that what is needed is compiled before the hand moves

    def _move_control(self) -> None:
        T = np.asarray(self.robot.pose(self.q, self._frame))
        self._control.position, self._control.wxyz = T[:3, 3], turn_of(T)

    def _drag(self) -> None:
        with self._lock:
            if self._control is None:
                return
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = matrices(np.array(self._control.wxyz)), self._control.position
            control, self._control = self._control, None  # it stays where the hand is
            try:
                q = reach(self.robot, self.window.drawing.size, self.q, self._frame, T)
                self.show(Posed(q, self.posture.judge(q)))
            except FourbarError as error:
                self._said.content = f"**{error}**"
            finally:
                self._control = control
