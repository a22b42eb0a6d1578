"""Closing loops from a guess from which plain steps do not get there: once more, from beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..tolerances import CLOSED
from .choose import Closable, close, moved

_NUDGES = 0.1 * 1.2 ** np.arange(16)  # of starts beside the guess: small ones first


def close_from(tie: Closable, guess: np.ndarray, held: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Closed configurations near guesses (n, nq), and the gaps (n) that are left; `held` velocities do not move.

    Steps that make the gap smaller and smaller may end where it is smallest, but not zero. Whether they do depends on
    where they start.
    """
    guess = np.asarray(guess, float)
    found, gaps = close(tie, guess, held)
    rng, free = np.random.default_rng(0), np.ones(sum(j.nv for j in tie.joints))
    free[list(held)] = 0.0
    for spread in _NUDGES:
        left = np.flatnonzero(~(gaps <= CLOSED) & np.isfinite(guess).all(axis=-1))
        if not left.size:
            break
        nudge = spread * free * rng.normal(size=(len(left), len(free)))
        again, gap = close(tie, moved(tie.joints, guess[left], nudge * tie.units.steps), held)
        good = gap <= CLOSED
        found[left[good]], gaps[left[good]] = again[good], gap[good]
    return found, gaps
