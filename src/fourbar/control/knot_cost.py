"""The cost of a knot with its constraints: in a recording, and as derivatives of all knots in one call.

A cost is ½ Σ r² of residuals r and Σ s of plain numbers s, times the `weight` of the knot: the length of its step, or
1 at the end. Constraints low <= c <= high are rows of an augmented Lagrangian: with z = c + shift they add ½ Σ (root
(z - Π z))², where Π projects on the bounds, root² is the penalty ρ and shift the multiplier y / ρ.

Of residuals the Hessian is that of Gauss and Newton, Jᵀ J; of plain numbers it is the exact one, on tangents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.tiles import Rows, plus_product, transpose
from ..arrays import Argument
from ..errors import ArgumentError
from ..expr import Program, Replay, Shared, TooLarge, Unrolled, maximum, minimum, sqrt
from ..expr.program_derivatives import PIECE
from ..functions.context import Context
from ..functions.function import make
from ..functions.recording import BLOCK, Recording
from ..spatial.linear import Vec, is_zero
from .knot_terms import KnotFunction
from .problem_drives import ProblemDrives
from .robot_slopes import tangent_rates

Shape = tuple[int, ...]
_LARGEST = 40_000  # operations that are unrolled
_TILE = 4


class Bounds(NamedTuple):
    """A constraint: a function, and the least and largest values (rows) of what it returns."""

    name: str
    function: KnotFunction
    low: np.ndarray
    high: np.ndarray


def read_bounds(name: str, function: KnotFunction, low: Any, high: Any) -> Bounds:
    """A constraint with its bounds."""
    try:
        ends = [np.broadcast_to(np.asarray(x, float), (function.size,)) for x in (low, high)]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"within[{name!r}]: bounds {low!r} and {high!r} do not fit to {function.size} values"
        ) from None
    if np.isnan(ends).any() or (ends[0] > ends[1]).any():
        raise ArgumentError(f"within[{name!r}] can never hold: its lower bound {low!r} is above the upper one {high!r}")
    return Bounds(name, function, *ends)


class KnotCost:
    """The cost and the constraints of a kind of knot. `sizes`: shapes of its inputs besides q, v and u, by name."""

    def __init__(
        self, model: Any, drives: ProblemDrives, cost: KnotFunction | None, bounds: Sequence[Bounds],
        sizes: Mapping[str, Shape],
        running: bool,
    ) -> None:  # fmt: skip
        self.model, self.drives, self.cost, self.bounds, self.running = model, drives, cost, tuple(bounds), running
        self.rows = sum(x.function.size for x in bounds)
        tree = model.cluster_tree
        self.inputs: dict[str, Shape] = {"q": (tree.nq,), "v": (tree.nv,)} | ({"u": (drives.count,)} if running else {})
        self.inputs |= (
            dict(sizes) | {"weight": ()} | ({"shift": (self.rows,), "root": (self.rows,)} if self.rows else {})
        )
        self.low = np.concatenate([np.zeros(0), *(x.low for x in bounds)])
        self.high = np.concatenate([np.zeros(0), *(x.high for x in bounds)])

    @property
    def labels(self) -> list[str]:
        """A name for each entry of the cost."""
        return [] if self.cost is None else self.cost.labels

    def places(self) -> dict[str, slice]:
        """The rows of each constraint."""
        slices, at = {}, 0
        for x in self.bounds:
            slices[x.name] = slice(at, at + x.function.size)
            at += x.function.size
        return slices

    def context(self, recorder: Any, given: Mapping[str, Sequence[Any]]) -> Context:
        """The recording of a knot."""
        values = {name: tuple(given[name]) for name in self.inputs}
        if self.running and not self.drives.by_actuators:
            values["tau"] = self.drives.forces(values["u"], self.model.cluster_tree.nv)
        return Context.at(self.model, recorder, values)

    def parts(self, c: Context) -> tuple[list[Any], list[Any], list[Any]]:
        """Terms of the cost, weighted residuals with those of constraints, and values of constraints."""
        call, (weight,) = c.recorder.call, c.given["weight"]
        terms = [] if self.cost is None else self.cost.write(c)
        residuals = [bounds for bounds, alone in zip(terms, self.alone, strict=True) if not alone]
        rows = list(call(_weigh, Vec(residuals), weight)) if residuals else []
        values: list[Any] = []
        for bounds in self.bounds:
            entries = bounds.function.write(c)
            at = slice(len(values), len(values) + len(entries))
            shift, root = Vec(c.given["shift"][at]), Vec(c.given["root"][at])
            rows += call(_excess, Vec(entries), shift, root, tuple(bounds.low.tolist()), tuple(bounds.high.tolist()))
            values += entries
        return terms, rows, values

    @property
    def alone(self) -> list[bool]:
        """Which entries of the cost are plain numbers."""
        return [] if self.cost is None else [t.is_scalar for t in self.cost.terms for _ in range(t.size)]

    def write(self, recorder: Any, given: Mapping[str, Sequence[Any]]) -> Any:
        """The cost of a knot in a recording."""
        c = self.context(recorder, given)
        terms, rows, _ = self.parts(c)
        plain = [x for x, alone in zip(terms, self.alone, strict=True) if alone]
        return recorder.call(_total, Vec(rows), Vec(plain), c.given["weight"][0])


def _weigh(residuals: Vec, weight: Any) -> Vec:
    return residuals * sqrt(weight)


def _excess(values: Vec, shift: Vec, root: Vec, low: tuple[float, ...], high: tuple[float, ...]) -> Vec:
    """root (z - Π z), z = value + shift."""
    rows = []
    for c, s, r, a, b in zip(values, shift, root, low, high, strict=True):
        z = c + s
        above = maximum(z - b, 0.0) if np.isfinite(b) else 0.0
        below = minimum(z - a, 0.0) if np.isfinite(a) else 0.0
        rows.append(r * (z - a) if a == b else r * (above + below))
    return Vec(rows)


def _total(rows: Vec, plain: Vec, weight: Any) -> Any:
    total: Any = 0.0
    for r in rows:
        total = total + r * r
    total = 0.5 * total
    for s in plain:
        total = total + weight * s
    return total


class KnotSlopes(Recording):
    """Derivatives of the cost of knots by (q, v, u), on tangents: the Hessian `H` (n, n), the gradient `g` (n); and
    `report`: the cost, values of constraints, terms of the cost. Without `slopes` the report alone."""

    name = "knot cost"

    def __init__(self, cost: KnotCost, slopes: bool) -> None:
        super().__init__()
        self._cost, self._slopes, self.model = cost, slopes, cost.model
        tree = self.model.cluster_tree
        self.arguments = tuple(Argument(name, shape) for name, shape in cost.inputs.items() if 0 not in shape)
        self.results = ("H", "g", "report") if slopes else ("report",)
        self.size = 2 * tree.nv + (cost.drives.count if cost.running else 0)

    @property
    def nan(self) -> str:
        return ""

    @property
    def parts(self) -> tuple[Any, ...]:
        functions = [
            None if bounds is None else bounds.function
            for bounds in (self._cost.cost, *(b.function for b in self._cost.bounds))
        ]
        return "knot cost", self._slopes, self.model.mechanism, self._cost.drives.velocities, tuple(functions)

    def pickle_recipe(self) -> tuple[Any, ...]:
        return KnotSlopes.compile, self._cost, self._slopes

    @staticmethod
    def compile(cost: KnotCost, slopes: bool) -> Any:
        """The compiled function."""
        return make(KnotSlopes(cost, slopes))

    def write(self, present: tuple[str, ...], block: int = BLOCK) -> Program:
        try:
            return self._write(Unrolled(block, largest=_LARGEST))
        except TooLarge:
            pass
        return self._write(Shared())

    def _write(self, recorder: Any) -> Program:
        inputs = {x.name: recorder.input(x.name, x.shape) for x in self.arguments}
        inputs |= {name: () for name, shape in self._cost.inputs.items() if 0 in shape}
        c = self._cost.context(recorder, inputs)
        terms, rows, values = self._cost.parts(c)
        plain = [x for x, alone in zip(terms, self._cost.alone, strict=True) if alone]
        total = recorder.call(_total, Vec(rows), Vec(plain), inputs["weight"][0])
        report = [total, *values, *terms]
        outputs: list[Any] = []
        if self._slopes:
            H, g = self._derivatives(recorder, inputs, bool(plain))
            n = self.size
            outputs = [("H", (n, n), [x for row in H for x in row]), ("g", (n,), g)]
        return recorder.finish(self.name, [*outputs, ("report", (len(report),), report)])

    # ------------------------------------------------------------------ derivatives

    def _directions(self, recorder: Any, given: Mapping[str, Any]) -> list[Any]:
        clusters, directions = self.model.cluster_tree.clusters, list[Any]()
        directions += [{"q": rate} for rate in tangent_rates(recorder, clusters, given["q"])]
        for name in ("v", "u") if self._cost.running else ("v",):
            count = len(given[name])
            directions += [{name: tuple(float(i == j) for i in range(count))} for j in range(count)]
        return directions

    def _program(self, recorder: Any, name: str, run: Any) -> Program:
        inner: Any = Shared() if isinstance(recorder, Shared) else Unrolled(BLOCK, largest=_LARGEST)
        inputs = {x.name: inner.input(x.name, x.shape) for x in self.arguments}
        every = inputs | {name: () for name, shape in self._cost.inputs.items() if 0 in shape}
        entries = run(inner, every)
        return inner.finish(name, [(name, (len(entries),), entries)])

    def _derivatives(self, recorder: Any, given: Mapping[str, Any], has_plain: bool) -> tuple[Rows, list[Any]]:
        known = {x.name: given[x.name] for x in self.arguments}
        directions = self._directions(recorder, given)
        H: Rows = [[0.0] * self.size for _ in range(self.size)]
        g: list[Any] = [0.0] * self.size
        rows = self._program(recorder, "r", lambda own, x: self._cost.parts(self._cost.context(own, x))[1])
        if rows.outputs[0].shape[0]:
            values, rates = Replay(rows, recorder, known, PIECE).push(directions)
            J = transpose([list(x["r"]) for x in rates])
            H = _gram(recorder, J)
            g = [x for (x,) in plus_product(recorder, None, transpose(J), [[r] for r in values["r"]])]
        if has_plain:
            H, g = self._add_plain(recorder, known, directions, H, g)
        return H, g

    def _add_plain(
        self, recorder: Any, known: Mapping[str, Any], directions: list[Any], H: Rows, g: list[Any]
    ) -> tuple[Rows, list[Any]]:
        """The same with the gradient and the Hessian of plain numbers."""
        plain = self._program(recorder, "s", self._plain)

        def gradient(own: Any, inputs: Mapping[str, Any]) -> list[Any]:
            given = {x.name: inputs[x.name] for x in self.arguments}
            pulled = Replay(plain, own, given, PIECE).pull({"s": [1.0]})[1]
            slopes = []
            for direction in self._directions(own, inputs):
                ((name, rate),) = direction.items()
                slopes.append(own.call(_dot, Vec(rate), Vec(pulled[name])))
            return slopes

        values, rates = Replay(self._program(recorder, "g", gradient), recorder, known, PIECE).push(directions)
        both = [list(x["g"]) for x in rates]
        call = recorder.call
        total = [list(row) for row in H]
        for i in range(self.size):
            for j in range(i + 1):
                x, y = both[i][j], both[j][i]
                if not (is_zero(x) and is_zero(y)):
                    total[i][j] = total[j][i] = call(_add_mean, total[i][j], x, y)
        return total, [x if is_zero(y) else call(_sum, x, y) for x, y in zip(g, values["g"], strict=True)]

    def _plain(self, own: Any, given: Mapping[str, Any]) -> list[Any]:
        c = self._cost.context(own, given)
        terms = self._cost.parts(c)[0]
        plain = [x for x, alone in zip(terms, self._cost.alone, strict=True) if alone]
        return [own.call(_weighted_sum, Vec(plain), c.given["weight"][0])]


def _gram(recorder: Any, J: Rows) -> Rows:
    """Jᵀ J, of which the lower half is computed."""
    n = len(J[0])
    H: Rows = [[0.0] * n for _ in range(n)]
    for first in range(0, n, _TILE):
        last = min(first + _TILE, n)
        used = [row for row in J if not all(is_zero(x) for x in row[first:last])]
        if not used:
            continue
        some = plus_product(recorder, None, transpose([row[first:] for row in used]), [row[first:last] for row in used])
        for i, row in enumerate(some, first):
            for j, x in enumerate(row, first):
                if j <= i:
                    H[i][j] = H[j][i] = x
    return H


def _weighted_sum(x: Vec, weight: Any) -> Any:
    return weight * sum(x[1:], x[0])


def _dot(a: Vec, b: Vec) -> Any:
    return a.dot(b)


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _add_mean(total: Any, x: Any, y: Any) -> Any:
    return total + 0.5 * (x + y)
