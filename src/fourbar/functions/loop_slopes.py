"""K = ∂φ/∂q of the loops of one cluster at many configurations, in machine code where there are many rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..mechanism.mechanism import Mechanism
from ..spatial.linear import Mat, Vec
from ..tree.cluster_tree import ClusterTree
from .arguments import SizedArgument
from .context import Context
from .function import make_method
from .model import Model
from .registry import Method, Option, Outputs, flat

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


def _static(cluster_tree: ClusterTree, number: int) -> dict[str, Any]:
    return {"number": number}


def compiled_slopes(mechanism: Mechanism, number: int) -> Any:
    """The function q -> K of a cluster with loops, by its number."""
    model = Model.of(mechanism)
    tie = model.cluster_tree.clusters[number].tie
    assert tie is not None
    inputs = (SizedArgument("q", len(tie.traced.q)),)
    method = Method(slopes, inputs, ("K",), (), (Option("number"),), text=slopes.__doc__ or "")
    again = (compiled_slopes, mechanism, number)
    return make_method(model, "loop_slopes", method, partial(_static, number=number), again)
