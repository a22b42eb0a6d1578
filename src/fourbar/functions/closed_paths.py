"""Loops of one cluster in machine code, for many samples: paths along its closed configurations, and K = ∂φ/∂q."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..mechanism.mechanism import Mechanism
from ..spatial.linear import Mat, Vec
from ..tree.cluster_tree import ClusterTree
from ..tree.path_following import end, walk
from ..tree.sampling import Follow, limits_of
from .arguments import SizedArgument
from .context import Context
from .function import make_method
from .model import Model
from .registry import Method, Option, Outputs, flat

WORTH_COMPILING = 100  # samples from which on machine code, once made, is ten times as fast as arrays
_LARGEST = 40  # rows of loops: the program grows with their third power


def is_worthwhile(cluster_tree: ClusterTree, number: int, samples: int) -> bool:
    """Whether the paths of `samples` samples of a cluster are followed in machine code."""
    tie = cluster_tree.clusters[number].tie
    return samples >= WORTH_COMPILING and tie is not None and 0 < len(tie.rows) <= _LARGEST


def like(cluster_tree: ClusterTree, number: int) -> int:
    """The number of the first cluster that has the same paths as the one of a number."""
    return next(k for k in range(number + 1) if _numbers(cluster_tree, k) == _numbers(cluster_tree, number))


def _numbers(cluster_tree: ClusterTree, number: int) -> tuple[Any, ...] | None:
    """All that decides about the paths of a cluster."""
    cluster = cluster_tree.clusters[number]
    tie = cluster.tie
    if tie is None:
        return None
    return tie, limits_of(cluster_tree, cluster), tie.units.steps.tolist(), tie.units.effects.tolist()


def path(c: Context, number: int) -> Outputs:
    """The end of a path of a cluster, and whether the path arrived there (zero) or not."""
    cluster = c.clusters[number]
    tie = cluster.tie
    assert tie is not None
    start, direction = Vec(c.given["start"]), Vec(c.given["way"])
    (length,), (depth,) = c.given["length"], c.given["depth"]
    found = walk(c.recorder, tie, limits_of(c.model.cluster_tree, cluster), start, direction, length, depth)
    q = c.recorder.call(end, tie, found)
    return [("q", (len(q),), list(q)), ("going", (), [found.going])]


def _static(cluster_tree: ClusterTree, number: int) -> dict[str, Any]:
    return {"number": number}


def compiled_path(mechanism: Mechanism, number: int) -> Any:
    """The function (start, way, length, depth) -> q, going of a cluster, by its number."""
    model = Model.of(mechanism)
    tie = model.cluster_tree.clusters[number].tie
    assert tie is not None
    inputs = (
        SizedArgument("start", len(tie.traced.q)),
        SizedArgument("way", len(tie.traced.v)),
        SizedArgument("length", 0),
        SizedArgument("depth", 0),
    )
    method = Method(path, inputs, ("q", "going"), (), (Option("number"),), text=path.__doc__ or "")
    return make_method(
        model, "closed_path", method, partial(_static, number=number), (compiled_path, mechanism, number)
    )


def follower(function: Any) -> Follow:
    """Paths by a function of `compiled_path`."""

    def follow(*given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, going = function(*given)
        return q, going == 0.0

    return follow


Slopes = Callable[[np.ndarray], np.ndarray]
_MANY = 4  # rows of loops up to which evaluating the formulas one by one takes no longer than a call


def loop_slopes(mechanism: Mechanism, number: int) -> Slopes:
    """K (..., m, n) as a function of the coordinates (..., nq) of all joints of a cluster with loops, by its number.

    The number of rows alone decides how it is computed, so that the same states have the same bits.
    """
    tie = Model.of(mechanism).cluster_tree.clusters[number].tie
    assert tie is not None
    return tie.slopes if len(tie.rows) <= _MANY else compiled_slopes(mechanism, number).state[0].evaluate


def slopes(c: Context, number: int) -> Outputs:
    """K of every condition of the loops of a cluster, over the velocities of all its joints."""
    tie = c.clusters[number].tie
    assert tie is not None
    rows = c.recorder.call(_every_row, tie, Vec(c.given["q"]))
    return [("K", (len(rows), len(tie.traced.v)), flat(rows))]


def _every_row(tie: Any, q: Any) -> Any:
    return Mat(Vec(row) for row in tie.loop_rows(q, every=True))


def compiled_slopes(mechanism: Mechanism, number: int) -> Any:
    """The function q -> K of a cluster with loops, by its number."""
    model = Model.of(mechanism)
    tie = model.cluster_tree.clusters[number].tie
    assert tie is not None
    inputs = (SizedArgument("q", len(tie.traced.q)),)
    method = Method(slopes, inputs, ("K",), (), (Option("number"),), text=slopes.__doc__ or "")
    again = (compiled_slopes, mechanism, number)
    return make_method(model, "loop_slopes", method, partial(_static, number=number), again)
