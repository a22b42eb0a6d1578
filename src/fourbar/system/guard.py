"""Watching for questions without an answer: where a loop loses its hold results are NaN, and the user is told why."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import SingularError, warn
from ..model.embedding import Tied
from ..model.groups import split
from ..model.lower import Lowered

_EXAMINED = 100  # samples of a batch that are looked at, of those whose result is NaN
_LOST = 1e-7  # ratio of the singular values of K_d below which a loop is reported


def implicit_loops(lowered: Lowered) -> bool:
    """Whether any loop has to be solved at run time."""
    return any(isinstance(g.embedding, Tied) and not g.embedding.explicit for g in lowered.groups)


def _held(tie: Tied, q: np.ndarray) -> float:
    """How well the loops determine the dependent velocities: smallest over largest singular value of K_d."""
    K = tie.numbers(q)[1][np.ix_(tie.rows, tie.dependent)]
    values = np.linalg.svd(K, compute_uv=False)
    return float(values[-1] / values[0]) if values[0] > 0.0 else 0.0


def toggled(lowered: Lowered, q: np.ndarray) -> list[str]:
    """Names of the loops that do not determine their dependent velocities at one configuration."""
    found: list[str] = []
    for group, own in zip(lowered.groups, split(lowered.groups, q.tolist(), "nq"), strict=True):
        tie = group.embedding
        if isinstance(tie, Tied) and not tie.explicit and _held(tie, np.array(own)) < _LOST:
            found.extend(group.loops)
    return found


def _toggles(lowered: Lowered, rows: np.ndarray) -> str:
    """What is wrong at configurations without a result, if it is a toggle position."""
    loops = sorted({name for row in rows for name in toggled(lowered, row)})
    if not loops:
        return ""
    return (
        f"loop {', '.join(map(repr, loops))} is at a toggle position: its independent velocities do not determine the "
        "others there; choose others with robot.with_independent(...)"
    )


def explainer(lowered: Lowered, reason: str) -> Callable[[dict[str, np.ndarray], np.ndarray], None]:
    """What says why results are NaN. One sample: an error. A batch: a warning; NaN stays in the samples concerned.

    `reason` is what NaN means where no loop is at a toggle position; without one nothing is said.
    """

    def explain(given: dict[str, np.ndarray], lost: np.ndarray) -> None:
        q = given["q"]
        rows = np.broadcast_to(q, (*lost.shape, q.shape[-1]))[lost][:_EXAMINED]
        what = (_toggles(lowered, rows) or reason) if len(rows) else ""
        if what and not lost.ndim:
            raise SingularError(what)
        if what:
            warn(f"in some samples {what}; these are NaN", RuntimeWarning)

    return explain
