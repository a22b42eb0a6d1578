"""Forces and controls of the user that are NaN or infinite: the reason why a motion ends, which is said then."""

from __future__ import annotations

import numpy as np

from ..functions.charted_tree import is_solved
from ..system.system import System


class NotFinite:
    """The first of the user's forces or controls that was not finite at a finite state."""

    def __init__(self) -> None:
        self._first: tuple[float, str] | None = None

    def look(self, name: str, t: float, x: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """x (..., size) at time t and state q, v (..., nq and nv), returned as it is."""
        if not np.isfinite(x).all():
            valid = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
            if np.any(valid & ~np.isfinite(x).all(axis=-1)):
                self._note(name, t)
        return x

    def look_at_rows(self, name: str, x: np.ndarray, period: float) -> None:
        """Controls x (..., rows, size), of which each row acts for a period (s)."""
        rows = x.shape[-2]
        whole = np.isfinite(x).all(axis=-1).reshape(-1, rows).all(axis=0)
        if not whole.all():
            self._note(name, int(np.argmin(whole)) * period)

    def _note(self, name: str, t: float) -> None:
        if self._first is None or t < self._first[0]:
            self._first = (t, name)

    def reason(self) -> str | None:
        """A message about what was not finite, and when; None if everything was finite."""
        if self._first is None:
            return None
        return f"{self._first[1]} was NaN or infinite at t = {self._first[0]:.6g} s, where q and v were finite"


def loop_hint(robot: System) -> str:
    """A sentence on loops, which a motion that diverged may have led to a toggle position; empty if there are none."""
    clusters = robot.model.cluster_tree.clusters
    names = [repr(name) for x in clusters if is_solved(x.embedding) for name in x.loops]
    if not names:
        return ""
    which = f"loop {names[0]}" if len(names) == 1 else f"a loop ({', '.join(names[:4])}{', ...' * (len(names) > 4)})"
    return f". Near a toggle position of {which} velocities change quickly, and steps must be short"
