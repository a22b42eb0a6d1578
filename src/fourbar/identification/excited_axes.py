"""The velocities of a robot that an exciting trajectory moves, with their limits; and what is held still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..joints.euclidean import is_flat
from ..mechanism.inertial_parameters import KINDS, RIGID
from ..mechanism.mechanism import PlacedJoint
from ..once import cached_property
from ..system.system import System
from ..tree.clusters import Cluster
from ..tree.embedding import LoopEmbedding
from .random_states import has_implicit_loops, random_configurations

_UNLIMITED = np.pi  # range of a coordinate without limits


@dataclass(frozen=True)
class ExcitedAxis:
    """An independent velocity that moves: its number, that of its coordinate, its middle, and limits around it."""

    joint: str
    v: int
    q: int
    offset: float
    reach: float
    velocity: float
    force: float


def _chosen(robot: System, cluster: Cluster) -> list[tuple[PlacedJoint, int, float]]:
    """The joints of the independent velocities of a cluster: placed joint, which of its velocities, and its scale."""
    connections = [robot.model.cluster_tree.moving[i] for i in cluster.links]
    every = [(c, k) for c in connections for k in range(c.joint.nv)]
    if isinstance(cluster.embedding, LoopEmbedding):
        return [(*every[j], scale) for j, scale in cluster.embedding.independent]
    return [(c, k, 1.0) for c, k in every]


def _offset(robot: System, cluster: Cluster, c: PlacedJoint, k: int, lower: float, upper: float) -> float:
    """The middle between limits; where loops are closed implicitly, the configuration in which they were closed."""
    tie = cluster.embedding
    if isinstance(tie, LoopEmbedding) and not tie.explicit:
        connections = [robot.model.cluster_tree.moving[i] for i in cluster.links]
        first = sum(x.joint.nq for x in connections[: connections.index(c)])
        return float(tie.closed[first + k]) if tie.closed is not None else 0.0
    middle = 0.5 * (lower + upper) if np.isfinite(lower) and np.isfinite(upper) else 0.0
    return float(np.clip(middle, lower, upper))


def _axis(robot: System, cluster: Cluster, c: PlacedJoint, k: int, scale: float, v: int, q: int) -> ExcitedAxis:
    lower, upper, size = c.lower[k], c.upper[k], abs(scale)
    offset = _offset(robot, cluster, c, k, lower, upper)
    fastest = c.max_velocity[k] if c.max_velocity else np.inf
    strongest = c.max_force[k] if c.max_force else np.inf
    reach = min(_UNLIMITED, upper - offset, offset - lower) / size
    return ExcitedAxis(c.name, v, q, offset / scale, reach, fastest / size, strongest * size)


@dataclass(frozen=True)
class Axes:
    """The axes that move, and the names of the joints that are held: free ones whose coordinates are not additive."""

    robot: System
    moved: tuple[ExcitedAxis, ...]
    held: tuple[str, ...]
    implicit: bool

    @cached_property
    def velocities(self) -> list[int]:
        """Numbers of the velocities that move."""
        return [axis.v for axis in self.moved]

    @cached_property
    def offset(self) -> np.ndarray:
        """The coordinates (m) in the middle."""
        return np.array([axis.offset for axis in self.moved])

    @cached_property
    def _still(self) -> np.ndarray:
        """Mask of the robot's coordinates that belong to held joints."""
        tree, found = self.robot.model.cluster_tree, []
        for cluster in tree.clusters:
            own = [tree.moving[i] for i in cluster.links]
            if cluster.is_free:
                found += [c.name in self.held for c in own for _ in range(c.joint.nq)]
            else:
                found += [own[0].name in self.held] * cluster.embedding.nq
        return np.array(found, bool)

    def wide(self, x: np.ndarray) -> np.ndarray:
        """Velocities or accelerations (n, nv) of the robot from those that move (n, m); others are zero."""
        found = np.zeros((len(x), self.robot.nv))
        found[:, self.velocities] = x
        return found

    def configurations(self, y: np.ndarray) -> np.ndarray:
        """q (n, nq) from the moving coordinates (n, m); held joints are neutral, loops are closed step by step."""
        if not self.implicit:
            q = np.tile(self.robot.model.neutral(), (len(y), 1))
            q[:, [axis.q for axis in self.moved]] = y
            return q
        q, now, found = self.robot.model.neutral(), self.offset, []
        approach = np.linspace(now, y[0], 20)[1:]
        for number, target in enumerate([*approach, *y[1:]]):
            q = self.robot.integrate(q, self.wide((target - now)[None])[0], 1.0)
            now = target
            if number >= len(approach) - 1:
                found.append(q)
        return np.array(found)

    def states(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random states q, v, a in which held joints stay fixed."""
        q, (v, a) = random_configurations(self.robot, rng, n), rng.normal(size=(2, n, len(self.moved)))
        q[:, self._still] = self.robot.model.neutral()[self._still]
        return q, self.wide(v), self.wide(a)


def _place(robot: System, cluster: Cluster, c: PlacedJoint) -> int:
    """The place of a joint's first coordinate among those of a cluster without loops."""
    own = [robot.model.cluster_tree.moving[i] for i in cluster.links]
    return sum(x.joint.nq for x in own[: own.index(c)])


def find_axes(robot: System) -> Axes:
    """The joints of a robot that move, and those that are held."""
    moved: list[ExcitedAxis] = []
    held: list[str] = []
    q = v = 0
    for cluster in robot.model.cluster_tree.clusters:
        for n, (c, k, scale) in enumerate(_chosen(robot, cluster)):
            if is_flat(c.joint):
                at = _place(robot, cluster, c) + k if cluster.is_free else n
                moved.append(_axis(robot, cluster, c, k, scale, v + n, q + at))
            elif cluster.is_free:
                held.append(c.name)
            else:
                raise ArgumentError(
                    f"joint {c.name!r} is a {type(c.joint).__name__}, whose coordinates are not additive, and its "
                    "velocities are independent in a loop: a Fourier series cannot move it. Choose others with "
                    "with_independent(...), or pass your own motion to identify(...)"
                )
        q, v = q + cluster.embedding.nq, v + cluster.embedding.nv
    if not moved:
        named = ", ".join(map(repr, dict.fromkeys(held)))
        raise ArgumentError(
            f"nothing is left to move: joints {named} are held, since their coordinates are not additive"
        )
    stuck = [axis.joint for axis in moved if not axis.reach > 0.0]
    if stuck:
        raise ArgumentError(f"joints {', '.join(map(repr, stuck))} have no room to move between their limits")
    return Axes(robot, tuple(moved), tuple(dict.fromkeys(held)), has_implicit_loops(robot))


class Allowed:
    """Whether a motion satisfies the limits that scaling alone does not: of joints in loops, and of forces (nv)."""

    def __init__(self, robot: System, force: np.ndarray) -> None:
        self.robot, self.force = robot, force
        cluster_tree = robot.model.cluster_tree
        self._tied = any(not cluster.is_free for cluster in cluster_tree.clusters)
        self._lower, self._upper = (
            np.concatenate([getattr(c, name) for c in cluster_tree.moving]) for name in ("lower", "upper")
        )
        self._fastest = np.concatenate([c.max_velocity or (np.inf,) * c.joint.nv for c in cluster_tree.moving])
        self._kinds = tuple(kind for kind in KINDS if kind not in RIGID and np.any(robot.inertial_parameters(kind)))
        self._friction = robot.inertial_parameters(self._kinds) if self._kinds else np.zeros(0)

    def forces(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Forces (n, nv) of the robot with its current parameters, including friction and springs of its joints."""
        tau = self.robot.inverse_dynamics(q, v, a)
        if self._kinds:
            tau = tau + self.robot.regressor(q, v, a, columns=self._kinds) @ self._friction
        return tau

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> bool:
        if np.any(np.isfinite(self.force)) and np.any(np.abs(self.forces(q, v, a)) > self.force):
            return False
        if not self._tied:
            return True
        full, rates = self.robot.expand(q), self.robot.expand_velocity(q, v)
        inside = np.all((full >= self._lower) & (full <= self._upper))
        return bool(inside and np.all(np.abs(rates) <= self._fastest))

    def check_middle(self, q: np.ndarray, moved: tuple[ExcitedAxis, ...]) -> None:
        """Refuse force limits that cannot even hold the robot in the middle of its range."""
        still = np.zeros((1, self.robot.nv))
        needed = np.abs(self.forces(q, still, still))[0]
        for axis in moved:
            if needed[axis.v] > self.force[axis.v]:
                raise ArgumentError(
                    f"joint {axis.joint!r} needs a force of {needed[axis.v]:.4g} to stay in the middle of its range, "
                    f"but only {self.force[axis.v]:.4g} is allowed; raise force=, or the robot's max_force"
                )


def read_limit(what: str, value: Any, own: np.ndarray, n: int) -> np.ndarray:
    """A limit for each velocity (n): one number, n of them, or None for the limits of the robot's joints."""
    if value is None:
        return own
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        array = np.full(n + 1, np.nan)
    if array.shape not in ((), (n,)) or not np.all(array > 0.0):
        raise ArgumentError(f"{what}={value!r}: expected a positive number, or {n} of them, one per velocity")
    return np.broadcast_to(array, (n,))
