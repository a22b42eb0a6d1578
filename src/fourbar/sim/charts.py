"""Which joints say the velocities of loops: others are asked where those that were chosen no longer tell.

A loop moves on a smooth surface as long as K = ∂φ/∂q has full rank, yet some of its joints turn back on the way, and at
that point their velocities do not determine the rest: K_d is singular, K is not. The motion is then followed in the
velocities of other joints. What the user sees stays in those of the robot: v = P E(q) w, τ_w = (P E)ᵀ τ, where E maps
the velocities w that are used to those of all joints, and P takes from these the robot's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Argument, to_array
from ..edit.coordinates import coordinates, gathered_velocity
from ..errors import ArgumentError, FourbarError
from ..joints.base import Joint
from ..joints.euclidean import FlatJoint
from ..linalg import pick, smallest
from ..mechanism.mechanism import Configuration, velocity_names
from ..system.system import System
from ..tree.clusters import Cluster
from ..tree.embedding import LoopEmbedding

_GROWN = 1.5  # how much larger than where a loop held the velocity of a joint is before the loop is looked at closely
_POOR = 0.3  # the hold σ_min(K_d) / σ_min(K), at most 1, below which other joints are then asked
_BETTER = 2.0  # and how much better these must be
_SMALL = 0.01  # beside the largest velocity of a joint: whether those below grow does not matter


def _implicit(robot: System) -> Iterator[tuple[Cluster, LoopEmbedding, slice]]:
    """The clusters with loops that are solved while moving, and where their coordinates are."""
    at = 0
    for cluster in robot.model.cluster_tree.clusters:
        tie, start = cluster.embedding, at
        at += tie.nq
        if isinstance(tie, LoopEmbedding) and not tie.explicit and tie.nv and tie.rows:
            yield cluster, tie, slice(start, at)


def _loops(robot: System, q: np.ndarray) -> Iterator[tuple[Cluster, LoopEmbedding, np.ndarray]]:
    """These clusters with K (n, rows, columns) at all samples."""
    samples = q.reshape(-1, q.shape[-1])
    for cluster, tie, own in _implicit(robot):
        yield cluster, tie, tie.units.of(tie.numbers(samples[:, own])[1])[:, list(tie.rows)]


def _hold(K: np.ndarray, dependent: tuple[int, ...]) -> np.ndarray:
    """How well the independent velocities tell the others, from 0 to 1; K (n, rows, columns)."""
    whole = smallest(K)
    return np.divide(smallest(K[..., dependent]), whole, out=np.ones_like(whole), where=whole > 0.0)


def _others(robot: System, cluster: Cluster, tie: LoopEmbedding, K: np.ndarray, poor: float) -> list[str]:
    """The velocities that tell those of all others much better; none where all is well, or none are better.

    They are those that tell best in the worst of the samples K (n, rows, columns), if they are better in the worst of
    their own too.
    """
    hold = _hold(K, tie.dependent)
    worst = int(np.argmin(hold))
    if hold[worst] >= poor:
        return []
    joints = [robot.model.cluster_tree.moving[i] for i in cluster.links]
    choices = [(float(_hold(K, own).min()), own) for own in _choices([c.joint for c in joints], K[worst])]
    best, dependent = max(choices, key=lambda x: x[0], default=(0.0, ()))
    if best < _BETTER * hold[worst]:
        return []
    names = [name for c in joints for name in velocity_names(c.name, c.joint)]
    return [name for j, name in enumerate(names) if j not in dependent]


def _choices(joints: Sequence[Joint], K: np.ndarray) -> Iterator[tuple[int, ...]]:
    """Dependent velocities to choose among, given K (rows, columns). The others are those of joints with one each,
    those of flat joints, all of a joint with several (the pose of a platform) with such of joints with one, or any.
    """
    ends = np.cumsum([joint.nv for joint in joints]).tolist()
    own = [range(end - joint.nv, end) for joint, end in zip(joints, ends, strict=True)]
    several = [columns for columns in own if len(columns) > 1]
    curved = [columns for joint, columns in zip(joints, own, strict=True) if not isinstance(joint, FlatJoint)]
    whole = [(x, [y for y in several if y is not x]) for x in several]
    for lead, follow in ((), several), ((), curved), *whole, ((), []):
        rather = [j for columns in follow for j in columns]
        left = K.copy()
        left[:, list(lead)] = 0.0
        dependent = pick(left, len(K), order=rather)
        if len(dependent) == len(K) and set(rather) <= set(dependent):
            yield tuple(dependent)


def chart_rate(robot: System, q0: np.ndarray, q: np.ndarray, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
    """θ̇ where q = q₀ ⊕ θ moves with v. Of joints that are independent in part θ alone does not tell it, but q does."""
    if robot.model.cluster_tree.has_shared_joints:
        return robot.difference.jvp((q0, q), (None, v))
    return robot.chart_rate(theta, v)


@dataclass
class Charts:
    """The robot as its user sees it, and the same in the velocities that are followed now."""

    robot: System
    now: System = field(init=False)
    usual: np.ndarray | None = None  # velocities of all joints (..., n) for unit velocities, where loops were looked at

    def __post_init__(self) -> None:
        self.now = self.robot
        self.moving = any(True for _ in _implicit(self.robot))

    def seen(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The robot's own velocities of a motion."""
        return w if self.now is self.robot else _converted(self.now, self.robot, q, w)

    def force(self, q: np.ndarray, tau: Any) -> np.ndarray:
        """Forces on the robot's own velocities, as `torque` returned them, as forces on those that are followed."""
        tau = to_array("simulate", Argument("torque(t, q, v)", (self.robot.nv,)), tau)
        _check_samples(q.shape[:-1], tau.shape)
        if self.now is self.robot:
            return tau
        PE = self.seen(q[..., None, :], np.eye(self.now.nv))  # a row for each of w
        return np.einsum("...ij,...j->...i", PE, tau)

    def looked_at(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The velocities to follow in the next step, at q and w: others than before where those lose their hold.

        To look closely takes longer than a step, so that it is done at first, and where the velocity of a joint for
        unit velocities is larger than it ever was when the loops were looked at: towards a singular K_d it grows.
        """
        if not self.moving:
            return w
        sizes = np.abs(self.now.expand_velocity(q[..., None, :], np.eye(self.now.nv))).max(axis=-2)
        if self.usual is not None and not (sizes > _GROWN * self.usual).any():
            return w
        known = sizes if self.usual is None else np.fmax(sizes, self.usual)
        self.usual = np.fmax(known, _SMALL * known.max(axis=-1, keepdims=True))
        changed = self.better(q, w, _POOR)
        return w if changed is None else changed

    def better(self, q: np.ndarray, w: np.ndarray, poor: float) -> np.ndarray | None:
        """Follow other velocities in loops that hold less than `poor`; what w is in these. None: all stays."""
        samples = q.reshape(-1, q.shape[-1])
        samples = samples[np.isfinite(samples).all(axis=-1)]
        wanted: list[str] = []
        here = 0
        for cluster, tie, K in _loops(self.now, samples) if len(samples) else ():
            names = _others(self.now, cluster, tie, K, poor)
            wanted, here = wanted + names, int(np.argmin(_hold(K, tie.dependent))) if names else here
        return self._changed(wanted, samples[here], q, w) if wanted else None

    def _changed(self, wanted: list[str], here: np.ndarray, q: np.ndarray, w: np.ndarray) -> np.ndarray | None:
        try:
            other = _at_home(self.now, here).with_independent(wanted)
            if other.nq != self.now.nq:  # the loop is explicit in these, and q means something else
                return None
            w = _converted(self.now, other, q, w)
        except FourbarError:
            return None
        self.now, self.usual = other, None
        return w


def _check_samples(batch: tuple[int, ...], torque: tuple[int, ...]) -> None:
    """Refuse a torque (..., nv) that is not one for each state of a batch, or one for all."""
    over = zip(reversed(torque[:-1]), reversed(batch), strict=False)
    if len(torque) - 1 > len(batch) or not all(n in (1, own) for n, own in over):
        states = f"a batch of states {batch}" if batch else "one state"
        expected = (*batch, torque[-1])
        raise ArgumentError(f"simulate: torque(t, q, v) returned shape {torque} for {states}, expected {expected}")


def _at_home(robot: System, q: np.ndarray) -> System:
    """The robot that is built at q: where it was built first other velocities may be those that tell nothing."""
    m = robot.mechanism
    here = Configuration("here", tuple(coordinates(robot.model.cluster_tree, q).items()))
    return System(replace(m, configurations=(here, *(x for x in m.configurations if x.name != here.name))))


def _converted(robot: System, other: System, q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Velocities of one robot in those of the same robot with other independent joints."""
    return gathered_velocity(other.model.cluster_tree, robot.expand_velocity(q, w))
