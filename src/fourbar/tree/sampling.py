"""Random coordinates of clusters, with loops closed and joints within their limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..errors import AssemblyError, warn
from ..joints.euclidean import FlatJoint
from ..tolerances import CLOSED, KEEP_AWAY
from .assembly import coordinate_labels
from .cluster_tree import ClusterTree
from .clusters import Cluster
from .embedding import LoopEmbedding
from .limit_walks import CurvedLimits, lead_into_limits, walk_in_limits, walk_in_polytope
from .loop_closing import close, differences
from .path_following import FARTHEST, PathLimits, follow_path

_FARTHEST = 100.0  # in units of a joint: how far a slide without limits is asked to move
_DEPTHS = 0.02, 0.5  # of the range beside a limit: where paths return to that have left it
_AT_LEAST, _ENOUGH = 256, 5000  # samples of a round, and those after which their yield counts
_YIELD = 0.02  # of the samples with dependent joints within their limits: where there are fewer, others walk there
_STARTS = 512  # points from which a way into curved limits is sought
_WIDER = 0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5  # by how many of their ranges joints without limits may leave these
_ROUNDING = 1e-12  # of a limit that a dependent joint may pass
_HOME_TRIALS = 10  # trials in the home assembly, if the robot is built outside of its joint limits


# From starts (n, nq), directions (n, nv), lengths and depths (n): the ends (n, nq), and which of them were reached (n).
Follow = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _random_full(
    cluster_tree: ClusterTree,
    cluster: Cluster,
    rng: np.random.Generator,
    count: int,
    ranges: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Random coordinates (count, nq) of all joints of a cluster, each by itself, within their limits or `ranges`."""
    low, high = _limits(cluster_tree, cluster) if ranges is None else ranges
    joints = [cluster_tree.moving[i].joint for i in cluster.links]
    ends = np.cumsum([joint.nq for joint in joints])[:-1]
    parts = zip(joints, np.split(low, ends), np.split(high, ends), strict=True)
    return np.concatenate([joint.random(rng, a, b, (count,)) for joint, a, b in parts], axis=-1)


def _limits(cluster_tree: ClusterTree, cluster: Cluster) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of the coordinates of all joints of a cluster."""
    lower = np.array([x for i in cluster.links for x in cluster_tree.moving[i].lower])
    return lower, np.array([x for i in cluster.links for x in cluster_tree.moving[i].upper])


def limits_of(cluster_tree: ClusterTree, cluster: Cluster) -> PathLimits:
    """The limits within which paths of a cluster with loops stay."""
    assert cluster.tie is not None
    return PathLimits.of(cluster.tie, *_limits(cluster_tree, cluster))


def _within_limits(cluster_tree: ClusterTree, cluster: Cluster, full: np.ndarray) -> np.ndarray:
    """A mask of the rows, coordinates of all joints of a cluster, that are within their limits."""
    lower, upper = _limits(cluster_tree, cluster)
    return np.all((full >= lower) & (full <= upper), axis=-1)


def _is_held(tie: LoopEmbedding, full: np.ndarray) -> np.ndarray:
    """A mask of the configurations (n, nq) that are away from toggle positions."""
    return tie.determinacy(full) > KEEP_AWAY


def _from_home(
    cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator, count: int, attempt: int
) -> tuple[np.ndarray, ...]:
    """Starts (n, nq), directions (n, nv) and lengths (n) of paths from the closed configuration to random ones."""
    tie = cluster.tie
    assert tie is not None and tie.closed is not None
    start = np.tile(tie.closed, (count, 1))
    direction = differences(tie.joints, start, _random_full(cluster_tree, cluster, rng, count))
    direction = np.clip(direction / tie.units.steps, -_FARTHEST, _FARTHEST)
    spread = 0.86**attempt  # nearer and nearer to a configuration that is closed
    length = spread * np.sqrt(rng.random(count)) * np.minimum(np.linalg.norm(direction, axis=-1), FARTHEST)
    return start, direction, length


def _from_anywhere(
    cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator, count: int, attempt: int
) -> tuple[np.ndarray, ...]:
    """The same from closed configurations near random ones, in any assembly, for a robot that is built outside of its
    limits: the paths, of no length, only lead into these."""
    tie = cluster.tie
    assert tie is not None and tie.closed is not None
    full, gap = close(tie, _random_full(cluster_tree, cluster, rng, count))
    full = np.where((gap < CLOSED)[:, None], full, tie.closed)
    return full, np.zeros((count, len(tie.traced.v))), np.zeros(count)


def _is_valid(cluster_tree: ClusterTree, cluster: Cluster, full: np.ndarray) -> np.ndarray:
    """A mask of the configurations (n, nq) that are closed, within the limits and away from toggle positions."""
    tie = cluster.tie
    assert tie is not None
    with np.errstate(all="ignore"):
        gaps = np.abs(tie.residual(full) / tie.units.gaps).max(axis=-1, initial=0.0)
    return (gaps < CLOSED) & _within_limits(cluster_tree, cluster, full) & _is_held(tie, full)


def cluster_random(
    cluster_tree: ClusterTree,
    cluster: Cluster,
    rng: np.random.Generator,
    size: tuple[int, ...],
    follow: Follow | None = None,
) -> np.ndarray:
    """Random coordinates (*size, nq of the cluster), with loops closed in the assembly in which the robot is built.

    Where that is outside of the limits, and no path leads into them, another assembly is used. `follow` is the way in
    which paths are followed, by default in NumPy.
    """
    tie = cluster.tie
    if tie is None:
        own = [cluster_tree.moving[i] for i in cluster.links]
        parts = [c.joint.random(rng, np.array(c.lower), np.array(c.upper), size) for c in own]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
    count = int(np.prod(size, dtype=int))
    if tie.explicit:
        return _random_explicit(cluster_tree, cluster, rng, count).reshape(*size, tie.nq)
    assert tie.closed is not None
    follow = follow or partial(follow_path, tie, limits_of(cluster_tree, cluster))
    samples, left = np.empty((count, tie.nq)), np.arange(count)
    in_home_assembly = bool(_within_limits(cluster_tree, cluster, tie.closed))
    for attempt in range(100):
        if not left.size:
            return samples.reshape(*size, tie.nq)
        begin = _from_home if in_home_assembly or attempt < _HOME_TRIALS else _from_anywhere
        given = begin(cluster_tree, cluster, rng, len(left), attempt)
        ends, arrived = follow(*given, rng.uniform(*_DEPTHS, len(left)))
        valid = np.flatnonzero(arrived)
        valid = valid[_is_valid(cluster_tree, cluster, ends[valid])]
        samples[left[valid]], left = ends[valid], np.delete(left, valid)
    names = ", ".join(map(repr, cluster.loops))
    raise AssemblyError(f"random sampling found no closed configuration of loops {names} within the limits")


def _random_explicit(cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random coordinates (count, nq) of a cluster with explicit loops, all of its joints within their limits.

    Uniform samples of the independent joints are rejected where others pass their limits; where that leaves few, the
    rest are ends of walks within the limits. Where there are none, the limits of the dependent joints are left out,
    with a warning.
    """
    tie = cluster.tie
    assert tie is not None
    lower, upper = _limits(cluster_tree, cluster)
    ranges, drawn = _independent_ranges(tie, lower, upper), count
    samples = cluster.embedding.stored_coordinates(_random_full(cluster_tree, cluster, rng, count, ranges))
    outside = _outside(tie, samples, lower, upper)
    valid, passed = samples[~outside.any(axis=-1)], outside.sum(axis=0)
    while len(valid) < count:
        if drawn > _ENOUGH and len(valid) < _YIELD * drawn:
            walk = _walk_linear if tie.is_linear else partial(_walk_curved, valid)
            rest = walk(cluster_tree, cluster, rng, count - len(valid), ranges)
            if rest is not None:
                return np.concatenate([valid, rest])
            labels = [x for i in cluster.links for x in coordinate_labels(cluster_tree.moving[i])]
            _warn_of_limits(cluster, labels, lower, upper, passed / drawn)
            return samples
        number = max(4 * (count - len(valid)), _AT_LEAST)
        trials = cluster.embedding.stored_coordinates(_random_full(cluster_tree, cluster, rng, number, ranges))
        outside = _outside(tie, trials, lower, upper)
        valid = np.concatenate([valid, trials[~outside.any(axis=-1)]])
        passed, drawn = passed + outside.sum(axis=0), drawn + number
    return valid[:count]


def _input_box(
    cluster_tree: ClusterTree, cluster: Cluster, ranges: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The least and largest independent coordinates (nq) that are drawn from `ranges` of all joints."""
    joints = [cluster_tree.moving[i].joint for i in cluster.links]
    split = (np.split(x, np.cumsum([joint.nq for joint in joints])[:-1]) for x in ranges)
    parts = [
        joint.random_range(a, b) for joint, a, b in zip(joints, *split, strict=True) if isinstance(joint, FlatJoint)
    ]
    ends = [cluster.embedding.stored_coordinates(np.concatenate(side)) for side in zip(*parts, strict=True)]
    return np.minimum(*ends), np.maximum(*ends)


def _walk_linear(
    cluster_tree: ClusterTree,
    cluster: Cluster,
    rng: np.random.Generator,
    count: int,
    ranges: tuple[np.ndarray, np.ndarray],
) -> np.ndarray | None:
    """Coordinates (count, nq) of linear loops by walks in the polytope of the limits; None if it is empty.

    Joints without limits move beyond their own ranges only if that is needed.
    """
    tie = cluster.tie
    assert tie is not None
    if not tie.nq:
        return None
    lower, upper = _limits(cluster_tree, cluster)
    rest, slopes = _linear_map(tie)
    own, rows = [j for j, _ in tie.independent], list(tie.dependent)
    low, high = _input_box(cluster_tree, cluster, ranges)
    ends = np.array([x[own] / [scale for _, scale in tie.independent] for x in ranges])
    is_open = np.array([ends.min(axis=0) < low, ends.max(axis=0) > high])
    for wider in _WIDER if is_open.any() else _WIDER[:1]:
        room = np.where(is_open, wider * (high - low), 0.0)
        box, limits = (low - room[0], high + room[1]), (lower[rows], upper[rows])
        q = walk_in_polytope(slopes[:, rows].T, rest[rows], limits, box, rng, count)
        if q is not None:
            return q
    return None


def _walk_curved(
    valid: np.ndarray,
    cluster_tree: ClusterTree,
    cluster: Cluster,
    rng: np.random.Generator,
    count: int,
    ranges: tuple[np.ndarray, np.ndarray],
) -> np.ndarray | None:
    """Coordinates (count, nq) of loops that are not linear, by walks from `valid` ones (k, nq) and from those to which
    Newton's method leads from points that are always the same; None if there are neither.
    """
    tie = cluster.tie
    assert tie is not None
    if not tie.nq:
        return None
    lower, upper = _limits(cluster_tree, cluster)

    def slopes(q: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            G = [row for block in tie.expand(list(q.T), None).G for row in block]
        return np.stack([np.stack([np.broadcast_to(x, len(q)) for x in row], axis=-1) for row in G], axis=-2)

    curved = CurvedLimits(
        tie.full_coordinates,
        slopes,
        lambda q: np.logical_not(np.asarray(_outside(tie, q, lower, upper).any(axis=-1))),
        lower,
        upper,
        _input_box(cluster_tree, cluster, ranges),
    )
    same = np.random.default_rng(0)
    begin = cluster.embedding.stored_coordinates(_random_full(cluster_tree, cluster, same, _STARTS, ranges))
    starts = np.concatenate([valid, lead_into_limits(curved, begin, same)])
    return walk_in_limits(curved, starts, rng, count) if len(starts) else None


def _warn_of_limits(
    cluster: Cluster, labels: list[str], lower: np.ndarray, upper: np.ndarray, passed: np.ndarray
) -> None:
    """Name the coordinates of dependent joints whose limits are `passed` in all samples, or else in a part of them."""
    named = np.flatnonzero(passed == 1.0 if (passed == 1.0).any() else passed > 0.0)
    said = ", ".join(f"{labels[j]!r} [{lower[j]:.6g}, {upper[j]:.6g}]" for j in named)
    warn(
        f"random: no configuration of {', '.join(map(repr, cluster.loops))} was found in which these dependent joints "
        f"are within their limits too: {said}; the samples pass them. Change the limits, or those of the joints that "
        "drive these",
        RuntimeWarning,
    )


def _independent_ranges(tie: LoopEmbedding, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The limits (n) of all joints, those of independent ones as tight as joints ask for that follow one of them alone.

    Only linear loops are examined. Without a common range the limits stay as they are.
    """
    if not tie.is_linear or not tie.nq:
        return lower, upper
    rest, slopes = _linear_map(tie)
    low, high = lower.copy(), upper.copy()
    for k, (j, scale) in enumerate(tie.independent):
        alone = np.flatnonzero((slopes[k] != 0.0) & (np.count_nonzero(slopes, axis=0) == 1))
        bounds = (np.array([lower[alone], upper[alone]]) - rest[alone]) / slopes[k, alone] * scale
        least, most = bounds.min(axis=0).max(initial=-np.inf), bounds.max(axis=0).min(initial=np.inf)
        if least <= most:
            low[j], high[j] = least, most
    return low, high


def _linear_map(tie: LoopEmbedding) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates (all) of linear loops where the stored ones are zero, and their slopes (independent, all)."""
    rest, *ends = tie.full_coordinates(np.concatenate([np.zeros((1, tie.nq)), np.eye(tie.nq)]))
    return rest, np.array(ends) - rest


def _outside(tie: LoopEmbedding, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """A mask (n, all) of the coordinates that are outside their limits, but for rounding, at those stored (n, nq)."""
    full = tie.full_coordinates(q)
    with np.errstate(invalid="ignore"):
        return ~((full >= lower - _ROUNDING * np.abs(lower)) & (full <= upper + _ROUNDING * np.abs(upper)))


def cluster_anywhere(cluster_tree: ClusterTree, cluster: Cluster, rng: np.random.Generator) -> np.ndarray:
    """One set of coordinates of a cluster with closed loops, away from toggle positions, regardless of limits.

    Loops of a file may be closed outside the limits of its joints: such a robot has dynamics too.
    """
    tie = cluster.tie
    if tie is None:
        return cluster_random(cluster_tree, cluster, rng, ())
    if tie.explicit:
        return cluster.embedding.stored_coordinates(_random_full(cluster_tree, cluster, rng, 1))[0]
    assert tie.closed is not None
    spread = np.array([[0.5], [0.25], [0.1], [0.05], [0.02]])
    near = tie.closed + spread * (_random_full(cluster_tree, cluster, rng, len(spread)) - tie.closed)
    full, gap = close(tie, near)
    valid = full[(gap < CLOSED) & _is_held(tie, full)]
    return valid[0] if len(valid) else tie.closed
