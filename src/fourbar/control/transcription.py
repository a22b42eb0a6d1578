"""A problem as machine code: the plant, the costs of its knots, and the passes over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..once import cached_property
from ..system.system import System
from .forward_pass import ForwardPass
from .knot_cost import KnotCost, KnotSlopes
from .plants import Plant


class Transcription:
    """The parts of a problem, compiled when they are first needed. `row_names`: inputs of costs that differ from knot
    to knot; `bounds`: the least and the largest controls (nu)."""

    def __init__(
        self, plant: Plant, running: KnotCost, last: KnotCost, row_names: tuple[str, ...], dt: float, steps: int,
        bounds: tuple[np.ndarray, np.ndarray],
    ) -> None:  # fmt: skip
        self.plant, self.running, self.last, self.row_names = plant, running, last, row_names
        self.dt, self.steps, self.bounds = dt, steps, bounds

    @property
    def robot(self) -> System:
        """The robot."""
        return self.plant.robot

    @property
    def is_boxed(self) -> bool:
        """Whether controls have bounds."""
        return bool(np.isfinite(self.bounds[0]).any() or np.isfinite(self.bounds[1]).any())

    @cached_property
    def _passes(self) -> dict[bool, ForwardPass]:
        return {}

    def forward(self, gaps: bool) -> ForwardPass:
        """The forward pass, that closes gaps or not."""
        if gaps not in self._passes:
            self._passes[gaps] = ForwardPass(self.plant, self.running, self.row_names, gaps)
        return self._passes[gaps]

    @cached_property
    def _functions(self) -> dict[Any, Any]:
        return {}

    def _evaluate(self, cost: KnotCost, slopes: bool, q: Any, v: Any, u: Any, inputs: Any, threads: int | None) -> Any:
        key = cost.running, slopes
        if key not in self._functions:
            self._functions[key] = KnotSlopes.compile(cost, slopes)
        function = self._functions[key]
        weight = np.array(self.dt if cost.running else 1.0)
        values = {"q": q, "v": v, "u": u, "weight": weight, **inputs}
        arrays = [values[a.name] for a in function.state[0].arguments]
        return function(*arrays, **({} if threads is None else {"threads": threads}))

    def running_slopes(self, q: Any, v: Any, u: Any, inputs: Any, threads: int | None) -> Any:
        """H, g and the report of knots."""
        return self._evaluate(self.running, True, q, v, u, inputs, threads)

    def last_slopes(self, q: Any, v: Any, u: Any, inputs: Any, threads: int | None) -> Any:
        """The same of last knots."""
        return self._evaluate(self.last, True, q, v, u, inputs, threads)

    def running_value(self, q: Any, v: Any, u: Any, inputs: Any, threads: int | None) -> Any:
        """The report of knots alone."""
        return self._evaluate(self.running, False, q, v, u, inputs, threads)

    def last_value(self, q: Any, v: Any, u: Any, inputs: Any, threads: int | None) -> Any:
        """The report of last knots alone."""
        return self._evaluate(self.last, False, q, v, u, inputs, threads)

    def gaps(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, threads: int | None) -> Any:
        """Gaps (P, T, 2 nv) between steps from knots (P, T + 1, ...) and the next knots; what derivatives need of
        steps."""
        forward, m, n = self.forward(True), self.plant.drives.count, 2 * self.plant.robot.nv
        rows = {"over_q": q[:, :-1], "over_v": v[:, :-1], "u": u, "k": np.zeros(m), "K": np.zeros((m, n))}
        rows |= {"gap": np.zeros(n), "low": self.bounds[0], "high": self.bounds[1]}
        every = {**self.running.inputs, "weight": ()}
        for name, shape in every.items():
            if name in forward.controls and name not in rows:
                rows[name] = np.zeros(shape)
        numbers = {name: np.zeros(shape) for name, shape in every.items() if name in forward.numbers}
        numbers |= {"dt": np.array(self.dt), "length": np.array(1.0), "weight": np.array(self.dt)}
        single = {
            name: np.broadcast_to(x, (*u.shape[:2], *forward.controls[name]))[:, :, None] for name, x in rows.items()
        }
        motion = forward.run(q[:, :-1], v[:, :-1], single, numbers, 1, threads)
        after = motion.q[:, :, 1], motion.v[:, :, 1]
        gap = np.concatenate([self.plant.robot.difference(q[:, 1:], after[0]), after[1] - v[:, 1:]], axis=-1)
        if not np.isfinite(gap).all():
            knot = int(np.argwhere(~np.isfinite(gap))[0][1])
            raise ArgumentError(f"solve: the step from the guess of knot {knot} does not end in a finite state")
        return gap, {name: x[:, :, 0] for name, x in motion.needed.items()}

    def check_terms(self, report: Any, last: Any) -> None:
        """Refuse costs that are not finite, by the name of the term and the knot."""
        for cost, array in ((self.running, report), (self.last, last)):
            if array is None or np.isfinite(array).all():
                continue
            bad = ~np.isfinite(array[..., 1 + cost.rows :])
            for k in range(cost.rows):
                if (~np.isfinite(array[..., 1 + k])).any():
                    name = next(n for n, own in cost.places().items() if own.start <= k < own.stop)
                    raise ArgumentError(
                        f"solve: constraint {name!r} is not finite{_at(array[..., 1 + k], cost.running)}"
                    )
            place = np.argwhere(bad)[0] if bad.any() else [0] * array.ndim
            label = cost.labels[int(place[-1])] if bad.any() else "cost"
            knot = f"at knot {int(place[-2])}" if cost.running else "at the end"
            raise ArgumentError(f"solve: the term {label!r} of the cost is not finite {knot}")


def _at(values: np.ndarray, running: bool) -> str:
    return f" at knot {int(np.argwhere(~np.isfinite(values))[0][-1])}" if running else " at the end"
