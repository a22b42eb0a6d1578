"""Switch the independent velocities of a loop when the current choice becomes ill-conditioned.

A loop moves on a smooth surface as long as K = ∂φ/∂q has full rank, yet some of its joints reverse on the way, and at
that point their velocities do not determine the others: K_d is singular, K is not. The motion is then integrated in
the velocities of other joints. The user's quantities stay those of the robot: v = P E(q) w, τ_w = (P E)ᵀ τ, where E
maps the velocities w in use to those of all joints, and P selects the robot's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...edit.coordinates import coordinates, gather_velocity
from ...errors import FourbarError
from ...functions.charted_tree import GROWN
from ...joints.base import Joint
from ...joints.euclidean import FlatJoint
from ...linalg import pick, singular_values
from ...mechanism.mechanism import Configuration, velocity_names
from ...system.system import System
from ...tree.clusters import Cluster
from ...tree.embedding import LoopEmbedding
from .folds import slopes_of
from .varied_loops import Which, expand_velocity, loops_at

POOR = 0.3  # the conditioning σ_min(K_d) / σ_min(K), at most 1, below which other joints are considered
FAIR = 0.9  # the same where a step gave no state
ANY = 1.0  # and where nothing else has led on
_MIXED = 0.1  # and below which joints such as balls may be independent in part, for which steps are not compiled
_FOLDED = 0.1  # σ_min(K), in its units, below which a fold is near
_BETTER = 2.0  # and how much better these must be
_SMALL = 0.01  # relative to the largest velocity of a joint: smaller ones may grow unnoticed


def _implicit(robot: System) -> Iterator[tuple[int, Cluster, LoopEmbedding, slice]]:
    """The clusters whose loops are solved during motion, with their numbers and the positions of their coordinates."""
    at = 0
    for number, cluster in enumerate(robot.model.cluster_tree.clusters):
        tie, start = cluster.tie, at
        at += cluster.embedding.nq
        if tie is not None and tie.is_solved:
            yield number, cluster, tie, slice(start, at)


def _rows_of_loops(robot: System, k: int, q: np.ndarray, which: Which, values: Sequence[np.ndarray]) -> np.ndarray:
    """K (n, rows, columns) of the k-th of these clusters at all samples, where parameters of loops have values
    (n, *shape).
    """
    number, cluster, tie, own = list(_implicit(robot))[k]
    varied, at = loops_at(robot, cluster, which, values), q.reshape(-1, q.shape[-1])[:, own]
    K = slopes_of(robot, number)(at) if varied is None else varied[0].slopes_at(at, varied[1])
    return tie.units.of(K)[:, list(tie.rows)]


def _hold(K: np.ndarray, dependent: tuple[int, ...]) -> np.ndarray:
    """The conditioning of the dependent velocities, from 0 to 1: the smallest singular value of K_d, relative to that
    of K (n, rows, columns). Near a fold both vanish, whichever velocities are dependent: there the others count too.
    """
    whole, held = singular_values(K), singular_values(K[..., dependent])
    ratios = np.divide(held, whole, out=np.ones_like(whole), where=whole > 0.0)
    is_fold = whole[..., -1:] < _FOLDED
    return np.where(is_fold, ratios, ratios[..., -1:]).min(axis=-1, initial=1.0)


def is_moving(robot: System) -> bool:
    """Whether loops are solved during motion."""
    return any(True for _ in _implicit(robot))


def _others(robot: System, cluster: Cluster, tie: LoopEmbedding, K: np.ndarray, poor: float) -> list[str]:
    """Velocities that determine the others much better than the current ones; none where the current ones are fine or
    the best.

    They are the best in the worst of the samples K (n, rows, columns), if they are also better in their own worst
    sample.
    """
    hold = _hold(K, tie.dependent)
    worst = int(np.argmin(hold))
    if hold[worst] >= min(poor, 1.0 / _BETTER):  # none is above 1
        return []
    joints = [robot.model.cluster_tree.moving[i].joint for i in cluster.links]
    mixed = hold[worst] < (_MIXED if poor < ANY else poor)
    choices = [(float(_hold(K, own).min()), own) for own in _choices(joints, K[worst], mixed)]
    best, dependent = max(choices, key=lambda x: x[0], default=(0.0, ()))
    if best < _BETTER * hold[worst]:
        return []
    return [name for j, name in enumerate(_names(robot, cluster)) if j not in dependent]


def _names(robot: System, cluster: Cluster) -> list[str]:
    """The velocities of the joints of a cluster."""
    joints = [robot.model.cluster_tree.moving[i] for i in cluster.links]
    return [name for c in joints for name in velocity_names(c.name, c.joint)]


def _independent(robot: System, cluster: Cluster, tie: LoopEmbedding) -> list[str]:
    """Those of them that are independent."""
    return [name for j, name in enumerate(_names(robot, cluster)) if j not in tie.dependent]


def _choices(joints: Sequence[Joint], K: np.ndarray, mixed: bool) -> Iterator[tuple[int, ...]]:
    """Choices of dependent velocities, given K (rows, columns). The independent ones are those of one-velocity joints,
    of joints with additive coordinates, all of one larger joint (the pose of a platform) with one-velocity joints, or,
    if they may be `mixed`, any.
    """
    ends = np.cumsum([joint.nv for joint in joints]).tolist()
    own = [range(end - joint.nv, end) for joint, end in zip(joints, ends, strict=True)]
    several = [columns for columns in own if len(columns) > 1]
    curved = [columns for joint, columns in zip(joints, own, strict=True) if not isinstance(joint, FlatJoint)]
    whole = [(x, [y for y in several if y is not x]) for x in several]
    for lead, follow in ((), several), ((), curved), *whole, *([((), [])] if mixed else []):
        rather = [j for columns in follow for j in columns]
        left = K.copy()
        left[:, list(lead)] = 0.0
        dependent = pick(left, len(K), order=rather)
        if len(dependent) == len(K) and set(rather) <= set(dependent):
            yield tuple(dependent)


@dataclass
class Charts:
    """The robot as the user sees it, and the same robot in the velocities that are integrated now."""

    robot: System
    now: System = field(init=False)
    usual: np.ndarray | None = (
        None  # velocities of all joints (..., n) per unit velocity, when loops were last examined
    )
    known: dict[tuple[str, ...], System] = field(default_factory=dict)  # by the velocities that are independent in it
    which: Which = ()  # parameters of loops that differ from sample to sample, and their values (n, *shape)
    values: Sequence[np.ndarray] = ()

    def __post_init__(self) -> None:
        self.now = self.robot
        self.moving = is_moving(self.robot)

    def to_robot_velocities(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Velocities w (..., nv) in the current coordinates as those of the robot."""
        return w if self.now is self.robot else self._convert(self.now, self.robot, q, w)

    def force(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Joint forces (..., nv) on the robot's own velocities, as forces on those that are integrated."""
        if self.now is self.robot:
            return tau
        PE = self.to_robot_velocities(q[..., None, :], np.eye(self.now.nv))  # a row for each of w
        return np.einsum("...ij,...j->...i", PE, tau)

    def examine(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The velocities (..., nv) to integrate in the next step, at q and w: others than before where those become
        ill-conditioned.

        Examining the loops takes longer than a step. It is done at first, and whenever the velocity of a joint per unit
        velocity exceeds all values at earlier examinations: it grows towards a singular K_d.
        """
        if not self.moving:
            return w
        sizes = self.sizes(q)
        if self.usual is not None and not (sizes > GROWN * self.usual).any():
            return w
        self.usual = update_reference(sizes, self.usual)
        changed = self.better(q, w, POOR)
        return w if changed is None else changed

    def sizes(self, q: np.ndarray) -> np.ndarray:
        """The velocities of all joints (..., n) per unit velocity."""
        every = expand_velocity(self.now, self.which, self.values, q[..., None, :], np.eye(self.now.nv))
        return np.abs(every).max(axis=-2)

    def holds(self, q: np.ndarray) -> np.ndarray:
        """How well the velocities in use determine loops (n) at configurations (n, nq): of the worst one, at most 1."""
        found = np.ones(len(q))
        for _, tie, K in self._loops(q, self.values):
            found = np.fmin(found, _hold(K, tie.dependent))
        return found

    def better(self, q: np.ndarray, w: np.ndarray, poor: float) -> np.ndarray | None:
        """Switch velocities in loops whose conditioning is below `poor`; w in the new ones, or None if nothing
        changes.
        """
        samples = q.reshape(-1, q.shape[-1])
        finite = np.isfinite(samples).all(axis=-1)
        samples, values = samples[finite], [x[finite] for x in self.values]
        wanted: list[str] = []
        every: list[str] = []  # those of the loops that do not change too
        here = 0
        for cluster, tie, K in self._loops(samples, values) if len(samples) else ():
            names = _others(self.now, cluster, tie, K, poor)
            every += names or _independent(self.now, cluster, tie)
            wanted, here = wanted + names, int(np.argmin(_hold(K, tie.dependent))) if names else here
        return self._change(wanted, every, samples[here], q, w) if wanted else None

    def _loops(
        self, samples: np.ndarray, values: Sequence[np.ndarray]
    ) -> Iterator[tuple[Cluster, LoopEmbedding, np.ndarray]]:
        """The loops in the velocities in use, with K (n, rows, columns) in the units of the robot: those of a robot
        that was built on the way depend on where that was.
        """
        both = zip(_implicit(self.robot), _implicit(self.now), strict=True)
        for k, ((_, own, *_), (_, cluster, tie, _)) in enumerate(both):
            robot = self.robot if own.links == cluster.links else self.now
            yield cluster, tie, _rows_of_loops(robot, k, samples, self.which, values)

    def _change(
        self, wanted: list[str], every: list[str], here: np.ndarray, q: np.ndarray, w: np.ndarray
    ) -> np.ndarray | None:
        try:
            other = self._other(wanted, every, here)
            if other.nq != self.now.nq:  # the loop is explicit in these, and q would change its meaning
                return None
            w = self._convert(self.now, other, q, w)
        except FourbarError:
            return None
        self.now, self.usual = other, None
        return w

    def _other(self, wanted: list[str], every: list[str], here: np.ndarray) -> System:
        """The robot in these velocities, which is built once, by whatever way they are reached."""
        own = [x for _, cluster, tie, _ in _implicit(self.robot) for x in _independent(self.robot, cluster, tie)]
        if sorted(every) == sorted(own):
            return self.robot
        key = tuple(sorted(every))
        if key not in self.known:
            try:  # where the robot was built, so that a sample has the same bits whoever came here first
                self.known[key] = self.robot.with_independent(every)
            except FourbarError:
                self.known[key] = _build_at(self.now, here).with_independent(wanted)
        return self.known[key]

    def _convert(self, robot: System, other: System, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Velocities (..., nv) of a robot converted to those of the same robot with other independent joints."""
        every = expand_velocity(robot, self.which, self.values, q, w)
        return gather_velocity(other.model.cluster_tree, every)


def update_reference(sizes: np.ndarray, usual: np.ndarray | None) -> np.ndarray:
    """The reference sizes after an examination, which found sizes (..., n)."""
    known = sizes if usual is None else np.fmax(sizes, usual)
    return np.fmax(known, _SMALL * known.max(axis=-1, keepdims=True))


def _build_at(robot: System, q: np.ndarray) -> System:
    """The robot built at q: where it was built first, other velocities may be the ill-conditioned ones."""
    m = robot.mechanism
    here = Configuration("here", tuple(coordinates(robot.model.cluster_tree, q).items()))
    return System(replace(m, configurations=(here, *(x for x in m.configurations if x.name != here.name))))
