"""Loops whose parameters differ from sample to sample: which they are, closing them at the start, their velocities."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...functions.varying import Varying
from ...once import make_recent
from ...system.system import System
from ...tree.bound_embedding import Following
from ...tree.clusters import Cluster
from ...tree.parameter_changes import loops_with
from ...tree.parameters import Parameter
from .folds import Folds

Which = tuple[Parameter, ...]
Loops = tuple[str, ...]  # the names of all loops of a cluster
_STAGES = (1, 4, 16, 64)  # in how many stages parameters go from those of the robot to others, if fewer do not do


def varied_clusters(robot: System, which: Which) -> dict[Loops, tuple[Following, list[bool]]]:
    """The clusters whose loops are solved and depend on parameters, by their loops: the loops, and a mask of the
    entries that they take.
    """
    made = vars(robot).setdefault("_varied_clusters", {})
    return make_recent(made, which, lambda: _clusters(robot, which))


def _clusters(robot: System, which: Which) -> dict[Loops, tuple[Following, list[bool]]]:
    tree, varied = robot.model.cluster_tree, {}
    for cluster in tree.clusters:
        loops = loops_with(robot.mechanism, tree, cluster, which) if cluster.embedding.is_solved else None
        if loops is not None:
            varied[cluster.loops] = loops
    return varied


def loop_parameters(robot: System, which: Which) -> Which:
    """The parameters on which loops that are solved depend."""
    moving = tuple(x for x in which if x.moves_links)
    if not moving or not any(cluster.embedding.is_solved for cluster in robot.model.cluster_tree.clusters):
        return ()
    made = vars(robot).setdefault("_loop_parameters", {})
    return make_recent(made, moving, lambda: tuple(x for x in moving if _clusters(robot, (x,))))


def varied_functions(robot: System, which: Which) -> Varying:
    """The functions of a robot with parameters as arguments, which it keeps."""
    names = tuple(x.name for x in which)
    return make_recent(vars(robot).setdefault("_varied", {}), names, lambda: robot.varying(*names))


def expand_velocity(robot: System, which: Which, values: Sequence[np.ndarray], q: np.ndarray, v: Any) -> np.ndarray:
    """`System.expand_velocity` at q (n, ..., nq) where parameters have values (n, *shape); with those of the robot also
    near folds, where that refuses.
    """
    if not which:
        return _near_folds(robot, q, v)
    more = (1,) * (q.ndim - 2)
    spread = [x.reshape(len(x), *more, *x.shape[1:]) for x in values]
    return varied_functions(robot, which).expand_velocity(q, v, *spread)


def _near_folds(robot: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The velocities of all joints at any states q (..., nq), v (..., nv)."""
    function: Any = robot.expand_velocity
    every = np.asarray(function.state[0].evaluate(q, v))
    is_lost = np.isnan(every).any(axis=-1)
    if not is_lost.any():
        return every
    at, rates = (np.broadcast_to(x, (*is_lost.shape, x.shape[-1]))[is_lost] for x in (q, v))
    found = every[is_lost]
    Folds.of(robot).expand_velocity(at, rates, found)
    every[is_lost] = found
    if not np.isfinite(found).all():
        robot.expand_velocity(q, v)  # which says why there is no result
    return every


def folds_at(robot: System, which: Which, values: Sequence[np.ndarray]) -> Folds:
    """The folds of a robot where parameters have values (*shape)."""
    ties = {}
    for cluster in robot.model.cluster_tree.clusters:
        loops = loops_at(robot, cluster, which, [x[None] for x in values])
        if loops is not None:
            tie, p = loops
            ties[cluster.loops] = tie.at([float(x[0]) for x in p])
    return Folds(robot, ties)


def loops_at(
    robot: System, cluster: Cluster, which: Which, values: Sequence[np.ndarray]
) -> tuple[Following, list[np.ndarray]] | None:
    """The loops of a cluster and their parameters (n) one after the other, where these have values (n, *shape); None
    if they do not depend on any.
    """
    loops = varied_clusters(robot, which).get(cluster.loops) if which else None
    if loops is None:
        return None
    columns = [column for x in values for column in x.reshape(len(x), -1).T]
    return loops[0], [x for x, own in zip(columns, loops[1], strict=True) if own]


def _coordinates(robot: System, keys: Iterable[Loops]) -> Iterator[tuple[Loops, slice]]:
    """The clusters with these loops, and the places of their coordinates."""
    at, wanted = 0, set(keys)
    for cluster in robot.model.cluster_tree.clusters:
        own = slice(at, at + cluster.embedding.nq)
        at = own.stop
        if cluster.loops in wanted and not cluster.is_free:
            yield cluster.loops, own


def close(
    caller: str, robot: System, which: Which, values: Mapping[str, np.ndarray], q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States q (..., nq) and v (..., nv) whose loops are closed with parameters (..., *shape), by name, and which have
    the leading axes of all: dependent coordinates follow from independent ones, along the parameters from those of the
    robot. Refused where that is impossible.
    """
    known = loop_parameters(robot, which)
    if not known:
        return q, v
    leading = [np.shape(values[x.name])[: np.ndim(values[x.name]) - len(x.shape)] for x in known]
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], *leading)
    q, v = (np.broadcast_to(x, (*batch, x.shape[-1])).copy() for x in (q, v))
    goals = [np.broadcast_to(values[x.name], (*batch, *x.shape)).reshape(-1, *x.shape) for x in known]
    start = q.reshape(-1, q.shape[-1])
    closed, left = _close_along(robot, known, goals, start)
    if left.size:
        first = int(left[0])
        where = f" of sample {first}" if batch else ""
        raise ArgumentError(_open(caller, robot, known, [x[first] for x in goals], start[first], where))
    return closed.reshape(q.shape), v


def _close_along(
    robot: System, which: Which, goals: Sequence[np.ndarray], given: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Closed configurations (n, nq), and which of the samples have none that was found."""
    starts = [np.reshape(x.values(robot.mechanism), x.shape) for x in which]
    move, still = varied_functions(robot, which).integrate, np.zeros(robot.nv)
    places = dict(_coordinates(robot, varied_clusters(robot, which)))
    columns = np.concatenate([np.arange(own.start, own.stop) for own in places.values()])
    closed_q, left = given.copy(), np.flatnonzero(np.isfinite(given).all(axis=-1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NaN, which says what is asked here
        for stages in _STAGES:
            now = given[left].copy()
            for k in range(1, stages + 1):
                some = [a + (b[left] - a) * (k / stages) for a, b in zip(starts, goals, strict=True)]
                now[:, columns] = move(now, still, 1.0, *some)[:, columns]
            closed = np.isfinite(now[:, columns]).all(axis=-1)
            closed_q[left[closed]] = now[closed]
            left = left[~closed]
            if not left.size:
                break
    return closed_q, left


def _open(caller: str, robot: System, which: Which, values: Sequence[np.ndarray], q: np.ndarray, where: str) -> str:
    """The message about loops that cannot be closed from q with values of parameters."""
    gaps: dict[Loops, float] = {}
    for cluster in robot.model.cluster_tree.clusters:
        varied = loops_at(robot, cluster, which, [x[None] for x in values])
        if varied is not None:
            own = dict(_coordinates(robot, [cluster.loops]))[cluster.loops]
            gaps[cluster.loops] = float(np.abs(varied[0].at(varied[1]).residual(q[None, own])).max())
    loops, gap = max(gaps.items(), key=lambda x: x[1])
    loop = ", ".join(map(repr, loops))
    given = ", ".join(f"{x.name!r} = {value.tolist()}" for x, value in zip(which, values, strict=True))
    return (
        f"{caller}: numbers: with {given} the loop {loop} cannot be closed from q{where}, where its residual is "
        f"{gap:.3g}; start from a configuration near which it can be closed, or give numbers nearer to those as built"
    )
