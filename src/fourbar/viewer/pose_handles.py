"""Posing a robot by hand: a handle per independent coordinate, with its limits; loops follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import AssemblyError, CoordinateError, SingularError
from ..tree.embedding import LoopEmbedding
from .quaternions import matrices, quaternions
from .sticks import directions

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
    """A configuration with closed loops, and what is to be said of it in a line (empty: nothing)."""

    q: np.ndarray
    said: str


def _finite(lower: float, upper: float, reach: float) -> tuple[float, float]:
    low = lower if np.isfinite(lower) else (upper - 2.0 * reach if np.isfinite(upper) else -reach)
    high = upper if np.isfinite(upper) else low + 2.0 * reach
    return float(low), float(max(high, low + 1e-6))


class PoseHandles:
    """The handles of a robot, and the configurations that they lead to."""

    def __init__(self, robot: Any, size: float) -> None:
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
        if not isinstance(tie, LoopEmbedding):
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

    def moved(self, q: np.ndarray, values: Sequence[float]) -> Posed:
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
        return Posed(q, self.judged(q))

    def judged(self, q: np.ndarray) -> str:
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
        for h, x in zip(self.handles, values.tolist(), strict=True):
            if h.angle is None:
                q[h.coordinate] = x
            else:
                angles.setdefault(h.coordinate, [0.0, 0.0, 0.0])[h.angle] = x
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
