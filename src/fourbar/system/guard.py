"""Watching for toggle positions: where a loop loses its hold, results are NaN, and the user is told which it is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import SingularError
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


class Guarded:
    """A function of a robot with loops that says so when a result is NaN because of a toggle position.

    One sample: an error that names the loop. A batch: a warning; the NaN stays in the samples concerned.
    """

    def __init__(self, function: Any, lowered: Lowered) -> None:
        self.function = function
        self._lowered = lowered

    def __call__(self, *args: Any, **named: Any) -> Any:
        result = self.function(*args, **named)
        for number, part in enumerate(result if isinstance(result, tuple) else (result,)):
            if isinstance(part, np.ndarray | np.generic) and np.isnan(part).any():  # lazy arrays are not looked at
                self._explain(args[0] if args else named["q"], number, part)
                break
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return repr(self.function)

    def __reduce__(self) -> Any:
        return self.function.__reduce__()

    def _explain(self, q: Any, number: int, part: Any) -> None:
        array = np.asarray(q, float)
        core = len(self.function.program().outputs[number].shape)
        lost = np.isnan(part).any(axis=tuple(range(part.ndim - core, part.ndim)))
        rows = np.broadcast_to(array, (*lost.shape, array.shape[-1]))[lost]
        known = rows[np.all(np.isfinite(rows), axis=-1)][:_EXAMINED]
        loops = {name for row in known for name in toggled(self._lowered, row)}
        if not loops and self.function.state[0].name == "integrate":
            self._report("the loops could not be closed after the step: it is too long, or leads nowhere", array, part)
        if not loops:
            return
        what = (
            f"loop {', '.join(map(repr, sorted(loops)))} is at a toggle position: its independent velocities do not "
            "determine the others there; choose others with robot.with_independent(...)"
        )
        self._report(what, array, part)

    def _report(self, what: str, q: np.ndarray, part: np.ndarray) -> None:
        if part.ndim == 0 or q.ndim == 1:
            raise SingularError(what)
        warnings.warn(f"in some samples {what}; these are NaN", RuntimeWarning, stacklevel=4)
