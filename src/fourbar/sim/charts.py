"""Which joints say the velocities of loops: others are asked where those that were chosen no longer tell.

A loop moves on a smooth surface as long as K = ∂φ/∂q has full rank, yet some of its joints turn back on the way, and at
that point their velocities do not determine the rest: K_d is singular, K is not. The motion is then followed in the
velocities of other joints. What the user sees stays in those of the robot: v = P E(q) w, τ_w = (P E)ᵀ τ, where E maps
the velocities w that are used to those of all joints, and P takes from these the robot's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..errors import FourbarError
from ..model.choose import pick
from ..model.edit.where import gathered_velocity
from ..model.embedding import Tied
from ..model.groups import Group
from ..system.robot import System

_GROWN = 5.0  # how much larger than at first the largest velocity of a joint may be, for unit velocities
_POOR = 0.3  # the hold σ_min(K_d) / σ_min(K), at most 1, below which other joints are then asked
_BETTER = 2.0  # and how much better these must be
_PART = 0.2  # of the way to where a joint may turn back, in radians or metres, that is gone without looking
_LONGEST = 16  # steps without looking


def _implicit(robot: System) -> Iterator[tuple[Group, Tied, slice]]:
    """The groups with loops that are solved while moving, and where their coordinates are."""
    at = 0
    for group in robot.model.lowered.groups:
        tie, start = group.embedding, at
        at += tie.nq
        if isinstance(tie, Tied) and not tie.explicit and tie.nv:
            yield group, tie, slice(start, at)


def _loops(robot: System, q: np.ndarray) -> Iterator[tuple[Group, Tied, np.ndarray]]:
    """These groups with K (n, rows, columns) at all samples."""
    samples = q.reshape(-1, q.shape[-1])
    for group, tie, own in _implicit(robot):
        yield group, tie, tie.numbers(samples[:, own])[1][:, list(tie.rows)]


def _smallest(K: np.ndarray) -> np.ndarray:
    return np.linalg.svd(K, compute_uv=False)[..., -1]


def _hold(K: np.ndarray, dependent: tuple[int, ...]) -> np.ndarray:
    """How well the independent velocities tell the others, from 0 to 1; K (n, rows, columns)."""
    whole = _smallest(K)
    return np.divide(_smallest(K[..., dependent]), whole, out=np.ones_like(whole), where=whole > 0.0)


def _others(robot: System, group: Group, K: np.ndarray) -> dict[str, float] | None:
    """The joints whose velocities tell those of all others best at K; joints of several velocities are not asked."""
    joints = [robot.model.lowered.moving[i] for i in group.links]
    names = [c.name for c in joints for _ in range(c.joint.nv)]
    several = [j for j, name in enumerate(names) if names.count(name) > 1]
    dependent = pick(K, len(K), order=several)
    chosen = [j for j in range(len(names)) if j not in dependent]
    return None if set(chosen) & set(several) else {names[j]: 1.0 for j in chosen}


@dataclass
class Charts:
    """The robot as its user sees it, and the same in the velocities that are followed now."""

    robot: System
    now: System = field(init=False)
    usual: float = 0.0  # the largest velocity of a joint for unit velocities, when it was looked at closely
    wait: int = 0  # steps until the loops are looked at again

    def __post_init__(self) -> None:
        self.now = self.robot
        self.moving = any(True for _ in _implicit(self.robot))

    def seen(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The robot's own velocities of a motion."""
        return w if self.now is self.robot else _converted(self.now, self.robot, q, w)

    def force(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Forces on the robot's own velocities as forces on those that are followed."""
        if self.now is self.robot:
            return tau
        PE = self.seen(q[..., None, :], np.eye(self.now.nv))  # a row for each of w
        return np.einsum("...ij,...j->...i", PE, tau)

    def looked_at(self, q: np.ndarray, w: np.ndarray, dt: float) -> np.ndarray:
        """The velocities to follow in the next step, at q and w: others than before where those lose their hold.

        A loop is looked at again after a part of the way to where it may lose its hold, which is short where the
        velocities of some joints are large beside the independent ones.
        """
        self.wait -= 1
        if not self.moving or self.wait > 0:
            return w
        largest = float(np.abs(self.now.expand_velocity(q[..., None, :], np.eye(self.now.nv))).max(initial=0.0))
        self.usual = self.usual or largest
        changed = None
        if largest > _GROWN * self.usual:
            changed, self.usual = self.better(q, w, _POOR), largest
        w = w if changed is None else changed
        travel = dt * float(np.abs(self.now.expand_velocity(q, w)).max(initial=0.0))
        way = _PART * min(1.0, self.usual / largest) if largest else 1.0
        self.wait = int(np.clip(way / travel, 1, _LONGEST)) if travel > 0.0 else _LONGEST
        return w

    def better(self, q: np.ndarray, w: np.ndarray, poor: float) -> np.ndarray | None:
        """Follow other velocities in loops that hold less than `poor`; what w is in these. None: all stays."""
        wanted: dict[str, float] = {}
        for group, tie, K in _loops(self.now, q):
            hold = _hold(K, tie.dependent) if np.isfinite(K).all() else np.ones(1)
            worst = int(np.argmin(hold))
            if hold[worst] < poor:
                wanted |= _others(self.now, group, K[worst]) or {}
        return self._changed(wanted, q, w) if wanted else None

    def _changed(self, wanted: dict[str, float], q: np.ndarray, w: np.ndarray) -> np.ndarray | None:
        try:
            other = self.now.with_independent(wanted)
            if _worst(other, q) < _BETTER * _worst(self.now, q):
                return None
            w = _converted(self.now, other, q, w)
        except FourbarError:
            return None
        self.now, self.usual, self.wait = other, 0.0, 1
        return w


def _worst(robot: System, q: np.ndarray) -> float:
    """The smallest hold of all loops in all samples."""
    return min((float(_hold(K, tie.dependent).min()) for _, tie, K in _loops(robot, q)), default=1.0)


def _converted(robot: System, other: System, q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Velocities of one robot in those of the same robot with other independent joints."""
    return gathered_velocity(other.model.lowered, robot.expand_velocity(q, w))
